"""Turns and money that several workers share. Desks as plain objects in this loop; Ray itself is in `test_ray`."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

import pytest

from ragauge.core.provider import Reply
from ragauge.engine.cluster.desks import Batcher, BudgetDesk, LimiterDesk, SharedBudget, SharedLimiter
from ragauge.errors import BudgetSpent
from ragauge.judges.wrappers.budgeted import Spending
from ragauge.judges.wrappers.limited import Limits

pytest.importorskip("ray.exceptions", reason="Ray is not installed (extra ray)")


class Here:
    """A desk that is asked as an actor is: `desk.method.remote(…)`. Counts the messages."""

    def __init__(self, desk: Any) -> None:
        self._desk = desk
        self.n_messages = 0

    def __getattr__(self, name: str) -> Any:
        outer = self

        class Method:
            async def remote(self, *arguments: Any) -> Any:
                outer.n_messages += 1
                await asyncio.sleep(0.001)
                return await getattr(outer._desk, name)(*arguments)

        return Method()


async def told(batcher: Batcher[Any, Any]) -> None:
    """Wait until everything that was told has been taken, however busy the machine is."""
    if batcher._pump is not None:
        await asyncio.wait_for(asyncio.shield(batcher._pump), 20)


def test_what_comes_up_while_an_answer_is_on_its_way_goes_out_together() -> None:
    sent: list[list[int]] = []

    async def send(questions: list[int]) -> Sequence[int]:
        sent.append(questions)
        await asyncio.sleep(0.01)
        return [-question for question in questions[:3]]  # a desk may answer only the first ones

    async def scenario() -> list[int]:
        batcher: Batcher[int, int] = Batcher(send)
        return await asyncio.gather(*(batcher.ask(number) for number in range(7)))

    assert asyncio.run(scenario()) == [-number for number in range(7)]
    assert sent == [[0, 1, 2, 3, 4, 5, 6], [3, 4, 5, 6], [6]]


def test_workers_together_stay_below_the_limits_and_nobody_starves() -> None:
    async def scenario() -> tuple[int, list[int], int]:
        desk = Here(LimiterDesk(Limits(concurrency=6), anew=False))
        n_now = most = 0

        async def call(limiter: SharedLimiter) -> None:
            nonlocal n_now, most
            await limiter.enter(0)
            n_now += 1
            most = max(most, n_now)
            await asyncio.sleep(0.005)
            n_now -= 1
            limiter.leave()
            limiter.succeeded(0, Reply("", 10, 5))

        async def work(name: str, n: int) -> int:
            limiter = SharedLimiter(Limits(concurrency=6), desk, name)
            await asyncio.gather(*(call(limiter) for _ in range(n)))
            return n

        done = await asyncio.gather(*(work(f"w{number}", 25) for number in range(4)))
        return most, list(done), desk.n_messages

    most, done, n_messages = asyncio.run(asyncio.wait_for(scenario(), 20))
    assert most <= 6
    assert done == [25] * 4
    assert n_messages < 400


def test_a_429_pauses_all_workers_and_the_places_of_a_lost_one_are_free_again() -> None:
    async def scenario() -> tuple[float, float]:
        desk = Here(LimiterDesk(Limits(concurrency=2), anew=False))
        one, other = (SharedLimiter(Limits(concurrency=2), desk, name) for name in ("one", "other"))
        loop = asyncio.get_running_loop()
        started = await one.enter(0)
        await one.enter(0)
        await desk.forget.remote("one")  # it died with both places
        began = loop.time()
        await asyncio.wait_for(other.enter(0), 5)
        freed = loop.time() - began
        other.throttled(started, 0.3)
        other.leave()
        await told(other._reports)
        began = loop.time()
        await other.enter(0)
        return freed, loop.time() - began

    freed, paused = asyncio.run(scenario())
    assert freed < 3  # at once, but for how busy the machine is
    assert 0.2 < paused < 5


def test_a_cancelled_caller_gives_its_place_back() -> None:
    async def scenario() -> None:
        desk = Here(LimiterDesk(Limits(concurrency=1), anew=False))
        limiter = SharedLimiter(Limits(concurrency=1), desk, "w")
        for _ in range(5):
            task = asyncio.create_task(limiter.enter(0))
            await asyncio.sleep(0.0015)
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
        await asyncio.wait_for(limiter.enter(0), 5)

    asyncio.run(scenario())


def test_one_budget_for_all_which_a_desk_that_is_started_anew_is_told_again() -> None:
    async def scenario() -> int:
        desk = BudgetDesk(20, None, None, anew=False)
        purses = [SharedBudget(None, Here(desk), f"w{number}") for number in range(4)]

        async def call(purse: SharedBudget) -> int:
            try:
                held = await purse.reserve(100, None)
            except BudgetSpent:
                return 0
            await asyncio.sleep(0.002)
            purse.settle(held, Spending(1, 150, 0.0), 50)
            return 1

        made = sum(await asyncio.gather(*(call(purse) for purse in purses for _ in range(10))))
        await asyncio.gather(*(told(purse._over) for purse in purses))
        spent, is_known = await desk.look()
        assert is_known
        assert spent.calls == made
        fresh = BudgetDesk(20, None, None, anew=True)
        asked = asyncio.create_task(SharedBudget(None, Here(fresh), "w").reserve(100, None))
        await asyncio.sleep(0.02)
        assert not asked.done()  # it does not know yet what has been spent
        await fresh.restore(spent)
        with pytest.raises(BudgetSpent):
            await asked
        return made

    assert asyncio.run(scenario()) == 20
