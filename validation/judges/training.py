"""Logistic regressions for the embedded judge, fitted so that every set weighs the same and both labels weigh the same.

A text is supported when each of its claims is. So every claim of a positive text is a positive example (they share
its weight), and of a negative text the one claim that the current weights believe least is the negative example
(multiple-instance learning, a few rounds). Plain Newton steps on numpy: no seed, no randomness.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
#: Strength of the quadratic penalty on weights, and total weight of one label of one set.
PENALTY, WEIGHT, ROUNDS = 3.0, 500.0, 4


@dataclass(frozen=True)
class Example:
    """One labelled text: a row of features for each of its claims."""

    features: Array
    label: int
    group: str


def fit(sets: Mapping[str, Sequence[Example]], leave_out: Sequence[str] = ()) -> Array:
    """Weights and, last, the bias, from all sets but those in `leave_out`."""
    used = [sets[name] for name in sorted(sets) if name not in leave_out]
    weights: Array | None = None
    for _ in range(ROUNDS):
        weights = _newton(*_examples(used, weights))
    assert weights is not None
    return weights


def probabilities(weights: Array, features: Array) -> Array:
    """P(positive) of each row."""
    result: Array = 1 / (1 + np.exp(-(features @ weights[:-1] + weights[-1])))
    return result


def _examples(sets: Sequence[Sequence[Example]], weights: Array | None) -> tuple[Array, Array, Array]:
    features, labels, importances = [], [], []
    for examples in sets:
        label, importance = [], []
        for example in examples:
            n = len(example.features)
            if example.label == 1:
                features.append(example.features)
                label += [1.0] * n
                importance += [1 / n] * n
            elif n == 1 or weights is not None:
                worst = 0 if n == 1 or weights is None else int(probabilities(weights, example.features).argmin())
                features.append(example.features[worst : worst + 1])
                label.append(0.0)
                importance.append(1.0)
        y, w = np.array(label), np.array(importance)
        for value in (0.0, 1.0):
            w[y == value] *= WEIGHT / max(w[y == value].sum(), 1e-9)
        labels.append(y)
        importances.append(w)
    return np.vstack(features), np.concatenate(labels), np.concatenate(importances)


def _newton(x: Array, y: Array, w: Array) -> Array:
    design = np.hstack([x, np.ones((len(x), 1))])
    penalty = np.eye(design.shape[1]) * PENALTY
    penalty[-1, -1] = 1e-6
    weights = np.zeros(design.shape[1])
    for _ in range(60):
        p = 1 / (1 + np.exp(-design @ weights))
        gradient = design.T @ (w * (p - y)) + penalty @ weights
        hessian = (design * (w * p * (1 - p))[:, None]).T @ design + penalty
        step = np.linalg.solve(hessian, gradient)
        weights = weights - step
        if np.abs(step).max() < 1e-9:
            break
    return weights
