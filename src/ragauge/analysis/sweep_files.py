"""A sweep directory read back without the program that made it."""

from __future__ import annotations

import json
from pathlib import Path

from pydantic import ValidationError

from ragauge.analysis.sweep import CellRun, Confirmation, Options, read_sweep
from ragauge.analysis.sweep_table import SweepTable
from ragauge.errors import StoreError
from ragauge.store.rundir import MANIFEST as RUN_MANIFEST
from ragauge.store.sweepdir import MANIFEST, SweepDir

TABLE = "table.json"


def list_sweeps(base: Path) -> list[Path]:
    """The sweep directories in a folder, newest first."""
    return sorted((path.parent for path in base.glob(f"*/{MANIFEST}")), reverse=True)


def saved_table(directory: SweepDir) -> tuple[SweepTable, Confirmation | None]:
    """The table that `ragauge sweep` wrote last; of a sweep that was never finished, one of what is there."""
    file = directory.path / TABLE
    try:
        data = json.loads(file.read_text(encoding="utf-8"))
        fields = {name: data[name] for name in SweepTable.model_fields if name in data}
        found = data.get("confirmation")
        return SweepTable.model_validate(fields), Confirmation.model_validate(found) if found else None
    except FileNotFoundError:
        return _of_the_cells(directory), None
    except (OSError, ValueError, TypeError, ValidationError) as problem:
        raise StoreError(
            f"{file} cannot be read as a sweep's table", hint="`ragauge sweep --resume` writes it anew."
        ) from problem


def _of_the_cells(directory: SweepDir) -> SweepTable:
    there = directory.cells.is_dir() and any(directory.cells.glob(f"*/{RUN_MANIFEST}"))
    runs = directory.runs() if there else {}
    cells = {cell: CellRun(str(run.path), run.manifest, run.records) for cell, run in runs.items()}
    return read_sweep(directory.manifest, cells, len(list(directory.builds())), Options())
