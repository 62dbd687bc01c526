from __future__ import annotations

import asyncio
import importlib.util
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from ragauge.core.judge import JudgeInfo
from ragauge.core.sample import RetrievedChunk
from ragauge.core.tasks import CITATION_SUPPORT, RELEVANCE, SUPPORT, VerdictsReply
from ragauge.core.verdict import Claim, Verdict
from ragauge.engine.parts import make_judge, make_system
from ragauge.engine.settings import load_settings
from ragauge.errors import SettingsError
from ragauge.judges.embedded.judge import EmbeddedJudge
from ragauge.judges.exact.judge import ExactNames
from ragauge.judges.exact.lines import line_range

JUDGE = ExactNames(EmbeddedJudge())
CODE = "import time\n\ndef retry(call, times=3):\n    for _ in range(times):\n        call()\n"


def ask(task: Any, **inputs: Any) -> Any:
    return asyncio.run(JUDGE.ask(task, **inputs))


def chunk(text: str, **metadata: Any) -> RetrievedChunk:
    return RetrievedChunk(id="c1", document="src/net/retry.py", text=text, rank=1, metadata=metadata)


def support(claim: str, *chunks: RetrievedChunk) -> Any:
    return ask(SUPPORT, claims=(Claim(id="c1", text=claim),), chunks=chunks).verdicts[0]


