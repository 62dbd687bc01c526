"""The baseline that a gate's settings name."""

from __future__ import annotations

from pathlib import Path

from ragauge.analysis.baseline import Baseline, make_baseline, read_baseline
from ragauge.store.rundir import MANIFEST, RunDir


def baseline_of(named: str | None, base: Path) -> Baseline | None:
    """A baseline file, a run directory, or a run's name in `base`; None where none is named."""
    if named is None:
        return None
    for path in (Path(named), base / named if not Path(named).is_absolute() and ".." not in named else Path(named)):
        if (path / MANIFEST).is_file():
            run = RunDir.open(path)
            return make_baseline(run.manifest, run.records())
    return read_baseline(Path(named))
