from __future__ import annotations

import json
import time
import tracemalloc
from pathlib import Path
from typing import Any

import pytest

from ragauge.core.sample import GoldenItem, Labels, Response, Sample
from ragauge.dataset import load_golden, read_samples
from ragauge.errors import InputError


def write_lines(path: Path, records: list[dict[str, Any]]) -> Path:
    path.write_text("".join(json.dumps(record) + "\n" for record in records))
    return path


def record(number: int, **more: Any) -> dict[str, Any]:
    return {
        "id": f"q{number}",
        "question": f"What is {number}?",
        "answer": f"It is {number}.",
        "contexts": [{"id": f"c{number}-{i}", "document": f"d{number}", "text": f"text {i} " * 3} for i in range(3)],
        **more,
    }


def test_samples_come_in_input_order_and_again_from_the_start(tmp_path: Path) -> None:
    stream = read_samples(write_lines(tmp_path / "r.jsonl", [record(n) for n in range(5)]))
    once = [sample.id for sample in stream]
    assert once == ["q0", "q1", "q2", "q3", "q4"]
    assert [sample.id for sample in stream] == once
    assert [sample.id for sample in stream.peek(2)] == ["q0", "q1"]
    assert stream.name == "r"


def test_peeking_does_not_disturb_an_iteration(tmp_path: Path) -> None:
    stream = read_samples(write_lines(tmp_path / "r.jsonl", [record(n) for n in range(4)]))
    seen = []
    for sample in stream:
        seen.append(sample.id)
        assert stream.peek(1)[0].id == "q0"
    assert seen == ["q0", "q1", "q2", "q3"]


def test_a_scan_counts_names_fields_and_fingerprints_before_anything_is_scored(tmp_path: Path) -> None:
    records = [record(0), record(1, ground_truth="R", keywords=["k"])]
    stream = read_samples(write_lines(tmp_path / "r.jsonl", records))
    assert stream.n == 2
    assert {"question", "answer", "context", "context_text", "reference", "keywords"} <= stream.fields
    assert "chunks" not in stream.fields
    backwards = read_samples(write_lines(tmp_path / "other.jsonl", records[::-1]))
    assert backwards.fingerprint == stream.fingerprint
    changed = read_samples([records[0], {**records[1], "answer": "else"}])
    assert changed.fingerprint != stream.fingerprint
    assert read_samples(records).fingerprint == stream.fingerprint
    assert stream.info().n_items == 2


def test_the_limit_counts_records_and_what_stands_after_it_is_not_read(tmp_path: Path) -> None:
    path = write_lines(tmp_path / "r.jsonl", [record(n) for n in range(3)])
    path.write_text(path.read_text() + "not json\n")
    stream = read_samples(path, limit=3)
    assert [sample.id for sample in stream] == ["q0", "q1", "q2"]
    assert stream.n == 3
    with pytest.raises(InputError, match=r"r.jsonl:4: not readable"):
        list(read_samples(path))
    with pytest.raises(InputError, match="at least 1"):
        read_samples(path, limit=0)


def test_after_a_bad_record_nothing_more_comes_and_all_problems_are_told(tmp_path: Path) -> None:
    path = write_lines(tmp_path / "r.jsonl", [record(0), {"question": ""}, record(2), {"question": "Q", "repeat": "x"}])
    seen = []
    with pytest.raises(InputError) as caught:
        seen.extend(sample.id for sample in read_samples(path))
    assert [problem.line for problem in caught.value.problems] == [2, 4]
    with pytest.raises(InputError, match="2 problems"):
        read_samples(path).scan()


def test_contexts_without_ids_are_numbered_and_that_is_said() -> None:
    stream = read_samples([{"question": "Q?", "contexts": ["a", "b"], "chunks": ["x"]}])
    sample = next(iter(stream))
    assert sample.response.context is not None
    assert sample.response.context.ids == ["ctx-1", "ctx-2"]
    assert sample.labels.chunks is None
    assert "have no ids" in sample.labels.notes[0]
    stream.scan()
    assert any("numbered by position" in warning for warning in stream.warnings)


