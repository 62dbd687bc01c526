"""The review database: its tables, the way up from every older version, transactions that cannot collide."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from ragauge.errors import DiskFull, MissingExtra, NewerVersion, StoreError
from ragauge.store.sqlite import use_wal

try:
    import sqlalchemy as sa
    from sqlalchemy.pool import NullPool
except ImportError as error:
    raise MissingExtra("sqlalchemy, which keeps the review queue,", "review") from error

#: How long one writer waits for another one.
BUSY_S = 60.0
#: PostgreSQL: whoever migrates holds this lock.
_LOCK = 7_261_903

metadata = sa.MetaData()

items = sa.Table(
    "review_items",
    metadata,
    sa.Column("id", sa.Text, primary_key=True),
    sa.Column("run", sa.Text, nullable=False),
    sa.Column("item", sa.Text, nullable=False),
    sa.Column("repeat_no", sa.Integer, nullable=False),
    sa.Column("target", sa.Text),
    sa.Column("metric", sa.Text, nullable=False),
    sa.Column("source", sa.Text, nullable=False),
    sa.Column("reason", sa.Text, nullable=False),
    sa.Column("payload", sa.Text, nullable=False),
    sa.Column("answer", sa.Text),
    sa.Column("judge", sa.Text),
    sa.Column("cluster", sa.Text),
    sa.Column("priority", sa.Double, nullable=False),
    sa.Column("wanted", sa.Integer, nullable=False),
    sa.Column("probability", sa.Double),
    sa.Column("band", sa.Text),
    sa.Column("design", sa.Text),
    sa.Column("state", sa.Text, nullable=False),
    sa.Column("n_labels", sa.Integer, nullable=False),
    sa.Column("created", sa.Double, nullable=False),
)
leases = sa.Table(
    "review_leases",
    metadata,
    sa.Column("item_id", sa.Text, primary_key=True),
    sa.Column("reviewer", sa.Text, primary_key=True),
    sa.Column("expires", sa.Double, nullable=False),
)
labels = sa.Table(
    "review_labels",
    metadata,
    sa.Column("id", sa.Text, primary_key=True),
    sa.Column("item_id", sa.Text, nullable=False),
    sa.Column("reviewer", sa.Text, nullable=False),
    sa.Column("label", sa.Text, nullable=False),
    sa.Column("note", sa.Text, nullable=False),
    sa.Column("systematic", sa.Text),
    sa.Column("edits", sa.Text),
    sa.Column("adjudicated", sa.Integer, nullable=False),
    sa.Column("created", sa.Double, nullable=False),
    sa.Column("undone", sa.Double),
)
skips = sa.Table(
    "review_skips",
    metadata,
    sa.Column("item_id", sa.Text, primary_key=True),
    sa.Column("reviewer", sa.Text, primary_key=True),
    sa.Column("reason", sa.Text, nullable=False),
    sa.Column("created", sa.Double, nullable=False),
)

#: Version n is reached from n − 1 by the statements at place n − 1. Written once, never changed afterwards.
MIGRATIONS: tuple[tuple[str, ...], ...] = (
    (
        "CREATE TABLE review_items (id TEXT PRIMARY KEY, run TEXT NOT NULL, item TEXT NOT NULL,"
        " repeat_no INTEGER NOT NULL, target TEXT, metric TEXT NOT NULL, source TEXT NOT NULL, reason TEXT NOT NULL,"
        " payload TEXT NOT NULL, answer TEXT, judge TEXT, cluster TEXT, priority DOUBLE PRECISION NOT NULL,"
        " wanted INTEGER NOT NULL, state TEXT NOT NULL, n_labels INTEGER NOT NULL, created DOUBLE PRECISION NOT NULL)",
        "CREATE INDEX review_items_open ON review_items (state, priority)",
        "CREATE TABLE review_leases (item_id TEXT NOT NULL, reviewer TEXT NOT NULL,"
        " expires DOUBLE PRECISION NOT NULL, PRIMARY KEY (item_id, reviewer))",
        "CREATE TABLE review_labels (id TEXT PRIMARY KEY, item_id TEXT NOT NULL REFERENCES review_items (id),"
        " reviewer TEXT NOT NULL, label TEXT NOT NULL, note TEXT NOT NULL, created DOUBLE PRECISION NOT NULL,"
        " undone DOUBLE PRECISION)",
        "CREATE UNIQUE INDEX review_labels_once ON review_labels (item_id, reviewer) WHERE undone IS NULL",
        "CREATE TABLE review_skips (item_id TEXT NOT NULL, reviewer TEXT NOT NULL, reason TEXT NOT NULL,"
        " created DOUBLE PRECISION NOT NULL, PRIMARY KEY (item_id, reviewer))",
    ),
    (  # 2: how an item was drawn; patterns, adjudication and proposed changes
        "ALTER TABLE review_items ADD COLUMN probability DOUBLE PRECISION",
        "ALTER TABLE review_items ADD COLUMN band TEXT",
        "ALTER TABLE review_items ADD COLUMN design TEXT",
        "ALTER TABLE review_labels ADD COLUMN systematic TEXT",
        "ALTER TABLE review_labels ADD COLUMN edits TEXT",
        "ALTER TABLE review_labels ADD COLUMN adjudicated INTEGER NOT NULL DEFAULT 0",
        "CREATE INDEX review_labels_reviewer ON review_labels (reviewer, created)",
    ),
)
VERSION = len(MIGRATIONS)


class Database:
    """One engine. Every transaction is a writer's: it sees everything that was committed before it began."""

    def __init__(self, where: str | Path) -> None:
        self.engine, self.where = _engine(where)
        self.is_sqlite = self.engine.dialect.name == "sqlite"
        try:
            self.migrate()
        except BaseException:
            self.engine.dispose()
            raise

    @contextmanager
    def transaction(self) -> Iterator[sa.Connection]:
        """Commits at the end, or nothing of it happened. What the database says is a `StoreError`, passwords hidden."""
        try:
            with self.engine.begin() as connection:
                yield connection
        except sa.exc.SQLAlchemyError as problem:
            raise self._unusable(problem) from None

    def migrate(self, to: int = VERSION) -> None:
        """Bring the tables up to version `to`, step by step, whoever else tries the same."""
        with self.transaction() as connection:
            self.alone(connection)
            connection.execute(sa.text("CREATE TABLE IF NOT EXISTS review_schema (version INTEGER NOT NULL)"))
            found = int(connection.execute(sa.text("SELECT max(version) FROM review_schema")).scalar() or 0)
            if found > VERSION:
                raise NewerVersion(
                    f"{self.where} was written by a newer ragauge (review format {found}, here {VERSION})"
                )
            for version in range(found + 1, to + 1):
                for statement in MIGRATIONS[version - 1]:
                    connection.execute(sa.text(statement))
                connection.execute(
                    sa.text("INSERT INTO review_schema (version) VALUES (:version)"), {"version": version}
                )

    def alone(self, connection: sa.Connection) -> None:
        """Wait until nobody else is in a part like this one: no two processes migrate or fill the queue at once."""
        if not self.is_sqlite:
            connection.execute(sa.text(f"SELECT pg_advisory_xact_lock({_LOCK})"))

    def locked(self, query: sa.Select[Any], *, skip: bool = False) -> sa.Select[Any]:
        """`query` with its rows locked until the transaction ends (SQLite: every transaction locks everything)."""
        return query if self.is_sqlite else query.with_for_update(skip_locked=skip)

    def close(self) -> None:
        """Close all connections."""
        self.engine.dispose()

    def _unusable(self, problem: Exception) -> StoreError:
        said = str(getattr(problem, "orig", None) or problem).strip().split("\n")[0]
        said = re.sub(r"://[^/\s@]*@", "://***@", said)
        if "full" in said and "disk" in said:
            return DiskFull(f"{self.where}: the disk is full; nothing half-done was kept")
        return StoreError(f"the review queue {self.where} cannot be used: {said}")


