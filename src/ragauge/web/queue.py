"""The review queue as pages need it: opened for one question at a time, and never made by looking."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from ragauge.core.run import Record
from ragauge.errors import MissingExtra, RagaugeError
from ragauge.review import open_queue
from ragauge.review.items import ReviewItem
from ragauge.store.rundir import RunDir


@dataclass(frozen=True)
class Backlog:
    """How many items wait, and how many have their labels. `problem`: why that cannot be said."""

    open: int
    done: int
    problem: str = ""


def exists(where: str) -> bool:
    """Whether there is a queue to be looked at."""
    return "://" in where or Path(where).is_file()


def backlog(where: str) -> Backlog | None:
    """How full the queue is; None where there is none."""
    if not exists(where):
        return None
    try:
        with open_queue(where) as queue:
            return Backlog(*queue.counts())
    except MissingExtra:
        return None
    except RagaugeError as error:  # a database that is down takes no other page with it
        return Backlog(0, 0, error.message)


def add_row(where: str, run: RunDir, record: Record, metric: str) -> tuple[str, bool]:
    """Put a row into the queue because somebody asked for it: (the item's id, whether it is new there)."""
    from ragauge.review.sources import asked_for

    candidate = asked_for(run.manifest, record, metric)
    with open_queue(where) as queue:
        n_new = queue.add([candidate])
    return candidate.id, n_new > 0


def of_row(where: str, run: str, item: str, repeat: int) -> tuple[list[ReviewItem], str]:
    """What of a row is in the queue, and why that cannot be said."""
    if not exists(where):
        return [], ""
    try:
        with open_queue(where) as queue:
            return queue.of_row(run, item, repeat), ""
    except MissingExtra:
        return [], ""
    except RagaugeError as error:
        return [], error.message
