"""Which runs there are: manifests and saved summaries, read again only when their files change."""

from __future__ import annotations

import threading
from dataclasses import dataclass
from pathlib import Path

from ragauge.core.run import Manifest, Summary
from ragauge.errors import RagaugeError, UnknownName
from ragauge.store.rundir import MANIFEST, ROWS, SUMMARY, RunDir, list_runs
from ragauge.web.settings import WebSettings

Stamp = tuple[int, int]


@dataclass(frozen=True)
class Entry:
    """One run of the list. `problem`: why it cannot be read; then there is no manifest."""

    name: str
    path: Path
    manifest: Manifest | None
    summary: Summary | None
    problem: str = ""

    def open(self) -> RunDir:
        """The run; raises what was wrong with it."""
        return RunDir(self.path, self.manifest) if self.manifest is not None else RunDir.open(self.path)


def stamp(path: Path) -> Stamp | None:
    """Size and time of last change; None when there is no such file."""
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_size, found.st_mtime_ns


class Catalog:
    """The runs of one folder. Safe from many threads."""

    def __init__(self, settings: WebSettings) -> None:
        self.base = settings.runs
        self._lock = threading.Lock()
        self._known: dict[Path, tuple[tuple[Stamp | None, ...], Entry]] = {}

    def entries(self) -> list[Entry]:
        """Every run, newest first."""
        return [self._entry(path) for path in reversed(list_runs(self.base))]

    def entry(self, name: str) -> Entry:
        """The run of that name, and no other file: a name is looked for, never joined to a path."""
        for path in list_runs(self.base):
            if path.name == name:
                return self._entry(path)
        raise UnknownName("run", name, [path.name for path in list_runs(self.base)])

    def _entry(self, path: Path) -> Entry:
        stamps = tuple(stamp(path / name) for name in (MANIFEST, SUMMARY, ROWS))
        with self._lock:
            known = self._known.get(path)
        if known is not None and known[0] == stamps:
            return known[1]
        found = _read(path)
        with self._lock:
            self._known[path] = (stamps, found)
        return found


def _read(path: Path) -> Entry:
    try:
        run = RunDir.open(path)
        return Entry(path.name, path, run.manifest, run.saved_summary())
    except RagaugeError as problem:
        return Entry(path.name, path, None, None, problem.message)