def test_parallel_lists_are_joined() -> None:
    sample = read_samples([{
        "question": "Q?", "contexts": ["a", "b"], "retrieved_context_ids": [7, 8], "retrieve_scores": [0.5, 1],
        "retrieved_doc_ids": ["d", "e"],
    }]).peek(1)[0]  # fmt: skip
    assert sample.response.context is not None
    assert [(c.id, c.document, c.score, c.text) for c in sample.response.context] == [
        ("7", "d", 0.5, "a"), ("8", "e", 1.0, "b"),
    ]  # fmt: skip
    only_ids = read_samples([{"question": "Q?", "retrieved_ids": ["x", "y"]}]).peek(1)[0]
    assert only_ids.response.context is not None
    assert only_ids.response.context.ids == ["x", "y"]


def test_repeats_of_a_question_need_a_number() -> None:
    stream = read_samples([record(0, repeat=0), record(0, repeat=1)])
    assert [(s.id, s.repeat) for s in stream] == [("q0", 0), ("q0", 1)]
    assert set(stream.items) == {"q0", "q0#1"}
    with pytest.raises(InputError, match=r"lines 1 and 2[\s\S]*`repeat` number"):
        list(read_samples([record(0), record(0)]))


def test_recorded_outputs_join_golden_items_by_id_and_else_by_question() -> None:
    golden = load_golden([
        {"id": "q0", "question": "What is 0?", "answer": "zero", "chunks": ["c0-1"], "verified": True},
        {"id": "one", "question": "What  is 1?", "answer": "one"},
        {"id": "never", "question": "Asked by nobody?"},
    ])  # fmt: skip
    anonymous = {key: value for key, value in record(1).items() if key != "id"}
    stream = read_samples([record(0), anonymous, record(9)], golden=golden)
    samples = list(stream)
    assert [(s.id, s.item.answer) for s in samples] == [("q0", "zero"), ("one", "one"), ("q9", None)]
    assert samples[0].labels.chunks == {"c0-1": 1}
    scan = stream.scan()
    assert (scan.unmatched, scan.missing, scan.n_verified) == (("q9",), ("never",), 1)
    assert any("not in the golden set" in w for w in stream.warnings)
    assert any("nothing was recorded for 1 of 3 golden items: never" in w for w in stream.warnings)
    assert {"chunks", "reference"} <= stream.fields


def test_what_a_record_says_of_its_own_and_the_golden_set_overrides_is_said() -> None:
    golden = load_golden(
        [{"id": "q0", "question": "What is 0?", "answer": "zero"}, {"id": "q1", "question": "What is 1?"}]
    )
    own = [record(0) | {"reference": "Zero"}, record(1) | {"reference": "uno"}]
    stream = read_samples(own, golden=golden)
    assert [sample.item.answer for sample in stream] == ["zero", None]
    stream.scan()
    (said,) = [w for w in stream.warnings if "of its own" in w]
    assert "a reference" in said
    assert "what the golden set says counts" in said
    assert not any("of its own" in w for w in _warnings_of([record(0) | {"reference": " ZERO"}], golden))


def _warnings_of(records: list[dict[str, Any]], golden: Any) -> Any:
    stream = read_samples(records, golden=golden)
    stream.scan()
    return stream.warnings


def test_an_id_that_asks_something_else_is_joined_and_said() -> None:
    golden = load_golden([{"id": "q0", "question": "Something quite different?"}])
    stream = read_samples([record(0)], golden=golden)
    assert next(iter(stream)).item.question == "Something quite different?"
    stream.scan()
    assert any("asks another question" in w for w in stream.warnings)


def test_a_record_with_the_id_of_a_golden_item_need_not_repeat_its_question() -> None:
    golden = load_golden([{"id": "q0", "question": "What is 0?", "answer": "zero"}])
    bare = {key: value for key, value in record(0).items() if key != "question"}
    (sample,) = list(read_samples([bare], golden=golden))
    assert (sample.item.question, sample.item.answer) == ("What is 0?", "zero")
    with pytest.raises(InputError, match="no question"):
        list(read_samples([{**bare, "id": "unknown"}], golden=golden))


