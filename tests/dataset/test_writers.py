from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ragauge.core.sample import (
    Chunk,
    Evidence,
    EvidenceGroup,
    GoldenItem,
    Message,
    Response,
    RetrievedChunk,
    RetrievedContext,
    Sample,
    is_blank,
)
from ragauge.dataset import load_golden, read_samples, save_golden
from ragauge.dataset.writers import to_beir, to_deepeval, to_langfuse, to_mlflow, to_ragas
from ragauge.errors import InputError, StoreError
from ragauge.text.normalise import clean

FULL = GoldenItem(
    id="no", question="How large?\nSay it.", answer="4 GB: see below\n\n- a\n", sources=("0123", "limits.md"),
    chunks=("1e3",),
    relevance={"1e3": 3, "null": 0},
    evidence=(
        EvidenceGroup(any=(Evidence(document="a", quote="x: y"),)),
        EvidenceGroup(any=(Evidence(document="b", start=0, end=4), Evidence(document="c"))),
    ),
    answerable=True, keywords=("4 GB", "yes"), tags=("lookup",), faithfulness_threshold=0.9, verified=True,
    language="en",
    claims=("The limit is 4 GB.",), history=(Message(role="user", content="Hi"),), metadata={"n": 1, "s": "1",
    "d": "2024-01-02"},
)  # fmt: skip


@pytest.mark.parametrize("name", ["g.yaml", "g.jsonl"])
def test_what_is_saved_is_read_back_equal(name: str, tmp_path: Path) -> None:
    items = (FULL, GoldenItem(id="b", question="Q?", answerable=False))
    save_golden(items, tmp_path / name)
    loaded = load_golden(tmp_path / name)
    assert loaded.items == items
    assert loaded.notes == ()
    assert [entry.name for entry in tmp_path.iterdir()] == [name]


def test_yaml_is_written_for_people(tmp_path: Path) -> None:
    save_golden([FULL], tmp_path / "g.yaml")
    text = (tmp_path / "g.yaml").read_text()
    assert text.startswith('- id: "no"\n')
    assert "  answer: |\n    4 GB: see below\n" in text
    assert '- "0123"' in text


_text = st.text(max_size=30).map(clean)
_words = st.text(min_size=1, max_size=10).map(clean).map(str.strip).filter(lambda s: not is_blank(s))
_body = st.text(min_size=1, max_size=40).map(clean).filter(lambda s: not is_blank(s))
_tuples = st.lists(_words, min_size=1, max_size=3, unique=True).map(tuple)
_values = (
    st.none()
    | st.booleans()
    | st.integers(-(10**12), 10**12)
    | st.floats(allow_nan=False, allow_infinity=False)
    | _text
)
_evidence = st.builds(Evidence, document=_words, quote=_body) | st.builds(
    Evidence, document=_words, start=st.just(1), end=st.integers(2, 99)
)
_items = st.fixed_dictionaries(
    {"id": _words, "question": _body},
    optional={
        "answer": _body, "sources": _tuples, "chunks": _tuples, "keywords": _tuples, "tags": _tuples,
        "claims": st.lists(_body, min_size=1, max_size=2).map(tuple),
        "relevance": st.dictionaries(_words, st.integers(0, 3), min_size=1, max_size=3), "answerable": st.booleans(),
        "verified": st.booleans(),
        "faithfulness_threshold": st.floats(0, 1), "language": _words,
        "evidence": st.lists(st.lists(_evidence, min_size=1, max_size=2).map(lambda e: EvidenceGroup(any=tuple(e))),
        min_size=1, max_size=2).map(tuple),
        "metadata": st.dictionaries(_words, _values | st.lists(_values, max_size=2), max_size=3),
    },
).map(lambda fields: GoldenItem(**fields))  # fmt: skip


@pytest.mark.parametrize("suffix", [".yaml", ".jsonl"])
@settings(
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow], deadline=None, max_examples=60
)
@given(items=st.lists(_items, min_size=1, max_size=3, unique_by=lambda item: item.id))
def test_any_items_survive_a_round_trip(suffix: str, tmp_path: Path, items: list[GoldenItem]) -> None:
    path = tmp_path / f"g{suffix}"
    save_golden(items, path)
    assert load_golden(path).items == tuple(items)


def test_other_suffixes_and_unwritable_places_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="YAML or JSON Lines"):
        save_golden([FULL], tmp_path / "g.csv")
    with pytest.raises(StoreError, match="cannot be written"):
        save_golden([FULL], tmp_path / "none" / "g.yaml")


def a_sample() -> Sample:
    chunks = (RetrievedChunk(id="c1", document="d1", text="one", rank=1), RetrievedChunk(id="c2", text="two", rank=2))
    return Sample(item=FULL, response=Response(answer="A", context=RetrievedContext(chunks=chunks)))


@pytest.mark.parametrize("convert", [to_ragas, to_deepeval])
def test_records_for_other_tools_are_read_back_with_the_same_texts(convert: Any) -> None:
    back = read_samples([convert(a_sample())]).peek(1)[0]
    assert (back.item.question, back.item.answer, back.response.answer) == (FULL.question, FULL.answer, "A")
    assert back.response.context is not None
    assert [chunk.text for chunk in back.response.context] == ["one", "two"]


def test_golden_items_for_other_tools() -> None:
    assert to_mlflow(FULL)["expectations"]["expected_facts"] == ["The limit is 4 GB."]
    assert load_golden([to_mlflow(FULL)]).items[0].sources == ("0123", "limits.md")
    assert load_golden([to_langfuse(FULL)]).items[0].answer == FULL.answer
    tables = to_beir([FULL], [Chunk(id="1e3", text="t", metadata={"title": "T"})])
    assert tables["queries"] == [{"_id": "no", "text": FULL.question}]
    assert {"query-id": "no", "corpus-id": "1e3", "score": 3} in tables["qrels"]
    assert tables["corpus"] == [{"_id": "1e3", "title": "T", "text": "t"}]
