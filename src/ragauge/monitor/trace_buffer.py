"""Spans wait here until their trace is whole. They are on the disk before they are acknowledged.

A trace is whole a moment after its root span came, or when nothing of it came for a while. The file of waiting spans
is read again at the next start; a trace that had become a query already becomes the same one (its id is the trace's).
Files of a server that still runs are its own: two may share a folder for a while, as when one takes over.
"""

from __future__ import annotations

import contextlib
import json
import logging
import os
import secrets
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from ragauge.errors import StoreError
from ragauge.monitor.lenient import plain
from ragauge.monitor.otlp import Span
from ragauge.monitor.redact import Redact, everywhere
from ragauge.store.jsonl import JsonlWriter, whole_lines

try:
    import fcntl
except ImportError:
    fcntl = None  # type: ignore[assignment]

FOLDER = "waiting-spans"
_log = logging.getLogger("ragauge.monitor")
#: After the root, late spans of the same trace are waited for so long; without a root, so long after the last span.
_AFTER_ROOT_S = 2.0
_WITHOUT_ROOT_S = 60.0
_FILE_BYTES = 16 << 20
#: A trace with more spans, or more traces than that at once, is closed early.
_SPANS = 2_000
_TRACES = 20_000
_IDS = (".id", "_id")


@dataclass
class _Waiting:
    spans: list[Span] = field(default_factory=list)
    seen: float = 0.0
    root: float | None = None
    files: set[Path] = field(default_factory=set)


class TraceBuffer:
    """The spans of traces that are not whole yet. `write` may be called in another thread, one call at a time."""

    def __init__(self, root: Path, redact: Redact | None = None) -> None:
        """`redact`: for what is written. What is held in memory becomes a query, which is redacted by itself."""
        self._folder, self._redact = root / FOLDER, redact
        self._waiting: dict[str, _Waiting] = {}
        self._writer: JsonlWriter | None = None
        #: Files that are not written to any more, each with what locks it.
        self._old: dict[Path, int] = {}
        #: Where spans are that are written, or being written, and not held yet.
        self._under_way: dict[int, Path] = {}
        self._lock = threading.Lock()
        self._read_again()

    def _read_again(self) -> None:
        if not self._folder.is_dir():
            return
        for path in sorted(self._folder.glob("*.jsonl")):
            lock = _locked(path)
            if lock is None:
                continue
            for _, _, line in whole_lines(path):
                with contextlib.suppress(ValueError, TypeError, KeyError):
                    fields = json.loads(line)
                    fields["events"] = tuple((name, attributes) for name, attributes in fields["events"])
                    self._hold(Span(**fields), path)
            self._old[path] = lock

    def write(self, spans: Sequence[Span]) -> None:
        """Put spans on the disk. Raises `StoreError`, `DiskFull`."""
        if not spans:
            return
        written = [_kept(span, self._redact) for span in spans] if self._redact else spans
        lines = [json.dumps(plain(asdict(span)), ensure_ascii=False, separators=(",", ":")) for span in written]
        writer = self._begin(spans)
        try:
            writer.append("\n".join(lines))
            writer.sync(strict=True)
        except BaseException as error:
            with self._lock:
                for span in spans:
                    self._under_way.pop(id(span), None)
            if isinstance(error, OSError):
                raise StoreError(f"spans may not have reached the disk: {error.strerror}") from error
            raise

    def _begin(self, spans: Sequence[Span]) -> JsonlWriter:
        """The file for these spans; it stays until they are held and their traces stored."""
        with self._lock:
            if self._writer is not None and self._writer.size > _FILE_BYTES:
                self._finish(self._writer)
            if self._writer is None:
                self._folder.mkdir(parents=True, exist_ok=True)
                name = f"{time.time_ns()}-{os.getpid()}-{secrets.token_hex(4)}.jsonl"
                self._writer = JsonlWriter(self._folder / name)
            self._under_way.update((id(span), self._writer.path) for span in spans)
            return self._writer

    def _finish(self, writer: JsonlWriter) -> None:
        writer.close()
        self._writer = None
        lock = _locked(writer.path)
        if lock is not None:
            self._old[writer.path] = lock

    def hold(self, spans: Sequence[Span]) -> None:
        """Remember spans that were written."""
        with self._lock:
            for span in spans:
                self._hold(span, self._under_way.pop(id(span), None))

    def _hold(self, span: Span, file: Path | None) -> None:
        entry = self._waiting.setdefault(span.trace_id, _Waiting())
        if file is not None:
            entry.files.add(file)
        entry.spans.append(span)
        entry.seen = time.monotonic()
        if span.parent_id is None:
            entry.root = entry.seen

    def whole(self, *, everything: bool = False) -> dict[str, list[Span]]:
        """The traces that nothing more is expected of. They stay until `done` says that they are stored."""
        now = time.monotonic()
        crowded = len(self._waiting) > _TRACES
        return {
            trace_id: entry.spans
            for trace_id, entry in self._waiting.items()
            if everything
            or crowded
            or len(entry.spans) >= _SPANS
            or (entry.root is not None and now - entry.seen >= _AFTER_ROOT_S)
            or now - entry.seen >= _WITHOUT_ROOT_S
        }

    def done(self, traces: dict[str, list[Span]], n_spans: dict[str, int]) -> None:
        """These traces are stored, with so many spans each; spans that came meanwhile are late and begin anew."""
        for trace_id in traces:
            entry = self._waiting.get(trace_id)
            if entry is not None and len(entry.spans) <= n_spans[trace_id]:
                del self._waiting[trace_id]
            elif entry is not None:
                del entry.spans[: n_spans[trace_id]]
        with self._lock:
            needed = {file for entry in self._waiting.values() for file in entry.files}
            needed |= set(self._under_way.values())
            if self._writer is not None and self._writer.path not in needed:
                self._finish(self._writer)
            for path in self._old.keys() - needed:
                path.unlink(missing_ok=True)
                os.close(self._old.pop(path))

    def __len__(self) -> int:
        return len(self._waiting)

    def close(self) -> None:
        """Let go of the file; what waits is read at the next start."""
        with self._lock:
            if self._writer is not None:
                self._writer.close()
                self._writer = None
            for lock in self._old.values():
                os.close(lock)
            self._old.clear()


def _kept(span: Span, redact: Redact) -> Span:
    """The span redacted. Where the project's own hook raises, without any text: one span costs no other its place."""
    try:
        return _redacted(span, redact)
    except Exception as error:  # whatever somebody's hook does
        _log.warning("a span is kept without its texts: redacting it raised %s", type(error).__name__)
        return replace(span, name="", attributes={}, resource={}, events=(), error=None)


def _redacted(span: Span, redact: Redact) -> Span:
    """The span with its texts redacted; ids stay, as those of queries do."""

    def kept(attributes: Mapping[str, Any]) -> dict[str, Any]:
        return {name: value if name.endswith(_IDS) else everywhere(value, redact) for name, value in attributes.items()}

    return replace(
        span, name=redact(span.name), attributes=kept(span.attributes), resource=kept(span.resource),
        events=tuple((name, kept(attributes)) for name, attributes in span.events),
        error=None if span.error is None else redact(span.error),
    )  # fmt: skip


def _locked(path: Path) -> int | None:
    """The file, locked; None when somebody else has it, or it is gone."""
    try:
        fd = os.open(path, os.O_RDWR)
    except FileNotFoundError:
        return None
    try:
        if fcntl is not None:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(fd)
        return None
    if not path.exists():  # whoever had it has just deleted it
        os.close(fd)
        return None
    return fd
