from __future__ import annotations

import json
from pathlib import Path

import pytest

from ragauge.analysis.steps import CONTEXT, UNION, score_steps
from ragauge.cli.main import main
from ragauge.core.run import Record
from ragauge.core.sample import (
    Evidence,
    EvidenceGroup,
    GoldenItem,
    Labels,
    Response,
    RetrievalStep,
    RetrievedChunk,
    RetrievedContext,
    Sample,
)


def chunks(*ids: str) -> tuple[RetrievedChunk, ...]:
    return tuple(RetrievedChunk(id=id, document=id.partition("#")[0], rank=n) for n, id in enumerate(ids, start=1))


def record(
    id: str, steps: dict[str, tuple[str, ...]], context: tuple[str, ...], labels: Labels, **item: object
) -> Record:
    made = GoldenItem.model_validate({"id": id, "question": f"{id}?", **item})
    recorded = tuple(
        RetrievalStep(name=name.rstrip("+"), chunks=chunks(*ids), latency_ms=10) for name, ids in steps.items()
    )
    response = Response(steps=recorded, context=RetrievedContext(chunks=chunks(*context)))
    return Record(index=0, sample=Sample(item=made, response=response, labels=labels), scores={})


TWO = Labels(chunks={"a#1": 1, "b#1": 2, "c#1": 0}, groups=(("a#1",), ("b#1",)))


def by_name(records: list[Record]) -> dict[str, tuple[int, float | None, float | None]]:
    found = score_steps(records).steps
    return {one.name: (one.n, one.recall and one.recall.value, one.only_here) for one in found}


def test_hops_are_scored_each_and_together() -> None:
    first = record("q1", {"hop": ("a#1", "c#1"), "hop+": ("b#1", "x#1")}, ("a#1", "c#1"), TWO)
    second = record("q2", {"hop": ("a#1", "b#1")}, ("a#1", "b#1"), TWO)
    assert by_name([first, second]) == {
        "hop": (2, 0.75, 0.75),  # 1/2 and 2/2, nothing of it found elsewhere
        "hop (2)": (1, 0.5, 0.5),
        UNION: (2, 1.0, None),
        CONTEXT: (2, 0.75, None),
    }


def test_what_two_routes_both_find_is_found_by_neither_alone() -> None:
    both = record("q1", {"dense": ("a#1", "b#1"), "bm25": ("b#1",)}, ("b#1",), TWO)
    found = by_name([both])
    assert found["dense"] == (1, 1.0, 0.5)
    assert found["bm25"] == (1, 0.5, 0.0)


def test_of_alternatives_one_is_enough_and_documents_are_used_where_chunks_are_not_labelled() -> None:
    alternatives = Labels(chunks={"a#1": 1, "b#1": 1}, groups=(("a#1", "b#1"),))
    assert by_name([record("q", {"s": ("b#1",)}, (), alternatives)])["s"] == (1, 1.0, 1.0)
    group = EvidenceGroup(any=(Evidence(document="a"), Evidence(document="b")))
    documents = record("q", {"s": ("b#9", "x#1")}, (), Labels(documents={"a": 1, "b": 1}), evidence=(group,))
    steps = score_steps([documents])
    assert steps.level == "doc"
    assert steps.steps[0].recall is not None
    assert steps.steps[0].recall.value == 1.0


def test_rows_without_steps_labels_or_answers_to_find() -> None:
    bare = record("q1", {}, ("a#1",), TWO)
    unlabelled = record("q2", {"s": ("a#1",)}, ("a#1",), Labels())
    unanswerable = record("q3", {"s": ("a#1",)}, ("a#1",), Labels(chunks={"a#1": 0}), answerable=False)
    failed = Record(index=3, sample=bare.sample, scores={}, error="no")
    steps = score_steps([bare, unlabelled, unanswerable, failed])
    assert (steps.n, steps.n_rows) == (2, 3)
    (line, *_) = steps.steps
    assert (line.n, line.n_labelled, line.recall, line.hit_rate) == (2, 0, None, None)
    assert score_steps([]).steps == ()


def test_show_prints_the_steps_of_a_run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    docs = tmp_path / "docs"
    docs.mkdir()
    (docs / "limits.md").write_text("# Limits\n\nThe free plan allows 60 requests per minute.\n")
    (docs / "keys.md").write_text("# Keys\n\nKeys are rotated in the console.\n")
    golden = [{"id": "q1", "question": "How many requests are allowed?", "sources": ["limits.md"], "answerable": True}]
    (tmp_path / "golden.json").write_text(json.dumps(golden))
    settings = {
        "golden": "golden.json",
        "corpus": "docs",
        "judge": "none",
        "system": {"reference": {"retrieval": "hybrid"}},
    }
    (tmp_path / "ragauge.yaml").write_text(json.dumps(settings))

    def ragauge(*args: str) -> str:
        with pytest.raises(SystemExit) as ended:
            main(list(args))
        assert ended.value.code == 0
        return capsys.readouterr().out

    ragauge("run", str(tmp_path / "ragauge.yaml"), "--out", str(tmp_path / "runs"), "--quiet")
    said = ragauge("show", "--runs", str(tmp_path / "runs"), "--steps")
    assert "Retrieval steps of 1 questions (of 1)" in said
    document = json.loads(ragauge("show", "--runs", str(tmp_path / "runs"), "--steps", "--json"))
    assert [(one["name"], one["kind"]) for one in document["steps"]] == [
        ("dense", "step"), ("bm25", "step"), ("fused", "step"), (UNION, "union"), (CONTEXT, "context"),
    ]  # fmt: skip
    assert document["steps"][0]["recall"]["value"] == 1.0
