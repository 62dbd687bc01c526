"""Has what comes in changed? Distribution tests, spikes of rare events, intervals of latency quantiles."""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from ragauge.stats.permutation import Test
from ragauge.stats.quantiles import chi_square_quantile


def psi(expected: Sequence[int], actual: Sequence[int], *, empty: float = 0.5) -> float:
    """Population stability index, `Σ (a − e) ln(a/e)` over bins of shares; an empty bin counts as `empty` items.

    Compare with `psi_threshold`, never with a fixed 0.1. Range [0, ∞).

    >>> round(psi([1221, 1164, 1231, 1223, 1161], [46, 29, 34, 33, 58]), 4)
    0.0714
    """
    e = [max(float(count), empty) if count == 0 else float(count) for count in expected]
    a = [max(float(count), empty) if count == 0 else float(count) for count in actual]
    total_e, total_a = math.fsum(e), math.fsum(a)
    return math.fsum(
        (y / total_a - x / total_e) * math.log((y / total_a) / (x / total_e)) for x, y in zip(e, a, strict=True)
    )


def psi_threshold(n: int, m: int, bins: int, *, alpha: float = 0.001) -> float:
    """The PSI that samples of n and m exceed with probability alpha although nothing drifted: (1/n + 1/m) χ²_{B−1}.

    >>> round(psi_threshold(200, 6000, 10), 3)
    0.144
    """
    return (1.0 / n + 1.0 / m) * chi_square_quantile(1.0 - alpha, bins - 1)


def psi_expected(n: int, m: int, bins: int) -> float:
    """The mean PSI when nothing drifted, (1/n + 1/m)(B − 1)."""
    return (1.0 / n + 1.0 / m) * (bins - 1)


def kolmogorov_smirnov(a: Sequence[float], b: Sequence[float]) -> Test:
    """Two-sample Kolmogorov–Smirnov test (scipy; exact for small samples). Alarm at p < 0.001.

    >>> kolmogorov_smirnov([0.1, 0.2, 0.3], [0.7, 0.8, 0.9]).statistic
    1.0
    """
    from scipy.stats import ks_2samp

    result = ks_2samp(list(a), list(b))
    return Test(float(result.pvalue), float(result.statistic), "Kolmogorov–Smirnov")


def mmd2(x: ArrayLike, y: ArrayLike, gamma: float) -> float:
    """Unbiased squared maximum mean discrepancy with the kernel exp(−γ‖a − b‖²); may be below 0. O(n²).

    Source: Gretton et al. 2012.

    >>> mmd2([[0.0], [0.0]], [[0.0], [0.0]], 1.0)
    0.0
    """
    first, second = np.asarray(x, dtype=float), np.asarray(y, dtype=float)
    n, m = len(first), len(second)
    if n < 2 or m < 2:
        raise ValueError("needs at least two points on each side")

    def kernel(a: np.ndarray, b: np.ndarray) -> np.ndarray:
        squares = (a**2).sum(1)[:, None] + (b**2).sum(1)[None, :] - 2.0 * a @ b.T
        return np.asarray(np.exp(-gamma * np.maximum(squares, 0.0)))

    within = (kernel(first, first).sum() - n) / (n * (n - 1)) + (kernel(second, second).sum() - m) / (m * (m - 1))
    return float(within - 2.0 * kernel(first, second).mean())


def spike_p(k: int, n: int, baseline: float) -> float:
    """P(at least k of n) when the true rate is `baseline`: is today's count of a rare event a spike?

    >>> round(spike_p(11, 200, 0.02), 5)
    0.00253
    """
    from scipy.special import bdtrc

    return 1.0 if k <= 0 else float(bdtrc(k - 1, n, baseline))


def spike_count(n: int, baseline: float, *, alpha: float = 0.001) -> int:
    """The smallest count of n at which `spike_p` falls below alpha (n + 1: none does).

    >>> spike_count(200, 0.02)
    12
    """
    return next((k for k in range(1, n + 1) if spike_p(k, n, baseline) < alpha), n + 1)


def spike_p_estimated(base_k: float, base_n: float, k: int, n: int) -> float:
    """The same with an estimated baseline: the upper tail of BetaBinomial(n, base_k + ½, base_n − base_k + ½).

    >>> round(spike_p_estimated(120, 6000, 11, 200), 5)
    0.00312
    """
    from scipy.special import betaln, gammaln

    if k <= 0:
        return 1.0
    a, b = base_k + 0.5, base_n - base_k + 0.5
    x = np.arange(k, n + 1)
    log_pmf = gammaln(n + 1) - gammaln(x + 1) - gammaln(n - x + 1) + betaln(x + a, n - x + b) - betaln(a, b)
    return float(min(1.0, np.exp(log_pmf).sum()))


@dataclass(frozen=True)
class QuantileRanks:
    """Ranks (from 1) of the sorted values that bound a quantile; `high` = n + 1 means no finite upper bound."""

    low: int
    high: int
    coverage: float


def quantile_ranks(n: int, q: float, *, level: float = 0.95) -> QuantileRanks:
    """Distribution-free interval of the q-quantile (p95 latency): the ranks between which it lies.

    `low` = the largest rank whose tail below is at most (1 − level)/2, `high` likewise above. Never average daily
    p95s. Source: Conover 1999, §3.2.

    >>> ranks = quantile_ranks(200, 0.95)
    >>> ranks.low, ranks.high, round(ranks.coverage, 6)
    (184, 197, 0.967152)
    """
    from scipy.special import bdtr

    tail = (1.0 - level) / 2.0

    def cdf(k: int) -> float:
        return float(bdtr(k, n, q))

    low = min(n, bisect_left(range(n + 1), tail, key=cdf))
    high = min(n, bisect_left(range(n + 1), 1.0 - tail, key=cdf)) + 1
    below = cdf(low - 1) if low > 0 else 0.0
    above = cdf(high - 1) if high <= n else 1.0
    return QuantileRanks(low, high, above - below)


def quantile_interval(
    values: Sequence[float], q: float, *, level: float = 0.95
) -> tuple[float, float | None, float | None]:
    """The q-quantile (nearest rank) with its distribution-free bounds; None where there is no finite bound.

    >>> quantile_interval([float(i) for i in range(1, 201)], 0.95)
    (190.0, 184.0, 197.0)
    """
    data = sorted(values)
    n = len(data)
    if not n:
        raise ValueError("no values: there is no quantile")
    ranks = quantile_ranks(n, q, level=level)
    value = data[max(0, math.ceil(q * n - 1e-9) - 1)]
    low = data[ranks.low - 1] if ranks.low >= 1 else None
    high = data[ranks.high - 1] if ranks.high <= n else None
    return value, low, high
