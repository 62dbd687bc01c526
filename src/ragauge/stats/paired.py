"""Two systems, the same questions: is the difference real?

`b` counts questions that only the second system gets right, `c` those that only the first one does, `n` all pairs.
Differences are always second minus first.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache

from ragauge.core.run import Estimate
from ragauge.stats.intervals import (
    cluster_standard_error,
    design_effect,
    effective_n,
    standard_error,
    wilson_bounds,
)
from ragauge.stats.permutation import TIE, Test
from ragauge.stats.quantiles import check_level, t_quantile, t_sf, two_sided_z

#: While fewer questions than this differ, their largest difference says little about the ones not asked.
FEW_DIFFER = 10


def _check_counts(b: int, c: int, n: int | None = None) -> None:
    if b < 0 or c < 0 or (n is not None and (n < 1 or b + c > n)):
        raise ValueError(f"b={b}, c={c}, n={n} are no counts of discordant pairs")


@lru_cache(maxsize=4096)
def mcnemar_exact(b: int, c: int) -> float:
    """The exact two-sided p-value of McNemar's test, `min(1, 2 P(Bin(b + c, ½) ≤ min(b, c)))`; 1 when b + c = 0.

    Type I error 0.1–3.8 % at a nominal 5 %: use `mcnemar_midp`. Source: McNemar 1947.

    >>> mcnemar_exact(9, 2)
    0.0654296875
    """
    _check_counts(b, c)
    m, k = b + c, min(b, c)
    if m == 0:
        return 1.0
    return min(1.0, 2.0 * _half_binomial_cdf(k, m))


@lru_cache(maxsize=4096)
def mcnemar_midp(b: int, c: int) -> float:
    """The mid-p value of McNemar's test: exact p minus the probability of the observed split.

    `p_exact − pmf(min(b, c))`; `1 − pmf/2` when b = c; 1 when there are no discordant pairs. Type I error 0.6–5.1 %
    at a nominal 5 %, up to 14 points more power than the exact test. Source: Fagerland, Lydersen, Laake 2013.

    >>> mcnemar_midp(9, 2)
    0.03857421875
    """
    _check_counts(b, c)
    m, k = b + c, min(b, c)
    if m == 0:
        return 1.0
    pmf = _half_binomial_pmf(k, m)
    if b == c:
        return 1.0 - pmf / 2.0
    return 2.0 * _half_binomial_cdf(k, m) - pmf


def _half_binomial_pmf(k: int, m: int) -> float:
    if m <= 1000:
        return float(math.comb(m, k) / 2**m)
    return math.exp(math.lgamma(m + 1) - math.lgamma(k + 1) - math.lgamma(m - k + 1) - m * math.log(2.0))


def _half_binomial_cdf(k: int, m: int) -> float:
    if m <= 1000:
        return float(sum(math.comb(m, i) for i in range(k + 1)) / 2**m)
    from scipy.special import bdtr

    return float(bdtr(k, m, 0.5))


def _tango_score(d: float, b: int, c: int, n: int) -> float:
    """Tango's score statistic for the hypothesis that the difference of rates is `d`; falls as d rises."""
    a_ = 2.0 * n
    b_ = -b - c + (2.0 * n - b + c) * d
    c_ = -c * d * (1.0 - d)
    q = (math.sqrt(max(0.0, b_ * b_ - 4.0 * a_ * c_)) - b_) / (2.0 * a_)
    variance = n * (2.0 * q + d * (1.0 - d))
    gap = b - c - n * d
    if variance <= 0.0:
        return math.copysign(math.inf, gap) if gap else 0.0
    return gap / math.sqrt(variance)


@lru_cache(maxsize=16384)
def tango_bounds(b: int, c: int, n: int, z: float) -> tuple[float, float]:
    """The two differences at which Tango's score statistic is ± z, by bisection to 1e-12."""

    def solve(target: float) -> float:
        left, right = -1.0, 1.0
        for _ in range(60):
            middle = (left + right) / 2.0
            if _tango_score(middle, b, c, n) > target:
                left = middle
            else:
                right = middle
        return (left + right) / 2.0

    low = -1.0 if c == n else solve(z)
    high = 1.0 if b == n else solve(-z)
    return low, high


