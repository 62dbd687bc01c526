"""The log and what was judged of it, as one figure for each series and day, with intervals."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from typing import Literal

from ragauge.analysis.thresholds import Threshold, Thresholds
from ragauge.core.model import Model
from ragauge.core.run import Estimate, MetricResult, Summary
from ragauge.diagnose.history import Bottleneck, bottleneck
from ragauge.monitor.alerts import Watched
from ragauge.monitor.days import LOGGED, Day, Figure, mean, rate
from ragauge.monitor.judged import DayScores, read_scores
from ragauge.monitor.query import DailyLog, Quantile, QueryLog
from ragauge.monitor.sampling import DaySample, estimate
from ragauge.monitor.topics import QuestionDay
from ragauge.monitor.workspace import Workspace
from ragauge.stats.intervals import SAMPLING_ONLY, wilson_bounds
from ragauge.stats.quantiles import two_sided_z

#: Scores are pooled over this many days to say which metric is the bottleneck now.
NOW_DAYS = 7


class SeriesInfo(Model):
    """What a series is called and how it is shown. `unit`: "share", "ms", "score" or "count"."""

    name: str
    title: str
    unit: Literal["share", "ms", "score", "count"]
    better: Literal["higher", "lower", "none"] = "none"
    threshold: float | None = None
    source: Literal["log", "judged", "questions"] = "log"


_TITLES: dict[str, tuple[str, Literal["share", "ms", "score", "count"], Literal["higher", "lower", "none"]]] = {
    "top_similarity": ("Mean top-1 similarity", "score", "higher"),
    "zero_results": ("Queries without any result", "share", "lower"),
    "p50_ms": ("Median latency", "ms", "lower"),
    "p95_ms": ("95th percentile of latency", "ms", "lower"),
    "p99_ms": ("99th percentile of latency", "ms", "lower"),
    "slow": ("Queries slower than the limit", "share", "lower"),
    "abstention": ("Declined answers", "share", "none"),
    "thumbs_down": ("Thumbs down among rated answers", "share", "lower"),
    "feedback": ("Answers that were rated", "share", "none"),
    "question_drift": ("Questions unlike the golden set", "share", "lower"),
}


@dataclass(frozen=True)
class History:
    """Days without a gap, oldest first, and what is known of the judged series. `restart`: series → first day that may
    be compared (the judge changed before it).
    """

    days: tuple[Day, ...]
    infos: dict[str, SeriesInfo]
    watched: dict[str, Watched]
    restart: dict[str, str]
    scores: dict[str, DayScores]
    samples: dict[str, DaySample]
    questions: dict[str, QuestionDay]
    half: dict[str, str]


def read_history(
    log: QueryLog,
    space: Workspace,
    since: date,
    until: date,
    *,
    thresholds: Thresholds,
    today: date,
    slow_ms: float = 500.0,
    project: str | None = None,
) -> History:
    """Every day from `since` (or the log's first day, if that is later) to `until`. The log is aggregated in one query;
    of the samples only their scores are read.
    """
    logged = {one.day: one for one in log.daily(since, until, project=project, slow_ms=slow_ms)}
    first = max(since, date.fromisoformat(min(logged))) if logged else until
    names = [(first + timedelta(i)).isoformat() for i in range((until - first).days + 1)] if logged else []
    sampled = set(space.sampled_days())
    samples = {day: sample for day in names if day in sampled and (sample := space.sample(day)) is not None}
    scores = {day: found for day, sample in samples.items() if (found := read_scores(space, sample)) is not None}
    questions = {day: q for day in names if (q := space.read(QuestionDay, "questions", f"{day}.json")) is not None}
    days, restart = [], {}
    judge: dict[str, str] = {}
    for name in names:
        figures: dict[str, Figure] = dict(logged_figures(logged[name])) if name in logged else {}
        if name in scores:
            for series, figure in judged_figures(samples[name], scores[name], thresholds):
                figures[series] = figure
                if judge.setdefault(series, scores[name].judge) != scores[name].judge:
                    judge[series], restart[series] = scores[name].judge, name
        if "refusal" in figures:  # the log did not say who declined: the words of the sampled answers do
            refused = figures.pop("refusal")
            figures.setdefault("abstention", refused)
        topics: dict[str, int] = {}
        if name in questions:
            asked = questions[name]
            topics = asked.topics
            if asked.n_compared:
                figures["question_drift"] = rate(asked.n_far, asked.n_compared)
        n = logged[name].n if name in logged else 0
        days.append(Day(day=name, n_queries=n, figures=figures, topics=topics, complete=name < today.isoformat()))
    newest = list(scores.values())
    better = {key: one for found in newest for key, one in found.better.items()}
    half = {key: one for found in newest for key, one in found.half.items()}
    watched = {key: _watched(key, way, thresholds) for key, way in better.items() if way in ("higher", "lower")}
    infos = _infos(days, better, thresholds)
    return History(tuple(days), infos, watched, restart, scores, samples, questions, half)


def _watched(key: str, better: str, thresholds: Thresholds) -> Watched:
    found = thresholds.of(key)
    limit = None if found is None else found.broken if found.broken is not None else found.good
    return Watched(better="lower" if better == "lower" else "higher", threshold=limit)


def _infos(days: Iterable[Day], better: Mapping[str, str], thresholds: Thresholds) -> dict[str, SeriesInfo]:
    found = {name for day in days for name in day.figures}
    infos = {}
    for name in [*(n for n in LOGGED if n in found), *sorted(found - set(LOGGED))]:
        if name in _TITLES:
            title, unit, way = _TITLES[name]
            source: Literal["log", "questions"] = "questions" if name == "question_drift" else "log"
            limit = thresholds.of(name) if name == "zero_results" else None  # other names mean something else there
            infos[name] = SeriesInfo(
                name=name, title=title, unit=unit, better=way, source=source, threshold=limit.good if limit else None
            )
            continue
        limit = thresholds.of(name)
        known = better.get(name, "higher")
        infos[name] = SeriesInfo(
            name=name, title=name.replace("_", " ").capitalize(), unit="score", source="judged",
            better="lower" if known == "lower" else "none" if known == "none" else "higher",
            threshold=limit.good if limit else None,
        )  # fmt: skip
    return infos


def logged_figures(day: DailyLog) -> Iterable[tuple[str, Figure]]:
    """The figures that need no judge. A series without a denominator is absent, not 0."""
    if day.top_score is not None:
        top = day.top_score
        yield "top_similarity", mean(top.mean, top.sd or 0.0, top.n)
    if day.n_chunks_known:
        yield "zero_results", rate(day.n_zero_results, day.n_chunks_known)
    for found in day.total_ms:
        yield f"p{100 * found.q:g}_ms", _quantile(found)
    if day.n_latency_known:
        yield "slow", rate(day.n_slow, day.n_latency_known)
    if day.n_abstained_known:
        yield "abstention", rate(day.n_abstained, day.n_abstained_known)
    n_rated = day.n_up + day.n_down
    if n_rated:
        yield "thumbs_down", rate(day.n_down, n_rated)
    if day.n:
        yield "feedback", rate(n_rated, day.n)


def _quantile(found: Quantile) -> Figure:
    return Figure(
        kind="quantile", value=found.value, n=found.n, low=found.low, high=found.high, method="order statistics"
    )


def judged_figures(sample: DaySample, scores: DayScores, thresholds: Thresholds) -> Iterable[tuple[str, Figure]]:
    """Each judged metric on the scale 0 to 1, estimated for the whole day from the sample."""
    for key, values in sorted(scores.values.items()):
        if not values or any(not 0.0 <= value <= 1.0 for value in values.values()):
            continue
        drawn = {one.id for one in sample.drawn if one.probability is not None}
        known = {name: value for name, value in values.items() if name in drawn}
        if not known:
            continue
        found = estimate(sample, known)
        threshold, way = thresholds.of(key), scores.better.get(key, "higher")
        low = _n_low(known.values(), threshold, way)
        estimated = found.estimate
        yield key, Figure(
            kind="mean", value=estimated.value, n=max(found.n_effective, 1.0), sd=found.sd, low=estimated.low,
            high=estimated.high, method=estimated.method, n_judged=len(known), n_low=low,
            n_unscored=scores.unscored.get(key, 0),
        )  # fmt: skip


def _n_low(values: Iterable[float], threshold: Threshold | None, better: str) -> int | None:
    if threshold is None or better not in ("higher", "lower"):
        return None
    sign = 1.0 if better == "higher" else -1.0
    return sum(sign * value < sign * threshold.good - 1e-9 for value in values)


def pooled_now(days: Sequence[Day], series: str, n_days: int = NOW_DAYS) -> Estimate | None:
    """The last days of a judged series together: weighted by queries of the day, Wilson at the effective number."""
    found = [(day.n_queries, day.figures[series]) for day in days[-n_days:] if series in day.figures]
    total = sum(n for n, _ in found)
    if not found or total == 0:
        return None
    value = math.fsum(n / total * f.value for n, f in found)
    variance = math.fsum((n / total) ** 2 * (f.sd or 0.0) ** 2 / f.n for n, f in found)
    n = sum(f.n_judged or round(f.n) for _, f in found)
    spread = max(value * (1 - value), 0.25 / max(n, 1))
    low, high = wilson_bounds(value, max(1.0, spread / variance if variance > 0 else n), two_sided_z(0.95))
    return Estimate(value=value, low=low, high=high, n=max(1, n), method=f"{len(found)} days, weighted by queries")


def bottleneck_now(history: History, thresholds: Thresholds) -> tuple[Bottleneck | None, dict[str, MetricResult]]:
    """The judged metric to work on now, by the same rules as for runs, and the pooled figures behind it."""
    results = {}
    for key in history.watched:
        pooled = pooled_now(history.days, key)
        if pooled is None:
            continue
        threshold, better = thresholds.of(key), history.watched[key].better
        half = history.half.get(key, "both")
        results[key] = MetricResult(
            key=key, estimate=pooled, n_asked=pooled.n, better=better,
            half="retrieval" if half == "retrieval" else "generation" if half == "generation" else "both",
            threshold=threshold.good if threshold else None, verdict=_verdict(pooled.value, threshold, better),
        )  # fmt: skip
    summary = Summary(n_rows=sum(day.n_queries for day in history.days[-NOW_DAYS:]), metrics=results)
    return bottleneck(summary), results


def _verdict(value: float, threshold: Threshold | None, better: str) -> Literal["good", "below", "broken", "none"]:
    from ragauge.analysis.thresholds import judge_value

    return judge_value(value, threshold, better)


NOTE = SAMPLING_ONLY
