"""The shipped example as the library reads it: golden set, evidence under several chunkings, recorded outputs."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import yaml

import ragauge
from ragauge.core.sample import Response
from ragauge.dataset import CorpusIndex, load_golden, read_samples, resolve_labels
from ragauge.systems.reference.chunk import ChunkSettings, chunk_documents
from ragauge.systems.reference.corpus import Document

EXAMPLE = Path(ragauge.__file__).parent / "examples_data"
CORPUS = EXAMPLE / "corpus"
DOCUMENTS = {p.relative_to(CORPUS).as_posix(): p.read_text("utf-8") for p in sorted(CORPUS.rglob("*.md"))}
ITEMS = yaml.safe_load((EXAMPLE / "golden.yaml").read_text("utf-8"))["items"]
RECORDED = [json.loads(line) for line in (EXAMPLE / "recorded.jsonl").read_text("utf-8").splitlines()]


def test_the_library_reads_its_own_example() -> None:
    golden = load_golden(EXAMPLE / "golden.yaml")
    assert [item.id for item in golden.items] == [item["id"] for item in ITEMS]
    assert [len(item.evidence or ()) for item in golden.items] == [len(item.get("evidence", ())) for item in ITEMS]


@pytest.mark.parametrize(
    "settings",
    [ChunkSettings(), ChunkSettings(size=400, overlap=80), ChunkSettings(splitter="fixed", size=1500, overlap=300)],
    ids=["default", "small", "fixed"],
)
def test_the_evidence_finds_its_chunks_whatever_the_chunking(settings: ChunkSettings) -> None:
    documents = [Document(id=name, text=text) for name, text in DOCUMENTS.items()]
    chunks = chunk_documents(documents, settings)
    corpus, texts = CorpusIndex.from_chunks(chunks), {chunk.id: chunk.text for chunk in chunks}
    for item in load_golden(EXAMPLE / "golden.yaml").items:
        labels = resolve_labels(item, corpus, Response())
        assert labels.notes == (), item.id
        if item.answerable is False:
            assert labels.chunks is None, item.id
            continue
        assert set(labels.documents or {}) == set(item.sources or ()), item.id
        relevant = [texts[id] for id in labels.chunks or {}]
        for group in item.evidence or ():
            assert any(e.quote in text for e in group.any for text in relevant if e.quote), (item.id, group)


def test_the_library_reads_the_recorded_outputs() -> None:
    samples = list(read_samples(EXAMPLE / "recorded.jsonl"))
    assert [sample.item.id for sample in samples] == [row["id"] for row in RECORDED]
    for sample, row in zip(samples, RECORDED, strict=True):
        assert sample.response.answer == row["response"]
        assert sample.item.answerable is row["answerable"]
        assert sample.response.context is not None
        assert sample.response.context.ids == row["retrieved_context_ids"]
