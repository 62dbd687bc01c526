"""On real human labels: a hundred of them make a strict judge's rate right."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import pytest

FOLDER = Path(__file__).resolve().parents[2] / "validation" / "calibration"


def script(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(f"calibration_{name}", FOLDER / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


@pytest.mark.slow
def test_a_hundred_labels_cover_the_true_rate_of_ragtruth(shared: Path, tmp_path: Path) -> None:
    verdicts = tmp_path / "verdicts.jsonl"
    script("judge_ragtruth").main(shared / "judgedata" / "ragtruth.jsonl.gz", verdicts)
    found = script("simulate").ragtruth(verdicts)
    assert found["judged"] > 900
    assert abs(found["raw"] - found["truth"]) > 0.1  # the judge alone is far off: there is something to correct
    assert found["random_coverage"] >= 0.93
    assert found["bands_coverage"] >= 0.93
    assert abs(found["random_bias"]) < 0.01
    assert abs(found["bands_bias"]) < 0.01
    assert found["random_width"] < found["random_human_width"]
