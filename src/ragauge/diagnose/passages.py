"""Texts held against each other: how much of a quote a chunk holds, which chunks say the same, which say nothing."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import lru_cache

from ragauge.text.normalise import normalise
from ragauge.text.tokens import content_words, words

#: Words in a row that must match, so that common words alone cover nothing.
SHINGLE = 3
#: Chunks whose shingles agree this much say the same (Jaccard).
SAME = 0.8
#: A chunk with fewer content words than this says nothing.
FEW_WORDS = 8
#: Texts are looked at up to here: a chunk is a passage, whatever somebody put into the index.
MOST = 20_000


@lru_cache(maxsize=4096)
def tokens(text: str) -> tuple[str, ...]:
    """The words of a text, numbers and identifiers among them."""
    return tuple(words(text[:MOST]))


@lru_cache(maxsize=4096)
def shingles(text: str, size: int = SHINGLE) -> frozenset[tuple[str, ...]]:
    """Every `size` words in a row; the whole text when it is shorter."""
    found = tokens(text)
    if len(found) <= size:
        return frozenset([found]) if found else frozenset()
    return frozenset(found[i : i + size] for i in range(len(found) - size + 1))


def covered(quote: str, texts: Iterable[str], size: int = SHINGLE) -> float:
    """The share of the quote's words that stand in runs of `size` words in one of `texts` (0 to 1).

    A quote cut in two and retrieved in both halves is covered; a half is about 0.5. A blank quote is covered.

    >>> covered("the port is 8125 by default", ["Here the port is 8125", "by default"])
    0.6666666666666666
    """
    asked = tokens(quote)
    if not asked:
        return 1.0
    held = [tokens(text) for text in texts]
    plain = normalise(quote)
    size = min(size, len(asked))
    runs = {found[i : i + size] for found in held for i in range(len(found) - size + 1)}
    hit = [False] * len(asked)
    for start in range(len(asked) - size + 1):
        if asked[start : start + size] in runs:
            hit[start : start + size] = [True] * size
    return 1.0 if plain and len(asked) < size else sum(hit) / len(asked)


def holds(quote: str, text: str) -> bool:
    """Whether the quote stands in the text, whatever the case and the white space."""
    plain = normalise(quote)
    return bool(plain) and plain in normalise(text[:MOST])


def similarity(a: str, b: str) -> float:
    """Jaccard index of the shingles of two texts (0 to 1); 0 when one has no words.

    >>> similarity("one two three four", "one two three four")
    1.0
    """
    left, right = shingles(a), shingles(b)
    return len(left & right) / len(left | right) if left and right else 0.0


def copies_within(texts: Sequence[str]) -> list[int]:
    """The places (from 0) of texts that say the same as one before them."""
    found = []
    for place, text in enumerate(texts):
        if any(similarity(text, earlier) >= SAME for earlier in texts[:place]):
            found.append(place)
    return found


def says_nothing(text: str) -> bool:
    """Whether a chunk is junk by itself: almost no content words, or the same few over and over."""
    found = content_words(text[:MOST])
    if len(found) < FEW_WORDS:
        return True
    return len(found) >= 3 * FEW_WORDS and len(set(found)) / len(found) < 0.3
