"""Progress of a sweep on stderr: a line per finished index and cell, and a bar on a terminal."""

from __future__ import annotations

import time
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from ragauge.engine.jobs import Progress as JobProgress
from ragauge.report.terminal import stderr_console
from ragauge.store.sweepdir import SweepDir
from ragauge.text.normalise import display


class TerminalSweep:
    """Tells a person how a sweep goes."""

    def __init__(self, quiet: bool = False, console: Console | None = None) -> None:
        self._console = console or stderr_console()
        self._quiet = quiet
        self._bar: Progress | None = None
        self._tasks: dict[str, Any] = {}
        self._labels: dict[str, str] = {}
        self._n = self._n_done = 0
        self._said = time.monotonic()

    def started(self, sweep: SweepDir, n_cells: int, n_already: int, workers: str) -> None:
        """The directory is there."""
        self._labels = {cell.id: f"{cell.id} {display(cell.label)}" for cell in sweep.manifest.cells}
        self._n, self._n_done = n_cells, n_already
        if self._quiet:
            return
        already = f", {n_already} finished already" if n_already else ""
        self._console.print(
            f"{n_cells} cells{already}; {sweep.manifest.n_indexes} indexes; {workers}. "
            f"If it is stopped: ragauge sweep --resume {sweep.path}"
        )
        if self._console.is_terminal and self._bar is None:
            columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
            self._bar = Progress(*columns, console=self._console, transient=True)
            self._bar.start()
        if self._bar is not None:
            self._tasks["all"] = self._bar.add_task("cells", total=n_cells, completed=n_already)

    def progress(self, progress: JobProgress) -> None:
        """An index or a cell goes on."""
        what = self._labels.get(progress.what, f"index {progress.what}")
        if self._bar is not None:
            if progress.what not in self._tasks:
                self._tasks[progress.what] = self._bar.add_task(what, total=progress.n_total)
            self._bar.update(self._tasks[progress.what], completed=progress.n_done, total=progress.n_total)
        elif not self._quiet and time.monotonic() - self._said > 15:
            self._console.print(f"  {what}: {progress.n_done} of {progress.n_total}")
            self._said = time.monotonic()

    def finished(self, what: str, seconds: float, problem: str | None) -> None:
        """An index or a cell is there, or could not be made."""
        is_cell = what in self._labels
        self._n_done += is_cell
        if self._bar is not None:
            if what in self._tasks:
                self._bar.remove_task(self._tasks.pop(what))
            if "all" in self._tasks:
                self._bar.update(self._tasks["all"], completed=self._n_done)
        if self._quiet:
            return
        self._said = time.monotonic()
        name = self._labels.get(what, f"index {what}")
        done = f"[{self._n_done}/{self._n}] " if is_cell else ""
        said = f"✗ {done}{name}: {display(problem)}" if problem else f"✓ {done}{name}  {seconds:.1f} s"
        self._console.print(said)

    def close(self) -> None:
        """Take the bar away."""
        if self._bar is not None:
            self._bar.stop()
            self._bar = None
