"""The jobs of a sweep: build an index, run a cell. Each is data, so that another process can do it."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, TypeVar

from ragauge.core.judge import Judge, JudgeInfo, Task
from ragauge.core.model import Model, fingerprint
from ragauge.core.run import Record
from ragauge.core.system import System
from ragauge.dataset.golden import GoldenSet, load_golden
from ragauge.engine.indexes import Relocated, Shelf, build_index, with_system
from ragauge.engine.parts import Shared, make_judge, make_system
from ragauge.engine.run import Options, run_system
from ragauge.engine.settings import Settings
from ragauge.judges.layers import aclose, preflight
from ragauge.store.rundir import RunDir

#: Replies that a process keeps of judges that compute here: cells that give the same answer from the same chunks share.
KEPT_REPLIES = 20_000
#: Seconds between two messages of one cell.
_PAUSE_S = 0.2

Told = Callable[["Progress"], None]
T = TypeVar("T", bound=Model)


@dataclass(frozen=True)
class BuildJob:
    """Build one index into `folder` (None: into the store that the settings name)."""

    index: str
    settings: Settings
    folder: Path | None


@dataclass(frozen=True)
class CellJob:
    """Run one cell, or go on with its run (`resume`: that run's directory)."""

    cell: str
    settings: Settings
    shown_settings: dict[str, Any]
    thresholds: dict[str, Any]
    name: str
    out: Path
    part: Literal["dev", "test"] | None
    index: str | None
    folder: Path | None
    resume: Path | None = None
    retry_errors: bool = False


@dataclass(frozen=True)
class Progress:
    """How far a job is; `what` is an index's fingerprint or a cell's id."""

    what: str
    n_done: int
    n_total: int


@dataclass(frozen=True)
class BuildDone:
    """An index is there; `n_chunks` were added to it, in `seconds`."""

    index: str
    n_chunks: int
    seconds: float


@dataclass(frozen=True)
class CellDone:
    """A cell's run is there. `spent`: why it ended early. `built`: chunks that had to be added to its index."""

    cell: str
    path: Path
    seconds: float
    spent: str | None = None
    built: int = 0


Job = BuildJob | CellJob
Done = BuildDone | CellDone


@dataclass
class Lent:
    """A judge that several runs use at once: one that ends does not close it for the others; it is checked once."""

    inner: Judge
    _checked: bool = False

    def info(self) -> JudgeInfo:
        """The card of the judge inside."""
        return self.inner.info()

    async def ask(self, task: Task[T], /, **inputs: Any) -> T:
        """What the judge inside replies."""
        return await self.inner.ask(task, **inputs)

    def with_sample(self, sample: int) -> Judge:
        """The judge inside drawing anew, where it can."""
        draw = getattr(self.inner, "with_sample", None)
        return self if draw is None else Lent(draw(sample))

    async def preflight(self) -> None:
        """Check the judge inside, the first time."""
        if not self._checked:
            await preflight(self.inner)
            self._checked = True


@dataclass
class Bench:
    """What one process keeps between jobs: judges with what they answered, and open indexes."""

    shelf: Shelf
    judges: dict[str, Lent | None] = field(default_factory=dict)
    _shared: dict[str, Shared] = field(default_factory=dict)

    def shared(self, settings: Settings) -> Shared:
        """One cache, budget and limiter for the models of all cells of a judge setting."""
        return self._shared.setdefault(_judging(settings), Shared(settings))

    def judge(self, settings: Settings) -> Judge | None:
        """One judge per judge setting, so that its limits, its cache and its memory are shared by all cells."""
        key = _judging(settings)
        if key not in self.judges:
            judge = remembering(make_judge(settings, self.shared(settings)))
            self.judges[key] = None if judge is None else Lent(judge)
        return self.judges[key]

    async def aclose(self) -> None:
        """Let go of judges and indexes."""
        for judge in self.judges.values():
            if judge is not None:
                await aclose(judge.inner)
        self.judges.clear()
        self.shelf.close()


def _judging(settings: Settings) -> str:
    who = settings.model_dump(mode="json", include={"judge", "profile"})
    return fingerprint([who, str(settings.base), settings.run.seed])


def remembering(judge: Judge | None) -> Judge | None:
    """A judge that computes here, with a memory; those behind an API have a cache of their own."""
    if judge is None or judge.info().kind not in ("embedded", "crossencoder"):
        return judge
    from ragauge.judges.shared import Shared

    return Shared(judge, KEPT_REPLIES)


async def do(job: Job, bench: Bench, told: Told) -> Done:
    """Do one job. `RagaugeError` when it cannot be done; what is finished of it is on disk."""
    started = time.perf_counter()
    if isinstance(job, BuildJob):
        index = job.index
        n_chunks = await build_index(job.settings, job.folder, lambda n, of: told(Progress(index, n, of)))
        return BuildDone(index, n_chunks, time.perf_counter() - started)
    golden = asked(job.settings, job.part)
    system, built = await _system(job, bench)
    options = Options(
        settings=job.settings,
        thresholds=job.thresholds,
        judge=bench.judge(job.settings),
        shared=bench.shared(job.settings),
        out=job.out,
        resume=RunDir.open(job.resume) if job.resume is not None else None,
        retry_errors=job.retry_errors,
        name=job.name,
        shown_settings=job.shown_settings,
    )
    made = await run_system(golden, system, options, _Teller(job.cell, told))
    return CellDone(job.cell, made.run.path, time.perf_counter() - started, made.progress.spent, built)


def asked(settings: Settings, part: Literal["dev", "test"] | None) -> GoldenSet:
    """The golden set of a cell; with `part`, one half of it."""
    golden = load_golden(settings.path(settings.golden or ""))
    return golden if part is None else golden.split(part)


async def _system(job: CellJob, bench: Bench) -> tuple[System, int]:
    shared = bench.shared(job.settings)
    if job.folder is None:
        return make_system(job.settings, shared), 0
    _, values = job.settings.system_kind()
    inner = make_system(with_system(job.settings, store=str(bench.shelf.take(job.folder))), shared)
    system = Relocated(inner, str(values.get("store", "memory")))
    try:
        return system, await system.build_index()
    except BaseException:
        await system.aclose()
        raise


class _Teller:
    """A run's watcher that says now and then how many rows there are."""

    def __init__(self, cell: str, told: Told) -> None:
        self._cell, self._told = cell, told
        self._n_total = self._n_already = 0
        self._last = 0.0

    def stage(self, what: str, n_done: int, n_total: int | None) -> None:
        """Of no interest here."""

    def started(self, run: RunDir, n_total: int, n_already: int) -> None:
        """The directory is there."""
        self._n_total, self._n_already = n_total, n_already
        self._told(Progress(self._cell, n_already, n_total))

    def row(self, record: Record, n_done: int) -> None:
        """A row is finished."""
        n = self._n_already + n_done
        now = time.monotonic()
        if n == self._n_total or now - self._last >= _PAUSE_S:
            self._last = now
            self._told(Progress(self._cell, n, self._n_total))
