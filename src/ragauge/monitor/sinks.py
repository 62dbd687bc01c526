"""Where a `Logger` puts its lines: a log's folder, or an HTTP endpoint with a folder to fall back on."""

from __future__ import annotations

import contextlib
import http.client
import json
import os
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Protocol
from urllib.parse import urlsplit

from pydantic_core import from_json

from ragauge._version import __version__
from ragauge.errors import StoreError, UsageError
from ragauge.monitor.layout import KINDS, SEGMENT, Kind, day_folders
from ragauge.monitor.writer import LogWriter
from ragauge.store.jsonl import whole_lines

try:
    import fcntl
except ImportError:
    fcntl = None  # type: ignore[assignment]

#: (kind, UTC day, JSON): one line to write.
Line = tuple[Kind, str, str]
#: So much is sent in one request.
_BATCH_BYTES = 2 << 20
_BATCH = 500
#: Waiting time after a failed request, doubled each time up to the second figure.
_RETRY_S = (0.5, 30.0)
_IDLE_S = 60.0


class Sink(Protocol):
    """Takes lines. When `write` returns they survive this process; when it raises, none is lost: give them again."""

    def write(self, lines: Sequence[Line]) -> None:
        """Write them."""

    def tick(self, *, last: bool = False) -> None:
        """Called every second or so: send what waits. `last`: the process is about to end."""

    def forked(self) -> None:
        """Called in a process that was forked off: let go of the parent's files and sockets."""

    def close(self) -> None:
        """Let go of everything."""


class FolderSink:
    """Into the log in a folder."""

    def __init__(self, place: str | Path) -> None:
        self._writer = LogWriter(place)

    def write(self, lines: Sequence[Line]) -> None:
        """Write the lines of each kind and day together."""
        self._writer.append_all(lines)

    def tick(self, *, last: bool = False) -> None:
        """Finish yesterday's file."""
        self._writer.close_idle(_IDLE_S)

    def forked(self) -> None:
        """The files are the parent's."""
        self._writer.abandon()

    def close(self) -> None:
        """Finish the files."""
        self._writer.close()


