"""`ragauge review`: a day of a reviewer, on the command line and in a spreadsheet."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from ragauge.cli import review as verb
from ragauge.core.score import Scored
from ragauge.core.verdict import Verdict
from ragauge.dataset import load_golden
from ragauge.errors import InputError, UnknownName, UsageError
from ragauge.review import open_queue
from ragauge.review.items import Candidate
from ragauge.review.sources import disagreement, thumbs_down
from ragauge.testing.runs import a_metric, a_run

CARDS = [a_metric("faithfulness", needs={"judge"}), a_metric("correctness", needs={"judge"}), a_metric("keyword_hits")]


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a run of 60 questions, in which the commands are called."""
    rows: dict[str, Any] = {}
    items: dict[str, Any] = {}
    for i in range(60):
        sure = 0.5 if i % 6 == 0 else 0.97
        verdict = Verdict(id="c1", claim="A claim.", label="supported", probability=sure)
        rows[f"q{i:02}"] = {
            "faithfulness": Scored(value=float(i % 5 > 0), verdicts=(verdict,)),
            "correctness": 1.0,
            "keyword_hits": 0.0 if i % 10 == 3 else 1.0,
        }
        items[f"q{i:02}"] = {
            "metadata": {"feedback": "thumbs_down"} if i % 15 == 7 else {},
            "question": f"What is {i}?",
        }
    items["q00"]["question"] = '=HYPERLINK("http://x")\x1b[31m'
    a_run(tmp_path / "runs", rows, metrics=CARDS, name="docs", items=items)
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


def test_the_queue_is_filled_from_every_source_within_the_budget(place: Path) -> None:
    added = as_json("add", "docs", "--no-clusters")
    assert added["added"] == 20
    assert added["sources"]["random"] == 5
    assert set(added["sources"]) == {"random", "thumbs_down", "disagreement", "uncertain"}
    with open_queue(place / ".ragauge" / "review.sqlite") as queue:
        control = [item for item in queue.items() if item.source == "random"]
        assert all(item.probability == pytest.approx(5 / 60) and item.design for item in control)
        assert all(item.design is None for item in queue.items() if item.source != "random")
    assert as_json("add", "docs", "--no-clusters", "--rows", "q01")["sources"] == {"asked": 1}


def test_what_is_interesting_says_why(place: Path) -> None:
    call("add", "docs", "--no-clusters", "--budget", "40")
    with open_queue(place / ".ragauge" / "review.sqlite") as queue:
        reasons = [(item.source, item.reason) for item in queue.items()]
    for source, words in (
        ("thumbs_down", "a user gave this answer a thumbs down"),
        ("disagreement", "none of the required keywords"),
        ("disagreement", "no claim is supported by what was retrieved"),
        ("uncertain", "the judge is not sure"),
    ):
        assert any(one == source and words in reason for one, reason in reasons)


def test_a_reviewer_sees_labels_undoes_and_skips(place: Path) -> None:
    call("add", "docs", "--no-clusters")
    first = as_json("next", "--reviewer", "ann")["item"]
    assert "verdict" not in first
    assert "verdict" in as_json("next", "--reviewer", "ann", "--no-blind")["item"]
    shown = call("next", "--reviewer", "ann").stdout
    assert "Is every claim of the answer supported by the passages?" in shown
    stored = as_json("label", "unfaithful", "--reviewer", "ann", "--note", "no", "--systematic", "old versions")
    assert stored["item"] == first["item"]
    assert stored["verdict"] is not None  # now it may be seen
    assert as_json("stats")["patterns"] == {"old versions": [first["item"]]}
    assert "open again" in call("undo", "--reviewer", "ann").stdout
    call("skip", "--reviewer", "ann", "--reason", "later")
    assert as_json("next", "--reviewer", "ann")["item"]["item"] != first["item"]
    assert as_json("stats")["n_labels"] == 0


def test_twenty_a_day_is_enough(place: Path) -> None:
    call("add", "docs", "--no-clusters", "--budget", "5")
    for _ in range(2):
        call("next", "--reviewer", "ann", "--budget", "2")
        call("label", "faithful", "--reviewer", "ann")
    assert "that is enough" in call("next", "--reviewer", "ann", "--budget", "2").stdout
    assert as_json("next", "--reviewer", "ann", "--budget", "0")["item"] is not None


def test_two_reviewers_are_compared_and_their_dispute_is_settled(place: Path) -> None:
    call("add", "docs", "--rows", "q01,q02,q03", "--reviewers", "2")
    for name, label in (("ann", "faithful"), ("ben", "unfaithful")):
        for i in range(3):
            call("next", "--reviewer", name)
            call("label", label if i == 0 else "faithful", "--reviewer", name)
    found = as_json("stats")
    assert found["n_twice"] == 3
    assert found["agreement"]["value"] == pytest.approx(2 / 3)
    assert found["pairs"]["ann · ben"]["n"] == 3
    assert [one["labels"] for one in found["disputes"]] == [{"ann": "faithful", "ben": "unfaithful"}]
    assert "To be settled" in call("stats").stdout
    call("label", "unfaithful", "--item", found["disputes"][0]["item_id"], "--reviewer", "cid", "--adjudicate")
    assert as_json("stats")["disputes"] == []


