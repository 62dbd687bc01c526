"""A run's index, opened: pages of rows, one row, its neighbours, the run's view. Every answer is one or two queries."""

from __future__ import annotations

import hashlib
import json
import logging
import sqlite3
import threading
from collections.abc import Sequence
from contextlib import AbstractContextManager
from dataclasses import asdict, dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Any

from ragauge.analysis.gate_result import GateResult
from ragauge.core.run import Record
from ragauge.diagnose.counterfactuals import FILE as TRIED
from ragauge.errors import RagaugeError, StoreError, UnknownName
from ragauge.report.html_view import PageView
from ragauge.store.rundir import MANIFEST, ROWS, RunDir
from ragauge.web.build import VERSION, Task, build, words
from ragauge.web.cached import reading
from ragauge.web.catalog import Entry, stamp
from ragauge.web.jobs import Jobs, Waiting
from ragauge.web.settings import WebSettings

#: Up to this many bytes of rows are read while the reader waits; more of them in the background.
INLINE_BYTES = 6_000_000
PAGE_SIZES = (25, 50, 100, 200)
_OUTCOMES = ("good", "bad", "unknown")
_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Filter:
    """Which rows, and in which order. `sort`: place, id, outcome, ms, cost or a metric's key."""

    outcome: str = ""
    tag: str = ""
    cause: str = ""
    text: str = ""
    missing: str = ""
    sort: str = ""
    down: bool = False

    def query(self) -> dict[str, str]:
        """As the query of an address; what is not set is left out."""
        return {
            name: value
            for name, value in (
                ("outcome", self.outcome), ("tag", self.tag), ("cause", self.cause), ("q", self.text),
                ("missing", self.missing), ("sort", self.sort), ("down", "1" if self.down else ""),
            )
            if value
        }  # fmt: skip

    @property
    def narrows(self) -> bool:
        """Whether any row may be left out."""
        return any((self.outcome, self.tag, self.cause, self.text, self.missing))


@dataclass(frozen=True)
class Line:
    """One row of the list. `values`: metric → value or None (not scored)."""

    place: int
    id: str
    repeat: int
    offset: int
    outcome: str
    cause: str | None
    certainty: str | None
    problems: tuple[str, ...]
    question: str
    tags: tuple[str, ...]
    cost: float | None
    ms: float | None
    values: dict[str, float | None]


