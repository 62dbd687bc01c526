"""The two ways to make a run: ask a system every golden question, or score what it answered before."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from pathlib import Path
from typing import Any, Literal, Protocol

from ragauge.core.judge import Judge
from ragauge.core.run import DatasetInfo, Manifest, Record
from ragauge.core.sample import GoldenItem, Response, Sample
from ragauge.core.system import Closes, HasCorpus, System, SystemInfo
from ragauge.dataset.evidence import CorpusIndex, resolve_labels
from ragauge.dataset.fingerprint import set_fingerprint
from ragauge.dataset.golden import GoldenSet
from ragauge.dataset.validate import check_labels
from ragauge.engine.execute import Execution, Job, Progress
from ragauge.engine.executor import executor_for, executor_notes
from ragauge.engine.manifest import check_same_run, make_manifest
from ragauge.engine.parts import Shared
from ragauge.engine.plan import MetricPlan, Supply
from ragauge.engine.recipe import Own, Recipe
from ragauge.engine.settings import Settings
from ragauge.errors import InputError
from ragauge.judges.families import same_family_warnings
from ragauge.judges.layers import aclose, preflight
from ragauge.store.rundir import RowIndex, RunDir


class Watcher(Protocol):
    """Is told how a run goes on. Every method may do nothing."""

    def stage(self, what: str, n_done: int, n_total: int | None) -> None:
        """Something long before the first question (an index is built)."""
        ...

    def started(self, run: RunDir, n_total: int, n_already: int) -> None:
        """The directory is there; `n_already` rows were in it."""
        ...

    def row(self, record: Record, n_done: int) -> None:
        """A row is finished and on disk."""
        ...


class Silent:
    """A watcher that says nothing."""

    def stage(self, what: str, n_done: int, n_total: int | None) -> None:
        """Nothing."""

    def started(self, run: RunDir, n_total: int, n_already: int) -> None:
        """Nothing."""

    def row(self, record: Record, n_done: int) -> None:
        """Nothing."""


@dataclass(frozen=True)
class Options:
    """What is common to both ways. `expected`: the golden set that recorded outputs were joined to. `shared`: what the
    models of judge and system have in common. `own`: objects of the caller's that the settings do not name.
    """

    settings: Settings
    thresholds: dict[str, Any]
    judge: Judge | None
    out: Path
    command: Literal["run", "score", "evaluate"] = "run"
    resume: RunDir | None = None
    retry_errors: bool = False
    name: str = "run"
    shown_settings: dict[str, Any] | None = None
    expected: GoldenSet | None = None
    shared: Shared | None = None
    own: Own = field(default_factory=Own)


@dataclass(frozen=True)
class Made:
    """A run that was made: its directory, and why it ended early, if it did."""

    run: RunDir
    progress: Progress


class Samples(Protocol):
    """Recorded outputs that can be read more than once, one at a time, in input order."""

    name: str
    warnings: tuple[str, ...]

    def __iter__(self) -> Iterator[Sample]:
        """From the beginning."""
        ...


async def run_system(golden: GoldenSet, system: System, options: Options, watcher: Watcher) -> Made:
    """Ask `system` every item of `golden` and score what it answers."""
    settings = options.settings
    golden = golden.filter(tags=settings.run.tags, limit=settings.run.limit)
    try:
        await preflight(system)  # its models describe chunks while the index is built
        await preflight(options.judge)
        await _build(system, watcher)
        corpus = CorpusIndex.from_chunks(system.corpus()) if isinstance(system, HasCorpus) else None
        if corpus is not None:
            check_labels(golden, corpus)
        supply = Supply()
        for item in golden:
            supply.add(item, None, resolve_labels(item, corpus, Response()))
        info = system.info()
        k = info.settings.get("k")
        k = k if isinstance(k, int) else 5
        recipe = Recipe(settings, supply, asks=True, k=k, own=options.own)
        execution = recipe.execution(options.judge, system, corpus)
        notes = (*golden.notes, *_warnings(system), *same_family_warnings(options.judge, [info.model]))
        manifest = _manifest(
            options, golden.info(), info, execution.plan, notes + executor_notes(recipe, options.judge)
        )
        await _prepare(system, golden.items, watcher)
        jobs = [
            Job(index, item, repeat, draw=repeat)
            for repeat in range(settings.run.repeats)
            for index, item in enumerate(golden)
        ]
        return await _carry_out(recipe, execution, manifest, jobs, len(jobs), options, watcher)
    finally:
        await aclose(options.judge)
        if isinstance(system, Closes):
            await system.aclose()


async def score_samples(samples: Samples, options: Options, watcher: Watcher) -> Made:
    """Score recorded outputs. They are read twice: all of it is checked before anything is written, then scored."""
    settings = options.settings
    supply = Supply()
    items: dict[str, str] = {}
    models: dict[str, None] = {}
    answers = hashlib.sha256()
    n_verified = n_samples = 0
    for sample in chosen(samples, settings):
        supply.add(sample.item, sample.response, sample.labels)
        items[sample.item.id] = sample.item.fingerprint()
        answers.update(sample.response.model_dump_json(exclude_defaults=True).encode())
        n_verified += sample.item.verified
        n_samples += 1
        if sample.response.model is not None:
            models[sample.response.model] = None
    if not items:
        raise InputError("no sample is left to score", file=samples.name, hint="Check --tags and --limit.")
    recipe = Recipe(settings, supply, asks=False, own=options.own)
    execution = recipe.execution(options.judge)
    missing = _missing(options, items)
    for item in missing:
        items[item.id] = item.fingerprint()
        n_verified += item.verified
    dataset = DatasetInfo(
        name=samples.name,
        path=_path(samples),
        fingerprint=set_fingerprint(items),
        n_items=len(items),
        n_verified=n_verified if n_verified or options.expected is not None else None,
        items=items,
    )
    info = SystemInfo(name="recorded outputs", kind="replay", fingerprint=answers.hexdigest()[:16])
    notes = (
        *samples.warnings,
        *same_family_warnings(options.judge, list(models)),
        *executor_notes(recipe, options.judge),
    )
    if missing:
        notes += (f"{len(missing)} golden items have no recorded output: each counts as a failed row",)
    manifest = _manifest(options, dataset, info, execution.plan, notes)
    n_repeats = settings.run.repeats
    recorded = (
        Job(index, sample.item, sample.repeat * n_repeats + repeat, sample, draw=repeat)
        for index, sample in enumerate(chosen(samples, settings))
        for repeat in range(n_repeats)
    )
    unanswered = [Job(n_samples + place, item) for place, item in enumerate(missing)]
    n_jobs = n_samples * n_repeats + len(unanswered)
    return await _carry_out(recipe, execution, manifest, chain(recorded, unanswered), n_jobs, options, watcher)


def _missing(options: Options, recorded: Mapping[str, str]) -> list[GoldenItem]:
    """Golden items that nothing was recorded for: what was expected counts, not what arrived."""
    run = options.settings.run
    if options.expected is None or run.limit is not None:
        return []
    tags = set(run.tags)
    return [item for item in options.expected if item.id not in recorded and (not tags or tags & set(item.tags))]


def _path(samples: Samples) -> str | None:
    path = getattr(samples, "path", None)
    return None if path is None else str(path)


def chosen(samples: Samples, settings: Settings) -> Iterator[Sample]:
    """Those that the settings' tags and limit leave."""
    tags, limit = set(settings.run.tags), settings.run.limit
    n = 0
    for sample in samples:
        if tags and not tags & set(sample.item.tags):
            continue
        if limit is not None and n >= limit:
            return
        n += 1
        yield sample


