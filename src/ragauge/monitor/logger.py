"""`Logger`: a service says what it was asked and what it did, in one call that neither waits nor raises."""

from __future__ import annotations

import atexit
import contextlib
import logging
import os
import sys
import threading
import time
import weakref
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from types import TracebackType
from typing import Any, cast

from pydantic import ValidationError

from ragauge.errors import UsageError
from ragauge.monitor.lenient import chunks_of, clean, lenient_query, number, quick_chunks
from ragauge.monitor.query import Feedback, LoggedQuery, new_id
from ragauge.monitor.redact import Redact, redact_feedback, redact_query, redactor
from ragauge.monitor.sinks import FolderSink, HttpSink, Line, Sink

#: Changes a record, or gives None so that it is not logged.
BeforeWrite = Callable[[LoggedQuery], LoggedQuery | None]

_log = logging.getLogger("ragauge.monitor")
_TOKEN = "RAGAUGE_MONITOR_TOKEN"
#: So many records are encoded before the interpreter is left to the service for a moment: few (about 0.1 ms) while the
#: queue is short, more when it holds a thousand, most when it is half full.
_RUN = (4, 32, 128)
_LONG = 1_000
_PAUSE_S = 0.000_05
#: So many are written together.
_BATCH = 5_000
_QUIET_S = 60.0
_RETRY_S = (0.1, 5.0)
#: A longer line is logged without its chunks' texts.
_LINE_CHARS = 1_000_000
_FIELDS = frozenset(LoggedQuery.model_fields)

_all: weakref.WeakSet[Logger] = weakref.WeakSet()


