"""From judgements and rankings to one flat table of hits: the part that touches every retrieved id.

Ranked lists: one set per list answers both "are there repeats?" and "which judged ids came back?".
Scored runs: the run's own hash table is probed with the few judged ids, and the index of a hit is the number of larger
scores in its row, counted for a block of questions at once. Nothing is sorted; only tied hits are looked at one by one.
The two loops over questions are written for speed: they are the whole cost.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from ragauge.ranking import single
from ragauge.ranking.formulas import Floats, HitTable, Ints, measure_table
from ragauge.ranking.joining import Joined, Measured, refuse_duplicates, text_scores
from ragauge.ranking.measures import Measure
from ragauge.ranking.options import Options

BoolArray = npt.NDArray[np.bool_]

#: Questions and scores of a block: small enough to stay in the processor's cache.
_BLOCK_QUESTIONS = 256
_BLOCK_SCORES = 1 << 18
#: From this many hits per question on, sorting a row costs less than counting for each of its hits.
_SORT_FROM = 256


class MixedIds(Exception):
    """A ranking holds whole numbers among its text ids; it must be converted before it can be measured."""


def measure(joined: Joined, measures: Sequence[Measure], options: Options) -> Measured:
    """The numpy engine. Raises `MixedIds` when a ranking must be converted first (`joined.as_text()`)."""
    duplicates: dict[int, int] = {}
    if joined.scored:
        question, index, grade, n_retrieved = _hits_of_scores(joined, options)
    else:
        question, index, grade, n_retrieved = _hits_of_lists(joined, options, duplicates)
    if options.depth is not None:
        kept = index < options.depth
        question, index, grade = question[kept], index[kept], grade[kept]
        n_retrieved = np.minimum(n_retrieved, options.depth)
    table = HitTable(
        question=question,
        index=index,
        grade=grade,
        n_retrieved=n_retrieved,
        judged_question=np.repeat(np.arange(len(joined.n_judged)), np.array(joined.n_judged, np.int64)),
        judged_grade=np.array(joined.flat_grades, np.float64),
        options=options,
    )
    return Measured(measure_table(table, measures), table.n_relevant.tolist(), duplicates)


def _questions_of(ends: list[int]) -> Ints:
    """Question of each element, from where each question's elements end."""
    counts: Ints = np.diff(np.array(ends, np.int64), prepend=0)
    return np.repeat(np.arange(len(counts)), counts)


def _lengths(things: Sequence[Any]) -> Ints:
    return np.fromiter(map(len, things), np.int64, len(things))


def _as_number(id: str) -> int:
    """The whole number that `str` would have made `id` of; longer ones (Python refuses to read them) are none."""
    return int(id) if len(id) < 100 else -1


def _in_order(question: Ints, index: Ints, grade: Floats) -> tuple[Ints, Ints, Floats]:
    """Hits by question, then by index."""
    width = int(index.max()) + 1 if len(index) else 1
    order = np.argsort(question * width + index, kind="stable")  # nearly in order already: a merge is fastest
    return question[order], index[order], grade[order]


def _hits_of_lists(joined: Joined, options: Options, duplicates: dict[int, int]) -> tuple[Ints, Ints, Floats, Ints]:
    """Hits and the number of distinct ids per question; `duplicates` is filled with the repeats of each place."""
    indexes: list[int] = []
    grades: list[float] = []
    ends: list[int] = []
    sizes: list[int] = []
    add_index, add_grade, add_end, add_size = indexes.append, grades.append, ends.append, sizes.append
    for known, ranked in zip(joined.grades, joined.rankings, strict=True):
        if ranked and type(ranked[0]) is not str:
            raise MixedIds
        distinct = set(ranked)
        size = len(distinct)
        if size != len(ranked):
            duplicates[len(ends)] = len(ranked) - size
            ranked = list(dict.fromkeys(ranked))
        add_size(size)
        find = ranked.index
        for id, grade in known.items():
            if grade > 0:
                if id in distinct:
                    add_index(find(id))
                    add_grade(grade)
                elif id.isdecimal() and _as_number(id) in distinct:
                    raise MixedIds
        add_end(len(indexes))
    if duplicates and options.duplicates == "error":
        place = min(duplicates)
        refuse_duplicates(joined.questions[place], duplicates[place])
    hits = _in_order(_questions_of(ends), np.array(indexes, np.int64), np.array(grades, np.float64))
    return (*hits, np.array(sizes, np.int64))


@dataclass(slots=True)
class _Block:
    """Some questions: all scores end to end, and the judged documents that came back (row, id, score, grade)."""

    runs: list[dict[str, float]]
    lengths: Ints
    scores: Floats
    rows: list[int]
    ids: list[str]
    hit_scores: list[float]
    grades: list[float]


def _hits_of_scores(joined: Joined, options: Options) -> tuple[Ints, Ints, Floats, Ints]:
    """Hits and the number of ids per question."""
    questions, indexes, grades = [np.zeros(0, np.int64)], [np.zeros(0, np.int64)], [np.zeros(0)]
    sizes = [np.zeros(0, np.int64)]
    for start, stop in _blocks(joined.rankings):
        block = _read_block(joined, start, stop)
        sizes.append(block.lengths)
        questions.append(np.array(block.rows, np.int64) + start)
        indexes.append(_block_indexes(block, options))
        grades.append(np.array(block.grades, np.float64))
    hits = _in_order(np.concatenate(questions), np.concatenate(indexes), np.concatenate(grades))
    return (*hits, np.concatenate(sizes))


