"""Another try where one may help: bounded, with growing pauses and seeded jitter."""

from __future__ import annotations

import asyncio
import hashlib
from dataclasses import dataclass, field

from ragauge.core.provider import Endpoint, Provider, Reply, Request
from ragauge.judges.providers.failures import FATAL, CallFailed, CallTimedOut

#: An endpoint is asked at most this many times for one request while its dialect is being learnt.
_LEARNING = 12


@dataclass(frozen=True)
class Retries:
    """`tries` in all; the n-th pause is `base_s` × 2^(n-1), at most `longest_s`, times a jitter of 0.5 to 1.

    Retry-After lengthens a pause; one beyond `patience_s` ends the tries.
    """

    tries: int = 6
    base_s: float = 0.5
    longest_s: float = 30.0
    patience_s: float = 300.0


@dataclass
class Gate:
    """Closed by a failure that no later call can escape (refused key, no such model, no credit)."""

    closed_by: CallFailed | None = None


@dataclass(frozen=True)
class Retried:
    """Sends a request again after a transient failure; everything inside it sees every try."""

    inner: Provider
    retries: Retries = Retries()
    seed: int = 0
    gate: Gate = field(default_factory=Gate, compare=False, repr=False)

    @property
    def endpoint(self) -> Endpoint:
        """Which model this is."""
        return self.inner.endpoint

    async def complete(self, request: Request) -> Reply:
        """The first reply that comes."""
        n_tries, n_learning = 0, 0
        while True:
            if (closed := self.gate.closed_by) is not None:
                raise CallFailed(closed.message, kind=closed.kind, status=closed.status, hint=closed.hint)
            try:
                return await self.inner.complete(request)
            except CallFailed as failure:
                if failure.kind == "dialect" and n_learning < _LEARNING:
                    n_learning += 1
                    continue
                if failure.kind in FATAL:
                    self.gate.closed_by = failure
                if not failure.transient:
                    raise
                n_tries += 1
                asked = failure.retry_after_s or 0.0
                if n_tries >= self.retries.tries or asked > self.retries.patience_s:
                    raise CallFailed(
                        f"{failure.message} ({_times(n_tries)})", kind=failure.kind, status=failure.status,
                        retry_after_s=failure.retry_after_s, hint=failure.hint,
                    ) from None  # fmt: skip
            except CallTimedOut as failure:
                n_tries, asked = n_tries + 1, 0.0
                if n_tries >= self.retries.tries:
                    raise CallTimedOut(f"{failure.message} ({_times(n_tries)})") from None
            await asyncio.sleep(max(asked, self._pause(request, n_tries)))

    def _pause(self, request: Request, n_tries: int) -> float:
        """Deterministic for the same seed, request and try; different for different requests."""
        plain = min(self.retries.longest_s, self.retries.base_s * 2.0 ** (n_tries - 1))
        mixed = f"{self.seed}:{n_tries}:{request.sample}:{request.user}".encode("utf-8", "surrogatepass")
        draw = int.from_bytes(hashlib.blake2b(mixed, digest_size=4).digest(), "big") / 2**32
        return plain * (0.5 + draw / 2)


def _times(n_tries: int) -> str:
    return f"given up after {n_tries} {'try' if n_tries == 1 else 'tries'}"
