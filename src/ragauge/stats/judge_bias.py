"""Screens for known biases of judges: position, length, self-preference."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from ragauge.core.run import Estimate
from ragauge.stats.intervals import proportion_interval
from ragauge.stats.paired import mcnemar_exact
from ragauge.stats.permutation import Test, average_ranks
from ragauge.stats.quantiles import normal_sf, t_sf


@dataclass(frozen=True)
class PositionBias:
    """Among pairs whose verdict changed with the order: how often the first place won, and the binomial test."""

    p: float
    share_first: Estimate | None


def position_bias(first_wins: int, second_wins: int) -> PositionBias:
    """Does the judge favour the first place? Two-sided exact binomial test of ½ over pairs judged in both orders.

    Only pairs in which the winner changed with the order count. No such pair: p = 1.

    >>> b = position_bias(34, 18)
    >>> round(b.p, 4), round(b.share_first.value, 3)
    (0.0365, 0.654)
    """
    n = first_wins + second_wins
    share = proportion_interval(first_wins, n, "clopper-pearson") if n else None
    return PositionBias(mcnemar_exact(first_wins, second_wins), share)


def spearman(first: Sequence[float], second: Sequence[float]) -> float | None:
    """Spearman's rank correlation (ties share mean ranks); None when one side does not vary or n < 2.

    >>> spearman([1, 2, 3], [10, 20, 15])
    0.5
    """
    if len(first) != len(second):
        raise ValueError("both lists must be equally long")
    a, b = average_ranks(first), average_ranks(second)
    n = len(a)
    if n < 2:
        return None
    mean = (n + 1) / 2.0
    above = math.fsum((x - mean) * (y - mean) for x, y in zip(a, b, strict=True))
    below = math.fsum((x - mean) ** 2 for x in a) * math.fsum((y - mean) ** 2 for y in b)
    return above / math.sqrt(below) if below > 0 else None


def length_bias(judge_minus_human: Sequence[float], n_tokens: Sequence[float]) -> Test | None:
    """Does the judge over-rate long answers? Spearman's rho with its t approximation; a screen, not a proof.

    None when nothing varies or n < 3.
    """
    rho = spearman(judge_minus_human, n_tokens)
    n = len(n_tokens)
    if rho is None or n < 3:
        return None
    if abs(rho) >= 1.0:
        return Test(0.0, rho, "Spearman rank correlation")
    t = rho * math.sqrt((n - 2) / (1.0 - rho * rho))
    return Test(2.0 * t_sf(abs(t), n - 2), rho, "Spearman rank correlation")


@dataclass(frozen=True)
class SelfPreference:
    """Difference in differences with the standard error of four independent rates, its z and two-sided p."""

    difference: float
    standard_error: float
    z: float | None
    p: float


def self_preference(
    judge_own: tuple[int, int], judge_other: tuple[int, int], human_own: tuple[int, int], human_other: tuple[int, int]
) -> SelfPreference:
    """Does a judge favour answers of its own family? (judge own − other) − (human own − other), each (passes, n).

    The standard error treats the four rates as independent; with the questions at hand a bootstrap by question is
    narrower. Source: STATISTICS.md §4.

    >>> s = self_preference((78, 100), (70, 100), (66, 100), (68, 100))
    >>> round(s.difference, 3), round(s.z, 3)
    (0.1, 1.102)
    """
    rates = [(k / n, n) for k, n in (judge_own, judge_other, human_own, human_other)]
    value = (rates[0][0] - rates[1][0]) - (rates[2][0] - rates[3][0])
    se = math.sqrt(math.fsum(p * (1.0 - p) / n for p, n in rates))
    z = value / se if se > 0 else None
    return SelfPreference(value, se, z, 2.0 * normal_sf(abs(z)) if z is not None else (0.0 if value else 1.0))
