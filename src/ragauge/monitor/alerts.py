"""Alerts as a pure function of the days: each begins once, ends once, and a quiet day after it says nothing.

`replay` walks through the log's days as if `check` had been run every morning. While an alert stands, its reference is
the one from before it began, and its days never become part of what is ordinary (`accepted` makes them so on purpose).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from pydantic import Field

from ragauge.core.model import Model, fingerprint
from ragauge.monitor.days import LOGGED, Day
from ragauge.monitor.readings import (
    Frame,
    Point,
    Reading,
    deviation,
    frame,
    grown_topics,
    naive_rate,
    points,
    read,
    split,
)
from ragauge.monitor.rules import Limit, Mix, Naive, Rule, Shift, Spike

#: Good days in a row that end an alert.
QUIET_DAYS = {"shift": 3, "spike": 2, "limit": 2, "mix": 3}
#: A series that had no figure for this many days cannot be judged.
LAG_DAYS = 3


class Watched(Model):
    """What the alerts need to know of a judged metric: which way is bad, and the limit that `score_below…` uses."""

    better: Literal["higher", "lower"] = "higher"
    threshold: float | None = None


class Alert(Model):
    """One alert. `since`: the first day of the trouble as far as the figures tell; `raised`: the day it was noticed.

    `value` against `expected` (the reference level or the limit), `effect` on the bad side. `low`: per judged metric,
    how many of the newest day's judged answers are below its threshold, of how many.
    """

    id: str
    rule: str
    kind: str
    series: str
    severity: Literal["page", "warn"]
    status: Literal["firing", "resolved"]
    since: str
    raised: str
    resolved: str | None = None
    day: str
    value: float
    expected: float
    effect: float
    says: str
    guard: str
    low: dict[str, tuple[int, int]] = Field(default_factory=dict)


class Unjudged(Model):
    """A rule that could not be judged on the newest day, and why. `learning`: its reference is still too short."""

    rule: str
    series: str
    why: str
    learning: bool = False


class NaiveRate(Model):
    """How often a naive rule rings on days when nothing changed, by this log's own figures."""

    rule: str
    series: str
    per_day: float
    per_60_days: float


class Standing(Model):
    """How things stand after the newest day: alerts (firing first, newest first), what was judged, what was not."""

    day: str | None
    alerts: tuple[Alert, ...] = ()
    judged: int = 0
    unjudged: tuple[Unjudged, ...] = ()
    unwatched: tuple[str, ...] = ()
    naive: tuple[NaiveRate, ...] = ()

    @property
    def firing(self) -> tuple[Alert, ...]:
        """Those that stand now."""
        return tuple(alert for alert in self.alerts if alert.status == "firing")

    @property
    def cannot_be_judged(self) -> bool:
        """Nothing could be judged, or something could not that could be before."""
        return self.judged == 0 or any(not one.learning for one in self.unjudged)


@dataclass
class _State:
    """One rule on one series, walked through the days."""

    rule: Rule
    series: str
    limit: float | None
    found: list[Point | None]
    masked: set[int] = field(default_factory=set)
    base: Frame | None = None
    standing: Alert | None = None
    worst: float = 0.0
    good: list[int] = field(default_factory=list)
    not_before: int = 0
    read_on: int | None = None
    short: int | None = None


def replay(
    days: Sequence[Day],
    rules: Sequence[Rule],
    metrics: Mapping[str, Watched] | None = None,
    accepted: Mapping[str, str] | None = None,
) -> Standing:
    """Every alert of these days (oldest first, no day missing) and how things stand after the last.

    `metrics`: judged series → which way is bad and its threshold. `accepted`: "rule/series" → the first day of a new
    normal; what was before is no reference any more. Deterministic; the cost is days × rules.
    """
    metrics, accepted = metrics or {}, accepted or {}
    alerts: list[Alert] = []
    judged = 0
    unjudged: list[Unjudged] = []
    unwatched: list[str] = []
    naive: list[NaiveRate] = []
    for rule, series in watched(days, rules, metrics):
        of = metrics.get(series, Watched())
        if isinstance(rule, Limit) and rule.limit is None and of.threshold is None:
            unwatched.append(f"{rule.name}: {series} has no threshold")
            continue
        if series in metrics and of.better == "lower":
            rule = rule.model_copy(update={"direction": "up" if rule.direction == "down" else "down"})
        begin = next((i for i, d in enumerate(days) if d.day >= accepted.get(f"{rule.name}/{series}", "")), len(days))
        found = points(rule, days, series, begin=begin)
        if not any(p is not None for p in found):
            unwatched.append(f"{rule.name}: no day has {rule.min_n} values of {series}")
            continue
        state = _State(rule, series, of.threshold, found)
        for at in range(len(days)):
            alerts += _step(state, at, days)
        if state.standing is not None:
            alerts.append(_now(state.standing, days))
        why = _why_not(state, days)
        judged += why is None
        unjudged += [why] if why is not None else []
        if isinstance(rule, Naive):
            naive += _naive_rates(rule, series, found)
    ordered = sorted(alerts, key=lambda a: (a.raised, a.rule, a.series), reverse=True)
    ordered.sort(key=lambda a: (a.status != "firing", a.severity != "page"))
    return Standing(
        day=days[-1].day if days else None,
        alerts=tuple(ordered),
        judged=judged,
        unjudged=tuple(unjudged),
        unwatched=tuple(unwatched),
        naive=tuple(naive),
    )


