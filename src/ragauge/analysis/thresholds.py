"""Thresholds with meaning (J10): what counts as good, and below what something is broken."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Literal

from pydantic import Field, ValidationError, model_validator

from ragauge.core.metric import names_of, parse_metric_key
from ragauge.core.model import Model
from ragauge.errors import SettingsError, UnknownName

Verdict = Literal["good", "below", "broken", "none"]


class Threshold(Model):
    """`good`: at least this is fine (at most, for metrics where lower is better); past `broken` something is wrong."""

    good: float
    broken: float | None = None
    meaning: str = ""


class Thresholds(Model):
    """A profile's name and one threshold for each metric name (recall, recall@5 or recall@5:doc; the longest wins)."""

    profile: str = "general"
    metrics: dict[str, Threshold] = Field(default_factory=dict)

    def of(self, key: str) -> Threshold | None:
        """The threshold of a metric key: its own, else that without granularity, else that of its base name."""
        return next((self.metrics[name] for name in names_of(key) if name in self.metrics), None)

    @model_validator(mode="after")
    def _known_profile(self) -> Thresholds:
        if self.profile not in PROFILES:
            raise ValueError(f"unknown profile {self.profile!r}")
        return self


_RECALL = "share of the gold evidence that was retrieved"
_GENERAL: dict[str, Threshold] = {
    "hit_rate": Threshold(good=0.9, broken=0.7, meaning="questions with any gold evidence retrieved"),
    "recall": Threshold(good=0.7, broken=0.5, meaning=_RECALL),
    "context_recall": Threshold(good=0.7, broken=0.5, meaning="share of the reference that the context holds"),
    "context_recall_ids": Threshold(good=0.7, broken=0.5, meaning=_RECALL),
    "context_precision": Threshold(good=0.8, broken=0.6, meaning="below .6 the ranking is broken"),
    "context_precision_ids": Threshold(good=0.8, broken=0.6, meaning="below .6 the ranking is broken"),
    "coverage": Threshold(good=0.9, broken=0.7),
    "context_sufficiency": Threshold(good=0.8, broken=0.6),
    "faithfulness": Threshold(good=0.95, broken=0.9, meaning="below .9 the answer does not use its context"),
    "answer_relevance": Threshold(good=0.8, broken=0.6, meaning="below .6 answers are off-topic"),
    "relevance_rubric": Threshold(good=0.8, broken=0.6, meaning="below .6 answers are off-topic"),
    "correctness": Threshold(good=0.8, broken=0.6),
    "completeness": Threshold(good=0.8, broken=0.6),
    "citation_accuracy": Threshold(good=0.95, broken=0.8),
    "citation_recall": Threshold(good=0.9, broken=0.7),
    "abstention": Threshold(good=0.9, broken=0.75),
    "wrong_abstention": Threshold(good=0.05, broken=0.2),
    "hallucination_on_unanswerable": Threshold(good=0.1, broken=0.3),
    "answered_without_context": Threshold(good=0.05, broken=0.15),
    "zero_results": Threshold(good=0.05, broken=0.1),
    "noise_sensitivity": Threshold(good=0.1, broken=0.3, meaning="share of wrong claims that come from the chunks"),
    "context_utilisation": Threshold(good=0.5, broken=0.25, meaning="share of the useful chunks that are used"),
}
PROFILES: dict[str, dict[str, Threshold]] = {
    "general": _GENERAL,
    "high_stakes": _GENERAL
    | {
        "recall": Threshold(good=0.9, broken=0.7, meaning=_RECALL),
        "context_recall": Threshold(good=0.9, broken=0.7, meaning="share of the reference that the context holds"),
        "context_recall_ids": Threshold(good=0.9, broken=0.7, meaning=_RECALL),
        "correctness": Threshold(good=0.95, broken=0.85),
        "hallucination_on_unanswerable": Threshold(good=0.02, broken=0.1),
    },
}


def resolve_thresholds(
    settings: Mapping[str, Any] | None,
    known: frozenset[str] | None = None,
    range_of: Callable[[str], tuple[float, float]] | None = None,
) -> Thresholds:
    """The profile that `settings["profile"]` names (default general) with the other entries laid over it.

    An entry is a number (`faithfulness: 0.9`, meaning `good`) or a mapping `{good, broken, meaning}`. `known`: the
    names that may be used; `range_of`: the least and the greatest value of a metric, which no threshold may leave (90
    for 0.9 would be reached by nothing, or by everything). Raises `SettingsError` or `UnknownName`.
    """
    given = dict(settings or {})
    profile = given.pop("profile", "general")
    if profile not in PROFILES:
        raise UnknownName("profile", str(profile), PROFILES)
    metrics = dict(PROFILES[profile])
    for key, value in given.items():
        try:
            name, _, _ = parse_metric_key(key)
        except ValueError as error:
            raise SettingsError(f"thresholds: {error}") from None
        if known is not None and name not in known:
            raise UnknownName("metric in thresholds", key, known)
        try:
            metrics[key] = Threshold.model_validate(value if isinstance(value, Mapping) else {"good": value})
        except ValidationError as error:
            raise SettingsError(
                f"thresholds.{key}: {error.errors()[0]['msg']}", hint="Give a number, or {good: 0.9, broken: 0.7}."
            ) from None
        if range_of is not None:
            _within(key, metrics[key], range_of(name))
    return Thresholds(profile=profile, metrics=metrics)


def _within(key: str, threshold: Threshold, allowed: tuple[float, float]) -> None:
    low, high = allowed
    for value in (threshold.good, threshold.broken):
        if value is not None and not low <= value <= high:
            raise SettingsError(
                f"thresholds.{key}: {value:g} is outside of the metric's range", hint=f"Between {low:g} and {high:g}."
            )


def judge_value(value: float, threshold: Threshold | None, better: str) -> Verdict:
    """good, below or broken; none without a threshold.

    >>> judge_value(0.92, Threshold(good=0.95, broken=0.9), "higher")
    'below'
    """
    if threshold is None or better == "none":
        return "none"
    sign = 1.0 if better == "higher" else -1.0
    if sign * value >= sign * threshold.good:
        return "good"
    if threshold.broken is not None and sign * value < sign * threshold.broken:
        return "broken"
    return "below"
