"""What verbs that judge, or say what judging costs, print fits its schema."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tests.cli.documents import said

from ragauge.testing import FakeLLMServer

TEXT = "The cache stores up to 512 MB by default. Entries expire after 30 minutes."


def row(number: int, text: str, label: int, **more: Any) -> dict[str, Any]:
    base = {"id": f"r{number}", "dataset": "mine", "task": "grounding", "contexts": [TEXT], "group": f"g{number}"}
    return base | {"text": text, "label": label} | more


@pytest.fixture
def labelled(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    rows = [
        row(1, "The cache stores up to 512 MB.", 1), row(2, "Entries expire after 30 minutes.", 1),
        row(3, "The cache stores up to 64 MB.", 0), row(4, "Kafka topics are replicated in Toronto.", 0),
        row(5, "512 MB", 1, task="correctness", dataset="right", question="How large?", reference="512 MB"),
    ]  # fmt: skip
    Path("rows.jsonl").write_text("".join(json.dumps(one) + "\n" for one in rows))
    return Path("rows.jsonl")


def test_the_self_check_is_printed_as_the_schema_says(capsys: pytest.CaptureFixture[str]) -> None:
    found = said(capsys, "judge-check", "judge", "check")
    assert found.passed
    assert found.judge == "embedded"
    assert len(found.cases) == found.n_passed + found.n_failed + found.n_unsupported


def test_the_bench_is_printed_as_the_schema_says(labelled: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found = said(capsys, "judge-bench", "judge", "bench", labelled)
    assert found.judge.name == "embedded"
    assert found.sets["mine"].n == 4
    assert found.sets["right"].auroc is None  # one label only
    assert found.mean["grounding"].n_sets == 1


def test_a_set_of_which_nothing_could_be_judged_has_every_key(
    labelled: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    from ragauge.errors import JudgeUnsupported
    from ragauge.judges.embedded.judge import EmbeddedJudge

    async def nothing(self: Any, task: Any, /, **inputs: Any) -> Any:
        raise JudgeUnsupported("it says nothing")

    monkeypatch.setattr(EmbeddedJudge, "ask", nothing)
    found = said(capsys, "judge-bench", "judge", "bench", labelled)
    assert (found.sets["mine"].n, found.sets["mine"].balanced_accuracy, found.sets["mine"].kappa) == (0, None, None)
    assert found.sets["mine"].unscored == {"judge_unsupported": 4}


def test_a_dry_run_is_printed_as_the_schema_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    answers = [{"id": f"q{n}", "question": "How large?", "answer": TEXT, "contexts": [TEXT]} for n in range(3)]
    Path("answers.jsonl").write_text("".join(json.dumps(one) + "\n" for one in answers))
    with FakeLLMServer() as server:
        judge = f"compatible:any@{server.openai_url}"
        args = ("score", "answers.jsonl", "--judge", judge, "--metrics", "faithfulness,correctness", "--dry-run")
        found = said(capsys, "forecast", *args).forecast
    assert found.n_samples == 3
    assert found.total.calls == found.metrics["faithfulness"].calls > 0
    assert set(found.not_computed) == {"correctness"}
