"""Has a metric fallen below the baseline by more than it may?"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from ragauge.analysis.baseline import DECIMALS, Baseline
from ragauge.analysis.columns import RunTable
from ragauge.analysis.difference import Pairs, pair, span_of
from ragauge.analysis.gate_settings import GateSettings
from ragauge.analysis.pairing import asks_a_judge, why_not_comparable
from ragauge.core.metric import MetricInfo, names_of
from ragauge.core.score import Kind, kind_of
from ragauge.stats.noninferiority import (
    Decision,
    Drop,
    decide,
    drop_of_means,
    drop_of_rates,
    false_alarm_of_point_rule,
)


@dataclass(frozen=True)
class DropCheck:
    """One metric against the baseline. `loss` is positive when it got worse, in the metric's own unit."""

    key: str
    verdict: Literal["pass", "fail", "inconclusive"]
    limit: float | None = None
    loss: float | None = None
    low: float | None = None
    high: float | None = None
    n: int = 0
    n_needed: int | None = None
    false_alarm: float | None = None
    reason: str = ""
    worse: tuple[str, ...] = ()


@dataclass(frozen=True)
class _Candidate:
    key: str
    info: MetricInfo
    pairs: Pairs
    span: float
    gains: tuple[float, ...]  # new minus old as shares of the range, positive when it got better
    drop: Drop

    @property
    def worse(self) -> tuple[str, ...]:
        lost = [(gain, item) for gain, item in zip(self.gains, self.pairs.ids, strict=True) if gain < 0]
        return tuple(item for _, item in sorted(lost))


def drop_checks(
    table: RunTable, baseline: Baseline, shared: Sequence[str], settings: GateSettings, *, judge_differs: bool
) -> list[DropCheck]:
    """One check for each directed metric of the baseline that the settings do not skip.

    Fails closed: a metric that is missing, was defined otherwise, was judged by another judge or has too few pairs is
    inconclusive. The FAIL decisions are Holm-corrected over all metrics together.
    """
    keys = [key for key in _keys(baseline, settings) if not applies_nowhere(key, table, baseline)]
    found = [_candidate(key, table, baseline, shared, settings, judge_differs) for key in keys]
    candidates = [one for one in found if isinstance(one, _Candidate)]
    decisions = decide([one.drop for one in candidates], alpha=settings.drop.fail_alpha)
    concluded = iter([_concluded(one, what, settings) for one, what in zip(candidates, decisions, strict=True)])
    return [one if isinstance(one, DropCheck) else next(concluded) for one in found]


def applies_nowhere(key: str, table: RunTable, baseline: Baseline) -> bool:
    """Whether a metric has no value in the baseline, and none in the run because it applies to no question.

    A system that cites nothing has no citation accuracy: there is nothing that could have fallen.
    """
    column = table.columns.get(key)
    if key not in baseline.metrics or column is None or column.values or baseline.values_of(key):
        return False
    return all(kind_of(reason) is Kind.NOT_APPLICABLE for reason in column.unscored.values())


def _keys(baseline: Baseline, settings: GateSettings) -> Iterator[str]:
    drop = settings.drop
    for key, spec in baseline.metrics.items():
        names = set(names_of(key))
        if names & set(drop.skip) or (drop.metrics and not names & set(drop.metrics)):
            continue
        if spec.info.better != "none":
            yield key
    for name in drop.metrics:
        if not any(name in names_of(key) for key in baseline.metrics):
            yield name


def _candidate(
    key: str, table: RunTable, baseline: Baseline, shared: Sequence[str], settings: GateSettings, judge_differs: bool
) -> DropCheck | _Candidate:
    def unknown(reason: str, n: int = 0) -> DropCheck:
        return DropCheck(key, "inconclusive", limit=settings.drop.margin_of(key), n=n, reason=reason)

    spec, column = baseline.metrics.get(key), table.columns.get(key)
    if spec is None:
        return unknown("the baseline has no such metric")
    if column is None:
        why = table.manifest.skipped_metrics.get(key)
        return unknown(f"the run has no such metric{f': {why}' if why else ''}")
    problem = why_not_comparable(spec, column.spec)
    if problem:
        return unknown(f"not comparable with the baseline: {problem}")
    if judge_differs and asks_a_judge(column.spec):
        return unknown("it was judged by another judge than the baseline")
    now = {item: round(value, DECIMALS) for item, value in column.values.items()}
    pairs = pair(baseline.values_of(key), now, shared, table.clusters if settings.by_document else None)
    n = len(pairs.ids)
    if not baseline.values_of(key):
        return unknown("the baseline has no value of it: write the baseline anew", n)
    if n < min(settings.min_questions, max(2, len(baseline.values_of(key)))):
        return unknown(f"only {n} questions were scored in both", n)
    return _measured(key, spec.info, pairs, settings)


