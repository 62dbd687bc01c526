"""Confidence intervals for one system: "how often is it wrong?".

Every interval covers the sampling of questions only: never label errors, never a question set that does not look like
production. `SAMPLING_ONLY` is the sentence that reports print under their tables.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from typing import Literal

from ragauge.core.run import Estimate
from ragauge.stats.quantiles import beta_quantile, check_level, t_quantile, two_sided_z

SAMPLING_ONLY = (
    "Intervals cover the sampling of questions only: not errors of labels or of the judge, "
    "and not a question set that differs from what users ask."
)

#: Below this many clusters a cluster-robust interval cannot be trusted (coverage 89–97 % instead of 95 %).
FEW_CLUSTERS = 10

#: See `seen_range`.
FEW_DIFFER = 2

#: Values this far outside [0, 1] are rounding, further out is a mistake of the caller.
_SLACK = 1e-9

ProportionMethod = Literal["wilson", "clopper-pearson", "jeffreys"]


def wilson_bounds(p: float, n: float, z: float) -> tuple[float, float]:
    """Wilson's score interval for a share `p` of an effective number `n` of questions at critical value `z`.

    `c = (p + z²/2n) / (1 + z²/n)`, `h = z √(p(1−p)/n + z²/4n²) / (1 + z²/n)`; the interval is c ± h, inside [0, 1].
    Never of zero width. Source: Wilson 1927; Brown, Cai, DasGupta 2001.

    >>> [round(x, 4) for x in wilson_bounds(0.9, 30, 1.959964)]
    [0.7438, 0.9654]
    """
    z2 = z * z
    scale = 1.0 + z2 / n
    centre = (p + z2 / (2.0 * n)) / scale
    half = z * math.sqrt(p * (1.0 - p) / n + z2 / (4.0 * n * n)) / scale
    low = 0.0 if p <= 0.0 else max(0.0, centre - half)
    high = 1.0 if p >= 1.0 else min(1.0, centre + half)
    return low, high


def proportion_interval(k: int, n: int, method: ProportionMethod = "wilson", *, level: float = 0.95) -> Estimate:
    """The share `k / n` of independent questions with its interval.

    Range [0, 1]. `wilson` is the default (mean coverage 95 %); `clopper-pearson` never covers less than `level` and is
    meant for claims ("with 95 % confidence at most x % wrong"); `jeffreys` is the Bayesian one (Beta(½, ½) prior),
    whose lower end is 0 at k = 0 and whose upper end is 1 at k = n. n = 0 raises ValueError: no question, no share.
    Source: Brown, Cai, DasGupta 2001; Clopper and Pearson 1934.

    >>> e = proportion_interval(27, 30)
    >>> round(e.value, 2), round(e.low, 4), round(e.high, 4)
    (0.9, 0.7438, 0.9654)
    >>> round(proportion_interval(0, 30, "clopper-pearson", level=0.90).high, 3)
    0.095
    """
    check_level(level)
    if n < 1 or not 0 <= k <= n:
        raise ValueError(f"{k} of {n} is no proportion")
    tail = (1.0 - level) / 2.0
    if method == "wilson":
        low, high = wilson_bounds(k / n, n, two_sided_z(level))
        name = "Wilson score interval"
    elif method == "clopper-pearson":
        low = 0.0 if k == 0 else beta_quantile(tail, k, n - k + 1)
        high = 1.0 if k == n else beta_quantile(1.0 - tail, k + 1, n - k)
        name = "Clopper–Pearson exact interval"
    elif method == "jeffreys":
        low, high = jeffreys_bounds(k, n, level=level)
        name = "Jeffreys interval"
    else:
        raise ValueError(f"unknown method {method!r}; known: wilson, clopper-pearson, jeffreys")
    return Estimate(value=k / n, low=low, high=high, level=level, n=n, method=name)


def jeffreys_bounds(k: int, n: int, *, level: float = 0.95, closed: bool = True) -> tuple[float, float]:
    """Equal-tailed Beta(k + ½, n − k + ½) limits. `closed`: 0 at k = 0 and 1 at k = n, so that k/n lies inside.

    >>> [round(x, 4) for x in jeffreys_bounds(27, 30)]
    [0.7566, 0.971]
    """
    tail = (1.0 - level) / 2.0
    low = 0.0 if closed and k == 0 else beta_quantile(tail, k + 0.5, n - k + 0.5)
    high = 1.0 if closed and k == n else beta_quantile(1.0 - tail, k + 0.5, n - k + 0.5)
    return low, high


def effective_n(values: Sequence[float], *, low: float = 0.0, high: float = 1.0) -> float:
    """How many pass/fail questions graded scores in [0, 1] are worth: between n and 50 n.

    `v = [Σ(x − m)² + (m − low)²/2 + (high − m)²/2] / ((n − 1) n)`, `n_eff = clip(m(1 − m)/v, n, 50 n)`. The two half
    pseudo-observations at `low` and `high` keep the variance above zero when nearly all scores are 1. For 0/1 data it
    is n. Our own construction on the idea of Korn and Graubard 1998.

    >>> effective_n([1.0, 0.0, 1.0, 1.0])
    4.0
    >>> effective_n([0.5, 0.55, 0.45, 0.5]) > 4
    True
    """
    n = len(values)
    if n < 2:
        return float(n)
    m = math.fsum(values) / n
    squares = math.fsum((x - m) ** 2 for x in values)
    variance = (squares + (m - low) ** 2 / 2.0 + (high - m) ** 2 / 2.0) / ((n - 1) * n)
    if variance <= 0.0:
        return 50.0 * n
    return min(max(m * (1.0 - m) / variance, float(n)), 50.0 * n)


def seen_range(values: Sequence[float]) -> tuple[float, float]:
    """Where the pseudo-observations of `mean_interval` stand: the extremes seen, once enough values tell of them.

    While fewer than `FEW_DIFFER` values differ from the commonest one, the extremes seen say little about those not
    seen, and the ends of the scale are used.

    >>> seen_range([0.7, 0.8, 0.9, 0.95]), seen_range([1.0, 1.0, 1.0, 0.9])
    ((0.7, 0.95), (0.0, 1.0))
    """
    commonest = max(Counter(values).values())
    return (min(values), max(values)) if len(values) - commonest >= FEW_DIFFER else (0.0, 1.0)


def cluster_standard_error(
    values: Sequence[float], clusters: Sequence[str], *, corrected: bool = True
) -> tuple[float, int]:
    """The cluster-robust standard error of the mean, and the number G of clusters.

    `√(Σ_g (Σ_{i∈g} (x_i − m))²) / n` (CR0), times √(G/(G − 1)) when `corrected` (CR1). Needs G >= 2 when corrected.
    Source: Miller 2024 (arXiv 2411.00640), the sandwich estimator of an intercept-only regression.

    >>> se, g = cluster_standard_error([1, 1, 0, 0], ["a", "a", "b", "b"])
    >>> round(se, 4), g
    (0.5, 2)
    """
    n = len(values)
    m = math.fsum(values) / n
    residuals: dict[str, list[float]] = {}
    for value, cluster in zip(values, clusters, strict=True):
        residuals.setdefault(cluster, []).append(value - m)
    g = len(residuals)
    se = math.sqrt(math.fsum(math.fsum(part) ** 2 for part in residuals.values())) / n
    if corrected:
        if g < 2:
            raise ValueError("a cluster-robust standard error needs at least two clusters")
        se *= math.sqrt(g / (g - 1.0))
    return se, g


def standard_error(values: Sequence[float]) -> float:
    """The standard error of the mean of independent values, s/√n with n − 1 under the s; needs n >= 2."""
    n = len(values)
    m = math.fsum(values) / n
    return math.sqrt(math.fsum((x - m) ** 2 for x in values) / (n - 1) / n)


def mean_interval(
    values: Sequence[float],
    *,
    level: float = 0.95,
    clusters: Sequence[str] | None = None,
    bounded: bool = True,
    kind: Literal["fraction", "rate", "number"] = "fraction",
) -> Estimate:
    """The mean of one value per question, with the interval that fits the kind of value.

    * 0/1 values: Wilson's score interval.
    * graded values in [0, 1]: Wilson's interval at the effective sample size (`effective_n`, `seen_range`). It cannot
      know of rare failures that were not seen: 30 questions miss the 3 % of zeros among varied scores 40 % of the time.
    * `bounded=False` or `kind="number"`: Student's t interval.
    * `clusters` (the source document or topic of each question), when any repeats: the cluster-robust standard error
      with t(G − 1), on the Wilson scale for bounded values. Below ten clusters `method` says that they are too few;
      with one cluster there is no interval.

    Assumes independent questions (or clusters). K repeats of one question are one value: average them first. One
    graded value has no interval (`low` and `high` None). Order does not matter. No values, or a bounded value outside
    [0, 1]: ValueError. Source: STATISTICS.md §1, Wilson 1927, Korn and Graubard 1998, Miller 2024.

    >>> e = mean_interval([1, 1, 1, 0], kind="rate")
    >>> e.value, round(e.low, 3), round(e.high, 3), e.method
    (0.75, 0.301, 0.954, 'Wilson score interval')
    >>> mean_interval([0.4]).low is None
    True
    """
    check_level(level)
    data = [float(x) for x in values]
    if not data:
        raise ValueError("no values: there is no mean to estimate")
    if not all(map(math.isfinite, data)):
        raise ValueError("values must be finite; what could not be scored is not a value")
    on_unit = bounded and kind != "number"
    if on_unit:
        data = [_unit(x) for x in data]
    n = len(data)
    mean = math.fsum(data) / n
    if clusters is not None:
        if len(clusters) != n:
            raise ValueError(f"{n} values but {len(clusters)} clusters")
        n_clusters = len(set(clusters))
        if n_clusters < n:
            return _clustered(data, list(clusters), mean, level, on_unit=on_unit)
    binary = on_unit and all(x in (0.0, 1.0) for x in data)
    if binary and (n > 1 or kind == "rate"):
        low, high = wilson_bounds(mean, n, two_sided_z(level))
        return Estimate(value=mean, low=low, high=high, level=level, n=n, method="Wilson score interval")
    if n == 1:
        return Estimate(value=mean, level=level, n=1, method="no interval: one question")
    if on_unit:
        ends = seen_range(data)
        low, high = wilson_bounds(mean, effective_n(data, low=ends[0], high=ends[1]), two_sided_z(level))
        method = "Wilson score interval at the effective sample size"
    else:
        half = t_quantile(0.5 + level / 2.0, n - 1) * standard_error(data)
        low, high, method = mean - half, mean + half, "Student t interval"
    return Estimate(value=mean, low=low, high=high, level=level, n=n, method=method)


def _unit(x: float) -> float:
    if not -_SLACK <= x <= 1.0 + _SLACK:
        raise ValueError(f"{x!r} lies outside [0, 1]; pass bounded=False for values on another scale")
    return min(1.0, max(0.0, x))


def design_effect(values: Sequence[float], clusters: Sequence[str]) -> float:
    """How many times larger clustering makes the variance of the mean of values in [0, 1]; at least 1.

    0/1 values: `SE_CR1² / (m(1 − m)/n)`. Graded values: `SE_CR1² / (s²/n)`. 1 when all values are equal.
    Source: Kish; STATISTICS.md §1.5.

    >>> round(design_effect([1, 1, 0, 0], ["a", "a", "b", "b"]), 9)
    4.0
    """
    n = len(values)
    m = math.fsum(values) / n
    se, _ = cluster_standard_error(values, clusters)
    binary = all(x in (0.0, 1.0) for x in values)
    independent = m * (1.0 - m) / n if binary else standard_error(values) ** 2
    return max(1.0, se * se / independent) if independent > 0.0 else 1.0


def _clustered(data: list[float], clusters: list[str], mean: float, level: float, *, on_unit: bool) -> Estimate:
    n, n_clusters = len(data), len(set(clusters))
    if n_clusters == 1:
        return Estimate(value=mean, level=level, n=n, method="no interval: all questions come from one cluster")
    critical = t_quantile(0.5 + level / 2.0, n_clusters - 1)
    if on_unit:
        ends = seen_range(data)
        size = effective_n(data, low=ends[0], high=ends[1]) / design_effect(data, clusters)
        low, high = wilson_bounds(mean, size, critical)
        method = f"cluster-robust Wilson score interval, {n_clusters} clusters"
    else:
        se, _ = cluster_standard_error(data, clusters)
        low, high = mean - critical * se, mean + critical * se
        method = f"cluster-robust Student t interval, {n_clusters} clusters"
    if n_clusters < FEW_CLUSTERS:
        method += " (too few to quantify well)"
    return Estimate(value=mean, low=low, high=high, level=level, n=n, method=method)
