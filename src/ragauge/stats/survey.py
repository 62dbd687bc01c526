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
    is `sd/√n_effective` (no finite-population correction), which is what charts need; never more than were drawn.
    `left_out`: population of strata without any value; they are taken to be like the rest.
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
    drawn = [s for s in known if len(s.values) < s.size]
    value = math.fsum(s.size * _mean(s) for s in known) / total
    between = math.fsum(s.size / total * (_mean(s) - value) ** 2 for s in known)
    pooled = _pooled_variance(drawn or known)
    future = math.fsum((s.size / total) ** 2 * _variance(s, pooled) / len(s.values) for s in known)
    future += between / (drawn_from[0] if drawn_from is not None else max(total, 1.0))
    low, high = _bounds(known, drawn, pooled, level, drawn_from)
    method = "stratified estimate, Wilson interval at the effective sample size"
    if not drawn:
        method = "all of them: no sampling error"
    estimate = Estimate(value=value, low=min(low, value), high=max(high, value), level=level, n=n, method=method)
    spread = pooled + between
    return SurveyMean(estimate, math.sqrt(spread), min(float(n), spread / future) if future > 0 else float(n), left_out)


def _bounds(
    known: Sequence[SurveyStratum],
    drawn: Sequence[SurveyStratum],
    pooled: float,
    level: float,
    drawn_from: tuple[int, int] | None,
) -> tuple[float, float]:
    """Strata that were taken whole shift and shrink the interval of the others: only those have an error."""
    total, part = math.fsum(s.size for s in known), math.fsum(s.size for s in drawn)
    sure = math.fsum(s.size * _mean(s) for s in known if len(s.values) >= s.size) / total
    if not drawn:
        return sure, sure
    n = sum(len(s.values) for s in drawn)
    value = math.fsum(s.size * _mean(s) for s in drawn) / part
    left = [(s, max(0.0, 1.0 - len(s.values) / s.size)) for s in drawn]
    variance = math.fsum((s.size / part) ** 2 * _variance(s, pooled) / len(s.values) * rest for s, rest in left)
    if drawn_from is not None:
        looked_at, whole = drawn_from
        between = math.fsum(s.size / part * (_mean(s) - value) ** 2 for s in drawn)
        variance += between / looked_at * max(0.0, 1.0 - looked_at / whole)
    if value <= 0.0 or value >= 1.0:  # all alike: as many as the weights alone leave (Kish)
        variance = 0.25 / n * math.fsum((s.size / part) ** 2 / len(s.values) * rest for s, rest in left)
    effective = max(1.0, max(value * (1.0 - value), 0.25 / n) / variance)
    quantile = t_quantile(0.5 + level / 2, max(2, n - len(drawn)))
    low, high = wilson_bounds(min(max(value, 0.0), 1.0), effective, quantile)
    return sure + part / total * low, sure + part / total * high


def _mean(stratum: SurveyStratum) -> float:
    return math.fsum(stratum.values) / len(stratum.values)


def _variance(stratum: SurveyStratum, pooled: float) -> float:
    m = _mean(stratum)
    squares = math.fsum((x - m) ** 2 for x in stratum.values)
    return (squares + _PRIOR * pooled) / (len(stratum.values) - 1 + _PRIOR)


def _pooled_variance(strata: Sequence[SurveyStratum]) -> float:
    """Within strata. Half a value at each end of the scale keeps it above 0 (as in `effective_n`)."""
    n, total = sum(len(s.values) for s in strata), math.fsum(s.size for s in strata)
    value = math.fsum(s.size * _mean(s) for s in strata) / total
    squares = math.fsum((x - _mean(s)) ** 2 for s in strata for x in s.values)
    ends = (value**2 + (1.0 - value) ** 2) / 2.0
    return (squares + ends) / max(1, n - len(strata) + 1)
