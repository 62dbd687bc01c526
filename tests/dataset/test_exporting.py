"""Export → import loses nothing that the target format can hold; what it cannot hold is said."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ragauge.core.sample import (
    Evidence,
    EvidenceGroup,
    GoldenItem,
    Response,
    RetrievedChunk,
    RetrievedContext,
    Sample,
    Usage,
)
from ragauge.dataset.exporting import FORMATS, HOLDS, cannot_hold, export_samples, present
from ragauge.dataset.importing import read_foreign
from ragauge.errors import StoreError

WORDS = st.text("abcdefghijklmnopqrstuvwxyzäß漢", min_size=1, max_size=8)
FILE = {"huggingface": "set", "beir": "set", "trec": "set"}


@st.composite
def samples(draw: Any) -> Sample:
    ids = draw(st.lists(WORDS, min_size=1, max_size=4, unique=True))
    chunks = [
        RetrievedChunk(id=one, text=f"text {one}", document=f"{one}.md", score=1.0 - n / 8, rank=n)
        for n, one in enumerate(ids, 1)
    ]
    item = GoldenItem(
        id=draw(WORDS), question=f"What is {draw(WORDS)}?", answer=draw(st.none() | WORDS),
        chunks=draw(st.none() | st.just(tuple(ids[:1]))), tags=draw(st.sampled_from([(), ("lookup",)])),
        evidence=draw(st.none() | st.just((EvidenceGroup(any=(Evidence(document="a.md", quote="text here"),)),))),
    )  # fmt: skip
    response = Response(answer=draw(WORDS), context=RetrievedContext(chunks=tuple(chunks)), usage=Usage(tokens_in=3))
    return Sample(item=item, response=response)


@pytest.mark.parametrize("to", FORMATS)
@settings(max_examples=25, deadline=None)
@given(sample=samples())
def test_what_the_format_can_hold_comes_back(to: str, sample: Sample) -> None:
    with tempfile.TemporaryDirectory() as name:
        out = Path(name) / FILE.get(to, "set.jsonl")
        export_samples([sample], to, out)
        if to == "beir" and not sample.item.chunks:
            return  # questions without a label line are left out of a BEIR set
        files = [one for one in out.iterdir() if one.stat().st_size] if to == "trec" else [out]
        (back,) = read_foreign(files, "ragas" if to == "huggingface" else to).samples
    held = HOLDS[to] & present(sample)
    for what in held - READ_BEIR if to == "beir" else held:
        assert READ[what](back) == READ[what](sample), what
    assert set(cannot_hold([sample], to)) == present(sample) - HOLDS[to]


READ: dict[str, Any] = {
    "id": lambda s: s.item.id,
    "question": lambda s: s.item.question,
    "reference": lambda s: s.item.answer,
    "answer": lambda s: s.response.answer,
    "chunk texts": lambda s: [c.text for c in s.response.context] if s.response.context else None,
    "chunk ids": lambda s: s.response.context.ids if s.response.context else None,
    "chunk scores": lambda s: [c.score for c in s.response.context] if s.response.context else None,
    "chunks": lambda s: sorted(s.item.chunks or s.item.relevance or ()),
    "tags": lambda s: s.item.tags,
    "evidence quotes": lambda s: [group.any[0].quote for group in s.item.evidence or ()],
}
# BEIR's corpus is no run: it says what the passages are, not who retrieved them
READ_BEIR = {"chunk texts", "chunk ids"}


def test_a_folder_that_is_there_is_not_written_into(tmp_path: Path) -> None:
    sample = Sample(item=GoldenItem(id="a b", question="Q?"), response=Response())
    with pytest.raises(StoreError, match="is there already"):
        export_samples([sample], "beir", tmp_path)
    with pytest.raises(StoreError, match="white space"):
        export_samples([sample], "trec", tmp_path / "new")
