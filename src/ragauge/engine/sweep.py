"""Carry out a sweep: every index once, every cell as an ordinary run, several at a time, resumable at any moment."""

from __future__ import annotations

import asyncio
import os
import secrets
import shutil
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal, Protocol

from ragauge._version import __version__
from ragauge.engine.cluster.connect import kept_connected, on_ray
from ragauge.engine.crew import Crew, Failed, Gone, Message, failed
from ragauge.engine.grid import SweepPlan, restore_settings
from ragauge.engine.indexes import IndexKeys, Shelf, keeps_its_own_store
from ragauge.engine.jobs import Bench, BuildDone, BuildJob, CellDone, CellJob, Job, Progress, asked, do
from ragauge.engine.parts import make_judge
from ragauge.engine.recipe import computes_here
from ragauge.engine.run import run_blocking
from ragauge.engine.settings import Settings
from ragauge.errors import RunError, StoreError
from ragauge.store.rundir import RunDir, run_name
from ragauge.store.sweepdir import SweepCell, SweepDir, SweepManifest

#: Cells at a time in one process, where the work is waiting for an API.
TASKS = 4


class SweepWatcher(Protocol):
    """Is told how a sweep goes on. Every method may do nothing."""

    def started(self, sweep: SweepDir, n_cells: int, n_already: int, workers: str) -> None:
        """The directory is there; `n_already` cells were finished in it."""
        ...

    def progress(self, progress: Progress) -> None:
        """An index or a cell goes on."""
        ...

    def finished(self, what: str, seconds: float, problem: str | None) -> None:
        """An index (by fingerprint) or a cell (by id) is there, or could not be made."""
        ...


class SilentSweep:
    """A watcher that says nothing."""

    def started(self, sweep: SweepDir, n_cells: int, n_already: int, workers: str) -> None:
        """Nothing."""

    def progress(self, progress: Progress) -> None:
        """Nothing."""

    def finished(self, what: str, seconds: float, problem: str | None) -> None:
        """Nothing."""


@dataclass(frozen=True)
class How:
    """How cells are carried out. `show` strikes secrets out of settings; `thresholds` resolves them."""

    show: Callable[[Settings], dict[str, Any]]
    thresholds: Callable[[Settings], dict[str, Any]]
    workers: int | None = None
    executor: Literal["auto", "processes", "tasks"] = "auto"
    retry_errors: bool = False


@dataclass
class Outcome:
    """What became of the cells of one call: `failed` and `ended_early` say why, by cell id."""

    failed: dict[str, str] = field(default_factory=dict)
    ended_early: dict[str, str] = field(default_factory=dict)
    exit_code: int = 0


def start_sweep(plan: SweepPlan, out: Path, how: How) -> SweepDir:
    """Check every cell (system, judge, golden set), then make the sweep's directory. Nothing is asked yet."""
    keys = IndexKeys()
    cells = tuple(
        SweepCell(
            id=cell.id,
            label=cell.label,
            knobs=cell.knobs,
            settings=how.show(cell.settings),
            index=keys.of(cell.settings),
        )
        for cell in plan.cells
    )
    _check_judges([cell.settings for cell in plan.cells])
    goldens, n_questions = _goldens([cell.settings for cell in plan.cells], plan.part)
    created = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    manifest = SweepManifest(
        sweep=run_name(created, plan.name, secrets.token_hex(2)),
        created=created,
        ragauge=__version__,
        file=str(plan.file.resolve()),
        knobs=plan.knobs,
        cells=cells,
        base=plan.base,
        quality=plan.quality,
        metrics=plan.metrics,
        part=plan.part,
        goldens=goldens,
        n_questions=n_questions,
        notes=plan.notes,
    )
    return SweepDir.create(out, manifest)


def check_sweep(sweep: SweepDir, settings: Mapping[str, Settings]) -> None:
    """Whether a resumed sweep would still be the same one. Raises `StoreError` naming what changed."""
    goldens, _ = _goldens(list(settings.values()), sweep.manifest.part)
    changed = [path for path, found in sweep.manifest.goldens.items() if goldens.get(path) != found]
    if changed:
        raise StoreError(
            f"cannot resume {sweep.path.name}: {', '.join(changed)} changed since it began",
            hint="Put it back, or start a new sweep.",
        )
    keys = IndexKeys()
    for cell in sweep.manifest.cells:
        if cell.id in settings and keys.of(settings[cell.id]) != cell.index:
            raise StoreError(
                f"cannot resume {sweep.path.name}: the corpus or the embedder of {cell.id} changed since it began",
                hint="Put it back, or start a new sweep.",
            )


