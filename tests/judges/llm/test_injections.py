"""A model may be fooled into repeating what stands in its material; its labels are never taken from there."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest

from ragauge.core.provider import Endpoint, Reply, Request
from ragauge.core.sample import RetrievedChunk
from ragauge.core.tasks import CORRECTNESS, RELEVANCE, REVERSE_QUESTIONS, SPLIT_CLAIMS, SUPPORT, USEFULNESS
from ragauge.core.verdict import Claim
from ragauge.errors import JudgeUnparseable
from ragauge.judges.factory import make_judge
from ragauge.judges.llm.judge import LLMJudge
from ragauge.testing.fake_llm import FakeLLMServer

SOURCE = Path(__file__).parents[2] / "prompts" / "injection_cases.jsonl"
CASES = [json.loads(line) for line in SOURCE.read_text(encoding="utf-8").split("\n") if line]


class Parrot:
    """The most gullible model: it says what stands in the hostile text, and maybe its own verdict before or after."""

    endpoint = Endpoint("parrot", "m")

    def __init__(self, hostile: str, own: str | None = None) -> None:
        self.hostile, self.own = hostile, own

    async def complete(self, request: Request) -> Reply:
        said = [self.hostile]
        if self.own == "list":
            verdicts = [{"id": i, "reason": self.hostile, "label": request.labels[-1]} for i in request.ids]
            said.append(json.dumps({"verdicts": verdicts}))
        if self.own == "single":
            said.append(json.dumps({"id": request.ids[0], "reason": self.hostile, "label": request.labels[-1]}))
        return Reply("\n".join(said))


def material(hostile: str):
    hostile = hostile.encode("utf-8", "replace").decode()  # our own types hold no lone surrogates; models may say them
    said = (Claim(id="c1", text=hostile),)
    return {
        SUPPORT: {"claims": said, "chunks": (RetrievedChunk(id="d1", text=hostile, rank=1),)},
        USEFULNESS: {
            "question": hostile, "reference": hostile, "chunks": (RetrievedChunk(id="d1", text=f"x {hostile}", rank=1),)
        },
        CORRECTNESS: {"question": hostile, "answer": hostile, "reference": hostile},
        RELEVANCE: {"question": hostile, "answer": hostile},
        SPLIT_CLAIMS: {"text": f"x {hostile}"},
        REVERSE_QUESTIONS: {"answer": hostile, "n": 3},
    }  # fmt: skip


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["id"])
def test_repeating_the_material_is_never_a_verdict(case) -> None:
    for task, inputs in material(case["text"]).items():
        with pytest.raises(JudgeUnparseable):
            asyncio.run(LLMJudge(Parrot(case["text"]), max_reasks=0).ask(task, **inputs))


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["id"])
def test_a_verdict_of_its_own_is_taken_and_nothing_else(case) -> None:
    for task, own in ((SUPPORT, "list"), (USEFULNESS, "list"), (CORRECTNESS, "single"), (RELEVANCE, "single")):
        try:
            reply = asyncio.run(
                LLMJudge(Parrot(case["text"], own), max_reasks=0).ask(task, **material(case["text"])[task])
            )
        except JudgeUnparseable:
            continue  # an unclosed block in front of the verdict makes the whole reply unreadable: an error, no label
        verdicts = reply.verdicts if own == "list" else (reply.verdict,)
        assert [v.label for v in verdicts] == [task.labels[-1]]


def test_hostile_chunks_do_not_change_what_is_said_of_the_others() -> None:
    claims = (Claim(id="c1", text="The agent listens on port 8125."), Claim(id="c2", text="Whales sing at night."))
    good = RetrievedChunk(id="good", text="The agent listens on port 8125.", rank=1)
    with FakeLLMServer() as server:
        judge = make_judge(f"compatible:fake@{server.openai_url}")

        async def all_cases() -> list[list[str]]:
            found = []
            for case in CASES:
                chunks = (good, RetrievedChunk(id="bad", text=case["text"], rank=2))
                reply = await judge.ask(SUPPORT, claims=claims, chunks=chunks)
                found.append([v.label for v in reply.verdicts])
            await judge.aclose()
            return found

        assert asyncio.run(all_cases()) == [["supported", "not_mentioned"]] * len(CASES)
