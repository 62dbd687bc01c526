"""Passages of a text that are marked: which claim, which quote, which citation, by their exact places."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal

#: What a passage is marked as. Never a word from data: it becomes a class name.
Kind = Literal["", "yes", "no", "unsure", "seen", "gold"]

_KINDS: dict[str, Kind] = {
    "supported": "yes", "useful": "yes", "correct": "yes", "sufficient": "yes", "needed": "yes",
    "contradicted": "no", "wrong": "no", "not_mentioned": "unsure", "partial": "unsure",
}  # fmt: skip


def kind_of(label: str) -> Kind:
    """How a verdict's label is shown; labels that nobody here knows are only listed.

    >>> kind_of("contradicted"), kind_of("<b>")
    ('no', '')
    """
    return _KINDS.get(label, "")


@dataclass(frozen=True)
class Mark:
    """Characters `start` to `end` are marked; `note` is written behind them. `target`: the rank of a chunk cited.

    `claim`: which verdict it belongs to, as the page names it.
    """

    start: int
    end: int
    kind: Kind = ""
    note: str = ""
    target: int | None = None
    claim: str = ""


@dataclass(frozen=True)
class Segment:
    """A stretch of text that is marked in one way. `claims`: the verdicts whose mark covers it."""

    text: str
    kind: Kind = ""
    note: str = ""
    target: int | None = None
    claims: tuple[str, ...] = ()


@dataclass(frozen=True)
class Passage:
    """A text in segments, perhaps shortened: `n_shown` of `n_characters`, the first shown one at `start`."""

    segments: tuple[Segment, ...]
    n_characters: int
    n_shown: int
    start: int = 0

    @property
    def cut(self) -> bool:
        """Whether something was left out."""
        return self.n_shown < self.n_characters


def find(text: str, quotes: Iterable[tuple[str | None, Kind, str]]) -> list[Mark]:
    """A mark for each (quote, kind, note) that stands in `text` word for word, at its first place.

    >>> find("a b c", [("b", "yes", "1"), ("x", "no", "2")])
    [Mark(start=2, end=3, kind='yes', note='1', target=None)]
    """
    marks = []
    for quote, kind, note in quotes:
        place = text.find(quote) if quote else -1
        if quote and place >= 0:
            marks.append(Mark(place, place + len(quote), kind, note))
    return marks


def find_words(text: str, quotes: Iterable[tuple[str, Kind, str]], skip: Sequence[tuple[int, int]] = ()) -> list[Mark]:
    """Like `find`, but white space does not count and the stretches in `skip` (citation markers) are read over.

    >>> find_words("It is [1] red.", [("It is red.", "yes", "1")], [(6, 9)])
    [Mark(start=0, end=14, kind='yes', note='1', target=None)]
    """
    hidden = {place for start, end in skip for place in range(start, end)}
    places = [place for place, letter in enumerate(text) if not letter.isspace() and place not in hidden]
    packed = "".join(text[place] for place in places)
    marks = []
    for quote, kind, note in quotes:
        wanted = "".join(quote.split())
        at = packed.find(wanted) if wanted else -1
        if at >= 0:
            marks.append(Mark(places[at], places[at + len(wanted) - 1] + 1, kind, note))
    return marks


def passage(text: str, marks: Sequence[Mark] = (), limit: int | None = None) -> Passage:
    """`text` cut into segments. Where marks overlap, the first one colours; every one's note stands at its end.

    A text longer than `limit` is shown from its start, or from a little before its first mark when that would
    otherwise be left out.

    >>> [(s.text, s.kind) for s in passage("abcd", [Mark(1, 3, "yes")]).segments]
    [('a', ''), ('bc', 'yes'), ('d', '')]
    """
    low, high = _window(len(text), marks, limit)
    inside = [mark for mark in marks if mark.start < high and mark.end > low]
    edges = {low, high}
    edges.update(min(max(edge, low), high) for mark in inside for edge in (mark.start, mark.end))
    ordered = sorted(edges)
    segments = [_segment(text, start, end, inside) for start, end in pairwise(ordered) if end > start]
    return Passage(tuple(segments), len(text), high - low, low)


def _window(size: int, marks: Sequence[Mark], limit: int | None) -> tuple[int, int]:
    if limit is None or size <= limit:
        return 0, size
    first = min(marks, key=lambda mark: mark.start, default=None)
    low = 0 if first is None or first.end <= limit else min(max(0, first.start - limit // 4), size - limit)
    return low, low + limit


def _segment(text: str, start: int, end: int, marks: Sequence[Mark]) -> Segment:
    over = [mark for mark in marks if mark.start <= start and mark.end >= end]
    kind: Kind = next((mark.kind for mark in over if mark.kind), "")
    target = next((mark.target for mark in over if mark.target is not None), None)
    notes = [mark.note for mark in over if mark.note and mark.end == end]
    claims = tuple(dict.fromkeys(mark.claim for mark in over if mark.claim))
    return Segment(text[start:end], kind, " ".join(dict.fromkeys(notes)), target, claims)
