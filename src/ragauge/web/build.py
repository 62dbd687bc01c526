"""Reading a run once for the page: what its pages ask for again and again goes into one SQLite file of the cache.

The run directory stays as it is. The file holds where each row begins, what rows are filtered and sorted by, the words
they are found by, and the run page's view model; it can be deleted at any time. Run as a program
(`python -m ragauge.web.build`) it reads a large run without slowing down whoever is looking at another one.
"""

from __future__ import annotations

import json
import re
import sqlite3
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from ragauge.analysis.gate_settings import GateSettings
from ragauge.analysis.rowcheck import RowCheck
from ragauge.core.run import Record
from ragauge.core.score import Scored
from ragauge.diagnose.counterfactuals import read_counterfactuals
from ragauge.diagnose.rootcause import RowCause
from ragauge.errors import RagaugeError
from ragauge.report.html_view import PageView, page_view
from ragauge.store.rundir import RowIndex, RunDir
from ragauge.text.normalise import normalise
from ragauge.web.cached import writing

#: Of this file's format; another one is built anew.
VERSION = 3
#: How much of a question stands in the list, and of a row's text can be searched.
SHOWN, SEARCHED = 300, 20_000
#: Every so many rows the progress is written.
_STEP = 500
#: How often the rows are read: twice for causes, once for the list, once for a gate.
_PASSES = 3
# Scripts without spaces: every character is a word.
_WORD = re.compile(r"[\u0e01-\u0eff\u1000-\u109f\u3005-\u30ff\u3400-\u9fff\uac00-\ud7a3\uf900-\ufaff]|[^\W_]+")
_TABLES = """
CREATE TABLE meta (name TEXT PRIMARY KEY, value TEXT NOT NULL);
CREATE TABLE texts (place INTEGER PRIMARY KEY, problems TEXT NOT NULL, question TEXT NOT NULL, tags TEXT NOT NULL,
  why TEXT);
CREATE TABLE tags (tag TEXT NOT NULL, place INTEGER NOT NULL, PRIMARY KEY (tag, place)) WITHOUT ROWID;
CREATE VIRTUAL TABLE words USING fts5(text, content='', detail='none', tokenize="unicode61 remove_diacritics 2");
"""


@dataclass(frozen=True)
class Task:
    """What is to be read, and where to: paths as texts, so that it can be handed to another process."""

    run: str
    target: str
    stamps: str
    gate: dict[str, Any] | None = None
    baseline: str | None = None


def words(text: str) -> list[str]:
    """A text's words as they are searched.

    >>> words("Max_size: 10 MB, 日本")
    ['max', 'size', '10', 'mb', '日', '本']
    """
    return _WORD.findall(normalise(text[:SEARCHED]))


def build(task: Task, told: Callable[[int, int], None] | None = None) -> None:
    """Read the run and write the file, whole or not at all (`StoreError`). `told`: rows read so far, of how many."""
    run, target = RunDir.open(task.run), Path(task.target)
    with writing(target) as beside, closing(sqlite3.connect(beside, isolation_level=None)) as connection:
        _fill(connection, run, task, told or (lambda done, total: None))


def _fill(connection: sqlite3.Connection, run: RunDir, task: Task, told: Callable[[int, int], None]) -> None:
    keys = [spec.key for spec in run.manifest.metrics]
    columns = ", ".join(f"m{place} REAL" for place in range(len(keys)))
    connection.executescript(
        "PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; PRAGMA locking_mode = EXCLUSIVE;" + _TABLES
    )
    connection.execute(
        "CREATE TABLE rows (place INTEGER PRIMARY KEY, id TEXT NOT NULL, repeat INTEGER NOT NULL,"
        " offset INTEGER NOT NULL, outcome TEXT NOT NULL, cause TEXT, certainty TEXT, cost REAL,"
        f" ms REAL{', ' if keys else ''}{columns})"
    )
    index = run.index() if run.rows.exists() else RowIndex({}, frozenset(), 0)
    offsets = index.ordered
    passes = _PASSES + (2 if task.gate is not None else 0)
    done = 0

    def records() -> Iterator[Record]:
        nonlocal done
        for record in run.records_at(offsets) if offsets else ():
            yield record
            done += 1
            if done % _STEP == 0:
                told(done, passes * len(offsets))

    writer = _Writer(connection, keys, offsets)
    connection.execute("BEGIN")
    view = page_view(run.manifest, records, read_counterfactuals(run.path), writer.add)
    writer.flush()
    gate, problem = _gate(run, records, task)
    meta = {
        "version": str(VERSION),
        "stamps": task.stamps,
        "keys": json.dumps(keys),
        "view": _dumped(view),
        "gate": gate,
        "gate_problem": problem,
        "built": str(time.time()),
    }
    connection.executemany("INSERT INTO meta VALUES (?, ?)", meta.items())
    connection.execute("COMMIT")
    connection.execute("CREATE INDEX rows_id ON rows (id, repeat)")
    connection.execute("CREATE INDEX rows_outcome ON rows (outcome, place)")
    connection.execute("CREATE INDEX rows_cause ON rows (cause, place) WHERE cause IS NOT NULL")
    for name in ("ms", "cost", *(f"m{place}" for place in range(len(keys)))):
        # In the very order of the list, both ways, so that a page far down is skipped to and not sorted for. With the
        # outcome, which is what lists are most often narrowed by: the table itself is not looked at.
        connection.execute(f"CREATE INDEX rows_{name}_up ON rows ({name} IS NULL, {name}, place, outcome)")
        connection.execute(f"CREATE INDEX rows_{name}_down ON rows ({name} IS NULL, {name} DESC, place, outcome)")
    connection.execute("ANALYZE")


