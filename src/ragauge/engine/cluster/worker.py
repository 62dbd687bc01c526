"""One worker: an actor that makes rows with a judge and a system of its own, loaded once."""

from __future__ import annotations

import asyncio
import os
import pickle
import platform
import sys
import tempfile
import traceback
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from ragauge._version import __version__
from ragauge.core.provider import Endpoint
from ragauge.core.run import Record
from ragauge.core.system import System
from ragauge.dataset.evidence import CorpusIndex
from ragauge.engine.cluster.desks import SharedBudget, SharedLimiter
from ragauge.engine.execute import Execution, Job, execute
from ragauge.engine.parts import Shared, make_judge, make_system
from ragauge.engine.recipe import Recipe
from ragauge.engine.settings import Settings
from ragauge.errors import RagaugeError, RunError, UsageError
from ragauge.judges.layers import aclose
from ragauge.judges.surroundings import Surroundings, join_spec, split_spec
from ragauge.judges.wrappers.limited import Limits


@dataclass(frozen=True)
class Outfit:
    """What a worker is sent besides the recipe. `variables` hold keys: they are never shown."""

    recipe: Recipe
    slots: int
    host: str
    folder: str
    search: tuple[str, ...]
    desks: Mapping[tuple[Endpoint, Limits], str]
    budget: str | None
    max_usd: float | None
    namespace: str
    variables: Mapping[str, str] = field(default_factory=dict, repr=False)


@dataclass(frozen=True)
class Started:
    """A worker is ready. `name`: this life of it, which the desks know it by."""

    name: str
    pid: int
    host: str
    ragauge: str
    python: str


@dataclass(frozen=True)
class Problem:
    """What stops a run, told from another process. `bug`: none of our own errors."""

    message: str
    hint: str = ""
    exit_code: int = 3
    bug: bool = False
    pickled: bytes | None = field(default=None, repr=False)

    def error(self) -> Exception:
        """The exception as it can be raised here."""
        if not self.bug:
            return (UsageError if self.exit_code == 2 else RunError)(self.message, hint=self.hint)
        try:
            error = pickle.loads(self.pickled) if self.pickled else None  # of our own worker
        except Exception:  # its class cannot be imported here
            error = None
        if not isinstance(error, Exception):
            return RuntimeError(f"a bug on a worker; finished rows are kept\n{self.message}")
        error.add_note(f"on a worker:\n{self.message}")
        return error


@dataclass(frozen=True)
class Rows:
    """What came of a chunk: rows as JSON, and why not all of them are there, if so."""

    lines: list[str]
    spent: str | None = None
    problem: Problem | None = None


class NotStarted(Exception):
    """This worker has been started anew and has not been told yet what to do."""


