"""`ragauge.compare` and `ragauge.gate` from Python."""

from __future__ import annotations

from pathlib import Path

import pytest

import ragauge
from ragauge.analysis.baseline import make_baseline, write_baseline
from ragauge.analysis.compare import Comparison
from ragauge.errors import InputError, UsageError
from ragauge.testing.runs import a_run


@pytest.fixture
def runs(tmp_path: Path) -> Path:
    for name, worse in (("good", 0), ("bad", 15)):
        a_run(tmp_path, {f"q{i}": {"faithfulness": float(i >= worse)} for i in range(60)}, name=name)
    return tmp_path


def test_runs_are_compared_by_name_path_or_object(runs: Path) -> None:
    good = ragauge.open_run("good", runs)
    found = ragauge.compare(good, "bad", runs=runs)
    assert isinstance(found, Comparison)
    assert found.metrics["faithfulness"].verdict == "worse"
    several = ragauge.compare(good, good.path, "bad", runs=runs)
    assert isinstance(several, list)
    assert [one.metrics["faithfulness"].verdict for one in several] == ["no measurable difference", "worse"]
    with pytest.raises(UsageError, match="two runs"):
        ragauge.compare(good)


def test_a_run_is_gated_against_a_run_a_baseline_or_its_file(runs: Path) -> None:
    good, bad = (ragauge.open_run(name, runs) for name in ("good", "bad"))
    baseline = make_baseline(good.manifest, good.rows())
    write_baseline(runs / "b.json", baseline)
    for against in (good, baseline, runs / "b.json", good.path):
        assert ragauge.gate(bad, against).verdict == "fail"
        assert ragauge.gate(good, against).verdict == "pass"
    assert ragauge.gate(bad, floors={"faithfulness": 0.7}).verdict == "pass"
    with pytest.raises(InputError, match="no such baseline"):
        ragauge.gate(bad, runs / "none.json")
