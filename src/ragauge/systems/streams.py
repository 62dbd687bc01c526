"""Replies that come in pieces: server-sent events and lines of JSON, put together while the clock runs."""

from __future__ import annotations

import json
import time
from dataclasses import dataclass, field
from typing import Any, Literal

from ragauge.errors import SystemFailed, shortened

Stream = Literal["sse", "ndjson"]
#: What some services send as the last event.
_DONE = frozenset(("[DONE]", "DONE"))


@dataclass
class Pieces:
    """The events of one reply. With `delta` (a JSONPath) the pieces of the answer are joined as they come.

    `first_ms`: milliseconds from `started` to the first piece of the answer that shows something.
    """

    delta: Any
    started: float
    events: list[Any] = field(default_factory=list)
    first_ms: float | None = None
    _parts: list[str] = field(default_factory=list)

    @property
    def answer(self) -> str | None:
        """The joined pieces; None when no piece was looked for, or none came."""
        return "".join(self._parts) if self.delta is not None and self._parts else None

    def whole(self, value: Any) -> None:
        """A reply that came as one."""
        self.events.append(value)

    async def read(self, reply: Any, stream: Stream, most: int) -> None:
        """All events of `reply`. `SystemFailed` for one that is no JSON, and for more than `most` characters."""
        n_read = 0
        source = _sse(reply) if stream == "sse" else reply.aiter_lines()
        async for text in source:
            n_read += len(text)
            if n_read > most:
                raise SystemFailed(f"the stream is longer than {most / 1e6:g} MB", hint="Raise `max_reply_mb`.")
            if text.strip() in _DONE:
                break
            if text.strip():
                self._take(text)
        if not self.events:
            raise SystemFailed("the stream ended without an event")
        if self.delta is not None and not self._parts:
            last = shortened(self.events[-1], 200)
            raise SystemFailed(
                f"`delta` was found in none of the {len(self.events)} events of the stream; the last one is {last}",
                hint="Set `delta` to where a piece of the answer stands, e.g. $.choices[0].delta.content.",
            )

    def _take(self, text: str) -> None:
        try:
            event = json.loads(text)
        except (ValueError, RecursionError):
            if self.delta is not None:
                raise SystemFailed(f"an event of the stream is no JSON: {shortened(text)}") from None
            event = {"text": text}
        if isinstance(event, dict) and isinstance(event.get("error"), str | dict):
            raise SystemFailed(f"the stream broke off with an error: {shortened(event['error'], 300)}")
        self.events.append(event)
        if self.delta is None or not isinstance(event, dict | list):
            return
        for piece in self.delta.findall(event):
            if isinstance(piece, str):
                if piece and self.first_ms is None:
                    self.first_ms = (time.perf_counter() - self.started) * 1000
                self._parts.append(piece)


async def _sse(reply: Any) -> Any:
    import httpx2

    async for event in httpx2.EventSource(reply):
        yield event.data