def tango_interval(b: int, c: int, n: int, *, level: float = 0.95) -> Estimate:
    """The difference of two paired rates, `(b − c)/n`, with Tango's score interval.

    Range [−1, 1]; assumes independent pairs; coverage ≥ 94 % everywhere, also with few or no discordant pairs (where
    Wald and paired t fail). The interval solves `(b − c − n d)/√(n(2q + d(1 − d))) = ± z` with q the constrained
    maximum-likelihood estimate. Source: Tango 1998.

    >>> e = tango_interval(9, 2, 100)
    >>> round(e.value, 3), round(e.low, 4), round(e.high, 4)
    (0.07, 0.006, 0.1459)
    """
    check_level(level)
    _check_counts(b, c, n)
    low, high = tango_bounds(b, c, n, two_sided_z(level))
    return Estimate(value=(b - c) / n, low=low, high=high, level=level, n=n, method="Tango score interval")


def tango_statistic(b: int, c: int, n: int, difference: float) -> float:
    """Tango's score z against the hypothesis that the difference of the paired rates is `difference`.

    >>> round(tango_statistic(9, 2, 100, -0.03), 4)
    2.7812
    """
    _check_counts(b, c, n)
    return _tango_score(difference, b, c, n)


def newcombe_paired_interval(a: int, b: int, c: int, d: int, *, level: float = 0.95) -> Estimate:
    """Newcombe's method 10 for `(b − c)/n`: closed form, slightly conservative (coverage ≥ 95 %).

    `a` both right, `d` both wrong. Combines the two Wilson intervals with the (continuity-corrected) phi correlation.
    Source: Newcombe 1998, Statistics in Medicine 17:2635.

    >>> e = newcombe_paired_interval(70, 12, 5, 13)
    >>> round(e.low, 4), round(e.high, 4)
    (-0.0128, 0.1536)
    """
    n = a + b + c + d
    _check_counts(b, c, n)
    z = two_sided_z(level)
    p1, p2 = (a + b) / n, (a + c) / n
    (l1, u1), (l2, u2) = wilson_bounds(p1, n, z), wilson_bounds(p2, n, z)
    margins = (a + b) * (c + d) * (a + c) * (b + d)
    cross = float(a * d - b * c)
    if cross > 0:
        cross = max(cross - n / 2, 0.0)
    phi = cross / math.sqrt(margins) if margins else 0.0

    def spread(x: float, y: float) -> float:
        return math.sqrt(max(0.0, x * x - 2.0 * phi * x * y + y * y))

    value = p1 - p2
    return Estimate(
        value=value,
        low=value - spread(p1 - l1, u2 - p2),
        high=value + spread(u1 - p1, p2 - l2),
        level=level,
        n=n,
        method="Newcombe interval for paired rates (method 10)",
    )


def newcombe_unpaired_interval(k1: int, n1: int, k2: int, n2: int, *, level: float = 0.95) -> Estimate:
    """The difference `k1/n1 − k2/n2` of two independent rates (day against day) with Newcombe's score interval.

    Source: Newcombe 1998, Statistics in Medicine 17:873, method 10. `n` of the estimate is n1 + n2.

    >>> e = newcombe_unpaired_interval(170, 200, 158, 200)
    >>> round(e.value, 3), round(e.low, 4), round(e.high, 4)
    (0.06, -0.0156, 0.1351)
    """
    z = two_sided_z(level)
    p1, p2 = k1 / n1, k2 / n2
    (l1, u1), (l2, u2) = wilson_bounds(p1, n1, z), wilson_bounds(p2, n2, z)
    return Estimate(
        value=p1 - p2,
        low=p1 - p2 - math.hypot(p1 - l1, u2 - p2),
        high=p1 - p2 + math.hypot(u1 - p1, p2 - l2),
        level=level,
        n=n1 + n2,
        method="Newcombe interval for independent rates",
    )


