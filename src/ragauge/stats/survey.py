"""What a stratified sample says of the whole day that it was drawn from."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from ragauge.core.run import Estimate
from ragauge.stats.intervals import wilson_bounds
from ragauge.stats.quantiles import t_quantile

#: A stratum's own variance is mixed with the pooled one as if it had this many values more, of the pooled variance.
_PRIOR = 1.0


@dataclass(frozen=True)
class SurveyStratum:
    """`size` of the stratum in the population, and the values of those drawn at random from it."""

    size: float
    values: Sequence[float]


@dataclass(frozen=True)
class SurveyMean:
    """`estimate` is of this very population. `n_effective` and `sd`: its standard error as a draw from users to come
    is `sd/√n_effective` (no finite-population correction), which is what charts need. `left_out`: population of strata
    without any value; they are taken to be like the rest.
    """

    estimate: Estimate
    sd: float
    n_effective: float
    left_out: float = 0.0


def survey_mean(
    strata: Sequence[SurveyStratum], *, level: float = 0.95, drawn_from: tuple[int, int] | None = None
) -> SurveyMean:
    """`Σ W_h m_h` with `SE² = Σ W_h² v_h (1 − n_h/N_h)/n_h`, for values in [0, 1].

    Unbiased for the population (Horvitz and Thompson 1952; Cochran 1977, ch. 5). Interval: Wilson's at the effective
    number `m(1 − m)/SE²`, as for a survey (Korn and Graubard 1998), so that it is right near 0 and 1. `v_h` is shrunken
    to the pooled variance within strata: a stratum of three equal values has not shown that it does not vary.
    `drawn_from` (m, N): the strata sizes were estimated from a first random draw of m of N; adds the between-strata
    variance over m (double sampling, Cochran ch. 12). A census has an interval of width 0. ValueError without values.

    >>> mean = survey_mean([SurveyStratum(900, [1, 1, 1, 0, 1]), SurveyStratum(100, [0, 1])])
    >>> round(mean.estimate.value, 3)
    0.77
    """
    known = [s for s in strata if s.values and s.size > 0]
    left_out = math.fsum(s.size for s in strata if not s.values)
    if not known:
        raise ValueError("no values: there is no mean to estimate")
    total = math.fsum(s.size for s in known)
    n = sum(len(s.values) for s in known)
    means = [math.fsum(s.values) / len(s.values) for s in known]
    value = math.fsum(s.size / total * m for s, m in zip(known, means, strict=True))
    pooled = _pooled_variance(known, means, value)
    variance = future = kish = 0.0
    for s, m in zip(known, means, strict=True):
        k, weight = len(s.values), s.size / total
        squares = math.fsum((x - m) ** 2 for x in s.values)
        v = (squares + _PRIOR * pooled) / (k - 1 + _PRIOR)
        future += weight**2 * v / k
        variance += weight**2 * v / k * max(0.0, 1.0 - k / s.size)
        kish += weight**2 / k * max(0.0, 1.0 - k / s.size)
    between = math.fsum(s.size / total * (m - value) ** 2 for s, m in zip(known, means, strict=True))
    if drawn_from is not None:
        drawn, whole = drawn_from
        variance += between / drawn * max(0.0, 1.0 - drawn / whole)
    future += between / max(n, 1) if drawn_from is None else between / drawn_from[0]
    spread = pooled + between
    if kish > 0.0 and (value <= 0.0 or value >= 1.0):  # all alike: as many as the weights alone leave (Kish)
        variance = 0.25 / n * kish
    estimate = _interval(value, variance, n, max(2, n - len(known)), level)
    return SurveyMean(estimate, math.sqrt(spread), spread / future if future > 0 else float(n), left_out)


def _pooled_variance(known: Sequence[SurveyStratum], means: Sequence[float], value: float) -> float:
    """Within the strata that were not taken whole. Half a value at each end of the scale keeps it above 0 (as in
    `effective_n`).
    """
    drawn = [(s, m) for s, m in zip(known, means, strict=True) if len(s.values) < s.size] or list(
        zip(known, means, strict=True)
    )
    n = sum(len(s.values) for s, _ in drawn)
    squares = math.fsum((x - m) ** 2 for s, m in drawn for x in s.values)
    ends = (value**2 + (1.0 - value) ** 2) / 2.0
    return (squares + ends) / max(1, n - len(drawn) + 1)


def _interval(value: float, variance: float, n: int, df: int, level: float) -> Estimate:
    method = "stratified estimate, Wilson interval at the effective sample size"
    if variance <= 0.0:
        return Estimate(value=value, low=value, high=value, level=level, n=n, method="all of them: no sampling error")
    spread = max(value * (1.0 - value), 0.25 / n)
    low, high = wilson_bounds(min(max(value, 0.0), 1.0), max(1.0, spread / variance), t_quantile(0.5 + level / 2, df))
    return Estimate(value=value, low=low, high=high, level=level, n=n, method=method)
