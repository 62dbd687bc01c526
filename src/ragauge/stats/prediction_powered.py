"""Prediction-powered inference for graded scores: human labels on some answers, judge scores on all.

`y` human scores and `f` judge scores of the labelled answers, `rest` judge scores of the unlabelled ones. The labels
must be a random draw from the same run.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from ragauge.core.run import Estimate
from ragauge.stats.quantiles import normal_quantile, t_quantile


def _mean(x: Sequence[float]) -> float:
    return math.fsum(x) / len(x)


def _variance(x: Sequence[float], ddof: int) -> float:
    m = _mean(x)
    return math.fsum((v - m) ** 2 for v in x) / (len(x) - ddof)


def _check(y: Sequence[float], f: Sequence[float], rest: Sequence[float]) -> None:
    if len(y) != len(f) or len(y) < 3 or len(rest) < 2:
        raise ValueError("needs at least three labelled answers with judge scores, and two unlabelled ones")


def tuning(y: Sequence[float], f: Sequence[float], rest: Sequence[float]) -> float:
    """λ of PPI++: `cov(Y, F)/((1 + n/N) var(F))`, clipped to [0, 1]; 0 when the judge does not vary.

    The covariance is over the n labelled answers (divided by n), the variance over all judge scores (n + N − 1), as in
    the published library.
    """
    n, big = len(y), len(rest)
    my, mf = _mean(y), _mean(f)
    covariance = math.fsum((a - my) * (b - mf) for a, b in zip(y, f, strict=True)) / n
    variance = _variance([*f, *rest], 1)
    if variance <= 0.0:
        return 0.0
    return min(1.0, max(0.0, covariance / ((1.0 + n / big) * variance)))


def ppi_mean(
    y: Sequence[float],
    f: Sequence[float],
    rest: Sequence[float],
    *,
    level: float = 0.95,
    lam: float | None = 1.0,
    student: bool = False,
) -> Estimate:
    """`λ mean(F_rest) + mean(Y − λF)`; λ = 1 is PPI (and ARES), `lam=None` tunes it (PPI++).

    `student=False` follows the published library (variances over n, normal quantile), whose intervals are too narrow
    below some 200 labels; `student=True` uses n − 1 and t(n − 1). For reports use `regression_mean` (graded) or
    `correction.corrected_rate` (pass/fail). Source: Angelopoulos et al. 2023; arXiv 2311.01453.

    >>> e = ppi_mean([1, 0, 1, 1, 0], [0.9, 0.2, 0.8, 0.7, 0.3], [0.9, 0.8, 0.1, 0.7])
    >>> round(e.value, 3)
    0.645
    """
    _check(y, f, rest)
    n, big = len(y), len(rest)
    weight = tuning(y, f, rest) if lam is None else lam
    ddof = 1 if student else 0
    rectified = [a - weight * b for a, b in zip(y, f, strict=True)]
    value = weight * _mean(rest) + _mean(rectified)
    variance = weight * weight * _variance(rest, ddof) / big + _variance(rectified, ddof) / n
    critical = t_quantile(0.5 + level / 2, n - 1) if student else normal_quantile(0.5 + level / 2)
    half = critical * math.sqrt(variance)
    name = "prediction-powered (PPI++)" if lam is None else "prediction-powered (PPI)"
    return Estimate(
        value=value,
        low=value - half,
        high=value + half,
        level=level,
        n=n,
        method=f"{name}, {'t' if student else 'normal'} interval",
    )


def regression_slope(y: Sequence[float], f: Sequence[float]) -> float:
    """Least-squares slope of human on judge scores; 0 when the judge does not vary."""
    my, mf = _mean(y), _mean(f)
    sxx = math.fsum((b - mf) ** 2 for b in f)
    return math.fsum((a - my) * (b - mf) for a, b in zip(y, f, strict=True)) / sxx if sxx > 0 else 0.0


def regression_mean(y: Sequence[float], f: Sequence[float], rest: Sequence[float], *, level: float = 0.95) -> Estimate:
    """The regression estimator of the mean human score: **the default for graded scores**.

    `θ = mean(Y) + b (mean(F_all) − mean(F_labelled))`, `Var = s²[1/n + (F̄_all − F̄)²/S_xx] + b² var(F_all)/(n + N)`,
    s² with n − 2 degrees of freedom, t(n − 2). Coverage 93–95 %. Source: Cochran 1977, ch. 7; STATISTICS.md §5.8.

    >>> e = regression_mean([1, 0, 1, 1, 0], [0.9, 0.2, 0.8, 0.7, 0.3], [0.9, 0.8, 0.1, 0.7])
    >>> round(e.value, 3)
    0.634
    """
    _check(y, f, rest)
    n, total = len(y), len(y) + len(rest)
    everything = [*f, *rest]
    b, my, mf, m_all = regression_slope(y, f), _mean(y), _mean(f), _mean(everything)
    sxx = math.fsum((v - mf) ** 2 for v in f)
    s2 = math.fsum((a - my - b * (v - mf)) ** 2 for a, v in zip(y, f, strict=True)) / (n - 2)
    variance = s2 * (1.0 / n + ((m_all - mf) ** 2 / sxx if sxx > 0 else 0.0))
    variance += b * b * _variance(everything, 1) / total
    value = my + b * (m_all - mf)
    half = t_quantile(0.5 + level / 2, n - 2) * math.sqrt(variance)
    return Estimate(
        value=value,
        low=value - half,
        high=value + half,
        level=level,
        n=n,
        method="regression estimator, t interval",
    )
