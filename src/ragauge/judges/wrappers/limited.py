"""No faster than the endpoint allows: requests and tokens a minute, adaptive concurrency, one 429 slows everybody."""

from __future__ import annotations

import asyncio
import weakref
from dataclasses import dataclass, field
from typing import Protocol

from ragauge.core.provider import Endpoint, Provider, Reply, Request
from ragauge.judges.providers.failures import CallFailed
from ragauge.judges.wrappers.tokens import guess_prompt_tokens

#: How much later or earlier than its turn a call may reach the endpoint, in seconds, without a minute seeing too many.
#: A crowded machine was seen to hold calls up for 1.6 s.
_JITTER_S = 2.5
#: The longest rest, in seconds, whose unused turns may be used at once.
_SAVED_S = 0.5


@dataclass(frozen=True)
class Limits:
    """What an endpoint may be asked. None means no such limit. `concurrency` is the most that is ever under way."""

    concurrency: int = 16
    requests_per_minute: float | None = None
    tokens_per_minute: float | None = None

    def __post_init__(self) -> None:
        if self.concurrency < 1:
            raise ValueError("concurrency must be at least 1")
        for name in ("requests_per_minute", "tokens_per_minute"):
            value = getattr(self, name)
            if value is not None and value <= 0:
                raise ValueError(f"{name} must be greater than 0")


class Turns(Protocol):
    """Where calls of one endpoint wait for their turn, and say how they went. `Limiter` is the one for one process."""

    @property
    def limits(self) -> Limits:
        """What the endpoint may be asked."""
        ...

    async def enter(self, tokens: float) -> float:
        """Wait for a turn; gives the time (of the limiter's own clock) at which it came."""
        ...

    def leave(self) -> None:
        """A call is over, however it ended."""
        ...

    def succeeded(self, guessed: float, reply: Reply) -> None:
        """A reply came."""
        ...

    def throttled(self, started: float, retry_after_s: float | None) -> None:
        """The endpoint answered 429 to a call that started at `started`."""
        ...


@dataclass
class Bucket:
    """A token bucket: `rate` units a second, at most `burst` saved up (default: one second's worth, one at least)."""

    rate: float
    level: float = 0.0
    filled: float | None = None
    burst: float | None = None

    @classmethod
    def of_minute(cls, per_minute: float | None) -> Bucket:
        """The bucket that keeps every window of 60 s at `per_minute` units or fewer, half a second's worth at once.

        A window that starts with a full bucket holds `burst + 60 rate` units, so the rate is a little below
        `per_minute / 60`: `burst + (60 + jitter) rate = per_minute + 1`, of which only whole units are used.
        """
        if per_minute is None:
            return cls(0.0)
        burst = max(1.0, _SAVED_S * per_minute / 60)
        return cls((per_minute + 1 - burst) / (60 + _JITTER_S), burst=burst)

    @property
    def capacity(self) -> float:
        """The most that can be taken at once without waiting."""
        return max(1.0, self.rate) if self.burst is None else self.burst

    def wait(self, amount: float, now: float) -> float:
        """Seconds until `amount` may be taken; more than the capacity may be taken when the bucket is full."""
        if self.filled is None:
            self.level, self.filled = self.capacity, now
        self.level = min(self.capacity, self.level + self.rate * (now - self.filled))
        self.filled = now
        return max(0.0, (min(amount, self.capacity) - self.level) / self.rate)

    def take(self, amount: float) -> None:
        """Take `amount`; the level may fall below zero, which later ones wait out."""
        self.level -= amount


