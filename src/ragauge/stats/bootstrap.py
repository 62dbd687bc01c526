"""Bias-corrected and accelerated bootstrap of a mean (Efron 1987)."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from ragauge.core.run import Estimate
from ragauge.stats.quantiles import check_level, normal_quantile, two_sided_z

_BLOCK = 2_000_000


def _group(
    values: NDArray[np.float64], clusters: Sequence[str] | None
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Sum and size of each cluster; each value is its own where there are no clusters."""
    if clusters is None:
        return values, np.ones(len(values))
    names = {name: index for index, name in enumerate(dict.fromkeys(clusters))}
    which = np.array([names[name] for name in clusters])
    sums = np.asarray(np.bincount(which, weights=values), dtype=np.float64)
    return sums, np.asarray(np.bincount(which), dtype=np.float64)


def bca_mean(
    values: Sequence[float],
    *,
    level: float = 0.95,
    clusters: Sequence[str] | None = None,
    n_resamples: int = 9_999,
    seed: int = 0,
) -> Estimate:
    """The mean with its BCa bootstrap interval; whole clusters are drawn when `clusters` is given.

    Assumes independent values (or clusters) and at least some ten of them: use it from n = 50. When all values are
    equal there is nothing to resample: `low` and `high` are None, not NaN (scipy's answer). Deterministic for a seed.
    Source: Efron 1987; Efron and Tibshirani 1993, ch. 14.

    >>> e = bca_mean([0.1, 0.4, 0.5, 0.9, 1.0] * 8)
    >>> e.low < e.value < e.high
    True
    >>> bca_mean([1.0, 1.0, 1.0]).low is None
    True
    """
    check_level(level)
    data = np.asarray(values, dtype=float)
    if not len(data):
        raise ValueError("no values: there is no mean to estimate")
    mean = math.fsum(data) / len(data)
    sums, sizes = _group(data, clusters)
    residual = sums - mean * sizes
    spread = float(np.sum(residual**2))
    if len(sums) < 2 or spread <= 1e-24:
        return Estimate(value=mean, level=level, n=len(data), method="no bootstrap interval: nothing varies")
    draws = _resample(sums, sizes, n_resamples, seed)
    below = float(np.mean(draws < mean) + np.mean(draws == mean) / 2.0)
    z0 = normal_quantile(min(max(below, 0.5 / n_resamples), 1 - 0.5 / n_resamples))
    acceleration = float(np.sum(residual**3)) / (6.0 * spread**1.5)
    z = two_sided_z(level)
    ends = []
    for tail in (-z, z):
        shifted = z0 + tail
        adjusted = z0 + shifted / (1.0 - acceleration * shifted)
        ends.append(float(np.quantile(draws, 0.5 * math.erfc(-adjusted / math.sqrt(2.0)))))
    name = "BCa bootstrap interval" if clusters is None else f"BCa cluster bootstrap interval, {len(sums)} clusters"
    return Estimate(value=mean, low=ends[0], high=ends[1], level=level, n=len(data), method=name)


def _resample(
    sums: NDArray[np.float64], sizes: NDArray[np.float64], n_resamples: int, seed: int
) -> NDArray[np.float64]:
    rng = np.random.default_rng(seed)
    g = len(sums)
    rows = max(1, _BLOCK // g)
    parts = []
    for start in range(0, n_resamples, rows):
        index = rng.integers(0, g, size=(min(rows, n_resamples - start), g))
        parts.append(sums[index].sum(axis=1) / sizes[index].sum(axis=1))
    return np.concatenate(parts)
