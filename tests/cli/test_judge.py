"""`ragauge judge check` and `ragauge judge bench`."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from ragauge.cli.judge import command
from ragauge.errors import InputError, UnknownName, UsageError

TEXT = "The cache stores up to 512 MB by default. Entries expire after 30 minutes."


def run(*args: str) -> Result:
    return CliRunner().invoke(command, list(args), standalone_mode=False)


def row(number: int, text: str, label: int, **more: Any) -> dict[str, Any]:
    base = {"id": f"r{number}", "dataset": "mine", "task": "grounding", "contexts": [TEXT], "question": None}
    return base | {"text": text, "label": label, "group": f"g{number}"} | more


@pytest.fixture
def labelled(tmp_path: Path) -> Path:
    good = ["The cache stores up to 512 MB.", "Entries expire after 30 minutes.", "By default the cache stores 512 MB."]
    bad = ["The cache stores up to 64 MB.", "Kafka topics are replicated in Toronto.", "Entries never expire."]
    rows = [row(n, text, 1) for n, text in enumerate(good)] + [row(n + 10, text, 0) for n, text in enumerate(bad)]
    rows += [
        row(20, "512 MB", 1, task="correctness", dataset="right", question="How large?", reference="512 MB"),
        row(21, "64 MB", 0, task="correctness", dataset="right", question="How large?", reference="512 MB"),
        row(22, TEXT, 1, task="relevance", dataset="bears", question="How large is the cache by default?"),
        row(
            23, "Lunch is at noon.", 0, task="relevance", dataset="bears", question="How large is the cache by default?"
        ),
        row(24, "x", 1, text_b="y"),
    ]
    with gzip.open(tmp_path / "mine.jsonl.gz", "wt", encoding="utf-8") as out:
        out.writelines(json.dumps(one) + "\n" for one in rows)
    return tmp_path


def test_the_embedded_judge_passes_its_cases() -> None:
    result = run("check", "--json")
    assert result.exception is None
    assert result.return_value == 0
    document = json.loads(result.stdout)
    assert document["passed"] is True
    assert document["n_failed"] == 0
    assert len(document["cases"]) == document["n_passed"] + document["n_unsupported"]


def test_a_judge_that_gets_a_case_wrong_fails_with_1(monkeypatch: pytest.MonkeyPatch) -> None:
    from ragauge.judges import selfcheck_cases

    wrong = selfcheck_cases.Case("upside down", "hallucinated", TEXT, selfcheck_cases._chunks(TEXT))
    monkeypatch.setattr("ragauge.judges.selfcheck.self_check.__defaults__", ((wrong,),))
    result = run("check")
    assert result.return_value == 1
    assert "✗ upside down" in result.stdout.replace("  ", " ")


def test_a_judge_that_can_do_nothing_does_not_pass(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from ragauge.errors import JudgeUnsupported
    from ragauge.judges.embedded.judge import EmbeddedJudge

    async def nothing(self: Any, task: Any, /, **inputs: Any) -> Any:
        raise JudgeUnsupported("it says nothing")

    monkeypatch.setattr(EmbeddedJudge, "ask", nothing)
    assert run("check").return_value == 1


def test_bench_prints_the_table_of_the_design(labelled: Path) -> None:
    result = run("bench", str(labelled), "--json")
    assert result.exception is None, result.exception
    document = json.loads(result.stdout)
    assert document["judge"]["name"] == "embedded"
    mine = document["sets"]["mine"]
    assert mine["task"] == "grounding"
    assert mine["n"] == mine["n_asked"] == 6
    assert mine["auroc"] == 1.0
    assert mine["low"] <= mine["auroc"] <= mine["high"]
    for name in ("balanced_accuracy", "f1", "kappa", "calibration_error", "claims_per_s", "cost_usd", "latency_s"):
        assert name in mine
    assert mine["trained_on"] is False
    assert set(document["mean"]) == {"grounding", "correctness", "relevance"}
    assert document["mean"]["grounding"]["auroc"] == 1.0


def test_bench_says_which_sets_the_weights_were_fitted_on(labelled: Path) -> None:
    text = (labelled / "mine.jsonl.gz").read_bytes()
    renamed = gzip.decompress(text).replace(b'"dataset": "mine"', b'"dataset": "begin"')
    (labelled / "mine.jsonl.gz").write_bytes(gzip.compress(renamed))
    result = run("bench", str(labelled), "--task", "grounding")
    assert "begin *" in result.stdout
    assert "fitted on rows of this set" in result.stdout


def test_bench_can_be_cut_short_and_repeats_exactly(labelled: Path) -> None:
    first, second = (json.loads(run("bench", str(labelled), "--json", "--limit", "5").stdout) for _ in range(2))
    for document in (first, second):
        assert document["sets"]["mine"]["n"] == 5
        for one in document["sets"].values():
            one.pop("claims_per_s")
    assert first == second


def test_what_cannot_be_judged_is_counted(labelled: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from ragauge.errors import JudgeUnsupported
    from ragauge.judges.embedded.judge import EmbeddedJudge

    real = EmbeddedJudge.ask

    async def picky(self: Any, task: Any, /, **inputs: Any) -> Any:
        if task.name == "correctness":
            raise JudgeUnsupported("not that")
        return await real(self, task, **inputs)

    monkeypatch.setattr(EmbeddedJudge, "ask", picky)
    document = json.loads(run("bench", str(labelled), "--json").stdout)
    assert document["sets"]["right"]["unscored"] == {"judge_unsupported": 2}
    assert document["sets"]["right"]["auroc"] is None
    assert document["mean"]["correctness"]["auroc"] is None
    assert "2 of 2 rows could not be judged" in run("bench", str(labelled)).stdout


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("{", "no JSON"), ("[]", "JSON object"), ('{"id": "a", "task": "grounding", "text": "x"}', "label"),
        ('{"id": "a", "task": "taste", "text": "x", "label": 1}', "grounding, citation"),
        ('{"id": "a", "task": "grounding", "text": "x", "label": 2}', "0 or 1"), ("", "no row"),
    ],
)  # fmt: skip
def test_a_file_that_is_no_labelled_set_says_why(tmp_path: Path, line: str, said: str) -> None:
    path = tmp_path / "rows.jsonl"
    path.write_text(line + "\n", encoding="utf-8")
    result = run("bench", str(path))
    assert isinstance(result.exception, InputError)
    assert said in str(result.exception)


def test_an_unknown_task_or_judge_is_a_usage_error(labelled: Path) -> None:
    assert isinstance(run("bench", str(labelled), "--task", "groundin").exception, UnknownName)
    assert isinstance(run("check", "--judge", "embeded").exception, UsageError)
