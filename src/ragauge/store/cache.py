"""Replies of language models kept on disk, so that nothing is paid for twice. Raw replies, never scores.

SQLite in write-ahead mode by default, safe under several processes at once and under kill -9; any other database by an
SQLAlchemy URL (`postgresql+psycopg://…`, extra `postgres`). The first reply stored for a key stays.
"""

from __future__ import annotations

import asyncio
import sqlite3
import threading
import time
import weakref
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any, Protocol, TypeVar

from ragauge.errors import DiskFull, MissingExtra, NewerVersion, StoreError
from ragauge.store.sqlite import use_wal

T = TypeVar("T")

#: Version of the table; a cache from a newer ragauge is refused.
FORMAT = 1
#: How the threads of caches are called.
THREAD = "reply-cache"
#: How long one process waits for another one's write.
BUSY_S = 60.0


class ReplyCache(Protocol):
    """Bytes by key. Every method may be awaited from any event loop."""

    async def get(self, key: str) -> bytes | None:
        """What is stored for `key`, or None."""
        ...

    async def put(self, key: str, value: bytes, *, task: str = "", model: str = "") -> None:
        """Store `value`, unless something is stored for `key` already."""
        ...

    async def forget(self, keys: Iterable[str]) -> None:
        """Drop what is stored for `keys`."""
        ...

    async def count(self) -> int:
        """How many replies are stored."""
        ...

    def close(self) -> None:
        """Let go of the database."""
        ...


def open_cache(where: str | Path) -> ReplyCache:
    """The cache at a file's path (SQLite) or at a database URL (anything with `://`)."""
    if isinstance(where, str) and "://" in where:
        return DatabaseCache(where)
    return SqliteCache(Path(where))


