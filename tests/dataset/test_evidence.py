from __future__ import annotations

import time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragauge.core.sample import (
    Chunk,
    Evidence,
    EvidenceGroup,
    GoldenItem,
    Labels,
    Response,
    RetrievedChunk,
    RetrievedContext,
)
from ragauge.dataset import CorpusIndex, check_labels, load_golden, resolve_labels
from ragauge.dataset.quotes import MIN_PIECE, Texts, find_quote
from ragauge.errors import InputError

DOCUMENT = (
    "# Limits\n\nThe maximum body size is 4 GB per request. Larger bodies are refused with error E42.\n\n"
    "Rate limits apply per key: 600 requests in a minute. Bursts of up to 50 are let through before throttling starts."
)


def chunked(text: str, size: int, overlap: int = 0, document: str = "limits.md", offsets: bool = True) -> list[Chunk]:
    step = size - overlap
    return [
        Chunk(
            id=f"{document}#{n}", document=document, text=text[start : start + size],
            start=start if offsets else None, end=min(start + size, len(text)) if offsets else None,
        )
        for n, start in enumerate(range(0, max(1, len(text) - overlap), step))
    ]  # fmt: skip


def item(**fields: Any) -> GoldenItem:
    return GoldenItem(id="q", question="Q?", **fields)


def evidence(*groups: Any) -> tuple[EvidenceGroup, ...]:
    made = []
    for group in groups:
        parts = group if isinstance(group, list) else [group]
        made.append(EvidenceGroup(any=tuple(Evidence(**part) for part in parts)))
    return tuple(made)


def response(*chunks: tuple[str, str | None, str]) -> Response:
    return Response(
        context=RetrievedContext(
            chunks=tuple(RetrievedChunk(id=i, document=d, text=t, rank=n) for n, (i, d, t) in enumerate(chunks, 1))
        )
    )


QUOTE = "The maximum body size is 4 GB per request."


@pytest.mark.parametrize("size", [40, 60, 100, 400])
@pytest.mark.parametrize("overlap", [0, 15, 30])
def test_quote_and_span_find_the_same_chunks_however_the_document_is_cut(size: int, overlap: int) -> None:
    corpus = CorpusIndex.from_chunks(chunked(DOCUMENT, size, overlap))
    start = DOCUMENT.index(QUOTE)
    by_span = corpus.resolve(Evidence(document="limits.md", start=start, end=start + len(QUOTE)))
    by_quote = corpus.resolve(Evidence(document="limits.md", quote=QUOTE))
    assert by_span.chunks
    assert not by_quote.problem
    held = "".join(corpus.by_id[name].text for name in by_quote.chunks)
    assert "4 GB" in held or "maximum" in held
    # white space and the shortest pieces make the two differ by at most a marginal chunk
    assert set(by_quote.chunks) & set(by_span.chunks)


def test_a_chunk_is_relevant_if_it_holds_half_of_the_evidence_or_is_half_covered_by_it() -> None:
    chunks = [Chunk(id=str(n), document="d", start=100 * n, end=100 * n + 100) for n in range(4)]
    corpus = CorpusIndex.from_chunks(chunks)

    def found(start: int, end: int) -> tuple[str, ...]:
        return corpus.resolve(Evidence(document="d", start=start, end=end)).chunks

    assert found(10, 20) == ("0",)
    assert found(90, 110) == ("0", "1")
    assert found(92, 112) == ("1",)
    assert found(50, 350) == ("0", "1", "2", "3")
    assert found(60, 340) == ("1", "2")
    assert corpus.resolve(Evidence(document="d", start=900, end=950)).problem == "no chunk covers these characters"


def test_when_no_chunk_reaches_half_the_largest_overlap_wins() -> None:
    chunks = [Chunk(id="a", document="d", start=0, end=50), Chunk(id="b", document="d", start=60, end=160),
              Chunk(id="c", document="d", start=0, end=1)]  # fmt: skip
    corpus = CorpusIndex.from_chunks(chunks)
    assert corpus.resolve(Evidence(document="d", start=40, end=100)).chunks == ("b",)
    assert corpus.resolve(Evidence(document="d", start=30, end=61)).chunks == ("a",)
    assert corpus.resolve(Evidence(document="d", start=49, end=61)).chunks == ("a",)


