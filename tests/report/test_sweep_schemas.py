"""The JSON of `sweep` and `ab` is what its schema in the documentation says: one change is two changes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from ragauge.core.model import Model
from ragauge.report.ab import ABDocument
from ragauge.report.sweep import SweepDocument

SCHEMAS = Path(__file__).resolve().parents[2] / "docs" / "reference" / "schemas"


@pytest.mark.parametrize(
    ("model", "name", "needed"),
    [
        (SweepDocument, "sweep", {"cells", "base", "quality", "front", "recommendation", "path"}),
        (ABDocument, "ab", {"arms", "effects", "sample_ratio", "sentences"}),
    ],
)
def test_the_schema_in_the_documentation_is_the_models(model: type[Model], name: str, needed: set[str]) -> None:
    written = json.loads((SCHEMAS / f"{name}.schema.json").read_text(encoding="utf-8"))
    made = model.model_json_schema(mode="serialization")
    assert written == made
    assert needed <= set(made["required"])
