"""Appending to a log: one segment for each writer, kind and day; what was appended is on the disk."""

from __future__ import annotations

import contextlib
import os
import secrets
import threading
import time
from collections import OrderedDict
from collections.abc import Iterable, Sequence
from pathlib import Path
from types import TracebackType

from ragauge.errors import StoreError
from ragauge.monitor.layout import Kind, local_root, make_root, sync_folder
from ragauge.monitor.query import Feedback, LoggedQuery
from ragauge.store.jsonl import JsonlWriter

#: A segment is finished at this size, so that `compact` can take it while the day goes on.
SEGMENT_BYTES = 64 << 20
#: So many days can be open at once; the one that was longest unused is closed for another.
_OPEN = 16
#: Longest text in one write, so that a batch is taken back whole when the disk is full.
_WRITE_BYTES = 4 << 20


class LogWriter:
    """Appends queries and feedback to the log in a folder. Any number of processes and threads may write at once.

    When a method returns, what it was given survives a kill and a power cut. Raises `DiskFull` or `StoreError` when
    it was not written; giving the same again is safe, because readers count an id once.
    """

    def __init__(self, place: str | Path, *, segment_bytes: int = SEGMENT_BYTES) -> None:
        self.root = local_root(place)
        self._segment_bytes = segment_bytes
        self._lock = threading.Lock()
        self._open: OrderedDict[tuple[Kind, str], tuple[JsonlWriter, float]] = OrderedDict()
        try:
            make_root(self.root)
        except OSError as error:
            raise StoreError(f"cannot make the log's folder {self.root}: {error.strerror}") from error

    def append(self, queries: Iterable[LoggedQuery]) -> None:
        """Write queries, each into its day."""
        by_day: dict[str, list[str]] = {}
        for query in queries:
            by_day.setdefault(query.day, []).append(query.model_dump_json(exclude_defaults=True))
        for day, lines in by_day.items():
            self.append_lines("queries", day, lines)

    def append_feedback(self, events: Iterable[Feedback]) -> None:
        """Write what became known of queries, into the day on which it did."""
        by_day: dict[str, list[str]] = {}
        for event in events:
            by_day.setdefault(event.at.date().isoformat(), []).append(event.model_dump_json(exclude_defaults=True))
        for day, lines in by_day.items():
            self.append_lines("feedback", day, lines)

    def append_all(self, lines: Iterable[tuple[Kind, str, str]]) -> None:
        """Write lines of several kinds and days: (kind, day, JSON)."""
        groups: dict[tuple[Kind, str], list[str]] = {}
        for kind, day, text in lines:
            groups.setdefault((kind, day), []).append(text)
        for (kind, day), texts in groups.items():
            self.append_lines(kind, day, texts)

    def append_lines(self, kind: Kind, day: str, lines: Sequence[str]) -> None:
        """Write lines that are already JSON of the kind."""
        with self._lock:
            touched: set[JsonlWriter] = set()
            for text in _in_writes(lines):
                writer = self._segment(kind, day)
                writer.append(text)
                touched.add(writer)
                if writer.size >= self._segment_bytes:
                    _sync(writer)
                    touched.discard(writer)
                    self._close((kind, day))
            for writer in touched:
                _sync(writer)

    def _segment(self, kind: Kind, day: str) -> JsonlWriter:
        key = (kind, day)
        if key in self._open and self._open[key][0].is_deleted:
            self._close(key)
        writer = self._open[key][0] if key in self._open else _new_segment(self.root / kind / day)
        self._open[key] = (writer, time.monotonic())
        self._open.move_to_end(key)
        while len(self._open) > _OPEN:
            self._close(next(iter(self._open)))
        return writer

    def _close(self, key: tuple[Kind, str]) -> None:
        writer, _ = self._open.pop(key)
        with contextlib.suppress(OSError):
            writer.close()
            if writer.size == 0:
                writer.path.unlink(missing_ok=True)

    def close_idle(self, seconds: float) -> None:
        """Finish segments that nothing was appended to for so long, so that `compact` can take them."""
        with self._lock:
            before = time.monotonic() - seconds
            for key in [key for key, (_, used) in self._open.items() if used <= before]:
                self._close(key)

    def close(self) -> None:
        """Finish every segment."""
        self.close_idle(0.0)

    def abandon(self) -> None:
        """Let go of files that belong to the process that this one was forked from, without touching them."""
        self._lock = threading.Lock()
        for writer, _ in self._open.values():
            writer.forget()
        self._open.clear()

    def __enter__(self) -> LogWriter:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def _new_segment(folder: Path) -> JsonlWriter:
    name = f"{time.strftime('%H%M%S', time.gmtime())}-{os.getpid()}-{secrets.token_hex(6)}.jsonl"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        writer = JsonlWriter(folder / name)
    except OSError as error:
        raise StoreError(f"cannot write in {folder}: {error.strerror}") from error
    if not writer.path.exists():  # a compaction took the empty file between its making and its locking
        writer.close()
        return _new_segment(folder)
    sync_folder(folder)
    sync_folder(folder.parent)
    return writer


def _in_writes(lines: Sequence[str]) -> Iterable[str]:
    batch: list[str] = []
    size = 0
    for line in lines:
        if batch and size + len(line) > _WRITE_BYTES:
            yield "\n".join(batch)
            batch, size = [], 0
        batch.append(line)
        size += len(line)
    if batch:
        yield "\n".join(batch)


def _sync(writer: JsonlWriter) -> None:
    try:
        writer.sync(strict=True)
    except OSError as error:
        raise StoreError(f"{writer.path} may not have reached the disk: {error.strerror}") from error
