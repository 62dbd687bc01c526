from __future__ import annotations

import asyncio

import pytest

from ragauge.core.sample import RetrievedChunk
from ragauge.core.tasks import SPLIT_CLAIMS, SUPPORT
from ragauge.core.verdict import Claim
from ragauge.errors import JudgeUnparseable
from ragauge.judges.llm.judge import LLMJudge
from ragauge.judges.shared import Shared, _key


def splitting(request):
    return {"id": request.ids[0], "claims": ["One.", "Two."]}


def test_claims_are_split_once_per_answer_whoever_asks(script, run) -> None:
    model = script([splitting], delay_s=0.02)
    judge = Shared(LLMJudge(model))

    async def scenario():
        first = await asyncio.gather(*(judge.ask(SPLIT_CLAIMS, text="One. Two.") for _ in range(5)))
        return [*first, await judge.ask(SPLIT_CLAIMS, text="One. Two.", question=None)]

    assert len({reply.model_dump_json() for reply in run(scenario())}) == 1
    assert len(model.requests) == 1


def test_other_inputs_are_another_question() -> None:
    chunk = RetrievedChunk(id="d", text="t", rank=1)
    claim = Claim(id="c1", text="x")
    keys = {
        _key(SUPPORT, {"claims": (claim,), "chunks": (chunk,)}), _key(SUPPORT, {"claims": (claim,), "chunks": ()}),
        _key(SUPPORT, {"claims": (claim.model_copy(update={"text": "y"}),), "chunks": (chunk,)}),
        _key(SUPPORT, {"claims": (claim.model_copy(update={"id": "c2"}),), "chunks": (chunk,)}),
        _key(SPLIT_CLAIMS, {"text": "ab", "question": "c"}), _key(SPLIT_CLAIMS, {"text": "a", "question": "bc"}),
        _key(SPLIT_CLAIMS, {"text": "ab"}), _key(SPLIT_CLAIMS, {"text": "1"}), _key(SPLIT_CLAIMS, {"text": 1}),
    }  # fmt: skip
    assert len(keys) == 9


def test_failures_are_not_remembered(script, run) -> None:
    model = script(["prose", "prose", "prose", splitting])
    judge = Shared(LLMJudge(model))
    with pytest.raises(JudgeUnparseable):
        run(judge.ask(SPLIT_CLAIMS, text="One. Two."))
    assert len(run(judge.ask(SPLIT_CLAIMS, text="One. Two.")).claims) == 2


def test_all_who_wait_get_the_failure(script, run) -> None:
    judge = Shared(LLMJudge(script(["prose"], delay_s=0.01)))

    async def scenario():
        return await asyncio.gather(*(judge.ask(SPLIT_CLAIMS, text="x") for _ in range(3)), return_exceptions=True)

    assert [type(failed) for failed in run(scenario())] == [JudgeUnparseable] * 3


def test_memory_is_bounded(script, run) -> None:
    judge = Shared(LLMJudge(script([splitting])), keep=10)

    async def scenario() -> None:
        for n in range(100):
            await judge.ask(SPLIT_CLAIMS, text=f"text {n}")

    run(scenario())
    assert len(judge._memory) == 10
    assert not judge._in_flight.entries