def watched(days: Sequence[Day], rules: Sequence[Rule], metrics: Mapping[str, Watched]) -> Iterator[tuple[Rule, str]]:
    """Each enabled rule with each series that it is for: "*" is every judged metric that the days have."""
    found = {name for day in days for name in day.figures} - set(LOGGED)
    judged = sorted(name for name in found if name in metrics or not metrics)
    for rule in rules:
        if rule.enabled:
            for series in judged if rule.series == "*" else [rule.series]:
                yield rule, series


def _step(state: _State, at: int, days: Sequence[Day]) -> Iterator[Alert]:
    """Take in day `at`; gives the alert that ended with it."""
    point = state.found[at]
    if point is None:
        return
    if state.standing is not None and isinstance(state.rule, Naive):  # it knows of no state: each day by itself
        yield _ended(state, at, days)
    if state.standing is not None:
        yield from _standing(state, at, days)
        return
    rule = state.rule
    reading, base = _reading(state, at, days)
    if reading is None or base is None:
        return
    state.read_on = at
    if reading.alarm:
        state.base, state.worst, state.good = base, reading.effect, []
        state.standing = _alert(state, reading, base, at, days)
        if not isinstance(rule, Naive):
            state.masked.update(range(reading.since, at + 1))


def _reading(state: _State, at: int, days: Sequence[Day]) -> tuple[Reading | None, Frame | None]:
    rule = state.rule
    before, tested = split(rule, state.found, at, frozenset(state.masked))
    tested = [p for p in tested if p.place >= state.not_before]
    first = tested[0].place if tested else at
    if isinstance(rule, Naive) and rule.against == "yesterday":
        last = state.found[at - 1] if at else None
        base = Frame(last.figure.value, at, 1) if last is not None else None
    else:
        state.short = None if before or isinstance(rule, Limit) else sum(p is not None for p in state.found[: at + 1])
        base = frame(rule, before, first, days)
    if base is None:
        return None, None
    return read(rule, base, tested, days, state.limit), base


def _standing(state: _State, at: int, days: Sequence[Day]) -> Iterator[Alert]:
    """A day while the alert stands: is it a good one, and are there enough of them?"""
    assert state.base is not None
    assert state.standing is not None
    state.read_on = at
    good = _is_good(state, at, days)
    state.masked.add(at)
    state.good = [*state.good, at] if good else []
    if len(state.good) >= QUIET_DAYS[state.rule.kind]:
        state.masked -= set(state.good)
        state.not_before = state.good[0]
        yield _ended(state, at, days)


def _ended(state: _State, at: int, days: Sequence[Day]) -> Alert:
    assert state.standing is not None
    ended = {"status": "resolved", "resolved": days[at].day, "day": days[at].day, "low": {}}
    alert = state.standing.model_copy(update=ended)
    state.standing, state.base = None, None
    return alert


def _is_good(state: _State, at: int, days: Sequence[Day]) -> bool:
    rule, base, point = state.rule, state.base, state.found[at]
    assert base is not None
    assert point is not None
    sign = 1.0 if rule.direction == "up" else -1.0
    if isinstance(rule, Shift):
        return deviation(base, point, sign) < state.worst / 2
    if isinstance(rule, Limit):
        limit = rule.limit if rule.limit is not None else state.limit
        return limit is not None and sign * (point.figure.value - limit) <= 0
    if isinstance(rule, Spike):
        return point.figure.value - base.rate < max(rule.min_effect, state.worst / 2)
    if isinstance(rule, Mix):
        window = [p for p in state.found[max(0, at - rule.window + 1) : at + 1] if p is not None]
        reading = read(rule, base, window, days, None)
        return reading is not None and reading.effect < max(rule.min_effect, state.worst / 2)
    return True


