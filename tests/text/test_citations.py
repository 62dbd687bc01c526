# ruff: noqa: E501 (tables)
from __future__ import annotations

import time

import pytest

from ragauge.core.sample import RetrievedChunk, RetrievedContext
from ragauge.text.citations import Citation, parse_citations, resolve, strip_citations

KNOWN = ("a/b", "guide-1", "Doc A")


def cited(answer: str, known: tuple[str, ...] = KNOWN) -> list[tuple[str, list[int | str]]]:
    return [(s.text, [c.target for c in s.citations]) for s in parse_citations(answer, known)]


@pytest.mark.parametrize(
    ("answer", "want"),
    [
        ("It is on [1].", [("It is on.", [1])]),
        ("It is on. [1]", [("It is on.", [1])]),
        ("It is on.[1][2] Off.", [("It is on.", [1, 2]), ("Off.", [])]),
        ("It is on [1, 2].", [("It is on.", [1, 2])]),
        ("It is on [1-3].", [("It is on.", [1, 2, 3])]),
        ("It is on [1–2, 5].", [("It is on.", [1, 2, 5])]),
        ("It is on (1).", [("It is on.", [1])]),
        ("It is on.(2) Off.", [("It is on.", [2]), ("Off.", [])]),
        ("It is on.¹² Off.", [("It is on.", [12]), ("Off.", [])]),
        ("It is on¹, off².", [("It is on, off.", [1, 2])]),
        ("It is on.[^1]\n\n[^1]: Manual.", [("It is on.", [1])]),
        ("It is on.[^note]", [("It is on.", ["note"])]),
        ("It is on [guide-1].", [("It is on.", ["guide-1"])]),
        ("It is on [GUIDE-1].", [("It is on.", ["guide-1"])]),
        ("It is on [a/b, guide-1].", [("It is on.", ["a/b", "guide-1"])]),
        ("It is on [Doc A].", [("It is on.", ["Doc A"])]),
        ("It is on [doc:zz-9].", [("It is on.", ["zz-9"])]),
        ("It is on [Source 2, 3].", [("It is on.", [2, 3])]),
        ("It is on [Source 1, Source 2].", [("It is on.", [1, 2])]),
        ("It is on 【1†source】.", [("It is on.", [1])]),
        ("It is on [99].", [("It is on.", [99])]),
    ],
)
def test_markers_are_read(answer: str, want: list[tuple[str, list[int | str]]]) -> None:
    assert cited(answer) == want


@pytest.mark.parametrize(
    "answer",
    [
        "Read `x[1]` and arr[0] or grid[1][2]x.", "A [1](http://a.b) link.", "```\nx [1]\n```", "It returns error (5).", "Call f(1) now.",
        "It is 5 m² and x² big.", "It has [square] brackets [TODO].", "There are items (3) in it.", "Use 10¹² bytes.", "In step (2).",
        "Pick [source] or [document].", "Born (1987).",
    ],
)  # fmt: skip
def test_what_is_no_citation_is_left_alone(answer: str) -> None:
    found = parse_citations(answer, KNOWN)
    assert [s.citations for s in found] == [()] * len(found)
    assert strip_citations(answer, KNOWN) == answer


def test_a_lone_marker_is_no_sentence() -> None:
    assert cited("It is on.\n\n[1]") == [("It is on.", [1])]
    assert cited("[1]") == []


def test_offsets_and_markers_are_those_of_the_answer() -> None:
    answer = "It is on [1, 2]. Off [a/b]."
    for sentence in parse_citations(answer, KNOWN):
        for citation in sentence.citations:
            assert answer[citation.start : citation.end] == citation.marker


def test_strip_leaves_everything_else() -> None:
    assert strip_citations("Use port 80 [1], not 8080.[2]\n\n- x [3]\n") == "Use port 80, not 8080.\n\n- x\n"


def test_resolve_counts_places_from_one_and_knows_ids_and_documents() -> None:
    context = RetrievedContext(
        chunks=(RetrievedChunk(id="c7", document="guide", rank=1), RetrievedChunk(id="c9", document="Guide", rank=2))
    )

    def of(target: int | str) -> str | None:
        return resolve(Citation("", target, 0, 0), context)

    assert [of(1), of(2), of(3), of(0)] == ["c7", "c9", None, None]
    assert [of("c9"), of("C9"), of("guide"), of("Guide"), of("GUIDE"), of("other")] == [
        "c9",
        "c9",
        "c7",
        "c9",
        "c7",
        None,
    ]


@pytest.mark.parametrize(
    "text", ["[1" * 400000, "(1) " * 100000, "[a, " * 250000, "¹" * 10**6, "[doc:" * 200000], ids=lambda t: t[:5]
)
def test_a_megabyte_is_read_in_seconds(text: str) -> None:
    start = time.process_time()
    parse_citations(text, KNOWN)
    assert time.process_time() - start < 20