def difference_interval(
    differences: Sequence[float], *, level: float = 0.95, clusters: Sequence[str] | None = None
) -> Estimate:
    """The mean paired difference with its t interval, t(n − 1); with clusters the robust one, t(G − 1).

    When all differences are equal the t interval would have no width: `low` and `high` are None, and `method` says so.
    Assumes independent pairs (or clusters) and a mean that is about normal: from some 30 pairs that differ. For
    metrics with a range use `bounded_difference_interval`.
    Source: Student 1908; Miller 2024 §3.

    >>> e = difference_interval([0.1, 0.2, 0.0, 0.1])
    >>> round(e.value, 3), round(e.low, 4), round(e.high, 4)
    (0.1, -0.0299, 0.2299)
    """
    check_level(level)
    data = [float(d) for d in differences]
    if not data:
        raise ValueError("no pairs: there is no difference to estimate")
    n, mean = len(data), math.fsum(data) / len(data)
    if n < 2 or max(data) - min(data) <= TIE:
        return Estimate(value=mean, level=level, n=n, method="no t interval: nothing varies between the pairs")
    if clusters is not None and len(set(clusters)) < n:
        g = len(set(clusters))
        if g < 2:
            return Estimate(value=mean, level=level, n=n, method="no interval: all questions come from one cluster")
        se, _ = cluster_standard_error(data, clusters)
        half = t_quantile(0.5 + level / 2.0, g - 1) * se
        method = f"cluster-robust paired t interval, {g} clusters"
    else:
        half = t_quantile(0.5 + level / 2.0, n - 1) * standard_error(data)
        method = "paired t interval"
    return Estimate(value=mean, low=mean - half, high=mean + half, level=level, n=n, method=method)


def bounded_difference_interval(
    differences: Sequence[float], *, level: float = 0.95, clusters: Sequence[str] | None = None
) -> Estimate:
    """The mean of paired differences in [−1, 1] with a score interval at the effective sample size.

    `y = (d/M + 1)/2` lies in [0, 1]; its Wilson interval at `effective_n(y)` (divided by the design effect of
    clusters, with t(G − 1) in place of z) is mapped back. M is the largest difference seen, or 1 while fewer than
    `FEW_DIFFER` questions differ. Never of zero width, never outside [−1, 1]. Where few questions differ and most of
    them in one direction, which is what a regression looks like, the paired t interval covers 50–93 %, this one
    88–100 %. Needs two questions and two clusters, else `low` and `high` are None.
    Our own construction; coverage: `validation/statistics/RESULTS.md`, reasons: `design/paired-intervals.md`.

    >>> e = bounded_difference_interval([0.0] * 60)
    >>> e.value, round(e.high, 3)
    (0.0, 0.036)
    """
    check_level(level)
    if not all(-1.0 - 1e-9 <= d <= 1.0 + 1e-9 for d in differences):
        raise ValueError("differences must lie in [-1, 1]; divide them by the range of the metric")
    if not differences:
        raise ValueError("no pairs: there is no difference to estimate")
    n = len(differences)
    value = math.fsum(differences) / n
    groups = len(set(clusters)) if clusters is not None else n
    if groups < 2:
        what = "one question" if n == 1 else "all questions come from one cluster"
        return Estimate(value=value, level=level, n=n, method=f"no interval: {what}")
    n_differ = sum(abs(d) > TIE for d in differences)
    scale = max(map(abs, differences)) if n_differ >= FEW_DIFFER else 1.0
    shifted = [min(1.0, max(0.0, (d / scale + 1.0) / 2.0)) for d in differences]
    size, critical = effective_n(shifted), two_sided_z(level)
    method = "paired score interval at the effective sample size"
    if clusters is not None and groups < n:
        size /= design_effect(shifted, clusters)
        critical = t_quantile(0.5 + level / 2.0, groups - 1)
        method = f"cluster-robust {method}, {groups} clusters"
    low, high = wilson_bounds((value / scale + 1.0) / 2.0, size, critical)
    return Estimate(
        value=value, low=(2.0 * low - 1.0) * scale, high=(2.0 * high - 1.0) * scale, level=level, n=n, method=method
    )


def paired_t_test(differences: Sequence[float]) -> Test:
    """Student's paired t test, two-sided; p = 1 when all differences are 0 and 0 when they are equal but not 0.

    >>> round(paired_t_test([0.1, 0.2, 0.0, 0.1]).p, 4)
    0.0917
    """
    n = len(differences)
    if n < 2:
        raise ValueError("a paired t test needs at least two pairs")
    mean = math.fsum(differences) / n
    se = standard_error(differences)
    if se == 0.0:
        return Test(1.0 if mean == 0.0 else 0.0, None, "paired t test")
    t = mean / se
    return Test(2.0 * t_sf(abs(t), n - 1), t, "paired t test")


def cohen_dz(differences: Sequence[float]) -> float | None:
    """Cohen's d_z: mean difference over its standard deviation; None when nothing varies or n < 2.

    >>> round(cohen_dz([0.1, 0.2, 0.0, 0.1]), 4)
    1.2247
    """
    n = len(differences)
    if n < 2:
        return None
    sd = standard_error(differences) * math.sqrt(n)
    return math.fsum(differences) / n / sd if sd > 0.0 else None