def _alert(state: _State, reading: Reading, base: Frame, at: int, days: Sequence[Day]) -> Alert:
    rule, since = state.rule, days[reading.since].day
    return Alert(
        id=fingerprint([rule.name, state.series, days[at].day]),
        rule=rule.name,
        kind=rule.kind,
        series=state.series,
        severity=rule.severity,
        status="firing",
        since=since,
        raised=days[at].day,
        day=days[at].day,
        value=reading.value,
        expected=reading.against,
        effect=reading.effect,
        says=sentence(rule, state.series, reading, base, since, days[max(0, at - 6) : at + 1]),
        guard=_guard(rule, reading, base),
        low=low_counts(days[at]) if state.series not in LOGGED else {},
    )


def _now(alert: Alert, days: Sequence[Day]) -> Alert:
    low = low_counts(days[-1]) or alert.low if alert.series not in LOGGED else {}
    return alert.model_copy(update={"day": days[-1].day, "low": low})


def low_counts(day: Day) -> dict[str, tuple[int, int]]:
    """Judged metric → (answers below its threshold, answers judged)."""
    return {
        name: (figure.n_low, figure.n_judged)
        for name, figure in sorted(day.figures.items())
        if figure.n_low and figure.n_judged
    }


_NAMES = {
    "top_similarity": "mean top-1 similarity", "zero_results": "queries without any result",
    "slow": "queries slower than the limit", "abstention": "declined answers", "thumbs_down": "thumbs down",
    "question_drift": "questions unlike the golden set",
}  # fmt: skip


def sentence(rule: Rule, series: str, reading: Reading, base: Frame, since: str, window: Sequence[Day]) -> str:
    """What happened, in one line."""
    name, share = _NAMES.get(series, series), series in LOGGED and series != "top_similarity"
    value, against = _shown(reading.value, share), _shown(reading.against, share)
    if isinstance(rule, Mix):
        grown = ", ".join(f"{t} {a:.0%} → {b:.0%}" for t, a, b in grown_topics(base, window))
        return f"what users ask has moved by {reading.value:.0%} within {rule.window} days ({grown})"
    if isinstance(rule, Limit):
        side = "above" if rule.direction == "up" else "below"
        if series == "slow":
            return f"{value} of the queries are slower than the limit (a p95 within it leaves 5 %)"
        return f"{name} is {value}, {side} the limit of {against}"
    word = "rose" if rule.direction == "up" else "fell"
    relative = f" ({reading.effect / abs(reading.against):.0%} {'up' if word == 'rose' else 'down'})" if (
        reading.against and not share
    ) else ""  # fmt: skip
    return f"{name} {word} from {against} to {value}{relative} since {since}"


def _shown(value: float, share: bool) -> str:
    return f"{100 * value:.3g} %" if share else f"{value:.3g}"


def _guard(rule: Rule, reading: Reading, base: Frame) -> str:
    if isinstance(rule, Shift):
        return f"CUSUM {reading.statistic:.1f} > {reading.bound:g} against {base.n_days} days, n = {reading.n:.0f}"
    if isinstance(rule, Naive):
        return "none: a naive rule"
    p = f"p = {10.0**-reading.statistic:.1g}, alarm below {10.0**-reading.bound:.1g}, n = {reading.n:.0f}"
    return p if isinstance(rule, Limit) else f"{p}, against {base.n_days} days"


def _why_not(state: _State, days: Sequence[Day]) -> Unjudged | None:
    """None when the rule was judged on one of the last days that had a figure."""
    usable = [p.place for p in state.found if p is not None]
    lag = len(days) - 1 - usable[-1]
    name, series = state.rule.name, state.series
    if lag >= LAG_DAYS:
        why = f"no day since {days[usable[-1]].day} has {state.rule.min_n} values of {series}"
        return Unjudged(rule=name, series=series, why=why)
    if state.read_on is None or state.read_on < usable[-1]:
        needed = getattr(state.rule, "min_reference_days", 2)
        why = f"learning what is ordinary: {len(usable)} of {needed + 1} days"
        return Unjudged(rule=name, series=series, why=why, learning=True)
    return None


def _naive_rates(rule: Naive, series: str, found: Sequence[Point | None]) -> Iterator[NaiveRate]:
    per_day = naive_rate(rule, [p for p in found if p is not None][-rule.reference_days :])
    if per_day is not None:
        yield NaiveRate(rule=rule.name, series=series, per_day=per_day, per_60_days=1.0 - (1.0 - per_day) ** 60)
