"""Score one sample with every metric: the one place where exceptions become reasons."""

from __future__ import annotations

import asyncio
import inspect
import time

from ragauge.core.judge import metered
from ragauge.core.metric import Metric, MetricInfo
from ragauge.core.run import MetricUsage
from ragauge.core.sample import Sample
from ragauge.core.score import Scored, Unscored, unscored
from ragauge.engine.plan import MetricPlan
from ragauge.errors import Reason, SampleError


async def score_sample(plan: MetricPlan, sample: Sample) -> tuple[dict[str, Scored | Unscored], dict[str, MetricUsage]]:
    """Every metric of the plan on one sample, side by side; derived ones after the others.

    A `SampleError` becomes `Unscored(reason)`. Any other exception is a bug and is raised, with the sample and the
    metric named.
    """
    results = await asyncio.gather(*(_score_one(key, metric, sample) for key, metric in plan.metrics.items()))
    scores = {key: score for key, (score, _) in zip(plan.metrics, results, strict=True)}
    used = {key: usage for key, (_, usage) in zip(plan.metrics, results, strict=True)}
    for key, metric in plan.derived.items():
        scores[key] = in_range(metric.derive(scores), metric.info)
    order = [spec.key for spec in plan.specs]
    return {key: scores[key] for key in order}, {key: used[key] for key in order if _worth_keeping(used.get(key))}


def failed_scores(plan: MetricPlan, error: SampleError) -> dict[str, Scored | Unscored]:
    """What every metric says when the system gave no response at all."""
    return {spec.key: unscored(error.reason, error.message) for spec in plan.specs}


async def _score_one(key: str, metric: Metric, sample: Sample) -> tuple[Scored | Unscored, MetricUsage]:
    started = time.perf_counter()
    with metered() as meter:
        try:
            result = metric.score(sample)
            score = in_range(await result if inspect.isawaitable(result) else result, metric.info)
        except SampleError as error:
            score = unscored(error.reason, error.message, error.raw)
        except Exception as error:
            error.add_note(f"while scoring {key} on sample {sample.id!r}")
            raise
    latency = (time.perf_counter() - started) * 1000
    return score, MetricUsage(usage=meter.usage, latency_ms=round(latency, 3))


def in_range(score: Scored | Unscored, info: MetricInfo) -> Scored | Unscored:
    """The score, unless its value is outside what the metric says it can be: then `Unscored(invalid_score)`."""
    if isinstance(score, Scored) and not info.low <= score.value <= info.high:
        return unscored(
            Reason.INVALID_SCORE, f"{info.name} gave {score.value:g}, outside its range {info.low:g} to {info.high:g}"
        )
    return score


def _worth_keeping(usage: MetricUsage | None) -> bool:
    return usage is not None and (usage.usage.calls > 0 or usage.usage.cached_calls > 0 or usage.latency_ms >= 1)
