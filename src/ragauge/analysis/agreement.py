"""How far a judge's probabilities agree with people's labels: ranking, decisions at a threshold, calibration."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from ragauge.core.model import Model
from ragauge.core.run import Estimate
from ragauge.stats.agreement import Table, cohen_kappa

Array = NDArray[np.float64]
REPLICATES = 1000


class Agreement(Model):
    """Figures of one set. None where one label is missing or a figure is undefined."""

    n: int
    n_positive: int
    auroc: Estimate | None
    balanced_accuracy: Estimate | None
    f1: Estimate | None
    kappa: Estimate | None
    calibration_error: float | None


def agreement_of(
    scores: Sequence[float],
    labels: Sequence[int],
    groups: Sequence[str] | None = None,
    *,
    threshold: float = 0.5,
    level: float = 0.95,
    n_resamples: int = REPLICATES,
    seed: int = 0,
) -> Agreement:
    """Agreement of `scores` (probabilities of label 1) with people's `labels` (0 or 1).

    Intervals are percentiles of a bootstrap that draws whole `groups` (what must not be split: one source, one
    question), because rows of a group err together. `threshold`: from which score on the judge says 1.

    >>> found = agreement_of([0.9, 0.8, 0.3, 0.1], [1, 1, 0, 0])
    >>> found.auroc.value, found.balanced_accuracy.value, found.kappa.value, round(found.calibration_error, 3)
    (1.0, 1.0, 1.0, 0.175)
    """
    s, y = np.asarray(scores, dtype=np.float64), np.asarray(labels, dtype=np.float64)
    if len(s) != len(y) or (groups is not None and len(groups) != len(y)):
        raise ValueError("scores, labels and groups have the same length")
    if not set(np.unique(y)) <= {0.0, 1.0}:
        raise ValueError("labels must be 0 or 1")
    figures = _figures(threshold)
    draws = _draws(s, y, list(groups) if groups is not None else None, figures, n_resamples, seed)
    made = {
        name: _estimate(figure(s, y), draws[:, place], level, len(y))
        for place, (name, figure) in enumerate(figures.items())
    }
    return Agreement(n=len(y), n_positive=int(y.sum()), calibration_error=calibration_error(s, y), **made)


def auroc(scores: Array, labels: Array) -> float | None:
    """Probability that a positive is scored above a negative, ties half (Mann and Whitney 1947). Range [0, 1].

    None when one label is missing.

    >>> auroc(np.array([0.1, 0.4, 0.4, 0.9]), np.array([0.0, 0.0, 1.0, 1.0]))
    0.875
    """
    n_positive = float(labels.sum())
    n_negative = len(labels) - n_positive
    if not n_positive or not n_negative:
        return None
    order = np.argsort(scores, kind="stable")
    _, counts = np.unique(scores[order], return_counts=True)
    last = np.cumsum(counts)
    ranks = np.empty(len(scores))
    ranks[order] = np.repeat(last - (counts - 1) / 2, counts)
    return float((ranks[labels == 1].sum() - n_positive * (n_positive + 1) / 2) / (n_positive * n_negative))


def balanced_accuracy(scores: Array, labels: Array, threshold: float = 0.5) -> float | None:
    """Mean of sensitivity and specificity at `threshold`. Range [0, 1]; 0.5 is chance; None when a label is missing.

    >>> balanced_accuracy(np.array([0.9, 0.2, 0.6, 0.1]), np.array([1.0, 1.0, 0.0, 0.0]))
    0.5
    """
    said = scores >= threshold
    if not labels.any() or labels.all():
        return None
    return float((said[labels == 1].mean() + (~said)[labels == 0].mean()) / 2)


def f1(scores: Array, labels: Array, threshold: float = 0.5) -> float | None:
    """F1 of label 1 at `threshold`: `2 TP / (2 TP + FP + FN)`. Range [0, 1]; None when nobody says 1.

    >>> f1(np.array([0.9, 0.2, 0.6, 0.1]), np.array([1.0, 1.0, 0.0, 0.0]))
    0.5
    """
    said = scores >= threshold
    total = float(said.sum() + labels.sum())
    return float(2 * (said & (labels == 1)).sum() / total) if total else None


def kappa(scores: Array, labels: Array, threshold: float = 0.5) -> float | None:
    """Cohen's kappa at `threshold`; None where it is undefined."""
    found = cohen_kappa(table_of(scores, labels, threshold))
    return None if found is None else found.value


def table_of(scores: Array, labels: Array, threshold: float = 0.5) -> Table:
    """The 2 × 2 table at `threshold`."""
    said, true = scores >= threshold, labels == 1
    return Table(
        int((true & said).sum()), int((true & ~said).sum()), int((~true & said).sum()), int((~true & ~said).sum())
    )


def calibration_error(scores: Array, labels: Array, n_bins: int = 10) -> float | None:
    """Expected calibration error (Naeini et al. 2015): Σ share of bin · |mean score − share of label 1|, ten bins of
    equal width. Range [0, 1]; 0 is best; None without rows.

    >>> calibration_error(np.array([0.75, 0.75, 0.75, 0.75]), np.array([1.0, 1.0, 1.0, 0.0]))
    0.0
    """
    if not len(scores):
        return None
    bins = np.minimum((scores * n_bins).astype(int), n_bins - 1)
    error = 0.0
    for one in np.unique(bins):
        inside = bins == one
        error += float(inside.mean()) * abs(float(scores[inside].mean()) - float(labels[inside].mean()))
    return error


_Figure = Callable[[Array, Array], float | None]


def _figures(threshold: float) -> dict[str, _Figure]:
    return {
        "auroc": auroc,
        "balanced_accuracy": lambda s, y: balanced_accuracy(s, y, threshold),
        "f1": lambda s, y: f1(s, y, threshold),
        "kappa": lambda s, y: kappa(s, y, threshold),
    }


def _draws(
    s: Array, y: Array, groups: list[str] | None, figures: dict[str, _Figure], n_resamples: int, seed: int
) -> Array:
    """Every figure of every resample of whole groups; NaN (inside only) where one is undefined."""
    places: dict[str, list[int]] = {}
    for place, group in enumerate(groups if groups is not None else map(str, range(len(y)))):
        places.setdefault(group, []).append(place)
    members = [np.array(found) for found in places.values()]
    generator = np.random.default_rng(seed)
    draws = np.full((n_resamples, len(figures)), np.nan)
    if not members:
        return draws
    for row in range(n_resamples):
        chosen = np.concatenate([members[i] for i in generator.integers(0, len(members), len(members))])
        for column, figure in enumerate(figures.values()):
            value = figure(s[chosen], y[chosen])
            if value is not None:
                draws[row, column] = value
    return draws


def _estimate(value: float | None, draws: Array, level: float, n: int) -> Estimate | None:
    if value is None:
        return None
    kept = draws[~np.isnan(draws)]
    low = high = None
    if len(kept) >= 100:
        tail = 100 * (1 - level) / 2
        low, high = (float(v) for v in np.percentile(kept, [tail, 100 - tail]))
        low, high = min(low, value), max(high, value)
    return Estimate(value=value, low=low, high=high, level=level, n=n, method="group bootstrap, percentile")
