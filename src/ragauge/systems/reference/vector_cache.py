"""Vectors on disk by (model fingerprint, text hash), so that no text is embedded twice on a machine."""

from __future__ import annotations

import hashlib
import os
import sqlite3
import sys
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path

import numpy as np

from ragauge.embeddings.base import Embedder, Vectors
from ragauge.errors import DiskFull, StoreError
from ragauge.store.sqlite import use_wal

FILE = "vectors.v1.sqlite3"
_SCHEMA = """
CREATE TABLE IF NOT EXISTS vectors (
    model TEXT NOT NULL, text BLOB NOT NULL, vector BLOB NOT NULL, PRIMARY KEY (model, text)
) WITHOUT ROWID
"""
#: Vectors that are also kept in memory, the least recently used given up first (30 MB with the default embedder).
RECENT = 20_000
BUSY_S = 60  # how long a writer waits for another
_LOOKUP = 400  # text hashes in one query
Progress = Callable[[int, int], None]


def default_folder() -> Path:
    """Where cached vectors live: `$RAGAUGE_CACHE/embeddings`, else the user's cache folder as the platform has it."""
    chosen = os.environ.get("RAGAUGE_CACHE")
    if chosen:
        return Path(chosen).expanduser() / "embeddings"
    if sys.platform == "win32":
        base = Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local")
    elif sys.platform == "darwin":
        base = Path.home() / "Library" / "Caches"
    else:
        base = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return base / "ragauge" / "embeddings"


class VectorCache:
    """An embedder with a memory on disk. Several threads and processes may use one folder at the same time.

    `encode` gives exactly what was first computed for a text. Raises `StoreError` when the folder or database cannot
    be used, `DiskFull` when a vector cannot be written.
    """

    def __init__(self, embedder: Embedder, folder: Path | None) -> None:
        """`folder` None: nothing is kept on disk."""
        self.embedder = embedder
        self._recent: OrderedDict[bytes, Vectors] = OrderedDict()
        self._lock = threading.Lock()
        self._file = None if folder is None else folder / FILE
        if folder is not None:
            try:
                folder.mkdir(parents=True, exist_ok=True)
            except OSError as error:
                raise StoreError(
                    f"cannot keep vectors in {folder}: {error.strerror or error}",
                    hint="Set RAGAUGE_CACHE to a folder that can be written, or embedding_cache: none",
                ) from error

    def encode(self, texts: Sequence[str], *, progress: Progress | None = None, batch: int = 256) -> Vectors:
        """float32 (len(texts), dimension): remembered rows read back, the others computed and remembered.

        Equal texts are computed once. What is done is kept after every `batch` texts: a killed job goes on there.
        """
        keys = [hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest() for text in texts]
        result = np.empty((len(texts), self.embedder.dimension), np.float32)
        places: dict[bytes, list[int]] = {}
        for index, key in enumerate(keys):
            places.setdefault(key, []).append(index)
        missing = []
        known = self._recalled(list(places))
        known |= self._read([key for key in places if key not in known])
        for key, where in places.items():
            if key in known:
                result[where] = known[key]
            else:
                missing.append(key)
        n_done = len(texts) - sum(len(places[key]) for key in missing)
        if progress is not None:
            progress(n_done, len(texts))
        missing.sort(key=lambda key: len(texts[places[key][0]]))  # texts of like length together: less padding
        for start in range(0, len(missing), batch):
            part = missing[start : start + batch]
            vectors = self.embedder.encode([texts[places[key][0]] for key in part])
            self._write(part, vectors)
            known |= dict(zip(part, vectors, strict=True))
            for key, vector in zip(part, vectors, strict=True):
                result[places[key]] = vector
                n_done += len(places[key])
            if progress is not None:
                progress(n_done, len(texts))
        self._remember(known)
        return result

    def _recalled(self, keys: Sequence[bytes]) -> dict[bytes, Vectors]:
        with self._lock:
            known = {key: self._recent[key] for key in keys if key in self._recent}
            for key in known:
                self._recent.move_to_end(key)
        return known

    def _remember(self, known: dict[bytes, Vectors]) -> None:
        with self._lock:
            for key, vector in known.items():
                self._recent[key] = vector
            while len(self._recent) > RECENT:
                self._recent.popitem(last=False)

    def _read(self, keys: Sequence[bytes]) -> dict[bytes, Vectors]:
        found: dict[bytes, Vectors] = {}
        if self._file is None:
            return found
        with self._database() as connection:
            for start in range(0, len(keys), _LOOKUP):
                part = keys[start : start + _LOOKUP]
                marks = ",".join("?" * len(part))
                rows = connection.execute(
                    f"SELECT text, vector FROM vectors WHERE model = ? AND text IN ({marks})",
                    (self.embedder.fingerprint, *part),
                )
                for key, blob in rows:
                    vector = np.frombuffer(blob, dtype="<f4")
                    if len(vector) == self.embedder.dimension:
                        found[key] = vector
        return found

    def _write(self, keys: Sequence[bytes], vectors: Vectors) -> None:
        if self._file is None:
            return
        rows = [
            (self.embedder.fingerprint, key, vector.astype("<f4").tobytes())
            for key, vector in zip(keys, vectors, strict=True)
        ]
        with self._database() as connection, connection:
            connection.executemany("INSERT OR REPLACE INTO vectors VALUES (?, ?, ?)", rows)

    @contextmanager
    def _database(self) -> Iterator[sqlite3.Connection]:
        """A connection for one piece of work: nothing stays open that a thread or a fork could share."""
        try:
            with closing(sqlite3.connect(str(self._file), timeout=BUSY_S)) as connection:
                use_wal(connection, BUSY_S)
                connection.execute("PRAGMA synchronous=NORMAL")
                connection.execute(_SCHEMA)
                yield connection
        except sqlite3.DatabaseError as error:
            if getattr(error, "sqlite_errorcode", None) == sqlite3.SQLITE_FULL:
                raise DiskFull(
                    f"no room for vectors in {self._file}", hint="Free some space, then run again."
                ) from error
            raise StoreError(
                f"cannot use the vector cache {self._file}: {error}",
                hint="Delete the file (it is only a cache), or set embedding_cache: none",
            ) from error
