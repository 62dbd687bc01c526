"""Where the rows of a run are made: in this process, or by workers on Ray. The rows are the same."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import asynccontextmanager
from typing import Protocol

from ragauge.core.judge import Judge
from ragauge.engine.execute import Execution, Job, Lines, Progress, Told, execute
from ragauge.engine.parts import Shared
from ragauge.engine.recipe import Recipe
from ragauge.judges.surroundings import split_spec


class Executor(Protocol):
    """Makes rows. A row that is finished is in `writer` before `told` hears of it."""

    async def carry_out(self, execution: Execution, jobs: Iterable[Job], writer: Lines, told: Told) -> Progress:
        """Every job's row; how far it came, and why it ended early, if it did."""
        ...


class LocalExecutor:
    """This process."""

    async def carry_out(self, execution: Execution, jobs: Iterable[Job], writer: Lines, told: Told) -> Progress:
        """See `execute`."""
        return await execute(execution, jobs, writer, told)


@asynccontextmanager
async def executor_for(
    recipe: Recipe, shared: Shared | None, n_jobs: int, stage: Callable[[str, int, int | None], None]
) -> AsyncIterator[Executor]:
    """The executor that `run.executor` names, ready. `MissingExtra`, `RunError` when Ray is missing or not reached."""
    if recipe.settings.run.executor == "local" or n_jobs == 0:
        yield LocalExecutor()
        return
    from ragauge.engine.cluster.driver import RayExecutor

    async with RayExecutor(recipe, shared, n_jobs, stage) as executor:
        yield executor


def executor_notes(recipe: Recipe, judge: Judge | None) -> tuple[str, ...]:
    """What the owner of a run should know about where it is carried out."""
    settings, notes = recipe.settings, []
    if settings.run.executor == "local":
        return ()
    _, keys = split_spec(settings.judge)
    cache = keys.get("cache", True)
    asks = judge is not None and judge.info().kind not in ("embedded", "crossencoder", "none")
    if settings.run.executor != "ray" and asks and cache is not False and "://" not in str(cache):
        notes.append(
            "replies of models are cached in SQLite, which is for one machine: each node of the cluster keeps a file"
            " of its own and pays for what another one has. Set judge.cache to a PostgreSQL URL to share it"
        )
    if recipe.own.judge is not None and asks:
        notes.append("the judge is an object of the caller's: its limits, budget and cache hold for each worker apart")
    return tuple(notes)
