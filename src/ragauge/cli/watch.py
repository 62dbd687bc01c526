"""Progress on stderr: a line per question, or a bar when there are many."""

from __future__ import annotations

import time
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from ragauge.analysis.thresholds import Thresholds
from ragauge.core.run import Record
from ragauge.diagnose.rootcause import row_check
from ragauge.report.terminal import row_line, stderr_console
from ragauge.store.rundir import RunDir

#: More questions than this are a bar, not lines.
MANY = 300


class TerminalWatcher:
    """Tells a person how the run goes. On a terminal with a bar below the lines; in a log, lines only."""

    def __init__(self, quiet: bool = False, console: Console | None = None) -> None:
        self._console = console or stderr_console()
        self._quiet = quiet
        self._bar: Progress | None = None
        self._task: Any = None
        self._stage = ""
        self._thresholds = Thresholds()
        self._lines = True
        self._n_total = 0
        self._n_already = 0
        self._said = 0.0

    def stage(self, what: str, n_done: int, n_total: int | None) -> None:
        """Something long before the first question."""
        if self._quiet:
            return
        if self._console.is_terminal:
            self._start_bar()
            assert self._bar is not None
            if what != self._stage:
                if self._task is not None:
                    self._bar.remove_task(self._task)
                self._task = self._bar.add_task(what, total=n_total)
            self._bar.update(self._task, completed=n_done, total=n_total)
        elif what != self._stage or time.monotonic() - self._said > 10:
            self._console.print(f"{what}: {n_done}" + (f" of {n_total}" if n_total is not None else ""))
            self._said = time.monotonic()
        self._stage = what

    def started(self, run: RunDir, n_total: int, n_already: int) -> None:
        """The directory is there."""
        if run.manifest.thresholds:
            self._thresholds = Thresholds.model_validate(run.manifest.thresholds)
        self._n_total, self._n_already = n_total, n_already
        self._lines = n_total <= MANY
        if self._quiet:
            return
        if n_already:
            self._console.print(f"{n_already} of {n_total} rows are there already")
        if self._console.is_terminal:
            self._start_bar()
            assert self._bar is not None
            if self._task is not None:
                self._bar.remove_task(self._task)
            self._task = self._bar.add_task("questions", total=n_total, completed=n_already)

    def row(self, record: Record, n_done: int) -> None:
        """A row is finished."""
        if self._quiet:
            return
        if self._lines:
            self._console.print(
                row_line(
                    record,
                    row_check(record, self._thresholds),
                    self._console.width if self._console.is_terminal else 160,
                )
            )
        elif not self._console.is_terminal and time.monotonic() - self._said > 10:
            self._console.print(f"{self._n_already + n_done} of {self._n_total}")
            self._said = time.monotonic()
        if self._bar is not None:
            self._bar.update(self._task, completed=self._n_already + n_done)

    def close(self) -> None:
        """Take the bar away."""
        if self._bar is not None:
            self._bar.stop()
            self._bar = None

    def _start_bar(self) -> None:
        if self._bar is None:
            columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
            self._bar = Progress(*columns, console=self._console, transient=True)
            self._bar.start()
