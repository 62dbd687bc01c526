"""Many tests at once: adjusted p-values, and how good the best of many looks by luck."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate


def holm(p: Sequence[float]) -> list[float]:
    """Holm's step-down adjusted p-values, in the order given: family-wise error, valid under any dependence.

    Source: Holm 1979.

    >>> [round(x, 3) for x in holm([0.01, 0.04, 0.03])]
    [0.03, 0.06, 0.06]
    """
    m = len(_checked(p))
    order = sorted(range(m), key=p.__getitem__)
    steps = accumulate(((m - rank) * p[index] for rank, index in enumerate(order)), max)
    return _placed(order, [min(1.0, step) for step in steps])


def benjamini_hochberg(p: Sequence[float]) -> list[float]:
    """Benjamini and Hochberg's adjusted p-values: false discovery rate under positive dependence.

    Source: Benjamini and Hochberg 1995.

    >>> [round(x, 3) for x in benjamini_hochberg([0.01, 0.04, 0.03])]
    [0.03, 0.04, 0.04]
    """
    return _step_up(p, 1.0)


def benjamini_yekutieli(p: Sequence[float]) -> list[float]:
    """Benjamini and Yekutieli's adjusted p-values: false discovery rate under any dependence.

    Source: Benjamini and Yekutieli 2001.

    >>> [round(x, 4) for x in benjamini_yekutieli([0.01, 0.04, 0.03])]
    [0.055, 0.0733, 0.0733]
    """
    return _step_up(p, sum(1.0 / i for i in range(1, len(p) + 1)))


def _step_up(p: Sequence[float], factor: float) -> list[float]:
    m = len(_checked(p))
    order = sorted(range(m), key=p.__getitem__, reverse=True)
    steps = accumulate((factor * m / (m - rank) * p[index] for rank, index in enumerate(order)), min)
    return _placed(order, [min(1.0, step) for step in steps])


def _checked(p: Sequence[float]) -> Sequence[float]:
    if not all(0.0 <= x <= 1.0 for x in p):
        raise ValueError("p-values must lie in [0, 1]")
    return p


def _placed(order: Sequence[int], values: Sequence[float]) -> list[float]:
    placed = [0.0] * len(order)
    for index, value in zip(order, values, strict=True):
        placed[index] = value
    return placed


def best_of_noise(k: int, standard_error: float) -> float:
    """How much better than the truth the best of `k` equal configurations looks: the noise bar of a leaderboard.

    The mean of the largest of k independent normal errors, `k ∫ z φ(z) Φ(z)^(k−1) dz · SE`. Configurations scored on
    the same questions are positively correlated, for which this is an upper bound. k = 1 gives 0.

    >>> round(best_of_noise(45, 0.03), 4)
    0.0662
    """
    if k < 1:
        raise ValueError("k must be at least 1")
    import numpy as np
    from scipy.special import log_ndtr

    z = np.linspace(-9.0, 9.0, 18_001)
    density = np.exp(-z * z / 2.0 + (k - 1) * log_ndtr(z)) * k / np.sqrt(2.0 * np.pi)
    return float(np.sum(z * density) * (z[1] - z[0])) * standard_error
