"""Which channel was told of what, and when: one small SQLite file that several processes may use at once.

A message is claimed before it is sent and noted when it was, so that two processes never send it twice; a claim whose
process died is given up after a while. The file holds hashes of addresses, never an address.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from ragauge.errors import StoreError

#: A claim older than this belongs to a process that died.
CLAIM_S = 600.0
_BUSY_S = 30.0
_TABLE = (
    "CREATE TABLE IF NOT EXISTS told (channel TEXT, key TEXT, event TEXT, state TEXT, severity TEXT, names TEXT,"
    " at REAL, status TEXT, PRIMARY KEY (channel, key, event, state)) WITHOUT ROWID"
)

Status = Literal["sending", "sent", "held"]


@dataclass(frozen=True)
class Told:
    """The last message about a key that a channel got. `n_held`: how many were held back since."""

    event: str
    state: str
    severity: str
    names: frozenset[str]
    at: float
    n_held: int


@dataclass(frozen=True)
class Ledger:
    """The file. It is made when it is first written to."""

    path: Path

    @contextmanager
    def locked(self) -> Iterator[sqlite3.Connection]:
        """A transaction that no other process interleaves with. Raises `StoreError`."""
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            with closing(sqlite3.connect(self.path, timeout=_BUSY_S, isolation_level=None)) as connection:
                connection.execute("BEGIN IMMEDIATE")
                connection.execute(_TABLE)
                yield connection
                connection.execute("COMMIT")
        except (OSError, sqlite3.Error) as error:
            raise StoreError(
                f"{self.path}, which remembers who was told of what, cannot be used: {error}",
                hint="Delete it, or name another place (alerts.state).",
            ) from None


def already(connection: Any, channel: str, key: str, event: str, state: str, now: float) -> bool:
    """Whether this very thing was sent there, or is being sent."""
    row = connection.execute(
        "SELECT status, at FROM told WHERE channel = ? AND key = ? AND event = ? AND state = ?",
        (channel, key, event, state),
    ).fetchone()
    return row is not None and (row[0] == "sent" or (row[0] == "sending" and now - row[1] < CLAIM_S))


def last(connection: Any, channel: str, key: str, now: float) -> Told | None:
    """The newest message about `key` that the channel got, or is getting."""
    row = connection.execute(
        "SELECT event, state, severity, names, at FROM told WHERE channel = ? AND key = ?"
        " AND (status = 'sent' OR (status = 'sending' AND at > ?)) ORDER BY at DESC LIMIT 1",
        (channel, key, now - CLAIM_S),
    ).fetchone()
    if row is None:
        return None
    (n_held,) = connection.execute(
        "SELECT count(*) FROM told WHERE channel = ? AND key = ? AND status = 'held' AND at >= ?",
        (channel, key, row[4]),
    ).fetchone()
    return Told(row[0], row[1], row[2], frozenset(json.loads(row[3])), row[4], n_held)


def n_since(connection: Any, channel: str, since: float) -> int:
    """How many messages the channel got since then."""
    query = "SELECT count(*) FROM told WHERE channel = ? AND status != 'held' AND at > ?"
    return int(connection.execute(query, (channel, since)).fetchone()[0])


def note(connection: Any, channel: str, alert: Any, status: Status, now: float) -> None:
    """Write down what is done with `alert`."""
    connection.execute(
        "INSERT OR REPLACE INTO told VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
        (channel, alert.key, alert.event, alert.state, alert.severity, json.dumps(alert.trouble), now, status),
    )


def forget(connection: Any, channel: str, alert: Any) -> None:
    """It was not sent after all."""
    connection.execute(
        "DELETE FROM told WHERE channel = ? AND key = ? AND event = ? AND state = ?",
        (channel, alert.key, alert.event, alert.state),
    )
