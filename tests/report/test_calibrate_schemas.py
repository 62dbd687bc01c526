"""The JSON of `calibrate`, `golden validate` and `review stats` is what its schema in the documentation says."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from ragauge.analysis.calibration import Calibration
from ragauge.core.model import Model
from ragauge.dataset.complaints import GoldenReport
from ragauge.review.stats import Stats

SCHEMAS = Path(__file__).resolve().parents[2] / "docs" / "reference" / "schemas"


@pytest.mark.parametrize(
    "model, name", [(Calibration, "calibrate"), (GoldenReport, "golden-validate"), (Stats, "review-stats")]
)
def test_the_schema_in_the_documentation_is_the_models(model: type[Model], name: str) -> None:
    written = json.loads((SCHEMAS / f"{name}.schema.json").read_text(encoding="utf-8"))
    assert written == json.loads(json.dumps(model.model_json_schema(mode="serialization")))


def test_the_promised_figures_are_in_the_schema() -> None:
    promised = {"metric", "agreement", "kappa", "sensitivity", "specificity", "raw_rate", "corrected_rate", "verdict"}
    assert promised <= Calibration.model_json_schema(mode="serialization")["properties"].keys()