class SqliteCache:
    """One file, closed by `close()` or when nothing refers to the cache any more.

    The connection lives in a thread of its own: waiting for the disk never holds up the event loop.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._thread = ThreadPoolExecutor(1, thread_name_prefix=THREAD)
        try:
            self._connection = self._thread.submit(self._open).result()
        except BaseException:
            self._thread.shutdown()
            raise
        self._release = weakref.finalize(self, _release, self._thread, self._connection.close)

    def _open(self) -> sqlite3.Connection:
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            # Used by the one thread only, and closed by whoever comes last.
            connection = sqlite3.connect(self.path, timeout=BUSY_S, isolation_level=None, check_same_thread=False)
        except (OSError, sqlite3.Error) as problem:
            raise self._unusable(problem) from None
        try:
            self._prepare(connection)
        except sqlite3.Error as problem:
            connection.close()
            raise self._unusable(problem) from None
        except StoreError:
            connection.close()
            raise
        return connection

    def _prepare(self, connection: sqlite3.Connection) -> None:
        found = connection.execute("PRAGMA user_version").fetchone()[0]
        if found > FORMAT:
            raise NewerVersion(f"{self.path} was written by a newer ragauge (cache format {found}, here {FORMAT})")
        use_wal(connection, BUSY_S)
        connection.execute("PRAGMA synchronous = NORMAL")
        connection.execute(
            "CREATE TABLE IF NOT EXISTS replies (key TEXT PRIMARY KEY, task TEXT NOT NULL, model TEXT NOT NULL,"
            " created REAL NOT NULL, value BLOB NOT NULL) WITHOUT ROWID"
        )
        connection.execute(f"PRAGMA user_version = {FORMAT}")

    def _unusable(self, problem: Exception) -> StoreError:
        text = str(problem)
        if "disk is full" in text:
            return DiskFull(f"{self.path}: the disk is full", hint="Free some space and resume the run.")
        hint = "Delete it (it holds only replies that can be asked for again), or choose another place."
        return StoreError(f"the cache {self.path} cannot be used: {text}", hint=hint)

    async def _run(self, work: Callable[[], T]) -> T:
        def guarded() -> T:
            try:
                return work()
            except sqlite3.Error as problem:
                raise self._unusable(problem) from None

        return await asyncio.get_running_loop().run_in_executor(self._thread, guarded)

    async def get(self, key: str) -> bytes | None:
        """What is stored for `key`, or None."""
        row = await self._run(
            lambda: self._connection.execute("SELECT value FROM replies WHERE key = ?", (key,)).fetchone()
        )
        return bytes(row[0]) if row else None

    async def put(self, key: str, value: bytes, *, task: str = "", model: str = "") -> None:
        """Store `value`, unless something is stored for `key` already."""
        row = (key, task, model, time.time(), value)
        await self._run(
            lambda: self._connection.execute("INSERT OR IGNORE INTO replies VALUES (?, ?, ?, ?, ?)", row).close()
        )

    async def forget(self, keys: Iterable[str]) -> None:
        """Drop what is stored for `keys`."""
        rows = [(key,) for key in keys]
        await self._run(lambda: self._connection.executemany("DELETE FROM replies WHERE key = ?", rows).close())

    async def count(self) -> int:
        """How many replies are stored."""
        found = await self._run(lambda: self._connection.execute("SELECT count(*) FROM replies").fetchone())
        return int(found[0])

    def close(self) -> None:
        """Close the file, once; a closed cache cannot be used again."""
        self._release()


def _release(thread: ThreadPoolExecutor, close: Callable[[], object]) -> None:
    """Let the thread finish what it has, then close. The collector may call this from within that very thread."""
    here = threading.current_thread().name.startswith(THREAD)
    thread.shutdown(wait=not here)
    close()


class DatabaseCache:
    """The same in any database that SQLAlchemy reaches, for several machines at once. Extra `postgres`."""

    def __init__(self, url: str) -> None:
        try:
            import sqlalchemy
        except ImportError:
            raise MissingExtra("sqlalchemy", "postgres") from None
        self._sql = sqlalchemy
        self._thread = ThreadPoolExecutor(4, thread_name_prefix=THREAD)
        try:
            self._engine = sqlalchemy.create_engine(url, pool_size=4, pool_pre_ping=True)
            self._where = self._engine.url.render_as_string(hide_password=True)
        except sqlalchemy.exc.ArgumentError:
            raise StoreError("the cache's URL is not one that SQLAlchemy reads") from None
        except ModuleNotFoundError as problem:
            raise MissingExtra(str(problem.name), "postgres") from None
        self._table = sqlalchemy.Table(
            "ragauge_replies",
            sqlalchemy.MetaData(),
            sqlalchemy.Column("key", sqlalchemy.String(64), primary_key=True),
            sqlalchemy.Column("task", sqlalchemy.String(64), nullable=False),
            sqlalchemy.Column("model", sqlalchemy.String(256), nullable=False),
            sqlalchemy.Column("created", sqlalchemy.Float, nullable=False),
            sqlalchemy.Column("value", sqlalchemy.LargeBinary, nullable=False),
        )
        self._release = weakref.finalize(self, _release, self._thread, self._engine.dispose)
        self._guarded(self._create)

    def _create(self) -> None:
        try:
            self._table.create(self._engine, checkfirst=True)
        except self._sql.exc.DBAPIError:
            # Two processes may find the table missing at once; the slower one fails, and then it is there.
            if not self._sql.inspect(self._engine).has_table(self._table.name):
                raise

    def _guarded(self, work: Callable[[], T]) -> T:
        try:
            return work()
        except self._sql.exc.SQLAlchemyError as problem:
            what = str(getattr(problem, "orig", None) or type(problem).__name__).strip().split("\n")[0]
            raise StoreError(f"the cache {self._where} cannot be used: {what}") from None

    async def _run(self, work: Callable[[Any], T]) -> T:
        def in_transaction() -> T:
            with self._engine.begin() as connection:
                return work(connection)

        return await asyncio.get_running_loop().run_in_executor(self._thread, partial(self._guarded, in_transaction))

    async def get(self, key: str) -> bytes | None:
        """What is stored for `key`, or None."""
        query = self._sql.select(self._table.c.value).where(self._table.c.key == key)
        value = await self._run(lambda connection: connection.execute(query).scalar())
        return None if value is None else bytes(value)

    async def put(self, key: str, value: bytes, *, task: str = "", model: str = "") -> None:
        """Store `value`, unless something is stored for `key` already."""
        statement = self._sql.text(
            f"INSERT INTO {self._table.name} (key, task, model, created, value)"
            " VALUES (:key, :task, :model, :created, :value) ON CONFLICT (key) DO NOTHING"
        )
        row = {"key": key, "task": task[:64], "model": model[:256], "created": time.time(), "value": value}
        await self._run(lambda connection: connection.execute(statement, row).close())

    async def forget(self, keys: Iterable[str]) -> None:
        """Drop what is stored for `keys`."""
        statement = self._table.delete().where(self._table.c.key.in_(list(keys)))
        await self._run(lambda connection: connection.execute(statement).close())

    async def count(self) -> int:
        """How many replies are stored."""
        query = self._sql.select(self._sql.func.count()).select_from(self._table)
        return int(await self._run(lambda connection: connection.execute(query).scalar()))

    def close(self) -> None:
        """Close all connections."""
        self._release()
