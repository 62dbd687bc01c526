from __future__ import annotations

import sqlite3
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path

import pytest

from ragauge.store.sqlite import use_wal


def test_it_waits_for_a_file_that_another_connection_holds(tmp_path: Path) -> None:
    file = tmp_path / "x.sqlite3"
    held, seen = threading.Event(), []

    def hold() -> None:
        with closing(sqlite3.connect(file, isolation_level=None)) as other:
            other.execute("BEGIN EXCLUSIVE")
            held.set()
            time.sleep(0.2)
            other.execute("COMMIT")
            seen.append("released")

    holder = threading.Thread(target=hold)
    holder.start()
    held.wait()
    with closing(sqlite3.connect(file, timeout=0)) as connection:
        with pytest.raises(sqlite3.OperationalError, match="locked"):
            connection.execute("PRAGMA journal_mode = WAL")
        use_wal(connection, 30)
        assert connection.execute("PRAGMA journal_mode").fetchone()[0] == "wal"
    holder.join()
    assert seen == ["released"]


def test_it_gives_up_in_time(tmp_path: Path) -> None:
    file = tmp_path / "x.sqlite3"
    with (
        closing(sqlite3.connect(file, isolation_level=None)) as other,
        closing(sqlite3.connect(file, timeout=0)) as connection,
    ):
        other.execute("BEGIN EXCLUSIVE")
        with pytest.raises(sqlite3.OperationalError, match="locked"):
            use_wal(connection, 0.05)


def test_threads_that_open_and_close_one_file_never_meet_a_lock(tmp_path: Path) -> None:
    def write(number: int) -> None:
        with closing(sqlite3.connect(tmp_path / f"{number // 60}.sqlite3", timeout=60)) as connection:
            use_wal(connection, 60)
            connection.execute("CREATE TABLE IF NOT EXISTS t (n INTEGER PRIMARY KEY)")
            with connection:
                connection.execute("INSERT INTO t VALUES (?)", (number,))

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(write, range(1200)))
