"""The driver of a run on Ray: gives jobs to workers, writes what comes back, deals with workers that die."""

from __future__ import annotations

import asyncio
import os
import platform
import re
import sys
import time
import uuid
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any

from ragauge._version import __version__
from ragauge.core.provider import Endpoint
from ragauge.core.run import Record
from ragauge.engine.cluster.board import LARGEST, Board, Chunk
from ragauge.engine.cluster.connect import address_of, connected
from ragauge.engine.cluster.desks import BudgetDesk, LimiterDesk, called
from ragauge.engine.cluster.worker import Outfit, Problem, Rows, Started, Worker, host_name
from ragauge.engine.execute import Execution, Job, Lines, Progress, Told, failed_record
from ragauge.engine.parts import Shared
from ragauge.engine.recipe import Recipe, computes_here
from ragauge.errors import RunError, SettingsError, WorkerLost
from ragauge.judges.endpoints import AZURE_ENDPOINT, KEYS
from ragauge.judges.surroundings import Surroundings
from ragauge.judges.wrappers.budgeted import Budget, Spending
from ragauge.judges.wrappers.limited import Limits

#: How long we wait for the first worker, and for another one when the last has died.
START_S = 180.0
#: Failed starts in a row after which a worker is given up.
TRIES = 3
#: Seconds of work in one message.
CHUNK_S = 0.5
#: What a worker that only waits for an API takes of a processor.
WAITING_CPU = 0.25

Stage = Callable[[str, int, int | None], None]


@dataclass(eq=False)
class Place:
    """One worker, in one life after another. `life` None: it is being started."""

    number: int
    actor: Any
    slots: int
    life: Started | None = None
    n_out: int = 0
    n_failed: int = 0
    is_dead: bool = False
    is_reserved: bool = False


@dataclass(frozen=True)
class Errand:
    """What an answer is awaited for; `chunk` None: for a start."""

    place: Place
    life: Started | None = None
    chunk: Chunk | None = None


@dataclass
class _Pace:
    """Rows a second, over the last few."""

    seen: deque[tuple[float, int]] = field(default_factory=lambda: deque(maxlen=50))

    def add(self, n: int) -> None:
        self.seen.append((time.monotonic(), n))

    def per_second(self) -> float:
        if len(self.seen) < 2:
            return 0.0
        passed = self.seen[-1][0] - self.seen[0][0]
        return sum(n for _, n in self.seen) / max(passed, 1e-3)


