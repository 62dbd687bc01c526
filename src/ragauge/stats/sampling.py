"""What to label next without biasing the estimate."""

from __future__ import annotations

import math
from collections.abc import Sequence

from ragauge.core.run import Estimate
from ragauge.stats.quantiles import normal_quantile


def neyman_shares(weights: Sequence[float], sds: Sequence[float]) -> list[float]:
    """Shares of a labelling budget for strata, proportional to `W_h sd_h`; by weight when nothing varies.

    Source: Neyman 1934.

    >>> [round(x, 3) for x in neyman_shares([0.6, 0.3, 0.1], [0.15, 0.4, 0.5])]
    [0.346, 0.462, 0.192]
    """
    products = [w * s for w, s in zip(weights, sds, strict=True)]
    if any(x < 0 for x in products) or not math.fsum(weights) > 0:
        raise ValueError("weights and standard deviations must not be negative, nor all weights 0")
    if not math.fsum(products) > 0:
        products = list(weights)
    total = math.fsum(products)
    return [x / total for x in products]


def neyman_allocation(
    budget: int, weights: Sequence[float], sds: Sequence[float], sizes: Sequence[int], *, floor: int = 10
) -> list[int]:
    """How many labels each stratum gets: Neyman shares, at least `floor` (or all of a smaller stratum), never more
    than there are; the sum is min(budget, all). Rounded by largest remainder.

    >>> neyman_allocation(100, [0.6, 0.3, 0.1], [0.15, 0.4, 0.5], [600, 300, 100])
    [35, 46, 19]
    >>> neyman_allocation(40, [0.9, 0.08, 0.02], [0.1, 0.4, 0.5], [900, 80, 5])
    [25, 10, 5]
    """
    shares = neyman_shares(weights, sds)
    total = min(budget, sum(sizes))
    low = [min(floor, size) for size in sizes]
    if sum(low) > total:
        return _spread(total, [1.0] * len(sizes), low)
    wanted = [max(0.0, share * total - count) for share, count in zip(shares, low, strict=True)]
    room = [size - count for size, count in zip(sizes, low, strict=True)]
    extra = _spread(total - sum(low), wanted, room)
    return [count + more for count, more in zip(low, extra, strict=True)]


def _spread(budget: int, wanted: Sequence[float], room: Sequence[int]) -> list[int]:
    """`budget` whole units in proportion to `wanted`, at most `room` each: each unit goes where most is missing."""
    total = math.fsum(wanted)
    goal = [budget * w / total for w in wanted] if total > 0 else [0.0] * len(room)
    counts = [0] * len(room)
    for _ in range(budget):
        open_ = [index for index, free in enumerate(room) if counts[index] < free]
        if not open_:
            break
        counts[max(open_, key=lambda index: (goal[index] - counts[index], -index))] += 1
    return counts


def inclusion_probabilities(scores: Sequence[float], budget: float, *, tau: float = 0.5) -> list[float]:
    """`π_i = (1 − τ) b u_i/mean(u) + τ b` with `u = √(s(1 − s))` and b = budget/N: more where the judge is unsure.

    Probabilities are clipped at 1. τ = 0.5 never lost against uniform labelling. Source: Zrnic and Candès 2024.

    >>> [round(x, 3) for x in inclusion_probabilities([0.5, 0.99, 0.01], 1.5)]
    [0.786, 0.357, 0.357]
    """
    if not scores or not 0 < budget <= len(scores) or not 0 < tau <= 1:
        raise ValueError("needs scores, a budget between 0 and their number, and tau in (0, 1]")
    base = budget / len(scores)
    unsure = [math.sqrt(max(0.0, s * (1.0 - s))) for s in scores]
    mean = math.fsum(unsure) / len(unsure)
    if mean <= 0.0:
        return [base] * len(scores)
    return [min(1.0, (1.0 - tau) * base * u / mean + tau * base) for u in unsure]


def active_mean(
    predictions: Sequence[float],
    probabilities: Sequence[float],
    labels: Sequence[float | None],
    *,
    level: float = 0.95,
) -> Estimate:
    """The mean of the true labels from labels drawn with known inclusion probabilities (AIPW).

    `ψ_i = f_i + (Y_i − f_i) ξ_i/π_i`, mean ψ ± z sd(ψ)/√N; unbiased for any π > 0 fixed in advance. `labels` is None
    where an answer was not drawn. Coverage 92–95 % at a budget of 50. Source: Zrnic and Candès 2024 (arXiv 2403.03208).

    >>> e = active_mean([0.1, 0.9, 0.5], [0.5, 0.5, 1.0], [None, 1.0, 0.0])
    >>> round(e.value, 3)
    0.4
    """
    if any(not 0.0 < p <= 1.0 for p in probabilities):
        raise ValueError("inclusion probabilities must lie in (0, 1]")
    psi = [f if y is None else f + (y - f) / p for f, p, y in zip(predictions, probabilities, labels, strict=True)]
    n = len(psi)
    if n < 2:
        raise ValueError("needs at least two answers")
    value = math.fsum(psi) / n
    se = math.sqrt(math.fsum((x - value) ** 2 for x in psi) / (n - 1) / n)
    half = normal_quantile(0.5 + level / 2) * se
    n_labels = sum(y is not None for y in labels)
    return Estimate(
        value=value,
        low=value - half,
        high=value + half,
        level=level,
        n=max(1, n_labels),
        method="active inference (AIPW)",
    )


def active_standard_error(
    predictions: Sequence[float], probabilities: Sequence[float], labels: Sequence[float | None]
) -> float:
    """The standard error behind `active_mean`."""
    estimate = active_mean(predictions, probabilities, labels)
    assert estimate.high is not None
    return (estimate.high - estimate.value) / normal_quantile(0.975)
