"""The pipeline against a Qdrant address.

There is no Qdrant server among the packages that the tests can install. What stands in for it here is the client's own
local mode behind HTTP: the requests and replies are those of the client's models, so this checks that our side speaks
the interface (exact search, the key, errors, a collection that outlives us). It does not check the server.
"""

from __future__ import annotations

import asyncio
import json
import re
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from ragauge.core.sample import Question
from ragauge.errors import EndpointUnusable
from ragauge.systems.reference.pipeline import build

pytest.importorskip("qdrant_client", reason="qdrant-client is not installed (extra reference)")
from qdrant_client import QdrantClient, models


class Stand(ThreadingHTTPServer):
    """The client's local mode behind the REST paths that the pipeline uses."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.local = QdrantClient(":memory:")
        self.lock = threading.Lock()
        self.seen: list[tuple[str, str, Any]] = []
        self.keys: set[str | None] = set()
        self.url = f"http://127.0.0.1:{self.server_address[1]}"

    def answer(self, method: str, path: str, body: Any) -> Any:
        name = re.fullmatch(r"/collections/([^/]+)(/.*)?", path)
        assert name is not None, path
        collection, rest = name[1], name[2] or ""
        if (method, rest) == ("GET", "/exists"):
            return {"exists": self.local.collection_exists(collection)}
        if (method, rest) == ("PUT", ""):
            asked = models.CreateCollection.model_validate(body)
            return self.local.create_collection(collection, vectors_config=asked.vectors)
        if (method, rest) == ("PUT", "/points"):
            self.local.upsert(collection, models.PointsBatch.model_validate(body).batch)
            return {"operation_id": 1, "status": "completed"}
        if (method, rest) == ("POST", "/points/count"):
            return {"count": self.local.count(collection).count}
        if (method, rest) == ("POST", "/points/scroll"):
            asked_for = models.ScrollRequest.model_validate(body)
            points, offset = self.local.scroll(collection, limit=asked_for.limit or 10, offset=asked_for.offset)
            return {"points": [{"id": one.id} for one in points], "next_page_offset": offset}
        if (method, rest) == ("POST", "/points/query/batch"):
            models.QueryRequestBatch.model_validate(body)  # what is sent is of the interface's form
            found = []
            for one in body["searches"]:
                asked = one["query"]
                vector = asked["nearest"] if isinstance(asked, dict) else asked
                found.append(self.local.query_points(collection, query=vector, limit=one["limit"]).points)
            return [{"points": [{"id": p.id, "version": 0, "score": p.score} for p in one]} for one in found]
        raise AssertionError(f"{method} {path}")


class Handler(BaseHTTPRequestHandler):
    server: Stand
    protocol_version = "HTTP/1.1"

    def _do(self) -> None:
        length = int(self.headers.get("content-length") or 0)
        body = json.loads(self.rfile.read(length)) if length else None
        path = self.path.partition("?")[0]
        with self.server.lock:
            self.server.seen.append((self.command, path, body))
            self.server.keys.add(self.headers.get("api-key"))
            made = {"result": self.server.answer(self.command, path, body), "status": "ok", "time": 0.0}
        sent = json.dumps(made).encode()
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(sent)))
        self.end_headers()
        self.wfile.write(sent)

    do_GET = do_PUT = do_POST = _do  # noqa: N815 - the library's names

    def log_message(self, *_: Any) -> None:
        pass


@pytest.fixture
def stand(monkeypatch: pytest.MonkeyPatch) -> Iterator[Stand]:
    monkeypatch.setenv("QDRANT_API_KEY", "s3cret-key")
    made = Stand()
    thread = threading.Thread(target=made.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    yield made
    made.shutdown()
    made.server_close()
    made.local.close()
    thread.join()


@pytest.mark.filterwarnings("ignore:Api key is used with an insecure connection")
def test_a_server_keeps_the_index_and_finds_what_the_memory_finds(stand: Stand, docs: Path, cache: Path) -> None:
    question = Question(id="q", text="How do I rotate a key?")

    async def found(store: str) -> tuple[int, list[str], str]:
        settings = {"corpus": str(docs), "retrieval": "dense", "store": store, "embedding_cache": str(cache)}
        system = build(settings)
        try:
            n_added = await system.build_index()
            response = await system.respond(question)
            assert response.context is not None
            return n_added, response.context.ids, system.info().model_dump_json()
        finally:
            await system.aclose()

    n_memory, in_memory, _ = asyncio.run(found("memory"))
    n_first, on_server, card = asyncio.run(found(stand.url))
    n_again, again, _ = asyncio.run(found(stand.url))
    assert (n_first, n_again) == (n_memory, 0)  # built once, found again by the next run
    assert on_server == again == in_memory
    asked = [body for _, path, body in stand.seen if path.endswith("/query/batch")]
    assert asked
    assert all(one["params"]["exact"] for body in asked for one in body["searches"])
    assert stand.keys == {"s3cret-key"}
    assert "s3cret" not in card


@pytest.mark.filterwarnings("ignore:Api key is used with an insecure connection")
def test_a_server_that_goes_away_is_a_clear_error(stand: Stand, docs: Path, cache: Path) -> None:
    system = build({"corpus": str(docs), "retrieval": "dense", "store": stand.url, "embedding_cache": str(cache)})
    asyncio.run(system.build_index())
    stand.shutdown()
    stand.server_close()
    with pytest.raises(EndpointUnusable, match="cannot be used"):
        asyncio.run(system.respond(Question(id="q", text="How?")))
    asyncio.run(system.aclose())
