from __future__ import annotations

import time

import pytest

from ragauge.core.inspection import Inspection, RankedList
from ragauge.core.sample import Chunk
from ragauge.diagnose.artefacts import artefacts
from ragauge.diagnose.inspection import report
from ragauge.diagnose.passages import copies_within, covered, holds, says_nothing, similarity

LONG = "The agent keeps messages in a buffer on disk until the broker has taken them, in the order of their arrival, "
WHOLE = LONG + "and removes them afterwards, one by one, so that nothing is lost when the power fails."


@pytest.mark.parametrize(
    ("name", "text", "metadata"),
    [
        ("cut_start", "and then " + WHOLE, {"title": "x"}),
        ("cut_end", WHOLE + " It is then that the", {"title": "x"}),
        ("orphan_table", "| 5 | some messages |\n| 6 | no messages |", {"title": "x"}),
        ("no_heading", WHOLE, {}),
        ("lost_heading", WHOLE + "\n\n## Limits", {"title": "x"}),
        ("too_short", "See below.", {"title": "x"}),
        ("too_long", WHOLE * 25, {"title": "x"}),
        ("no_content", "menu home search " * 30, {"title": "x"}),
    ],
)
def test_each_flaw_is_named(name: str, text: str, metadata: dict[str, str]) -> None:
    assert name in [one.name for one in artefacts(text, metadata)]


def test_a_good_chunk_has_no_flaw_and_a_truncated_one_has() -> None:
    assert artefacts("# Buffer\n\n" + WHOLE) == []
    assert [one.name for one in artefacts("# Buffer\n\n" + WHOLE, truncated=True)] == ["over_token_limit"]
    table = "| Code | Meaning |\n|---|---|\n| 5 | some messages of a publish were accepted and some were not at all |"
    assert "orphan_table" not in [one.name for one in artefacts(table)]


def test_hostile_and_huge_texts_are_read_quickly() -> None:
    for text in ("", "\x00", "|" * 1_000_000, "a" * 1_000_000, "# " * 500_000, "\ud800 \u202e" * 1000):
        started = time.perf_counter()
        artefacts(text)
        covered("one two three four", [text])
        says_nothing(text)
        similarity(text, "one two three four")
        assert time.perf_counter() - started < 20


def test_a_quote_in_two_halves_is_covered_and_a_half_is_half() -> None:
    quote = "the port is 8125 unless the setting says otherwise"
    assert covered(quote, ["so the port is 8125 unless", "the setting says otherwise."]) == 1.0
    assert covered(quote, ["so the port is 8125 unless"]) == pytest.approx(5 / 9)
    assert covered(quote, ["lunch at noon"]) == 0.0
    assert holds("The PORT  is 8125", "… the port is\n8125.")


def test_copies_are_found_whatever_is_between_them() -> None:
    assert copies_within([WHOLE, "Lunch is at noon.", WHOLE + " Now."]) == [2]


def lists(**orders: str) -> tuple[RankedList, ...]:
    return tuple(
        RankedList(name=name, ids=tuple(order), scores=tuple(1 / n for n in range(1, len(order) + 1)))
        for name, order in orders.items()
    )


def an_inspection(**orders: str) -> Inspection:
    return Inspection(
        question="q?", k=2, gold=(Chunk(id="g", document="d", text=WHOLE),), groups=(("g",),), lists=lists(**orders)
    )


def test_what_would_bring_the_gold_chunk_in_is_computed_from_the_lists() -> None:
    (part,) = report(an_inspection(retrieved="ab", dense="abcg", bm25="ga", fused="agb")).parts
    assert part.retrieved_at is None
    assert {remedy.what: (remedy.works, remedy.rank) for remedy in part.remedies} == {
        "dense search alone at k = 2": (False, 4),
        "BM25 alone at k = 2": (True, 1),
        "hybrid search at k = 2": (True, 2),
    }
    assert "BM25 alone at k = 2 would bring it to rank 1" in part.verdict


def test_where_no_list_helps_the_needed_k_is_said() -> None:
    (part,) = report(an_inspection(retrieved="ab", dense="abcg")).parts
    assert part.remedies[-1].what == "k = 4 in the best of these lists"
    assert "a k of 4" in part.verdict


def test_what_was_retrieved_needs_nothing_and_what_is_nowhere_is_said_to_be() -> None:
    assert report(an_inspection(retrieved="ga")).parts[0].verdict == "retrieved at rank 1"
    (part,) = report(an_inspection(retrieved="ab", dense="ab")).parts
    assert "in no list" in part.verdict


def test_the_re_ranker_is_followed_before_and_after() -> None:
    found = report(an_inspection(retrieved="ab", fused="abcg", rerank="gab"))
    assert found.rerank == "g: 4 → 1"
    assert report(an_inspection(retrieved="ab")).rerank == "not done"
