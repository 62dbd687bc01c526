"""What verbs that decide between runs, and about a judge, print fits its schema."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import yaml
from tests.cli.documents import said

from ragauge.analysis.compare import Comparison
from ragauge.core.score import Scored
from ragauge.core.verdict import Verdict
from ragauge.report.compare import Comparisons
from ragauge.testing.runs import a_metric, a_run


@pytest.fixture
def runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Three runs with the same judge: good, bad, other; people's labels of the first one."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("RAGAUGE_REVIEW", raising=False)
    verdict = Verdict(id="c1", claim="A claim.", label="supported", probability=0.97)
    for name, worse in (("good", 4), ("bad", 20), ("other", 5)):
        rows = {f"q{i}": {"faithfulness": Scored(value=float(i >= worse), verdicts=(verdict,))} for i in range(40)}
        a_run(tmp_path / "runs", rows, metrics=[a_metric("faithfulness", needs={"judge"})], name=name)
    labels = [{"id": f"q{i}", "metric": "faithfulness", "label": int(i >= 5)} for i in range(40)]
    (tmp_path / "labels.jsonl").write_text("".join(json.dumps(one) + "\n" for one in labels))
    return tmp_path


def test_decisions_are_printed_as_the_schemas_say(runs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    judged = said(capsys, "gate", "gate", "bad", "--baseline", "good", code=1)
    assert judged.verdict == "fail"
    assert Path(judged.run_path).is_dir()
    two = said(capsys, "compare", "compare", "good", "bad")
    assert isinstance(two, Comparison)
    assert two.metrics["faithfulness"].difference < 0
    three = said(capsys, "compare", "compare", "good", "bad", "other")
    assert isinstance(three, Comparisons)
    assert three.base == three.comparisons[0].a
    assert len(three.comparisons) == 2


def test_calibrations_are_printed_as_the_schema_says(runs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    one = said(capsys, "calibrate", "calibrate", "good", "--labels", "labels.jsonl")
    assert Path(one.run).is_dir()
    assert one.metric == "faithfulness"
    assert one.metrics["faithfulness"].agreement == one.agreement
    assert (one.stale, one.stale_because, one.labels_of) == (False, (), None)
    assert one.runs == ()
    two = said(capsys, "calibrate", "calibrate", "good", "bad", "--labels", "labels.jsonl")
    assert [Path(run.run).name for run in two.runs] == [Path(run).name for run in (two.run, two.runs[1].run)]
    leant = said(capsys, "calibrate", "calibrate", "other")
    assert leant.labels_of
    assert "if the judge errs as often" in leant.sentence or "No corrected rate" in leant.sentence


def test_what_is_said_of_sets_and_queues_fits_its_schema(runs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    items = [{"id": "a", "question": "Which port?", "answer": "8125"}, {"id": "b", "question": "Which port?"}]
    Path("golden.yaml").write_text(yaml.safe_dump(items))
    found = said(capsys, "golden-validate", "golden", "validate", "golden.yaml", "--no-meaning", code=1)
    assert found.n_errors + found.n_warnings <= len(found.complaints)
    assert found.n_errors >= 1
    assert said(capsys, "review-add", "review", "add", "good", "--rows", "q1").added == 1
    assert said(capsys, "review-stats", "review", "stats").n_labels == 0
