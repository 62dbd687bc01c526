"""The learned part: logistic regressions over named features, with weights shipped as data."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files


@dataclass(frozen=True)
class Logistic:
    """P(positive) = 1 / (1 + exp(−(bias + Σ weight·feature))). Trained by `validation/judges/train.py`."""

    names: tuple[str, ...]
    weights: tuple[float, ...]
    bias: float

    def probability(self, vector: Sequence[float]) -> float:
        """Probability (0 to 1) of the positive label; ValueError when the vector has another length."""
        total = self.bias + sum(w * x for w, x in zip(self.weights, vector, strict=True))
        return logistic(total)


def logistic(log_odds: float) -> float:
    """The probability (0 to 1) that log odds say: 1 / (1 + exp(−x)), x kept within ±30."""
    return 1 / (1 + math.exp(-max(-30.0, min(30.0, log_odds))))


def text_of(name: str) -> str:
    """A data file of this package."""
    return files("ragauge.judges.embedded").joinpath(name).read_text(encoding="utf-8")


@cache
def load(task: str, names: tuple[str, ...]) -> Logistic:
    """The regression for `task`, in the order of `names`; weights of features that it does not know are an error."""
    model = json.loads(text_of("weights.json"))["models"][task]
    weights: dict[str, float] = model["weights"]
    if set(weights) != set(names):
        raise ValueError(f"weights.json was trained for other features of {task}; run validation/judges/train.py")
    return Logistic(names, tuple(weights[name] for name in names), model["bias"])
