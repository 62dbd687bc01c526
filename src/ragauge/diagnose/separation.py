"""Do scores part what is relevant from what is not? AUROC with an interval that knows questions, and overlap."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from ragauge.core.run import Estimate
from ragauge.stats.quantiles import t_quantile


def auroc(scores: Sequence[float], relevant: Sequence[bool], questions: Sequence[str]) -> Estimate | None:
    """The chance that a relevant chunk scores above an irrelevant one, ties half (0.5: no separation, 1: perfect).

    None without a chunk of each kind. Interval: Obuchowski's variance for clustered data (chunks of one question belong
    together) on the logit scale with t(G - 1); fewer than two questions, or perfect separation: no interval.
    Source: DeLong et al. (1988), Biometrics 44; Obuchowski (1997), Biometrics 53, 567–578.

    >>> auroc([0.9, 0.8, 0.3, 0.2], [True, False, True, False], ["a", "a", "b", "b"]).value
    0.75
    """
    x = np.asarray(scores, np.float64)
    is_relevant = np.asarray(relevant, bool)
    positive, negative = x[is_relevant], x[~is_relevant]
    m, n = len(positive), len(negative)
    if not m or not n:
        return None
    v10, v01 = _placements(positive, negative), 1 - _placements(negative, positive)
    value = float(v10.mean())
    names = np.asarray(questions)
    groups, index = np.unique(names, return_inverse=True)
    n_groups = len(groups)
    method = f"clustered DeLong (Obuchowski), {n_groups} questions, logit"
    if n_groups < 2 or value in (0.0, 1.0):
        return Estimate(value=value, n=m + n, method="no interval: " + ("one question" if n_groups < 2 else "perfect"))
    of_positive, of_negative = index[is_relevant], index[~is_relevant]
    sums10 = np.bincount(of_positive, v10 - value, n_groups)
    sums01 = np.bincount(of_negative, v01 - value, n_groups)
    i10, i01 = len(set(of_positive.tolist())), len(set(of_negative.tolist()))
    s10 = i10 / max(i10 - 1, 1) * float(np.sum(sums10**2)) / m**2
    s01 = i01 / max(i01 - 1, 1) * float(np.sum(sums01**2)) / n**2
    s11 = n_groups / (n_groups - 1) * float(np.sum(sums10 * sums01)) / (m * n)
    error = math.sqrt(max(s10 + s01 + 2 * s11, 0.0))
    half = t_quantile(0.975, n_groups - 1) * error / (value * (1 - value))
    logit = math.log(value / (1 - value))
    return Estimate(value=value, low=_expit(logit - half), high=_expit(logit + half), n=m + n, method=method)


def _placements(of: np.ndarray, among: np.ndarray) -> np.ndarray:
    """For each of `of`, the share of `among` below it, ties half."""
    ordered = np.sort(among)
    below, upto = np.searchsorted(ordered, of, "left"), np.searchsorted(ordered, of, "right")
    placed: np.ndarray = (below + upto) / (2 * len(ordered))
    return placed


def _expit(x: float) -> float:
    return 1 / (1 + math.exp(-x)) if x >= 0 else math.exp(x) / (1 + math.exp(x))


def overlap(a: Sequence[float], b: Sequence[float], bins: int = 20) -> float | None:
    """The area that two histograms share (0: apart, 1: the same); None when one is empty.

    >>> overlap([0.0, 0.1], [0.9, 1.0]), overlap([1, 2], [1, 2])
    (0.0, 1.0)
    """
    if not a or not b:
        return None
    edges = np.histogram_bin_edges(np.asarray([*a, *b], np.float64), bins=bins)
    left, right = (np.histogram(part, edges)[0] / len(part) for part in (a, b))
    return float(np.minimum(left, right).sum())
