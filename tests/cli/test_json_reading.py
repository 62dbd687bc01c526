"""What verbs that read runs, lists and this installation print fits its schema."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import yaml
from tests.cli.documents import said

from ragauge.cli.main import main
from ragauge.report.ranking import ManyRanked, OneRanked
from ragauge.report.row_document import RowScore, RowUnscored
from ragauge.report.worked import ExplainedMetric, ExplainedMetrics, MetricList

PAGES = {
    "ports.md": "# Ports\n\nThe agent listens on UDP port 8125. The broker listens on TCP port 7411.\n",
    "lunch.md": "# Lunch\n\nThe canteen opens at noon. Coffee is served all day long in the lobby upstairs.\n",
}
GOLDEN = [
    {"id": "port", "question": "On which port does the agent listen?", "answer": "UDP port 8125", "keywords": ["8125"],
     "evidence": [{"document": "ports.md", "quote": "The agent listens on UDP port 8125."}]},
    {"id": "far", "question": "Quel jour mange-t-on ici?", "answer": "At noon", "keywords": ["noon"],
     "evidence": [{"document": "lunch.md", "quote": "The canteen opens at noon."}]},
    {"id": "tea", "question": "Quel jour boit-on ici?", "answer": "All day", "keywords": ["day"],
     "evidence": [{"document": "lunch.md", "quote": "Coffee is served all day long"}]},
]  # fmt: skip


@pytest.fixture
def two_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """A folder with two runs of the reference pipeline, the older one first."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "corpus").mkdir()
    for name, text in PAGES.items():
        (tmp_path / "corpus" / name).write_text(text, encoding="utf-8")
    (tmp_path / "golden.yaml").write_text(yaml.safe_dump(GOLDEN), encoding="utf-8")
    pipeline = {"retrieval": "bm25", "k": 1, "generator": "extractive", "embedding_cache": "none"}
    settings = {
        "golden": "golden.yaml", "corpus": "corpus", "judge": None, "system": {"reference": pipeline},
        "metrics": ["recall@1", "keyword_hits", "faithfulness"],
    }  # fmt: skip
    (tmp_path / "ragauge.yaml").write_text(yaml.safe_dump(settings), encoding="utf-8")
    for name in ("first", "second"):
        with pytest.raises(SystemExit):
            main(["run", "--quiet", "--name", name])
    return ["first", "second"]


def test_runs_are_read_again_as_the_schemas_say(two_runs: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    first, second = two_runs
    listed = said(capsys, "show-list", "show", "--list").runs
    assert [one.n_rows for one in listed] == [3, 3]
    whole = said(capsys, "run", "show", "--rows")
    assert [one.id for one in whole.rows] == ["port", "far", "tea"]
    assert whole.totals.n_rows == 3
    assert whole.summary["keyword_hits"].n == whole.summary["keyword_hits"].n_asked == 3
    assert whole.diagnosis[0].rule
    assert said(capsys, "run", "run", "--quiet", "--name", "third", "--out", "elsewhere").manifest.command == "run"
    (row,) = said(capsys, "show-row", "show", "--row", "port").rows
    assert isinstance(row.metrics["keyword_hits"], RowScore)
    assert {type(one) for one in row.metrics.values()} <= {RowScore, RowUnscored}
    assert row.labels.chunks
    assert row.contexts[0].rank == 1
    found = said(capsys, "history", "history")
    assert len(found.runs) == len(found.trends[0].moments) == 2
    wrote = said(capsys, "baseline", "baseline", first, "--force")
    assert Path(wrote.baseline).is_file()
    assert wrote.n_questions == 3
    plain = said(capsys, "diagnose", "diagnose", second)
    assert plain.n_failing == 2
    assert (plain.clusters, plain.distributions, plain.drift) == (None, None, None)
    full = said(capsys, "diagnose", "diagnose", second, "--against", first, "--scores")
    assert full.distributions.n_questions == 3
    assert full.drift.n == 1  # the other questions find nothing
    assert full.clusters.n == 2


def test_one_question_is_followed_as_the_schema_says(two_runs: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    found = said(capsys, "inspect", "inspect", "Which port?", "--gold", "UDP port 8125")
    assert found.report.gold[0].document == "ports.md"
    assert all(one.n == len(one.ids) for one in found.inspection.lists)
    row = said(capsys, "inspect", "inspect", "--run", two_runs[1], "--id", "far")
    assert row.report.parts[0].retrieved_at is None


def test_clusters_are_printed_without_what_they_are_compared_by() -> None:
    from ragauge.diagnose.clusters import Cluster, Clusters
    from ragauge.diagnose.diagnosis import Diagnosis
    from ragauge.report.diagnosis import document

    one = Cluster(name="a", n=1, share=1, terms=(), representatives=(), members=("q",), centroid=(0.6, 0.8))
    clusters = Clusters(n=1, clusters=(one,), gone=(one,))
    made = document(Path("runs/a"), Diagnosis(n_rows=1, n_judged=1, n_failing=1), (), clusters)
    assert "centroid" not in made.model_dump_json()


def test_ranked_runs_are_printed_as_the_schema_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("qrels").write_text("q1 0 a 1\nq2 0 c 1\nq3 0 d 0\n")
    Path("one").write_text("q1 Q0 x 1 3 t\nq1 Q0 a 2 2 t\nz Q0 a 1 1 t\n")
    Path("two.json").write_text(json.dumps({"q1": ["a", "a"], "q2": ["c"]}))
    one = said(capsys, "rank", "rank", "qrels", "one", "--metrics", "ndcg@10")
    assert isinstance(one, OneRanked)
    assert (one.run, one.n_questions, one.missing, one.ignored) == ("one", 3, ("q2", "q3"), ("z",))
    assert one.without_relevant == ("q3",)
    assert not one.per_question
    both = said(capsys, "rank", "rank", "qrels", "one", "two.json", "--metrics", "ndcg@10", "--per-question")
    assert isinstance(both, ManyRanked)
    assert both.runs["two.json"].duplicates == {"q1": 1}
    assert both.runs["one"].per_question["q2"] == {"ndcg@10": 0}


def test_metrics_are_explained_as_the_schema_says(capsys: pytest.CaptureFixture[str]) -> None:
    one = said(capsys, "explain", "explain", "ndcg@3", "--retrieved", "B,A", "--relevant", "A=2,C=1")
    assert isinstance(one, ExplainedMetric)
    assert one.worked[0].relevant == {"A": 2, "C": 1}
    several = said(capsys, "explain", "explain", "recall", "faithfulness", "composite")
    assert isinstance(several, ExplainedMetrics)
    assert [metric.metric for metric in several.metrics] == ["recall", "faithfulness", "composite"]
    every = said(capsys, "explain", "explain")
    assert isinstance(every, MetricList)
    assert {"recall", "faithfulness"} <= {card.metric for card in every.metrics}


def test_the_doctor_speaks_as_the_schema_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    found = said(capsys, "doctor", "doctor")
    assert found.ok
    assert {"ragauge", "embedder", "this folder"} <= {check.name for check in found.checks}
