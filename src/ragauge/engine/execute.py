"""Carry out a planned run on this machine: bounded, resumable, every row on disk as soon as it is finished."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Protocol

from ragauge.core.run import Record
from ragauge.core.sample import GoldenItem, Labels, Response, Sample
from ragauge.core.score import Unscored
from ragauge.core.system import System, repeating
from ragauge.dataset.recorded import recorded_failure
from ragauge.engine.plan import MetricPlan
from ragauge.engine.score import failed_scores, score_sample
from ragauge.errors import NOTHING_RECORDED, Reason, SampleError, SystemFailed, TimedOut

Resolve = Callable[[GoldenItem, Response], Labels]


@dataclass(frozen=True)
class Job:
    """One row to make. `sample` is there already when recorded outputs are scored. `draw` numbers independent
    judgements of the same sample, so that the noise of a judge shows in repeats.
    """

    index: int
    item: GoldenItem
    repeat: int = 0
    sample: Sample | None = None
    attempt: int = 1
    draw: int = 0


@dataclass(frozen=True)
class Execution:
    """How a run is carried out: who answers, what is computed, how labels become ids, how much at once.

    `timeout_s` limits one answer of the system; waiting for a free place never counts. `redrawn`: the plans of draws
    after the first.
    """

    plan: MetricPlan
    system: System | None = None
    resolve: Resolve | None = None
    concurrency: int = 8
    timeout_s: float | None = None
    redrawn: Mapping[int, MetricPlan] = field(default_factory=dict)

    def plan_of(self, job: Job) -> MetricPlan:
        """The metrics with the judge of the job's draw."""
        return self.redrawn.get(job.draw, self.plan)


@dataclass
class Progress:
    """How far a run is. `spent` is set when a budget ended it early."""

    n_done: int = 0
    spent: str | None = None


Told = Callable[[Record, int], None]


class Lines(Protocol):
    """Where finished rows go: a `JsonlWriter`, or a list on the way to one."""

    def append(self, line: str, /) -> None:
        """Take one row, as JSON."""
        ...


async def execute(
    execution: Execution, jobs: Iterable[Job], writer: Lines, told: Told, slots: asyncio.Semaphore | None = None
) -> Progress:
    """Make every job's row and append it; `told(record, n_done)` after each.

    At most `concurrency` jobs are held at once, so memory does not grow with their number. A bug in a metric or a
    system stops everything and is raised; rows that are finished by then are on disk. `slots`: places that several
    calls share; a row is made while it holds one.
    """
    progress = Progress()
    source: Iterator[Job] = iter(jobs)

    async def worker() -> None:
        while progress.spent is None:
            job = next(source, None)
            if job is None:
                return
            async with slots or contextlib.nullcontext():
                record = await make_record(execution, job)
            spent = _budget_reason(record)
            if spent is not None:
                progress.spent = spent  # this row is left out: a resumed run makes it whole
                return
            writer.append(record.model_dump_json(exclude_defaults=True))
            progress.n_done += 1
            told(record, progress.n_done)
            await asyncio.sleep(0)  # judges that never wait must not starve the others

    try:
        async with asyncio.TaskGroup() as group:
            for _ in range(execution.concurrency):
                group.create_task(worker())
    except* Exception as errors:
        raise _first(errors) from None
    return progress


async def make_record(execution: Execution, job: Job) -> Record:
    """Ask (unless recorded), resolve the labels, score."""
    try:
        sample = await _sample(execution, job)
    except SampleError as error:
        return failed_record(execution.plan, job, error)
    scores, used = await score_sample(execution.plan_of(job), sample)
    return Record(
        index=job.index,
        sample=sample,
        scores=scores,
        used=used,
        warnings=(*sample.labels.notes, *sample_warnings(sample)),
        attempt=job.attempt,
    )


def failed_record(plan: MetricPlan, job: Job, error: SampleError) -> Record:
    """The row of a job that nothing came of: every metric says why."""
    recorded = job.sample or Sample(item=job.item, response=Response())
    sample = recorded.model_copy(update={"repeat": job.repeat})
    scores = failed_scores(plan, error)
    return Record(index=job.index, sample=sample, scores=scores, error=error.message, attempt=job.attempt)


async def _sample(execution: Execution, job: Job) -> Sample:
    if job.sample is not None:
        failed = recorded_failure(job.sample.response)
        if failed is not None:
            raise SystemFailed(failed)
        return job.sample.model_copy(update={"repeat": job.repeat})
    if execution.system is None or execution.resolve is None:
        raise SystemFailed(NOTHING_RECORDED)
    with repeating(job.repeat):
        response = await _respond(execution, execution.system, job.item)
    labels = execution.resolve(job.item, response)
    return Sample(item=job.item, response=response, labels=labels, repeat=job.repeat)


async def _respond(execution: Execution, system: System, item: GoldenItem) -> Response:
    started = time.perf_counter()
    try:
        async with asyncio.timeout(execution.timeout_s):
            response = await system.respond(item.ask())
    except TimeoutError:
        raise TimedOut(f"the system did not answer within {execution.timeout_s:g} s") from None
    if response.total_ms is None:
        elapsed = round((time.perf_counter() - started) * 1000, 3)
        response = response.model_copy(update={"total_ms": elapsed})
    return response


def sample_warnings(sample: Sample) -> list[str]:
    """What is odd about a sample, for its row."""
    missing = sample.response.metadata.get("not_found")
    found = [f"the mapping found nothing for {path}" for path in missing] if isinstance(missing, list) else []
    context = sample.response.context
    n_twice = 0 if context is None else len(context) - len(context.ids)
    return [
        *found,
        *([f"{n_twice} retrieved chunk ids came twice; each counts once, at its best rank"] if n_twice else []),
    ]


def _budget_reason(record: Record) -> str | None:
    for score in record.scores.values():
        if isinstance(score, Unscored) and score.reason is Reason.BUDGET_SPENT:
            return score.detail or "the budget is spent"
    return None


def _first(errors: BaseExceptionGroup[Exception]) -> BaseException:
    error: BaseException = errors
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error
