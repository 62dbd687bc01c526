"""Any other model: a Python function that takes a request and gives back text."""

from __future__ import annotations

import asyncio
import inspect
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field, replace

from ragauge.core.provider import Endpoint, Reply, Request
from ragauge.judges.providers.failures import CallFailed, redact

Function = Callable[[Request], str | Reply | Awaitable[str | Reply]]


@dataclass(frozen=True)
class PythonProvider:
    """Calls `function(request)`: it reads `request.system`, `request.user`, `request.shape.schema` and returns the
    model's text, or a `Reply` if it knows the tokens. A plain function runs in a worker thread.

    What it raises is a failed call: recorded, and worth another try.
    """

    endpoint: Endpoint
    function: Function = field(repr=False)

    async def complete(self, request: Request) -> Reply:
        """Call the function, once."""
        started = time.perf_counter()
        try:
            if inspect.iscoroutinefunction(self.function):
                said = await self.function(request)
            else:
                said = await asyncio.to_thread(self.function, request)
                if inspect.isawaitable(said):
                    said = await said
        except Exception as problem:
            text = redact(f"{self.endpoint.label} raised {type(problem).__name__}: {problem}")
            raise CallFailed(text, kind="server") from problem
        if isinstance(said, str):
            said = Reply(said)
        if not isinstance(said, Reply):
            raise CallFailed(f"{self.endpoint.label} returned {type(said).__name__}, not text", kind="request")
        return replace(said, latency_ms=1000 * (time.perf_counter() - started))
