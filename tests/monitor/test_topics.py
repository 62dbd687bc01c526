"""Topics, their coverage by the golden set, and questions that are unlike it."""

from __future__ import annotations

import pytest

from ragauge.embeddings.loading import load
from ragauge.monitor.topics import (
    OTHER,
    GoldenVectors,
    QuestionDay,
    Topics,
    counted,
    look_at_day,
    make_topics,
    new_clusters,
    topic_rows,
)

_TESTED = [f"How do I {verb} my {thing}?" for verb in ("reset", "change", "recover", "renew", "choose")
           for thing in ("password", "login password", "account password", "passphrase", "PIN code")]  # fmt: skip
_NEVER = [f"Where is my {thing} {what}?" for thing in ("parcel", "shipment", "delivery", "order")
          for what in ("now", "right now", "today", "at the moment")]  # fmt: skip


@pytest.fixture(scope="module")
def made() -> tuple[Topics, GoldenVectors]:
    encode = load().encode
    return make_topics([*_TESTED, *_NEVER], _TESTED, encode, "embedded"), GoldenVectors(_TESTED, encode)


def test_a_topic_that_is_never_tested_is_a_gap(made: tuple[Topics, GoldenVectors]) -> None:
    topics, golden = made
    asked = [(f"q{i}", text) for i, text in enumerate([*_NEVER, *_TESTED])]
    day = look_at_day("2026-01-31", asked, topics, golden, load().encode)
    rows = topic_rows(topics, [day], [])
    assert sum(row.n for row in rows) == len(asked)
    gaps = [row for row in rows if row.gap]
    assert gaps
    assert all(row.n_golden == 0 or row.golden_share is not None for row in gaps)
    assert any("passw" in row.name or "password" in row.example for row in rows if not row.gap)
    assert all(row.low <= row.share <= row.high for row in rows)


def test_far_questions_are_found_and_grouped(made: tuple[Topics, GoldenVectors]) -> None:
    topics, golden = made
    encode = load().encode
    same = look_at_day("2026-01-30", [(f"g{i}", t) for i, t in enumerate(_TESTED)], topics, golden, encode)
    assert same.n_compared == len(_TESTED)
    assert same.n_far <= 2
    asked = [(f"q{i}", text) for i, text in enumerate(_NEVER)]
    far = look_at_day("2026-01-31", asked, topics, golden, encode)
    assert far.n_far == len(_NEVER)
    assert set(far.far) <= {name for name, _ in asked}
    groups = new_clusters([one for one in asked if one[0] in far.far], encode)
    assert groups
    assert groups[0].n >= 4
    assert groups[0].examples[0] in _NEVER


def test_a_small_golden_set_says_nothing_of_what_is_far() -> None:
    encode = load().encode
    golden = GoldenVectors(_TESTED[:5], encode)
    topics = make_topics([*_TESTED, *_NEVER], _TESTED[:5], encode, "embedded")
    day = look_at_day("2026-01-31", [("q", _NEVER[0])], topics, golden, encode)
    assert (day.n_compared, day.n_far, day.far) == (0, 0, ())
    none = GoldenVectors([], encode)
    assert look_at_day("2026-01-31", [("q", _NEVER[0])], topics, none, encode).n_compared == 0
    assert look_at_day("2026-01-31", [], topics, none, encode).topics == {}


def test_days_counted_by_other_topics_are_left_out(made: tuple[Topics, GoldenVectors]) -> None:
    topics, _ = made
    other = QuestionDay(day="2026-01-01", n=5, topics_id="another", topics={OTHER: 5})
    assert topic_rows(topics, [other], []) == ()
    more = counted(topics, _TESTED + _NEVER, load().encode(_TESTED + _NEVER))
    assert more.id == topics.id
    assert more.n_golden == len(_TESTED) + len(_NEVER)