class Index:
    """One index file. Connections are opened for each question: safe from many threads."""

    def __init__(self, file: Path, run: RunDir, *, stale: bool = False) -> None:
        self.file, self.run, self.stale = file, run, stale
        with self._open() as connection:
            self.meta = dict(connection.execute("SELECT name, value FROM meta WHERE name NOT IN ('view', 'gate')"))
        self.keys: list[str] = json.loads(self.meta["keys"])

    def view(self) -> PageView:
        """The run page's view model."""
        return _view(str(self.file), self.meta["built"])

    def gate(self) -> GateResult | None:
        """What the gate said; None where there is none, `gate_problem` says why."""
        return _gate(str(self.file), self.meta["built"])

    @property
    def gate_problem(self) -> str:
        """Why the gate could not be judged."""
        return str(self.meta.get("gate_problem", ""))

    def page(self, wanted: Filter, page: int, size: int) -> tuple[list[Line], int]:
        """The rows of a page (from 1), and how many there are in all."""
        where, values = self._where(wanted)
        order = f"ORDER BY {self._order(wanted)} LIMIT ? OFFSET ?"
        with self._open() as connection:
            n = self._count(where, values)
            places = connection.execute(
                f"SELECT r.place FROM rows r{where} {order}", (*values, size, (page - 1) * size)
            ).fetchall()
            return [self._at(connection, place) for (place,) in places], n

    def find(self, item: str, repeat: int = 0) -> Line:
        """One row by its id; `UnknownName` when it is not there."""
        with self._open() as connection:
            row = connection.execute("SELECT place FROM rows WHERE id = ? AND repeat = ?", (item, repeat)).fetchone()
            if row is None:
                some = [name for (name,) in connection.execute("SELECT id FROM rows LIMIT 200")]
                raise UnknownName("row in this run", item, some)
            return self._at(connection, row[0])

    def lines(self, item: str) -> list[Line]:
        """Every repeat of an item."""
        with self._open() as connection:
            found = connection.execute("SELECT place FROM rows WHERE id = ? ORDER BY repeat", (item,)).fetchall()
            return [self._at(connection, place) for (place,) in found]

    def cause(self, line: Line) -> Any:
        """The root cause of a row that has one."""
        from ragauge.diagnose.rootcause import RowCause

        with self._open() as connection:
            (text,) = connection.execute("SELECT why FROM texts WHERE place = ?", (line.place,)).fetchone()
        return RowCause.model_validate_json(text) if text is not None else None

    def record(self, line: Line) -> Record:
        """The whole row, from rows.jsonl."""
        record = next(self.run.records_at([line.offset]))
        if record.key != (line.id, line.repeat):
            raise StoreError(f"{self.run.rows} has changed since it was read", hint="Load the page again.")
        return record

    def neighbours(self, wanted: Filter, line: Line) -> tuple[Line | None, Line | None, int, int]:
        """The rows before and after `line` in the filtered list, its place in it from 1 (0: not in it), how many."""
        where, values = self._where(wanted)
        glue = " AND " if where else " WHERE "
        earlier, later = self._sides(wanted, line)
        n_before = sum(self._count(f"{where}{glue}{part}", [*values, *mine]) for part, mine in earlier)
        with self._open() as connection:
            inside = connection.execute(
                f"SELECT 1 FROM rows r{where}{glue}r.place = ?", (*values, line.place)
            ).fetchone()

            def nearest(side: Sequence[tuple[str, list[Any]]], order: str) -> Line | None:
                for part, mine in side:
                    found = connection.execute(
                        f"SELECT r.place FROM rows r{where}{glue}{part} ORDER BY {order} LIMIT 1", (*values, *mine)
                    ).fetchone()
                    if found is not None:
                        return self._at(connection, found[0])
                return None

            sort, down = self._sort(wanted)
            way, back = (" DESC", "") if down else ("", " DESC")
            by_place = sort == "r.place"
            before = nearest(earlier, f"r.place{back}" if by_place else f"{sort}{back}, r.place DESC")
            after = nearest(later, f"r.place{way}" if by_place else f"{sort}{way}, r.place")
        return before, after, n_before + 1 if inside else 0, self._count(where, values)

    def _sides(self, wanted: Filter, line: Line) -> tuple[list[tuple[str, list[Any]]], list[tuple[str, list[Any]]]]:
        """The conditions under which a row comes before, and after, `line`: parts of the list, the nearest first.

        In the words of the index's own columns, so that each part begins where it is looked up.
        """
        sort, down = self._sort(wanted)
        sooner, later = (">", "<") if down else ("<", ">")
        place = line.place
        if sort == "r.place":
            return [(f"r.place {sooner} ?", [place])], [(f"r.place {later} ?", [place])]
        plain = {"id": line.id, "outcome": line.outcome, "ms": line.ms, "cost": line.cost}
        own = plain[wanted.sort] if wanted.sort in plain else line.values[wanted.sort]
        known, missing = f"({sort} IS NULL) = 0", f"({sort} IS NULL) = 1"
        if own is None:
            return [(f"{missing} AND r.place < ?", [place]), (known, [])], [(f"{missing} AND r.place > ?", [place])]
        return (
            [(f"{known} AND {sort} {sooner}= ? AND ({sort} {sooner} ? OR r.place < ?)", [own, own, place])],
            [
                (f"{known} AND {sort} {later}= ? AND ({sort} {later} ? OR r.place > ?)", [own, own, place]),
                (missing, []),
            ],
        )

    def n_by_cause(self) -> list[tuple[str, int]]:
        """Causes of failing rows with how many, most frequent first."""
        with self._open() as connection:
            return connection.execute(
                "SELECT cause, count(*) AS n FROM rows WHERE cause IS NOT NULL GROUP BY cause ORDER BY n DESC, cause"
            ).fetchall()

    def offsets(self, wanted: Filter) -> list[int]:
        """Where every row of the filtered list begins, in its order."""
        where, values = self._where(wanted)
        with self._open() as connection:
            found = connection.execute(f"SELECT r.offset FROM rows r{where} ORDER BY {self._order(wanted)}", values)
            return [offset for (offset,) in found]

    def _open(self) -> AbstractContextManager[sqlite3.Connection]:
        return reading(self.file)

    def _where(self, wanted: Filter) -> tuple[str, list[Any]]:
        parts: list[str] = []
        values: list[Any] = []
        if wanted.outcome in _OUTCOMES:
            parts.append("r.outcome = ?")
            values.append(wanted.outcome)
        if wanted.tag:
            parts.append("r.place IN (SELECT place FROM tags WHERE tag = ?)")
            values.append(wanted.tag)
        if wanted.cause:
            parts.append("r.cause = ?")
            values.append(wanted.cause)
        if wanted.missing in self.keys:
            parts.append(f"r.m{self.keys.index(wanted.missing)} IS NULL")
        if wanted.text:
            asked = words(wanted.text)[:20]
            if asked:
                parts.append("r.place IN (SELECT rowid FROM words WHERE words MATCH ?)")
                values.append(" AND ".join(f'"{word}"*' for word in asked))
            else:
                parts.append("0")
        return (" WHERE " + " AND ".join(parts) if parts else ""), values

    def _sort(self, wanted: Filter) -> tuple[str, bool]:
        names = {"id": "r.id", "outcome": "r.outcome", "ms": "r.ms", "cost": "r.cost"}
        names |= {key: f"r.m{place}" for place, key in enumerate(self.keys)}
        return names.get(wanted.sort, "r.place"), wanted.down

    def _order(self, wanted: Filter) -> str:
        """What is not there comes last, then the input's order."""
        sort, down = self._sort(wanted)
        way = " DESC" if down else ""
        return f"r.place{way}" if sort == "r.place" else f"{sort} IS NULL, {sort}{way}, r.place"

    def _count(self, where: str, values: Sequence[Any]) -> int:
        return _n_rows(str(self.file), self.meta["built"], where, tuple(values))

    def _at(self, connection: sqlite3.Connection, place: int) -> Line:
        row = connection.execute("SELECT * FROM rows WHERE place = ?", (place,)).fetchone()
        _, item, repeat, offset, outcome, cause, certainty, cost, ms, *scores = row
        problems, question, tags = connection.execute(
            "SELECT problems, question, tags FROM texts WHERE place = ?", (place,)
        ).fetchone()
        return Line(
            place, item, repeat, offset, outcome, cause, certainty, tuple(json.loads(problems)), question,
            tuple(json.loads(tags)), cost, ms, dict(zip(self.keys, scores, strict=True)),
        )  # fmt: skip


