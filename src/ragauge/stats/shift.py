"""Has a daily figure left its level? A reference period with ordinary day-to-day variation and weekdays taken out.

The charts of `charts.py` take a rate and a fixed baseline. Production has figures of many kinds, weekends, and days
that differ for no reason at all; all three make a fixed baseline ring. Here every day is (value, sampling variance)
on a scale where the variance is known, the reference period says how far days differ beyond that, and only then is a
day's distance a z that `charts.cusum` may add up.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from ragauge.stats.quantiles import normal_sf

#: Weekday effects are taken out from this many days of reference on (three of each weekday).
WEEKDAYS_FROM = 21


@dataclass(frozen=True)
class DayValue:
    """A day's figure with the variance that its sample size alone would give it. `weekday`: 0 Monday … 6 Sunday."""

    value: float
    variance: float
    weekday: int


@dataclass(frozen=True)
class Reference:
    """What is ordinary. `between`: variance between days beyond sampling; `weekday_variance`: of an effect's error."""

    level: float
    between: float
    n_days: int
    level_variance: float
    effects: tuple[float, ...] = (0.0,) * 7
    effect_variance: float = 0.0

    def expected(self, weekday: int) -> float:
        """The level on that weekday."""
        return self.level + self.effects[weekday]

    def z(self, day: DayValue) -> float:
        """How many standard deviations a day lies above its expectation, the reference's own error included.

        The z of a t with `n_days − 1` degrees of freedom, so that few reference days do not make extremes.
        """
        variance = day.variance + self.between + self.level_variance + self.effect_variance
        if variance <= 0.0:
            return 0.0 if day.value == self.expected(day.weekday) else math.copysign(10.0, day.value - self.level)
        t = (day.value - self.expected(day.weekday)) / math.sqrt(variance)
        return _normal_of_t(t, max(2, self.n_days - 1))


def _normal_of_t(t: float, df: int) -> float:
    """Wallace's approximation of the normal z with the same tail as t: `± (8df + 1)/(8df + 3) √(df ln(1 + t²/df))`.

    Source: Wallace 1959. Off by less than 0.1 % of a tail from df = 10 on.

    >>> round(_normal_of_t(2.228, 10), 2)
    1.96
    """
    return math.copysign((8 * df + 1) / (8 * df + 3) * math.sqrt(df * math.log1p(t * t / df)), t)


def reference(days: Sequence[DayValue]) -> Reference:
    """Level, weekday effects and variation between days of a reference period (two days at least).

    Level: the plain mean of the days, so that busy days do not define what is ordinary. Variation between days: the
    variance of the days minus their mean sampling variance, not below 0 (DerSimonian and Laird 1986). Weekday effects
    from 21 days on, shrunken towards none by how much of their spread chance explains (James and Stein 1961).

    >>> ref = reference([DayValue(0.8, 0.0004, 0), DayValue(0.84, 0.0004, 1), DayValue(0.76, 0.0004, 2)])
    >>> round(ref.level, 3), round(ref.between, 4)
    (0.8, 0.0012)
    """
    n = len(days)
    if n < 2:
        raise ValueError("a reference period needs at least two days")
    level = math.fsum(day.value for day in days) / n
    sampling = math.fsum(day.variance for day in days) / n
    plain = _between([day.value - level for day in days], n - 1, sampling)
    effects: tuple[float, ...] = (0.0,) * 7
    effect_variance, n_effects = 0.0, 0
    if n >= WEEKDAYS_FROM:
        effects, effect_variance, n_effects = _weekdays(days, level, sampling)
    residuals = [day.value - level - effects[day.weekday] for day in days]
    between = _between(residuals, n - 1 - n_effects, sampling) if n_effects else plain
    return Reference(level, between, n, (sampling + between) / n, effects, effect_variance)


def _between(residuals: Sequence[float], df: float, sampling: float) -> float:
    return max(0.0, math.fsum(r * r for r in residuals) / max(df, 1.0) - sampling)


def _weekdays(days: Sequence[DayValue], level: float, sampling: float) -> tuple[tuple[float, ...], float, int]:
    """Shrunken effects, the variance of one's error, and how many degrees of freedom they used (0: none needed)."""
    groups: list[list[float]] = [[] for _ in range(7)]
    for day in days:
        groups[day.weekday].append(day.value - level)
    if any(len(group) < 2 for group in groups):
        return (0.0,) * 7, 0.0, 0
    means = [math.fsum(group) / len(group) for group in groups]
    within = math.fsum((x - m) ** 2 for group, m in zip(groups, means, strict=True) for x in group)
    within = max(within / (len(days) - 7), sampling)
    error = within * 7 / len(days)
    spread = math.fsum(m * m for m in means) / 6
    kept = max(0.0, 1.0 - error / spread) if spread > 0.0 else 0.0
    if kept <= 0.0:
        return (0.0,) * 7, 0.0, 0
    return tuple(kept * m for m in means), kept * error, round(6 * kept)


def pooled(days: Sequence[DayValue]) -> tuple[float, float]:
    """The mean of some days weighted by their precision, and its sampling variance."""
    weights = [1.0 / max(day.variance, 1e-12) for day in days]
    total = math.fsum(weights)
    return math.fsum(w * day.value for w, day in zip(weights, days, strict=True)) / total, 1.0 / total


def arcsine(k: float, n: float) -> tuple[float, float]:
    """A rate on the scale where its variance does not depend on it: `asin √((k + 3/8)/(n + 3/4))`, `1/(4n + 2)`.

    Source: Anscombe 1948.

    >>> [round(x, 4) for x in arcsine(4, 200)]
    [0.1482, 0.0012]
    """
    return math.asin(math.sqrt(min(1.0, (k + 0.375) / (n + 0.75)))), 1.0 / (4.0 * n + 2.0)


def overdispersed_tail(k: int, n: int, rate: float, between: float, n_reference: int) -> float:
    """P(at least k of n) when the day's true rate is Beta with mean `rate` and variance `between` (0: the rate is
    known up to the `n_reference` questions that it was estimated from). The upper tail of a beta-binomial.

    >>> overdispersed_tail(11, 200, 0.02, 0.0, 6000) < overdispersed_tail(11, 200, 0.02, 0.0001, 6000)
    True
    """
    from ragauge.stats.drift import spike_p_estimated

    mean = min(max(rate, 0.5 / (n_reference + 1)), 1 - 1e-9)
    variance = between + mean * (1 - mean) / max(n_reference, 1)
    if n > 20_000:  # the sum over a beta-binomial's tail would be long, and the normal is as good
        return normal_sf((k - 0.5 - n * mean) / math.sqrt(n * n * variance + n * mean * (1 - mean)))
    strength = max(2.0, mean * (1 - mean) / variance - 1)
    # `spike_p_estimated` adds Jeffreys' half to both counts
    return spike_p_estimated(mean * strength - 0.5, strength - 1.0, k, n)