@dataclass
class Limiter:
    """The state of one endpoint's limits, shared by everything that calls it. Waiting is first come, first served.

    Concurrency grows by one for each round of successes and falls by 30 % at a 429, once for all calls that were
    under way together. After a 429 nobody starts before Retry-After is over (or a pause that doubles from 0.5 s).
    `cautious`: nothing is saved up at the start, because another one has been counting for the same endpoint.
    """

    limits: Limits = field(default_factory=Limits)
    allowed: float = field(init=False)
    n_in_flight: int = 0
    n_throttled: int = 0
    waited_s: float = 0.0
    cautious: bool = False

    def __post_init__(self) -> None:
        self.allowed = float(self.limits.concurrency)
        self._rates = [
            Bucket.of_minute(per_minute)
            for per_minute in (self.limits.requests_per_minute, self.limits.tokens_per_minute)
        ]
        self._loop: weakref.ref[asyncio.AbstractEventLoop] | None = None
        self._streak = 0
        self._mean_out = 200.0

    def _here(self) -> asyncio.AbstractEventLoop:
        """The running loop; a new one starts with nothing under way and nobody waiting."""
        loop = asyncio.get_running_loop()
        if self._loop is None or self._loop() is not loop:
            self._loop = weakref.ref(loop)
            self._turnstile, self._freed = asyncio.Lock(), asyncio.Event()
            self.n_in_flight, self._paused_until, self._cut_at = 0, 0.0, -1.0
            for bucket in self._rates:
                bucket.level, bucket.filled = 0.0, loop.time() if self.cautious else None
        return loop

    async def enter(self, tokens: float) -> float:
        """Wait for a turn; gives the time (of the loop's clock) at which it came."""
        loop = self._here()
        asked = loop.time()
        async with self._turnstile:
            while (started := self.admit(tokens)) is None:
                pause = self._pause(tokens)
                if self.n_in_flight >= int(self.allowed):
                    self._freed.clear()
                    await self._freed.wait()
                elif pause > 0:
                    await asyncio.sleep(pause)
        self.waited_s += started - asked
        return started

    def admit(self, tokens: float) -> float | None:
        """Let a call start now, if there is room for it without waiting: the time; None where there is not."""
        if self.n_in_flight >= int(self.allowed) or self._pause(tokens) > 0:
            return None
        self.n_in_flight += 1
        for bucket, amount in self._amounts(tokens):
            bucket.take(amount)
        return self._here().time()

    def _pause(self, tokens: float) -> float:
        """Seconds until the rates, and the endpoint itself, allow one more; 0 or less: now."""
        now = self._here().time()
        return max([self._paused_until - now, *(b.wait(amount, now) for b, amount in self._amounts(tokens))])

    def _amounts(self, tokens: float) -> list[tuple[Bucket, float]]:
        amounts = (1.0, tokens + self._mean_out)
        return [(b, amount) for b, amount in zip(self._rates, amounts, strict=True) if b.rate]

    def give_back(self, tokens: float) -> None:
        """A call that was let through was not sent after all."""
        for bucket, amount in self._amounts(tokens):
            bucket.take(-amount)
        self.leave()

    def leave(self) -> None:
        """A call is over, however it ended."""
        self.n_in_flight -= 1
        self._freed.set()

    def succeeded(self, guessed: float, reply: Reply) -> None:
        """A reply came: a little more at once, and the token bucket learns what it really took."""
        self._streak = 0
        self.allowed = min(float(self.limits.concurrency), self.allowed + 1 / self.allowed)
        tokens = self._rates[1]
        if tokens.rate and reply.tokens_in + reply.tokens_out:
            tokens.take(reply.tokens_in + reply.tokens_out - guessed - self._mean_out)
        self._mean_out += 0.05 * (reply.tokens_out - self._mean_out)

    def throttled(self, started: float, retry_after_s: float | None) -> None:
        """The endpoint answered 429 to a call that started at `started`."""
        now = self._here().time()
        self.n_throttled += 1
        if started > self._cut_at:
            self.allowed = max(1.0, 0.7 * self.allowed)
            self._cut_at = now
            self._streak += 1
        pause = min(60.0, 0.5 * 2.0 ** min(self._streak - 1, 10)) if retry_after_s is None else retry_after_s
        self._paused_until = max(self._paused_until, now + pause)


@dataclass(frozen=True)
class Limited:
    """Lets a request through when the endpoint's limits have room for it."""

    inner: Provider
    limiter: Turns = field(default_factory=Limiter, compare=False)

    @property
    def endpoint(self) -> Endpoint:
        """Which model this is."""
        return self.inner.endpoint

    async def complete(self, request: Request) -> Reply:
        """Wait for a turn, then pass the request on."""
        guessed = guess_prompt_tokens(request) if self.limiter.limits.tokens_per_minute else 0
        started = await self.limiter.enter(guessed)
        try:
            reply = await self.inner.complete(request)
        except CallFailed as failure:
            if failure.kind == "throttled":
                self.limiter.throttled(started, failure.retry_after_s)
            raise
        finally:
            self.limiter.leave()
        self.limiter.succeeded(guessed, reply)
        return reply