class RayExecutor:
    """Makes the rows of one run on Ray. An async context manager: inside, workers are there; after it, none is left."""

    def __init__(self, recipe: Recipe, shared: Shared | None, n_jobs: int, stage: Stage) -> None:
        """`shared`: what the driver's own models share; its limits and its budget become those of all workers."""
        self._recipe, self._n_jobs, self._stage = recipe, n_jobs, stage
        self._around = None if shared is None else shared.made
        self._stack = ExitStack()
        self._places: list[Place] = []
        self._desks: list[Any] = []
        self._budget: Any = None
        self._watch: asyncio.Task[None] | None = None
        self._pending: dict[asyncio.Future[Any], Errand] = {}
        self._pace = _Pace()
        self._none_since = time.monotonic()

    async def __aenter__(self) -> RayExecutor:
        """Connect, start the workers, wait for the first. Nothing is asked or written yet."""
        try:
            await self._open()
        except BaseException:
            await self._close()
            raise
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None
    ) -> None:
        """End every actor of this run, then a Ray that was started for it."""
        await self._close()

    async def carry_out(self, execution: Execution, jobs: Iterable[Job], writer: Lines, told: Told) -> Progress:
        """See `engine.execute.execute`; a bug on a worker is raised here."""
        progress, board = Progress(), Board(jobs, self._n_jobs)

        def write(line: str, record: Record | None = None) -> None:
            writer.append(line)
            progress.n_done += 1
            told(record or Record.model_validate_json(line), progress.n_done)

        while True:
            if progress.spent is None:
                self._fill(board)
            if not board.n_out and (progress.spent is not None or board.is_done):
                return progress
            for errand, answer in await self._answers():
                if errand.chunk is None:
                    self._began(errand, answer)
                elif isinstance(answer, Rows):
                    errand.place.n_out -= len(errand.chunk.jobs)
                    board.finished()
                    self._pace.add(len(answer.lines))
                    for line in answer.lines:
                        write(line)
                    if answer.problem is not None:
                        raise answer.problem.error()
                    progress.spent = progress.spent or answer.spent
                else:
                    given_up = await self._died(errand, answer, board)
                    if given_up is not None:
                        record = failed_record(execution.plan, given_up, _lost(given_up))
                        write(record.model_dump_json(exclude_defaults=True), record)

    def _fill(self, board: Board) -> None:
        """Give every worker as much as it can do at once, and one chunk more so that it never waits for us."""
        ready = [place for place in self._places if place.life is not None]
        if not ready:
            return
        size = max(1, min(LARGEST, round(CHUNK_S * self._pace.per_second() / len(ready))))
        if board.has_suspects and not any(place.is_reserved for place in ready):
            min(ready, key=lambda place: place.n_out).is_reserved = True
        for place in ready:
            if place.is_reserved and not place.n_out:
                chunk = board.take_suspect()
                place.is_reserved = chunk is not None
                if chunk is not None:
                    self._send(place, chunk)
        hungry = True
        while hungry:
            hungry = False
            for place in ready:
                room = place.slots + size - place.n_out
                if place.is_reserved or room <= 0:
                    continue
                chunk = board.take(min(size, room), len(ready))
                if chunk is None:
                    return
                self._send(place, chunk)
                hungry = True

    def _send(self, place: Place, chunk: Chunk) -> None:
        place.n_out += len(chunk.jobs)
        self._await(place.actor.make.remote(list(chunk.jobs)), Errand(place, place.life, chunk))

    def _await(self, reference: Any, errand: Errand) -> None:
        future = asyncio.wrap_future(reference.future())
        future.add_done_callback(lambda done: done.cancelled() or done.exception())  # told once, by `_answers`
        self._pending[future] = errand

    async def _answers(self) -> list[tuple[Errand, Any]]:
        """What has come back: an answer, or the exception that came instead of it."""
        if not any(place.life for place in self._places) and time.monotonic() - self._none_since > START_S:
            raise RunError(
                f"no worker could be started on Ray within {START_S:g} s; {_room()}",
                hint="Ask for fewer with --workers, or wait for the cluster to have room; --resume goes on.",
            )
        done, _ = await asyncio.wait(self._pending, timeout=1.0, return_when=asyncio.FIRST_COMPLETED)
        return [(self._pending.pop(future), future.exception() or future.result()) for future in done]

    def _began(self, errand: Errand, answer: Any) -> None:
        """A worker is ready, or could not be started."""
        from ray.exceptions import ActorUnavailableError, RayActorError

        place = errand.place
        if isinstance(answer, Started):
            _same_versions(answer)
            place.life, place.n_failed = answer, 0
            return
        if isinstance(answer, Problem):
            raise answer.error()
        if not isinstance(answer, RayActorError):
            raise RunError(f"a worker could not be started: {_cause(answer)}")
        place.n_failed += 1
        if isinstance(answer, ActorUnavailableError) or place.n_failed < TRIES:
            self._start(place)
            return
        place.is_dead = True
        if all(other.is_dead for other in self._places):
            raise RunError(
                f"no worker could be started on Ray: {_cause(answer)}",
                hint=f"ragauge {__version__} and the packages that your judge and system need must be on every node.",
            )

    async def _died(self, errand: Errand, error: Any, board: Board) -> Job | None:
        """A worker went while it had a chunk. The job that is given up, if that is so."""
        from ray.exceptions import RayActorError

        assert errand.chunk is not None
        place, unborn = errand.place, type(error).__name__ == "RayTaskError(NotStarted)"
        if not isinstance(error, RayActorError) and not unborn:
            raise error
        place.n_out -= len(errand.chunk.jobs)
        if errand.life is not None and place.life is errand.life:
            place.life, self._none_since = None, time.monotonic()
            self._start(place)
            for desk in self._desks:
                await called(desk, "forget", errand.life.name)
        return board.lost(errand.chunk, blamed=not unborn)

    def _start(self, place: Place) -> None:
        self._await(place.actor.start.remote(self._outfits[place.slots]), Errand(place))

    async def _open(self) -> None:
        run, address = self._recipe.settings.run, address_of(self._recipe.settings.run.executor)
        here = computes_here(self._recipe.settings)
        n = _n_workers(run.workers, run.concurrency, self._n_jobs, here, os.cpu_count() or 1)
        self._stage("starting workers on Ray", 0, n if address.is_private or run.workers else None)
        namespace = self._stack.enter_context(connected(address, n))
        import ray

        if not address.is_private:
            n_cpus = int(ray.cluster_resources().get("CPU", 1))
            n = _n_workers(run.workers, run.concurrency, self._n_jobs, here, n_cpus)
        label = f"ragauge-{uuid.uuid4().hex[:12]}"
        outfit = self._furnish(ray, label, namespace)
        worker = ray.remote(Worker).options(
            num_cpus=1 if here else WAITING_CPU, max_restarts=-1, max_task_retries=0, scheduling_strategy="SPREAD"
        )
        slots = [len(range(place, run.concurrency, n)) for place in range(n)]
        self._outfits = {size: _sent(ray, outfit(size)) for size in set(slots)}
        for number, size in enumerate(slots):
            place = Place(number, worker.remote(), size)
            self._places.append(place)
            self._start(place)
        self._none_since = time.monotonic()
        while not any(place.life for place in self._places):
            for errand, answer in await self._answers():
                self._began(errand, answer)
        self._stage("starting workers on Ray", sum(place.life is not None for place in self._places), n)
        if self._budget is not None:
            self._watch = asyncio.create_task(_keep_account(self._budget))

    def _furnish(self, ray: Any, label: str, namespace: str) -> Callable[[int], Outfit]:
        """The desks of this run, and what a worker with so many slots is sent."""
        around, settings = self._around or Surroundings(), self._recipe.settings
        options = {"num_cpus": 0, "max_restarts": -1, "namespace": namespace, "scheduling_strategy": _here(ray)}
        desks: dict[tuple[Endpoint, Limits], str] = {}
        for endpoint, limits in around.limiters:
            desks[endpoint, limits] = f"{label}-limits-{len(desks)}"
            desk = ray.remote(LimiterDesk).options(name=desks[endpoint, limits], **options).remote(limits)
            self._desks.append(desk)
        budget, account = around.budget, None
        if isinstance(budget, Budget):
            account = f"{label}-budget"
            desk = ray.remote(BudgetDesk).options(name=account, **options)
            self._budget = desk.remote(budget.max_calls, budget.max_tokens, budget.max_usd)
            self._desks.append(self._budget)
        variables = {
            name: os.environ[name] for name in _variables(settings.model_dump(mode="json")) if name in os.environ
        }
        base = settings.model_copy(update={"base": settings.base.resolve()})

        def outfit(slots: int) -> Outfit:
            recipe = Recipe(base, self._recipe.supply, self._recipe.asks, self._recipe.k, self._recipe.own)
            return Outfit(
                recipe, slots, host_name(), os.getcwd(), tuple(map(os.path.abspath, sys.path)), desks, account,
                None if budget is None else budget.max_usd, namespace, variables,
            )  # fmt: skip

        return outfit

    async def _close(self) -> None:
        if self._watch is not None:
            self._watch.cancel()
        for future in self._pending:
            future.cancel()
        self._pending.clear()
        try:
            actors = [*(place.actor for place in self._places), *self._desks]
            if actors:
                import ray

                for actor in actors:
                    with suppress(Exception):  # it is gone, or the cluster is
                        ray.kill(actor)
        finally:
            self._places.clear()
            self._desks.clear()
            self._stack.close()


