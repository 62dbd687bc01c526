"""Which metrics people's labels are about."""

from __future__ import annotations

from pathlib import Path

import pytest

from ragauge.analysis.labels import HumanLabel
from ragauge.errors import UsageError
from ragauge.review.calibrating import labelled_metrics
from ragauge.testing.runs import a_run


def test_labels_are_about_the_metrics_that_they_name_and_about_none_is_an_error(tmp_path: Path) -> None:
    run = a_run(tmp_path, {"q0": {"faithfulness": 1.0}})
    named = [HumanLabel("q0", 1.0, metric=name) for name in ("correctness", "faithfulness")]
    assert labelled_metrics(run.manifest, named) == ["faithfulness"]
    with pytest.raises(UsageError, match="about correctness, which this run did not measure") as refused:
        labelled_metrics(run.manifest, named[:1])
    assert "It measured faithfulness" in refused.value.hint