class _Writer:
    """Rows into the tables, some hundred at a time."""

    def __init__(self, connection: sqlite3.Connection, keys: list[str], offsets: list[int]) -> None:
        self.connection, self.keys, self.offsets = connection, keys, offsets
        self.place = 0
        self.rows: list[tuple[Any, ...]] = []
        self.texts: list[tuple[Any, ...]] = []
        self.tags: list[tuple[str, int]] = []
        self.words: list[tuple[int, str]] = []

    def add(self, record: Record, check: RowCheck, cause: RowCause | None) -> None:
        """One row, in the order of the input."""
        item, response = record.sample.item, record.sample.response
        costs = [used.usage.cost_usd for used in record.used.values()] + [response.usage.cost_usd]
        known = [cost for cost in costs if cost is not None]
        scores = [score.value if isinstance(score := record.scores.get(key), Scored) else None for key in self.keys]
        tags = list(dict.fromkeys(item.tags))
        self.rows.append((
            self.place, item.id, record.sample.repeat, self.offsets[self.place], check.outcome,
            cause.cause if cause else None, cause.certainty if cause else None,
            sum(known) if known else None, response.total_ms, *scores,
        ))  # fmt: skip
        question = " ".join(item.question[: 4 * SHOWN].split())[:SHOWN]
        why = cause.model_dump_json() if cause else None
        self.texts.append((self.place, json.dumps(check.problems), question, json.dumps(tags[:50]), why))
        self.tags += [(tag, self.place) for tag in tags]
        text = f"{item.id} {item.question[:SEARCHED]} {(response.answer or '')[:SEARCHED]} {' '.join(tags)[:SEARCHED]}"
        self.words.append((self.place, " ".join(words(text))))
        self.place += 1
        if len(self.rows) >= _STEP:
            self.flush()

    def flush(self) -> None:
        """Write what is held."""
        if self.rows:
            marks = ", ".join("?" * len(self.rows[0]))
            self.connection.executemany(f"INSERT INTO rows VALUES ({marks})", self.rows)
        self.connection.executemany("INSERT INTO texts VALUES (?, ?, ?, ?, ?)", self.texts)
        self.connection.executemany("INSERT OR IGNORE INTO tags VALUES (?, ?)", self.tags)
        self.connection.executemany("INSERT INTO words (rowid, text) VALUES (?, ?)", self.words)
        self.rows, self.texts, self.tags, self.words = [], [], [], []


def _dumped(view: PageView) -> str:
    """The view without its rows' causes, which stand in the table."""
    from pydantic import TypeAdapter

    light = replace(view, causes={}, diagnosis=view.diagnosis.model_copy(update={"rows": ()}))
    return TypeAdapter(PageView).dump_json(light).decode()


def _gate(run: RunDir, records: Callable[[], Iterator[Record]], task: Task) -> tuple[str, str]:
    """The gate's result as JSON, and why there is none."""
    if task.gate is None:
        return "", ""
    from ragauge.analysis.gate import gate
    from ragauge.web.gates import baseline_of

    try:
        settings = GateSettings.model_validate(task.gate)
        found = gate(run.manifest, records, settings, baseline_of(task.baseline or settings.baseline, run.path.parent))
    except RagaugeError as problem:
        return "", problem.message
    return found.model_dump_json(), ""


def main() -> int:
    """Read a task from stdin; write progress, and at the end "done" or what was wrong, to stdout."""
    task = Task(**json.load(sys.stdin))

    def tell(kind: str, *values: Any) -> None:
        print(json.dumps([kind, *values]), flush=True)

    try:
        build(task, lambda done, total: tell("progress", done, total))
    except RagaugeError as problem:
        tell("failed", problem.message, problem.hint)
        return 0
    tell("done")
    return 0


if __name__ == "__main__":
    sys.exit(main())