def test_white_space_does_not_matter_and_case_and_punctuation_are_noted() -> None:
    corpus = CorpusIndex.from_chunks([Chunk(id="c", document="d", text="The  **maximum**\n body size\tis “4 GB”.")])
    exact = CorpusIndex.from_chunks([Chunk(id="c", document="d", text="The maximum\n body   size")])
    assert exact.resolve(Evidence(document="d", quote="maximum body size")).note == ""
    loose = corpus.resolve(Evidence(document="d", quote='the Maximum body size is "4 GB"'))
    assert loose.chunks == ("c",)
    assert "without regard to case" in loose.note
    labels = resolve_labels(
        item(evidence=evidence({"document": "d", "quote": 'the Maximum body size is "4 GB"'})), corpus
    )
    assert "evidence 1: the quote was matched without regard to case and punctuation" in labels.notes


def test_a_quote_that_straddles_two_chunks_is_found_in_both() -> None:
    quote = "Larger bodies are refused with error E42."
    cut = DOCUMENT.index("are refused")
    parts = [DOCUMENT[:cut], DOCUMENT[cut:]]
    corpus = CorpusIndex.from_chunks(Chunk(id=str(n), document="d", text=text) for n, text in enumerate(parts))
    assert corpus.resolve(Evidence(document="d", quote=quote)).chunks == ("1",)
    halves = CorpusIndex.from_chunks([Chunk(id="0", document="d", text="… Larger bodies are"),
                                      Chunk(id="1", document="d", text="refused with E42. …")])  # fmt: skip
    assert halves.resolve(Evidence(document="d", quote="Larger bodies are refused with E42.")).chunks == ("0", "1")
    overlapping = chunked(DOCUMENT, 90, 60, "d")
    found = CorpusIndex.from_chunks(overlapping).resolve(Evidence(document="d", quote=quote))
    assert len(found.chunks) >= 2


def test_a_quote_over_many_small_chunks_takes_all_that_it_covers() -> None:
    words = [
        "one",
        "two",
        "three",
        "four",
        "five",
        "six",
        "seven",
        "eight",
        "nine",
        "ten",
        "eleven",
        "twelve",
        "thirteen",
        "fourteen",
    ]
    chunks = [Chunk(id=str(n), document="d", text=" ".join(words[n : n + 2])) for n in range(0, len(words), 2)]
    found = CorpusIndex.from_chunks(chunks).resolve(Evidence(document="d", quote=" ".join(words)))
    assert found.chunks == tuple(chunk.id for chunk in chunks)


def test_a_heading_before_the_second_half_does_not_hide_it() -> None:
    quote = "Bursts of up to 50 are let through before throttling starts on the next full minute."
    chunks = [
        Chunk(id="a", document="d", text="Rate limits apply. Bursts of up to 50 are let through"),
        Chunk(id="b", document="d", text="Limits > Bursts\n\nbefore throttling starts on the next full minute. More."),
    ]
    found = CorpusIndex.from_chunks(chunks).resolve(Evidence(document="d", quote=quote))
    assert found.chunks == ("a", "b")


def test_the_same_sentence_with_another_number_is_not_the_quote() -> None:
    text = "Limits. The maximum body size is 5 GB per request and per key. More."
    for scope in ("document", "corpus", "retrieved"):
        found = find_quote(
            "The maximum body size is 4 GB per request and per key.", [Chunk(id="a", text=text)], Texts(), scope
        )
        assert found.chunks == ()
        assert "stands in none of 1 chunks" in found.problem


def test_of_what_was_retrieved_a_chunk_counts_for_itself() -> None:
    second_half = Chunk(id="b", text="let through before throttling starts on the next full minute. More.")
    quote = "Bursts of up to 50 are let through before throttling starts on the next full minute."
    assert find_quote(quote, [second_half], Texts(), "retrieved").chunks == ("b",)
    assert find_quote(quote, [second_half], Texts(), "document").chunks == ()
    edge = Chunk(id="c", text="next full minute. " + "Then something else is said at length. " * 5)
    assert find_quote(quote, [edge], Texts(), "retrieved").chunks == ()


