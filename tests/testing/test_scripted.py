from __future__ import annotations

import asyncio
from typing import Any

import pytest

from ragauge.core.sample import RetrievedChunk
from ragauge.core.tasks import (
    CORRECTNESS,
    REVERSE_QUESTIONS,
    SIMILARITY,
    SPLIT_CLAIMS,
    SUPPORT,
    USEFULNESS,
    QuestionsReply,
)
from ragauge.core.verdict import Claim, Verdict
from ragauge.errors import JudgeUnavailable
from ragauge.testing import LawBroken, Rounds, ScriptedJudge, agreeable_judge, check_judge

CLAIMS = (Claim(id="c1", text="One."), Claim(id="c2", text="Two."))
CHUNKS = (RetrievedChunk(id="a", text="One.", rank=1),)


def support(said: Any) -> list[tuple[str, str, str | None]]:
    reply = asyncio.run(ScriptedJudge({"support": said}).ask(SUPPORT, claims=CLAIMS, chunks=CHUNKS))
    return [(verdict.id, verdict.label, verdict.evidence) for verdict in reply.verdicts]


@pytest.mark.parametrize(
    ("said", "want"),
    [
        ("supported", [("c1", "supported", None), ("c2", "supported", None)]),
        (("supported", "a"), [("c1", "supported", "a"), ("c2", "supported", "a")]),
        (["supported", "contradicted"], [("c1", "supported", None), ("c2", "contradicted", None)]),
        (["supported", ("not_mentioned", "a")], [("c1", "supported", None), ("c2", "not_mentioned", "a")]),
        ({"c2": "supported"}, [("c2", "supported", None)]),
        ({"c9": "perhaps"}, [("c9", "perhaps", None)]),
        (["supported"], [("c1", "supported", None)]),
        ([], []),
        ([Verdict(id="c1", label="x", evidence="a")], [("c1", "x", "a")]),
        (lambda claims, chunks: {claim.id: "supported" for claim in claims[:1]}, [("c1", "supported", None)]),
    ],
)
def test_verdicts_are_given_as_the_script_says(said: Any, want: list[tuple[str, str, str | None]]) -> None:
    assert support(said) == want


def test_claims_questions_similarities_and_single_verdicts() -> None:
    judge = ScriptedJudge(
        {
            "split_claims": ["One.", "Two."],
            "reverse_questions": QuestionsReply(questions=(), noncommittal=True),
            "similarity": [0.5, -0.5],
            "correctness": "partial",
            "usefulness": "useful",
        }
    )

    async def ask() -> None:
        assert [claim.id for claim in (await judge.ask(SPLIT_CLAIMS, text="x")).claims] == ["c1", "c2"]
        assert (await judge.ask(REVERSE_QUESTIONS, answer="x", n=3)).noncommittal
        assert (await judge.ask(SIMILARITY, text="x", others=("a", "b"))).similarities == (0.5, -0.5)
        verdict = (await judge.ask(CORRECTNESS, question="?", answer="a", reference="r")).verdict
        assert verdict.label == "partial"
        useful = await judge.ask(USEFULNESS, question="?", chunks=CHUNKS, reference=None)
        assert [verdict.id for verdict in useful.verdicts] == ["a"]

    asyncio.run(ask())
    assert judge.count() == 5
    assert judge.count("similarity") == 1
    assert judge.calls[0].inputs == {"text": "x"}


@pytest.mark.parametrize(
    "said", [JudgeUnavailable, JudgeUnavailable("gone"), lambda **inputs: JudgeUnavailable("gone")]
)
def test_it_raises_what_it_is_told_to(said: Any) -> None:
    with pytest.raises(JudgeUnavailable):
        support(said)


def test_rounds_give_one_reply_after_the_other_and_the_last_for_good() -> None:
    judge = ScriptedJudge({"support": Rounds({"c1": "supported"}, "contradicted")})

    async def ask() -> list[int]:
        return [len((await judge.ask(SUPPORT, claims=CLAIMS, chunks=CHUNKS)).verdicts) for _ in range(3)]

    assert asyncio.run(ask()) == [1, 2, 2]


def test_an_unscripted_task_or_a_wrong_input_breaks_the_test() -> None:
    with pytest.raises(LawBroken, match="its script does not have"):
        asyncio.run(ScriptedJudge({}).ask(SPLIT_CLAIMS, text="x"))
    with pytest.raises(LawBroken, match="its inputs are"):
        asyncio.run(ScriptedJudge({"split_claims": []}).ask(SPLIT_CLAIMS, words="x"))


def test_the_agreeable_judge_keeps_the_laws_of_judges() -> None:
    assert len(check_judge(agreeable_judge())) == 12
