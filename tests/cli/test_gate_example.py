"""The shipped example: an unchanged system passes its gate, a seeded regression fails it and is named."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import ragauge
from ragauge import api
from ragauge.cli.demo import example_folder
from ragauge.engine.settings import load_settings

pytestmark = pytest.mark.slow


def evaluated(out: Path, name: str, **system: Any) -> ragauge.Run:
    metrics = ["recall@5", "hit_rate@5", "ndcg@5", "keyword_hits"]
    changed = {f"system.reference.{key}": value for key, value in system.items()}
    settings = load_settings(example_folder() / "ragauge.yaml", {"judge": None, "metrics": metrics} | changed)
    options = api.make_options(settings, out, "run", name)
    return api.run(settings.path(settings.golden or ""), None, options)


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> ragauge.Run:
    return evaluated(tmp_path_factory.mktemp("runs"), "base")


def test_an_unchanged_system_passes(base: ragauge.Run, tmp_path: Path) -> None:
    result = ragauge.gate(evaluated(tmp_path, "same"), base)
    assert result.verdict == "pass", [check.reason for check in result.checks if check.verdict != "pass"]


@pytest.mark.parametrize("regression", [{"k": 1}, {"chunk_size": 40, "chunk_overlap": 0}])
def test_a_seeded_regression_fails_with_metric_size_and_questions(
    base: ragauge.Run, tmp_path: Path, regression: dict[str, int]
) -> None:
    worse = evaluated(tmp_path, "worse", **regression)
    result = ragauge.gate(worse, base)
    assert result.verdict == "fail"
    failed = {check.metric: check for check in result.checks if check.verdict == "fail"}
    assert "recall@5:chunk" in failed
    check = failed["recall@5:chunk"]
    assert check.observed is not None
    assert check.observed > 0.1
    assert check.questions
    assert "worse by" in check.reason
    compared = ragauge.compare(base, worse)
    assert not isinstance(compared, list)
    assert compared.metrics["recall@5:chunk"].verdict == "worse"
    assert set(compared.flips["recall@5:chunk"].worse) >= {check.questions[0].id}
    assert json.loads(compared.model_dump_json())["changed"]
