"""One row of a run, found without reading the others."""

from __future__ import annotations

from ragauge.core.run import Record
from ragauge.errors import UnknownName
from ragauge.store.rundir import RunDir


def row_of(run: RunDir, item: str, repeat: int = 0) -> Record:
    """The row of that item and repeat; `UnknownName` when there is none."""
    offsets = run.index().offsets
    if (item, repeat) not in offsets:
        raise UnknownName("row in this run", item, sorted({name for name, _ in offsets})[:2000])
    return next(iter(run.records_at([offsets[item, repeat][1]])))
