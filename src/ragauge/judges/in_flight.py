"""The same work asked for twice at once is done once."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Hashable
from dataclasses import dataclass, field
from typing import Any, TypeVar

T = TypeVar("T")


@dataclass
class _Entry:
    task: asyncio.Task[Any]
    n_waiting: int = 0


@dataclass
class InFlight:
    """Work that is going on, by key. It stops only when nobody waits for it any more."""

    entries: dict[tuple[asyncio.AbstractEventLoop, Hashable], _Entry] = field(default_factory=dict)

    async def once(self, key: Hashable, start: Callable[[], Coroutine[Any, Any, T]]) -> T:
        """The result of `start()`, or of the run of the same key that is under way in this event loop."""
        place = (asyncio.get_running_loop(), key)
        entry = self.entries.get(place)
        if entry is None:
            entry = self.entries[place] = _Entry(asyncio.create_task(start()))

            def done(task: asyncio.Task[Any]) -> None:
                self.entries.pop(place, None)
                if not task.cancelled():
                    task.exception()  # read, so that nobody is told of it a second time

            entry.task.add_done_callback(done)
        entry.n_waiting += 1
        try:
            result: T = await asyncio.shield(entry.task)
            return result
        finally:
            entry.n_waiting -= 1
            if entry.n_waiting == 0 and not entry.task.done():
                self.entries.pop(place, None)
                entry.task.cancel()
