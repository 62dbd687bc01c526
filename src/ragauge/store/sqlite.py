"""SQLite files that several threads and processes open at the same moment."""

from __future__ import annotations

import sqlite3
import time

_PAUSE_S = 0.005


def use_wal(connection: sqlite3.Connection, timeout_s: float) -> None:
    """Put the file of `connection` into write-ahead mode, waiting up to `timeout_s` seconds for others.

    SQLite's own time-out does not cover this switch: while another connection makes the switch, or closes as the last
    one and tidies up, it says "database is locked" at once (https://sqlite.org/wal.html, section 8).
    Raises `sqlite3.Error`.
    """
    end = time.monotonic() + timeout_s
    while True:
        try:
            if connection.execute("PRAGMA journal_mode").fetchone()[0] != "wal":
                connection.execute("PRAGMA journal_mode = WAL")
            return
        except sqlite3.OperationalError as problem:
            if problem.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY or time.monotonic() >= end:
                raise
        time.sleep(_PAUSE_S)
