"""Texts held against each other: how much of a quote a chunk holds, which chunks say the same, which say nothing."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import lru_cache

from ragauge.text.normalise import normalise
from ragauge.text.tokens import stem, stopwords, words

#: Words in a row that must match, so that common words alone cover nothing.
SHINGLE = 3
#: Chunks whose shingles agree this much say the same (Jaccard).
SAME = 0.8
#: A chunk with fewer content words than this says nothing.
FEW_WORDS = 8
#: An edge of a chunk cuts a quote off after this many of its words at the least: fewer stand there by chance.
EDGE = 3
#: Paragraphs of a chunk at whose start a quote can go on: headings may stand before it.
HEADINGS = 4
#: Answers that no passage says in so many words.
YES_NO = frozenset({"ye", "yes", "no", "true", "fals", "false"})
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
    size = min(size, len(asked))
    wanted = shingles(quote, size)
    runs = [found for text in texts if not wanted.isdisjoint(found := shingles(text, size))]
    if not runs:
        return 0.0
    hit = [False] * len(asked)
    for start in range(len(asked) - size + 1):
        run = asked[start : start + size]
        if any(run in found for found in runs):
            hit[start : start + size] = [True] * size
    return sum(hit) / len(asked)


def holds(quote: str, text: str) -> bool:
    """Whether the quote stands in the text, whatever the case and the white space."""
    plain = _plain(quote)
    return bool(plain) and plain in _plain(text[:MOST])


@lru_cache(maxsize=4096)
def _plain(text: str) -> str:
    return normalise(text)


def similarity(a: str, b: str) -> float:
    """Jaccard index of the shingles of two texts (0 to 1); 0 when one has no words.

    >>> similarity("one two three four", "one two three four")
    1.0
    """
    left, right = shingles(a), shingles(b)
    both = len(left & right)
    return both / (len(left) + len(right) - both) if left and right else 0.0


def copies_within(texts: Sequence[str]) -> list[int]:
    """The places (from 0) of texts that say the same as one before them."""
    found = []
    for place, text in enumerate(texts):
        size = len(shingles(text))
        # Texts of very different lengths cannot agree that much.
        likely = [other for other in texts[:place] if SAME * size <= (n := len(shingles(other))) and SAME * n <= size]
        if any(similarity(text, other) >= SAME for other in likely):
            found.append(place)
    return found


@lru_cache(maxsize=4096)
def says_nothing(text: str) -> bool:
    """Whether a chunk is junk by itself: almost no content words, or the same few over and over."""
    found = _content(text)
    if len(found) < FEW_WORDS:
        return True
    return len(found) >= 3 * FEW_WORDS and len(set(found)) / len(found) < 0.3


@lru_cache(maxsize=4096)
def stems(text: str) -> frozenset[str]:
    """The words of a text as stems, stop words left out."""
    return frozenset(stem(word) for word in _content(text))


def _content(text: str) -> list[str]:
    """`content_words` of what is cut into words already."""
    stop = stopwords()
    return [word for word in tokens(text) if word not in stop]


def told(statement: str, question: str, texts: Iterable[str]) -> float | None:
    """The share of what a statement says beyond the question that stands in `texts` (0 to 1): distinct stems, without
    stop words, the question's own words, yes and no. None when it says nothing beyond them.

    A reference and the passage that it was written from share most of these words, a reference and another passage
    hardly any: docs/explanation/diagnosis.md has the numbers.

    >>> told("UDP port 8125", "On which port does it listen?", ["It listens on 8125, over TCP."])
    0.5
    """
    beyond = stems(statement) - stems(question) - YES_NO
    if not beyond:
        return None
    held = frozenset().union(*(stems(text) for text in texts))
    return len(beyond & held) / len(beyond)


def cut_off(quote: str, text: str) -> float:
    """How much of a quote (0 to 1) stands at an edge of a text that cuts it off: its beginning at the text's end, or
    its end at the beginning of one of the text's first paragraphs. The word that the cut goes through may be torn.

    >>> cut_off("the agent listens on port 8125 by default", "As said: the agent listens on port 81")
    0.625
    """
    asked, found = tokens(quote), tokens(text)
    best = max(_joined(found, asked), _joined(found[:-1], asked))
    lines = text[:MOST].split("\n")
    for start in range(min(HEADINGS, len(lines))):
        found = tokens("\n".join(lines[start:]))
        best = max(best, _joined(asked, found), _joined(asked, found[1:]))
    return best / len(asked) if EDGE <= best < len(asked) else 0.0


def _joined(left: Sequence[str], right: Sequence[str]) -> int:
    """The most words that `left` ends and `right` begins with."""
    for size in range(min(len(left), len(right)), 0, -1):
        if left[-size] == right[0] and left[-size:] == right[:size]:
            return size
    return 0
