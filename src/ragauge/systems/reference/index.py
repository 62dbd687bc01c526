"""The vector index: Qdrant, in this process (memory or a folder) or on a server."""

from __future__ import annotations

import os
import threading
import warnings
import weakref
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from ragauge.core.sample import Chunk
from ragauge.errors import EndpointUnusable, MissingExtra, StoreError
from ragauge.systems.reference.bm25 import Hit
from ragauge.systems.reference.embed import search_text
from ragauge.systems.reference.vector_cache import VectorCache

Progress = Callable[[int, int], None]
#: Points in one upsert.
BATCH = 256
#: More hits than asked for, so that ties at the end of the list are settled by us and not by the store.
TIE_MARGIN = 16

# A folder takes one client at a time, so the systems of a process that use the same folder share it.
_shared: dict[str, tuple[Any, int]] = {}
_shared_lock = threading.RLock()


class VectorStore:
    """A Qdrant client and who may close it. `where`: "memory", a folder, or an http(s) URL.

    A server's key is read from the environment (`QDRANT_API_KEY`), never from settings.
    """

    def __init__(self, where: str) -> None:
        self.where = where
        self.is_server = where.startswith(("http://", "https://"))
        self._key = "" if self.is_server or where == "memory" else str(Path(where).expanduser().resolve())
        self.lock = threading.RLock()
        if not self._key:
            self.client = self._opened()
        else:
            with _shared_lock:
                client, users = _shared.get(self._key, (None, 0))
                self.client = client if client is not None else self._opened()
                _shared[self._key] = (self.client, users + 1)
        # also when nobody closes it: while the interpreter shuts down the client can no longer close itself
        self._release = weakref.finalize(self, _release, self._key, self.client)

    def _opened(self) -> Any:
        try:
            from qdrant_client import QdrantClient
        except ImportError as error:
            raise MissingExtra("qdrant-client", "reference") from error
        if self.where == "memory":
            return QdrantClient(":memory:")
        if self.is_server:
            return QdrantClient(
                url=self.where, api_key=os.environ.get("QDRANT_API_KEY") or None, timeout=60, check_compatibility=False
            )
        try:
            return QdrantClient(path=self._key, force_disable_check_same_thread=True)
        except RuntimeError as error:
            raise StoreError(
                f"the index folder {self._key} is in use by another process",
                hint="Wait for it, give this run another `store` folder, or use a Qdrant server by its URL.",
            ) from error
        except Exception as error:  # whatever a damaged folder makes the library raise
            raise StoreError(
                f"the index folder {self._key} cannot be opened ({type(error).__name__}: {error})",
                hint="Delete it: it is built again from the corpus.",
            ) from error

    def close(self) -> None:
        """Let go of the client; a shared one is closed by its last user. Doing it twice does nothing."""
        self._release()
        self.client = None


def _release(key: str, client: Any) -> None:
    if key:
        with _shared_lock:
            _, users = _shared[key]
            if users > 1:
                _shared[key] = (client, users - 1)
                return
            del _shared[key]
    client.close()


class DenseIndex:
    """One collection of a store: the vectors of one corpus, cut one way, embedded by one model.

    The collection's name holds the fingerprint of all three, so it is built once, found again by later runs, and never
    mistaken for another. A build that was killed goes on where it was.
    """

    def __init__(self, store: VectorStore, fingerprint: str, chunks: Sequence[Chunk], vectors: VectorCache) -> None:
        self._store, self._chunks, self._vectors = store, chunks, vectors
        self.collection = f"ragauge_{fingerprint}"

    def build(self, prefix: str, progress: Progress | None = None) -> int:
        """Add what is missing; the number of chunks that were added (0: the index was there already)."""
        from qdrant_client import models

        with self._store.lock, self._using():
            client = self._store.client
            if not client.collection_exists(self.collection):
                parameters = models.VectorParams(size=self._vectors.embedder.dimension, distance=models.Distance.DOT)
                client.create_collection(self.collection, vectors_config=parameters)
            missing = self._missing()
            n_all, n_there = len(self._chunks), len(self._chunks) - len(missing)
            if progress is not None:
                progress(n_there, n_all)
            for start in range(0, len(missing), BATCH):
                part = missing[start : start + BATCH]
                chunks = [self._chunks[index] for index in part]
                rows = self._vectors.encode([search_text(chunk, prefix) for chunk in chunks])
                payloads = [{"id": chunk.id, "document": chunk.document, "text": chunk.text} for chunk in chunks]
                with _quiet_about_size():
                    client.upsert(
                        self.collection,
                        points=models.Batch(ids=part, vectors=rows.tolist(), payloads=payloads),
                        wait=True,
                    )
                if progress is not None:
                    progress(n_there + start + len(part), n_all)
            return len(missing)

    def search(self, vectors: Any, n: int) -> list[list[Hit]]:
        """For each row of `vectors` at most `n` (index of the chunk, cosine), best first, ties by chunk id.

        The search is exact: every vector is compared, so that the same question always finds the same chunks.
        """
        from qdrant_client import models

        exact = models.SearchParams(exact=True) if self._store.is_server else None  # local mode is always exact
        requests = [
            models.QueryRequest(query=row.tolist(), limit=n + TIE_MARGIN, params=exact, with_payload=False)
            for row in np.asarray(vectors, np.float32)
        ]
        with self._store.lock, self._using():
            answers = self._store.client.query_batch_points(self.collection, requests=requests)
        return [self._ordered([(int(point.id), float(point.score)) for point in one.points], n) for one in answers]

    def _ordered(self, hits: list[Hit], n: int) -> list[Hit]:
        rounded = [(index, round(score, 6)) for index, score in hits if index < len(self._chunks)]
        return sorted(rounded, key=lambda hit: (-hit[1], self._chunks[hit[0]].id))[:n]

    def _missing(self) -> list[int]:
        client = self._store.client
        if client.count(self.collection, exact=True).count == len(self._chunks):
            return []
        there: set[int] = set()
        offset: Any = None
        while True:
            points, offset = client.scroll(
                self.collection, limit=10_000, offset=offset, with_payload=False, with_vectors=False
            )
            there.update(int(point.id) for point in points)
            if offset is None:
                return [index for index in range(len(self._chunks)) if index not in there]

    @contextmanager
    def _using(self) -> Iterator[None]:
        """A server that does not answer becomes one clear error."""
        if not self._store.is_server:
            yield
            return
        from qdrant_client.http.exceptions import ApiException, ResponseHandlingException

        try:
            yield
        except (ApiException, ResponseHandlingException, OSError) as error:
            raise EndpointUnusable(
                f"the Qdrant server at {self._store.where} cannot be used ({type(error).__name__}: {error})",
                hint="Check the URL and QDRANT_API_KEY, or set `store: memory`.",
            ) from error


@contextmanager
def _quiet_about_size() -> Iterator[None]:
    """Qdrant's local mode warns above 20 000 points; it is slower there, not wrong."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Local mode is not recommended")
        yield