def _measured(key: str, info: MetricInfo, pairs: Pairs, settings: GateSettings) -> DropCheck | _Candidate:
    margin = settings.drop.margin_of(key)
    span = span_of(info, pairs)
    if span is None:
        return DropCheck(
            key,
            "inconclusive",
            limit=margin,
            n=len(pairs.ids),
            reason="it has no range, so a drop has no scale: skip it",
        )
    sign = -1.0 if info.better == "lower" else 1.0
    gains = tuple(sign * d / span for d in pairs.differences)
    alpha = 1.0 - settings.drop.confidence
    if len(pairs.ids) < 2:
        return DropCheck(key, "inconclusive", limit=margin, n=len(pairs.ids), reason="one question decides nothing")
    if pairs.is_rate and pairs.clusters is None and span == 1.0:
        up, down = sum(g > 0 for g in gains), sum(g < 0 for g in gains)
        drop = drop_of_rates(up, down, len(gains), margin, alpha=alpha)
    else:
        drop = drop_of_means(gains, margin, clusters=pairs.clusters, alpha=alpha, seed=settings.seed)
    return _Candidate(key, info, pairs, span, gains, drop)


def _concluded(one: _Candidate, decision: Decision, settings: GateSettings) -> DropCheck:
    drop, span = one.drop, one.span
    loss = -drop.difference
    n = len(one.pairs.ids)
    false_alarm = None
    if not any(one.gains):
        verdict, reason = Decision.PASS, f"the same on all {n} questions"
    elif settings.drop.rule == "point":
        verdict = Decision.FAIL if loss > drop.margin + 1e-9 else Decision.PASS
        false_alarm = false_alarm_of_point_rule(one.gains, drop.margin)
        reason = _point_reason(one, loss, verdict, false_alarm)
    else:
        verdict, reason = decision, _reason(one, decision, settings)
    return DropCheck(
        key=one.key,
        verdict=verdict.value,
        limit=drop.margin * span,
        loss=loss * span,
        low=-drop.high * span,
        high=-drop.low * span,
        n=n,
        n_needed=max(drop.n_needed, n + 1) if verdict is Decision.INCONCLUSIVE else None,
        false_alarm=false_alarm,
        reason=reason,
        worse=one.worse,
    )


def _reason(one: _Candidate, decision: Decision, settings: GateSettings) -> str:
    drop, span = one.drop, one.span
    confidence = f"{settings.drop.confidence:.0%} confidence"
    most, loss = -drop.low * span, -drop.difference * span
    n_worse = sum(g < 0 for g in one.gains)
    n_better = sum(g > 0 for g in one.gains)
    told = f"{n_worse} worse, {n_better} better of {drop.n}"
    if decision is Decision.PASS:
        return f"with {confidence} it got worse by no more than {max(0.0, most):.3f} (limit {drop.margin * span:g})"
    if decision is Decision.FAIL:
        return f"it got worse by {loss:.3f} (limit {drop.margin * span:g}): {told}"
    return (
        f"{drop.n} questions cannot tell: it got {'worse' if loss > 0 else 'better'} by {abs(loss):.3f}, "
        f"but may have got worse by {most:.3f} (limit {drop.margin * span:g}); {told}"
    )


def _point_reason(one: _Candidate, loss: float, verdict: Decision, false_alarm: float) -> str:
    way = "worse" if loss > 0 else "better"
    moved = f"it got {way} by {abs(loss) * one.span:.3f} (limit {one.drop.margin * one.span:g})"
    alarm = f"this rule fails {false_alarm:.0%} of the time although nothing changed"
    return f"{moved}; {alarm}" if verdict is Decision.FAIL or false_alarm >= 0.005 else moved


def any_false_alarm(checks: Sequence[float | None]) -> float:
    """The chance that at least one of several point rules fails although nothing changed, were they independent."""
    return 1.0 - math.prod(1.0 - rate for rate in checks if rate is not None)