class Indexes:
    """The indexes of all runs: found, built while the reader waits, or started in the background."""

    def __init__(self, settings: WebSettings, jobs: Jobs) -> None:
        self.settings, self.jobs = settings, jobs
        self._locks: dict[str, threading.Lock] = {}
        self._lock = threading.Lock()
        self._wanted: dict[str, Entry] = {}
        self._warming: threading.Thread | None = None

    def get(self, entry: Entry) -> Index:
        """The index of a run; raises `Waiting` while it is being built, and what is wrong with the run."""
        found = self.ready(entry)
        if found is not None and not found.stale:
            return found
        run, task = entry.open(), self._task(entry)
        if _size(run.rows) <= INLINE_BYTES:
            with self._own_lock(task.target):
                again = self.ready(entry)
                if again is not None and not again.stale:
                    return again
                build(task)
            return Index(Path(task.target), run)
        job = self.jobs.start(task.target, f"Reading {entry.name}", "ragauge.web.build", asdict(task))
        if found is not None:
            return found
        raise Waiting(job)

    def small(self, entry: Entry) -> Index | None:
        """The index that is there; where there is none yet, a small run's is built in the background meanwhile."""
        found = self.ready(entry)
        if (found is None or found.stale) and entry.manifest is not None:
            with self._lock:
                if entry.name not in self._wanted:
                    self._wanted[entry.name] = entry
                    if self._warming is None:
                        self._warming = threading.Thread(target=self._warm, daemon=True)
                        self._warming.start()
        return found

    def _warm(self) -> None:
        while True:
            with self._lock:
                if not self._wanted:
                    self._warming = None
                    return
                name = next(iter(self._wanted))
                entry = self._wanted.pop(name)
            if _size(entry.path / ROWS) <= INLINE_BYTES:
                try:
                    self.get(entry)
                except (RagaugeError, Waiting):  # whoever opens the run is told
                    continue
                except Exception:  # a bug with one run leaves the others their indexes
                    _log.exception("reading %s failed", name)

    def ready(self, entry: Entry) -> Index | None:
        """The index that is there, perhaps of an older state of the run; None when there is none."""
        if entry.manifest is None:
            return None
        task = self._task(entry)
        try:
            found = Index(Path(task.target), entry.open())
        except StoreError:
            return None
        if found.meta.get("version") != str(VERSION):
            return None
        found.stale = found.meta.get("stamps") != task.stamps
        return found

    def _task(self, entry: Entry) -> Task:
        gate = self.settings.gate.model_dump(mode="json") if self.settings.gate is not None else None
        baseline = self.settings.baseline or (self.settings.gate.baseline if self.settings.gate else None)
        marks = [stamp(entry.path / name) for name in (MANIFEST, ROWS, TRIED)]
        marks.append(stamp(Path(baseline)) if baseline else None)
        name = hashlib.sha256(str(entry.path.resolve()).encode("utf-8", "surrogateescape")).hexdigest()[:24]
        return Task(
            run=str(entry.path),
            target=str(self.settings.cache / f"{name}.sqlite"),
            stamps=json.dumps([marks, gate, baseline]),
            gate=gate,
            baseline=baseline,
        )

    def _own_lock(self, key: str) -> threading.Lock:
        with self._lock:
            return self._locks.setdefault(key, threading.Lock())