class Logger:
    """Logs queries to a folder or to `ragauge monitor serve`.

        log = Logger("production/")                  # or Logger("http://monitor:8518")
        query_id = log.query(question, answer=answer, chunks=chunks, total_ms=elapsed)
        log.feedback(query_id, "down")               # later, from wherever the click arrives

    A call puts what it was given into a queue and returns; one thread makes records of it, passes them through the
    redaction and writes them, at most `flush_s` later. Do not change chunks after logging them. Nothing that is given
    raises, except when the `Logger` is made. Safe in threads, in asyncio, and in processes forked at any time.

    What is lost, and counted in `stats()`: calls while the queue is full or after `close` (`dropped`), what is no query
    at all or fails in the redaction (`refused`), and on a kill what was not written yet. Over HTTP, what the server
    does not take waits in `spool` on this disk, also across restarts.
    """

    def __init__(
        self,
        to: str | Path,
        *,
        project: str = "default",
        redact: str | Redact | Sequence[Any] | None = None,
        before_write: BeforeWrite | None = None,
        token: str | None = None,
        queue_size: int = 20_000,
        flush_s: float = 0.1,
        close_s: float = 5.0,
        timeout_s: float = 5.0,
        spool: str | Path = ".ragauge/spool",
        spool_bytes: int = 1 << 30,
    ) -> None:
        if queue_size < 1 or flush_s < 0:
            raise UsageError("queue_size must be at least 1, flush_s at least 0")
        self._project = project
        self._redact = redactor(redact)
        self._before_write = before_write
        self._size, self._flush_s, self._close_s = queue_size, flush_s, close_s
        self._sink: Sink
        if str(to).startswith(("http://", "https://")):
            token = token or os.environ.get(_TOKEN)
            self._sink = HttpSink(str(to), spool, token=token, timeout_s=timeout_s, spool_bytes=spool_bytes)
        else:
            self._sink = FolderSink(to)
        self._counts = {"logged": 0, "written": 0, "dropped": 0, "refused": 0, "failures": 0}
        self._last_error = ""
        self._said = -_QUIET_S
        self._closed = False
        self._begin()
        _all.add(self)

    def _begin(self) -> None:
        """Everything that belongs to one process."""
        self._queue: deque[Any] = deque()
        self._in_hand: list[Line] = []
        self._to_tell: list[threading.Event] = []
        self._lock = threading.Lock()
        self._awake = threading.Event()
        self._thread: threading.Thread | None = None

    # -- what services call

    def query(
        self,
        question: str,
        *,
        answer: str | None = None,
        chunks: Any = None,
        id: str | None = None,
        at: datetime | None = None,
        **fields: Any,
    ) -> str:
        """Log one query; gives its id, for feedback. `fields` are those of `LoggedQuery`; others become metadata.

        `chunks`: what was retrieved, best first: texts, mappings, objects of LangChain, LlamaIndex, Haystack, or
        pairs with scores.
        """
        query_id = id if id is not None else new_id()
        self._put(("query", query_id, at if at is not None else time.time(), question, answer, chunks, fields))
        return query_id

    __call__ = query

    def feedback(
        self, query_id: str, feedback: str | bool | None = None, *, note: str | None = None, outcome: Any = None
    ) -> None:
        """Say what became of a query: a thumb ("up", "down", True, False), a note, an outcome (a number or a bool)."""
        self._put(("feedback", query_id, time.time(), feedback, note, outcome))

    def outcome(self, query_id: str, outcome: Any) -> None:
        """Say what people's behaviour gave: 1 or True for solved, 0 or False, or an amount."""
        self.feedback(query_id, outcome=outcome)

    def flush(self, timeout_s: float = 10.0) -> bool:
        """Wait until everything logged before is written (or in the spool); False when that took too long."""
        if self._closed:
            return not self._queue and not self._in_hand
        done = threading.Event()
        self._put(done, always=True)
        self._awake.set()
        return done.wait(timeout_s)

    def stats(self) -> dict[str, int | str]:
        """Counts since the start: logged, written, dropped, refused, failures; now: queued; and the last error."""
        refused = self._counts["refused"] + getattr(self._sink, "n_refused", 0)
        error = self._last_error or getattr(self._sink, "last_error", "")
        return {
            **self._counts,
            "refused": refused,
            "queued": len(self._queue) + len(self._in_hand),
            "last_error": error,
        }

    def close(self, timeout_s: float | None = None) -> bool:
        """Flush and stop; False when not everything could be written. Called at exit by itself."""
        if self._closed:
            return True
        done = self.flush(self._close_s if timeout_s is None else timeout_s) if self._thread or self._queue else True
        self._closed = True
        self._awake.set()
        thread = self._thread
        if thread is not None and thread is not threading.current_thread():
            thread.join(2.0)
        if not done:
            self._tell(
                "at exit, %d records could not be written: %s", len(self._queue) + len(self._in_hand), self._last_error
            )
        return done

    def __enter__(self) -> Logger:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    # -- the queue

    def _put(self, entry: Any, *, always: bool = False) -> None:
        try:
            if (self._closed or len(self._queue) >= self._size) and not always:
                with self._lock:
                    self._counts["dropped"] += 1
                return
            self._queue.append(entry)
            if not self._awake.is_set() and (self._thread is None or len(self._queue) == 1 or always):
                self._awake.set()
            if self._thread is None:
                self._start()
        except Exception as error:  # a service must not fail because its log does
            self._last_error = f"{type(error).__name__}: {error}"

    def _start(self) -> None:
        with self._lock:
            if self._thread is None and not self._closed:
                thread = threading.Thread(target=self._work, name="ragauge-logger", daemon=True)
                thread.start()
                self._thread = thread

    def _work(self) -> None:
        wait_s = _RETRY_S[0]
        while True:
            self._awake.wait(1.0)
            if not self._closed and not self._to_tell:
                time.sleep(self._flush_s)  # gather
            self._awake.clear()
            try:
                while self._queue or self._in_hand or self._to_tell:
                    self._take()
                    self._write()
                    wait_s = _RETRY_S[0]
                self._sink.tick()
            except Exception as error:
                self._counts["failures"] += 1
                self._last_error = f"{type(error).__name__}: {error}"
                self._tell("records wait, because they cannot be written: %s", self._last_error)
                if not self._closed:
                    time.sleep(wait_s)
                    wait_s = min(_RETRY_S[1], wait_s * 2)
                    self._awake.set()
            if self._counts["dropped"]:
                self._tell("the queue was full: %d records dropped so far", self._counts["dropped"])
            if self._closed:
                with contextlib.suppress(Exception):
                    self._sink.tick(last=True)
                    self._sink.close()
                return

    def _take(self) -> None:
        """Encode up to a batch. The interpreter is let go of every few records, so that the service does not wait."""
        n = 0
        while self._queue and len(self._in_hand) < _BATCH:
            entry = self._queue.popleft()
            if isinstance(entry, threading.Event):
                self._to_tell.append(entry)
                break
            line = self._encode(entry)
            if line is not None:
                self._in_hand.append(line)
            n += 1
            waiting = len(self._queue)
            run = _RUN[0] if waiting < _LONG else _RUN[1] if waiting < self._size // 2 else _RUN[2]
            if n % run == 0:
                time.sleep(_PAUSE_S)

    def _write(self) -> None:
        if self._in_hand:
            self._sink.write(self._in_hand)
            self._counts["written"] += len(self._in_hand)
            self._in_hand.clear()
        for event in self._to_tell:
            event.set()
        self._to_tell.clear()

    # -- from what was given to a line

    def _encode(self, entry: tuple[Any, ...]) -> Line | None:
        self._counts["logged"] += 1
        try:
            return self._feedback_line(*entry[1:]) if entry[0] == "feedback" else self._query_line(*entry[1:])
        except Exception as error:
            self._counts["refused"] += 1
            # The message of a validation holds what was given: it may be what the redaction takes out.
            what = (
                f"{error.error_count()} fields" if isinstance(error, ValidationError) else "see the traceback in debug"
            )
            self._last_error = f"not logged: {type(error).__name__} ({what})"
            _log.debug("a record was not logged", exc_info=not isinstance(error, ValidationError))
            return None

    def _query_line(
        self, query_id: str, at: Any, question: Any, answer: Any, chunks: Any, fields: dict[str, Any]
    ) -> Line | None:
        if not fields.keys() <= _FIELDS:
            given = fields.get("metadata")
            more = {name: fields.pop(name) for name in list(fields) if name not in _FIELDS}
            fields["metadata"] = {**(given if isinstance(given, Mapping) else {}), **more}
        when = datetime.fromtimestamp(at, UTC) if isinstance(at, float) else at
        values = {"project": self._project, **fields, "id": query_id, "at": when, "question": question}
        values.update(answer=answer, source="logger")
        try:
            query = LoggedQuery.model_validate({**values, "chunks": quick_chunks(chunks)})
            text = self._text(query)
        except (ValueError, TypeError, AttributeError) as error:
            if self._redact is not None and not isinstance(error, ValidationError | UnicodeError):
                raise
            query = lenient_query({**values, "id": clean(query_id)[:200], "chunks": chunks_of(chunks)})
            text = self._text(query)
        return None if text is None else ("queries", query.day, text)

    def _text(self, query: LoggedQuery) -> str | None:
        if self._redact is not None:
            query = redact_query(query, self._redact)
        if self._before_write is not None:
            changed = self._before_write(query)
            if changed is None:
                return None
            query = changed
        text = query.model_dump_json(exclude_defaults=True)
        if len(text) > _LINE_CHARS:
            text = _shortened(query).model_dump_json(exclude_defaults=True)
        return text

    def _feedback_line(self, query_id: Any, at: float, feedback: Any, note: Any, outcome: Any) -> Line:
        thumb = {True: "up", False: "down"}.get(feedback) if isinstance(feedback, bool) else feedback
        event = Feedback(
            query_id=clean(query_id), at=datetime.fromtimestamp(at, UTC), feedback=cast(Any, thumb),
            note=None if note is None else clean(note)[:20_000], outcome=None if outcome is None else number(outcome),
        )  # fmt: skip
        if self._redact is not None:
            event = redact_feedback(event, self._redact)
        return "feedback", event.at.date().isoformat(), event.model_dump_json(exclude_defaults=True)

    def _tell(self, message: str, *values: object) -> None:
        now = time.monotonic()
        if now - self._said >= _QUIET_S:
            self._said = now
            _log.warning("ragauge: " + message, *values)

    def _forked(self) -> None:
        self._begin()
        self._counts = dict.fromkeys(self._counts, 0)
        with contextlib.suppress(Exception):
            self._sink.forked()


def _shortened(query: LoggedQuery) -> LoggedQuery:
    """A query that is too long for one line: its figures stay, its longest texts go."""
    chunks = query.chunks and tuple(chunk.model_copy(update={"text": None}) for chunk in query.chunks[:1000])
    cut = _LINE_CHARS // 8
    return query.model_copy(update={
        "chunks": chunks, "question": query.question[:cut], "answer": query.answer and query.answer[:cut],
        "note": query.note and query.note[:cut], "error": query.error and query.error[:cut],
        "tags": query.tags[:100], "metadata": {"ragauge.shortened": True},
    })  # fmt: skip


def _at_exit() -> None:
    for logger in list(_all):
        with contextlib.suppress(Exception):
            logger.close()


def _in_child() -> None:
    for logger in list(_all):
        logger._forked()
    if "multiprocessing.util" in sys.modules:  # its processes end without atexit
        from multiprocessing import util

        util.register_after_fork(_all, lambda _: util.Finalize(None, _at_exit, exitpriority=100))


atexit.register(_at_exit)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_in_child)
