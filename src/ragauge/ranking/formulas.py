"""The measures over many questions at once, from flat arrays of hits. Definitions: `single.py`; same numbers here.

Shapes: Q questions, H hits (retrieved documents with a grade above 0) over all of them, G grades over all of them.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from ragauge.ranking.measures import Measure
from ragauge.ranking.options import Options

#: Up to this many distinct gains, an ideal DCG is found by counting; beyond, by sorting.
_COUNTED_GAINS = 16

# What dtype an operation of numpy gives is beyond its type stubs in places; these two say what is meant.
Floats = npt.NDArray[Any]
Ints = npt.NDArray[Any]


def gains(grades: Floats, options: Options) -> Floats:
    """`Options.gain_of`, elementwise."""
    if options.gain == "linear":
        return np.maximum(grades, 0.0)
    if options.gain == "binary":
        return (grades >= options.level).astype(np.float64)
    if options.gain == "exp":
        return np.where(grades > 0, np.exp2(np.maximum(grades, 0.0)) - 1.0, 0.0)
    distinct, place = np.unique(grades, return_inverse=True)
    return np.array([options.gain_of(grade) for grade in distinct.tolist()], dtype=np.float64)[place]


def discounts(n: int) -> Floats:
    """1 / log2(rank + 1) of the first n ranks."""
    weights: Floats = 1.0 / np.log2(np.arange(2, n + 2, dtype=np.float64))
    return weights


def _at_most(numbers: Ints, k: int | None) -> Ints:
    return numbers if k is None else np.minimum(numbers, k)


@dataclass(frozen=True)
class HitTable:
    """Hits of all questions, ordered by question, then by index.

    `question`, `index` (from 0), `grade`: shape (H,). `n_retrieved`: shape (Q,), distinct ids of each ranking.
    `judged_question` (ascending), `judged_grade`: shape (G,), every grade of every question, retrieved or not.
    """

    question: Ints
    index: Ints
    grade: Floats
    n_retrieved: Ints
    judged_question: Ints
    judged_grade: Floats
    options: Options

    @cached_property
    def n_questions(self) -> int:
        """Q."""
        return len(self.n_retrieved)

    @cached_property
    def n_relevant(self) -> Ints:
        """Relevant documents of each question, shape (Q,)."""
        return self.count(self.judged_question[self.judged_grade >= self.options.level])

    @cached_property
    def relevant(self) -> tuple[Ints, Ints]:
        """(question, index) of the relevant hits only."""
        mask = self.grade >= self.options.level
        return (self.question, self.index) if mask.all() else (self.question[mask], self.index[mask])

    @cached_property
    def precision_at_hit(self) -> Floats:
        """Precision at the rank of each relevant hit."""
        question, index = self.relevant
        first = np.searchsorted(question, np.arange(self.n_questions))
        place: Ints = np.arange(len(question)) - first[question]
        result: Floats = (place + 1.0) / (index + 1.0)
        return result

    @cached_property
    def discounted(self) -> Floats:
        """gain / log2(rank + 1) of each hit."""
        weights = discounts(int(self.index.max(initial=0)) + 1)
        result: Floats = gains(self.grade, self.options) * weights[self.index]
        return result

    @cached_property
    def positive_gains(self) -> tuple[Ints, Floats, Floats]:
        """(question, gain) of the judged documents that have a gain, and the distinct gains, ascending."""
        gain = gains(self.judged_grade, self.options)
        positive = gain > 0
        return self.judged_question[positive], gain[positive], np.unique(gain[positive])

    def ideal_dcg(self, k: int | None) -> Floats:
        """DCG of the first k of the best possible order, shape (Q,)."""
        question, gain, distinct = self.positive_gains
        if len(distinct) > _COUNTED_GAINS:
            return self.total(*self.ideal_order, k)
        result, stop = np.zeros(self.n_questions), np.zeros(self.n_questions, np.int64)
        sums = np.concatenate(([0.0], np.cumsum(discounts(int(self.count(question).max(initial=0))))))
        # All documents of one gain stand together in the best order: from `stop` of the higher gains to the next one.
        for each in distinct[::-1].tolist():
            start, stop = stop, stop + self.count(question[gain == each])
            result += each * (sums[_at_most(stop, k)] - sums[_at_most(start, k)])
        return result

    @cached_property
    def ideal_order(self) -> tuple[Ints, Ints, Floats]:
        """(question, index, discounted gain) of the judged documents in their best order, for many distinct gains."""
        question, gain, distinct = self.positive_gains
        # Questions already stand in order: sorting one whole number per grade (question, then falling gain) is many
        # times faster than a two-key sort.
        key = question * len(distinct) + (len(distinct) - 1 - np.searchsorted(distinct, gain))
        key.sort()
        ordered = distinct[::-1][key - question * len(distinct)]
        first = np.searchsorted(question, np.arange(self.n_questions))
        index = np.arange(len(question)) - first[question]
        return question, index, ordered / np.log2(index + 2.0)

    def count(self, question: Ints) -> Ints:
        """How often each question occurs, shape (Q,)."""
        return np.bincount(question, minlength=self.n_questions).astype(np.int64, copy=False)

    def found(self, k: int | Ints | None) -> Ints:
        """Relevant hits among the first k of each question, shape (Q,)."""
        question, index = self.relevant
        if k is None:
            return self.count(question)
        limit = k if isinstance(k, int) else k[question]
        return self.count(question[index < limit])

    def total(self, question: Ints, index: Ints, weight: Floats, k: int | None) -> Floats:
        """Sum of `weight` over the first k of each question, shape (Q,)."""
        if k is not None:
            weight = np.where(index < k, weight, 0.0)
        result: Floats = np.bincount(question, weight, self.n_questions)
        return result


def _divide(part: Any, whole: Any) -> Floats:
    """part / whole, 0 where whole is 0."""
    part, whole = np.asarray(part, np.float64), np.asarray(whole, np.float64)
    result: Floats = np.divide(part, whole, out=np.zeros_like(part), where=whole > 0)
    return result


def _cut_or_retrieved(table: HitTable, k: int | None) -> int | Ints:
    if k is not None and table.options.denominator == "k":
        return k
    return _at_most(table.n_retrieved, k)


def _hit_rate(table: HitTable, k: int | None) -> Floats:
    return (table.found(k) > 0).astype(np.float64)


def _recall(table: HitTable, k: int | None) -> Floats:
    return _divide(table.found(k), table.n_relevant)


def _recall_cap(table: HitTable, k: int | None) -> Floats:
    return _divide(table.found(k), _at_most(table.n_relevant, k))


def _precision(table: HitTable, k: int | None) -> Floats:
    found = table.found(k)
    return _divide(found, np.broadcast_to(np.asarray(_cut_or_retrieved(table, k)), found.shape))


def _precision_retrieved(table: HitTable, k: int | None) -> Floats:
    return _divide(table.found(k), _at_most(table.n_retrieved, k))


def _f1(table: HitTable, k: int | None) -> Floats:
    return _divide(2.0 * table.found(k), _cut_or_retrieved(table, k) + table.n_relevant)


def _reciprocal_rank(table: HitTable, k: int | None) -> Floats:
    question, index = table.relevant
    result = np.zeros(table.n_questions)
    # Assigned from the back, so that the first hit of a question is what stays.
    result[question[::-1]] = 1.0 / (index[::-1] + 1.0)
    if k is not None:
        result[result < 1.0 / k] = 0.0
    return result


def _average_precision(table: HitTable, k: int | None) -> Floats:
    return _divide(table.total(*table.relevant, table.precision_at_hit, k), table.n_relevant)


def _context_precision_ids(table: HitTable, k: int | None) -> Floats:
    return _divide(table.total(*table.relevant, table.precision_at_hit, k), table.found(k))


def _r_precision(table: HitTable, k: int | None) -> Floats:
    return _divide(table.found(table.n_relevant), table.n_relevant)


def _ndcg(table: HitTable, k: int | None) -> Floats:
    best = table.ideal_dcg(k)
    result = _divide(table.total(table.question, table.index, table.discounted, k), best)
    # The two sums are added up in different orders. What differs from 1 by rounding only is 1, as in `single.ndcg`.
    result[result > 1.0 - 1e-14] = 1.0
    return result


_FORMULAS: Mapping[str, Callable[[HitTable, int | None], Floats]] = {
    "hit_rate": _hit_rate,
    "recall": _recall,
    "recall_cap": _recall_cap,
    "precision": _precision,
    "precision_retrieved": _precision_retrieved,
    "f1": _f1,
    "reciprocal_rank": _reciprocal_rank,
    "average_precision": _average_precision,
    "ndcg": _ndcg,
    "r_precision": _r_precision,
    "context_precision_ids": _context_precision_ids,
    "context_recall_ids": _recall,
}


def measure_table(table: HitTable, measures: Sequence[Measure]) -> dict[str, array[float]]:
    """Measure key → one value per question."""
    values = {}
    for measure in measures:
        column = array("d")
        column.frombytes(np.ascontiguousarray(_FORMULAS[measure.name](table, measure.k), np.float64).tobytes())
        values[measure.key] = column
    return values
