"""A service as somebody might have it, for the tests of the HTTP system: it runs in a thread, on a real socket."""

from __future__ import annotations

import asyncio
import json
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, RedirectResponse, Response, StreamingResponse
from starlette.routing import Route

PASSAGES = [
    {"ref": "limits#1", "page": {"url": "docs/limits.md"}, "body": "Free: 60 requests per minute.", "rank_score": 0.9},
    {"ref": "keys#1", "page": {"url": "docs/keys.md"}, "body": "Rotate keys in the console.", "rank_score": 0.4},
]
ANSWER = "60 requests per minute."


class Service:
    """What was asked, and how many times each path was called."""

    def __init__(self) -> None:
        self.seen: list[dict[str, Any]] = []
        self.calls: Counter[str] = Counter()
        self.at_once = self.most_at_once = 0

    async def _noted(self, request: Request) -> Any:
        body = await request.body()
        self.calls[request.url.path] += 1
        sent = {"headers": dict(request.headers), "query": dict(request.query_params), "body": body.decode()}
        self.seen.append(sent)
        return json.loads(body) if body.startswith(b"{") else {}

    async def ask(self, request: Request) -> Response:
        await self._noted(request)
        data = {"text": ANSWER, "hits": PASSAGES, "usage": {"in": 120, "out": 8}, "llm": "m-1"}
        return JSONResponse({"data": data})

    async def plain(self, request: Request) -> Response:
        await self._noted(request)
        return JSONResponse({"answer": ANSWER, "contexts": ["Free: 60 requests per minute."]})

    async def text(self, request: Request) -> Response:
        await self._noted(request)
        return PlainTextResponse(ANSWER)

    async def page(self, request: Request) -> Response:
        return Response("<html>Log in</html>", media_type="text/html")

    async def none(self, request: Request) -> Response:
        return JSONResponse({"data": {"text": "I do not know.", "hits": []}})

    async def secured(self, request: Request) -> Response:
        await self._noted(request)
        said = request.headers.get("authorization", "")
        if said != "Bearer s3cret-token":
            return JSONResponse({"error": f"bad credentials: {said}"}, status_code=401)
        return JSONResponse({"answer": "in"})

    async def flaky(self, request: Request) -> Response:
        await self._noted(request)
        n = self.calls["/flaky"]
        if n == 1:
            return JSONResponse({}, status_code=503)
        if n == 2:
            return JSONResponse({}, status_code=429, headers={"retry-after": "0.2"})
        return JSONResponse({"answer": "at last"})

    async def busy(self, request: Request) -> Response:
        self.calls["/busy"] += 1
        return JSONResponse({}, status_code=429, headers={"retry-after": "3600"})

    async def broken(self, request: Request) -> Response:
        self.calls["/broken"] += 1
        return JSONResponse({"detail": "no field `q`"}, status_code=422)

    async def slow(self, request: Request) -> Response:
        self.calls["/slow"] += 1
        await asyncio.sleep(5)
        return JSONResponse({"answer": "late"})

    async def together(self, request: Request) -> Response:
        self.at_once += 1
        self.most_at_once = max(self.most_at_once, self.at_once)
        await asyncio.sleep(0.2)
        self.at_once -= 1
        return JSONResponse({"answer": "x"})

    async def moved(self, request: Request) -> Response:
        return RedirectResponse("/ask", status_code=307)

    async def huge(self, request: Request) -> Response:
        return Response(b'{"answer": "' + b"x" * 3_000_000 + b'"}', media_type="application/json")

    async def sse(self, request: Request) -> Response:
        async def events() -> Any:
            yield "event: context\ndata: " + json.dumps({"hits": PASSAGES}) + "\n\n"
            await asyncio.sleep(0.1)
            for piece in ("60 requests", " per", " minute."):
                yield "data: " + json.dumps({"choices": [{"delta": {"content": piece}}]}) + "\n\n"
                await asyncio.sleep(0.05)
            yield "data: [DONE]\n\n"

        return StreamingResponse(events(), media_type="text/event-stream")

    async def ndjson(self, request: Request) -> Response:
        async def lines() -> Any:
            yield json.dumps({"piece": "60 requests"}) + "\n"
            await asyncio.sleep(0.05)
            yield json.dumps({"piece": " per minute."}) + "\n"
            yield json.dumps({"done": True, "hits": PASSAGES}) + "\n"

        return StreamingResponse(lines(), media_type="application/x-ndjson")

    async def breaks(self, request: Request) -> Response:
        async def lines() -> Any:
            yield json.dumps({"piece": "60"}) + "\n"
            yield json.dumps({"error": "the model went away"}) + "\n"

        return StreamingResponse(lines(), media_type="application/x-ndjson")


_PATHS = (
    "ask", "plain", "text", "page", "none", "secured", "flaky", "busy", "broken", "slow", "together", "moved", "huge",
    "sse", "ndjson", "breaks",
)  # fmt: skip


@contextmanager
def running(service: Service, **options: Any) -> Iterator[str]:
    """The service's address, while it runs."""
    routes = [Route(f"/{path}", getattr(service, path), methods=["GET", "POST"]) for path in _PATHS]
    config = uvicorn.Config(
        Starlette(routes=routes), port=0, log_level="critical", lifespan="off", ws="none", **options
    )
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    deadline = time.monotonic() + 20
    while not server.started and time.monotonic() < deadline:
        time.sleep(0.01)
    assert server.started
    port = server.servers[0].sockets[0].getsockname()[1]
    scheme = "https" if "ssl_certfile" in options else "http"
    try:
        yield f"{scheme}://127.0.0.1:{port}"
    finally:
        server.should_exit = True
        server.force_exit = True
        thread.join(10)
