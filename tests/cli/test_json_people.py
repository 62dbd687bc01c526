"""What verbs around golden sets and reviewers print fits its schema."""

from __future__ import annotations

import json
from importlib.resources import files
from pathlib import Path

import pytest
import yaml
from tests.cli.documents import said

from ragauge.core.score import Scored
from ragauge.core.verdict import Verdict
from ragauge.review.documents import HeldItem, NoItem
from ragauge.testing import FakeLLMServer
from ragauge.testing.runs import a_metric, a_run

CORPUS = Path(str(files("ragauge.examples_data"))) / "corpus"


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("RAGAUGE_REVIEW", raising=False)
    return tmp_path


def test_a_golden_set_grows_as_the_schemas_say(capsys: pytest.CaptureFixture[str]) -> None:
    with FakeLLMServer() as server:
        model = f"compatible:any@{server.openai_url}"
        args = ("golden", "generate", 3, "--model", model, "--corpus", CORPUS, "--to", "new.yaml", "--judge", "none")
        made = said(capsys, "golden-generate", *args)
    assert made.n_asked == len(made.added) + sum(made.dropped.values())
    assert made.added
    taken = said(capsys, "golden-promote", "golden", "promote", "golden.yaml", "--from", "new.yaml")
    assert taken.added == made.added
    again = {"id": "other", "question": yaml.safe_load(Path("new.yaml").read_text())[0]["question"]}
    Path("again.yaml").write_text(yaml.safe_dump([again]))
    left = said(capsys, "golden-promote", "golden", "promote", "golden.yaml", "--from", "again.yaml")
    assert left.repeated == {"other": made.added[0]}


def test_chunks_are_proposed_as_the_schema_says(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (here / "corpus").mkdir()
    (here / "corpus" / "ports.md").write_text("# Ports\n\nThe agent listens on UDP port 8125.\n")
    items = [
        {"id": "a", "question": "Which port?", "answer": "The agent listens on UDP port 8125", "sources": ["ports.md"]},
        {"id": "b", "question": "Why?", "answer": "Bananas are curved", "sources": ["ports.md"]},
    ]
    Path("golden.yaml").write_text(yaml.safe_dump(items))
    args = ("golden", "label-chunks", "golden.yaml", "--corpus", "corpus")
    found = said(capsys, "golden-label-chunks", *args)
    assert [one.item for one in found.proposals] == ["a"]
    assert [one.item for one in found.unlabelled] == ["b"]
    assert (found.retrieval, found.written) == (None, None)
    a_run(here / "runs", {"a": {"recall": 1.0}}, metrics=[a_metric("recall")], name="asked")
    both = said(capsys, "golden-label-chunks", *args, "--run", "asked", "--write", "labelled.yaml")
    assert set(both.retrieval) == {"doc", "chunk", "n"}
    assert both.written == "labelled.yaml"


def test_log_questions_are_chosen_as_the_schema_says(capsys: pytest.CaptureFixture[str]) -> None:
    rows = [
        {"id": "l1", "question": "Why was it so slow yesterday?", "answer": "It was.", "feedback": "down"},
        {"id": "l2", "question": "Who is to blame for all that?", "answer": "I don't know."},
    ]
    Path("log.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    added = said(capsys, "golden-from-logs", "golden", "from-logs", "log.jsonl", "--no-diverse")
    assert (added.log, added.added, added.reasons) == ("log.jsonl", 2, {"thumbs_down": 1, "abstained": 1})


def test_a_day_of_a_reviewer_is_printed_as_the_schemas_say(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    verdict = Verdict(id="c1", claim="A claim.", label="supported", probability=0.97)
    rows = {f"q{i}": {"faithfulness": Scored(value=float(i > 1), verdicts=(verdict,))} for i in range(8)}
    a_run(here / "runs", rows, metrics=[a_metric("faithfulness", needs={"judge"})], name="docs")
    ann = ("--reviewer", "ann")
    assert isinstance(said(capsys, "review-next", "review", "next", *ann), NoItem)
    added = said(capsys, "review-add", "review", "add", "docs", "--rows", "q1,q2")
    assert (added.added, added.sources) == (2, {"asked": 2})
    held = said(capsys, "review-next", "review", "next", *ann)
    assert isinstance(held, HeldItem)
    assert held.item.source == "asked"
    assert "verdict" not in held.item.model_extra
    assert held.item.model_extra["question"]
    assert "verdict" in said(capsys, "review-next", "review", "next", *ann, "--no-blind").item.model_extra
    stored = said(capsys, "review-label", "review", "label", "faithful", *ann)
    assert (stored.item, stored.label) == (held.item.item, "faithful")
    assert stored.verdict["verdicts"][0]["claim"] == "A claim."
    finished = said(capsys, "review-next", "review", "next", *ann, "--budget", 1)
    assert (finished.item, finished.today, finished.budget_used) == (None, 1, True)
    drawn = said(capsys, "calibrate-next", "calibrate", "docs", "--next", 3)
    assert (drawn.metric, len(drawn.next)) == ("faithfulness", 3)
