"""People: a queue of answers to label, their labels, and what the labels say about the judge.

The queue lives in a database: SQLite by default, PostgreSQL by URL (extra `review`, `postgres`).

    queue = open_queue(".ragauge/review.sqlite")
    item = queue.next("ann")
    queue.label(item.id, "ann", "unfaithful", note="the port is another one")
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ragauge.review.queue import Queue

#: Where the queue is unless somebody says otherwise.
DEFAULT_QUEUE = ".ragauge/review.sqlite"


def open_queue(where: str | Path = DEFAULT_QUEUE) -> Queue:
    """The review queue in a file (SQLite) or at a database URL (`postgresql://…`); made when it is not there.

    Raises `MissingExtra` without SQLAlchemy, `StoreError` for a database that cannot be used, `NewerVersion` for one
    of a newer ragauge.
    """
    from ragauge.review.queue import Queue

    return Queue(where)
