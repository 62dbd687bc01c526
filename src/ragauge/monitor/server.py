"""The HTTP endpoint of a log: `POST /v1/queries`, `/v1/feedback`, `/v1/traces`; `GET /health`.

What is answered with 200 is on the disk. Records are checked one by one: 200 all taken, 207 some, 422 none (with a
reason for each). 400 unreadable, 401 no token, 408 too slow, 413 too large, 415 another type, 503 the disk is full or
too much at once: nothing of it was taken, send it again.
"""

from __future__ import annotations

import asyncio
import contextlib
import hmac
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from starlette.applications import Starlette
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from ragauge.errors import RagaugeError, StoreError
from ragauge.monitor.bodies import Refused, parse_json, read_body, records_of
from ragauge.monitor.compact import compact, prune
from ragauge.monitor.intake import Intake, Taken
from ragauge.monitor.layout import Kind
from ragauge.monitor.otlp import BadExport, Span, spans_of_json, spans_of_protobuf
from ragauge.monitor.redact import redact_query, redactor
from ragauge.monitor.settings import LogSettings
from ragauge.monitor.trace_buffer import TraceBuffer
from ragauge.monitor.traces import query_of_trace
from ragauge.monitor.writer import LogWriter

_log = logging.getLogger("ragauge.monitor")
_JSON = {"application/json", "application/x-ndjson", "application/jsonl", "application/jsonlines"}
_PROTOBUF = "application/x-protobuf"
#: Bodies that are read at the same time hold at most so many times the limit for one.
_AT_ONCE = 16
_TICK_S = 0.5
_IDLE_S = 300.0
#: So many rejections are explained in one answer.
_EXPLAINED = 100


class Committer:
    """Writes what several requests brought with one sync, in a thread."""

    def __init__(self, write: Callable[[Sequence[Any]], None]) -> None:
        self._write = write
        self._pending: list[tuple[Sequence[Any], asyncio.Future[None]]] = []
        self._task: asyncio.Task[None] | None = None

    async def put(self, lines: Sequence[Any]) -> None:
        """Return when the lines are on the disk. Raises `StoreError` when they are not."""
        done: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._pending.append((lines, done))
        if self._task is None or self._task.done():
            self._task = asyncio.create_task(self._run())
        await asyncio.shield(done)

    async def _run(self) -> None:
        while self._pending:
            taken, self._pending = self._pending, []
            try:
                await asyncio.to_thread(self._write, [line for lines, _ in taken for line in lines])
            except Exception as error:
                for _, done in taken:
                    if not done.done():
                        done.set_exception(StoreError(str(error)))
                        done.exception()  # whoever asked may be gone
            else:
                for _, done in taken:
                    if not done.done():
                        done.set_result(None)


