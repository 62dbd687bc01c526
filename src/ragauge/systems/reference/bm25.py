"""Lexical search: BM25 over stemmed content words, by bm25s."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np

from ragauge.errors import MissingExtra
from ragauge.text.tokens import stem, stopwords, words

Hit = tuple[int, float]


def terms(text: str, language: str = "en") -> list[str]:
    """The stems of the content words of `text`, in order, duplicates kept.

    >>> terms("Rotating the API keys")
    ['rotat', 'api', 'kei']
    """
    stop = stopwords(language)
    return [stem(word) for word in words(text) if word not in stop]


class Lexicon:
    """The terms of the texts of a corpus, numbered by first appearance, and in how many texts each stands."""

    def __init__(self, texts: Sequence[str], language: str = "en") -> None:
        self.language = language
        self.vocabulary: dict[str, int] = {}
        self.n_texts = len(texts)
        number = self.vocabulary.setdefault
        self.numbered = [[number(term, len(self.vocabulary)) for term in terms(text, language)] for text in texts]
        counts = Counter(one for text in self.numbered for one in set(text))
        self._frequency = [counts[index] for index in range(len(self.vocabulary))]

    def weight(self, term: str) -> float:
        """Inverse document frequency, ln(1 + (N - n + 0.5) / (n + 0.5)) (Robertson & Zaragoza, 2009), above 0.

        N texts, n of them with the term; a term that stands nowhere weighs most.
        """
        number = self.vocabulary.get(term)
        n = 0 if number is None else self._frequency[number]
        return math.log(1 + (self.n_texts - n + 0.5) / (n + 0.5))


class BM25Index:
    """BM25 (Lucene's variant, k1 = 1.5, b = 0.75; Robertson & Zaragoza, 2009) over texts in memory.

    Scores are 0 upwards without a ceiling; a text that shares no word with the query is not found.
    """

    def __init__(self, lexicon: Lexicon, keys: Sequence[str]) -> None:
        """`keys`, one for each text, settle ties: the smaller key comes first. `MissingExtra` without bm25s."""
        try:
            import bm25s
        except ImportError as error:
            raise MissingExtra("bm25s", "reference") from error
        self._lexicon = lexicon
        self._tie = np.empty(len(keys), np.int64)
        self._tie[sorted(range(len(keys)), key=keys.__getitem__)] = np.arange(len(keys))
        self._index: Any = None
        if lexicon.vocabulary:
            self._index = bm25s.BM25(method="lucene", k1=1.5, b=0.75)
            self._index.index((lexicon.numbered, dict(lexicon.vocabulary)), show_progress=False)

    def search(self, query: str, n: int) -> list[Hit]:
        """At most `n` (index, score), best first; scores above 0 only."""
        vocabulary = self._lexicon.vocabulary
        known = [vocabulary[term] for term in terms(query, self._lexicon.language) if term in vocabulary]
        if not known:
            return []
        scores = np.asarray(self._index.get_scores(known), np.float64)[: len(self._tie)]
        return best(scores, self._tie, n, above=0.0)


def best(scores: Any, tie: Any, n: int, *, above: float = float("-inf")) -> list[Hit]:
    """The `n` greatest of `scores` (rounded to 6 decimals) as (index, score), ties by `tie` ascending.

    >>> best(np.array([0.5, 0.9, 0.5]), np.array([2, 1, 0]), 2)
    [(1, 0.9), (2, 0.5)]
    """
    rounded = np.round(scores, 6)
    candidates = np.flatnonzero(rounded > above)
    if len(candidates) > n:
        edge = np.partition(rounded[candidates], len(candidates) - n)[len(candidates) - n]
        candidates = candidates[rounded[candidates] >= edge]
    order = candidates[np.lexsort((tie[candidates], -rounded[candidates]))][:n]
    return [(int(index), float(rounded[index])) for index in order]
