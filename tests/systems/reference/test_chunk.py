from __future__ import annotations

import random
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ragauge.core.sample import Chunk
from ragauge.embeddings.minilm import load_minilm
from ragauge.errors import SettingsError
from ragauge.systems.reference.chunk import ChunkSettings, chunk_document, chunk_documents
from ragauge.systems.reference.corpus import Document

PIECES = [
    "# Heading\n", "## Deeper heading\n", "Title\n=====\n", "Words in a sentence. And another one! ", "\n", "\n\n",
    "```python\nx = 1\n\ny = 2\n```\n", "```\nnever closed\n", "| a | b |\n|---|---|\n| 1 | 2 |\n| 3 | 4 |\n",
    "| lone | row |\n", "- item one\n- item two\n  goes on\n", "1. first\n2. second\n", "x" * 90, "é漢字 🎉 \u202e",
    "---\n", "\t tab\n", "a|b\n", "    indented\n", "[1] ", "Sources:\n[1]: http://x.y\n",
]  # fmt: skip


def cut(text: str, name: str = "a/b.md", **options: object) -> list[Chunk]:
    return chunk_document(Document(name, text), ChunkSettings(**options), load_minilm().count_word_tokens)  # type: ignore[arg-type]


def assert_laws(text: str, chunks: list[Chunk], size: int | None) -> None:
    covered = bytearray(len(text))
    for index, chunk in enumerate(chunks):
        assert chunk.id == f"a/b.md#{index:04d}"
        assert chunk.document == "a/b.md"
        assert chunk.start is not None
        assert chunk.end is not None
        assert chunk.text == text[chunk.start : chunk.end]
        assert chunk.text.strip()
        assert size is None or len(chunk.text) <= size
        covered[chunk.start : chunk.end] = b"\1" * (chunk.end - chunk.start)
    assert all(covered[i] or text[i].isspace() for i in range(len(text)))
    starts = [chunk.start or 0 for chunk in chunks]
    assert starts == sorted(starts)


@pytest.mark.parametrize("splitter", ["markdown", "sentence", "fixed"])
@settings(max_examples=40, deadline=None)
@given(
    parts=st.lists(st.one_of(st.sampled_from(PIECES), st.text(max_size=30)), max_size=30),
    size=st.integers(20, 300),
    share=st.floats(0, 0.5),
)
def test_every_chunk_is_a_stretch_of_its_document_within_the_size_and_nothing_is_lost(
    splitter: str, parts: list[str], size: int, share: float
) -> None:
    text = "".join(parts)
    overlap = int(size * share)
    assert_laws(text, cut(text, splitter=splitter, size=size, overlap=overlap), size)


@pytest.mark.parametrize("splitter", ["markdown", "sentence", "fixed"])
def test_sizes_in_tokens_are_kept(splitter: str) -> None:
    rng = random.Random(1)
    text = "".join(rng.choice(PIECES[:12]) for _ in range(200))
    chunks = cut(text, splitter=splitter, size=60, overlap=15, unit="tokens")
    assert_laws(text, chunks, None)
    count = load_minilm().count_word_tokens
    assert max(sum(count(word) for word in chunk.text.split()) for chunk in chunks) <= 60
    assert len(chunks) > 5


def test_a_heading_stays_with_what_follows_it() -> None:
    text = "# One\n\n" + "Some words here. " * 20 + "\n\n## Two\n\n" + "More words there. " * 20
    chunks = cut(text, size=200, overlap=0)
    assert all(not chunk.text.rstrip().endswith(("# One", "## Two")) for chunk in chunks)
    under_two = [chunk for chunk in chunks if "More words" in chunk.text]
    assert all(chunk.metadata["headings"] == ["One", "Two"] for chunk in under_two)
    assert under_two[0].text.startswith("## Two")


def test_a_heading_of_the_same_depth_replaces_the_last_one() -> None:
    text = "# A\n\n## B\n\n" + "b words. " * 40 + "\n\n## C\n\n" + "c words. " * 40 + "\n\n# D\n\n" + "d words. " * 40
    paths = {chunk.text.split()[-2]: chunk.metadata["headings"] for chunk in cut(text, size=400, overlap=0)}
    assert paths == {"b": ["A", "B"], "c": ["A", "C"], "d": ["D"]}


