from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest

from ragauge.text import numbers, tokens
from ragauge.text.remembered import LONGEST, Remembered


def test_a_value_is_computed_once() -> None:
    asked: list[str] = []

    def double(word: str) -> str:
        asked.append(word)
        return word * 2

    remembered = Remembered(double, most=10)
    assert [remembered["a"], remembered["b"], remembered["a"]] == ["aa", "bb", "aa"]
    assert asked == ["a", "b"]


def test_it_never_holds_more_than_it_may() -> None:
    remembered = Remembered(str.upper, most=7)
    sizes = []
    for number in range(100):
        assert remembered[f"w{number}"] == f"W{number}"
        sizes.append(len(remembered))
    assert max(sizes) == 7


def test_long_strings_are_answered_but_not_kept() -> None:
    remembered = Remembered(len, most=7)
    assert remembered["x" * LONGEST] == LONGEST
    assert remembered["x" * (LONGEST + 1)] == LONGEST + 1
    assert list(remembered) == ["x" * LONGEST]


def test_a_failure_is_not_kept() -> None:
    remembered = Remembered(int, most=7)
    with pytest.raises(ValueError, match="invalid literal"):
        remembered["five"]
    assert not remembered


def test_threads_may_share_one() -> None:
    remembered = Remembered(str.upper, most=50)
    asked = [f"w{number % 400}" for number in range(20_000)]
    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(remembered.__getitem__, asked)) == [word.upper() for word in asked]
    assert len(remembered) <= 50 + 8  # each thread may have looked before another added


def test_what_is_remembered_of_texts_stays_small_and_changes_nothing() -> None:
    kept = (tokens._WORDS, tokens._CONTENT_STEMS, tokens._STEMS, numbers._OPENINGS)
    said = "Keeps 1,024 files (2 GB) for thirty days, it's read-only."
    before = tokens.words(said), tokens.stems(tokens.words(said)), numbers.quantities(said)
    for number in range(40_000):
        assert tokens.stems(tokens.words(f"word{number}, running")) == [f"word{number}", "run"]
        numbers.quantities(f"part{number}")
    assert all(len(one) <= one._most for one in kept)
    assert (tokens.words(said), tokens.stems(tokens.words(said)), numbers.quantities(said)) == before
    assert " ".join(before[0]) == "keeps 1024 files 2 gb for thirty days it read only"
