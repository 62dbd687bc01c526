"""What the question set leaves untested, and what declining costs."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass


def unseen_mass(counts: Sequence[int]) -> float:
    """Good–Turing: the chance that the next query is about a topic never seen, `f1 / n` (f1 = topics seen once).

    >>> round(unseen_mass([2, 2, 4, 2, 1, 3, 4, 2, 1, 2, 1, 3, 2, 5]), 4)
    0.0882
    """
    n = sum(counts)
    if n < 1:
        raise ValueError("no queries were counted")
    return sum(c == 1 for c in counts) / n


def chao1(counts: Sequence[int]) -> float:
    """Bias-corrected Chao1, a lower bound on the number of topics: `S + f1 (f1 − 1)/(2 (f2 + 1))`.

    >>> round(chao1([2, 2, 4, 2, 1, 3, 4, 2, 1, 2, 1, 3, 2, 5]), 3)
    14.429
    """
    seen, f1, f2 = sum(c > 0 for c in counts), sum(c == 1 for c in counts), sum(c == 2 for c in counts)
    return seen + f1 * (f1 - 1) / (2 * (f2 + 1))


@dataclass(frozen=True)
class SelectiveRisk:
    """`coverage` = share answered; `error` among the answered (None: nothing answered); `aurc` over all thresholds."""

    coverage: float
    error: float | None
    aurc: float


def selective_risk(confidence: Sequence[float], correct: Sequence[int], threshold: float) -> SelectiveRisk:
    """Answer only when confident: how much is answered, how often is that wrong, and the area under risk–coverage.

    `aurc` is the mean, over k = 1 … n, of the error among the k most confident (ties in the order given).
    Source: El-Yaniv and Wiener 2010; Geifman et al. 2019.

    >>> selective_risk([0.9, 0.2], [1, 0], 0.5)
    SelectiveRisk(coverage=0.5, error=0.0, aurc=0.25)
    """
    n = len(confidence)
    if not n:
        raise ValueError("no answers")
    answered = [c for s, c in zip(confidence, correct, strict=True) if s >= threshold]
    order = sorted(range(n), key=lambda i: (-confidence[i], i))
    wrong, risks = 0, []
    for k, index in enumerate(order, start=1):
        wrong += 1 - correct[index]
        risks.append(wrong / k)
    error = 1.0 - sum(answered) / len(answered) if answered else None
    return SelectiveRisk(len(answered) / n, error, math.fsum(risks) / n)
