"""Reading a text once: what several metrics find out about one answer, remembered while its sample is scored.

Pure functions of the text, so remembering changes nothing but the time. Only the last few texts are kept, and long
ones not at all, so that memory stays flat over any number of samples.
"""

from __future__ import annotations

from functools import lru_cache

from ragauge.core.sample import is_blank
from ragauge.text.citations import CitedSentence, parse_citations, strip_citations
from ragauge.text.normalise import clean
from ragauge.text.numbers import Quantity, quantities
from ragauge.text.refusals import Refusal, find_refusal
from ragauge.text.sentences import split_sentences

#: Texts longer than this (characters) are read anew each time.
LONGEST = 20_000


def refusal(text: str, phrases: tuple[str, ...] = ()) -> Refusal | None:
    """`find_refusal`."""
    return _refusal(text, phrases) if len(text) <= LONGEST else find_refusal(text, phrases)


def plain(answer: str, known_ids: tuple[str, ...]) -> str:
    """The answer without citation markers, storable; empty where no words are left."""
    return _plain(answer, known_ids) if len(answer) <= LONGEST else _make_plain(answer, known_ids)


def cited_sentences(answer: str, known_ids: tuple[str, ...]) -> tuple[CitedSentence, ...]:
    """`parse_citations` of the storable answer."""
    if len(answer) <= LONGEST:
        return _cited_sentences(answer, known_ids)
    return tuple(parse_citations(clean(answer), known_ids))


def numbers(text: str) -> tuple[Quantity, ...]:
    """`quantities`."""
    return _numbers(text) if len(text) <= LONGEST else tuple(quantities(text))


@lru_cache(maxsize=128)
def _refusal(text: str, phrases: tuple[str, ...]) -> Refusal | None:
    return find_refusal(text, phrases)


def _make_plain(answer: str, known_ids: tuple[str, ...]) -> str:
    text = clean(strip_citations(answer, known_ids))
    return "" if is_blank(text) or not split_sentences(text) else text


_plain = lru_cache(maxsize=128)(_make_plain)


@lru_cache(maxsize=128)
def _cited_sentences(answer: str, known_ids: tuple[str, ...]) -> tuple[CitedSentence, ...]:
    return tuple(parse_citations(clean(answer), known_ids))


@lru_cache(maxsize=512)
def _numbers(text: str) -> tuple[Quantity, ...]:
    return tuple(quantities(text))
