"""Where a quote stands among chunks of text."""

from __future__ import annotations

import unicodedata
from bisect import bisect_right
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from difflib import SequenceMatcher
from typing import Literal

from ragauge.core.sample import Chunk

Scope = Literal["document", "corpus", "retrieved"]

#: A piece of a quote shorter than this many characters proves nothing when it stands alone.
MIN_PIECE = 12
#: A quote that runs over the edges of chunks counts as found when its pieces there make up this share of it.
MIN_COVERED = 0.8
_SEED = 16
_MAX_TRIES = 1000
_MAX_WORD_PAIRS = 2_000_000


@dataclass(frozen=True)
class Found:
    """The chunks that hold a piece of evidence; `problem` says why there are none, `note` how it was matched."""

    chunks: tuple[str, ...]
    problem: str = ""
    note: str = ""


@dataclass
class Texts:
    """Texts made comparable, each once. Loose: without regard to case, punctuation and width."""

    exact: dict[str, str] = field(default_factory=dict)
    loose: dict[str, str] = field(default_factory=dict)
    all: dict[bool, Joined] = field(default_factory=dict)

    def of(self, chunk: Chunk, loosely: bool) -> str:
        """The chunk's text."""
        known = self.loose if loosely else self.exact
        if chunk.id not in known:
            known[chunk.id] = folded(chunk.text) if loosely else collapsed(chunk.text)
        return known[chunk.id]

    def joined(self, documents: Mapping[str, Sequence[Chunk]], loosely: bool) -> Joined:
        """All of them, put together once."""
        if loosely not in self.all:
            parts = ((name, self.of(chunk, loosely)) for name, group in documents.items() for chunk in group)
            self.all[loosely] = Joined(parts)
        return self.all[loosely]


class Joined:
    """The texts of all documents as one string, so that looking through them is one search."""

    def __init__(self, parts: Iterable[tuple[str, str]]) -> None:
        self.names: list[str] = []
        self.starts: list[int] = []
        texts, place = [], 0
        for name, text in parts:
            self.names.append(name)
            self.starts.append(place)
            texts.append(text)
            place += len(text) + 1
        self.text = "\x00".join(texts)

    def holding(self, piece: str) -> set[str]:
        """The documents in which a chunk holds `piece`."""
        found: set[str] = set()
        place = self.text.find(piece)
        while place >= 0:
            index = bisect_right(self.starts, place) - 1
            found.add(self.names[index])
            following = self.starts[index + 1] if index + 1 < len(self.starts) else len(self.text)
            place = self.text.find(piece, following)
        return found


def collapsed(text: str) -> str:
    """White space runs as one space, none at the ends."""
    return " ".join(text.split())


def folded(text: str) -> str:
    """NFKC, casefolded; punctuation and symbols become spaces; white space collapsed.

    >>> folded("The “Max-Size” is **4 GB**.")
    'the max size is 4 gb'
    """
    plain = unicodedata.normalize("NFKC", text).casefold()
    return " ".join("".join(c if c.isalnum() or unicodedata.category(c)[0] == "M" else " " for c in plain).split())


def find_quote(quote: str, chunks: Sequence[Chunk], texts: Texts, scope: Scope = "document") -> Found:
    """The chunks that a quote makes relevant (overlap rule of `ragauge.dataset.evidence`).

    `scope` says what the chunks are: all of one document, a whole corpus, or only what was retrieved. Of what was
    retrieved, a chunk counts on its own: the rest of the quote may stand in chunks that were not retrieved.

    >>> parts = [Chunk(id="a", text="The  limit is\\n4 GB."), Chunk(id="b", text="Other.")]
    >>> find_quote("limit is 4 GB", parts, Texts()).chunks
    ('a',)
    """
    return _found(quote, len(chunks), lambda wanted, loosely: _names(wanted, chunks, texts, loosely, scope))


