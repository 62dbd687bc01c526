"""Questions that are asked twice: word for word, nearly, or in other words."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from ragauge.text.normalise import normalise
from ragauge.text.numbers import quantities
from ragauge.text.tokens import content_words, stem, words

#: Share of content words in common (Jaccard) from which two questions are nearly the same.
NEAR = 0.8
#: Cosine of the packaged embedder from which two questions say the same in other words.
SAME_MEANING = 0.95

Encode = Callable[[Sequence[str]], Any]


def bare(question: str) -> str:
    """A question without what changes nothing: case, punctuation, width, spaces.

    >>> bare("What is  the Port?") == bare("what is the port")
    True
    """
    return " ".join(words(question)) or normalise(question)


def duplicates(questions: Sequence[str], encode: Encode | None = None) -> Iterator[tuple[int, int, str]]:
    """(index, earlier index, "exact", "near" or "meaning") of every question that repeats an earlier one.

    Each question is reported once, with the earliest that it repeats. Questions that differ in a number, a version or
    an identifier are different ones. `encode` gives unit vectors; without it, meaning is not looked at.
    """
    first: dict[str, int] = {}
    repeated: set[int] = set()
    for index, question in enumerate(questions):
        plain = bare(question)
        if plain in first:
            repeated.add(index)
            yield index, first[plain], "exact"
        first.setdefault(plain, index)
    for index, earlier in _near(questions, repeated):
        repeated.add(index)
        yield index, earlier, "near"
    if encode is None or len(questions) < 2:
        return
    import numpy as np

    vectors = np.asarray(encode(questions), np.float32)
    marks = [_marks(question) for question in questions]
    for index in range(1, len(questions)):
        if index in repeated:
            continue
        cosines = vectors[:index] @ vectors[index]
        alike = (int(place) for place in np.flatnonzero(cosines >= SAME_MEANING))
        same = next((place for place in alike if marks[index] == marks[place]), None)
        if same is not None:
            yield index, same, "meaning"


def _near(questions: Sequence[str], skip: set[int]) -> Iterator[tuple[int, int]]:
    """Pairs by Jaccard of content-word stems, found through their rarest words (prefix filtering)."""
    sets = [frozenset(stem(word) for word in content_words(question)) for question in questions]
    marks = [_marks(question) for question in questions]
    frequency = Counter(word for words_ in sets for word in words_)
    index: dict[str, list[int]] = defaultdict(list)
    for place, found in enumerate(sets):
        if len(found) < 3:
            continue
        ordered = sorted(found, key=lambda word: (frequency[word], word))
        prefix = ordered[: len(ordered) - math.ceil(NEAR * len(ordered)) + 1]
        earlier = sorted({other for word in prefix for other in index[word]})
        if place not in skip:
            for other in earlier:
                if marks[place] == marks[other] and len(found & sets[other]) >= NEAR * len(found | sets[other]):
                    yield place, other
                    break
        for word in prefix:
            index[word].append(place)


def _marks(question: str) -> frozenset[str]:
    """What makes two questions different whatever else they share: numbers, versions, identifiers, negation."""
    marks = {f"{q.value:g} {q.unit or ''}" for q in quantities(question)}
    for word in words(question):
        if any(c.isdigit() or c in "_-." for c in word) or word in ("not", "no", "never", "without", "cannot"):
            marks.add(word)
    return frozenset(marks)
