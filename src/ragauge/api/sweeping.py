"""What a sweep puts together: start or go on, read, confirm, write the tables and pictures."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from ragauge.analysis.summarise import summarise
from ragauge.analysis.sweep import CellRun, Confirmation, Options, confirm, read_sweep
from ragauge.analysis.sweep_table import SweepTable
from ragauge.api import thresholds_of
from ragauge.api.shown import shown_settings
from ragauge.engine.grid import SweepPlan, plan_sweep
from ragauge.engine.settings import Settings
from ragauge.engine.sweep import How, Outcome, SilentSweep, SweepWatcher, carry_out_cells, is_complete, start_sweep
from ragauge.errors import SettingsError, UsageError
from ragauge.report.sweep import as_markdown, document, rows
from ragauge.report.sweep_plots import pictures
from ragauge.store.rundir import RunDir, write_json
from ragauge.store.sweepdir import SweepDir, find_sweep
from ragauge.store.tables import write_csv, write_whole

Part = Literal["dev", "test"]


@dataclass(frozen=True)
class Swept:
    """A sweep that was carried out as far as it went."""

    directory: SweepDir
    table: SweepTable
    confirmation: Confirmation | None
    outcome: Outcome

    @property
    def path(self) -> Path:
        """The sweep's directory."""
        return self.directory.path

    @property
    def runs(self) -> dict[str, Path]:
        """Cell → its run's directory, which `open_run`, `compare` and `gate` read."""
        return {cell: run.path for cell, run in self.directory.runs().items()}

    def to_dict(self) -> dict[str, Any]:
        """The JSON document that `ragauge sweep --json` prints."""
        return document(self.table, str(self.path), self.confirmation)

    def __repr__(self) -> str:
        table = self.table
        chosen = f"winner {table.winner}" if table.winner else "none is better"
        return f"<Sweep {self.path.name}: {len(table.cells)} cells by {table.quality}; base {table.base}, {chosen}>"


def sweep(
    file: str | os.PathLike[str] | None = None,
    *,
    resume: str | os.PathLike[str] | None = None,
    out: str | os.PathLike[str] | None = None,
    settings: Mapping[str, Any] | None = None,
    quality: str | None = None,
    split: Part | None = None,
    confirm_split: Part | None = None,
    workers: int | None = None,
    executor: str | None = None,
    retry_errors: bool = False,
    smallest: float = 0.10,
    watcher: SweepWatcher | None = None,
) -> Swept:
    """Try a grid of settings: what `ragauge sweep FILE` does (`docs/how-to/sweep.md`). Works while a loop is running.

    `settings`: dotted settings for every cell. `resume`: go on with a sweep instead. The result's `.table` has the
    cells, `.table.winner` the one to take (None: the base), `.runs` their directories; `.outcome.failed` says what
    could not run.
    """
    if (file is None) == (resume is None):
        raise UsageError("sweep needs a file, or a sweep to go on with", hint='ragauge.sweep("sweep.yaml")')
    flags: dict[str, Any] = {"workers": workers, "executor": executor, "retry_errors": retry_errors}
    reading = Options(smallest=smallest, quality=quality)
    told = watcher or SilentSweep()
    if resume is not None:
        directory = find_sweep(os.fspath(resume), Path(out or "runs"))
        return sweep_on(directory, how_of(None, **flags), told, reading, confirm_split)
    named = {"quality": quality, "split": split, "confirm_split": confirm_split}
    plan = plan_sweep(Path(file or ""), settings, **named)
    where = Path(out) if out is not None else Path(plan.cells[0].settings.run.out)
    return sweep_new(plan, where, how_of(plan, **flags), told, reading)


def how_of(plan: SweepPlan | None, *, workers: int | None, executor: str | None, retry_errors: bool) -> How:
    """Flags over the file."""
    return How(
        show=shown_settings,
        thresholds=_thresholds,
        workers=workers or (plan.workers if plan is not None else None),
        executor=executor or (plan.executor if plan is not None else "auto"),  # type: ignore[arg-type]
        retry_errors=retry_errors,
    )


def _thresholds(settings: Settings) -> dict[str, Any]:
    return thresholds_of(settings).model_dump(mode="json")


