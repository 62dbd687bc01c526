"""A time-out for each request; waiting for a turn happens outside of it and does not count."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass

from ragauge.core.provider import Endpoint, Provider, Reply, Request
from ragauge.judges.providers.failures import CallTimedOut


@dataclass(frozen=True)
class Timed:
    """Gives up a request after `timeout_s` seconds."""

    inner: Provider
    timeout_s: float = 60.0

    @property
    def endpoint(self) -> Endpoint:
        """Which model this is."""
        return self.inner.endpoint

    async def complete(self, request: Request) -> Reply:
        """The reply, or `CallTimedOut`."""
        try:
            async with asyncio.timeout(self.timeout_s):
                return await self.inner.complete(request)
        except TimeoutError:
            raise CallTimedOut(f"{self.endpoint.label} did not answer within {self.timeout_s:g} s") from None