def _blocks(rankings: Sequence[Mapping[str, float]]) -> Iterator[tuple[int, int]]:
    """Ranges of questions whose scores, padded to the longest of them, fill no more than a block."""
    start = 0
    while start < len(rankings):
        stop = start + 1
        longest = max(len(rankings[start]), 1)
        for ranking in rankings[stop : start + _BLOCK_QUESTIONS]:
            if len(ranking) > longest:
                longest = len(ranking)
            if longest * (stop - start + 1) > _BLOCK_SCORES:
                break
            stop += 1
        yield start, stop
        start = stop


def _read_block(joined: Joined, start: int, stop: int) -> _Block:
    runs: list[dict[Any, float]] = joined.rankings[start:stop]
    lengths = _lengths(runs)
    numbers: Any = np.empty(int(lengths.sum()))
    offset, packed, pack = 0, 0, struct.Struct("").pack_into
    rows: list[int] = []
    ids: list[str] = []
    hit_scores: list[float] = []
    grades: list[float] = []
    add_row, add_id, add_score, add_grade = rows.append, ids.append, hit_scores.append, grades.append
    for row, (known, scores) in enumerate(zip(joined.grades[start:stop], runs, strict=True)):
        for first in scores:
            if type(first) is not str:
                raise MixedIds
            break
        if len(scores) != packed:
            packed = len(scores)
            pack = struct.Struct(f"{packed}d").pack_into
        try:
            pack(numbers, offset, *scores.values())
        except struct.error:
            text_scores(scores, joined.questions[start + row])  # raises, naming the document
            raise
        offset += 8 * packed
        for id, grade in known.items():
            if grade > 0:
                if id in scores:
                    add_row(row)
                    add_id(id)
                    add_score(scores[id])
                    add_grade(grade)
                elif id.isdecimal() and _as_number(id) in scores:
                    raise MixedIds
    missing = np.isnan(numbers)
    if missing.any():
        row = int(np.searchsorted(np.cumsum(lengths), int(missing.argmax()), side="right"))
        text_scores(runs[row], joined.questions[start + row])  # raises, naming the document
    return _Block(runs, lengths, numbers, rows, ids, hit_scores, grades)


def _block_indexes(block: _Block, options: Options) -> Ints:
    """Index (from 0) of each hit of the block in its ranking."""
    if len(block.rows) > _SORT_FROM * len(block.runs):
        return _sorted_indexes(block, options)
    row, scores, hit = np.array(block.rows, np.int64), block.scores, np.array(block.hit_scores, np.float64)
    if options.score_dtype == "float32":
        with np.errstate(over="ignore"):
            scores, hit = (numbers.astype(np.float32).astype(np.float64) for numbers in (scores, hit))
    index, tied = _count_larger(_as_rows(scores, block.lengths), row, hit)
    for place in np.flatnonzero(tied).tolist():
        index[place] = _exact_index(block.runs[block.rows[place]], block.ids[place], options)
    return index


def _as_rows(scores: Floats, lengths: Ints) -> Floats:
    """One row of scores per question, shape (questions, longest); shorter rows are filled up with -infinity."""
    width = int(lengths.max())
    if (lengths == width).all():
        return scores.reshape(len(lengths), width)
    rows = np.full((len(lengths), width), -np.inf)
    rows[np.arange(width) < lengths[:, None]] = scores
    return rows


def _count_larger(rows: Floats, row: Ints, hit: Floats) -> tuple[Ints, BoolArray]:
    """For each hit: how many scores of its row are larger, and whether another one equals it."""
    index, tied = np.empty(len(hit), np.int64), np.empty(len(hit), np.bool_)
    step = max(1, _BLOCK_SCORES // max(rows.shape[1], 1))
    for start in range(0, len(hit), step):
        part = slice(start, start + step)
        candidates, mine = rows[row[part]], hit[part, None]
        index[part] = np.count_nonzero(candidates > mine, axis=1)
        tied[part] = np.count_nonzero(candidates == mine, axis=1) > 1
    return index, tied


def _exact_index(scores: Mapping[str, float], id: str, options: Options) -> int:
    """The same by the full rule: larger scores first, then larger ids."""
    convert = single.to_float32 if options.score_dtype == "float32" else float
    mine = convert(scores[id])
    numbers = [convert(score) for score in scores.values()]
    larger = sum([number > mine for number in numbers])
    return larger + sum([number == mine and str(other) > id for other, number in zip(scores, numbers, strict=True)])


def _sorted_indexes(block: _Block, options: Options) -> Ints:
    """The same with every row sorted in full."""
    places: dict[int, dict[str, int]] = {}
    for row in dict.fromkeys(block.rows):
        ordered = single.order_by_score({str(id): float(score) for id, score in block.runs[row].items()}, options)
        places[row] = {id: place for place, id in enumerate(ordered)}
    return np.array([places[row][id] for row, id in zip(block.rows, block.ids, strict=True)], np.int64)
