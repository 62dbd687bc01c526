"""Reading a log with DuckDB, in a folder or at a URL, while others write and compact it."""

from __future__ import annotations

import contextlib
import os
import re
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import date, timedelta
from pathlib import Path
from typing import Any, TypeVar

from ragauge.errors import InputError, MissingExtra, StoreError, UsageError
from ragauge.monitor.columns import (
    COLUMNS,
    QUERY_COLUMNS,
    SAME,
    empty_sql,
    listed,
    literal,
    parts_sql,
    query_of_row,
    quoted,
    segments_sql,
)
from ragauge.monitor.daily import daily_log
from ragauge.monitor.layout import (
    DAY,
    KINDS,
    PARTS_FILE,
    DayFiles,
    Kind,
    Parts,
    check_format,
    day_folders,
    files_of_day,
    is_remote,
    parse_parts,
    read_parts,
)
from ragauge.monitor.query import Brief, DailyLog, LoggedQuery

T = TypeVar("T")
#: A file that a compaction took away between listing and reading is looked for again so often.
_TRIES = 5
#: What becomes known of a query after it was logged.
_LATER = ("feedback", "note", "outcome")
#: Rows that are made into records at a time.
_FETCHED = 500
_MEMORY = "2GB"
#: Schemes that DuckDB reads itself when no Python file system for them is installed.
_OWN = {"s3", "s3a", "gs", "gcs", "r2", "az", "azure", "abfss", "hf"}


def open_log(place: str | Path, *, threads: int | None = None, memory: str = _MEMORY) -> DuckLog:
    """The log in a folder or below a URL (`s3://bucket/log`), for reading.

    URLs are read through the fsspec file system of their scheme where one is installed (s3fs, gcsfs, adlfs …: they
    find your credentials), else by DuckDB's own. Raises `InputError` when there is no such folder, `MissingExtra`
    without DuckDB.
    """
    text = str(place).rstrip("/") if is_remote(str(place)) else str(place)
    if not is_remote(text):
        if not Path(text).is_dir():
            raise InputError("no such log", file=text, hint="A `Logger` makes it, or `ragauge monitor ingest`.")
        check_format(Path(text))
        text = str(Path(text).absolute())
    if re.search(r"[*?\[\]]", text):
        raise UsageError(f"a log's place cannot hold * ? [ ] (found {text})", hint="Rename the folder.")
    return DuckLog(text, connect(text, threads=threads, memory=memory))


def connect(place: str = "", *, threads: int | None = None, memory: str = _MEMORY) -> Any:
    """A DuckDB connection that can read `place`."""
    try:
        import duckdb
    except ImportError:
        raise MissingExtra("duckdb, which reads the log,", "monitor") from None
    connection = duckdb.connect()
    connection.execute(f"SET memory_limit = {literal(memory)}")
    connection.execute(f"SET threads = {int(threads or os.cpu_count() or 1)}")
    connection.execute("SET preserve_insertion_order = false")
    connection.execute("SET enable_progress_bar = false")
    if is_remote(place):
        _reach(connection, place.split("://", 1)[0])
    return connection


def _reach(connection: Any, scheme: str) -> None:
    try:
        import fsspec

        connection.register_filesystem(fsspec.filesystem(scheme))
    except (ImportError, ValueError) as error:
        if scheme not in _OWN:
            raise UsageError(
                f"logs at {scheme}:// cannot be read here: {error}",
                hint="Install fsspec and its file system for that scheme (s3fs, gcsfs, adlfs …).",
            ) from None