def test_labels_that_say_nothing_of_the_metric_are_refused(place: Path) -> None:
    with pytest.raises(UsageError, match="you hold no item"):
        call("label", "faithful", "--reviewer", "ann")
    call("add", "docs", "--rows", "q01")
    call("next", "--reviewer", "ann")
    with pytest.raises(UsageError, match="not a label"):
        call("label", "purple", "--reviewer", "ann")
    with pytest.raises(UnknownName, match="row in this run"):
        call("add", "docs", "--rows", "q99")


def test_a_sheet_goes_out_neutralised_and_comes_back_as_it_was(place: Path) -> None:
    call("add", "docs", "--rows", "q00,q01,q02")
    call("export", "sheet.csv", "--sheet")
    with Path("sheet.csv").open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert {row["question"][0] for row in rows} <= {"'", "W"}
    assert "verdict" not in rows[0]
    rows[0]["label"], rows[0]["note"] = "unfaithful", "'=not a formula"
    rows[1]["label"] = "faithful"
    with Path("sheet.csv").open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
    assert "2 labels stored, 1 rows without a label" in call("import", "sheet.csv", "--reviewer", "ann").stderr
    assert "2 labels stored" in call("import", "sheet.csv", "--reviewer", "ann").stderr  # twice is once
    call("export", "labels.jsonl")
    records = [json.loads(line) for line in Path("labels.jsonl").read_text().splitlines()]
    assert len(records) == 2
    assert {record["note"] for record in records if "note" in record} == {"=not a formula"}
    call("export", "labels.csv")
    assert "'=not a formula" in Path("labels.csv").read_text()
    other = call("import", "sheet.csv", "--reviewer", "ben").stderr
    assert "0 labels stored" in other
    assert "somebody else labelled them" in other
    assert "2 labels stored" in call("import", "sheet.csv", "--reviewer", "ben", "--second-opinion").stderr


def test_a_sheet_with_mistakes_stores_nothing_and_lists_them(place: Path) -> None:
    call("add", "docs", "--rows", "q01,q02")
    Path("sheet.csv").write_text("item,label\nq01,faithful\nq02,purple\nq77,faithful\n")
    with pytest.raises(InputError) as caught:
        call("import", "sheet.csv", "--reviewer", "ann")
    assert "sheet.csv:3" in str(caught.value)
    assert "sheet.csv:4" in str(caught.value)
    assert as_json("stats")["n_labels"] == 0


def test_mended_and_promoted_questions_become_golden_items(place: Path) -> None:
    with open_queue(".ragauge/review.sqlite") as queue:
        golden = {"question": "How long are letters kept?", "tags": ["lookup"], "golden": {"sources": ["faq.md"]}}
        queue.add(
            Candidate(run="log", item=name, metric="golden", source="log", reason="", payload=golden)
            for name in ("a", "b")
        )
    call("label", "promote", "--item", "a", "--reviewer", "ann", "--reference", "14 days.")
    call("label", "reject", "--item", "b", "--reviewer", "ann")
    call("add", "docs", "--rows", "q01")
    call("label", "unfaithful", "--item", "q01", "--reviewer", "ann", "--unanswerable")
    call("export", "more.yaml", "--golden")
    items = {item.id: item for item in load_golden("more.yaml")}
    assert set(items) == {"a", "q01"}
    assert items["a"].answer == "14 days."
    assert items["a"].sources == ("faq.md",)
    assert items["a"].verified
    assert items["q01"].answerable is False


def test_thumbs_down_is_understood_in_many_spellings() -> None:
    from ragauge.core.run import Record
    from ragauge.testing import a_sample

    for value, down in (
        ("down", True),
        (-1, True),
        (False, True),
        ({"value": -1}, True),
        ("up", False),
        (1, False),
        (None, False),
    ):
        record = Record(index=0, sample=a_sample(metadata={"feedback": value}), scores={})
        assert thumbs_down(record) is down
    assert disagreement(record) is None


@pytest.mark.parametrize(
    ("ballots", "says"),
    [
        ({}, None),
        ({"a": "supported", "b": "supported"}, None),
        ({"a": "supported", "b": "contradicted"}, "the judges disagree on faithfulness: a: supported, b: contradicted"),
    ],
)
def test_judges_disagree_where_they_voted_differently_whatever_a_reason_says(
    ballots: dict[str, str], says: str | None
) -> None:
    from ragauge.core.run import Record
    from ragauge.core.score import Scored
    from ragauge.core.verdict import Verdict
    from ragauge.testing import a_sample

    verdict = Verdict(id="c1", label="supported", reason="The notes say it all: the port is 80.", ballots=ballots)
    record = Record(index=0, sample=a_sample(), scores={"faithfulness": Scored(value=1.0, verdicts=(verdict,))})
    assert disagreement(record) == says


def test_a_user_without_a_name_is_told_to_give_one(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import pwd

    for name in ("LOGNAME", "USER", "LNAME", "USERNAME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr("os.getuid", lambda: 987_654)
    with pytest.raises(KeyError):
        pwd.getpwuid(987_654)
    with pytest.raises(UsageError, match="--reviewer"):
        call("next")


def test_representatives_of_clusters_of_failures_are_queued(place: Path) -> None:
    sources = as_json("add", "docs", "--budget", "40")["sources"]
    assert sources["cluster"] >= 1
