from __future__ import annotations

import asyncio
import bisect
import contextlib
import random
import time
from dataclasses import replace

import pytest

from ragauge.core.judge import metered
from ragauge.core.provider import Endpoint, Reply, Request, Sampling, Shape
from ragauge.errors import BudgetSpent, SettingsError
from ragauge.judges.providers.failures import CallFailed, CallTimedOut
from ragauge.judges.wrappers.budgeted import Budget, Budgeted
from ragauge.judges.wrappers.cached import Cached, cache_key
from ragauge.judges.wrappers.limited import Bucket, Limited, Limiter, Limits
from ragauge.judges.wrappers.priced import Price, Priced, price_of
from ragauge.judges.wrappers.retried import Retried, Retries
from ragauge.judges.wrappers.timed import Timed
from ragauge.judges.wrappers.tokens import guess_tokens
from ragauge.store.cache import SqliteCache

ASK = Request("support", "system", "user", "prompt-hash", Shape("s", {"type": "object"}, "shape-hash"))
FAST = Retries(tries=4, base_s=0.001, longest_s=0.01)


def throttled(after: float | None = None) -> CallFailed:
    return CallFailed("slow down", kind="throttled", status=429, retry_after_s=after)


@pytest.fixture
def cache(tmp_path):
    opened = SqliteCache(tmp_path / "cache.sqlite")
    yield opened
    opened.close()


# Cache


def test_peer_bug_17_the_key_tells_apart_whatever_can_change_a_reply() -> None:
    here = Endpoint("p1", "small", "http://a/v1")
    keys = {cache_key(here, ASK)}
    for endpoint in (
        replace(here, provider="p2"), replace(here, model="large"), replace(here, base_url="http://b/v1"),
        replace(here, options=(("reasoning_effort", "low"),)),
    ):  # fmt: skip
        keys.add(cache_key(endpoint, ASK))
    for sampling in (Sampling(0.9), Sampling(None), Sampling(top_p=0.5), Sampling(seed=1), Sampling(max_tokens=100)):
        keys.add(cache_key(here, replace(ASK, sampling=sampling)))
    for request in (
        replace(ASK, system="s2"), replace(ASK, user="u2"), replace(ASK, prompt_sha256="v2"), replace(ASK, sample=1),
        replace(ASK, attempt=1), replace(ASK, shape=Shape("s", {}, "other")), replace(ASK, shape=None),
        replace(ASK, system="systemuser", user=""),
    ):  # fmt: skip
        keys.add(cache_key(here, request))
    assert len(keys) == 1 + 4 + 5 + 8


def test_peer_bug_18_each_sample_is_a_call_and_the_second_run_makes_none(script, run, cache) -> None:
    model = script([lambda request: f"draw {request.sample}"])
    asked = [replace(ASK, sample=n) for n in range(3)]

    async def ask_all() -> list[str]:
        provider = Cached(model, cache)
        return [reply.text for reply in await asyncio.gather(*(provider.complete(one) for one in asked))]

    assert run(ask_all()) == run(ask_all()) == ["draw 0", "draw 1", "draw 2"]
    assert len(model.requests) == 3


def test_the_same_request_at_the_same_time_is_sent_once(script, run, cache) -> None:
    model = script(["x"], delay_s=0.05)

    async def ask_all() -> list[Reply]:
        provider = Cached(model, cache)
        return await asyncio.gather(*(provider.complete(ASK) for _ in range(10)))

    assert {reply.text for reply in run(ask_all())} == {"x"}
    assert len(model.requests) == 1


def test_one_waiter_that_goes_does_not_take_the_others_reply(script, run, cache) -> None:
    model = script(["x"], delay_s=0.1)

    async def scenario() -> str:
        provider = Cached(model, cache)
        first, second = (asyncio.create_task(provider.complete(ASK)) for _ in range(2))
        await asyncio.sleep(0.02)
        first.cancel()
        return (await second).text

    assert run(scenario()) == "x"


@pytest.mark.parametrize("said", [Reply("cut", stop="length"), Reply("no", stop="refusal"), throttled()])
def test_only_complete_replies_are_kept(script, run, cache, said) -> None:
    model = script([said, "good"])

    async def scenario() -> str:
        provider = Cached(model, cache)
        with contextlib.suppress(CallFailed):
            await provider.complete(ASK)
        return (await provider.complete(ASK)).text

    assert run(scenario()) == "good"