def test_a_quote_that_stands_nowhere_is_a_problem_and_half_a_quote_is_not_found() -> None:
    corpus = CorpusIndex.from_chunks(chunked(DOCUMENT, 100))
    assert (
        "stands in none" in corpus.resolve(Evidence(document="limits.md", quote="no such words anywhere here")).problem
    )
    half = QUOTE + " And then something that nobody ever wrote down anywhere."
    assert "stands in none" in corpus.resolve(Evidence(document="limits.md", quote=half)).problem
    assert "no document 'other.md'" in corpus.resolve(Evidence(document="other.md", quote=QUOTE)).problem
    without = CorpusIndex.from_chunks(chunked(DOCUMENT, 100, offsets=False))
    assert "no character offsets" in without.resolve(Evidence(document="limits.md", start=1, end=5)).problem


def test_groups_are_alternatives_and_each_is_needed() -> None:
    corpus = CorpusIndex.from_chunks(
        [*chunked(DOCUMENT, 120, 60), Chunk(id="faq#0", document="faq", text="Max is 4 GB, see limits.")]
    )
    labels = resolve_labels(
        item(evidence=evidence([{"document": "limits.md", "quote": QUOTE}, {"document": "faq", "quote": "Max is 4 GB"}],
                               {"document": "limits.md", "quote": "600 requests in a minute"})),
        corpus,
    )  # fmt: skip
    assert labels.groups is not None
    assert len(labels.groups) == 2
    assert "faq#0" in labels.groups[0]
    assert labels.chunks == {name: 1 for group in labels.groups for name in group}
    assert labels.documents == {"limits.md": 1, "faq": 1}
    assert labels.notes == ()


def test_whole_documents_and_chunk_ids_as_evidence() -> None:
    corpus = CorpusIndex.from_chunks(chunked(DOCUMENT, 120))
    whole = resolve_labels(item(evidence=evidence({"document": "limits.md"})), corpus)
    assert whole.groups == (tuple(c.id for c in corpus.chunks),)
    one = resolve_labels(item(evidence=evidence([{"document": "limits.md#0"}, {"document": "limits.md#1"}])), corpus)
    assert one.groups == (("limits.md#0", "limits.md#1"),)
    assert one.documents == {"limits.md": 1}


def test_explicit_labels_and_grades() -> None:
    corpus = CorpusIndex.from_chunks([*chunked(DOCUMENT, 120), Chunk(id="lone", text="x")])
    labels = resolve_labels(
        item(
            sources=("limits.md",), chunks=("limits.md#0",), relevance={"limits.md#0": 3, "limits.md#1": 0, "lone": 2}
        ),
        corpus,
    )
    assert labels.chunks == {"limits.md#0": 3, "limits.md#1": 0, "lone": 2}
    assert labels.documents == {"limits.md": 3, "lone": 2}
    assert labels.groups is None
    graded = resolve_labels(item(relevance={"limits.md": 2}), corpus)
    assert (graded.chunks, graded.documents) == (None, {"limits.md": 2})


def test_relevant_chunks_outside_the_evidence_are_groups_of_their_own() -> None:
    corpus = CorpusIndex.from_chunks(chunked(DOCUMENT, 120))
    labels = resolve_labels(
        item(chunks=("limits.md#1",), evidence=evidence({"document": "limits.md", "quote": QUOTE})), corpus
    )
    assert labels.groups == (("limits.md#0",), ("limits.md#1",))


def test_an_item_without_labels_has_none() -> None:
    corpus = CorpusIndex.from_chunks(chunked(DOCUMENT, 120))
    assert resolve_labels(item(), corpus) == Labels()
    assert resolve_labels(item(answerable=False), corpus) == Labels()
    assert resolve_labels(item(), None, response(("a", None, "t"))) == Labels()