def _engine(where: str | Path) -> tuple[sa.Engine, str]:
    if isinstance(where, str) and "://" in where:
        try:
            url = sa.make_url(where)
        except sa.exc.ArgumentError:
            raise StoreError("the review queue's URL cannot be read", hint="postgresql://user@host/database") from None
        if url.drivername in ("postgresql", "postgres"):
            url = url.set(drivername="postgresql+psycopg")
    else:
        path = Path(where)
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
        except OSError as problem:
            raise StoreError(f"cannot write {path}: {problem.strerror or problem}") from None
        url = sa.URL.create("sqlite", database=str(path))
    shown = url.database or "" if url.get_backend_name() == "sqlite" else url.render_as_string(hide_password=True)
    try:
        if url.get_backend_name() == "sqlite":
            return _sqlite(url), shown
        return sa.create_engine(url, pool_size=4, max_overflow=60, pool_timeout=BUSY_S, pool_pre_ping=True), shown
    except ModuleNotFoundError as problem:
        raise MissingExtra(f"{problem.name}, which talks to {url.get_backend_name()},", "postgres") from None
    except sa.exc.ArgumentError as problem:
        raise StoreError(f"the review queue's URL cannot be used: {problem}") from None


def _sqlite(url: sa.URL) -> sa.Engine:
    engine = sa.create_engine(url, poolclass=NullPool, connect_args={"timeout": BUSY_S, "check_same_thread": False})

    def connected(connection: Any, _: Any) -> None:
        connection.isolation_level = None  # transactions begin where we say, not where the driver thinks
        cursor = connection.cursor()
        use_wal(connection, BUSY_S)
        # A label that was acknowledged survives a power cut as well.
        cursor.execute("PRAGMA synchronous = FULL")
        cursor.execute("PRAGMA foreign_keys = ON")
        cursor.close()

    def begun(connection: sa.Connection) -> None:
        connection.exec_driver_sql("BEGIN IMMEDIATE")

    sa.event.listen(engine, "connect", connected)
    sa.event.listen(engine, "begin", begun)
    return engine