class HttpSink:
    """To `POST {url}/v1/queries` and `/v1/feedback`; what the server does not take waits in the folder `spool`.

    The spool is itself a log's folder. A server's answer that lost its way makes a batch be sent twice; readers count
    an id once.
    """

    def __init__(self, url: str, spool: str | Path, *, token: str | None, timeout_s: float, spool_bytes: int) -> None:
        parts = urlsplit(url)
        if parts.scheme not in {"http", "https"} or not parts.hostname:
            raise UsageError(f"{url} is no address of a server", hint="http://host:8518")
        self._secure, self._host = parts.scheme == "https", parts.hostname
        self._port, self._base = parts.port, parts.path.rstrip("/")
        self._token, self._timeout_s, self._limit = token, timeout_s, spool_bytes
        self._root = Path(spool)
        self._spool = LogWriter(spool)
        self._connection: http.client.HTTPConnection | None = None
        self._not_before, self._wait_s = 0.0, _RETRY_S[0]
        self._waiting = any(self._segments())
        self.n_refused = 0
        self.last_error = ""

    def write(self, lines: Sequence[Line]) -> None:
        """Send the lines, or keep them in the spool until the server takes them."""
        left = list(lines)
        if time.monotonic() >= self._not_before:
            left = self._send_lines(left)
        if left:
            if self._spooled() > self._limit:
                raise StoreError(f"the spool {self._root} holds more than {self._limit >> 20} MiB already")
            self._spool.append_all(left)
            self._waiting = True

    def _send_lines(self, lines: list[Line]) -> list[Line]:
        for kind in KINDS:
            mine = [line for line in lines if line[0] == kind]
            for batch in _batches([text for _, _, text in mine]):
                if not self._send(kind, batch):
                    return lines
                sent = set(batch)
                lines = [line for line in lines if line[0] != kind or line[2] not in sent]
        return lines

    def tick(self, *, last: bool = False) -> None:
        """Send what waits in the spool, if the server can be asked again."""
        if not self._waiting or (time.monotonic() < self._not_before and not last):
            return
        self._spool.close()
        for kind, path in self._segments():
            with _held(path) as mine:
                if not mine:
                    continue
                good, damaged = _sendable(path)
                for batch in _batches(good):
                    if not self._send(kind, batch):
                        return
                for reason, line in damaged:
                    self._set_aside(kind, reason, line)
                path.unlink(missing_ok=True)
        self._waiting = any(self._segments())

    def _segments(self) -> Iterator[tuple[Kind, Path]]:
        for kind in KINDS:
            for folder in day_folders(self._root, kind):
                for name in sorted(os.listdir(folder)):
                    if SEGMENT.fullmatch(name):
                        yield kind, folder / name

    def _spooled(self) -> int:
        total = 0
        for _, path in self._segments():
            with contextlib.suppress(FileNotFoundError):
                total += path.stat().st_size
        return total

    def _send(self, kind: Kind, batch: Sequence[str]) -> bool:
        """Whether the server has the batch, except what it refuses for good: that is kept in `refused.jsonl`."""
        status, answer = self._post(f"/v1/{kind}", ("[" + ",".join(batch) + "]").encode("utf-8"))
        if status in {200, 207} or (status in {400, 422} and answer.get("rejected")):
            self._keep_refused(kind, batch, answer)
        elif status == 413 and len(batch) > 1:
            half = len(batch) // 2
            return self._send(kind, batch[:half]) and self._send(kind, batch[half:])
        elif status == 413:
            self._keep_refused(kind, batch, {"rejected": [{"index": 0, "reason": "too large"}]})
        else:
            self._not_before = time.monotonic() + self._wait_s
            self._wait_s = min(_RETRY_S[1], self._wait_s * 2)
            return False
        self._not_before, self._wait_s = 0.0, _RETRY_S[0]
        return True

    def _keep_refused(self, kind: Kind, batch: Sequence[str], answer: dict[str, Any]) -> None:
        refused = [one for one in answer.get("rejected", []) if 0 <= int(one.get("index", -1)) < len(batch)]
        for one in refused:
            self._set_aside(kind, str(one.get("reason")), batch[int(one["index"])])

    def _set_aside(self, kind: Kind, reason: str, line: str) -> None:
        self.n_refused += 1
        with (self._root / "refused.jsonl").open("a", encoding="utf-8") as file:
            file.write(f'{{"kind":"{kind}","reason":{json.dumps(reason)},"line":{line}}}\n')

    def _post(self, path: str, body: bytes) -> tuple[int, dict[str, Any]]:
        """The status (0: no answer) and the answer's JSON."""
        headers = {"Content-Type": "application/json", "User-Agent": f"ragauge/{__version__}"}
        if self._token:
            headers["Authorization"] = f"Bearer {self._token}"
        for fresh in (False, True):
            kept = self._connection is not None and not fresh
            try:
                if self._connection is None or fresh:
                    self._connect()
                assert self._connection is not None
                self._connection.request("POST", self._base + path, body, headers)
                response = self._connection.getresponse()
                text = response.read(1 << 20)
                self.last_error = (
                    "" if response.status < 300 else f"{response.status}: {text[:200].decode('utf-8', 'replace')}"
                )
                if response.will_close or not response.isclosed():
                    self._disconnect()
                return response.status, _object(text)
            except (OSError, http.client.HTTPException) as error:
                self._disconnect()
                self.last_error = f"{type(error).__name__}: {error}"
                if not kept or isinstance(error, TimeoutError):
                    break
        return 0, {}

    def _connect(self) -> None:
        kind = http.client.HTTPSConnection if self._secure else http.client.HTTPConnection
        self._connection = kind(self._host, self._port, timeout=self._timeout_s)

    def _disconnect(self) -> None:
        if self._connection is not None:
            with contextlib.suppress(OSError):
                self._connection.close()
            self._connection = None

    def forked(self) -> None:
        """The socket and the files are the parent's: closing our copies says nothing to the server."""
        self._spool.abandon()
        self._disconnect()

    def close(self) -> None:
        """Finish the spool's files and the connection."""
        self._spool.close()
        self._disconnect()


def _batches(texts: Sequence[str]) -> Iterator[list[str]]:
    batch: list[str] = []
    size = 0
    for text in texts:
        if batch and (len(batch) >= _BATCH or size + len(text) > _BATCH_BYTES):
            yield batch
            batch, size = [], 0
        batch.append(text)
        size += len(text)
    if batch:
        yield batch


@contextlib.contextmanager
def _held(path: Path) -> Iterator[bool]:
    """Whether the file is ours alone: another process may still be writing or sending it."""
    try:
        fd = os.open(path, os.O_RDWR)
    except FileNotFoundError:
        yield False
        return
    try:
        free = True
        if fcntl is not None:
            try:
                fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                free = False
        yield free and path.exists()
    finally:
        os.close(fd)


def _object(text: bytes) -> dict[str, Any]:
    try:
        value = json.loads(text)
    except ValueError:
        return {}
    return value if isinstance(value, dict) else {}


def _sendable(path: Path) -> tuple[list[str], list[tuple[str, str]]]:
    """The lines of a segment, and (reason, line as JSON) of what a disk has spoilt: no server would take that."""
    good, damaged = [], []
    for _, _, line in whole_lines(path):
        try:
            from_json(line)
        except ValueError as error:
            damaged.append((f"damaged: {str(error)[:200]}", json.dumps(line.decode("utf-8", "replace"))))
        else:
            good.append(line.decode("utf-8"))
    return good, damaged
