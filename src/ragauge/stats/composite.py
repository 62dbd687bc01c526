"""Numbers made of several: composites of metrics, strata, claim-level rates."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from ragauge.core.run import Estimate
from ragauge.stats.intervals import standard_error
from ragauge.stats.quantiles import normal_quantile, t_quantile


def _shares(weights: Mapping[str, float]) -> dict[str, float]:
    total = math.fsum(weights.values())
    if total <= 0 or any(w < 0 for w in weights.values()):
        raise ValueError("weights must not be negative, nor all 0")
    return {name: w / total for name, w in weights.items()}


def weighted_composite(
    scores: Mapping[str, Sequence[float]], weights: Mapping[str, float], *, level: float = 0.95
) -> Estimate:
    """The mean over questions of the weighted mean of metrics, with the t interval of the per-question composites.

    Working per question keeps the covariance between metrics, which judge metrics have. All lists are over the same
    questions. Weights are scaled to sum to 1; publish them, and never gate on the composite alone.

    >>> e = weighted_composite({"a": [1.0, 0.5, 0.0], "b": [1.0, 0.0, 0.5]}, {"a": 1, "b": 1})
    >>> e.value
    0.5
    """
    shares = _shares(weights)
    columns = [scores[name] for name in shares]
    per_question = [
        math.fsum(w * x for w, x in zip(shares.values(), row, strict=True)) for row in zip(*columns, strict=True)
    ]
    n = len(per_question)
    if n < 2:
        raise ValueError("needs at least two questions")
    value = math.fsum(per_question) / n
    half = t_quantile(0.5 + level / 2, n - 1) * standard_error(per_question)
    return Estimate(value=value, low=value - half, high=value + half, level=level, n=n, method="weighted composite, t")


def geometric_composite(scores: Mapping[str, Sequence[float]], weights: Mapping[str, float]) -> tuple[float, float]:
    """The weighted geometric mean of the metrics' means and its delta-method standard error.

    Low values cannot be bought back by high ones. Uses the full covariance over questions. A mean of 0 gives (0, nan
    never): the value 0 with standard error 0, because the delta method has none there.

    >>> value, se = geometric_composite({"a": [0.9, 0.4, 0.8], "b": [0.7, 0.2, 0.9]}, {"a": 1, "b": 1})
    >>> round(value, 4)
    0.6481
    """
    shares = _shares(weights)
    names = list(shares)
    n = len(scores[names[0]])
    means = {name: math.fsum(scores[name]) / n for name in names}
    if any(m < 0 for m in means.values()):
        raise ValueError("a geometric mean needs metrics that are not negative")
    if any(m == 0 for name, m in means.items() if shares[name] > 0):
        return 0.0, 0.0
    value = math.exp(math.fsum(shares[name] * math.log(means[name]) for name in names))
    variance = 0.0
    for a in names:
        for b in names:
            pairs = zip(scores[a], scores[b], strict=True)
            covariance = math.fsum((x - means[a]) * (y - means[b]) for x, y in pairs) / (n - 1)
            variance += value**2 * shares[a] * shares[b] / (means[a] * means[b]) * covariance / n
    return value, math.sqrt(max(0.0, variance))


def claim_rate(supported: Sequence[float], claims: Sequence[float], *, level: float = 0.95) -> Estimate:
    """A micro (claim-level) rate `Σ s / Σ n` over answers, with the ratio estimator's interval.

    `SE = sd(s_i − R n_i)/(n̄ √k)`. Claims of one answer are not independent: Wilson on pooled claims is too narrow.
    Bounds are clipped to [0, 1]. One answer has no interval. Source: Cochran 1977, ch. 6.

    >>> e = claim_rate([4, 3, 4, 1], [6, 5, 6, 3])
    >>> e.value
    0.6
    """
    k, total = len(claims), math.fsum(claims)
    if not k or total <= 0:
        raise ValueError("no claims: there is no rate")
    value = math.fsum(supported) / total
    if k < 2:
        return Estimate(value=value, level=level, n=k, method="claim-level rate; no interval: one answer")
    half = t_quantile(0.5 + level / 2, k - 1) * claim_rate_standard_error(supported, claims)
    return Estimate(
        value=value,
        low=max(0.0, value - half),
        high=min(1.0, value + half),
        level=level,
        n=k,
        method="claim-level rate, ratio estimator, t",
    )


def claim_rate_standard_error(supported: Sequence[float], claims: Sequence[float]) -> float:
    """The linearised standard error of `Σ s / Σ n`; needs two answers."""
    k, total = len(claims), math.fsum(claims)
    rate = math.fsum(supported) / total
    squares = math.fsum((s - rate * n) ** 2 for s, n in zip(supported, claims, strict=True))
    return math.sqrt(squares / (k - 1)) / (total / k * math.sqrt(k))


def stratified_mean(
    strata: Mapping[str, Sequence[float]], weights: Mapping[str, float], *, level: float = 0.95
) -> tuple[Estimate, float]:
    """`Σ W_h m_h` with `SE² = Σ W_h² s_h²/n_h`, and that SE. Weights: the strata's shares of production traffic.

    Every weighted stratum needs at least two values. Normal interval. Source: Cochran 1977, ch. 5.

    >>> e, se = stratified_mean({"faq": [1, 1, 0, 1], "legal": [0, 1]}, {"faq": 0.5, "legal": 0.5})
    >>> e.value, round(se, 4)
    (0.625, 0.2795)
    """
    shares = _shares(weights)
    value = variance = 0.0
    for name, weight in shares.items():
        data = strata[name]
        if len(data) < 2:
            raise ValueError(f"stratum {name!r} has fewer than two values")
        value += weight * math.fsum(data) / len(data)
        variance += (weight * standard_error(data)) ** 2
    se = math.sqrt(variance)
    half = normal_quantile(0.5 + level / 2) * se
    n = sum(len(strata[name]) for name in shares)
    return Estimate(value=value, low=value - half, high=value + half, level=level, n=n, method="stratified mean"), se