def _size(path: Path) -> int:
    found = stamp(path)
    return found[0] if found else 0


@lru_cache(maxsize=2048)
def _n_rows(file: str, built: str, where: str, values: tuple[Any, ...]) -> int:
    """How many rows a condition leaves: counted once for each state of the index."""
    with reading(Path(file)) as connection:
        (n,) = connection.execute(f"SELECT count(*) FROM rows r{where}", values).fetchone()
    return int(n)


@lru_cache(maxsize=16)
def _view(file: str, built: str) -> PageView:
    from pydantic import TypeAdapter

    return TypeAdapter(PageView).validate_json(_value(file, "view"))


@lru_cache(maxsize=64)
def _gate(file: str, built: str) -> GateResult | None:
    text = _value(file, "gate")
    return GateResult.model_validate_json(text) if text else None


def _value(file: str, name: str) -> str:
    with reading(Path(file)) as connection:
        (text,) = connection.execute("SELECT value FROM meta WHERE name = ?", (name,)).fetchone()
    return str(text)


def filter_of(query: Any) -> Filter:
    """The filter that an address asks for; what is too long is cut, what is unknown has no effect."""
    made = Filter(
        outcome=query.get("outcome", ""), tag=query.get("tag", ""), cause=query.get("cause", "")[:80],
        text=query.get("q", "")[:300], missing=query.get("missing", "")[:200], sort=query.get("sort", "")[:200],
        down=query.get("down", "") == "1",
    )  # fmt: skip
    return made if made.outcome in _OUTCOMES else replace(made, outcome="")
