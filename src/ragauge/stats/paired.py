"""Two systems, the same questions: is the difference real?

`b` counts questions that only the second system gets right, `c` those that only the first one does, `n` all pairs.
Differences are always second minus first.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from ragauge.core.run import Estimate
from ragauge.stats.intervals import (
    cluster_standard_error,
    design_effect,
    effective_n,
    standard_error,
    wilson_bounds,
)
from ragauge.stats.quantiles import check_level, t_quantile, t_sf, two_sided_z

#: Up to this many non-zero differences (or clusters) all sign flips are enumerated.
EXACT_UP_TO = 12

#: While fewer questions than this differ, their largest difference says little about the ones not asked.
FEW_DIFFER = 10

#: Statistics closer than this are ties: floating-point sums of the same numbers in another order.
_TIE = 1e-12


@dataclass(frozen=True)
class Test:
    """A test's outcome: `p` in [0, 1], the statistic (None where the test has none), the method in words."""

    __test__ = False  # not a test class, whatever pytest thinks of the name

    p: float
    statistic: float | None
    method: str


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


def sign_flip_test(
    differences: Sequence[float],
    *,
    clusters: Sequence[str] | None = None,
    n_resamples: int = 9_999,
    seed: int = 0,
    exact_up_to: int = EXACT_UP_TO,
) -> Test:
    """Two-sided paired permutation test of "the mean difference is 0": the signs of differences are flipped.

    Exact (`#{|T*| ≥ |T|} / 2^m`) for up to `exact_up_to` non-zero differences, else Monte Carlo with the given seed,
    `p = (1 + hits)/(1 + n_resamples)`. With `clusters`, whole clusters flip together. Assumes only that under the
    hypothesis each difference (or cluster) is as likely as its negative. No difference at all: p = 1.
    Source: Fisher 1935; Phipson and Smyth 2010 for the + 1.

    >>> sign_flip_test([0.5, 0.25, 0.25, 0.5, 0.125]).p
    0.0625
    >>> sign_flip_test([0.0, 0.0]).p
    1.0
    """
    data = np.asarray(differences, dtype=float)
    if clusters is not None:
        data = _cluster_sums(data, clusters)
    data = data[np.abs(data) > _TIE]
    unit = "question" if clusters is None else "cluster"
    if not len(data):
        return Test(1.0, 0.0, "sign-flip permutation test: no difference at all")
    observed = abs(math.fsum(data)) - _TIE * max(1.0, float(np.abs(data).sum()))
    if len(data) <= exact_up_to:
        m = len(data)
        bits = (np.arange(2**m)[:, None] >> np.arange(m)) & 1
        hits = int(np.count_nonzero(np.abs((1.0 - 2.0 * bits) @ data) >= observed))
        return Test(hits / 2**m, math.fsum(data), f"exact sign-flip permutation test, {m} {unit}s that differ")
    hits = _monte_carlo_hits(data, observed, n_resamples, seed)
    p = (1 + hits) / (1 + n_resamples)
    return Test(p, math.fsum(data), f"sign-flip permutation test, {n_resamples} resamples, by {unit}, seed {seed}")


def _cluster_sums(data: NDArray[np.float64], clusters: Sequence[str]) -> NDArray[np.float64]:
    if len(clusters) != len(data):
        raise ValueError(f"{len(data)} differences but {len(clusters)} clusters")
    names = {name: index for index, name in enumerate(dict.fromkeys(clusters))}
    sums = np.zeros(len(names))
    np.add.at(sums, [names[name] for name in clusters], data)
    return sums


def _monte_carlo_hits(data: NDArray[np.float64], observed: float, n_resamples: int, seed: int) -> int:
    rng = np.random.default_rng(seed)
    m, hits = len(data), 0
    rows = max(1, 2_000_000 // m)
    for start in range(0, n_resamples, rows):
        count = min(rows, n_resamples - start)
        packed = rng.integers(0, 256, size=(count, (m + 7) // 8), dtype=np.uint8)
        signs = 1.0 - 2.0 * np.unpackbits(packed, axis=1, count=m)
        hits += int(np.count_nonzero(np.abs(signs @ data) >= observed))
    return hits


def signed_rank_test(differences: Sequence[float], *, zeros: str = "drop") -> Test:
    """Wilcoxon's signed-rank test, two-sided and exact, also with ties (all sign patterns of the ranks are counted).

    A robustness note, never the headline: it tests another quantity than the mean difference. `statistic` is the sum
    of the positive ranks. `zeros="pratt"` ranks the zeros and then leaves them out. Source: Wilcoxon 1945; Pratt 1959.

    >>> test = signed_rank_test([1, 2, 3, 4, -5])
    >>> test.statistic, test.p
    (10.0, 0.625)
    """
    data = [float(d) for d in differences]
    if zeros == "drop":
        data = [d for d in data if d != 0.0]
    elif zeros != "pratt":
        raise ValueError(f"zeros must be 'drop' or 'pratt', not {zeros!r}")
    ranks = average_ranks([abs(d) for d in data])
    # doubled, ranks are whole numbers even when tied
    doubled = [(round(2 * rank), d > 0) for rank, d in zip(ranks, data, strict=True) if d != 0.0]
    total = sum(rank for rank, _ in doubled)
    positive = sum(rank for rank, up in doubled if up)
    shares = np.zeros(total + 1)
    shares[0] = 1.0
    for rank, _ in doubled:
        shifted = np.zeros_like(shares)
        shifted[rank:] = shares[: total + 1 - rank]
        shares = (shares + shifted) / 2.0
    far = np.abs(2 * np.arange(total + 1) - total) >= abs(2 * positive - total)
    return Test(min(1.0, float(shares[far].sum())), positive / 2.0, "exact Wilcoxon signed-rank test")


def average_ranks(values: Sequence[float]) -> list[float]:
    """Ranks from 1; tied values share the mean of their ranks.

    >>> average_ranks([0.3, 0.1, 0.3])
    [2.5, 1.0, 2.5]
    """
    order = sorted(range(len(values)), key=values.__getitem__)
    ranks = [0.0] * len(values)
    start = 0
    while start < len(order):
        end = start
        while end < len(order) and values[order[end]] == values[order[start]]:
            end += 1
        for position in range(start, end):
            ranks[order[position]] = (start + 1 + end) / 2.0
        start = end
    return ranks


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
    if n < 2 or max(data) - min(data) <= _TIE:
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
    n_differ = sum(abs(d) > _TIE for d in differences)
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