class Endpoint:
    """What the routes share."""

    def __init__(self, root: Path, settings: LogSettings) -> None:
        self.root, self.settings = root, settings
        self.server = settings.server
        self.writer = LogWriter(root)
        redact = redactor(settings.redact)
        self.redact = redact
        self.traces = TraceBuffer(root, redact)
        self.intake = Intake(redact, int(self.server.max_record_kb * 1024), timedelta(days=self.server.max_age_days))
        self.limit = int(self.server.max_body_mb * (1 << 20))
        self.lines = Committer(self.writer.append_all)
        self.spans = Committer(self.traces.write)
        self.counts = dict.fromkeys(("requests", "queries", "feedback", "spans", "traces", "refused", "failures"), 0)
        self.reading = 0

    async def body(self, request: Request) -> bytes:
        """The body of a request that may ask."""
        self._check_token(request)
        if self.reading >= _AT_ONCE:
            raise Refused(503, "too many requests at once", **{"Retry-After": "1"})
        self.reading += 1
        try:
            return await read_body(request, self.limit)
        finally:
            self.reading -= 1

    def _check_token(self, request: Request) -> None:
        token = self.server.token
        if not token:
            return
        kind, _, given = request.headers.get("authorization", "").partition(" ")
        if kind.lower() != "bearer" or not hmac.compare_digest(given.strip().encode(), token.encode()):
            raise Refused(401, "a token is needed: Authorization: Bearer …", **{"WWW-Authenticate": "Bearer"})

    # -- the routes

    async def queries(self, request: Request) -> Response:
        """POST /v1/queries."""
        return await self._records(request, "queries")

    async def feedback(self, request: Request) -> Response:
        """POST /v1/feedback."""
        return await self._records(request, "feedback")

    async def _records(self, request: Request, kind: Kind) -> Response:
        media = _media(request)
        if media not in _JSON:
            raise Refused(415, f"content-type {media[:60]!r}: send application/json or application/x-ndjson")
        body = await self.body(request)
        records = records_of(body, media, kind)
        if not records:
            raise Refused(400, "no record in the body")
        if len(records) > self.server.max_batch:
            raise Refused(413, f"{len(records)} records in one request, more than {self.server.max_batch}")
        taken = self.intake.take(kind, records)
        if taken.lines:
            await self.lines.put(taken.lines)
        self.counts[kind] += len(taken.lines)
        self.counts["refused"] += len(taken.rejected)
        return JSONResponse(_answer(taken), status_code=_status(taken))

    async def otlp(self, request: Request) -> Response:
        """POST /v1/traces."""
        media = _media(request)
        if media not in {_PROTOBUF, "application/json"}:
            raise Refused(415, f"content-type {media[:60]!r}: send {_PROTOBUF} or application/json")
        body = await self.body(request)
        try:
            spans = spans_of_protobuf(body) if media == _PROTOBUF else spans_of_json(parse_json(body))
        except BadExport as error:
            raise Refused(400, str(error)) from None
        await self.spans.put(spans)
        self.traces.hold(spans)
        self.counts["spans"] += len(spans)
        if media == _PROTOBUF:
            return Response(b"", media_type=_PROTOBUF)  # an empty ExportTraceServiceResponse: all taken
        return JSONResponse({})

    async def health(self, request: Request) -> Response:
        """GET /health."""
        return JSONResponse({"status": "ok", "waiting_traces": len(self.traces), **self.counts})

    # -- in the background

    async def finish_traces(self, *, everything: bool = False) -> None:
        """Store the traces that are whole."""
        traces = self.traces.whole(everything=everything)
        if not traces:
            return
        n_spans = {trace_id: len(spans) for trace_id, spans in traces.items()}
        lines = [line for line in map(self._line_of, traces.values()) if line is not None]
        if lines:
            await self.lines.put(lines)
        self.counts["traces"] += len(lines)
        self.traces.done(traces, n_spans)

    def _line_of(self, spans: list[Span]) -> tuple[Kind, str, str] | None:
        try:
            query = query_of_trace(spans)
            if query is None:
                return None
            query = redact_query(query, self.redact) if self.redact else query
            return "queries", query.day, query.model_dump_json(exclude_defaults=True)
        except (ValueError, TypeError, KeyError, OverflowError) as error:
            self.counts["refused"] += 1
            _log.warning("a trace of %d spans makes no query: %s", len(spans), type(error).__name__)
            return None

    async def keep(self) -> None:
        """Until cancelled: finish traces, compact, prune."""
        every_s = self.server.compact_minutes * 60
        next_compaction = asyncio.get_running_loop().time() + every_s
        while True:
            await asyncio.sleep(_TICK_S)
            await self._tried(self.finish_traces())
            await self._tried(asyncio.to_thread(self.writer.close_idle, _IDLE_S))
            if asyncio.get_running_loop().time() >= next_compaction:
                next_compaction += every_s
                await self._tried(asyncio.to_thread(compact, self.root))
                if self.settings.keep_days is not None:
                    await self._tried(asyncio.to_thread(self._prune, self.settings.keep_days))

    async def _tried(self, work: Awaitable[Any]) -> None:
        """Whatever goes wrong with one thing, the others are done, and it is tried again when it is due."""
        try:
            await work
        except RagaugeError as error:
            self.counts["failures"] += 1
            _log.warning("%s", error)
        except Exception:
            self.counts["failures"] += 1
            _log.exception("keeping the log in order failed")

    def _prune(self, keep_days: int) -> None:
        state = Path(self.settings.state) if self.settings.state else None
        prune(self.root, keep_days=keep_days, today=datetime.now(UTC).date(), state=state)


def create_app(root: Path, settings: LogSettings) -> Starlette:
    """The ASGI application; it can be mounted in one of yours (run its lifespan)."""
    endpoint = Endpoint(root, settings)

    @contextlib.asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        keeping = asyncio.create_task(endpoint.keep())
        try:
            yield
        finally:
            keeping.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await keeping
            endpoint.traces.close()
            endpoint.writer.close()

    routes = [
        Route("/v1/queries", _guarded(endpoint, endpoint.queries), methods=["POST"]),
        Route("/v1/feedback", _guarded(endpoint, endpoint.feedback), methods=["POST"]),
        Route("/v1/traces", _guarded(endpoint, endpoint.otlp), methods=["POST"]),
        Route("/health", endpoint.health, methods=["GET"]),
    ]
    app = Starlette(routes=routes, lifespan=lifespan)
    app.state.endpoint = endpoint
    return app


def _guarded(
    endpoint: Endpoint, handle: Callable[[Request], Awaitable[Response]]
) -> Callable[[Request], Awaitable[Response]]:
    async def answer(request: Request) -> Response:
        endpoint.counts["requests"] += 1
        try:
            return await handle(request)
        except Refused as refused:
            endpoint.counts["refused"] += 1
            return JSONResponse({"error": refused.reason}, status_code=refused.status, headers=refused.headers)
        except ClientDisconnect:
            endpoint.counts["refused"] += 1
            return Response(status_code=400)
        except StoreError as error:
            endpoint.counts["failures"] += 1
            _log.warning("%s", error)
            return JSONResponse({"error": error.message}, status_code=503, headers={"Retry-After": "5"})

    return answer


def _media(request: Request) -> str:
    return request.headers.get("content-type", "").partition(";")[0].strip().lower()


def _answer(taken: Taken) -> dict[str, Any]:
    answer: dict[str, Any] = {"accepted": len(taken.lines)}
    if len(taken.ids) == 1:
        answer["id"] = taken.ids[0]
    if taken.rejected:
        answer["rejected"] = [one.as_json() for one in taken.rejected[:_EXPLAINED]]
        if len(taken.rejected) > _EXPLAINED:
            answer["rejected"] += [{"index": one.index, "reason": "see above"} for one in taken.rejected[_EXPLAINED:]]
    return answer


def _status(taken: Taken) -> int:
    if not taken.rejected:
        return 200
    if taken.lines:
        return 207
    return 413 if all(one.too_large for one in taken.rejected) else 422