class Agrees:
    """A judge that supports every claim, like a model that is easily convinced."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    def info(self) -> JudgeInfo:
        return EmbeddedJudge().info()

    async def ask(self, task: Any, /, **inputs: Any) -> Any:
        self.asked += [claim.text for claim in inputs["claims"]]
        verdicts = [
            Verdict(id=claim.id, claim=claim.text, label="supported", reason="sounds right", probability=0.9)
            for claim in inputs["claims"]
        ]
        return VerdictsReply(verdicts=tuple(verdicts))


def agreed(claim: str, *chunks: RetrievedChunk) -> Any:
    judge = ExactNames(Agrees())
    return asyncio.run(judge.ask(SUPPORT, claims=(Claim(id="c1", text=claim),), chunks=chunks)).verdicts[0]


def test_a_made_up_name_is_not_mentioned_and_says_so() -> None:
    text = chunk("Pass `--depth` to limit how far the crawler goes. It starts at the root.")
    assert support("Pass `--depth` to limit how far the crawler goes.", text).label == "supported"
    verdict = support("Pass `--depths` to limit how far the crawler goes.", text)
    assert verdict.label != "supported"
    assert "no chunk holds --depths" in verdict.reason


def test_what_the_judge_would_have_passed_is_not_mentioned_with_the_name_in_the_reason() -> None:
    text = chunk("The package `quarry-record` brings it along.")
    verdict = agreed("The package `gravel-record` brings it along.", text)
    assert (verdict.label, verdict.probability) == ("not_mentioned", 0.05)
    assert verdict.reason == "no chunk holds gravel-record (otherwise supported: sounds right)"
    assert agreed("`quarry-record` brings it along.", text).label == "supported"


def test_a_citation_is_checked_against_the_chunks_that_it_cites() -> None:
    one = RetrievedChunk(id="a", text="The flag `--depth` limits the crawler.", rank=1)
    other = RetrievedChunk(id="b", text="The flag `--width` limits the crawler.", rank=2)
    claims = (Claim(id="c1", text="The flag `--depth` limits the crawler."),)
    right = ask(CITATION_SUPPORT, claims=claims, chunks=(one, other), cited={"c1": ("a",)}).verdicts[0]
    wrong = ask(CITATION_SUPPORT, claims=claims, chunks=(one, other), cited={"c1": ("b",)}).verdicts[0]
    assert right.label == "supported"
    assert wrong.label != "supported"
    assert "--depth" in wrong.reason


def test_other_tasks_and_the_card_pass_through() -> None:
    assert ask(RELEVANCE, question="What is it?", answer="A pump.").verdict.label
    assert JUDGE.info().kind == "embedded"
    assert JUDGE.info().fingerprint != EmbeddedJudge().info().fingerprint
    assert JUDGE.info().name == "embedded + exact names"


@pytest.mark.parametrize(
    ("metadata", "expected"),
    [
        ({"lines": [10, 14]}, (10, 14)),
        ({"lines": "10-14"}, (10, 14)),
        ({"start_line": 10, "end_line": 14}, (10, 14)),
        ({"loc": {"lines": {"from": 10, "to": 14}}}, (10, 14)),
        ({"line_start": 10}, (10, 14)),
        ({"lines": [0, 4]}, None),
        ({"lines": ["a", 2]}, None),
        ({}, None),
    ],
)
def test_line_ranges_are_read_in_several_spellings(metadata: dict[str, Any], expected: Any) -> None:
    assert line_range(chunk(CODE, **metadata)) == expected


@pytest.mark.parametrize(
    ("claim", "fault"),
    [
        ("The function `retry` is defined on line 12 of `retry.py`.", ""),
        ("The function `retry` is defined in `src/net/retry.py:12`.", ""),
        ("The function `retry` stands on lines 12-14 of `retry.py`.", ""),
        (
            "The function `retry` is defined on line 11 of `retry.py`.",
            "line 11 of retry.py reads '' and",
        ),
        ("The function `retry` is defined on line 80 of `retry.py`.", "no chunk holds line 80 of retry.py"),
        ("The function `retry` is defined on line 12 of `send.py`.", "no chunk holds send.py"),
    ],
)
def test_line_numbers_are_held_against_the_chunk(claim: str, fault: str) -> None:
    verdict = agreed(claim, chunk(CODE, lines=[10, 14]))
    assert fault in verdict.reason
    assert (verdict.label == "supported") == (not fault)
    assert verdict.claim == claim


def test_the_judge_is_asked_without_the_line_numbers() -> None:
    inner = Agrees()
    claims = (Claim(id="c1", text="`retry` is defined on line 12 of `retry.py`."),)
    asyncio.run(ExactNames(inner).ask(SUPPORT, claims=claims, chunks=(chunk(CODE, lines=[10, 14]),)))
    asyncio.run(ExactNames(inner).ask(SUPPORT, claims=claims, chunks=(chunk(CODE),)))
    assert inner.asked == ["`retry` is defined in `retry.py`.", claims[0].text]


def test_the_profile_switches_it_on_for_judge_and_chunks(tmp_path: Path) -> None:
    long = "```python\n" + "\n".join(f"value_{n} = call_{n}()" for n in range(80)) + "\n```"
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "a.md").write_text(f"# A\n\nWords.\n\n{long}\n\nMore words.\n")
    file = tmp_path / "ragauge.yaml"
    file.write_text("corpus: docs\nprofile: code\nsystem: {reference: {retrieval: bm25}}\n")
    settings = load_settings(file)
    judge = make_judge(settings)
    assert isinstance(judge, ExactNames)
    system: Any = make_system(settings)
    chunks = list(system.corpus())
    assert sum(long in one.text for one in chunks) == 1
    assert all(one.metadata["lines"][0] <= one.metadata["lines"][1] for one in chunks)
    file.write_text("corpus: docs\nsystem: {reference: {retrieval: bm25}}\n")
    plain: Any = make_system(load_settings(file))
    assert not any(long in one.text for one in plain.corpus())
    assert not isinstance(make_judge(load_settings(file)), ExactNames)
    with pytest.raises(SettingsError, match="profile"):
        load_settings(None, {"profile": "codes"})


def generator() -> ModuleType:
    folder = Path(__file__).resolve().parents[3] / "validation" / "judges"
    spec = importlib.util.spec_from_file_location("code_names", folder / "code_names.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["code_names"] = module
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("near", [False, True])
def test_made_up_names_are_caught_and_their_faithful_twins_are_not(near: bool) -> None:
    found = asyncio.run(generator().outcomes(JUDGE, 200, near=near))
    made_up = [good for case, good, _ in found if not case.faithful]
    twins = [good for case, good, _ in found if case.faithful]
    assert len(made_up) == len(twins) == 200
    assert sum(not good for good in made_up) / 200 >= 0.95
    assert sum(not good for good in twins) / 200 <= 0.05
