"""`GET /metrics` for a folder of runs: the newest run of every golden set, read anew when something changed."""

from __future__ import annotations

import threading
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from ragauge.analysis.summarise import summarise
from ragauge.core.run import Manifest, Summary
from ragauge.errors import RagaugeError, UsageError
from ragauge.outlets.prometheus import run_metrics_text
from ragauge.store.rundir import MANIFEST, SUMMARY, RunDir, list_runs

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"


class RunFolder:
    """The runs of a folder with their summaries; a run is read again only when its files changed."""

    def __init__(self, base: Path) -> None:
        self.base = base
        self._known: dict[Path, tuple[tuple[int, ...], tuple[Manifest, Summary] | None]] = {}
        self._lock = threading.Lock()

    def text(self) -> str:
        """What Prometheus is told now. A run that cannot be read, or has no rows yet, is left out."""
        with self._lock:
            paths = list_runs(self.base)
            found = [pair for path in paths if (pair := self._read(path)) is not None]
            for gone in self._known.keys() - set(paths):
                del self._known[gone]
        return run_metrics_text(found)

    def _read(self, path: Path) -> tuple[Manifest, Summary] | None:
        mark = tuple(_changed(path / name) for name in (MANIFEST, SUMMARY, "rows.jsonl"))
        if path in self._known and self._known[path][0] == mark:
            return self._known[path][1]
        try:
            run = RunDir.open(path)
            summary = run.saved_summary() or (summarise(run.manifest, run.records()) if run.rows.exists() else None)
            pair = (run.manifest, summary) if summary is not None and summary.n_rows else None
        except RagaugeError:
            pair = None
        self._known[path] = (mark, pair)
        return pair


def serve(folder: RunFolder, host: str, port: int) -> ThreadingHTTPServer:
    """A server that answers `GET /metrics`; the caller runs `serve_forever()`. Raises `UsageError` for a taken port."""
    try:
        return ThreadingHTTPServer((host, port), _handler(folder.text))
    except (OSError, OverflowError) as error:
        raise UsageError(f"cannot listen at {host}:{port}: {error}", hint="Name another port.") from None


def _handler(text: Callable[[], str]) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            if self.path.partition("?")[0] != "/metrics":
                self.send_error(404, "only /metrics is here")
                return
            body = text().encode()
            self.send_response(200)
            self.send_header("Content-Type", CONTENT_TYPE)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            """A scrape is no news."""

    return Handler


def _changed(file: Path) -> int:
    try:
        return file.stat().st_mtime_ns
    except OSError:
        return 0
