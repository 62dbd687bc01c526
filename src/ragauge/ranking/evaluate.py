"""Measure a run against judgements: the one entry point, over a plain and a vectorised engine."""

from __future__ import annotations

import math
import sys
from array import array
from collections.abc import Iterable, Sequence
from typing import Any, Literal

from ragauge.errors import InputError, SettingsError
from ragauge.ranking import single
from ragauge.ranking.joining import Joined, Measured, Qrels, Run, join, refuse_duplicates, text_ids, text_scores
from ragauge.ranking.judgements import Judgements, all_text
from ragauge.ranking.measures import Measure, parse_measures
from ragauge.ranking.options import Options
from ragauge.ranking.result import RankingResult

#: Below this many questions, plain Python ends before numpy would have been imported.
PLAIN_BELOW = 5_000


def evaluate(
    qrels: Qrels | Judgements,
    run: Run,
    metrics: str | Measure | Iterable[str | Measure],
    *,
    engine: Literal["auto", "plain", "numpy"] = "auto",
    **switches: Any,
) -> RankingResult:
    """Measure `run` (question → id → score, or question → ids best first) against `qrels`.

    `qrels` is question → id → grade, or question → relevant ids; a prepared `Judgements` can be used for many runs.
    `metrics` is a list or a comma-separated text; names of trec_eval, ranx, ir_measures and BEIR are understood.
    `switches` are the fields of `Options`. Scores order by value, ties by id descending; lists are never re-sorted;
    questions are joined by id. Both engines give the same numbers to rounding; "auto" takes numpy where it pays.

    Raises `UnknownName` for a measure, `InputError` for data that cannot be a run (a NaN score names its document).

    >>> result = evaluate({"q1": {"A": 1}, "q2": {"B": 1}}, {"q2": {"B": 0.5, "C": 0.9}}, ["mrr", "hit_rate@1"])
    >>> dict(result.means), result.missing
    ({'reciprocal_rank': 0.25, 'hit_rate@1': 0.0}, ('q1',))
    """
    measures = parse_measures(metrics)
    options = Options(**switches)
    if engine not in ("auto", "plain", "numpy"):
        raise SettingsError(f"engine cannot be {engine!r}", hint="Accepted: auto, plain, numpy.")
    judgements = qrels if isinstance(qrels, Judgements) else Judgements(qrels)
    joined = join(judgements, run, options)
    if engine == "auto":
        engine = "numpy" if len(joined.questions) >= PLAIN_BELOW or "numpy" in sys.modules else "plain"
    if engine == "plain":
        measured = _measure_plainly(joined, measures, options)
    else:
        from ragauge.ranking.batch import MixedIds, measure

        try:
            measured = measure(joined, measures, options)
        except MixedIds:
            measured = measure(joined.as_text(), measures, options)
    return _finish(joined, measured, options)


def _measure_plainly(joined: Joined, measures: Sequence[Measure], options: Options) -> Measured:
    columns: list[array[float]] = [array("d") for _ in measures]
    n_relevant: list[int] = []
    duplicates: dict[int, int] = {}
    for place, (grades, ranking) in enumerate(zip(joined.grades, joined.rankings, strict=True)):
        question = joined.questions[place]
        if joined.scored:
            plain = all_text(ranking) and _all_numbers(ranking.values())
            hits = single.find_scored_hits(ranking if plain else text_scores(ranking, question), grades, options)
        else:
            hits = single.find_hits(ranking if all_text(ranking) else text_ids(ranking, question), grades, options)
        if hits.n_duplicates:
            if options.duplicates == "error":
                refuse_duplicates(question, hits.n_duplicates)
            duplicates[place] = hits.n_duplicates
        n_relevant.append(hits.n_relevant)
        for measure, column in zip(measures, columns, strict=True):
            column.append(single.value(measure, hits, options))
    values = {measure.key: column for measure, column in zip(measures, columns, strict=True)}
    return Measured(values, n_relevant, duplicates)


def _all_numbers(scores: Iterable[Any]) -> bool:
    """Whether every score is a finite number. False sends the caller to the slow path, which converts or complains."""
    try:
        return math.isfinite(sum(scores))
    except (TypeError, OverflowError):
        return False


def _mean(column: array[float]) -> float:
    if len(column) < PLAIN_BELOW:
        return math.fsum(column) / len(column)
    import numpy as np

    return float(np.frombuffer(column).mean())


def _finish(joined: Joined, measured: Measured, options: Options) -> RankingResult:
    questions: Sequence[str] = joined.questions
    values, empty = measured.values, []
    if 0 in measured.n_relevant:
        empty = [place for place, n in enumerate(measured.n_relevant) if n == 0]
    without_relevant = tuple(questions[place] for place in empty)
    if empty and options.empty_relevant == "error":
        raise InputError(f"{len(empty)} questions have no relevant document, the first is {without_relevant[0]!r}")
    if empty and options.empty_relevant == "skip":
        skipped = set(empty)
        kept = [place for place in range(len(questions)) if place not in skipped]
        if not kept:
            raise InputError("no question has a relevant document", hint="Is `level` above every grade?")
        questions = [questions[place] for place in kept]
        values = {key: array("d", (column[place] for place in kept)) for key, column in values.items()}
    return RankingResult(
        questions=tuple(questions),
        values=values,
        means={key: _mean(column) for key, column in values.items()},
        missing=joined.missing,
        ignored=joined.ignored,
        without_relevant=without_relevant,
        duplicates={joined.questions[place]: n for place, n in measured.duplicates.items()},
    )
