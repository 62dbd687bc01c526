"""One client per endpoint and event loop: connections are reused, and never cross from one loop to another."""

from __future__ import annotations

import asyncio
import weakref
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any


@dataclass
class Clients:
    """Clients by event loop. `make` builds one, `close` (a coroutine function) lets go of one."""

    make: Callable[[], Any]
    close: Callable[[Any], Any]
    by_loop: weakref.WeakKeyDictionary[asyncio.AbstractEventLoop, Any] = field(
        default_factory=weakref.WeakKeyDictionary
    )

    def here(self) -> Any:
        """The client of the running loop."""
        loop = asyncio.get_running_loop()
        if loop not in self.by_loop:
            self.by_loop[loop] = self.make()
        return self.by_loop[loop]

    async def aclose(self) -> None:
        """Close the client of the running loop, if there is one."""
        client = self.by_loop.pop(asyncio.get_running_loop(), None)
        if client is not None:
            await self.close(client)