async def _keep_account(desk: Any) -> None:
    """Remember what has been spent, for a budget desk that dies and is started anew."""
    known = Spending()
    while True:
        spent, is_known = await called(desk, "look")
        if is_known:
            known = spent
        else:
            await called(desk, "restore", known)
        await asyncio.sleep(1.0)


def _n_workers(wanted: int | None, concurrency: int, n_jobs: int, here: bool, n_cpus: int) -> int:
    """As many as there are processors where the work is computed on them, otherwise two to eight; never idle ones."""
    n = wanted or (n_cpus if here else max(2, min(8, n_cpus)))
    return max(1, min(n, concurrency, n_jobs))


def _sent(ray: Any, outfit: Outfit) -> Any:
    try:
        return ray.put(outfit)
    except Exception as error:  # whatever an object's own pickling raises
        first = (str(error).strip().splitlines() or [type(error).__name__])[0]
        raise SettingsError(
            f"the judge or the system cannot be sent to other processes: {first[:200]}",
            hint="Name it instead (judge: python:module:function, system: callable), or use --executor local.",
        ) from None


def _here(ray: Any) -> Any:
    """Desks belong where the driver is: when that node is lost, the run is anyway."""
    from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

    return NodeAffinitySchedulingStrategy(ray.get_runtime_context().get_node_id(), soft=True)


def _variables(settings: Any) -> Iterator[str]:
    """Names of the environment variables that settings may need: those that they name, and those of the endpoints."""
    yield from (*KEYS.values(), AZURE_ENDPOINT)
    if isinstance(settings, Mapping):
        for name, value in settings.items():
            if name == "api_key_env" and isinstance(value, str):
                yield value
            else:
                yield from _variables(value)
    elif isinstance(settings, list | tuple):
        for value in settings:
            yield from _variables(value)
    elif isinstance(settings, str):
        yield from re.findall(r"\$\{([A-Za-z_][A-Za-z0-9_]*)\}", settings)


def _same_versions(started: Started) -> None:
    if started.ragauge != __version__:
        raise RunError(
            f"the cluster's nodes have ragauge {started.ragauge}, this machine {__version__}",
            hint="Install the same version on every node.",
        )
    ours = platform.python_version()
    if started.python.split(".")[:2] != ours.split(".")[:2]:
        raise RunError(f"the cluster's nodes have Python {started.python}, this machine {ours}")


def _lost(job: Job) -> WorkerLost:
    return WorkerLost(f"every worker that had {job.item.id!r} ended; the last two had nothing else to do")


def _room() -> str:
    import ray

    there, free = ray.cluster_resources().get("CPU", 0), ray.available_resources().get("CPU", 0)
    return f"the cluster has {there:g} CPUs, {free:g} of them free"


def _cause(error: Any) -> str:
    """The line of a remote traceback that says what went wrong."""
    lines = [line.strip() for line in str(error).strip().splitlines() if line.strip()]
    telling = [line for line in lines if re.match(r"[\w.]*(Error|Exception)\b", line)]
    return (telling or lines or [type(error).__name__])[-1][:300]