class DuckLog:
    """A log, read. Safe in threads; every method sees what is on the disk when it is called."""

    def __init__(self, place: str, connection: Any) -> None:
        self.place = place
        self._connection = connection
        self._lock = threading.Lock()

    # -- what is there

    def days(self) -> list[date]:
        """The days that have queries, oldest first."""
        files = self._again(lambda: self._files("queries", date.min, date.max))
        return [found.day for found in files if found.parts or found.segments]

    def _files(self, kind: Kind, since: date, until: date) -> list[DayFiles]:
        if is_remote(self.place):
            return self._remote_files(kind, since, until)
        found = []
        for folder in day_folders(Path(self.place), kind):
            if since <= date.fromisoformat(folder.name) <= until:
                # The parts are read before the names: a compaction between the two only shows as a name that is gone.
                parts = read_parts(folder)
                found.append(files_of_day(folder.name, _names(folder), parts, str(folder)))
        return found

    def _remote_files(self, kind: Kind, since: date, until: date) -> list[DayFiles]:
        cursor = self._cursor()
        rows = cursor.execute(f"SELECT file FROM glob({literal(f'{self.place}/{kind}/*/*')})").fetchall()
        by_day: dict[str, list[str]] = {}
        for (file,) in rows:
            *_, day, name = file.split("/")
            if DAY.fullmatch(day) and since <= date.fromisoformat(day) <= until:
                by_day.setdefault(day, []).append(name)
        where = {day: f"{self.place}/{kind}/{day}" for day in sorted(by_day)}
        marks = [f"{where[day]}/{PARTS_FILE}" for day in where if PARTS_FILE in by_day[day]]
        texts: dict[str, str] = {}
        if marks:
            read = cursor.execute(f"SELECT filename, content FROM read_text({listed(marks)})").fetchall()
            texts = {name.split("/")[-2]: content for name, content in read}
        return [
            files_of_day(day, by_day[day], parse_parts(texts[day], place) if day in texts else Parts(), place)
            for day, place in where.items()
        ]

    # -- reading

    def sql(
        self, query: str, parameters: Sequence[Any] = (), *, since: date, until: date, feedback: bool = True
    ) -> list[tuple[Any, ...]]:
        """DuckDB SQL over the view `queries`: the fields of LoggedQuery (write "at"), `day`, `answered`.

        `feedback` False leaves out what became known later, which is quicker.
        """

        def rows() -> list[tuple[Any, ...]]:
            sources = self._sources(since, until, feedback=feedback)
            found: list[tuple[Any, ...]] = self._cursor().execute(f"{sources} {query}", list(parameters)).fetchall()
            return found

        return self._again(rows)

    def daily(
        self, since: date, until: date, *, project: str | None = None, slow_ms: float = 500.0,
        quantiles: Sequence[float] = (0.5, 0.95, 0.99),
    ) -> list[DailyLog]:  # fmt: skip
        """Every day's figures; days without queries are absent. One pass over a day's narrow columns at a time.

        What became known later is gathered once for all days.
        """
        cursor = self._cursor()
        gathered = "CREATE OR REPLACE TEMP TABLE known_later AS "
        self._again(lambda: cursor.execute(gathered + self._said_sql(since)))

        def ask(
            query: str, parameters: Sequence[Any], *, since: date, until: date, feedback: bool = True
        ) -> list[tuple[Any, ...]]:
            def rows() -> list[tuple[Any, ...]]:
                sources = self._sources(since, until, feedback=feedback, said="SELECT * FROM known_later")
                found: list[tuple[Any, ...]] = cursor.execute(f"{sources} {query}", list(parameters)).fetchall()
                return found

            return self._again(rows)

        try:
            wanted = [day for day in self.days() if since <= day <= until]
            logs = [daily_log(ask, day, project=project, slow_ms=slow_ms, quantiles=quantiles) for day in wanted]
        finally:
            cursor.close()
        return [log for log in logs if log is not None]

    def brief(self, day: date, *, project: str | None = None) -> list[Brief]:
        """Every query of a day without its texts, by id."""
        rows = self.sql(
            "SELECT id, feedback, abstained, top_score, n_chunks, answered, error IS NOT NULL FROM queries "
            f"{_where(project)} ORDER BY id", _given(project), since=day, until=day,
        )  # fmt: skip
        names = ("id", "feedback", "abstained", "top_score", "n_chunks", "answered", "error")
        return [Brief(**dict(zip(names, row, strict=True))) for row in rows]

    def questions(self, day: date, *, project: str | None = None, limit: int | None = None) -> list[tuple[str, str]]:
        """(id, question) by id; with `limit`, those with the smallest hash of their id: the same ones every time."""
        inner = f"SELECT id, question FROM queries {_where(project)}"
        if limit is not None:
            inner = f"SELECT * FROM ({inner}) ORDER BY md5(id), id LIMIT {int(limit)}"
        rows = self.sql(f"SELECT * FROM ({inner}) ORDER BY id", _given(project), since=day, until=day, feedback=False)
        return [(str(row[0]), str(row[1])) for row in rows]

    def queries(
        self, day: date, *, project: str | None = None, ids: Iterable[str] | None = None
    ) -> Iterator[LoggedQuery]:
        """The day's queries whole, feedback joined in; only `ids` when given. They are read as they are asked for."""
        where, given = _where(project), list[Any](_given(project))
        if ids is not None:
            where += f" {'AND' if where else 'WHERE'} id IN (SELECT unnest(?::VARCHAR[]))"
            given.append(sorted(set(ids)))
        names = ", ".join(quoted(name) for name in QUERY_COLUMNS)
        seen: set[str] = set()
        for left in reversed(range(_TRIES)):
            try:
                for row in self._stream(f"SELECT {names} FROM queries {where}", given, day):
                    if row[0] not in seen:
                        seen.add(row[0])
                        yield query_of_row(tuple(QUERY_COLUMNS), row)
            except _vanished() as error:  # a compaction took a file away: read on from the new ones
                if not left:
                    raise self._unreadable(error) from error
            except _engine() as error:
                raise self._unreadable(error) from error
            else:
                return

    def _stream(self, query: str, given: Sequence[Any], day: date) -> Iterator[tuple[Any, ...]]:
        cursor = self._cursor()
        try:
            cursor.execute(f"{self._sources(day, day, feedback=True)} {query}", given)
            while rows := cursor.fetchmany(_FETCHED):
                yield from rows
        finally:
            cursor.close()

    def find(self, query_id: str) -> LoggedQuery | None:
        """One query, whatever its day. An id that we made says its day; others are looked for from the newest."""
        names = ", ".join(quoted(name) for name in QUERY_COLUMNS)
        days = self.days()
        likely = _day_of(query_id)
        for day in sorted(days, key=lambda day: (day != likely, -day.toordinal())):
            rows = self.sql(f"SELECT {names} FROM queries WHERE id = ?", [query_id], since=day, until=day)
            if rows:
                return query_of_row(tuple(QUERY_COLUMNS), rows[0])
        return None

    # -- how

    def _sources(self, since: date, until: date, *, feedback: bool, said: str | None = None) -> str:
        base = rows_sql("queries", self._files("queries", since, until))
        columns = ", ".join(f"q.{quoted(name)}" for name in COLUMNS["queries"])
        if not feedback:
            return f'WITH queries AS (SELECT {columns}, q."at"::DATE AS day FROM ({base}) q)'
        for name in _LATER:
            columns = columns.replace(f"q.{quoted(name)}", f"coalesce(f.{name}, q.{name}) AS {name}")
        return (
            f"WITH said AS ({said or self._said_sql(since)}), "
            f'queries AS (SELECT {columns}, q."at"::DATE AS day FROM ({base}) q LEFT JOIN said f ON f.query_id = q.id)'
        )

    def _said_sql(self, since: date) -> str:
        """What became known of queries since then: of each field the latest."""
        from_day = since - timedelta(days=1) if since > date.min else since
        events = rows_sql("feedback", self._files("feedback", from_day, date.max))
        latest = ", ".join(f'arg_max({name}, "at") FILTER (WHERE {name} IS NOT NULL) AS {name}' for name in _LATER)
        return f"SELECT query_id, {latest} FROM ({events}) GROUP BY query_id"

    def _cursor(self) -> Any:
        with self._lock:
            return self._connection.cursor()

    def _again(self, read: Callable[[], T]) -> T:
        for _ in range(_TRIES - 1):
            with contextlib.suppress(*_vanished()):
                return self._told(read)
        try:
            return self._told(read)
        except _vanished() as error:
            raise self._unreadable(error) from error

    def _told(self, read: Callable[[], T]) -> T:
        try:
            return read()
        except _engine() as error:
            if isinstance(error, (*_vanished(), *_asked_wrongly())):
                raise
            raise self._unreadable(error) from error

    def _unreadable(self, error: BaseException) -> StoreError:
        said = str(error).splitlines()[0]
        if isinstance(error, _vanished()):
            return StoreError(f"the log {self.place} cannot be read: {said}", hint="Is it being copied or deleted?")
        part = None if is_remote(self.place) or "memory" in said.lower() else self._damaged_part()
        if part is None:
            return StoreError(f"the log {self.place} cannot be read: {said}")
        return StoreError(f"{part} is damaged: {said}", hint="Restore it, or move it and its folder out of the log.")

    def _damaged_part(self) -> str | None:
        """The first Parquet file that cannot be read to its end: DuckDB does not always say which one it was."""
        for kind in KINDS:
            for day in self._files(kind, date.min, date.max):
                for part in day.parts:
                    try:
                        whole = f"SELECT hash(t) AS h FROM read_parquet({literal(part)}) t"
                        self._cursor().execute(f"SELECT count(*) FROM ({whole}) WHERE h = 0").fetchall()
                    except _engine():
                        return part
        return None

    def close(self) -> None:
        """Let go of DuckDB."""
        with self._lock:
            self._connection.close()


