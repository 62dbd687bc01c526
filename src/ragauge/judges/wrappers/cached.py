"""Replies from disk where they are there. The key holds everything that can change a reply."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field, replace

from ragauge.core.judge import count_usage
from ragauge.core.provider import Endpoint, Provider, Reply, Request
from ragauge.core.sample import Usage
from ragauge.judges.in_flight import InFlight
from ragauge.store.cache import ReplyCache

#: Part of every key: raised when stored replies must not be used any more.
KEY_VERSION = 1


def cache_key(endpoint: Endpoint, request: Request) -> str:
    """SHA-256 over endpoint, sampling, prompt (hash and rendered), schema, sample and attempt numbers."""
    parts = {
        "version": KEY_VERSION,
        "endpoint": asdict(endpoint),
        "sampling": asdict(request.sampling),
        "prompt": request.prompt_sha256,
        "system": request.system,
        "user": request.user,
        "shape": None if request.shape is None else request.shape.sha256,
        "sample": request.sample,
        "attempt": request.attempt,
    }
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()


@dataclass(frozen=True)
class Cached:
    """Asks `inner` only for what is not stored; the same request twice at once is sent once.

    Only complete replies are stored: one that was cut or refused is asked for again.
    """

    inner: Provider
    cache: ReplyCache = field(compare=False)
    _in_flight: InFlight = field(default_factory=InFlight, compare=False, repr=False)

    @property
    def endpoint(self) -> Endpoint:
        """Which model this is."""
        return self.inner.endpoint

    async def complete(self, request: Request) -> Reply:
        """The stored reply, or a new one that is then stored."""
        key = cache_key(self.endpoint, request)
        return await self._in_flight.once(key, lambda: self._complete(key, request))

    async def _complete(self, key: str, request: Request) -> Reply:
        stored = await self.cache.get(key)
        if stored is not None:
            reply = Reply(**json.loads(stored))
            free = None if reply.cost_usd is None else 0.0
            count_usage(Usage(cached_calls=1, cost_usd=free))
            return replace(reply, cached=True, cost_usd=free, first_cost_usd=reply.cost_usd)
        reply = await self.inner.complete(request)
        if reply.stop == "complete":
            value = json.dumps(asdict(reply)).encode()
            await self.cache.put(key, value, task=request.task, model=self.endpoint.label)
        return reply

    async def forget(self, requests: Iterable[Request]) -> None:
        """Drop stored replies that turned out to be of no use, so that a later run asks again."""
        await self.cache.forget([cache_key(self.endpoint, request) for request in requests])