def carry_out_cells(
    sweep: SweepDir,
    how: How,
    watcher: SweepWatcher | None = None,
    *,
    known: Mapping[str, Settings] | None = None,
    only: Sequence[str] | None = None,
    out: Path | None = None,
    part: Literal["dev", "test"] | None = None,
) -> Outcome:
    """Make the runs that are missing. `known`: cell id → settings (read from the sweep's manifest otherwise).

    `only`, `out`, `part`: these cells, into another folder, on that half of the golden set (to confirm a winner).
    A cell that cannot be made is told and left out; a bug stops everything. Finished rows are always kept.
    """
    watcher = watcher or SilentSweep()
    folder = out or sweep.cells
    runs = sweep.runs(folder)
    wanted = [cell for cell in sweep.manifest.cells if only is None or cell.id in only]
    open_cells = [cell for cell in wanted if how.retry_errors or not is_complete(runs.get(cell.id))]
    settings = {cell.id: (known or {}).get(cell.id) or restore_settings(cell.settings) for cell in open_cells}
    if known is None and open_cells:
        check_sweep(sweep, settings)
    part = part or sweep.manifest.part
    jobs = [_cell_job(sweep, cell, settings[cell.id], how, folder, part, runs.get(cell.id)) for cell in open_cells]
    board = _Board(sweep, jobs, settings)
    processes, n = _workers(how, list(settings.values()), len(jobs))
    watcher.started(sweep, len(wanted), len(wanted) - len(jobs), _in_words(processes, n))
    if not jobs:
        return board.outcome
    copies = sweep.indexes / "copies"
    shutil.rmtree(copies, ignore_errors=True)
    try:
        with kept_connected(on_ray(list(settings.values()))):
            if processes:
                _with_processes(board, n, copies, watcher)
            else:
                run_blocking(_with_tasks(board, n, watcher))
    finally:
        shutil.rmtree(copies, ignore_errors=True)
    return board.outcome


def is_complete(run: RunDir | None) -> bool:
    """Whether a run has all of its rows."""
    if run is None or run.manifest.dataset.n_items is None:
        return False
    return len(run.index().offsets) >= run.manifest.dataset.n_items * run.manifest.repeats


def _cell_job(
    sweep: SweepDir,
    cell: SweepCell,
    settings: Settings,
    how: How,
    out: Path,
    part: Literal["dev", "test"] | None,
    run: RunDir | None,
) -> CellJob:
    own_store = cell.index is None or keeps_its_own_store(settings)
    mark = {"sweep": {"sweep": sweep.manifest.sweep, "cell": cell.id, "part": part}}
    return CellJob(
        cell=cell.id,
        settings=settings,
        shown_settings=how.show(settings) | mark,
        thresholds=how.thresholds(settings),
        name=f"{cell.id}-{cell.label}",
        out=out,
        part=part,
        index=cell.index,
        folder=None if own_store else sweep.indexes / str(cell.index),
        resume=run.path if run is not None else None,
        retry_errors=how.retry_errors,
    )


def _check_judges(settings: Sequence[Settings]) -> None:
    seen: list[Any] = []
    for one in settings:
        if one.judge not in seen:
            seen.append(one.judge)
            make_judge(one)


def _goldens(settings: Sequence[Settings], part: Literal["dev", "test"] | None) -> tuple[dict[str, str], int]:
    """Path → fingerprint of the questions that are asked, and the largest number of them."""
    found: dict[str, str] = {}
    n_questions = 0
    for one in settings:
        key = f"{one.path(one.golden or '')}"
        if key not in found:
            golden = asked(one, part).filter(tags=one.run.tags, limit=one.run.limit)
            if not len(golden):
                raise StoreError(f"{key}: no question is left in the {part} half of the golden set")
            found[key] = golden.fingerprint
            n_questions = max(n_questions, len(golden))
    return found, n_questions


def _workers(how: How, settings: Sequence[Settings], n_jobs: int) -> tuple[bool, int]:
    """Processes where the work keeps the processor busy, tasks in this process where it waits for an API.

    Tasks share one judge, and with it its rate limits, its budget and its cache.
    """
    if on_ray(settings) is not None:
        return False, 1  # one cell has all workers
    local = all(computes_here(one) for one in settings)
    n = max(1, min(how.workers or (_cores() if local else TASKS), n_jobs))
    if how.executor == "auto":
        return local and n > 1, n
    return how.executor == "processes", n


def _cores() -> int:
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:  # not on every platform
        return os.cpu_count() or 1


def _in_words(processes: bool, n: int) -> str:
    if n == 1:
        return "one process" if processes else "one at a time"
    return f"{n} processes" if processes else f"{n} at a time in one process"


