"""Does a context hold the answer? Signals of a question and its retrieved passages, and the probability from them."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from ragauge.core.sample import RetrievedChunk
from ragauge.systems.reference.bm25 import terms
from ragauge.systems.reference.passages import Passage

#: Characters of a question that are looked at; a question is a sentence or two, whatever else was pasted in with it.
MAX_QUESTION = 4000
#: Shares of the question's words in the passages are no signal here: they helped by .005 AUROC on short questions and
#: made it decline most long ones, of which any passage has a small share.
SIGNALS = ("sentence_cosine", "chunk_cosine", "pairs", "margin")


@dataclass(frozen=True)
class Evidence:
    """How well each passage matches the question (0 to about 1, higher is better), and the signals by name."""

    matches: tuple[float, ...]
    signals: dict[str, float]


def weigh(
    question: str,
    chunks: Sequence[RetrievedChunk],
    found: Sequence[Passage],
    *,
    question_vector: Any,
    chunk_vectors: Any,
    passage_vectors: Any,
    weight: Callable[[str], float],
    language: str = "en",
) -> Evidence:
    """Match = 0.5 cosine + 0.5 recall, where recall is the idf-weighted share of the question's terms that the passage
    has, headings above it included; the chunk's recall counts a quarter of it.

    Vectors have length 1, one row for each chunk or passage. Without any passage all signals are 0.
    """
    question = question[:MAX_QUESTION]
    asked = sorted(set(terms(question, language)))
    weights = {term: weight(term) for term in asked}
    held = [set(terms(_with_names(chunk), language)) for chunk in chunks]
    by_rank = {chunk.rank: index for index, chunk in enumerate(chunks)}
    chunk_recalls = [_recall(weights, one) for one in held]
    if not found:
        return Evidence((), dict.fromkeys(SIGNALS, 0.0))
    cosines = np.asarray(passage_vectors) @ np.asarray(question_vector)
    recalls = [_recall(weights, set(terms(passage.search, language))) for passage in found]
    matches = [
        0.5 * float(cosine) + 0.375 * recall + 0.125 * chunk_recalls[by_rank[passage.rank]]
        for passage, cosine, recall in zip(found, cosines, recalls, strict=True)
    ]
    chunk_cosines = np.sort(np.asarray(chunk_vectors) @ np.asarray(question_vector))[::-1]
    best_chunk = max(range(len(chunks)), key=lambda index: (chunk_recalls[index], -index))
    signals = {
        "sentence_cosine": float(cosines.max()),
        "chunk_cosine": float(chunk_cosines[0]),
        "pairs": _pairs(question, chunks[best_chunk].text, language),
        "margin": float(chunk_cosines[0] - chunk_cosines[1]) if len(chunk_cosines) > 1 else 0.0,
    }
    return Evidence(tuple(matches), signals)


def probability(signals: dict[str, float], model: dict[str, float]) -> float:
    """Logistic model: 1 / (1 + exp(-(intercept + Σ weight · signal))), 0 to 1."""
    total = model["intercept"] + sum(model[name] * signals[name] for name in SIGNALS if name in model)
    return 1 / (1 + math.exp(-max(min(total, 60.0), -60.0)))


def _with_names(chunk: RetrievedChunk) -> str:
    names = [chunk.metadata.get("title", ""), *(chunk.metadata.get("headings") or ())]
    return "\n".join([*(str(name) for name in names if name), chunk.text])


def _recall(weights: dict[str, float], held: set[str]) -> float:
    total = sum(weights.values())
    return sum(value for term, value in weights.items() if term in held) / total if total else 0.0


def _pairs(question: str, text: str, language: str) -> float:
    """Share of neighbouring term pairs of the question that stand within five terms of each other in the text."""
    asked = terms(question, language)
    wanted = set(pairwise(asked))
    if not wanted:
        return 0.0
    places: dict[str, list[int]] = {}
    for index, term in enumerate(terms(text, language)):
        places.setdefault(term, []).append(index)
    near = sum(
        any(abs(one - other) <= 5 for one in places.get(first, ())[:50] for other in places.get(second, ())[:50])
        for first, second in wanted
    )
    return near / len(wanted)
