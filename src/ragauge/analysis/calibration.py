"""What a calibration amounts to, as it is stored, and what it is bound to."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field

from ragauge.analysis.judge_checks import BiasCheck
from ragauge.analysis.units import Units
from ragauge.core.model import Model
from ragauge.core.run import Estimate, Manifest

Kind = Literal["none", "balanced", "too_lenient", "too_strict"]


class Disagreement(Model):
    """One unit on which judge and people differ. `human` and `judge` are values, 1 good."""

    item: str
    repeat: int = 0
    target: str | None = None
    kind: Literal["judge_lenient", "judge_strict"]
    human: float
    judge: float
    note: str = ""
    question: str = ""
    text: str = ""


class Dominant(Model):
    """Which way the judge errs. `p`: exact McNemar test that both ways are equally likely."""

    kind: Kind
    n_lenient: int
    n_strict: int
    p: float
    said: str


class Slice(Model):
    """The same figures for the questions with one tag."""

    n_labels: int
    n_units: int
    agreement: Estimate
    kappa: Estimate | None = None
    sensitivity: Estimate | None = None
    specificity: Estimate | None = None
    raw_rate: Estimate | None = None
    corrected_rate: Estimate | None = None
    refused: str | None = None


class Binding(Model):
    """What the figures hold for: change any of it and they are stale."""

    judge: str | None = None
    judge_name: str | None = None
    model: str | None = None
    prompts: dict[str, str] = Field(default_factory=dict)
    metric: str
    metric_version: int
    params: dict[str, Any] = Field(default_factory=dict)
    rule: str


class Recheck(Model):
    """The same labels under the earlier and the present judge: exact McNemar test on being right."""

    earlier_run: str
    n_shared: int
    earlier_agreement: float
    agreement: float
    p: float


class Calibration(Model):
    """One metric, one judge, one run. All rates are failure rates.

    `refused` says why there is no corrected rate. `graded_mean`: where people gave grades, the mean grade that they
    would give all answers. `n_more`: labels to ± 5 points (or to a rate at all).
    `units`: what was labelled: item, repeat, target, answer, human failing, judge failing.
    """

    metric: str
    run: str
    judge: str | None = None
    by_target: bool = False
    rule: str
    n_units: int
    n_labels: int
    n_unscored: int = 0
    excluded: dict[str, int] = Field(default_factory=dict)
    table: dict[str, int]
    agreement: Estimate
    kappa: Estimate | None = None
    sensitivity: Estimate | None = None
    specificity: Estimate | None = None
    verdict: Literal["reliable", "provisional", "retune"]
    proven: bool
    reaches_target: bool
    agreement_at_least: float
    n_more_to_certify: int | None = None
    raw_rate: Estimate | None = None
    human_rate: Estimate | None = None
    corrected_rate: Estimate | None = None
    refused: str | None = None
    graded_mean: Estimate | None = None
    n_more: int = 0
    labels_worth: float | None = None
    dominant: Dominant
    disagreements: tuple[Disagreement, ...] = ()
    bias: tuple[BiasCheck, ...] = ()
    tags: dict[str, Slice] = Field(default_factory=dict)
    between_people: dict[str, float | int] | None = None
    units: tuple[tuple[str, int, str | None, str, int, int], ...] = ()
    binding: Binding
    recheck: Recheck | None = None
    sentence: str
    notes: tuple[str, ...] = ()


def binding_of(manifest: Manifest, units: Units) -> Binding:
    """What a calibration of `units` in this run is bound to."""
    judge = manifest.judge
    return Binding(
        judge=judge.fingerprint if judge else None,
        judge_name=judge.name if judge else None,
        model=judge.model if judge else None,
        prompts=dict(judge.prompts) if judge else {},
        metric=units.metric,
        metric_version=units.spec.info.version,
        params=units.spec.params,
        rule=units.rule,
    )


def changes(binding: Binding, manifest: Manifest) -> list[str]:
    """What is no longer as it was when `binding` was made; empty: the calibration holds for this run's judge too."""
    spec = next((spec for spec in manifest.metrics if spec.key == binding.metric), None)
    judge = manifest.judge
    found: list[str] = []
    if spec is None:
        return [f"the run has no {binding.metric}"]
    if (judge.name if judge else None) != binding.judge_name or (judge.model if judge else None) != binding.model:
        found.append(f"the judge was {binding.judge_name}, now it is {judge.name if judge else 'none'}")
    mine = dict(judge.prompts) if judge else {}
    renewed = sorted(
        name for name in binding.prompts.keys() | mine.keys() if binding.prompts.get(name) != mine.get(name)
    )
    if renewed:
        found.append(f"prompts changed: {', '.join(renewed)}")
    if not found and (judge.fingerprint if judge else None) != binding.judge:
        found.append("the judge changed")
    if spec.info.version != binding.metric_version:
        found.append(f"{binding.metric} is version {spec.info.version}, it was {binding.metric_version}")
    if _plain(spec.params) != _plain(binding.params):
        found.append(f"the settings of {binding.metric} changed")
    return found


def _plain(params: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in params.items() if value is not None}


def percent(value: float, other: float | None = None) -> str:
    """`9 %`; with one decimal where whole percents would hide a difference.

    >>> percent(0.0912), percent(0.0912, 0.0931)
    ('9 %', '9.1 %')
    """
    fine = other is not None and abs(other - value) < 0.02
    return f"{100 * value:.1f} %" if fine else f"{100 * value:.0f} %"


def corrected_sentence(
    rate: Estimate | None, raw: Estimate | None, human: Estimate | None, phrase: str, refused: str | None
) -> str:
    """What a reader who knows no statistics takes away.

    >>> e = lambda v, l, h: Estimate(value=v, low=l, high=h, n=100)
    >>> corrected_sentence(e(.13, .09, .17), e(.21, .2, .22), None, "of answers contain an unsupported claim", None)
    'Between 9 % and 17 % of answers contain an unsupported claim; the judge alone said 21 %.'
    """
    alone = f"the judge alone said {percent(raw.value)}" if raw else "the judge said nothing"
    if rate is not None and rate.low is not None and rate.high is not None:
        low, high = percent(rate.low, rate.high), percent(rate.high, rate.low)
        return f"Between {low} and {high} {phrase}; {alone}."
    said = f"No corrected rate: {refused}." if refused else "No corrected rate."
    if human is not None and human.low is not None and human.high is not None:
        low, high = percent(human.low, human.high), percent(human.high, human.low)
        said += f" By the labels alone between {low} and {high} {phrase}; {alone}."
    return said
