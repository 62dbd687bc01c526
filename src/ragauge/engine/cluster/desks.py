"""What all workers of a run share: one desk per endpoint where calls wait for their turn, one where they are paid.

A desk is an actor with the very `Limiter` or `Budget` of a local run in it. Workers ask in batches: whatever comes up
while an answer is on its way goes out together with the next question. A permit is for a call that waits for it, so
none is saved up and used late.
"""

from __future__ import annotations

import asyncio
import math
import time
from collections import Counter, deque
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

from ragauge.core.provider import Reply
from ragauge.errors import BudgetSpent, RunError
from ragauge.judges.wrappers.budgeted import Budget, Spending
from ragauge.judges.wrappers.limited import Limiter, Limits
from ragauge.judges.wrappers.priced import Price

Q = TypeVar("Q")
A = TypeVar("A")

#: The most permits that are asked for at once.
LEASE = 32
#: How old a turn may be when it is used, in seconds, and how often a call asks for another one.
STALE_S = 0.4
TURNS = 20
#: How long a worker waits for a desk that is being started anew elsewhere.
PATIENCE_S = 120.0


@dataclass(frozen=True)
class Report:
    """How a call went: it was not sent (its guessed tokens), it succeeded (guess, tokens in and out), it met a 429
    (when it started, by the desk's clock, and Retry-After), it is over.
    """

    unused: float | None = None
    succeeded: tuple[float, int, int] | None = None
    throttled: tuple[float, float | None] | None = None
    left: bool = False


