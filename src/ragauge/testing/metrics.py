"""The laws that every metric keeps."""

from __future__ import annotations

import asyncio
import dataclasses
import itertools
from collections.abc import Mapping
from typing import Any

from ragauge.core.judge import JudgeInfo
from ragauge.core.metric import Derived, Metric, MetricInfo, Need
from ragauge.core.sample import Labels, Sample
from ragauge.core.score import SCORE, Kind, Scored, Unscored, unscored
from ragauge.errors import JudgeUnavailable, Reason
from ragauge.testing.laws import LawBroken, law, score_now
from ragauge.testing.watch import WatchedJudge, reads, watched

MAX_PARAMETERS = 6


def check_metric(metric: Metric, sample: Sample) -> Scored:
    """LawBroken unless `metric` keeps the laws on `sample`, which must be one that it can score; gives that score.

    A frozen dataclass of at most six parameters with a `MetricInfo`; the same sample gives the same score; the value is
    within [`info.low`, `info.high`] and 0 or 1 for a rate; the score survives JSON; every need is read, and whatever
    else is read is in `uses`; without a need there is no number, but an `Unscored` that is no error; the order of gold
    ids does not matter; nothing but a `SampleError` is raised.
    """
    name = _check_form(metric)
    info = metric.info
    law(callable(getattr(metric, "score", None)), f"{name} has no method `score`")
    score = _scored(name, metric, sample)
    if not isinstance(score, Scored):
        raise LawBroken(f"{name} must be able to score the sample it is checked on, but gave {score!r}")
    _check_score(name, info, score)
    again = [_scored(name, metric, sample.model_copy(deep=True)) for _ in range(3)]
    law(all(other == score for other in again), f"{name} gave one sample different scores: {score!r}, then {again!r}")
    _check_reads(name, metric, sample)
    _check_removal(name, metric, sample)
    for other in _reordered(sample):
        reordered = _scored(name, metric, other)
        law(_number(reordered) == score.value, f"{name} changes with the order of gold ids: {score!r}, {reordered!r}")
    return score


def check_derived(metric: Derived, scores: Mapping[str, Scored | Unscored]) -> Scored:
    """As `check_metric`, for a metric made of other metrics' `scores`, which must be enough for it."""
    name = _check_form(metric)
    law(not metric.info.needs, f"{name} is derived: it reads scores, so it has no needs")
    score = metric.derive(scores)
    if not isinstance(score, Scored):
        raise LawBroken(f"{name} must be able to score what it is checked on, but gave {score!r}")
    _check_score(name, metric.info, score)
    law(metric.derive(dict(scores)) == score, f"{name} gave the same scores different values")
    shuffled = {key: scores[key] for key in reversed(list(scores))}
    law(_number(metric.derive(shuffled)) == score.value, f"{name} changes with the order of the scores")
    for missing in ({}, {key: unscored(Reason.JUDGE_UNAVAILABLE) for key in scores}):
        without = metric.derive(missing)
        law(isinstance(without, Unscored), f"{name} makes {without!r} of nothing: a missing score is no number")
    return score


def _check_form(metric: Any) -> str:
    kind: Any = type(metric)
    name: str = kind.__name__
    law(dataclasses.is_dataclass(kind), f"{name} is not a dataclass: a metric's parameters are its fields")
    law(kind.__dataclass_params__.frozen, f"{name} is not frozen: a metric must not remember")
    n_parameters = len(dataclasses.fields(kind))
    law(n_parameters <= MAX_PARAMETERS, f"{name} has {n_parameters} parameters, more than {MAX_PARAMETERS}")
    info: Any = getattr(kind, "info", None)
    law(isinstance(info, MetricInfo), f"{name} has no class attribute `info` of type MetricInfo")
    law("info" not in {field.name for field in dataclasses.fields(kind)}, f"{name}.info must be a ClassVar")
    law(kind.__doc__ and not kind.__doc__.startswith(f"{name}("), f"{name} has no docstring")
    law(not info.needs & info.uses, f"{name} both needs and uses {sorted(info.needs & info.uses)}")
    law(info.low < info.high, f"{name}: low {info.low} is not below high {info.high}")
    return name


def _scored(name: str, metric: Metric, sample: Sample) -> Scored | Unscored:
    try:
        return score_now(metric, sample)
    except LawBroken:
        raise
    except Exception as error:
        raise LawBroken(f"{name} raised {error!r}: only a SampleError may leave `score`") from error