class Worker:
    """The actor. `start` first, once in each life; then `make` as often as wanted, several at the same time."""

    def __init__(self) -> None:
        self._name = uuid.uuid4().hex[:12]
        self._execution: Execution | None = None
        self._judge: Any = None
        self._system: Any = None
        self._spent: str | None = None

    async def start(self, outfit: Outfit) -> Started | Problem:
        """Load the judge and the system."""
        try:
            _settle_in(outfit)
            await self._prepare(outfit)
        except Exception as error:  # told to the driver, which decides
            return problem_of(error)
        self._slots = asyncio.Semaphore(outfit.slots)
        self._n_slots = outfit.slots
        return Started(self._name, os.getpid(), host_name(), __version__, platform.python_version())

    async def make(self, jobs: Sequence[Job]) -> Rows:
        """The rows of these jobs."""
        if self._execution is None:
            raise NotStarted
        if self._spent is not None:
            return Rows([], self._spent)
        lines: list[str] = []
        execution = replace(self._execution, concurrency=min(len(jobs), self._n_slots))
        try:
            progress = await execute(execution, jobs, _Into(lines), _tell_nobody, self._slots)
        except Exception as error:
            return Rows(lines, problem=problem_of(error))
        self._spent = progress.spent
        return Rows(lines, progress.spent)

    async def stop(self) -> None:
        """Close what is open."""
        await aclose(self._judge)
        await aclose(self._system)

    async def _prepare(self, outfit: Outfit) -> None:
        recipe, settings = outfit.recipe, _at_home(outfit)
        shared = Shared(settings, change=lambda made: self._joined(made, outfit))
        self._judge = recipe.own.judge or make_judge(settings, shared)
        corpus = None
        if recipe.asks:
            self._system = recipe.own.system or _system(settings, shared)
            build = getattr(self._system, "build_index", None)
            if build is not None:
                await build(lambda n_done, n_total: None)
            chunks = getattr(self._system, "corpus", None)
            corpus = None if chunks is None else CorpusIndex.from_chunks(chunks())
        self._execution = recipe.execution(self._judge, self._system, corpus)

    def _joined(self, made: Surroundings, outfit: Outfit) -> Surroundings:
        """The limits and the budget of all workers in the place of this one's own."""
        import ray

        def limiter(endpoint: Endpoint, limits: Limits) -> SharedLimiter:
            name = outfit.desks.get((endpoint, limits))
            if name is None:
                raise RunError(f"{endpoint.label} has other settings on this worker than where the run was started")
            return SharedLimiter(limits, ray.get_actor(name, namespace=outfit.namespace), self._name)

        budget = None
        if outfit.budget is not None:
            desk = ray.get_actor(outfit.budget, namespace=outfit.namespace)
            budget = SharedBudget(outfit.max_usd, desk, self._name)
        return replace(made, budget=budget, new_limiter=limiter)


@dataclass
class _Into:
    lines: list[str]

    def append(self, line: str, /) -> None:
        self.lines.append(line)


def _tell_nobody(record: Record, n_done: int) -> None:
    """The driver tells, when the row is on disk."""


def _settle_in(outfit: Outfit) -> None:
    """Work where the driver works, as far as that exists here."""
    if os.path.isdir(outfit.folder):
        os.chdir(outfit.folder)
    for place in (outfit.folder, *outfit.search):
        if place not in sys.path and os.path.exists(place):
            sys.path.append(place)
    os.environ.update(outfit.variables)


def _at_home(outfit: Outfit) -> Settings:
    """The settings as they hold on this machine: SQLite is for one machine, so another one keeps a file of its own."""
    settings = outfit.recipe.settings
    who, shared = split_spec(settings.judge)
    cache = shared.get("cache", True)
    if host_name() == outfit.host or cache is False or (isinstance(cache, str) and "://" in cache):
        return settings
    own = Path(tempfile.gettempdir()) / f"ragauge-replies-{os.getuid() if hasattr(os, 'getuid') else 0}.sqlite"
    judge = join_spec(who, {**shared, "cache": str(own)})
    return settings.model_copy(update={"judge": judge})


def _system(settings: Settings, shared: Shared) -> System:
    """The system; an index folder takes one process, so the worker keeps its index in memory (vectors are on disk)."""
    kind, values = settings.system_kind()
    store = str(values.get("store", "memory"))
    if kind != "reference" or store == "memory" or store.startswith(("http://", "https://")):
        return make_system(settings, shared)
    from ragauge.engine.indexes import Relocated, with_system

    return Relocated(make_system(with_system(settings, store="memory"), shared), store)


def problem_of(error: Exception) -> Problem:
    """An exception as it can travel."""
    if isinstance(error, RagaugeError):
        return Problem(error.message, error.hint, error.exit_code)
    try:
        pickled: bytes | None = pickle.dumps(error)
    except Exception:  # whatever it holds
        pickled = None
    return Problem("".join(traceback.format_exception(error)), exit_code=1, bug=True, pickled=pickled)


def host_name() -> str:
    """This machine, told apart from others of the same name by its boot."""
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    except OSError:
        boot = ""
    return f"{platform.node()} {boot}".strip()