def test_one_golden_item_answered_twice_is_refused() -> None:
    golden = load_golden([{"id": "x", "question": "What is 0?"}])
    with pytest.raises(InputError, match="'x' is answered twice, on lines 1 and 2"):
        list(read_samples([record(0), record(0, id="other")], golden=golden))


def test_samples_pass_through_with_their_labels() -> None:
    ready = Sample(item=GoldenItem(id="a", question="Q"), response=Response(answer="A"), labels=Labels(chunks={"c": 2}))
    assert list(read_samples([ready])) == [ready]


def test_an_iterator_can_be_read_again() -> None:
    stream = read_samples(iter([record(0), record(1)]))
    assert [s.id for s in stream] == [s.id for s in stream] == ["q0", "q1"]


def test_relevance_names_documents_for_all_records_when_it_does_for_most() -> None:
    hit = record(0, relevance={"d0": 2})
    missed = record(1, relevance={"elsewhere": 1})
    chunk_like = record(2, relevance={"c2-0": 1})
    labels = [sample.labels for sample in read_samples([hit, record(3, relevance={"d3": 1}), missed])]
    assert [label.documents for label in labels] == [{"d0": 2}, {"d3": 1}, {"elsewhere": 1}]
    assert [label.chunks for label in labels] == [None, None, None]
    by_chunk = [sample.labels for sample in read_samples([chunk_like, missed])]
    assert [label.chunks for label in by_chunk] == [{"c2-0": 1}, {"elsewhere": 1}]


@pytest.mark.parametrize(
    ("kind", "n"),
    [
        pytest.param("jsonl", 20_000, marks=pytest.mark.slow),
        ("jsonl", 1000),
        ("jsonl.gz", 1000),
        ("csv", 1000),
        ("json", 1000),
        ("parquet", 1000),
    ],
)
def test_streaming_records_takes_bounded_memory(kind: str, n: int, tmp_path: Path) -> None:
    text = "words of a passage " * (20 if n == 20_000 else 1000)
    records = ({"question": f"What is {i}?", "contexts": [text]} for i in range(n))
    path = tmp_path / f"r.{kind}"
    if kind == "jsonl":
        path.write_text("".join(json.dumps(r) + "\n" for r in records))
    elif kind == "jsonl.gz":
        import gzip

        with gzip.open(path, "wt", compresslevel=1) as handle:
            handle.writelines(json.dumps(r) + "\n" for r in records)
    elif kind == "json":
        path.write_text(json.dumps(list(records)))
    else:
        from ragauge.store import tables

        if kind == "parquet":
            pytest.importorskip("pyarrow")
        (tables.write_csv if kind == "csv" else tables.write_parquet)(path, records)
    next(iter(read_samples(path)))  # imports
    tracemalloc.start()
    try:
        assert sum(1 for _ in read_samples(path)) == n
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    # ids are remembered (a few hundred bytes each), texts and objects are not; buffers are a few megabytes
    assert peak < 9 * 2**20 + 400 * n, f"{peak / 2**20:.1f} MiB"


def test_ten_thousand_records_with_five_chunks_are_read_in_seconds(tmp_path: Path) -> None:
    text = "x" * 600
    records = [
        {"id": str(i), "question": "Q?", "contexts": [{"id": str(n), "text": text} for n in range(5)]}
        for i in range(2000)
    ]
    path = write_lines(tmp_path / "r.jsonl", records)
    started = time.process_time()
    assert sum(1 for _ in read_samples(path)) == 2000
    assert time.process_time() - started < 15  # 0.4 s on the machine this was written on


def test_contexts_as_id_to_text_are_read_and_objects_that_say_nothing_are_refused() -> None:
    context = read_samples([{"question": "Q?", "contexts": {"c1": "one", "c2": "two"}}]).peek(1)[0].response.context
    assert context is not None
    assert [(chunk.id, chunk.text) for chunk in context] == [("c1", "one"), ("c2", "two")]
    with pytest.raises(InputError, match="context 1: an object without id, document and text"):
        list(read_samples([{"question": "Q?", "contexts": [{"txet": "one"}]}]))
