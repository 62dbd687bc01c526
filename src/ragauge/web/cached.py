"""Files of the page's cache: written whole, and what the disk says is told to the reader."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from ragauge.errors import StoreError
from ragauge.store.whole import replacing

_HINT = "Name another folder with `ragauge serve --cache DIR`."


@contextmanager
def writing(target: Path) -> Iterator[Path]:
    """A name beside `target` to write to; at the end it takes its place. Raises `StoreError`."""
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        with replacing(target) as beside:
            yield beside
    except (OSError, sqlite3.Error) as error:
        said = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        raise StoreError(f"the page's cache {target.parent} cannot be written: {said}", hint=_HINT) from error


@contextmanager
def reading(file: Path) -> Iterator[sqlite3.Connection]:
    """A SQLite file that nobody writes to any more. Raises `StoreError`."""
    connection = None
    try:
        connection = sqlite3.connect(f"{file.resolve().as_uri()}?mode=ro&immutable=1", uri=True)
        yield connection
    except sqlite3.DatabaseError as problem:
        raise StoreError(f"the page's cache {file} cannot be read: {problem}", hint="Delete it.") from None
    finally:
        if connection is not None:
            connection.close()