def _manifest(
    options: Options, dataset: DatasetInfo, system: SystemInfo, plan: MetricPlan, notes: tuple[str, ...]
) -> Manifest:
    settings = options.settings
    shown = options.shown_settings
    return make_manifest(
        options.command,
        name=options.name,
        dataset=dataset,
        system=system,
        judge=options.judge.info() if options.judge is not None else None,
        plan=plan,
        thresholds=options.thresholds,
        settings=shown if shown is not None else settings.model_dump(mode="json", exclude_defaults=True),
        seed=settings.run.seed,
        repeats=settings.run.repeats,
        notes=notes,
    )


async def _carry_out(
    recipe: Recipe,
    execution: Execution,
    manifest: Manifest,
    jobs: Iterable[Job],
    n_total: int,
    options: Options,
    watcher: Watcher,
) -> Made:
    try:
        if execution.system is None:  # before anything is written: an endpoint that cannot serve leaves no run behind
            await preflight(options.judge)
        run, n_already = options.resume, 0
        if run is not None:
            check_same_run(run.manifest, manifest)
            index = run.index()
            n_already = len(index.offsets) - (len(index.failed) if options.retry_errors else 0)
        async with executor_for(recipe, options.shared, n_total - n_already, watcher.stage) as executor:
            run = run or RunDir.create(options.out, manifest)
            with run.writer() as writer:
                todo = _left(jobs, run.index(), options.retry_errors)
                watcher.started(run, n_total, n_already)
                progress = await executor.carry_out(execution, todo, writer, watcher.row)
        return Made(run, progress)
    finally:
        await aclose(options.judge)  # connections belong to this event loop; the judge can be used again


def _left(jobs: Iterable[Job], index: RowIndex, retry_errors: bool) -> Iterator[Job]:
    for job in jobs:
        key = (job.item.id, job.repeat)
        if key not in index.offsets:
            yield job
        elif retry_errors and key in index.failed:
            yield replace(job, attempt=2)


def _warnings(system: System) -> tuple[str, ...]:
    """What a system itself says that its owner should know."""
    warnings = getattr(system, "warnings", None)
    return tuple(warnings()) if callable(warnings) else ()


async def _build(system: System, watcher: Watcher) -> None:
    """Let a system that has something to build do it, with progress."""
    build = getattr(system, "build_index", None)
    if build is not None:
        await build(lambda n_done, n_total: watcher.stage("building the index", n_done, n_total))


async def _prepare(system: System, items: Sequence[GoldenItem], watcher: Watcher) -> None:
    """Let a system that can do so take in all questions at once (one batch through the embedder)."""
    prepare = getattr(system, "prepare", None)
    if prepare is not None:
        watcher.stage("reading the questions", 0, len(items))
        await prepare([item.ask() for item in items])


def run_blocking(made: Any) -> Any:
    """Run a coroutine to its end from blocking code; inside a running loop, on a thread with a loop of its own."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(made)
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(max_workers=1) as pool:
        return pool.submit(asyncio.run, made).result()
