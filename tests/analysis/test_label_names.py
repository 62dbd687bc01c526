"""Labels and retrieved names of two kinds are told, and a retriever that finds nothing is not accused of it."""

from __future__ import annotations

from pathlib import Path

import pytest

from ragauge.analysis.columns import MAX_FAULTS
from ragauge.analysis.label_names import LabelNames
from ragauge.analysis.summarise import summarise
from ragauge.core.run import Record
from ragauge.core.sample import GoldenItem, Labels, Response, RetrievedChunk, RetrievedContext, Sample
from ragauge.core.score import Unscored
from ragauge.errors import NOTHING_RECORDED, Reason
from ragauge.testing.runs import a_run


def note(rows: list[tuple[list[str], list[str]]], level: str = "doc") -> str | None:
    """The note on rows of (labels, retrieved)."""
    return collected(rows, level).note()


def collected(rows: list[tuple[list[str], list[str]]], level: str = "doc") -> LabelNames:
    """The names of rows of (labels, retrieved)."""
    names = LabelNames()
    for place, (labels, retrieved) in enumerate(rows):
        chunks = tuple(
            RetrievedChunk(id=name, document=name if level == "doc" else None, rank=rank)
            for rank, name in enumerate(retrieved, 1)
        )
        grades = dict.fromkeys(labels, 1) | {"judged and not relevant": 0}
        sample = Sample(
            item=GoldenItem(id=f"q{place}", question="Q?"),
            response=Response(answer="A", context=RetrievedContext(chunks=chunks)),
            labels=Labels(documents=grades) if level == "doc" else Labels(chunks=grades),
        )
        names.add(Record(index=place, sample=sample, scores={}))
    return names


@pytest.mark.parametrize(
    ("labels", "retrieved"),
    [
        ("docs/install.md", "install.md"), ("Install.md", "install"), ("a\\b\\install.md", "./b/install.md"),
        ("install.md", "https://example.org/en/install.html"),
    ],
)  # fmt: skip
@pytest.mark.parametrize("level", ["doc", "chunk"])
def test_names_of_two_kinds_are_told_with_an_example(labels: str, retrieved: str, level: str) -> None:
    said = note([([labels], [retrieved, "other"])], level)
    assert said is not None
    assert f"labels say {labels!r}, the system says {retrieved!r}" in said


def test_without_any_common_name_it_takes_a_few_questions() -> None:
    rows = [([f"doc-{n}"], [f"uuid-{n}"]) for n in range(5)]
    assert "no label names a document that was retrieved for any question" in (note(rows) or "")
    assert note(rows[:4]) is None


def test_a_retriever_that_finds_nothing_is_another_matter() -> None:
    """The names occur, only never where they are needed."""
    assert note([([f"d{n}"], [f"d{n + 1}"]) for n in range(10)]) is None
    assert note([(["d0"], [])] * 10) is None


def test_one_label_that_is_written_otherwise_than_the_rest() -> None:
    said = note([(["a.md", "docs/b.md"], ["a.md", "b.md"]), (["c.md"], ["a.md"])])
    assert said is not None
    assert "1 document of the labels never came back by that name" in said
    assert "'docs/b.md' and 'b.md'" in said
    assert note([(["a.md", "v2/index.md"], ["a.md", "v1/index.md"])]) is None


@pytest.mark.parametrize("level", ["doc", "chunk"])
def test_what_follows_a_dot_is_an_ending_only_where_files_end_so(level: str) -> None:
    """Two chunks of one document, two versions: neither is the other under another name."""
    assert note([(["doc.c1", "doc.c2"], ["doc.c1", "doc.c3"])], level) is None
    assert note([(["api.v1", "api.v2"], ["api.v1", "api.v3"])], level) is None
    assert "'guide.mdx' and 'guide.html'" in (note([(["a.md", "guide.mdx"], ["a.md", "guide.html"])], level) or "")


def test_no_more_names_are_kept_than_it_says(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ragauge.analysis.label_names.MAX_NAMES", 3)
    names = collected([(["a1", "a2"], ["b1", "b2"]), (["a1", "a3", "a4", "a5"], ["b1", "b3", "b4", "b5"])] * 5)
    assert (len(names.sides["doc"].wanted), len(names.sides["doc"].found)) == (3, 3)
    assert names.note() is None  # what is not kept may have been the same name


def test_the_summary_says_what_failed_rows_say(tmp_path: Path) -> None:
    run = a_run(tmp_path, {f"q{n}": {"recall@5:doc": Reason.SYSTEM_FAILED if n < 3 else 1.0} for n in range(5)})
    records = [
        record.model_copy(update={"error": "boom" if record.index else "bang"}) if record.index < 3 else record
        for record in run.records()
    ]
    unrecorded = records[4].model_copy(update={"error": NOTHING_RECORDED})  # another note counts these
    records[4] = unrecorded
    assert summarise(run.manifest, records).notes[0] == "3 of 5 questions failed: boom (2 times); bang"


def test_failed_scores_are_all_counted_though_not_all_of_their_messages_are_kept(tmp_path: Path) -> None:
    n = MAX_FAULTS + 100
    lost = [Unscored(reason=Reason.JUDGE_UNAVAILABLE, detail=f"request {number} failed") for number in range(n)]
    run = a_run(tmp_path, {f"q{number}": {"faithfulness": one} for number, one in enumerate(lost)})
    said = next(line for line in summarise(run.manifest, run.records()).notes if "missing" in line)
    assert said.startswith(f"{n} scores are missing because of errors: request 0 failed; ")
    assert said.endswith(f"; and at least {MAX_FAULTS - 3} more")


def test_the_summary_says_what_failed_scores_say(tmp_path: Path) -> None:
    lost = Unscored(reason=Reason.JUDGE_UNAVAILABLE, detail="the judge raised RuntimeError: no model")
    run = a_run(tmp_path, {f"q{n}": {"faithfulness": lost if n < 3 else 1.0} for n in range(5)})
    note = "3 scores are missing because of errors: the judge raised RuntimeError: no model (3 times)"
    assert note in summarise(run.manifest, run.records()).notes
    one = a_run(tmp_path, {"q1": {"faithfulness": Reason.JUDGE_UNAVAILABLE}}, name="one")
    silent = "1 score is missing because of errors: judge unavailable"  # it gave no message: the reason stands for it
    assert silent in summarise(one.manifest, one.records()).notes
    fine = a_run(tmp_path, {"q1": {"faithfulness": Unscored(reason=Reason.ABSTAINED, detail="declined")}}, name="fine")
    assert not any("missing" in line for line in summarise(fine.manifest, fine.records()).notes)
