"""The JSON of `compare` and `gate` is what its schema in the documentation says: one change is two changes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from ragauge.analysis.compare import Comparison
from ragauge.analysis.gate_result import GateResult
from ragauge.core.model import Model

SCHEMAS = Path(__file__).resolve().parents[2] / "docs" / "reference" / "schemas"


@pytest.mark.parametrize("model, name", [(Comparison, "compare"), (GateResult, "gate")])
def test_the_schema_in_the_documentation_is_the_models(model: type[Model], name: str) -> None:
    written = json.loads((SCHEMAS / f"{name}.schema.json").read_text(encoding="utf-8"))
    made = model.model_json_schema(mode="serialization")
    for schema in (written, made):
        schema.pop("$schema", None)
        schema.pop("title", None)
    assert written == made
    assert {"compare": {"metrics", "flips", "warnings"}, "gate": {"verdict", "checks"}}[name] <= set(made["required"])
