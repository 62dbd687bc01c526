"""One rule on one day: is it beyond what is ordinary, and by how much? Nothing here remembers an earlier day."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from ragauge.monitor.days import Day, Figure
from ragauge.monitor.rules import Limit, Mix, Naive, Rule, Shift, Spike
from ragauge.stats.charts import cusum
from ragauge.stats.quantiles import normal_sf, t_sf
from ragauge.stats.shift import DayValue, Reference, arcsine, overdispersed_tail, reference

#: Spread of single values below which a mean is taken to vary: nothing in production is exactly constant.
_LEAST_SD = 1e-3
_LARGE = 10**9


@dataclass(frozen=True)
class Point:
    """A usable figure of one day. `place`: the day's index."""

    place: int
    weekday: int
    figure: Figure


@dataclass(frozen=True)
class Frame:
    """What a day is measured against: raw `level`, and the reference on the chart's own scale. `first`: where the
    tested days begin.
    """

    level: float
    first: int
    n_days: int
    ref: Reference | None = None
    sd2: float = 0.0
    rate: float = 0.0
    between: float = 0.0
    n_total: int = 0
    topics: tuple[tuple[str, float], ...] = ()
    dispersion: float = 1.0


@dataclass(frozen=True)
class Reading:
    """What a rule says of a day. `effect`: how far on the bad side, in the figure's own unit; `since`: where it began.
    `statistic` against `bound` is what decided (a CUSUM and its h, or −log10 of a tail and of alpha).
    """

    alarm: bool
    value: float
    against: float
    effect: float
    since: int
    statistic: float
    bound: float
    n: float


def points(rule: Rule, days: Sequence[Day], series: str, *, begin: int = 0) -> list[Point | None]:
    """The figure of each day, None where there is none or too few. A day that is not over is only for the rules of a
    single day: a CUSUM would add it up again tomorrow.
    """
    early = isinstance(rule, Spike | Limit)
    found: list[Point | None] = []
    for place, day in enumerate(days):
        figure = _asked_about(day) if isinstance(rule, Mix) else day.figures.get(series)
        usable = figure is not None and figure.n >= rule.min_n and (day.complete or early) and place >= begin
        found.append(Point(place, day.weekday, figure) if usable and figure is not None else None)
    return found


def _asked_about(day: Day) -> Figure | None:
    n = sum(day.topics.values())
    return Figure(kind="rate", value=0.0, n=n, k=0.0) if n else None


def _on_scale(point: Point, sd2: float) -> DayValue:
    figure = point.figure
    if figure.kind == "rate":
        value, variance = arcsine(figure.k if figure.k is not None else figure.value * figure.n, figure.n)
        return DayValue(value, variance, point.weekday)
    return DayValue(figure.value, sd2 / figure.n, point.weekday)


def _sd2(found: Sequence[Point]) -> float:
    """Variance of single values: pooled over the reference, because a bad day's own may be 0 just when it matters."""
    known = [(p.figure.n, p.figure.sd**2) for p in found if p.figure.sd is not None]
    total = math.fsum(n for n, _ in known)
    return max(_LEAST_SD**2, math.fsum(n * v for n, v in known) / total if total else 0.0)


def split(
    rule: Rule, found: Sequence[Point | None], at: int, masked: frozenset[int]
) -> tuple[list[Point], list[Point]]:
    """(reference, tested) points for day `at`; an empty reference when there are too few days."""
    window = getattr(rule, "window", 1)
    days: int = getattr(rule, "reference_days", 28)
    needed: int = getattr(rule, "min_reference_days", 0)
    usable = [p for p in found[: at + 1] if p is not None and p.place not in masked]
    first = at - window + 1
    before = [p for p in usable if first - days <= p.place < first]
    if len(before) < needed and len(usable) > needed:  # the log is young: a shorter window, the first days as reference
        first = max(first, usable[needed].place)
        before = [p for p in usable if p.place < first][-days:]
    tested = [p for p in usable if p.place >= first]
    return (before if len(before) >= needed else []), tested


def frame(rule: Rule, before: Sequence[Point], first: int, days: Sequence[Day]) -> Frame | None:
    """The reference of a rule, or None when there is too little to have one."""
    if isinstance(rule, Limit):
        return _limit_frame(before, first)
    if len(before) < max(2, getattr(rule, "min_reference_days", 2)):
        return None
    if isinstance(rule, Mix):
        return _mix_frame([days[p.place] for p in before], first)
    sd2 = _sd2(before)
    ref = reference([_on_scale(p, sd2) for p in before])
    level = math.fsum(p.figure.value for p in before) / len(before)
    if isinstance(rule, Spike):
        n = math.fsum(p.figure.n for p in before)
        rate = math.fsum(p.figure.value * p.figure.n for p in before) / n
        return Frame(level, first, len(before), ref, sd2, rate, _rate_between(before), round(n))
    return Frame(level, first, len(before), ref, sd2)