class LimiterDesk:
    """An actor: the limits of one endpoint for all workers."""

    def __init__(self, limits: Limits, anew: bool | None = None) -> None:
        """`limits` hold for all workers together. `anew`: one before this one has died (None: Ray knows)."""
        self._limiter = Limiter(limits, cautious=_is_reconstructed() if anew is None else anew)
        self._out: Counter[str] = Counter()
        self._gone: set[str] = set()
        self._n_waiting = 0

    async def lease(self, worker: str, tokens: Sequence[float]) -> list[float]:
        """Wait until the first of these calls may start, and let those go with it that may start at once as well."""
        self._n_waiting += 1
        try:
            starts = [await self._limiter.enter(tokens[0])]
        finally:
            self._n_waiting -= 1
        share = -(-len(tokens) // (1 + self._n_waiting))  # the others that wait want some, too
        for wanted in tokens[1:share]:
            started = self._limiter.admit(wanted)
            if started is None:
                break
            starts.append(started)
        if worker in self._gone:  # it died while it waited
            for _ in starts:
                self._limiter.leave()
            return []
        self._out[worker] += len(starts)
        return starts

    async def report(self, worker: str, reports: Sequence[Report]) -> None:
        """How calls of a worker went."""
        for report in reports:
            if report.throttled is not None:
                self._limiter.throttled(*report.throttled)
            if report.succeeded is not None:
                guessed, tokens_in, tokens_out = report.succeeded
                self._limiter.succeeded(guessed, Reply("", tokens_in, tokens_out))
            if report.unused is not None and self._out[worker] > 0:
                self._out[worker] -= 1
                self._limiter.give_back(report.unused)
            if report.left and self._out[worker] > 0:
                self._out[worker] -= 1
                self._limiter.leave()

    async def clock(self) -> float:
        """This desk's time, which turns are told in."""
        return asyncio.get_running_loop().time()

    async def forget(self, worker: str) -> None:
        """A worker is gone: its calls are over."""
        self._gone.add(worker)
        for _ in range(self._out.pop(worker, 0)):
            self._limiter.leave()


@dataclass(frozen=True)
class Refusal:
    """A call that the budget has no room for."""

    message: str
    hint: str


class BudgetDesk:
    """An actor: the budget of a run."""

    def __init__(
        self, max_calls: int | None, max_tokens: int | None, max_usd: float | None, anew: bool | None = None
    ) -> None:
        """The limits are those of `Budget`. `anew`: one before this one has died (None: Ray knows)."""
        self._budget = Budget(max_calls, max_tokens, max_usd)
        self._held: dict[str, Spending] = {}
        self._known = asyncio.Event()
        if not (_is_reconstructed() if anew is None else anew):
            self._known.set()

    async def reserve(self, worker: str, wanted: Sequence[tuple[int, Price | None]]) -> list[Spending | Refusal]:
        """Hold back what calls will probably take, one by one."""
        await self._known.wait()
        found: list[Spending | Refusal] = []
        for tokens_in, price in wanted:
            try:
                held = self._budget.hold(tokens_in, price)
            except BudgetSpent as refused:
                found.append(Refusal(refused.message, refused.hint))
            else:
                self._held[worker] = self._held.get(worker, Spending()).plus(held)
                found.append(held)
        return found

    async def settle(self, worker: str, over: Sequence[tuple[Spending, Spending, int | None]]) -> None:
        """Calls are over."""
        for held, took, tokens_out in over:
            self._held[worker] = self._held.get(worker, Spending()).plus(held, -1)
            self._budget.settle(held, took, tokens_out)

    async def forget(self, worker: str) -> None:
        """A worker is gone: what it had under way is taken to have been spent, for it was probably sent."""
        held = self._held.pop(worker, Spending())
        self._budget.settle(held, held, None)

    async def look(self) -> tuple[Spending, bool]:
        """What has been spent, and whether this desk knows it (one that was started anew does not)."""
        return self._budget.spent, self._known.is_set()

    async def restore(self, spent: Spending) -> None:
        """What had been spent before this desk was started anew."""
        if not self._known.is_set():
            self._budget.spent = self._budget.spent.plus(spent)
            self._known.set()


def _is_reconstructed() -> bool:
    import ray

    return bool(ray.get_runtime_context().was_current_actor_reconstructed)


class Batcher(Generic[Q, A]):
    """Asks `send` one batch at a time: everything that waits. It answers one or more of them, the first ones."""

    def __init__(
        self, send: Callable[[list[Q]], Awaitable[Sequence[A]]], unclaimed: Callable[[A], None] | None = None
    ) -> None:
        """`unclaimed` is given answers that nobody waits for any more."""
        self._send, self._unclaimed = send, unclaimed
        self._waiting: deque[tuple[Q, asyncio.Future[A]]] = deque()
        self._pump: asyncio.Task[None] | None = None

    async def ask(self, question: Q) -> A:
        """The answer to one question."""
        future: asyncio.Future[A] = asyncio.get_running_loop().create_future()
        self._waiting.append((question, future))
        self._wake()
        try:
            return await future
        except asyncio.CancelledError:
            if future.done() and not future.cancelled() and future.exception() is None and self._unclaimed:
                self._unclaimed(future.result())
            raise

    def tell(self, question: Q) -> None:
        """Ask without waiting for the answer."""
        self._waiting.append((question, asyncio.get_running_loop().create_future()))
        self._wake()

    def _wake(self) -> None:
        if self._pump is None or self._pump.done():
            self._pump = asyncio.create_task(self._run())

    async def _run(self) -> None:
        while self._waiting:
            await asyncio.sleep(0)  # what comes up in the same turn of the loop goes along
            while self._waiting and self._waiting[0][1].cancelled():
                self._waiting.popleft()
            batch = [question for question, _ in list(self._waiting)[:LEASE]]
            if not batch:
                return
            try:
                answers = await self._send(batch)
            except Exception as error:
                while self._waiting:
                    _, future = self._waiting.popleft()
                    if not future.done():
                        future.set_exception(error)
                        future.exception()  # a caller that has been told is enough
                return
            for answer in answers:
                _, future = self._waiting.popleft()
                if not future.cancelled():
                    future.set_result(answer)
                elif self._unclaimed is not None:
                    self._unclaimed(answer)


@dataclass
class SharedLimiter:
    """A worker's side of a `LimiterDesk`: see `judges.wrappers.limited.Turns`."""

    limits: Limits
    desk: Any
    worker: str
    _ahead: float | None = field(default=None, init=False, repr=False)
    _leases: Batcher[float, float] = field(init=False, repr=False)
    _reports: Batcher[Report, None] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        async def lease(tokens: list[float]) -> Sequence[float]:
            starts: Sequence[float] = await called(self.desk, "lease", self.worker, tokens)
            return starts

        async def report(reports: list[Report]) -> Sequence[None]:
            await called(self.desk, "report", self.worker, reports)
            return [None] * len(reports)

        self._leases = Batcher(lease, lambda _: self.leave())
        self._reports = Batcher(report)

    async def enter(self, tokens: float) -> float:
        """Wait for a turn; the time by the desk's clock.

        One that comes too late, because this process was busy, is given back: used late, it would go out together with
        those of the next second.
        """
        for _ in range(TURNS):
            started = await self._leases.ask(tokens)
            try:
                is_fresh = await self._age(started) <= STALE_S
            except BaseException:  # cancelled while the clocks were compared: nobody takes this turn
                self._reports.tell(Report(unused=tokens))
                raise
            if is_fresh:
                return started
            self._reports.tell(Report(unused=tokens))
        return await self._leases.ask(tokens)

    async def _age(self, started: float) -> float:
        """Seconds since the desk gave a turn, by clocks that are compared once, or when they cannot be right."""
        loop = asyncio.get_running_loop()
        age = math.inf if self._ahead is None else loop.time() + self._ahead - started
        if not -0.1 <= age <= STALE_S:
            self._ahead = await self._compared()
            age = loop.time() + self._ahead - started
        return age

    async def _compared(self) -> float:
        """How far the desk's clock is ahead of ours: of a few questions, the one that was answered fastest."""
        loop, found = asyncio.get_running_loop(), []
        for _ in range(5):
            asked = loop.time()
            there = await called(self.desk, "clock")
            now = loop.time()
            found.append((now - asked, there - (asked + now) / 2))
        ahead: float = min(found)[1]
        return ahead

    def leave(self) -> None:
        """A call is over, however it ended."""
        self._reports.tell(Report(left=True))

    def succeeded(self, guessed: float, reply: Reply) -> None:
        """A reply came."""
        self._reports.tell(Report(succeeded=(guessed, reply.tokens_in, reply.tokens_out)))

    def throttled(self, started: float, retry_after_s: float | None) -> None:
        """The endpoint answered 429."""
        self._reports.tell(Report(throttled=(started, retry_after_s)))


@dataclass
class SharedBudget:
    """A worker's side of a `BudgetDesk`: see `judges.wrappers.budgeted.Purse`."""

    max_usd: float | None
    desk: Any
    worker: str
    _holds: Batcher[tuple[int, Price | None], Spending | Refusal] = field(init=False, repr=False)
    _over: Batcher[tuple[Spending, Spending, int | None], None] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        async def reserve(wanted: list[tuple[int, Price | None]]) -> Sequence[Spending | Refusal]:
            found: Sequence[Spending | Refusal] = await called(self.desk, "reserve", self.worker, wanted)
            return found

        async def settle(over: list[tuple[Spending, Spending, int | None]]) -> Sequence[None]:
            await called(self.desk, "settle", self.worker, over)
            return [None] * len(over)

        def unclaimed(held: Spending | Refusal) -> None:
            if isinstance(held, Spending):
                self.settle(held, Spending(), None)

        self._holds = Batcher(reserve, unclaimed)
        self._over = Batcher(settle)

    async def reserve(self, tokens_in: int, price: Price | None) -> Spending:
        """Hold back what a call will probably take; `BudgetSpent` if there is no room for it."""
        held = await self._holds.ask((tokens_in, price))
        if isinstance(held, Refusal):
            raise BudgetSpent(held.message, hint=held.hint)
        return held

    def settle(self, held: Spending, took: Spending, tokens_out: int | None) -> None:
        """A call is over."""
        self._over.tell((held, took, tokens_out))


async def called(desk: Any, method: str, *arguments: Any) -> Any:
    """Ask a desk; while it is being started anew, wait for it."""
    from ray.exceptions import RayActorError

    until = time.monotonic() + PATIENCE_S
    while True:
        try:
            return await getattr(desk, method).remote(*arguments)
        except RayActorError as error:
            if time.monotonic() > until:
                raise RunError(f"the run's shared limits cannot be reached: {str(error).splitlines()[0]}") from None
            await asyncio.sleep(0.2)
