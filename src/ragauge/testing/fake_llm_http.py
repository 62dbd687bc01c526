"""A minimal HTTP/1.1 server on asyncio for `fake_llm`: keep-alive, JSON in, JSON out, nothing to install."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

#: Longest request that is read; a longer one gets 413.
LONGEST_BODY = 64 * 1024 * 1024


@dataclass(frozen=True)
class HttpRequest:
    """One request as it came over the wire."""

    method: str
    path: str
    headers: Mapping[str, str]
    body: bytes


@dataclass(frozen=True)
class HttpReply:
    """What is sent back. `cut` closes the connection in the middle of the body."""

    status: int = 200
    body: Any = None
    headers: Mapping[str, str] = field(default_factory=dict)
    cut: bool = False


Handler = Callable[[HttpRequest], Awaitable[HttpReply]]

_PHRASES = {
    200: "OK", 400: "Bad Request", 401: "Unauthorized", 404: "Not Found", 405: "Method Not Allowed",
    413: "Payload Too Large", 429: "Too Many Requests", 500: "Internal Server Error", 529: "Overloaded",
}  # fmt: skip


class BadRequest(Exception):
    """The bytes are no HTTP request that this server reads."""


async def serve_connection(handler: Handler, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Answer the requests of one connection, one after the other, until the client goes."""
    try:
        while (request := await read_request(reader)) is not None:
            reply = await _unless_gone(handler(request), reader)
            if reply is None:
                return
            writer.write(_encoded(reply))
            await writer.drain()
            if reply.cut or request.headers.get("connection", "").lower() == "close":
                return
    except BadRequest as problem:
        writer.write(_encoded(HttpReply(400, {"error": {"message": str(problem)}}, {"connection": "close"})))
    except (ConnectionError, asyncio.IncompleteReadError):
        pass  # the client hung up: there is nobody left to tell
    finally:
        writer.close()


async def _unless_gone(answer: Awaitable[HttpReply], reader: asyncio.StreamReader) -> HttpReply | None:
    """The handler's reply, or None when the client closes the connection first (a hang must not outlive its caller)."""
    task = asyncio.ensure_future(answer)
    try:
        while not task.done():
            await asyncio.wait({task}, timeout=0.25)
            if not task.done() and reader.at_eof():
                return None
        return task.result()
    finally:
        task.cancel()


async def read_request(reader: asyncio.StreamReader) -> HttpRequest | None:
    """The next request, or None when the connection ended between requests."""
    try:
        head = await reader.readuntil(b"\r\n\r\n")
    except asyncio.IncompleteReadError as ended:
        if ended.partial.strip():
            raise BadRequest("the request ended in its header") from None
        return None
    except asyncio.LimitOverrunError:
        raise BadRequest("the header is too long") from None
    first, *lines = head.decode("latin-1").rstrip("\r\n").split("\r\n")
    parts = first.split(" ")
    if len(parts) != 3:
        raise BadRequest(f"not a request line: {first[:80]!r}")
    headers = {name.strip().lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
    if headers.get("transfer-encoding", "").lower() == "chunked":
        body = await _read_chunks(reader)
    else:
        length = headers.get("content-length", "0")
        if not length.isdigit() or int(length) > LONGEST_BODY:
            raise BadRequest(f"content-length {length[:20]!r}")
        body = await reader.readexactly(int(length))
    return HttpRequest(parts[0], parts[1].partition("?")[0], headers, body)


async def _read_chunks(reader: asyncio.StreamReader) -> bytes:
    body = bytearray()
    while True:
        try:
            size = int((await reader.readline()).split(b";")[0], 16)
        except ValueError:
            raise BadRequest("a chunk without a size") from None
        if size < 0 or len(body) + size > LONGEST_BODY:
            raise BadRequest("the body is too long")
        body += await reader.readexactly(size)
        await reader.readline()
        if size == 0:
            return bytes(body)


def _encoded(reply: HttpReply) -> bytes:
    body = b"" if reply.body is None else json.dumps(reply.body).encode()
    headers = {"content-type": "application/json", "content-length": str(len(body)), **reply.headers}
    lines = [f"HTTP/1.1 {reply.status} {_PHRASES.get(reply.status, 'Other')}"]
    lines += [f"{name}: {value}" for name, value in headers.items()]
    return ("\r\n".join(lines) + "\r\n\r\n").encode("latin-1") + (body[: len(body) // 2] if reply.cut else body)