def test_without_a_corpus_evidence_is_looked_for_in_what_was_retrieved() -> None:
    asked = item(
        evidence=evidence({"document": "limits.md", "quote": QUOTE}, {"document": "limits.md", "quote": "600 requests"})
    )
    found = resolve_labels(asked, None, response(("c1", "limits.md", DOCUMENT[:80]), ("c2", "other.md", QUOTE)))
    assert found.groups == (("c1",), ("evidence:2",))
    assert found.chunks == {"c1": 1, "evidence:2": 1}
    assert found.documents == {"limits.md": 1}
    assert "evidence 2 is in no retrieved chunk" in found.notes
    missed = resolve_labels(asked, None, response())
    assert missed.groups == (("evidence:1",), ("evidence:2",))
    anonymous = resolve_labels(asked, None, response(("ctx-1", None, DOCUMENT)))
    assert anonymous.groups == (("ctx-1",),)
    assert resolve_labels(asked, None, Response()).chunks is None


def test_gold_texts_without_a_document_match_retrieved_texts_that_have_no_ids() -> None:
    from ragauge.dataset import read_samples

    labels = read_samples([{
        "user_input": "Q?", "response": "A", "retrieved_contexts": ["noise text", QUOTE], "reference_contexts": [QUOTE],
    }]).peek(1)[0].labels  # fmt: skip
    assert labels.chunks == {"ctx-2": 1}
    assert labels.groups == (("ctx-2",),)


def test_without_text_evidence_cannot_be_looked_for_and_that_is_noted() -> None:
    asked = item(evidence=evidence({"document": "limits.md", "quote": QUOTE}))
    labels = resolve_labels(asked, None, response(("c1", "limits.md", "")))
    assert (labels.chunks, labels.documents) == (None, {"limits.md": 1})
    assert "have no text" in labels.notes[0]


def test_without_a_corpus_chunk_labels_give_no_document_labels() -> None:
    hit = resolve_labels(item(chunks=("c1",)), None, response(("c1", "d1", "t")))
    assert (hit.chunks, hit.documents) == ({"c1": 1}, None)


def test_check_labels_lists_what_is_not_there_with_line_and_nearest_id(tmp_path: Any) -> None:
    path = tmp_path / "g.yaml"
    path.write_text(
        "- {id: a, question: Q1, chunks: ['limits.md#9'], sources: [limit.md]}\n"
        "- id: b\n  question: Q2\n  evidence: [{document: limits.md, quote: nowhere to be found}]\n"
        "- {id: c, question: Q3, evidence: [{document: limit.md, quote: x}], relevance: {zzz: 0}}\n"
    )
    golden = load_golden(path)
    corpus = CorpusIndex.from_chunks(chunked(DOCUMENT, 100))
    with pytest.raises(InputError) as caught:
        check_labels(golden, corpus)
    problems = caught.value.problems
    assert [(p.line, p.field) for p in problems] == [
        (1, "sources"), (1, "chunks"), (2, "evidence"), (5, "relevance"), (5, "evidence"),
    ]  # fmt: skip
    text = str(caught.value)
    assert "label for a chunk that is not there" in text
    assert "Nearest: 'limits.md'" in text
    assert "'limits.md#" in text
    assert "{document, quote}" in text
    assert caught.value.exit_code == 2
    check_labels(load_golden([{"question": "Q", "chunks": ["limits.md#0"], "sources": ["limits.md"]}]), corpus)


def test_two_chunks_with_one_id_are_refused() -> None:
    with pytest.raises(InputError, match="two chunks of the corpus have one id"):
        CorpusIndex.from_chunks([Chunk(id="a"), Chunk(id="a")])


def test_hostile_texts_do_not_take_long() -> None:
    started = time.perf_counter()
    same = [Chunk(id=str(n), document="d", text="a" * 1_000_000) for n in range(2)]
    find_quote("a" * 500_000 + "b", same, Texts())
    find_quote("ab " * 20_000 + "c", [Chunk(id="x", document="d", text="ab " * 300_000)], Texts())
    assert time.perf_counter() - started < 40


