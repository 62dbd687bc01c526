from __future__ import annotations

import pytest

from ragauge.core.score import Scored, Unscored
from ragauge.errors import Reason
from ragauge.metrics.proxy.keyword_hits import KeywordHits
from ragauge.testing import a_sample, score_now


@pytest.mark.parametrize(
    ("answer", "keyword", "found"),
    [
        ("It listens on PORT 8125.", "port", True),
        ("We support it.", "port", False),
        ("Version 1.5 or 50.", "5", False),
        ("Exactly 5.", "5", True),
        ("5, then 6", "5", True),
        ("1,500 requests", "500", False),
        ("Use --max-size=10.", "--max-size", True),
        ("Use C++ here", "C++", True),
        ("Größe: STRASSE", "straße", True),
        ("Ｆｕｌｌ width", "full", True),
        ("two\n  words", "two words", True),
        ("zero\u200bwidth", "zerowidth", True),
        ("a.b", "a?b", False),
        ("cost is $5", "$5", True),
    ],
)
def test_finds_whole_words_and_numbers(answer: str, keyword: str, found: bool) -> None:
    scored = score_now(KeywordHits(), a_sample(answer=answer, keywords=[keyword]))
    assert isinstance(scored, Scored)
    assert scored.value == float(found)
    assert scored.details["missing"] == ([] if found else [keyword])


def test_is_the_share_of_distinct_keywords() -> None:
    scored = score_now(KeywordHits(), a_sample(answer="Port 8125.", keywords=["8125", "UDP", "udp", " "]))
    assert isinstance(scored, Scored)
    assert (scored.value, scored.count) == (0.5, 2)


def test_parts_of_words_count_when_wanted() -> None:
    scored = score_now(KeywordHits(whole_words=False), a_sample(answer="We support it.", keywords=["port"]))
    assert isinstance(scored, Scored)
    assert scored.value == 1.0


@pytest.mark.parametrize("keywords", [None, [], ["  "], ["\u200b"]])
def test_without_keywords_there_is_nothing_to_find(keywords: list[str] | None) -> None:
    unscored = score_now(KeywordHits(), a_sample(keywords=keywords))
    assert isinstance(unscored, Unscored)
    assert unscored.reason is Reason.NO_KEYWORDS


def test_a_megabyte_is_searched_in_no_time() -> None:
    import time

    started = time.perf_counter()
    score_now(KeywordHits(), a_sample(answer="a" * 1_000_000, keywords=["aaaa" * 20, "1" * 50]))
    assert time.perf_counter() - started < 20
