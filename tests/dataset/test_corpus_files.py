from __future__ import annotations

import json
from pathlib import Path

import pytest

from ragauge.dataset import CorpusIndex, check_labels, load_golden, read_chunks, read_samples
from ragauge.errors import InputError


def test_passages_are_read_from_beir_and_autorag_corpora(tmp_path: Path) -> None:
    (tmp_path / "queries.jsonl").write_text("{}")
    (tmp_path / "corpus.jsonl").write_text('{"_id": "d1", "title": "T", "text": "t"}\n')
    assert [(c.id, c.text, c.metadata) for c in read_chunks(tmp_path)] == [("d1", "t", {"title": "T"})]
    pytest.importorskip("pyarrow")
    from ragauge.store.tables import write_parquet

    write_parquet(tmp_path / "c.parquet", [{"doc_id": "p1", "contents": "t", "path": "a.md", "start_end_idx": [3, 9]}])
    chunk = next(iter(read_chunks(tmp_path / "c.parquet")))
    assert (chunk.id, chunk.text, chunk.start, chunk.end) == ("p1", "t", 3, 9)


def test_bad_passages_are_named(tmp_path: Path) -> None:
    path = tmp_path / "corpus.jsonl"
    path.write_text('{"_id": "a", "text": "t"}\n{"_id": "a", "text": "u"}\n')
    with pytest.raises(InputError, match=r"corpus.jsonl:2: the chunk id stands twice"):
        list(read_chunks(path))
    path.write_text('{"text": "t"}\n')
    with pytest.raises(InputError, match=r"corpus.jsonl:1: a passage without an id"):
        list(read_chunks(path))
    with pytest.raises(InputError, match="no corpus in this folder"):
        list(read_chunks(tmp_path.parent))


def test_the_public_retrieval_sets_load_and_their_labels_are_all_there(shared: Path) -> None:
    for name, n_items in (("mtrag_passages", 686), ("clapnq_dev", 600), ("squad2_dev", 4000)):
        folder = shared / "judgedata" / "retrieval" / name
        golden = load_golden(folder)
        assert len(golden) == n_items
        assert golden.notes == ()
        check_labels(golden, CorpusIndex.from_chunks(read_chunks(folder)))


def test_labelled_judge_data_reads_as_recorded_outputs_with_a_map(shared: Path) -> None:
    stream = read_samples(shared / "judgedata" / "mtrag_human.jsonl.gz", field_map={"text": "answer"}, limit=50)
    assert stream.n == 50
    assert {"answer", "context_text"} <= stream.fields
    assert json.dumps(stream.peek(1)[0].model_dump(mode="json"))
