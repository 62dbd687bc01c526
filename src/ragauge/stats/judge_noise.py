"""How noisy a judge is: the same questions judged several times."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class VarianceComponents:
    """One-way analysis of variance of n questions × K repeats.

    `var_between` is true variation between questions, `var_within` judge noise; `icc1` the reliability of one
    judgement, `icc1k` of the mean of K (None when nothing varies at all). `se_mean` is of the overall mean, over
    questions. A low ICC on an easy, homogeneous set does not prove a bad judge.
    """

    n_questions: int
    n_repeats: int
    ms_between: float
    ms_within: float
    var_between: float
    var_within: float
    icc1: float | None
    icc1k: float | None
    se_mean: float


def variance_components(scores: Sequence[Sequence[float]]) -> VarianceComponents:
    """Split the variance of `scores` (one row of K repeats for each question) into question and judge parts.

    `var_w = MSW`, `var_b = max(0, (MSB − MSW)/K)`, `ICC1 = (MSB − MSW)/(MSB + (K − 1) MSW)`, `ICC1k = 1 − MSW/MSB`,
    `SE(mean) = √(MSB/(nK))`. Needs two questions and two repeats, the same number for each.
    Source: Shrout and Fleiss 1979.

    >>> round(variance_components([[0.9, 0.8], [0.2, 0.3], [0.5, 0.5]]).icc1, 3)
    0.964
    """
    n = len(scores)
    repeats = {len(row) for row in scores}
    if n < 2 or len(repeats) != 1 or min(repeats) < 2:
        raise ValueError("needs at least two questions with the same number (two or more) of repeats")
    k = repeats.pop()
    means = [math.fsum(row) / k for row in scores]
    grand = math.fsum(means) / n
    ms_between = k * math.fsum((m - grand) ** 2 for m in means) / (n - 1)
    ms_within = math.fsum((x - m) ** 2 for row, m in zip(scores, means, strict=True) for x in row) / (n * (k - 1))
    total = ms_between + (k - 1) * ms_within
    return VarianceComponents(
        n_questions=n,
        n_repeats=k,
        ms_between=ms_between,
        ms_within=ms_within,
        var_between=max(0.0, (ms_between - ms_within) / k),
        var_within=ms_within,
        icc1=(ms_between - ms_within) / total if total > 0 else None,
        icc1k=1.0 - ms_within / ms_between if ms_between > 0 else None,
        se_mean=math.sqrt(ms_between / (n * k)),
    )


@dataclass(frozen=True)
class FlipRate:
    """`pairwise`: the chance that two judgements of one question differ; `any_flip`: share of questions with any."""

    pairwise: float
    any_flip: float
    n_questions: int


def flip_rate(verdicts: Sequence[Sequence[int]]) -> FlipRate:
    """How often a pass/fail judge changes its mind: mean over questions of `2k(K − k)/(K(K − 1))`.

    `verdicts` has one row of K ≥ 2 values 0 or 1 for each question; K may differ between questions. Range [0, 1].

    >>> flip_rate([[1, 1, 1], [1, 0, 1]]).any_flip
    0.5
    """
    if not verdicts or any(len(row) < 2 for row in verdicts):
        raise ValueError("needs at least one question, and two judgements of each")
    if any(v not in (0, 1) for row in verdicts for v in row):
        raise ValueError("verdicts must be 0 or 1")
    pairwise, flipped = [], 0
    for row in verdicts:
        k_all, k = len(row), sum(row)
        pairwise.append(2.0 * k * (k_all - k) / (k_all * (k_all - 1)))
        flipped += 0 < k < k_all
    return FlipRate(math.fsum(pairwise) / len(pairwise), flipped / len(verdicts), len(verdicts))


def best_repeats(var_between: float, var_within: float, cost_question: float, cost_judgment: float) -> float:
    """K* = √(var_w/var_b · cost of a question/cost of a judgement): repeats per question for a fixed budget.

    Below 1 (round up to 1): spend on more questions. Infinite when the questions do not vary at all.

    >>> round(best_repeats(0.04, 0.02, 0.05, 0.01), 2)
    1.58
    """
    if var_between <= 0 or cost_judgment <= 0:
        return math.inf
    return math.sqrt(var_within / var_between * cost_question / cost_judgment)


def standard_error_with_repeats(var_between: float, var_within: float, n: int, k: int) -> float:
    """`√((var_b + var_w/K)/n)`: the standard error of the mean over n questions judged K times each."""
    return math.sqrt((var_between + var_within / k) / n)


def variance_saved_by_repeats(var_between: float, var_within: float, k: int) -> float:
    """The share of the variance of the mean that K repeats remove, compared with one judgement.

    >>> round(variance_saved_by_repeats(0.04, 0.02, 3), 4)
    0.2222
    """
    total = var_between + var_within
    return 1.0 - (var_between + var_within / k) / total if total > 0 else 0.0


def advise_repeats(flips: float, *, questions_scarce: bool = False) -> int:
    """1 by default; 3 when more than 10 % of pairs of judgements differ, or when there are no more questions.

    >>> advise_repeats(0.04), advise_repeats(0.25)
    (1, 3)
    """
    return 3 if flips > 0.10 or questions_scarce else 1