def test_a_table_that_fits_is_kept_whole_and_a_longer_one_keeps_its_header_at_hand() -> None:
    rows = "".join(f"| name {n} | value {n} |\n" for n in range(12))
    table = "| name | value |\n|---|---|\n" + rows
    prose = "Words before it. " * 12
    whole = cut(f"{prose}\n\n{table}", size=400, overlap=0)
    assert any(chunk.text == table.rstrip() for chunk in whole)
    parts = cut(table, size=100, overlap=0)
    assert len(parts) > 2
    assert "table_header" not in parts[0].metadata
    assert all(chunk.metadata["table_header"] == "| name | value |\n|---|---|" for chunk in parts[1:])
    assert all(line.startswith("| ") and line.endswith(" |") for chunk in parts[1:] for line in chunk.text.split("\n"))


def test_fenced_code_that_fits_is_kept_whole_headings_inside_it_are_code() -> None:
    code = "```sh\n# not a heading\nrun --fast\n\n- not a list\n```"
    chunks = cut("Words before the code. " * 14 + f"\n\n{code}\n\nAfter it.", size=350, overlap=0)
    assert any(code in chunk.text for chunk in chunks)
    assert all("headings" not in chunk.metadata for chunk in chunks)


def test_overlap_repeats_whole_sentences_of_the_same_section_only() -> None:
    sentences = [f"Sentence number {n} says something." for n in range(12)]
    text = "# A\n\n" + " ".join(sentences) + "\n\n# B\n\n" + "Other words are here. " * 12
    chunks = cut(text, size=200, overlap=80)
    first, second = chunks[0], chunks[1]
    assert second.start is not None
    assert first.end is not None
    shared = text[second.start : first.end]
    assert 0 < len(shared) <= 80
    assert shared.startswith("Sentence number")
    start_of_b = next(chunk for chunk in chunks if "# B" in chunk.text)
    assert start_of_b.text.startswith("# B")


def test_fixed_windows_overlap_exactly() -> None:
    text = "abcdefghij" * 30
    chunks = cut(text, splitter="fixed", size=100, overlap=20)
    assert [(chunk.start, chunk.end) for chunk in chunks] == [(0, 100), (80, 180), (160, 260), (240, 300)]


def test_restructured_text_headings_by_their_underlines() -> None:
    text = "Guide\n=====\n\nWords.\n\nKeys\n----\n\nRotate them.\n\nExample::\n\n    code = 1\n\n    more = 2\n\nEnd.\n"
    chunks = chunk_document(Document("g.rst", text), ChunkSettings(size=40, overlap=0))
    assert chunks[-1].metadata["headings"] == ["Guide", "Keys"]
    assert any("code = 1\n\n    more = 2" in chunk.text for chunk in chunks)


def test_none_keeps_each_document_whole_under_its_own_id() -> None:
    documents = [Document("p1", "long text " * 500, "T"), Document("p2", " \n"), Document("p3", "x")]
    chunks = chunk_documents(documents, ChunkSettings(splitter="none"))
    assert [chunk.id for chunk in chunks] == ["p1", "p3"]
    assert chunks[0].text == documents[0].text
    assert chunks[0].metadata == {"title": "T"}


@pytest.mark.parametrize("options", [{"size": 19}, {"size": 100, "overlap": 51}, {"size": 100, "overlap": -1}])
def test_sizes_that_cannot_be_are_refused(options: dict[str, int]) -> None:
    with pytest.raises(SettingsError, match="chunk_"):
        ChunkSettings(**options)


@pytest.mark.parametrize(
    "text",
    [
        "x" * 1_000_000,
        "| a " * 250_000,
        "- a\n" * 200_000,
        "# h\n" * 100_000,
        "a. " * 300_000,
        "`" * 500_000,
        "|-|\n" * 200_000,
    ],
)
def test_a_megabyte_of_anything_is_cut_in_seconds(text: str) -> None:
    started = time.process_time()
    chunks = cut(text, size=800, overlap=100)
    assert time.process_time() - started < 30
    assert sum(len(chunk.text) for chunk in chunks) > 0