def test_text_of_every_kind_comes_back_as_it_was(script, run, cache) -> None:
    hostile = "NUL \x00, surrogate \ud800, emoji 🙂, \u202ebidi, " + "long " * 100_000
    provider = Cached(script([Reply(hostile, 5, 6, model="m", cost_usd=0.5, latency_ms=7.0)]), cache)
    run(provider.complete(ASK))
    again = run(provider.complete(ASK))
    assert (again.text, again.tokens_in, again.cached, again.cost_usd) == (hostile, 5, True, 0.0)


def test_what_is_forgotten_is_asked_anew(script, run, cache) -> None:
    model = script(["bad", "good"])

    async def scenario() -> str:
        provider = Cached(model, cache)
        await provider.complete(ASK)
        await provider.forget([ASK])
        return (await provider.complete(ASK)).text

    assert run(scenario()) == "good"


def test_usage_says_calls_and_cached_calls(script, run, cache) -> None:
    provider = Cached(Priced(script(["x"]), Price(10.0, 100.0)), cache)

    async def scenario():
        with metered() as first:
            await provider.complete(ASK)
        with metered() as second:
            await provider.complete(ASK)
        return first.usage, second.usage

    first, second = run(scenario())
    assert (first.calls, first.cached_calls, first.tokens_in, first.tokens_out) == (1, 0, 100, 10)
    assert first.cost_usd == pytest.approx(0.002)
    assert (second.calls, second.cached_calls, second.tokens_in, second.cost_usd) == (0, 1, 0, 0.0)


# Retries


def test_a_transient_failure_is_tried_again_and_every_try_is_counted(script, run) -> None:
    model = script([throttled(), CallFailed("x", kind="server"), CallTimedOut("late"), "good"])
    provider = Retried(Priced(model), FAST)

    async def scenario():
        with metered() as meter:
            reply = await provider.complete(ASK)
        return reply.text, meter.usage.calls

    assert run(scenario()) == ("good", 4)


def test_tries_are_bounded_and_the_last_failure_says_so(script, run) -> None:
    for failure in (throttled(), CallTimedOut("late")):
        model = script([failure])
        with pytest.raises(type(failure), match="given up after 4 tries"):
            run(Retried(model, FAST).complete(ASK))
        assert len(model.requests) == 4


def test_a_permanent_failure_is_not_tried_again(script, run) -> None:
    model = script([CallFailed("bad request", kind="request", status=400)])
    with pytest.raises(CallFailed):
        run(Retried(model, FAST).complete(ASK))
    assert len(model.requests) == 1


@pytest.mark.parametrize("kind", ["key", "model", "quota"])
def test_after_a_fatal_failure_nothing_more_is_sent(script, run, kind) -> None:
    model = script([CallFailed("over", kind=kind, hint="do something")])
    provider = Retried(model, FAST)
    for _ in range(3):
        with pytest.raises(CallFailed, match="over"):
            run(provider.complete(ASK))
    assert len(model.requests) == 1


def test_learning_a_dialect_costs_no_try_and_no_pause(script, run) -> None:
    model = script([CallFailed("no schema", kind="dialect")] * 5 + ["good"])
    started = time.perf_counter()
    assert run(Retried(model, Retries(tries=1, base_s=5)).complete(ASK)).text == "good"
    assert time.perf_counter() - started < 4  # a pause would take 5


def test_retry_after_is_waited_out(script, run) -> None:
    model = script([throttled(0.3), "good"])
    started = time.perf_counter()
    run(Retried(model, FAST).complete(ASK))
    assert time.perf_counter() - started >= 0.3


def test_a_retry_after_beyond_patience_ends_the_tries(script, run) -> None:
    model = script([throttled(4000)])
    with pytest.raises(CallFailed, match="1 try"):
        run(Retried(model, FAST).complete(ASK))


def test_pauses_grow_are_bounded_and_the_same_in_every_run() -> None:
    provider = Retried(None, Retries(base_s=1, longest_s=8), seed=3)  # type: ignore[arg-type]
    pauses = [provider._pause(ASK, n) for n in range(1, 9)]
    assert pauses == [provider._pause(ASK, n) for n in range(1, 9)]
    assert all(min(8, 2 ** (n - 1)) / 2 <= p <= min(8, 2 ** (n - 1)) for n, p in enumerate(pauses, start=1))
    assert provider._pause(replace(ASK, user="other"), 1) != pauses[0]


# Time-outs and limits


def test_a_request_that_takes_too_long_is_given_up(script, run) -> None:
    with pytest.raises(CallTimedOut, match=r"0\.05 s"):
        run(Timed(script(["x"], delay_s=5), 0.05).complete(ASK))