def _rate_between(before: Sequence[Point]) -> float:
    values = []
    for p in before:
        shrunk = (p.figure.value * p.figure.n + 0.5) / (p.figure.n + 1.0)
        values.append(DayValue(p.figure.value, shrunk * (1.0 - shrunk) / p.figure.n, p.weekday))
    return reference(values).between if len(values) >= 2 else 0.0


def _limit_frame(before: Sequence[Point], first: int) -> Frame:
    """A limit needs no reference; how much days differ is taken from the days before, when there are a week of them."""
    if len(before) < 7:
        return Frame(0.0, first, len(before))
    if before[0].figure.kind == "rate":
        between = _rate_between(before)
    else:
        sd2 = _sd2(before)
        between = reference([_on_scale(p, sd2) for p in before]).between
    return Frame(0.0, first, len(before), between=between)


def _mix_frame(before: Sequence[Day], first: int) -> Frame | None:
    total: Counter[str] = Counter()
    for day in before:
        total.update(day.topics)
    n = sum(total.values())
    if n == 0 or len(total) < 2:
        return None
    chi2, cells = 0.0, 0
    for day in before:
        size = sum(day.topics.values())
        for topic, count in total.items():
            expected = size * count / n
            if expected > 0:
                chi2 += (day.topics.get(topic, 0) - expected) ** 2 / expected
                cells += 1
    df = max(1, (len(before) - 1) * (len(total) - 1))
    shares = tuple((topic, count / n) for topic, count in sorted(total.items()))
    return Frame(0.0, first, len(before), n_total=n, topics=shares, dispersion=max(1.0, chi2 / df) if cells else 1.0)


def read(rule: Rule, base: Frame, tested: Sequence[Point], days: Sequence[Day], limit: float | None) -> Reading | None:
    """What the rule says of the newest of `tested`. None: nothing can be said (no such day)."""
    if not tested:
        return None
    sign = 1.0 if rule.direction == "up" else -1.0
    if isinstance(rule, Shift):
        return _shift(rule, base, tested, sign)
    if isinstance(rule, Spike):
        return _spike(rule, base, tested[-1])
    if isinstance(rule, Limit):
        return _limit(rule, base, tested, sign, rule.limit if rule.limit is not None else limit)
    if isinstance(rule, Mix):
        return _mix(rule, base, [days[p.place] for p in tested], tested)
    return _naive(rule, base, tested, sign)


def deviation(base: Frame, point: Point, sign: float) -> float:
    """How far a day lies on the bad side of what its weekday leads one to expect, in the figure's unit."""
    if base.ref is None:
        return sign * (point.figure.value - base.level)
    expected = base.ref.expected(point.weekday)
    if point.figure.kind == "rate":
        expected = math.sin(min(max(expected, 0.0), math.pi / 2)) ** 2
    return sign * (point.figure.value - expected)


def _shift(rule: Shift, base: Frame, tested: Sequence[Point], sign: float) -> Reading:
    assert base.ref is not None
    z = [-sign * base.ref.z(_on_scale(p, base.sd2)) for p in tested]
    chart = cusum(z, k=rule.k, h=rule.h)
    start = max((i + 1 for i, s in enumerate(chart.statistic) if s <= 0.0), default=0)
    run = tested[start:] or tested[-1:]
    n = math.fsum(p.figure.n for p in run)
    effect = math.fsum(deviation(base, p, sign) * p.figure.n for p in run) / n
    floor = rule.min_effect * (abs(base.level) if rule.relative else 1.0)
    return Reading(
        chart.statistic[-1] > rule.h and effect >= floor,
        math.fsum(p.figure.value * p.figure.n for p in run) / n,
        base.level,
        effect,
        run[0].place,
        chart.statistic[-1],
        rule.h,
        n,
    )


def _minus_log10(p: float) -> float:
    return -math.log10(max(p, 1e-300))


def _spike(rule: Spike, base: Frame, point: Point) -> Reading:
    figure = point.figure
    k, n = round(figure.value * figure.n), round(figure.n)
    tail = overdispersed_tail(k, n, base.rate, base.between, base.n_total)
    effect = figure.value - base.rate
    alarm = tail < rule.alpha and effect >= rule.min_effect
    return Reading(
        alarm, figure.value, base.rate, effect, point.place, _minus_log10(tail), _minus_log10(rule.alpha), figure.n
    )


