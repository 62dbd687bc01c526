"""Comparisons, worked out once for each state of the runs: while the reader waits, or in the background.

Run as a program (`python -m ragauge.web.comparing`) it compares what stdin names, like `ragauge.web.build`.
"""

from __future__ import annotations

import hashlib
import json
import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter, ValidationError

from ragauge.analysis.compare import Comparison, Options, Source, compare
from ragauge.analysis.flips import Flips
from ragauge.errors import RagaugeError
from ragauge.store.rundir import MANIFEST, ROWS, RunDir
from ragauge.web.cached import writing
from ragauge.web.catalog import Entry, stamp
from ragauge.web.index import INLINE_BYTES
from ragauge.web.jobs import Jobs, Waiting
from ragauge.web.settings import WebSettings

VERSION = 1
#: Flips that are kept for each metric and way; the largest ones. How many there are is always told.
N_FLIPS = 2_000


@dataclass(frozen=True)
class Kept:
    """A comparison and how many flips each metric has (better, worse), which may be more than are kept."""

    comparison: Comparison
    n_flips: dict[str, tuple[int, int]]


_FOUND = TypeAdapter(list[Kept])


@dataclass(frozen=True)
class Task:
    """Which runs (the first one is the base), and where the result goes."""

    runs: tuple[str, ...]
    target: str


def work(task: Task) -> None:
    """Compare and write the result, whole or not at all."""
    opened = [RunDir.open(path) for path in task.runs]
    sources = [Source(run.path.name, run.manifest, run.records) for run in opened]
    found = [_kept(one) for one in compare(sources[0], sources[1:], Options())]
    target = Path(task.target)
    with writing(target) as beside:
        beside.write_bytes(_FOUND.dump_json(found))


def _kept(found: Comparison) -> Kept:
    counts = {key: (len(one.better), len(one.worse)) for key, one in found.flips.items()}
    cut = {key: Flips(better=one.better[:N_FLIPS], worse=one.worse[:N_FLIPS]) for key, one in found.flips.items()}
    ids = {"changed_items": found.changed_items[:200], "only_a": found.only_a[:200], "only_b": found.only_b[:200]}
    return Kept(found.model_copy(update={"flips": cut, **ids}), counts)


class Comparisons:
    """Finds, works out or waits for comparisons."""

    def __init__(self, settings: WebSettings, jobs: Jobs) -> None:
        self.settings, self.jobs = settings, jobs

    def get(self, entries: Sequence[Entry]) -> list[Kept]:
        """Each of the others against the first; raises `Waiting` while it is being worked out."""
        marks = [[str(one.path.resolve()), *(stamp(one.path / name) for name in (MANIFEST, ROWS))] for one in entries]
        name = hashlib.sha256(json.dumps([VERSION, marks]).encode("utf-8", "surrogateescape")).hexdigest()[:24]
        target = self.settings.cache / f"compare-{name}.json"
        task = Task(tuple(str(one.path) for one in entries), str(target))
        if not target.is_file():
            for entry in entries:
                entry.open()  # says what is wrong with it
            size = sum(found[0] for one in entries if (found := stamp(one.path / ROWS)))
            if size > INLINE_BYTES:
                title = "Comparing " + ", ".join(one.name for one in entries)
                raise Waiting(self.jobs.start(str(target), title, "ragauge.web.comparing", asdict(task)))
            work(task)
        try:
            return _read(str(target))
        except (ValidationError, OSError):
            target.unlink(missing_ok=True)
            work(task)
            return _read(str(target))


@lru_cache(maxsize=8)
def _read(target: str) -> list[Kept]:
    return _FOUND.validate_json(Path(target).read_bytes())


def main() -> int:
    """Read a task from stdin; say "done", or what was wrong."""
    given: dict[str, Any] = json.load(sys.stdin)
    try:
        work(Task(tuple(given["runs"]), given["target"]))
    except RagaugeError as problem:
        print(json.dumps(["failed", problem.message, problem.hint]), flush=True)
        return 0
    print(json.dumps(["done"]), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