def find_anywhere(quote: str, documents: Mapping[str, Sequence[Chunk]], texts: Texts) -> Found:
    """As `find_quote` in a whole corpus. Looked at are the documents that hold the quote, or a few letters of it."""

    def names(wanted: str, loosely: bool) -> tuple[str, ...]:
        joined = texts.joined(documents, loosely)
        held = joined.holding(wanted)
        if not held:
            last = max(0, len(wanted) - _SEED)
            held = set().union(*(joined.holding(wanted[last * n // 8 :][:_SEED]) for n in range(9)))
        chunks = [chunk for name in documents if name in held for chunk in documents[name]]
        return _names(wanted, chunks, texts, loosely, "corpus")

    return _found(quote, sum(map(len, documents.values())), names)


def _found(quote: str, n_chunks: int, names: Callable[[str, bool], tuple[str, ...]]) -> Found:
    """Exactly, else loosely (and noted), else a problem."""
    for loosely in (False, True):
        wanted = folded(quote) if loosely else collapsed(quote)
        found = names(wanted, loosely) if wanted else ()
        if found:
            note = "the quote was matched without regard to case and punctuation" if loosely else ""
            return Found(found, note=note)
    return Found((), problem=f"the quote {_start(quote)!r} stands in none of {n_chunks} chunks")


def _names(wanted: str, chunks: Sequence[Chunk], texts: Texts, loosely: bool, scope: Scope) -> tuple[str, ...]:
    sought = _Sought(wanted, [(chunk.id, texts.of(chunk, loosely)) for chunk in chunks])
    names = sought.containing()
    if names:
        return names
    if scope == "retrieved":
        return sought.partly()
    return sought.straddling() or (sought.scattered() if loosely and scope == "document" else ())


_Piece = tuple[str, tuple[int, int], int]  # chunk id, (start, end) in the quote, length of the chunk


@dataclass
class _Sought:
    quote: str
    texts: list[tuple[str, str]]

    def containing(self) -> tuple[str, ...]:
        """Chunks relevant to a quote that at least one chunk holds as a whole."""
        if not any(self.quote in text for _, text in self.texts):
            return ()
        return self._relevant(self._pieces(shortest=MIN_PIECE))

    def partly(self) -> tuple[str, ...]:
        """Chunks that hold enough of the quote to be relevant, whatever the others hold."""
        return self._relevant(self._pieces(shortest=MIN_PIECE))

    def straddling(self) -> tuple[str, ...]:
        """Chunks that hold pieces of the quote, if the pieces together are `MIN_COVERED` of it."""
        pieces = self._pieces()
        if _covered([place for _, place, _ in pieces], len(self.quote))[0] < MIN_COVERED * len(self.quote):
            return ()
        return self._relevant(pieces) or self._largest(pieces)

    def scattered(self) -> tuple[str, ...]:
        """As `straddling`, but a piece may stand anywhere in its chunk (behind a heading); together they are all of it.

        Less would not do: the same sentence with another number in it shares long runs of words.
        """
        pieces = list(self._pieces())
        for name, text in self.texts:
            place = self._words(text)
            if place is not None:
                pieces.append((name, place, len(text)))
        if _covered([place for _, place, _ in pieces], len(self.quote))[1] > 1:
            return ()
        return self._relevant(pieces) or self._largest(pieces)

    def _pieces(self, shortest: int = 1) -> list[_Piece]:
        found = ((name, self._piece(text, shortest), len(text)) for name, text in self.texts)
        return [(name, place, size) for name, place, size in found if place is not None]

    def _relevant(self, pieces: list[_Piece]) -> tuple[str, ...]:
        kept = [name for name, (a, b), size in pieces if 2 * (b - a) >= len(self.quote) or 2 * (b - a) >= size]
        return tuple(dict.fromkeys(kept))

    def _largest(self, pieces: list[_Piece]) -> tuple[str, ...]:
        return (max(pieces, key=lambda piece: piece[1][1] - piece[1][0])[0],)

    def _piece(self, text: str, shortest: int) -> tuple[int, int] | None:
        """(start, end) in the quote of what a chunk holds: all of it, all of the chunk, or what runs over its edge.

        `shortest` is the least that may run over an edge.
        """
        quote = self.quote
        if quote in text:
            return 0, len(quote)
        if text and (place := quote.find(text)) >= 0:
            return place, place + len(text)
        head, tail = _edge(text, quote, shortest), _edge(quote, text, shortest)
        if not head and not tail:
            return None
        return (0, head) if head >= tail else (len(quote) - tail, len(quote))

    def _words(self, text: str) -> tuple[int, int] | None:
        """The longest run of the quote's words that the chunk has anywhere."""
        ours, theirs = self.quote.split(" "), text.split(" ")
        if len(ours) * len(theirs) > _MAX_WORD_PAIRS:
            return None
        match = SequenceMatcher(None, ours, theirs, autojunk=False).find_longest_match()
        if match.size == 0:
            return None
        start = len(" ".join(ours[: match.a])) + (1 if match.a else 0)
        end = start + len(" ".join(ours[match.a : match.a + match.size]))
        return (start, end) if end - start >= MIN_PIECE else None


def _edge(left: str, right: str, shortest: int) -> int:
    """Length of the longest end of `left` that is a beginning of `right`; 0 if it is shorter than `shortest`."""
    seed = right[:MIN_PIECE]
    if len(seed) == MIN_PIECE:
        place = left.find(seed, max(0, len(left) - len(right)))
        for _ in range(_MAX_TRIES):
            if place < 0:
                break
            if right.startswith(left[place:]):
                return len(left) - place
            place = left.find(seed, place + 1)
    most = min(MIN_PIECE - 1, len(left), len(right))
    return next((n for n in range(most, shortest - 1, -1) if left.endswith(right[:n])), 0)


def _covered(pieces: list[tuple[int, int]], length: int) -> tuple[int, int]:
    """(how many characters the pieces cover, the longest gap between them)."""
    total = reached = gap = 0
    for start, end in sorted(pieces):
        gap = max(gap, start - reached)
        total += max(0, end - max(start, reached))
        reached = max(reached, end)
    return total, max(gap, length - reached)


def _start(text: str) -> str:
    flat = collapsed(text)
    return flat if len(flat) <= 60 else flat[:59] + "…"
