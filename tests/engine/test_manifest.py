"""Whether a resumed run is still the same run."""

from __future__ import annotations

from pathlib import Path

import pytest

from ragauge.core.run import Manifest
from ragauge.engine.manifest import check_same_run
from ragauge.errors import StoreError
from ragauge.testing.runs import a_metric, a_run


def a_manifest(folder: Path, **params: object) -> Manifest:
    return a_run(folder, {"q1": {"composite": 1.0}}, metrics=[a_metric("composite", params=params)]).manifest


def test_a_metric_whose_parameters_are_a_tuple_is_the_same_after_it_was_written(tmp_path: Path) -> None:
    """A composite names its parts in a tuple; on disk it is a list. Such a run could not be resumed."""
    now = a_manifest(tmp_path, metrics=("faithfulness", "recall"))
    check_same_run(Manifest.model_validate_json(now.model_dump_json()), now)


def test_another_parameter_is_another_run(tmp_path: Path) -> None:
    old, now = (a_manifest(tmp_path / name, metrics=(name,)) for name in ("a", "b"))
    with pytest.raises(StoreError, match="the metrics changed"):
        check_same_run(old, now)
