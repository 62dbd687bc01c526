"""A run as an alert: which metrics miss their thresholds, for how many rows, why rows fail, which are the worst."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from ragauge.analysis.thresholds import Thresholds
from ragauge.core.run import Manifest, MetricResult, Record, Summary
from ragauge.core.score import Scored
from ragauge.diagnose.diagnosis import Tried, diagnose_rows
from ragauge.outlets.alert import Alert, Entry, Group, Link, Measure
from ragauge.report.html_view import row_check
from ragauge.report.words import count, counts, interval, number, threshold

N_WORST, N_CAUSES, QUESTION = 5, 3, 200


@dataclass(frozen=True)
class RowFacts:
    """What the rows say: how many are good, bad, unknown; for each metric how many miss its threshold; the questions
    of the worst rows; why rows fail, as (cause, how many of them).
    """

    outcomes: Mapping[str, int]
    low: Mapping[str, int] = field(default_factory=dict)
    questions: Mapping[str, str] = field(default_factory=dict)
    causes: tuple[tuple[str, int], ...] = ()


def read_rows(
    manifest: Manifest, summary: Summary, records: Callable[[], Iterable[Record]], tried: Tried | None = None
) -> RowFacts:
    """One pass over the rows, after the diagnosis made its own."""
    thresholds = Thresholds.model_validate(manifest.thresholds) if manifest.thresholds else Thresholds()
    found = diagnose_rows(manifest, records, tried)
    causes = {(row.id, row.repeat): row for row in found.rows}
    worst = {item for result in summary.metrics.values() for item in result.worst}
    outcomes = {"good": 0, "bad": 0, "unknown": 0}
    low: dict[str, int] = {}
    questions: dict[str, str] = {}
    for record in records():
        outcomes[row_check(record, thresholds, causes.get(record.key)).outcome] += 1
        for key in _missed(record, summary):
            low[key] = low.get(key, 0) + 1
        if record.sample.item.id in worst:
            questions[record.sample.item.id] = record.sample.item.question
    return RowFacts(outcomes, low, questions, tuple((c.title, c.n) for c in found.causes))


def run_alert(manifest: Manifest, summary: Summary, rows: RowFacts, link: str | None = None) -> Alert:
    """`link`: an http(s) address where the report can be read.

    Firing where a metric misses its threshold or scores are missing because of errors; "alert" where one is broken.
    The key is the golden set and the system's name: the runs of one suite are one story.
    """
    low = [r for r in summary.metrics.values() if r.verdict in ("below", "broken")]
    low.sort(key=lambda result: result.verdict != "broken")
    n_errors = sum(result.n_errors for result in summary.metrics.values())
    misses = "1 metric misses its threshold" if len(low) == 1 else f"{len(low)} metrics miss their thresholds"
    state = misses if low else "no metric misses its threshold"
    if n_errors and not low:
        state += f", but {count(n_errors, 'score')} could not be had"
    groups = (
        Group(title="Why rows fail", entries=tuple(_causes(rows))),
        Group(title="Worst rows", entries=tuple(_worst(low, rows.questions))),
    )
    return Alert(
        key=f"run:{manifest.dataset.name}:{manifest.system.name}",
        event=manifest.run,
        title=f"{manifest.dataset.name[:60]}: {state}",
        state="firing" if low or n_errors else "ok",
        severity="alert" if any(r.verdict == "broken" for r in low) else ("warning" if low or n_errors else "info"),
        at=manifest.created,
        facts=tuple(_facts(manifest, summary, rows.outcomes, n_errors)),
        measures=tuple(_measure(result, rows.low) for result in low),
        groups=tuple(group for group in groups if group.entries),
        links=(Link(label="Open report", url=link),) if link is not None else (),
    )


def _facts(manifest: Manifest, summary: Summary, outcomes: Mapping[str, int], n_errors: int) -> Iterator[str]:
    unknown = f", {outcomes['unknown']} could not be judged" if outcomes.get("unknown") else ""
    yield f"{outcomes.get('bad', 0)} of {count(summary.n_rows, 'row')} fail{unknown}"
    yield f"Run {manifest.run[:100]}, system {manifest.system.name[:60]}"
    if n_errors:
        yield f"{count(n_errors, 'score')} missing because of errors"
    if not summary.complete:
        yield "The run is not finished."


def _measure(result: MetricResult, low: Mapping[str, int]) -> Measure:
    estimate = "" if result.estimate is None else f" ({interval(result.estimate)})"
    n_low = low.get(result.key, 0)
    parts = [threshold(result), f"n = {result.n}", f"{count(n_low, 'row misses', 'rows miss')} it"]
    if result.n_errors:
        parts.append(f"not scored: {counts(result.unscored)}")
    return Measure(
        name=result.key, value=number(result.value) + estimate, note=", ".join(parts), verdict=result.verdict
    )


def _missed(record: Record, summary: Summary) -> Iterator[str]:
    for key, score in record.scores.items():
        result = summary.metrics.get(key)
        if not isinstance(score, Scored) or result is None or result.threshold is None or result.better == "none":
            continue
        if score.value < result.threshold if result.better == "higher" else score.value > result.threshold:
            yield key


def _causes(rows: RowFacts) -> Iterator[Entry]:
    for title, n in rows.causes[:N_CAUSES]:
        yield Entry(name=str(n), text=title)


def _worst(low: Sequence[MetricResult], questions: Mapping[str, str]) -> Iterator[Entry]:
    """The rows that stand among the worst of most low metrics."""
    metrics: dict[str, list[str]] = {}
    for result in low:
        for item in result.worst:
            metrics.setdefault(item, []).append(result.key)
    ranked = sorted(metrics, key=lambda item: (-len(metrics[item]), list(metrics).index(item)))
    for item in ranked[:N_WORST]:
        yield Entry(name=item, text=questions.get(item, "")[:QUESTION], note=", ".join(metrics[item]))