def _limit(rule: Limit, base: Frame, tested: Sequence[Point], sign: float, limit: float | None) -> Reading | None:
    if limit is None:
        return None
    n = math.fsum(p.figure.n for p in tested)
    value = math.fsum(p.figure.value * p.figure.n for p in tested) / n
    between = base.between / len(tested)
    if tested[0].figure.kind == "rate":
        bad = value if sign > 0 else 1.0 - value
        edge = limit if sign > 0 else 1.0 - limit
        tail = overdispersed_tail(round(bad * n), round(n), edge, between, _LARGE) if 0 < edge < 1 else 1.0
    else:
        t = sign * (value - limit) / math.sqrt(_sd2(tested) / n + between)
        tail = t_sf(t, max(2.0, n - 1)) if n < 200 else normal_sf(t)
    newest = tested[-1].figure.value
    beyond = sign * (newest - limit) > 0
    return Reading(
        tail < rule.alpha and beyond,
        newest,
        limit,
        sign * (newest - limit),
        tested[-1].place,
        _minus_log10(tail),
        _minus_log10(rule.alpha),
        n,
    )


def _mix(rule: Mix, base: Frame, window: Sequence[Day], tested: Sequence[Point]) -> Reading | None:
    from scipy.special import chdtrc

    counts: Counter[str] = Counter()
    for day in window:
        counts.update(day.topics)
    n = sum(counts.values())
    if n == 0:
        return None
    shares = dict(base.topics)
    known = sum(counts[topic] for topic in shares)
    moved = 0.5 * (math.fsum(abs(counts[t] / n - share) for t, share in shares.items()) + (n - known) / n)
    chi2, cells, rest_seen, rest_expected = 0.0, 0, float(n - known), 0.0
    for topic, share in shares.items():
        expected = n * share
        if expected < 5.0:  # the chi-square wants at least some five in a cell: the small ones are one
            rest_seen, rest_expected = rest_seen + counts[topic], rest_expected + expected
            continue
        chi2 += (counts[topic] - expected) ** 2 / (expected * (1.0 + n / base.n_total))
        cells += 1
    if rest_seen or rest_expected:
        expected = max(rest_expected, 1.0)
        chi2 += (rest_seen - expected) ** 2 / (expected * (1.0 + n / base.n_total))
        cells += 1
    tail = float(chdtrc(max(1, cells - 1), chi2 / base.dispersion))
    alarm = tail < rule.alpha and moved >= rule.min_effect
    return Reading(alarm, moved, 0.0, moved, tested[0].place, _minus_log10(tail), _minus_log10(rule.alpha), n)


def grown_topics(base: Frame, window: Sequence[Day], n: int = 3) -> list[tuple[str, float, float]]:
    """(topic, share before, share now) of what grew most."""
    counts: Counter[str] = Counter()
    for day in window:
        counts.update(day.topics)
    total = sum(counts.values()) or 1
    before = dict(base.topics)
    rows = [(topic, before.get(topic, 0.0), count / total) for topic, count in counts.items()]
    return sorted((row for row in rows if row[2] > row[1]), key=lambda row: row[1] - row[2])[:n]


def _naive(rule: Naive, base: Frame, tested: Sequence[Point], sign: float) -> Reading | None:
    newest = tested[-1]
    against = base.level
    bound = rule.change * (abs(against) if rule.relative else 1.0)
    effect = sign * (newest.figure.value - against)
    return Reading(effect > bound, newest.figure.value, against, effect, newest.place, effect, bound, newest.figure.n)


def naive_rate(rule: Naive, before: Sequence[Point]) -> float | None:
    """The share of ordinary days on which a naive rule rings, from this log's own level, spread and sample sizes.

    Days are independent normals around the level with the reference's variance of a day (sampling and between days).
    """
    if len(before) < 3:
        return None
    sd2 = _sd2(before)
    values = [
        DayValue(
            p.figure.value,
            (p.figure.value * (1 - p.figure.value) if p.figure.kind == "rate" else sd2) / p.figure.n,
            p.weekday,
        )
        for p in before
    ]
    ref = reference(values)
    one = math.fsum(day.variance for day in values) / len(values) + ref.between
    bound = rule.change * (abs(ref.level) if rule.relative else 1.0)
    factor = 1.0 - rule.change if rule.relative and rule.direction == "down" else 1.0 + (rule.change * rule.relative)
    spread = one * (1.0 + factor**2) if rule.against == "yesterday" else one + ref.level_variance
    return normal_sf(bound / math.sqrt(spread)) if spread > 0 else 0.0
