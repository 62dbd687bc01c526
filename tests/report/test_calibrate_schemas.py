"""What `calibrate` prints has the figures that were promised."""

from __future__ import annotations

from ragauge.report.calibrate import CalibrateDocument


def test_the_promised_figures_are_in_the_schema() -> None:
    promised = {"metric", "agreement", "kappa", "sensitivity", "specificity", "raw_rate", "corrected_rate", "verdict"}
    schema = CalibrateDocument.model_json_schema(mode="serialization")["$defs"]["CalibratedMetric"]
    assert promised | {"stale"} <= schema["properties"].keys()
