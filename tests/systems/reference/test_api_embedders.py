"""Embedders behind an API of OpenAI's form: a real server on a socket, the real client."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ragauge.core.sample import Question
from ragauge.embeddings import load
from ragauge.errors import EndpointUnusable, SettingsError, SystemFailed
from ragauge.systems.reference.embedders import ApiEmbedder, is_api, load_embedder
from ragauge.systems.reference.pipeline import build

pytest.importorskip("openai", reason="openai is not installed (extra openai)")


class Server(ThreadingHTTPServer):
    """MiniLM's vectors over HTTP, and what was asked."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.asked: list[dict[str, Any]] = []
        self.keys: list[str] = []
        self.refuse: list[int] = []

    @property
    def name(self) -> str:
        return f"compatible:mini@http://127.0.0.1:{self.server_address[1]}/v1"


class Handler(BaseHTTPRequestHandler):
    server: Server

    def do_POST(self) -> None:
        asked = json.loads(self.rfile.read(int(self.headers["content-length"])))
        self.server.keys.append(self.headers["authorization"])
        if self.server.refuse:
            status = self.server.refuse.pop(0)
            body = json.dumps({"error": {"message": f"refused {self.headers['authorization']}"}}).encode()
            self.send_response(status)
            self.send_header("retry-after", "0")
        else:
            self.server.asked.append(asked)
            rows = load().encode(asked["input"])[:, : asked.get("dimensions", 384)]
            data = [{"object": "embedding", "index": n, "embedding": row.tolist()} for n, row in enumerate(rows)]
            usage = {"prompt_tokens": 10 * len(rows), "total_tokens": 10 * len(rows)}
            # the order of a reply is not promised: `index` says which text a vector is of
            body = json.dumps({"object": "list", "data": data[::-1], "model": "mini", "usage": usage}).encode()
            self.send_response(200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: Any) -> None:
        pass


@pytest.fixture
def server() -> Iterator[Server]:
    made = Server()
    thread = threading.Thread(target=made.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    yield made
    made.shutdown()
    made.server_close()
    thread.join()


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    folder = tmp_path / "docs"
    folder.mkdir()
    (folder / "limits.md").write_text("# Limits\n\nThe free plan allows 60 requests per minute.\n")
    (folder / "keys.md").write_text("# Keys\n\nKeys are rotated in the console.\n")
    (folder / "logs.md").write_text("# Logs\n\nThe audit log is kept for 30 days.\n")
    return folder


def test_vectors_are_those_of_the_model_in_batches(server: Server) -> None:
    embedder = ApiEmbedder(load_embedder({"name": server.name, "batch": 2, "price_per_million": 0.5}).settings)  # type: ignore[attr-defined]
    texts = ["one", "two", " ", "three", "four", "five"]
    vectors = embedder.encode(texts)
    assert vectors.shape == (6, 384)
    assert np.allclose(vectors[[0, 1, 3, 4, 5]], load().encode(["one", "two", "three", "four", "five"]), atol=1e-5)
    assert not vectors[2].any()
    assert [one["input"] for one in server.asked] == [["dimension"], ["one", "two"], ["three", "four"], ["five"]]
    assert (embedder.usage.calls, embedder.usage.tokens_in) == (4, 60)
    assert embedder.usage.cost_usd == pytest.approx(60 * 0.5 / 1e6)
    embedder.close()


def test_refusals_that_pass_are_tried_again_and_others_say_why(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EMBED_KEY", "s3cret-key")
    embedder = load_embedder({"name": server.name, "dimensions": 8, "api_key_env": "EMBED_KEY"})
    server.refuse = [429, 503]
    assert embedder.encode(["x"]).shape == (1, 8)
    assert server.asked[-1]["dimensions"] == 8
    assert server.keys[-1] == "Bearer s3cret-key"
    server.refuse = [401]
    with pytest.raises(SystemFailed, match=r"AuthenticationError.*\*\*\*") as caught:
        embedder.encode(["y"])
    assert "s3cret" not in str(caught.value)
    server.refuse = [401]
    with pytest.raises(EndpointUnusable):
        embedder.check()  # type: ignore[attr-defined]
    embedder.close()  # type: ignore[attr-defined]


def test_long_texts_are_cut_and_said(server: Server) -> None:
    embedder = load_embedder({"name": server.name, "dimensions": 384, "max_tokens": 20})
    assert embedder.truncated(["a" * 60, "a" * 61]) == [False, True]
    embedder.encode(["a" * 500])
    assert server.asked[-1]["input"] == ["a" * 60]
    embedder.close()  # type: ignore[attr-defined]


def test_the_pipeline_with_an_api_embedder_asks_for_each_text_once(
    server: Server, corpus: Path, tmp_path: Path
) -> None:
    settings = {
        "corpus": str(corpus), "retrieval": "dense", "k": 1, "embedder": {"name": server.name},
        "embedding_cache": str(tmp_path / "cache"),
    }  # fmt: skip
    question = Question(id="q", text="How many requests are allowed?")

    async def once() -> tuple[list[str], tuple[str, ...]]:
        system = build(settings)
        try:
            await system.preflight()
            await system.prepare([question])
            response = await system.respond(question)
            assert response.context is not None
            return response.context.documents, system.warnings()
        finally:
            await system.aclose()

    documents, notes = asyncio.run(once())
    assert documents == ["limits.md"]
    assert any("embedding by compatible:mini" in note for note in notes)
    n_first = len(server.asked)
    assert asyncio.run(once())[0] == ["limits.md"]
    again = [text for one in server.asked[n_first:] for text in one["input"]]
    assert set(again) <= {"check", "dimension"}  # everything else was kept


def test_an_index_that_cannot_be_built_stops_the_run(server: Server, corpus: Path) -> None:
    embedder = {"name": server.name, "dimensions": 384, "retries": 0}
    system = build({"corpus": str(corpus), "retrieval": "dense", "embedder": embedder, "embedding_cache": "none"})
    server.refuse = [500]
    with pytest.raises(EndpointUnusable, match="cannot embed"):
        asyncio.run(system.build_index())
    asyncio.run(system.aclose())


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        ("compatible:mini", "does not say where the model is"),
        ({"name": "openai:m", "bacth": 1}, "Did you mean 'batch'"),
        ({"batch": 1}, "for models behind an API"),
        ("minilm3", "Did you mean 'minilm'"),
    ],
)
def test_wrong_settings_are_named(setting: Any, message: str) -> None:
    with pytest.raises(SettingsError, match=message):
        load_embedder(setting)


def test_a_key_that_is_not_set_is_named_before_anything_is_sent(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    embedder = load_embedder("openai:text-embedding-3-small")
    assert embedder.dimension == 1536
    assert is_api("openai:text-embedding-3-small")
    with pytest.raises(SettingsError, match="OPENAI_API_KEY"):
        embedder.encode(["x"])
