"""What `compare` and `gate` print has the keys that were promised."""

from __future__ import annotations

import pytest

from ragauge.analysis.compare import Comparison
from ragauge.core.model import Model
from ragauge.report.gate import GateDocument


@pytest.mark.parametrize(
    "model, promised", [(Comparison, {"metrics", "flips", "warnings"}), (GateDocument, {"verdict", "checks"})]
)
def test_the_promised_keys_are_always_there(model: type[Model], promised: set[str]) -> None:
    assert promised <= set(model.model_json_schema(mode="serialization")["required"])
