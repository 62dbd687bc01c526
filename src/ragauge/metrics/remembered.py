"""Reading a text once: what several metrics find out about one answer, remembered while its sample is scored.

Pure functions of the text, so remembering changes nothing but the time. Only the last few texts are kept, and of long
ones only the last two, so that memory stays flat over any number of samples.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any, TypeVar, cast

from ragauge.core.sample import is_blank
from ragauge.text.citations import CitedSentence, parse_citations, strip_citations
from ragauge.text.normalise import clean
from ragauge.text.numbers import Quantity, quantities
from ragauge.text.refusals import Refusal, find_refusal
from ragauge.text.sentences import split_sentences

F = TypeVar("F", bound=Callable[..., Any])

#: A text is long from this many characters.
LONG = 20_000


def _remembered(n: int) -> Callable[[F], F]:
    """Remember the results for the last `n` texts (first argument), for the last two if they are long."""

    def wrap(read: F) -> F:
        few, many = lru_cache(maxsize=2)(read), lru_cache(maxsize=n)(read)

        def look_up(text: str, *more: Any) -> Any:
            return (many if len(text) < LONG else few)(text, *more)

        look_up.__doc__ = read.__doc__
        return cast(F, look_up)

    return wrap


@_remembered(128)
def refusal(text: str, phrases: tuple[str, ...] = ()) -> Refusal | None:
    """`find_refusal`."""
    return find_refusal(text, phrases)


@_remembered(128)
def plain(answer: str, known_ids: tuple[str, ...]) -> str:
    """The answer without citation markers, storable; empty where no words are left."""
    text = clean(strip_citations(answer, known_ids))
    return "" if is_blank(text) or not split_sentences(text) else text


@_remembered(128)
def cited_sentences(answer: str, known_ids: tuple[str, ...]) -> tuple[CitedSentence, ...]:
    """`parse_citations` of the storable answer."""
    return tuple(parse_citations(clean(answer), known_ids))


@_remembered(512)
def numbers(text: str) -> tuple[Quantity, ...]:
    """`quantities`."""
    return tuple(quantities(text))
