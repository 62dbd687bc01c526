"""Composite: one number out of several, with its parts always shown."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal

from ragauge.core.metric import MetricInfo, parse_metric_key
from ragauge.core.score import Kind, Scored, Unscored, unscored
from ragauge.errors import Reason, SettingsError

#: Built-in metrics of which less is better: they enter the mean as 1 - value.
LOWER_IS_BETTER = (
    "answered_without_context",
    "hallucination_on_unanswerable",
    "noise_sensitivity",
    "wrong_abstention",
    "zero_results",
)


@dataclass(frozen=True)
class Composite:
    """Weighted mean of the chosen metrics of one sample (fraction, 0 to 1, higher is better).

    Formula: sum of weight × value / sum of weights. Metrics named in `inverted` (of which less is better) enter as
    1 - value. `metrics` are keys (`recall@5:doc`) or bare names that only one key of the run has; `weights` go with
    them in order, or by name as a mapping (all 1 by default). `details` always has every component.

    `missing`: with "unscored" the composite is Unscored as soon as a component is: `no_components`, or the component's
    own reason when that is an error or a skip, so that failures are counted as failures. With "skip" the mean is over
    the components that are there, and `details` says which were used and which not; comparing such means compares
    different things, so it is not the default.

    Edge cases: a component that was not asked for `Unscored(no_components)`; a value outside 0 to 1 cannot be averaged:
    `Unscored(invalid_score)`.
    Cost: none.
    Source: after the RAGAS score (Es et al., 2023), as an arithmetic mean. The default four cover both halves: is the
    answer grounded and right, was the evidence retrieved, and in which order.

    Example: faithfulness 0.8 with weight 2, recall@5 0.5 with weight 1 → (1.6 + 0.5) / 3 = 0.7.
    """

    metrics: tuple[str, ...] = ("faithfulness", "correctness", "context_precision", "context_recall")
    weights: tuple[float, ...] = ()
    missing: Literal["unscored", "skip"] = "unscored"
    inverted: tuple[str, ...] = LOWER_IS_BETTER
    info: ClassVar[MetricInfo] = MetricInfo(
        name="composite",
        title="Composite (weighted mean)",
        needs=frozenset(),
        half="both",
        source="weighted arithmetic mean of chosen metrics",
    )

    def __post_init__(self) -> None:
        for name in ("metrics", "inverted"):
            object.__setattr__(self, name, tuple(getattr(self, name)))
        object.__setattr__(self, "weights", _weights(self.metrics, self.weights))
        if self.missing not in ("unscored", "skip"):
            raise SettingsError(f"missing must be 'unscored' or 'skip', not {self.missing!r}")

    def derive(self, scores: Mapping[str, Scored | Unscored], /) -> Scored | Unscored:
        """Average the components, or say which one is missing."""
        values: dict[str, float] = {}
        lacking: dict[str, Unscored] = {}
        for name in self.metrics:
            score = _find(name, scores)
            if isinstance(score, Unscored):
                lacking[name] = score
            elif not 0.0 <= score.value <= 1.0:
                return unscored(Reason.INVALID_SCORE, f"{name} is {score.value}: only 0 to 1 can be averaged")
            else:
                values[name] = score.value
        if lacking and (self.missing == "unscored" or not values):
            return _unscored(lacking)
        weights = {name: weight for name, weight in zip(self.metrics, self.weights, strict=True) if name in values}
        whole = math.fsum(weights.values())
        if whole == 0:
            return unscored(Reason.NO_COMPONENTS, "every component that is there has weight 0")
        total = math.fsum(weight * self._towards_better(name, values[name]) for name, weight in weights.items())
        return Scored(
            value=min(1.0, total / whole),
            count=len(values),
            details={
                "components": values,
                "weights": weights,
                "inverted": [name for name in values if _bare(name) in self.inverted],
                "skipped": {name: score.reason.value for name, score in lacking.items()},
            },
        )

    def _towards_better(self, name: str, value: float) -> float:
        return 1.0 - value if name in self.inverted or _bare(name) in self.inverted else value


def _weights(metrics: Sequence[str], given: Sequence[float] | Mapping[str, float]) -> tuple[float, ...]:
    """One weight for each metric. SettingsError for a wrong number of them, unknown names, or senseless values."""
    if not metrics or len(set(metrics)) < len(metrics):
        raise SettingsError("a composite is made of at least one metric, each named once")
    if isinstance(given, Mapping):
        if unknown := sorted(set(given) - set(metrics)):
            raise SettingsError(f"weights for {', '.join(unknown)}, which the composite does not have")
        given = [given.get(name, 1.0) for name in metrics]
    weights = tuple(float(weight) for weight in given) or (1.0,) * len(metrics)
    if len(weights) != len(metrics):
        raise SettingsError(f"{len(weights)} weights for {len(metrics)} metrics")
    if any(not math.isfinite(weight) or weight < 0 for weight in weights) or sum(weights) == 0:
        raise SettingsError("weights must be numbers from 0, and not all 0")
    return weights


def _bare(key: str) -> str:
    return parse_metric_key(key)[0]


def _find(name: str, scores: Mapping[str, Scored | Unscored]) -> Scored | Unscored:
    """The score under this key, or under the only key with this bare name."""
    if name in scores:
        return scores[name]
    keys = [key for key in scores if _bare(key) == name]
    if len(keys) == 1:
        return scores[keys[0]]
    return unscored(Reason.NO_COMPONENTS, f"could be any of {', '.join(keys)}" if keys else "not asked for in this run")


def _unscored(lacking: Mapping[str, Unscored]) -> Unscored:
    """One reason for all that is missing: an error first, then a skip, else `no_components`."""
    for kind in (Kind.ERROR, Kind.SKIPPED):
        for name, score in lacking.items():
            if score.kind is kind:
                return unscored(score.reason, f"{name}: {score.detail or score.reason.value}")
    missing = "; ".join(f"{name}: {score.detail or score.reason.value}" for name, score in lacking.items())
    return unscored(Reason.NO_COMPONENTS, missing)
