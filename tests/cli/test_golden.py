"""`ragauge golden` on the command line."""

from __future__ import annotations

import json
import shutil
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from ragauge.cli import golden as verb
from ragauge.dataset import load_golden
from ragauge.dataset.writers import save_golden
from ragauge.errors import EndpointUnusable, SettingsError
from ragauge.review import open_queue
from ragauge.testing import FakeLLMServer
from ragauge.testing.runs import a_run

EXAMPLE = Path(str(files("ragauge.examples_data")))


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project folder with the example's corpus, golden set and settings."""
    shutil.copytree(EXAMPLE / "corpus", tmp_path / "corpus")
    for name in ("golden.yaml", "ragauge.yaml"):
        shutil.copy(EXAMPLE / name, tmp_path / name)
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("RAGAUGE_REVIEW", raising=False)
    return tmp_path


def call(*args: str) -> Result:
    result = CliRunner().invoke(verb.command, list(args), standalone_mode=False)
    if result.exception is not None:
        raise result.exception
    return result


def as_json(*args: str) -> Any:
    return json.loads(call(*args, "--json").stdout)


def test_the_example_is_clean_and_what_it_can_tell_is_said(place: Path) -> None:
    result = call("validate", "golden.yaml", "--no-meaning")
    assert result.return_value == 0
    assert "0 errors, 0 warnings" in result.stdout
    assert "between two systems (80 % power)" in result.stdout
    document = as_json("validate", "golden.yaml", "--no-meaning")
    assert [one["kind"] for one in document["complaints"]] == ["unverified_items"]  # said, and nothing else
    assert document["power"]["smallest_graded"] > 0


def test_faults_are_listed_with_place_and_way_out_and_fail(place: Path) -> None:
    with Path("golden.yaml").open("a", encoding="utf-8") as file:
        file.write(
            "\n  - id: broken\n    question: Which port is it?\n    sources: [nowhere.md]\n    answer: 8125\x1b[31m\n"
        )
    result = call("validate", "golden.yaml", "--no-meaning")
    assert result.return_value == 1
    assert "[label_not_in_corpus]" in result.stdout
    assert "golden.yaml:" in result.stdout
    assert "\x1b" not in result.stdout


def test_questions_are_generated_into_a_golden_file(place: Path) -> None:
    with FakeLLMServer() as server:
        model = f"compatible:any@{server.openai_url}"
        made = as_json("generate", "5", "--model", model, "--to", "new.yaml", "--judge", "none")
        again = as_json("generate", "5", "--model", model, "--to", "new.yaml", "--judge", "none")
    assert 0 < len(made["added"]) <= 5
    assert made["n_asked"] == len(made["added"]) + sum(made["dropped"].values())
    items = load_golden("new.yaml")
    assert not any(item.verified for item in items)
    assert len(items) == len(made["added"]) + len(again["added"])


def test_a_model_that_is_not_there_is_said_at_once(place: Path) -> None:
    with pytest.raises(EndpointUnusable):
        call("generate", "5", "--model", "compatible:any@http://127.0.0.1:9/v1", "--to", "new.yaml")
    with pytest.raises(SettingsError, match="cannot write questions"):
        call("generate", "5", "--model", "embedded", "--to", "new.yaml")
    assert not Path("new.yaml").exists()


def test_log_questions_go_through_review_into_the_set(place: Path) -> None:
    rows = [
        {"id": "l1", "question": "Why was it so slow yesterday?", "answer": "It was.", "feedback": "down"},
        {"id": "l2", "question": "Who is to blame for all that?", "answer": "I don't know."},
        {"id": "l3", "question": "Which editor do you like best?", "answer": "All of them."},
    ]
    Path("log.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    added = as_json("from-logs", "log.jsonl", "--golden", "golden.yaml", "--no-diverse")
    assert added["reasons"] == {"thumbs_down": 1, "abstained": 1, "random": 1}
    with open_queue(".ragauge/review.sqlite") as queue:
        for item in list(queue.items()):
            label = "reject" if item.item == "l3" else "promote"
            edits = {"answerable": False} if item.item == "l2" else {"answer": "A backup ran."}
            queue.label(item.id, "ann", label, edits=edits)
    before = Path("golden.yaml").read_text(encoding="utf-8")
    done = as_json("promote", "golden.yaml")
    assert sorted(done["added"]) == ["l1", "l2"]
    assert Path("golden.yaml").read_text(encoding="utf-8").startswith(before)
    golden = load_golden("golden.yaml")
    assert golden.by_id("l1").answer == "A backup ran."
    assert golden.by_id("l1").verified
    assert golden.by_id("l2").answerable is False
    assert as_json("promote", "golden.yaml")["added"] == []


def test_candidates_from_logs_may_go_to_a_file(place: Path) -> None:
    Path("log.jsonl").write_text('{"id": "l1", "question": "Why so slow?", "answer": "So.", "feedback": "down"}\n')
    assert as_json("from-logs", "log.jsonl", "--to", "more.yaml", "--no-diverse")["added"] == 1
    assert not load_golden("more.yaml").by_id("l1").verified


def test_chunk_labels_are_written_and_both_granularities_shown(place: Path) -> None:
    golden = load_golden("golden.yaml")
    coarse = [item.model_copy(update={"evidence": None}) for item in list(golden)[:12]]
    save_golden(coarse, "coarse.yaml")
    names = [item.id for item in coarse]
    a_run(place / "runs", {name: {"faithfulness": 1.0} for name in names}, name="docs",
          items={name: {"retrieved": "faq.md#0000 glossary.md#0000"} for name in names})  # fmt: skip
    found = as_json("label-chunks", "coarse.yaml", "--write", "fine.yaml", "--run", "docs")
    assert found["proposals"]
    assert {"doc", "chunk", "n"} == found["retrieval"].keys()
    sure = {one["item"] for one in found["proposals"] if one["sure"]}
    assert {item.id for item in load_golden("fine.yaml") if item.evidence} == sure
    assert "evidence" in call("label-chunks", "coarse.yaml").stdout


def test_without_a_corpus_it_is_said_what_is_missing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("golden.yaml").write_text("- id: a\n  question: What is it?\n")
    with pytest.raises(SettingsError, match="needs the corpus"):
        call("label-chunks", "golden.yaml")