@given(st.data())
def test_any_sentence_of_a_document_is_found_in_any_chunking_of_it(data: Any) -> None:
    words = data.draw(
        st.lists(
            st.sampled_from(["alpha", "beta", "gamma", "delta", "limit", "body", "4", "GB", "error", "key"]),
            min_size=30,
            max_size=80,
        )
    )
    text = " ".join(f"{word}{n}" for n, word in enumerate(words))
    size = data.draw(st.integers(4 * MIN_PIECE, 200))
    overlap = data.draw(st.integers(0, 20))
    start = data.draw(st.integers(0, len(text) - 60))
    quote = text[start : start + data.draw(st.integers(5 * MIN_PIECE, 120))].strip()
    corpus = CorpusIndex.from_chunks(chunked(text, size, overlap))
    found = corpus.resolve(Evidence(document="limits.md", quote=quote))
    assert not found.problem
    assert found.chunks
    assert set(found.chunks) <= set(corpus.by_id)


def test_a_gold_text_without_a_document_is_found_wherever_it_stands_also_over_edges() -> None:
    chunks = [
        *chunked(DOCUMENT, 70, document="a.md"),
        *chunked(DOCUMENT.upper(), 70, document="b.md"),
        Chunk(id="c", text="other"),
    ]
    corpus = CorpusIndex.from_chunks(chunks)
    by_name = corpus.resolve(Evidence(document="a.md", quote=QUOTE))
    assert corpus.resolve(Evidence(document="*", quote=QUOTE)).chunks == by_name.chunks
    loose = corpus.resolve(Evidence(document="*", quote=QUOTE.swapcase()))
    assert set(loose.chunks) >= set(by_name.chunks)
    assert {corpus.by_id[name].document for name in loose.chunks} == {"a.md", "b.md"}
    assert corpus.resolve(Evidence(document="*", quote="nothing of the kind")).problem


@given(st.data())
def test_looking_everywhere_finds_what_looking_in_the_document_finds(data: Any) -> None:
    text = " ".join(f"w{n}{data.draw(st.sampled_from(['x', 'yy', 'zzz']))}" for n in range(60))
    corpus = CorpusIndex.from_chunks([*chunked(text, data.draw(st.integers(50, 150)), 10), Chunk(id="z", text="w1 w2")])
    start = data.draw(st.integers(0, len(text) - 120))
    quote = text[start : start + data.draw(st.integers(40, 120))].strip()
    here, anywhere = (corpus.resolve(Evidence(document=name, quote=quote)) for name in ("limits.md", "*"))
    assert here.chunks == anywhere.chunks


def test_many_gold_texts_are_looked_for_in_a_large_corpus_in_reasonable_time() -> None:
    chunks = [Chunk(id=str(n), document=f"d{n // 10}", text=f"passage {n} " * 60) for n in range(10_000)]
    corpus = CorpusIndex.from_chunks(chunks)
    corpus.resolve(Evidence(document="*", quote="warm up, in vain"))
    started = time.process_time()
    for n in range(50):
        assert (
            str(n * 7)
            in corpus.resolve(Evidence(document="*", quote=f"passage {n * 7} passage {n * 7} passage")).chunks
        )
    assert time.process_time() - started < 20


def test_half_is_half_for_quotes_too() -> None:
    quote = "abcdefghij klmnopqrst uvwxyz0123 456789ABCD"  # 43 characters
    rest = " and much more text that belongs to something else entirely"
    forty_percent = Chunk(id="a", document="d", text="… before it. " + rest + " " + quote[:18])
    sixty_percent = Chunk(id="b", document="d", text=quote[18:] + rest)
    corpus = CorpusIndex.from_chunks([forty_percent, sixty_percent])
    assert corpus.resolve(Evidence(document="d", quote=quote)).chunks == ("b",)
    small = Chunk(id="c", document="d", text="§ " + quote[:18])  # the quote covers most of this chunk
    assert CorpusIndex.from_chunks([small, sixty_percent]).resolve(Evidence(document="d", quote=quote)).chunks == (
        "c",
        "b",
    )