def _vanished() -> tuple[type[Exception], ...]:
    """What is raised when a file that was listed is gone."""
    import duckdb

    return FileNotFoundError, duckdb.IOException, duckdb.HTTPException


def _engine() -> tuple[type[Exception], ...]:
    import duckdb

    return (duckdb.Error,)


def _asked_wrongly() -> tuple[type[Exception], ...]:
    """What is raised when a query is none: the files have nothing to do with it."""
    import duckdb

    return duckdb.BinderException, duckdb.CatalogException, duckdb.ParserException, duckdb.ConversionException


def rows_sql(kind: Kind, days: Sequence[DayFiles]) -> str:
    """All rows of those days, each once: a line that was sent again, or is in a part already, does not count."""
    parts = [file for day in days for file in day.parts]
    selects = [parts_sql(kind, parts)] if parts else []
    segments = [file for day in days for file in day.segments]
    if segments:
        same = SAME[kind]
        fresh = (
            f"SELECT * FROM ({segments_sql(kind, segments)}) "
            f'QUALIFY row_number() OVER (PARTITION BY {same} ORDER BY "at") = 1'
        )
        beside = [file for day in days if day.segments for file in day.parts]
        if beside and kind == "queries":
            known = f"SELECT id FROM read_parquet({listed(beside)})"
            fresh = f"SELECT s.* FROM ({fresh}) s ANTI JOIN ({known}) p ON p.id = s.id"
        selects.append(fresh)
    if not selects:
        return empty_sql(kind)
    return " UNION ALL BY NAME ".join(f"({select})" for select in selects)


def _names(folder: Path) -> list[str]:
    with os.scandir(folder) as entries:
        return [entry.name for entry in entries]


def _where(project: str | None) -> str:
    return "" if project is None else "WHERE project = ?"


def _given(project: str | None) -> list[str]:
    return [] if project is None else [project]


def _day_of(query_id: str) -> date | None:
    if not re.fullmatch(r"[0-9a-f]{32}", query_id):
        return None
    return date(1970, 1, 1) + timedelta(days=int(query_id[:12], 16) // 86_400_000) if query_id < "0e" else None