def _check_score(name: str, info: MetricInfo, score: Scored) -> None:
    law(info.low <= score.value <= info.high, f"{name} gave {score.value}, outside {info.low} to {info.high}")
    if info.kind == "rate":
        law(score.value in (0.0, 1.0), f"{name} is a rate, but gave {score.value}, neither 0 nor 1")
    ids = [verdict.id for verdict in score.verdicts]
    law(len(set(ids)) == len(ids), f"{name} has two verdicts on one id: {ids}")
    try:
        back = SCORE.validate_json(SCORE.dump_json(score))
    except ValueError as error:
        raise LawBroken(f"{name}'s score cannot be written as JSON and read back: {error}") from error
    law(back == score, f"{name}'s score changes when it is written as JSON and read back: {score!r}, {back!r}")


def _check_reads(name: str, metric: Metric, sample: Sample) -> None:
    info = metric.info
    with reads() as read:
        _scored(name, _with_watched_judge(metric), watched(sample))
    declared = set(info.needs | info.uses)
    if Need.CONTEXT_TEXT in declared:
        declared.add(Need.CONTEXT)
    if hasattr(metric, "judge"):
        declared.add(Need.JUDGE)  # the field says so
    extra = sorted(need.value for need in read - declared)
    law(not extra, f"{name} reads {', '.join(extra)}, which it neither needs nor uses according to its info")
    unread = sorted(need.value for need in info.needs - read)
    law(not unread, f"{name} says that it needs {', '.join(unread)}, but does not read it")


def _with_watched_judge(metric: Any) -> Any:
    judge = getattr(metric, "judge", None)
    return metric if judge is None else dataclasses.replace(metric, judge=WatchedJudge(judge))


def _check_removal(name: str, metric: Metric, sample: Sample) -> None:
    for need in sorted(metric.info.needs - {Need.JUDGE}):
        score = _scored(name, metric, without(sample, need))
        law(isinstance(score, Unscored), f"{name} needs {need.value}, but without it still gave {score!r}")
        if isinstance(score, Unscored):
            law(score.kind is not Kind.ERROR, f"{name} calls it an error that {need.value} is missing: {score!r}")
    if Need.JUDGE in metric.info.needs:
        law(hasattr(metric, "judge"), f"{name} needs a judge, but has no field `judge`")
        failing: Metric = dataclasses.replace(metric, judge=_Failing())  # type: ignore[type-var]
        score = _scored(name, failing, sample)
        law(
            isinstance(score, Unscored) and score.kind is Kind.ERROR,
            f"{name}'s judge could not be reached, but its score was {score!r}",
        )


def without(sample: Sample, need: Need) -> Sample:
    """The sample as it would be if nobody had given this input."""
    item: dict[str, Any] = {}
    response: dict[str, Any] = {}
    labels = sample.labels
    match need:
        case Need.ANSWER:
            response = {"answer": None, "abstained": None, "citations": None}
        case Need.CONTEXT | Need.CONTEXT_TEXT:
            response = {"context": None}
        case Need.REFERENCE:
            item = {"answer": None, "claims": None}
        case Need.LABELS:
            labels = Labels()
            item = {"sources": None, "chunks": None, "relevance": None, "evidence": None}
        case Need.ANSWERABLE:
            item = {"answerable": None}
        case Need.KEYWORDS:
            item = {"keywords": None}
        case Need.JUDGE:
            raise ValueError("the judge is no part of the sample")
    return sample.model_copy(
        update={
            "item": sample.item.model_copy(update=item),
            "response": sample.response.model_copy(update=response),
            "labels": labels,
        }
    )


def _reordered(sample: Sample) -> list[Sample]:
    """The sample with its gold ids, groups and keywords in other orders."""
    grades = sample.labels.chunks or {}
    orders = [tuple(reversed(grades)), *itertools.islice(itertools.permutations(grades), 1, 4)]
    variants = []
    for order in orders:
        labels = Labels(
            chunks={id: grades[id] for id in order} or None,
            documents=dict(reversed(sample.labels.documents.items())) if sample.labels.documents else None,
            groups=tuple(tuple(reversed(g)) for g in reversed(sample.labels.groups)) if sample.labels.groups else None,
        )
        keywords = tuple(reversed(sample.item.keywords)) if sample.item.keywords else sample.item.keywords
        item = sample.item.model_copy(update={"keywords": keywords})
        variants.append(sample.model_copy(update={"labels": labels, "item": item}))
    return variants


def _number(score: Scored | Unscored) -> float | None:
    return score.value if isinstance(score, Scored) else None


@dataclasses.dataclass(frozen=True)
class _Failing:
    """A judge that nobody can reach."""

    def info(self) -> JudgeInfo:
        return JudgeInfo(name="failing", kind="scripted", version="1", fingerprint="failing")

    async def ask(self, task: Any, /, **inputs: Any) -> Any:
        await asyncio.sleep(0)
        raise JudgeUnavailable("nobody answers")
