"""A real endpoint in a process of its own, for tests."""

from __future__ import annotations

import contextlib
import http.client
import json
import os
import re
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from ragauge.monitor.query import LoggedQuery, new_id
from ragauge.monitor.store import open_log

CHUNKS = [{"id": f"c{n}", "document": f"d{n}", "text": f"passage {n} " * 8, "score": 0.9 - n / 10} for n in range(5)]
AT = datetime(2026, 3, 14, 12, tzinfo=UTC)


def a_query(**fields: Any) -> LoggedQuery:
    return LoggedQuery.model_validate({"id": new_id(), "at": AT, "question": "How do I reset it?", **fields})


def all_of(place: Path | str) -> dict[str, LoggedQuery]:
    """Everything in a log."""
    log = open_log(place)
    try:
        found = [query for day in log.days() for query in log.queries(day)]
    finally:
        log.close()
    ids = [query.id for query in found]
    assert len(ids) == len(set(ids))
    return {query.id: query for query in found}


def at_once(n: int, work: Callable[[], object]) -> list[Exception]:
    """Do `work` in `n` threads that begin together; what went wrong in them."""
    failed: list[Exception] = []
    together = threading.Barrier(n)

    def begin() -> None:
        together.wait(10)
        try:
            work()
        except Exception as error:
            failed.append(error)

    threads = [threading.Thread(target=begin) for _ in range(n)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert not any(thread.is_alive() for thread in threads)
    return failed


@dataclass
class Served:
    url: str
    log: Path
    process: subprocess.Popen[str]
    _connection: http.client.HTTPConnection | None = field(default=None, repr=False)

    @property
    def port(self) -> int:
        return int(self.url.rsplit(":", 1)[1])

    def post(self, path: str, body: Any, **headers: str) -> tuple[int, dict[str, Any]]:
        """POST over a kept connection; a closed one is opened again."""
        raw = body if isinstance(body, bytes) else json.dumps(body).encode()
        sent = {"content-type": "application/json"} | {name.replace("_", "-"): value for name, value in headers.items()}
        for _ in range(2):
            try:
                if self._connection is None:
                    self._connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)
                self._connection.request("POST", path, raw, sent)
                response = self._connection.getresponse()
                text = response.read()
                break
            except (ConnectionError, http.client.HTTPException):
                self._connection.close() if self._connection else None
                self._connection = None
        else:
            raise ConnectionError(path)
        with contextlib.suppress(ValueError):
            return response.status, json.loads(text)
        return response.status, {}

    def health(self) -> dict[str, Any]:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)
        connection.request("GET", "/health")
        answer: dict[str, Any] = json.loads(connection.getresponse().read())
        connection.close()
        return answer

    def rss_kb(self) -> int:
        status = Path(f"/proc/{self.process.pid}/status").read_text()
        return int(re.search(r"VmRSS:\s+(\d+)", status).group(1))  # type: ignore[union-attr]

    def hang_up(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def close(self) -> None:
        self.hang_up()
        self.process.terminate()
        self.process.wait(20)
        if self.process.stderr:
            self.process.stderr.close()


@contextlib.contextmanager
def serving(log: Path, *, port: int = 0, settings: str = "", prelude: str = "", **environment: str) -> Iterator[Served]:
    """`ragauge monitor serve` on a free port. `prelude` is Python that runs first in its process."""
    log.parent.mkdir(parents=True, exist_ok=True)
    config = log.parent / f"{log.name}.yaml"
    config.write_text(settings or "{}", encoding="utf-8")
    arguments = ["monitor", "serve", "--log", str(log), "--port", str(port), "--config", str(config)]
    code = f"{prelude}\nfrom ragauge.cli.main import main\nmain({arguments!r})"
    process = subprocess.Popen(
        [sys.executable, "-c", code], stderr=subprocess.PIPE, text=True, env={**os.environ, **environment},
    )  # fmt: skip
    assert process.stderr is not None
    line = process.stderr.readline()
    found = re.search(r"http://\S+", line)
    if found is None:
        process.kill()
        raise AssertionError(line + process.stderr.read())
    served = Served(found.group(), log, process)
    try:
        yield served
    finally:
        served.close()