class _Board:
    """What is to do, what is being done, what is done."""

    def __init__(self, sweep: SweepDir, jobs: Sequence[CellJob], settings: Mapping[str, Settings]) -> None:
        self.sweep = sweep
        self.outcome = Outcome()
        self._cells = list(jobs)
        self._built = {build["index"] for build in sweep.builds()}
        needed = Counter(job.index for job in jobs if job.index is not None)
        self._builds = [
            BuildJob(str(job.index), job.settings, job.folder)
            for job in {job.index: job for job in jobs}.values()
            if job.index is not None and not self._is_there(job)
        ]
        self._builds.sort(key=lambda job: -needed[job.index])
        self._n_running = 0

    def _is_there(self, job: CellJob) -> bool:
        return job.index in self._built and (job.folder is None or job.folder.is_dir())

    @property
    def is_done(self) -> bool:
        """Nothing is left and nobody is at work."""
        return not self._builds and not self._cells and not self._n_running

    def take(self, last: str | None = None) -> Job | None:
        """The next job that can be done: indexes first, then a cell of the index that was used last. None: wait."""
        job: Job | None = None
        if self._builds:
            job = self._builds.pop(0)
            self._built.discard(job.index)
        else:
            ready = [job for job in self._cells if job.index is None or job.index in self._built]
            if ready:
                left = Counter(job.index for job in ready)
                job = max(ready, key=lambda one: (one.index == last, left[one.index]))
                self._cells.remove(job)
        self._n_running += job is not None
        return job

    def done(self, message: Message, watcher: SweepWatcher) -> None:
        """Take note of what a worker says."""
        match message:
            case Progress():
                watcher.progress(message)
                return
            case BuildDone():
                self._built.add(message.index)
                self.sweep.add_build(message.index, message.n_chunks, message.seconds)
                watcher.finished(message.index, message.seconds, None)
            case CellDone():
                if message.built:  # the index was not whole: this is one more build, and is counted as one
                    self.sweep.add_build(self.sweep.manifest.cell(message.cell).index or "", message.built, 0.0)
                if message.spent is not None:
                    self.outcome.ended_early[message.cell] = message.spent
                    self.outcome.exit_code = max(self.outcome.exit_code, 3)
                    self._cells.clear()  # what the others would ask is refused as well
                watcher.finished(message.cell, message.seconds, message.spent)
            case Failed():
                self._failed(message, watcher)
            case Gone():
                raise RunError(
                    f"a worker process ended (exit code {message.code}); was it killed for want of memory?",
                    hint=f"Continue with fewer: ragauge sweep --resume {self.sweep.path} --workers 1",
                )
        self._n_running -= 1

    def _failed(self, message: Failed, watcher: SweepWatcher) -> None:
        if message.bug:
            raise RuntimeError(f"a bug in a cell of the sweep; finished rows are kept\n{message.message}")
        job = message.job
        lost = [job.cell] if isinstance(job, CellJob) else [one.cell for one in self._cells if one.index == job.index]
        why = f"{message.message} {message.hint}".strip()
        for cell in lost:
            self.outcome.failed[cell] = why
            watcher.finished(cell, 0.0, why)
        self._cells = [one for one in self._cells if one.cell not in lost]
        self.outcome.exit_code = max(self.outcome.exit_code, message.exit_code)


def _with_processes(board: _Board, n: int, copies: Path, watcher: SweepWatcher) -> None:
    with Crew(n, copies) as crew:
        idle: dict[int, str | None] = dict.fromkeys(range(n))
        while not board.is_done:
            for place in list(idle):
                job = board.take(idle[place])
                if job is None:
                    break
                del idle[place]
                crew.start(place, job)
            if board.is_done:
                return
            place, message = crew.next()
            board.done(message, watcher)
            if not isinstance(message, Progress):
                idle[place] = _index_of(board, message)


def _index_of(board: _Board, message: Message) -> str | None:
    if isinstance(message, CellDone):
        return board.sweep.manifest.cell(message.cell).index
    return message.index if isinstance(message, BuildDone) else None


async def _with_tasks(board: _Board, n: int, watcher: SweepWatcher) -> None:
    bench = Bench(Shelf(None))
    news = asyncio.Condition()

    async def worker() -> None:
        last: str | None = None
        while not board.is_done:
            job = board.take(last)
            if job is None:
                async with news:
                    if not board.is_done:
                        await news.wait()
                continue
            last = job.index
            try:
                message: Message = await do(job, bench, lambda progress: board.done(progress, watcher))
            except Exception as error:
                message = failed(job, error)
                if message.bug:
                    raise
            board.done(message, watcher)
            async with news:
                news.notify_all()

    try:
        async with asyncio.TaskGroup() as group:
            for _ in range(n):
                group.create_task(worker())
    except* Exception as errors:
        raise _first(errors) from None
    finally:
        await bench.aclose()


def _first(errors: BaseExceptionGroup[Exception]) -> BaseException:
    error: BaseException = errors
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error