def test_peer_bug_27_waiting_for_a_turn_does_not_count(script, run) -> None:
    model = script(["x"], delay_s=0.05)
    provider = Limited(Timed(model, 0.15), Limiter(Limits(concurrency=1)))

    async def scenario() -> int:
        return len(await asyncio.gather(*(provider.complete(replace(ASK, sample=n)) for n in range(10))))

    assert run(scenario()) == 10


def test_never_more_at_once_than_allowed(run) -> None:
    class Watch:
        endpoint = Endpoint("w", "m")
        now = peak = 0

        async def complete(self, request: Request) -> Reply:
            self.now += 1
            self.peak = max(self.peak, self.now)
            await asyncio.sleep(0.002)
            self.now -= 1
            return Reply("x")

    watch = Watch()
    provider = Limited(watch, Limiter(Limits(concurrency=5)))

    async def scenario() -> None:
        await asyncio.gather(*(provider.complete(replace(ASK, sample=n)) for n in range(60)))

    run(scenario())
    assert watch.peak == 5


def test_one_429_slows_all_workers_until_retry_after_is_over(run) -> None:
    class Once429:
        endpoint = Endpoint("w", "m")

        def __init__(self) -> None:
            self.started: list[float] = []

        async def complete(self, request: Request) -> Reply:
            self.started.append(asyncio.get_running_loop().time())
            await asyncio.sleep(0.01)
            if len(self.started) == 1:
                raise throttled(0.4)
            return Reply("x")

    model = Once429()
    limiter = Limiter(Limits(concurrency=1))
    provider = Retried(Limited(model, limiter), FAST)

    async def scenario() -> None:
        await asyncio.gather(*(provider.complete(replace(ASK, sample=n)) for n in range(6)))

    run(scenario())
    assert all(later - model.started[0] >= 0.4 for later in model.started[1:])
    assert limiter.n_throttled == 1


def test_concurrency_falls_at_429_once_for_a_burst_and_grows_again(run) -> None:
    limiter = Limiter(Limits(concurrency=16))

    async def scenario() -> list[float]:
        seen = []
        started = await limiter.enter(0)
        for _ in range(10):
            limiter.throttled(started, 0.0)
        seen.append(limiter.allowed)
        await asyncio.sleep(0.001)
        limiter.leave()
        limiter.throttled(await limiter.enter(0), 0.0)
        seen.append(limiter.allowed)
        for _ in range(500):
            limiter.succeeded(0, Reply("x"))
        return [*seen, limiter.allowed]

    assert run(scenario()) == pytest.approx([11.2, 7.84, 16.0])


def test_concurrency_never_falls_below_one(run) -> None:
    limiter = Limiter(Limits(concurrency=2))

    async def scenario() -> float:
        for _ in range(50):
            started = await limiter.enter(0)
            limiter.leave()
            limiter.throttled(started, 0.0)
            await asyncio.sleep(0)
        return limiter.allowed

    assert run(scenario()) >= 1.0


def test_requests_a_minute_are_kept(script, run) -> None:
    model = script(["x"])
    provider = Limited(model, Limiter(Limits(concurrency=50, requests_per_minute=600)))

    async def scenario() -> float:
        started = time.perf_counter()
        await asyncio.gather(*(provider.complete(replace(ASK, sample=n)) for n in range(16)))
        return time.perf_counter() - started

    assert 0.5 <= run(scenario()) < 3  # 5 at once, then a little less than ten a second


def test_tokens_a_minute_are_kept_by_what_replies_really_took(run) -> None:
    bucket = Bucket(rate=100)
    assert bucket.wait(50, 0.0) == 0
    bucket.take(150)
    assert bucket.wait(50, 0.0) == pytest.approx(1.0)
    assert bucket.wait(50, 1.0) == 0
    assert bucket.wait(1e9, 10.0) == 0  # more than fits goes through when the bucket is full


def test_a_limiter_may_be_used_in_one_event_loop_after_another(script, run) -> None:
    provider = Limited(script(["x"]), Limiter(Limits(concurrency=1)))
    for _ in range(3):
        assert run(provider.complete(ASK)).text == "x"


def test_a_cancelled_call_gives_its_place_back(script, run) -> None:
    limiter = Limiter(Limits(concurrency=1))
    slow, quick = Limited(script(["x"], delay_s=30), limiter), Limited(script(["y"]), limiter)

    async def scenario() -> str:
        task = asyncio.create_task(slow.complete(ASK))
        await asyncio.sleep(0.01)
        waiting = asyncio.create_task(quick.complete(ASK))
        await asyncio.sleep(0.01)
        task.cancel()
        return (await asyncio.wait_for(waiting, 5)).text

    assert run(scenario()) == "y"


