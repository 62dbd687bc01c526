"""One question at a time, in plain Python: the definition of every measure.

The vectorised path (`formulas.py`) must give the same numbers; the tests hold both to it. No numpy is imported here, so
that scoring a few questions costs no start-up time.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ragauge.errors import InputError
from ragauge.ranking.measures import Measure, parse_measure
from ragauge.ranking.options import Options

_DEFAULT = Options()
_WHOLE = 1 << 62


@dataclass(frozen=True, slots=True)
class Hits:
    """What the measures need to know of one ranking.

    `indexes` (from 0, ascending) and `grades` are the retrieved documents with a grade above 0, `relevant` the indexes
    of those that reach the level; `n_retrieved` counts distinct ids, `n_duplicates` the repeats that were dropped;
    `judged` are all grades of the question.
    """

    indexes: tuple[int, ...]
    grades: tuple[float, ...]
    relevant: tuple[int, ...]
    n_relevant: int
    n_retrieved: int
    n_duplicates: int
    judged: tuple[float, ...]


def discount(index: int) -> float:
    """1 / log2(rank + 1) for the place `index` (from 0), so 1 for the first.

    >>> discount(0), round(discount(1), 4), discount(2)
    (1.0, 0.6309, 0.5)
    """
    return 1.0 / math.log2(index + 2)


def find_hits(ranked: Sequence[str], grades: Mapping[str, float], options: Options = _DEFAULT) -> Hits:
    """Where the judged documents stand in `ranked` (best first; repeats count at their first place).

    >>> find_hits(["B", "A", "A", "C"], {"A": 1, "C": 2}).indexes
    (1, 2)
    """
    places: dict[str, int] = {}
    kept = [id for id in ranked if grades.get(id, -1) >= 0] if options.judged_only else ranked
    for id in kept:
        places.setdefault(id, len(places))
    found = sorted((places[id], grade) for id, grade in grades.items() if grade > 0 and id in places)
    n_duplicates = len(ranked) - len(set(ranked)) if options.judged_only else len(kept) - len(places)
    n_retrieved = len(places)
    if options.depth is not None:
        found = [pair for pair in found if pair[0] < options.depth]
        n_retrieved = min(n_retrieved, options.depth)
    return Hits(
        indexes=tuple(index for index, _ in found),
        grades=tuple(grade for _, grade in found),
        relevant=tuple(index for index, grade in found if grade >= options.level),
        n_relevant=sum(grade >= options.level for grade in grades.values()),
        n_retrieved=n_retrieved,
        n_duplicates=n_duplicates,
        judged=tuple(grades.values()),
    )


def find_scored_hits(scores: Mapping[str, float], grades: Mapping[str, float], options: Options = _DEFAULT) -> Hits:
    """The same for id → score, without ordering the ids: an index is the number of larger scores.

    >>> find_scored_hits({"A": 0.5, "B": 0.9, "C": 0.5}, {"A": 1}).indexes
    (2,)
    """
    convert = to_float32 if options.score_dtype == "float32" else float
    ordered = sorted(map(convert, scores.values()), reverse=True)
    depth, found = options.depth or _WHOLE, []
    for id, grade in grades.items():
        if grade > 0 and id in scores:
            mine = convert(scores[id])
            index = ordered.index(mine)
            if index + 1 < len(ordered) and ordered[index + 1] == mine:
                index += sum(other > id for other, score in scores.items() if convert(score) == mine)
            if index < depth:
                found.append((index, grade))
    found.sort()
    return Hits(
        indexes=tuple(index for index, _ in found),
        grades=tuple(grade for _, grade in found),
        relevant=tuple(index for index, grade in found if grade >= options.level),
        n_relevant=sum(grade >= options.level for grade in grades.values()),
        n_retrieved=min(len(ordered), depth),
        n_duplicates=0,
        judged=tuple(grades.values()),
    )


def order_by_score(scores: Mapping[str, float], options: Options = _DEFAULT) -> list[str]:
    """Ids by score, highest first; ties by id, descending by code point (trec_eval's rule).

    >>> order_by_score({"a": 1.0, "b": 1.0, "c": 2.0})
    ['c', 'b', 'a']
    """
    if options.score_dtype == "float32":
        scores = {id: to_float32(score) for id, score in scores.items()}
    # Two stable sorts are twice as fast as one with a key of two parts.
    return sorted(sorted(scores, reverse=True), key=scores.__getitem__, reverse=True)


def to_float32(score: float) -> float:
    """`score` rounded to single precision; beyond its range, infinity."""
    import struct

    try:
        return float(struct.unpack("f", struct.pack("f", score))[0])
    except OverflowError:
        return math.copysign(math.inf, score)


def hit_rate(hits: Hits, k: int, options: Options) -> float:
    """1 if any relevant document is among the first k, else 0 (trec_eval `success`).

    >>> score_one("hit_rate", ["B", "A"], {"A": 1}, k=2)
    1.0
    """
    return 1.0 if _found(hits, k) else 0.0


def recall(hits: Hits, k: int, options: Options) -> float:
    """Relevant documents among the first k / all relevant documents (0 to 1); 0 when there are none.

    >>> score_one("recall", ["B", "A", "D", "C", "E"], {"A": 1, "C": 1}, k=3)
    0.5
    """
    return _found(hits, k) / hits.n_relevant if hits.n_relevant else 0.0


def recall_cap(hits: Hits, k: int, options: Options) -> float:
    """Relevant documents among the first k / min(all relevant documents, k): BEIR's R_cap.

    >>> score_one("recall_cap", ["A", "B"], {"A": 1, "X": 1, "Y": 1}, k=2)
    0.5
    """
    return _found(hits, k) / min(hits.n_relevant, k) if hits.n_relevant else 0.0


def precision(hits: Hits, k: int, options: Options) -> float:
    """Relevant documents among the first k / k, even when fewer than k came back (trec_eval `P`).

    Without a cut-off, or with `denominator="retrieved"`, it divides by what came back.

    >>> score_one("precision", ["A", "B"], {"A": 1}, k=5)
    0.2
    """
    return _found(hits, k) / _denominator(hits, k, options) if hits.n_retrieved else 0.0


def precision_retrieved(hits: Hits, k: int, options: Options) -> float:
    """Relevant documents among the first k / documents that came back, at most k; 0 when none did.

    >>> score_one("precision_retrieved", ["A", "B"], {"A": 1}, k=5)
    0.5
    """
    return _found(hits, k) / min(k, hits.n_retrieved) if hits.n_retrieved else 0.0


def f1(hits: Hits, k: int, options: Options) -> float:
    """Harmonic mean of precision@k and recall@k: 2 hits / (k + relevant); 0 when both are 0.

    >>> round(score_one("f1", ["B", "A", "D", "C", "E"], {"A": 1, "C": 1}, k=5), 3)
    0.571
    """
    found = _found(hits, k)
    return 2.0 * found / (_denominator(hits, k, options) + hits.n_relevant) if found else 0.0


def reciprocal_rank(hits: Hits, k: int, options: Options) -> float:
    """1 / rank of the first relevant document; 0 when there is none among the first k.

    >>> score_one("reciprocal_rank", ["B", "A"], {"A": 1})
    0.5
    """
    return 1.0 / (hits.relevant[0] + 1) if hits.relevant and hits.relevant[0] < k else 0.0


def average_precision(hits: Hits, k: int, options: Options) -> float:
    """Sum of the precision at each relevant rank up to k / all relevant documents (trec_eval `map`, `map_cut`).

    >>> score_one("average_precision", ["B", "A", "D", "C", "E"], {"A": 1, "C": 1})
    0.5
    """
    return _precision_sum(hits, k) / hits.n_relevant if hits.n_relevant else 0.0


def context_precision_ids(hits: Hits, k: int, options: Options) -> float:
    """Sum of the precision at each relevant rank up to k / relevant documents among the first k; 0 if none.

    RAGAS's context precision on ids: it looks only at what came back, so junk below the last hit costs nothing.

    >>> score_one("context_precision_ids", ["B", "A", "D", "C", "E"], {"A": 1, "C": 1}, k=5)
    0.5
    """
    found = _found(hits, k)
    return _precision_sum(hits, k) / found if found else 0.0


def r_precision(hits: Hits, k: int, options: Options) -> float:
    """Relevant documents among the first R / R, where R is the number of relevant documents.

    >>> score_one("r_precision", ["B", "A", "D", "C", "E"], {"A": 1, "C": 1})
    0.5
    """
    return _found(hits, hits.n_relevant) / hits.n_relevant if hits.n_relevant else 0.0


def ndcg(hits: Hits, k: int, options: Options) -> float:
    """DCG@k / DCG@k of the best order of all judged documents; gain by `options.gain`, discount 1/log2(rank + 1).

    0 when no judged document has a gain. Source: Järvelin & Kekäläinen (2002), with trec_eval's linear gain.

    >>> round(score_one("ndcg", ["B", "A", "D", "C", "E"], {"A": 1, "C": 1}, k=5), 3)
    0.651
    """
    best = ideal_dcg(hits, k, options)
    return min(1.0, dcg(hits, k, options) / best) if best > 0 else 0.0


def dcg(hits: Hits, k: int, options: Options) -> float:
    """Discounted cumulative gain of the first k: sum of gain / log2(rank + 1)."""
    total = 0.0
    for index, grade in zip(hits.indexes, hits.grades, strict=True):
        if index < k:
            total += options.gain_of(grade) * discount(index)
    return total


def ideal_dcg(hits: Hits, k: int, options: Options) -> float:
    """The highest DCG that any order of the judged documents reaches at k."""
    gains = sorted((options.gain_of(grade) for grade in hits.judged if grade > 0), reverse=True)
    total = 0.0
    for index, gain in enumerate(gains[:k]):
        total += gain * discount(index)
    return total


def _found(hits: Hits, k: int) -> int:
    if not hits.relevant or hits.relevant[-1] < k:
        return len(hits.relevant)
    return sum(index < k for index in hits.relevant)


def _precision_sum(hits: Hits, k: int) -> float:
    total = 0.0
    for count, index in enumerate(hits.relevant, start=1):
        if index < k:
            total += count / (index + 1)
    return total


def _denominator(hits: Hits, k: int, options: Options) -> int:
    if k == _WHOLE or options.denominator == "retrieved":
        return min(k, hits.n_retrieved)
    return k


_FORMULAS: dict[str, Callable[[Hits, int, Options], float]] = {
    "hit_rate": hit_rate,
    "recall": recall,
    "recall_cap": recall_cap,
    "precision": precision,
    "precision_retrieved": precision_retrieved,
    "f1": f1,
    "reciprocal_rank": reciprocal_rank,
    "average_precision": average_precision,
    "ndcg": ndcg,
    "r_precision": r_precision,
    "context_precision_ids": context_precision_ids,
    "context_recall_ids": recall,
}


def formula(name: str) -> Callable[[Hits, int, Options], float]:
    """The function that defines the measure `name`; its docstring is the definition."""
    return _FORMULAS[parse_measure(name).name]


def value(measure: Measure, hits: Hits, options: Options = _DEFAULT) -> float:
    """One measure of one ranking (0 to 1)."""
    return _FORMULAS[measure.name](hits, _WHOLE if measure.k is None else measure.k, options)


def score_one(
    name: str,
    ranked: Sequence[str] | Mapping[str, float],
    grades: Mapping[str, float] | Collection[str],
    k: int | None = None,
    **options: Any,
) -> float:
    """One measure of one question: `ranked` ids best first (or id → score), `grades` id → grade (or relevant ids).

    `name` may hold its cut-off ("recall@5") instead of `k`. Options are those of `Options`.

    >>> score_one("recall@3", ["B", "A", "D", "C", "E"], {"A", "C"})
    0.5
    """
    measure = parse_measure(name)
    if k is not None:
        measure = Measure(measure.name, k)
    chosen = Options(**options) if options else _DEFAULT
    if not isinstance(grades, Mapping):
        grades = dict.fromkeys(grades, 1)
    judged = {str(id): grade for id, grade in grades.items()}
    if isinstance(ranked, Mapping):
        for id, score in ranked.items():
            if score != score:
                raise InputError(f"the score of document {str(id)!r} is NaN", accepted="a number")
        return value(
            measure, find_scored_hits({str(id): score for id, score in ranked.items()}, judged, chosen), chosen
        )
    return value(measure, find_hits([str(id) for id in ranked], judged, chosen), chosen)
