"""Passages by the words they share with a text (BM25), in plain Python: for helpers, not for measuring."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Sequence

from ragauge.core.sample import Chunk
from ragauge.text.tokens import content_words, stem

_K1, _B = 1.2, 0.75


class Lexical:
    """An index of chunks. Robertson and Spärck Jones's BM25 over content-word stems (k1 1.2, b 0.75).

    >>> found = Lexical([Chunk(id="a", text="the port is 8125"), Chunk(id="b", text="a queue")]).search("which port")
    >>> [chunk.id for chunk, _ in found]
    ['a']
    """

    def __init__(self, chunks: Sequence[Chunk]) -> None:
        self.chunks = list(chunks)
        self.counts = [Counter(stems(chunk.text)) for chunk in self.chunks]
        self.lengths = [sum(count.values()) for count in self.counts]
        self.mean = (sum(self.lengths) / len(self.lengths) if self.lengths else 0.0) or 1.0
        self.holding: dict[str, list[int]] = defaultdict(list)
        for place, count in enumerate(self.counts):
            for word in count:
                self.holding[word].append(place)

    def weight(self, word: str) -> float:
        """Inverse document frequency of a stem: `ln(1 + (N − n + ½)/(n + ½))`."""
        n = len(self.holding.get(word, ()))
        return math.log(1.0 + (len(self.chunks) - n + 0.5) / (n + 0.5))

    def search(self, text: str, k: int = 5) -> list[tuple[Chunk, float]]:
        """The `k` best chunks for a text with their scores, best first; none that shares no word with it."""
        scores: dict[int, float] = defaultdict(float)
        for word in dict.fromkeys(stems(text)):
            idf = self.weight(word)
            for place in self.holding.get(word, ()):
                tf = self.counts[place][word]
                scores[place] += idf * tf * (_K1 + 1.0) / (tf + _K1 * (1.0 - _B + _B * self.lengths[place] / self.mean))
        best = sorted(scores.items(), key=lambda entry: (-entry[1], entry[0]))[:k]
        return [(self.chunks[place], score) for place, score in best]


def stems(text: str) -> list[str]:
    """The stems of the words that carry meaning, in order."""
    return [stem(word) for word in content_words(text)]