@pytest.mark.parametrize("bad", [{"concurrency": 0}, {"requests_per_minute": 0}, {"tokens_per_minute": -1}])
def test_limits_that_allow_nothing_are_refused(bad) -> None:
    with pytest.raises(ValueError):
        Limits(**bad)


# Price and budget


def test_prices_are_known_or_said_to_be_unknown() -> None:
    mini = price_of(Endpoint("openai", "gpt-4o-mini"))
    assert mini == Price(0.15, 0.6)
    assert price_of(Endpoint("openai", "gpt-4o-mini-2024-07-18")) == mini
    assert price_of(Endpoint("anthropic", "claude-sonnet-4-5-20250929")) == Price(3.0, 15.0)
    assert price_of(Endpoint("openai", "gpt-9")) is None
    assert price_of(Endpoint("compatible", "gpt-4o-mini", "http://h/v1")) is None
    own = {"compatible:x": {"input": 1, "output": 2}, "openai:gpt-4o-mini": {"input": 0, "output": 0}}
    assert price_of(Endpoint("compatible", "x"), own) == Price(1, 2)
    assert price_of(Endpoint("openai", "gpt-4o-mini"), own) == Price(0, 0)
    for odd in (
        {"input": 1},
        5,
        {"input": -1, "output": 0},
        {"input": "a", "output": 0},
        {"input": float("nan"), "output": 0},
    ):
        with pytest.raises(SettingsError):
            price_of(Endpoint("p", "m"), {"m": odd})


def test_an_unknown_price_is_none_and_not_zero(script, run) -> None:
    async def scenario():
        with metered() as meter:
            await Priced(script(["x"])).complete(ASK)
        return meter.usage

    assert run(scenario()).cost_usd is None


def test_the_budget_of_calls_is_never_overrun_even_at_once(script, run) -> None:
    model = script(["x"], delay_s=0.01)
    budget = Budget(max_calls=7)
    provider = Budgeted(model, budget)

    async def scenario():
        asked = (provider.complete(replace(ASK, sample=n)) for n in range(30))
        return await asyncio.gather(*asked, return_exceptions=True)

    results = run(scenario())
    assert len(model.requests) == 7
    assert sum(isinstance(r, BudgetSpent) for r in results) == 23
    assert budget.held == (0, 0, 0)
    assert budget.spent.calls == 7


def test_the_budget_in_dollars_and_tokens_stops_before_it_is_overrun(script, run) -> None:
    price = Price(10_000.0, 0.0)  # a cent for each prompt token: a dollar for each reply of the script
    for budget in (Budget(max_usd=3.0), Budget(max_tokens=700)):
        model = script(["x"])
        provider = Budgeted(Priced(model, price), budget, price)

        async def scenario(provider=provider) -> None:
            for n in range(50):
                await provider.complete(replace(ASK, user="u" * 400, sample=n))

        with pytest.raises(BudgetSpent, match="used up"):
            run(scenario())
        assert budget.spent.usd <= 3.0 or budget.spent.tokens <= 700
        assert 1 <= len(model.requests) < 10


def test_a_budget_in_dollars_needs_a_price(script) -> None:
    with pytest.raises(SettingsError, match="price"):
        Budgeted(script(["x"]), Budget(max_usd=1), None)


def test_failed_calls_count_as_calls(script, run) -> None:
    budget = Budget(max_calls=2)
    with pytest.raises(BudgetSpent):
        run(Retried(Budgeted(script([throttled()]), budget), FAST).complete(ASK))
    assert budget.spent.calls == 2


def test_tokens_are_guessed_from_characters() -> None:
    assert guess_tokens("") == 0
    assert guess_tokens("x" * 4000) == 1000
    assert guess_tokens("ж" * 10) == 10


@pytest.mark.parametrize("per_minute", [1, 6, 59, 60, 61, 600, 6000])
def test_no_window_of_a_minute_holds_more_than_is_allowed(per_minute: int) -> None:
    """Demand without end, with a rest after 90 s so that the bucket is full again; calls arrive up to 2 s late."""
    draw, bucket, now, starts = random.Random(per_minute), Bucket.of_minute(per_minute), 0.0, []
    while now < 300:
        if 90 <= now < 120:
            now = 120.0
        wait = bucket.wait(1.0, now)
        if wait > 0:
            now += wait + 1e-9
            continue
        bucket.take(1.0)
        starts.append(now)
    arrivals = sorted(start + draw.uniform(0, 2.0) for start in starts)
    most = max(bisect.bisect_left(arrivals, at + 60) - place for place, at in enumerate(arrivals))
    assert most <= per_minute
    assert len(starts) >= 0.9 * per_minute * 270 / 60