def sweep_new(plan: SweepPlan, out: Path, how: How, watcher: SweepWatcher, options: Options) -> Swept:
    """All cells from the beginning."""
    known = {cell.id: cell.settings for cell in plan.cells}
    for settings in known.values():
        how.thresholds(settings)  # a wrong threshold is told before anything is asked
    directory = start_sweep(plan, out, how)
    return _finish(directory, how, watcher, options, known, plan.confirm)


def sweep_on(
    directory: SweepDir, how: How, watcher: SweepWatcher, options: Options, confirm_part: Part | None
) -> Swept:
    """What is missing of a sweep."""
    if confirm_part is not None and directory.manifest.part in (None, confirm_part):
        half = "every question" if directory.manifest.part is None else f"the {confirm_part} half"
        raise SettingsError(
            f"this sweep chose among its cells on {half}: no held-out questions are left to confirm with",
            hint="Start a new sweep with --confirm-split test: it then chooses on the other half.",
        )
    return _finish(directory, how, watcher, options, None, confirm_part)


def _finish(
    directory: SweepDir,
    how: How,
    watcher: SweepWatcher,
    options: Options,
    known: Mapping[str, Settings] | None,
    confirm_part: Part | None,
) -> Swept:
    outcome = carry_out_cells(directory, how, watcher, known=known)
    options = Options(options.alpha, options.smallest, options.seed, options.quality, _problems(outcome))
    table = read(directory, options)
    confirmation = None
    if confirm_part is not None and table.best not in (None, table.base) and not outcome.exit_code:
        chosen = table.winner or table.best or ""
        later = carry_out_cells(
            directory,
            how,
            watcher,
            known=known,
            only=[table.base, chosen],
            out=directory.confirm,
            part=confirm_part,
        )
        outcome = Outcome({**outcome.failed, **later.failed}, later.ended_early, later.exit_code)
        if not later.exit_code:
            runs = _runs(directory.runs(directory.confirm))
            confirmation = confirm(directory.manifest, chosen, runs, table.quality, confirm_part, options)
    elif confirm_part is None:
        confirmation = confirmed_before(directory, table, options)
    write_files(directory, table, confirmation)
    return Swept(directory, table, confirmation, outcome)


def confirmed_before(directory: SweepDir, table: SweepTable, options: Options) -> Confirmation | None:
    """The confirmation that an earlier call made, if it was of the cell that is chosen now."""
    chosen = table.winner or table.best
    if directory.manifest.part is None or chosen is None or chosen == table.base:
        return None
    runs = directory.runs(directory.confirm)
    if not all(is_complete(runs.get(cell)) for cell in (table.base, chosen)):
        return None
    other: Part = "test" if directory.manifest.part == "dev" else "dev"
    return confirm(directory.manifest, chosen, _runs(runs), table.quality, other, options)


def _problems(outcome: Outcome) -> dict[str, str]:
    return {**outcome.failed, **outcome.ended_early}


def read(directory: SweepDir, options: Options) -> SweepTable:
    """The table of what there is; every finished run gets its summary."""
    runs = directory.runs()
    for run in runs.values():
        if run.saved_summary() is None and is_complete(run):
            run.save_summary(summarise(run.manifest, run.records()))
    return read_sweep(directory.manifest, _runs(runs), len(list(directory.builds())), options)


def _runs(runs: Mapping[str, RunDir]) -> dict[str, CellRun]:
    return {cell: CellRun(str(run.path), run.manifest, run.records) for cell, run in runs.items()}


def write_files(directory: SweepDir, table: SweepTable, confirmation: Confirmation | None) -> list[Path]:
    """table.json, table.csv, table.md and the pictures, each whole or not at all; old pictures are taken away."""
    path = directory.path
    drawn = dict(pictures(table))
    for old in path.glob("*.svg"):
        if old.name not in drawn:
            old.unlink()
    for name, svg in drawn.items():
        write_whole(path / name, _text(svg))
    write_csv(path / "table.csv", rows(table))
    write_whole(path / "table.md", _text(as_markdown(table, confirmation, list(drawn))))
    write_json(path / "table.json", document(table, str(path), confirmation))
    return [path / name for name in ("table.json", "table.csv", "table.md", *drawn)]


def _text(text: str) -> Callable[[Any], None]:
    def write(handle: Any) -> None:
        handle.write(text.encode("utf-8", "replace"))

    return write
