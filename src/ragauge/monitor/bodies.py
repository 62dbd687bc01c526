"""Request bodies within limits: refused while they are read, not after."""

from __future__ import annotations

import asyncio
import zlib
from typing import Any

from pydantic_core import from_json
from starlette.requests import Request

from ragauge.monitor.intake import NoRecord

#: A body that takes longer to arrive is not waited for.
_READ_S = 30.0
#: Of a body that is too large so much more is read and thrown away: a client that is cut off while it sends does not
#: see the answer.
_DRAINED = 16 << 20
#: A gzip body may unpack to so many times the limit for bodies.
UNPACKED = 4


class Refused(Exception):
    """Answer with this status and reason."""

    def __init__(self, status: int, reason: str, **headers: str) -> None:
        super().__init__(reason)
        self.status, self.reason, self.headers = status, reason, headers


async def read_body(request: Request, limit: int) -> bytes:
    """The body, unpacked. Raises `Refused` for one that is too large, too slow, or not packed as it says."""
    length = request.headers.get("content-length", "0")
    if not length.isdecimal() or int(length) > limit + _DRAINED:
        raise Refused(413, f"the body is larger than {limit} bytes", Connection="close")
    encoding = request.headers.get("content-encoding", "identity").strip().lower()
    if encoding not in {"identity", "gzip", ""}:
        raise Refused(415, f"content-encoding {encoding[:40]!r}: send it plain or as gzip")
    parts, size = [], 0
    try:
        async with asyncio.timeout(_READ_S):
            async for part in request.stream():
                size += len(part)
                if size > limit + _DRAINED:
                    break
                if size <= limit:
                    parts.append(part)
                else:
                    parts.clear()
    except TimeoutError:
        raise Refused(408, "the body did not arrive in time", Connection="close") from None
    if size > limit:
        raise Refused(413, f"the body is larger than {limit} bytes", Connection="close")
    body = b"".join(parts)
    return _unpacked(body, UNPACKED * limit) if encoding == "gzip" else body


def _unpacked(body: bytes, limit: int) -> bytes:
    packed = zlib.decompressobj(wbits=31)
    try:
        plain = packed.decompress(body, limit)
    except zlib.error as error:
        raise Refused(400, f"the body is no gzip: {error}") from None
    if packed.unconsumed_tail:
        raise Refused(413, f"the body unpacks to more than {limit} bytes")
    if not packed.eof:
        raise Refused(400, "the gzip body is cut short")
    return plain


def parse_json(body: bytes) -> Any:
    """JSON in the strict sense. Raises `Refused`."""
    try:
        return from_json(body, allow_inf_nan=False)
    except (ValueError, RecursionError) as error:
        raise Refused(400, f"the body is no JSON: {str(error)[:200]}") from None


def records_of(body: bytes, media: str, name: str) -> list[Any]:
    """The records of a body: one object, a list, `{name: [...]}`, or a line each (`application/x-ndjson`)."""
    if media in {"application/x-ndjson", "application/jsonl", "application/jsonlines"}:
        return [_line(line) for line in body.splitlines() if line.strip()]
    data = parse_json(body)
    if isinstance(data, dict) and isinstance(data.get(name), list) and len(data) == 1:
        return list(data[name])
    if isinstance(data, list):
        return data
    return [data]


def _line(line: bytes) -> Any:
    """A line's value; one that is no JSON is refused in its place."""
    try:
        return from_json(line, allow_inf_nan=False)
    except (ValueError, RecursionError) as error:
        return NoRecord(f"no JSON: {str(error)[:200]}")
