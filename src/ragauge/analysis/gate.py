"""Pass, fail, or could not be judged: one run against floors, a baseline and ceilings."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Literal

from ragauge.analysis.baseline import Baseline, fingerprint_of
from ragauge.analysis.columns import RunTable
from ragauge.analysis.drops import DropCheck, applies_nowhere, drop_checks
from ragauge.analysis.flips import explain_rows
from ragauge.analysis.gate_result import Check, GateResult, NamedQuestion, Verdict
from ragauge.analysis.gate_settings import GateSettings
from ragauge.analysis.pairing import Pairing, judge_change, pair_items
from ragauge.analysis.passrate import QuestionCheck, check_questions, read_run
from ragauge.analysis.summarise import summarise_table
from ragauge.analysis.thresholds import Thresholds
from ragauge.core.metric import names_of
from ragauge.core.run import Manifest, MetricResult, Record, Summary
from ragauge.core.score import Kind, kind_of
from ragauge.errors import Reason, SettingsError, UsageError, nearest
from ragauge.stats.intervals import proportion_interval

#: Questions named for each failed check.
N_QUESTIONS = 10


@dataclass
class _Gate:
    table: RunTable
    own: dict[str, float]
    summary: Summary
    settings: GateSettings
    baseline: Baseline | None
    now: datetime
    questions: list[QuestionCheck]


def gate(
    manifest: Manifest,
    records: Callable[[], Iterable[Record]],
    settings: GateSettings,
    baseline: Baseline | None = None,
    *,
    now: datetime | None = None,
) -> GateResult:
    """Judge one run. Raises `UsageError` when there is nothing to check it against.

    `records` is called twice: for the numbers, and for the reasons of the questions that got worse.
    """
    table, own = read_run(manifest, records())
    state = _Gate(table, own, summarise_table(table), settings, baseline, now or datetime.now(UTC), [])
    if settings.pass_rate is not None:
        state.questions = check_questions(table, own, settings.pass_rate)
    rules = [*_floors(state), *_ceilings(state), *_pass_rate(state)]
    if not rules and baseline is None:
        raise UsageError(
            "the gate has nothing to check",
            hint="Give --baseline FILE, a --floor, or a `gate` section in ragauge.yaml.",
        )
    warnings: list[str] = []
    checks = [*_complete(state), *_errors(state), *_answers(state)]
    if baseline is not None:
        checks += _against(state, baseline, records, warnings)
    checks += rules
    worst = {check.verdict for check in checks}
    verdict: Verdict = "fail" if "fail" in worst else "inconclusive" if "inconclusive" in worst else "pass"
    return GateResult(
        verdict=verdict,
        checks=tuple(checks),
        run=manifest.run,
        baseline=baseline.run if baseline else None,
        suite=manifest.dataset.name,
        n_questions=len(table.ids),
        warnings=tuple(warnings),
        settings=settings,
        questions=tuple(
            NamedQuestion(id=check.id, question=check.question, why="; ".join(check.problems))
            for check in state.questions
        ),
        outcomes={check.id: check.outcome for check in state.questions},
    )


def _complete(state: _Gate) -> Iterator[Check]:
    """A run that was killed half-way is not a run."""
    expected = state.table.manifest.dataset.n_items
    n = len(state.table.ids)
    short = n < state.settings.min_questions
    if state.summary.complete and not short:
        return
    reason = (
        f"the run is not finished: {state.table.n_rows} rows of {(expected or 0) * state.table.manifest.repeats}"
        if not state.summary.complete
        else f"only {n} questions: fewer than {state.settings.min_questions} decide nothing"
    )
    yield Check(name="complete", kind="complete", observed=n, n=n, verdict="inconclusive", reason=reason)


def _errors(state: _Gate) -> Iterator[Check]:
    """Scores that should be there and are not."""
    limit = state.settings.max_error_share
    worst: tuple[float, str] = (0.0, "")
    over = []
    for key, column in state.table.columns.items():
        n_errors = sum(kind_of(reason) is not Kind.NOT_APPLICABLE for reason in column.unscored.values())
        share = n_errors / column.n_asked if column.n_asked else 0.0
        worst = max(worst, (share, key))
        if share > limit:
            over.append(f"{key} {n_errors} of {column.n_asked}")
    share, key = worst
    yield Check(
        name="errors",
        kind="errors",
        metric=key or None,
        limit=limit,
        observed=share,
        n=len(state.table.ids),
        verdict="inconclusive" if over else "pass",
        reason=f"too many scores are missing: {'; '.join(over[:5])}" if over else "",
    )


def _answers(state: _Gate) -> Iterator[Check]:
    """Blank answers are in no mean, so they must not pass unseen: too many of them fail the gate by themselves."""
    limit = state.settings.max_error_share
    mixed = [column for column in state.table.columns.values() if column.values]
    n_blank = max((Counter(column.unscored.values())[Reason.NO_ANSWER] for column in mixed), default=0)
    if not n_blank:
        return
    share = n_blank / len(state.table.ids)
    over = share > limit
    yield Check(
        name="answers",
        kind="errors",
        limit=limit,
        observed=share,
        n=len(state.table.ids),
        verdict="fail" if over else "pass",
        reason=f"{n_blank} of {len(state.table.ids)} questions got a blank answer" if over else "",
    )


def _floors(state: _Gate) -> Iterator[Check]:
    for key, limit in _floor_limits(state):
        results = [result for name, result in state.summary.metrics.items() if key in names_of(name)]
        if not results:
            known = list(state.summary.metrics)
            near = nearest(key, known)
            yield Check(
                name=f"floor {key}",
                kind="floor",
                metric=key,
                limit=limit,
                verdict="inconclusive",
                reason=f"the run has no metric {key!r}" + (f" (did you mean {near[0]!r}?)" if near else ""),
            )
        for result in results:
            info = state.table.columns[result.key].spec.info
            if not info.low <= limit <= info.high:
                raise SettingsError(
                    f"gate.floors.{key}: {limit:g} is outside of the metric's range",
                    hint=f"{result.key} lies between {info.low:g} and {info.high:g}.",
                )
            yield _floor(state, result, limit)


def _floor_limits(state: _Gate) -> list[tuple[str, float]]:
    floors = state.settings.floors
    if not isinstance(floors, str):
        return list(floors.items())
    thresholds = Thresholds.model_validate(state.table.manifest.thresholds or {})
    known = [(key, thresholds.of(key)) for key in state.summary.metrics]
    return [(key, threshold.good) for key, threshold in known if threshold is not None]


def _floor(state: _Gate, result: MetricResult, limit: float) -> Check:
    """A floor; for metrics where lower is better, a ceiling."""
    estimate = result.estimate
    lower = result.better == "lower"
    name = f"{'ceiling' if lower else 'floor'} {result.key}"
    n = estimate.n if estimate else 0
    if estimate is None or n < min(state.settings.min_questions, n + result.n_errors):
        reason = f"only {n} of {result.n_asked} questions were scored"
        return Check(
            name=name, kind="floor", metric=result.key, limit=limit, verdict="inconclusive", n=n, reason=reason
        )
    gap = (limit - estimate.value) if lower else (estimate.value - limit)
    verdict: Verdict = "pass" if gap >= -1e-9 else "fail"
    n_needed = None
    if state.settings.floor_rule == "confidence" and estimate.low is not None and estimate.high is not None:
        surely_good = estimate.high <= limit if lower else estimate.low >= limit
        surely_bad = estimate.low > limit if lower else estimate.high < limit
        verdict = "pass" if surely_good else "fail" if surely_bad else "inconclusive"
        if verdict == "inconclusive" and abs(gap) > 1e-9:
            half = (estimate.high - estimate.low) / 2.0
            n_needed = math.ceil(estimate.n * (half / abs(gap)) ** 2)
    return Check(
        name=name,
        kind="floor",
        metric=result.key,
        limit=limit,
        observed=estimate.value,
        low=estimate.low,
        high=estimate.high,
        verdict=verdict,
        n=estimate.n,
        n_needed=n_needed,
        reason="" if verdict == "pass" else f"{result.key} is {estimate.value:.3f}, the limit is {limit:g}",
        questions=() if verdict == "pass" else _named(state, result.worst),
    )


def _named(state: _Gate, ids: Iterable[str]) -> tuple[NamedQuestion, ...]:
    return tuple(NamedQuestion(id=item, question=state.table.questions.get(item, "")) for item in ids)[:N_QUESTIONS]


def _pass_rate(state: _Gate) -> Iterator[Check]:
    settings = state.settings.pass_rate
    if settings is None:
        return
    counts = {name: sum(c.outcome == name for c in state.questions) for name in ("passed", "failed", "unknown")}
    n = len(state.questions)
    if n < state.settings.min_questions:
        reason = f"per-question checks apply to {n} questions only: is there a recall, faithfulness or keyword metric?"
        yield Check(name="pass rate", kind="pass_rate", limit=settings.min, verdict="inconclusive", n=n, reason=reason)
        return
    estimate = proportion_interval(counts["passed"], n)
    at_best = (counts["passed"] + counts["unknown"]) / n
    verdict: Verdict = "inconclusive"
    if estimate.value >= settings.min - 1e-9:
        verdict = "pass"
    elif at_best < settings.min - 1e-9:
        verdict = "fail"
    bad = [check for check in state.questions if check.outcome != "passed"]
    reason = f"{counts['passed']} of {n} questions pass their checks" + (
        f", {counts['unknown']} could not be judged" if counts["unknown"] else ""
    )
    yield Check(
        name="pass rate",
        kind="pass_rate",
        limit=settings.min,
        observed=estimate.value,
        low=estimate.low,
        high=estimate.high,
        verdict=verdict,
        n=n,
        reason=reason,
        questions=tuple(
            NamedQuestion(id=check.id, question=check.question, why="; ".join(check.problems))
            for check in bad[:N_QUESTIONS]
        ),
    )


def _ceilings(state: _Gate) -> Iterator[Check]:
    """Cost and latency: a ceiling that cannot be read is not kept."""
    settings, table = state.settings, state.table
    usages = [usage for usage in (table.system_usage, table.judge_usage) if usage.calls or usage.cost_usd is not None]
    costs = [usage.cost_usd for usage in usages]
    known = [cost for cost in costs if cost is not None]
    total = math.fsum(known) if len(known) == len(costs) else None
    per_question = None if total is None or not table.ids else total / len(table.ids)
    for name, limit, cost in (
        ("cost", settings.max_cost_usd, total),
        ("cost per question", settings.max_cost_per_question_usd, per_question),
    ):
        if limit is not None:
            yield _ceiling(name, "cost", limit, cost, len(table.ids), "the price of some calls is unknown")
    for name, limit in settings.max_latency_ms.items():
        value = state.summary.latency_ms.get(name)
        offered = ", ".join(state.summary.latency_ms) or "none"
        yield _ceiling(
            f"latency {name}", "latency", limit, value, len(table.ids), f"no such latency was recorded ({offered})"
        )


def _ceiling(name: str, kind: Literal["cost", "latency"], limit: float, value: float | None, n: int, why: str) -> Check:
    verdict: Verdict = "inconclusive" if value is None else "pass" if value <= limit else "fail"
    reason = why if value is None else f"{value:g}, the ceiling is {limit:g}" if value > limit else ""
    return Check(name=name, kind=kind, limit=limit, observed=value, verdict=verdict, n=n, reason=reason)


def _against(
    state: _Gate, baseline: Baseline, records: Callable[[], Iterable[Record]], warnings: list[str]
) -> list[Check]:
    pairing = _pairing(state.table, baseline)
    checks = [*_usable(state, baseline, pairing, warnings)]
    change = judge_change(baseline.judge, state.table.manifest.judge)
    if change:
        warnings.append(f"The judge is not the baseline's ({change}): judged metrics cannot be compared.")
    if baseline.repeats != state.table.manifest.repeats:
        warnings.append(
            f"The baseline has {baseline.repeats} repeats of each question, this run {state.table.manifest.repeats}."
        )
    new = sorted(set(state.table.columns) - set(baseline.metrics))
    if new:
        warnings.append(f"Not in the baseline, so not compared: {', '.join(new)}.")
    nowhere = [key for key in sorted(baseline.metrics) if applies_nowhere(key, state.table, baseline)]
    if nowhere:
        warnings.append(
            f"No question has a value in the baseline or in this run, so not compared: {', '.join(nowhere)}."
        )
    found = drop_checks(state.table, baseline, pairing.shared, state.settings, judge_differs=change is not None)
    worse: dict[str, set[str]] = {}
    for drop in found:
        if drop.verdict != "pass":
            for item in drop.worse[:N_QUESTIONS]:
                worse.setdefault(item, set()).add(drop.key)
    told = explain_rows(records(), worse) if worse else {}
    return checks + [_drop(state, drop, told) for drop in found]


def _pairing(table: RunTable, baseline: Baseline) -> Pairing:
    before = {item: entry.fingerprint for item, entry in baseline.items.items()}
    return pair_items(before, {item: fingerprint_of(table, item) for item in table.ids})


def _usable(state: _Gate, baseline: Baseline, pairing: Pairing, warnings: list[str]) -> Iterator[Check]:
    """Whether this baseline can judge this run at all."""
    n, known = len(pairing.shared), len(baseline.items)
    share = n / known if known else 0.0
    if pairing.changed or pairing.only_a or pairing.only_b:
        warnings.append(
            f"The golden set is not the baseline's: {n} questions in common, {len(pairing.changed)} changed, "
            f"{len(pairing.only_a)} only in the baseline, {len(pairing.only_b)} only in this run."
        )
    reasons = []
    if share < state.settings.min_shared:
        reasons.append(f"only {n} of the baseline's {known} questions are in this run unchanged")
    elif n < state.settings.min_questions:
        reasons.append(f"only {n} questions in common")
    age = _age_days(baseline.created, state.now)
    limit = state.settings.max_baseline_age_days
    if limit is not None and (age is None or age > limit):
        reasons.append(
            f"the baseline is {f'{age:.0f}' if age is not None else 'of unknown age,'} days old, the limit is {limit:g}"
        )
    if reasons:
        yield Check(
            name="baseline",
            kind="baseline",
            limit=state.settings.min_shared,
            observed=share,
            n=n,
            verdict="inconclusive",
            reason="; ".join(reasons),
        )


def _age_days(created: str, now: datetime) -> float | None:
    try:
        made = datetime.fromisoformat(created)
    except ValueError:
        return None
    made = made if made.tzinfo else made.replace(tzinfo=UTC)
    return (now - made).total_seconds() / 86400.0


def _drop(state: _Gate, drop: DropCheck, told: Mapping[tuple[str, str], tuple[str, str]]) -> Check:
    return Check(
        name=f"drop {drop.key}",
        kind="drop",
        metric=drop.key,
        limit=drop.limit,
        observed=drop.loss,
        low=drop.low,
        high=drop.high,
        verdict=drop.verdict,
        n=drop.n,
        n_needed=drop.n_needed,
        false_alarm=drop.false_alarm,
        reason=drop.reason,
        questions=()
        if drop.verdict == "pass"
        else tuple(
            NamedQuestion(
                id=item, question=state.table.questions.get(item, ""), why=told.get((drop.key, item), ("", ""))[1]
            )
            for item in drop.worse[:N_QUESTIONS]
        ),
    )
