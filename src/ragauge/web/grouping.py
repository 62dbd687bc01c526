"""Clusters of a run's failures, worked out once in another process and kept beside the page's other files."""

from __future__ import annotations

import hashlib
import json
import sys
from pathlib import Path

from pydantic import ValidationError

from ragauge.diagnose.clusters import Clusters
from ragauge.errors import RagaugeError
from ragauge.store.rundir import ROWS, RunDir
from ragauge.web.cached import writing
from ragauge.web.catalog import Entry, stamp
from ragauge.web.jobs import Waiting
from ragauge.web.state import State

#: Changes with what is written.
FORMAT = 1


def clusters_of(state: State, entry: Entry) -> Clusters:
    """The clusters of a run as its rows are now; raises `Waiting` while they are worked out."""
    run = entry.open()
    mark = json.dumps([FORMAT, str(run.path.resolve()), stamp(run.path / ROWS)])
    target = state.settings.cache / "clusters" / f"{hashlib.sha256(mark.encode()).hexdigest()[:24]}.json"
    if target.is_file():
        try:
            return Clusters.model_validate_json(target.read_bytes())
        except ValidationError:  # half of it, after a power cut: it is worked out again
            target.unlink(missing_ok=True)
    task = {"run": str(run.path), "target": str(target)}
    raise Waiting(state.jobs.start(str(target), f"Grouping the failures of {entry.name}", "ragauge.web.grouping", task))


def main() -> int:
    """Read a task from stdin; "done" or what was wrong to stdout."""
    from ragauge.diagnose.counterfactuals import read_counterfactuals
    from ragauge.diagnose.diagnosis import diagnose_rows
    from ragauge.diagnose.failures import group_failures

    task = json.load(sys.stdin)
    try:
        run = RunDir.open(task["run"])
        found = group_failures(diagnose_rows(run.manifest, run.records, read_counterfactuals(run.path)))
        with writing(Path(task["target"])) as beside:
            beside.write_text(found.model_dump_json(), encoding="utf-8")
    except RagaugeError as problem:
        print(json.dumps(["failed", problem.message, problem.hint or ""]), flush=True)
        return 0
    print(json.dumps(["done"]), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
