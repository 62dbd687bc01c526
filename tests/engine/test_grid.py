"""A sweep file becomes checked cells."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from ragauge.engine.grid import plan_sweep, restore_settings
from ragauge.errors import InputError, SettingsError, UnknownName


def written(folder: Path, section: dict[str, Any], **settings: Any) -> Path:
    base = {
        "golden": "golden.yaml",
        "corpus": "docs",
        "system": {"reference": {"k": 5, "retrieval": "dense"}},
    } | settings
    (folder / "ragauge.yaml").write_text(json.dumps(base))
    file = folder / "sweep.yaml"
    file.write_text(json.dumps({"base": "ragauge.yaml"} | section))
    return file


def test_a_grid_is_every_combination_with_the_last_knob_fastest(tmp_path: Path) -> None:
    grid = {"system.reference.k": [3, 5], "system.reference.retrieval": ["dense", "bm25", "hybrid"]}
    plan = plan_sweep(written(tmp_path, {"grid": grid}))
    assert [cell.id for cell in plan.cells] == ["c01", "c02", "c03", "c04", "c05", "c06"]
    assert plan.cells[1].knobs == {"system.reference.k": 3, "system.reference.retrieval": "bm25"}
    assert plan.cells[1].label == "k=3, retrieval=bm25"
    assert plan.cells[1].settings.system_kind() == ("reference", {"k": 3, "retrieval": "bm25"})


def test_the_base_is_the_cell_of_the_settings_as_they_are(tmp_path: Path) -> None:
    grid = {"system.reference.k": [3, 5], "system.reference.retrieval": ["bm25", "dense"]}
    assert plan_sweep(written(tmp_path, {"grid": grid})).base == "c04"


def test_without_such_a_cell_the_first_is_the_base_and_it_is_said(tmp_path: Path) -> None:
    plan = plan_sweep(written(tmp_path, {"grid": {"system.reference.k": [3, 10]}}))
    assert plan.base == "c01"
    assert any("first cell is the base" in note for note in plan.notes)


def test_a_base_can_be_chosen_and_must_be_one_cell(tmp_path: Path) -> None:
    grid = {"system.reference.k": [3, 10], "run.seed": [0, 1]}
    chosen = {"system.reference.k": 10, "run.seed": 1}
    assert plan_sweep(written(tmp_path, {"grid": grid, "base_cell": chosen})).base == "c04"
    with pytest.raises(SettingsError, match="fits 2 cells"):
        plan_sweep(written(tmp_path, {"grid": grid, "base_cell": {"system.reference.k": 10}}))
    with pytest.raises(UnknownName, match="base_cell"):
        plan_sweep(written(tmp_path, {"grid": grid, "base_cell": {"system.reference.kk": 10}}))


def test_defaults_of_the_pipeline_are_known_as_values_of_knobs(tmp_path: Path) -> None:
    file = written(tmp_path, {"grid": {"system.reference.candidates": [10, 20]}})
    assert plan_sweep(file).base == "c02"


def test_explicit_cells_may_set_different_knobs(tmp_path: Path) -> None:
    cells = [{}, {"system.reference.k": 10}, {"system.reference.rerank": "minilm"}]
    plan = plan_sweep(written(tmp_path, {"cells": cells}))
    assert [cell.label for cell in plan.cells] == ["base settings", "k=10", "rerank=minilm"]
    assert plan.base == "c01"
    assert plan.cells[2].knobs == {"system.reference.k": 5, "system.reference.rerank": "minilm"}


def test_a_knob_inside_of_a_mapping_that_all_cells_share_is_each_cells_own(tmp_path: Path) -> None:
    shared = {"set": {"system": {"reference": {"k": 5}}}, "grid": {"system.reference.candidates": [10, 20, 30]}}
    plan = plan_sweep(written(tmp_path, shared))
    assert [cell.settings.system_kind()[1]["candidates"] for cell in plan.cells] == [10, 20, 30]


def test_equal_cells_are_run_once(tmp_path: Path) -> None:
    plan = plan_sweep(written(tmp_path, {"grid": {"system.reference.k": [3, 5]}, "cells": [{"system.reference.k": 5}]}))
    assert len(plan.cells) == 2
    assert any("came twice" in note for note in plan.notes)


def test_a_settings_file_may_hold_the_sweep_itself(tmp_path: Path) -> None:
    file = tmp_path / "ragauge.yaml"
    file.write_text(
        "golden: golden.yaml\ncorpus: docs\nmetrics: [recall@5]\nsweep:\n  grid:\n    system.reference.k: [3, 5]\n"
    )
    plan = plan_sweep(file)
    assert [cell.settings.system_kind()[1] for cell in plan.cells] == [{"k": 3}, {"k": 5}]
    assert plan.metrics == ("recall@5",)


def test_cells_with_different_k_are_scored_at_the_largest(tmp_path: Path) -> None:
    plan = plan_sweep(written(tmp_path, {"grid": {"system.reference.k": [3, 10]}}))
    for cell in plan.cells:
        assert "recall@10" in (cell.settings.metrics or [])
        assert "precision_retrieved@5" in (cell.settings.metrics or [])
    assert plan.metrics == ()


def test_named_metrics_are_left_alone(tmp_path: Path) -> None:
    plan = plan_sweep(written(tmp_path, {"grid": {"system.reference.k": [3, 10]}, "metrics": ["recall@3"]}))
    assert plan.cells[1].settings.metrics == ["recall@3"]


@pytest.mark.parametrize(
    ("section", "error", "said"),
    [
        ({"gird": {"system.reference.k": [3]}}, SettingsError, "gird"),
        ({"grid": {"system.reference.k": 3}}, SettingsError, "give a list"),
        ({"grid": {"system.reference.k": []}}, SettingsError, "give a list"),
        ({"grid": {}}, SettingsError, "grid"),
        ({}, SettingsError, "needs a grid"),
        ({"grid": {"systen.reference.k": [3]}}, SettingsError, "systen"),
        ({"grid": {"run.sed": [3]}}, SettingsError, "sed"),
        ({"grid": {"system.callable.function": ["python:a:b"]}}, SettingsError, "exactly one kind"),
        ({"grid": {"run.seed": [1]}, "metrics": ["recal@3"]}, UnknownName, "recal"),
        ({"grid": {"run.seed": [1]}, "quality": "fathfulness"}, UnknownName, "fathfulness"),
        ({"grid": {"run.seed": [1]}, "workers": 0}, SettingsError, "workers"),
        ({"grid": {"run.seed": [1]}, "executor": "threads"}, SettingsError, "executor"),
        ({"grid": {"run.seed": [1]}, "split": "test", "confirm_split": "test"}, SettingsError, "both 'test'"),
        ({"grid": {"run.seed": list(range(100)), "run.repeats": list(range(1, 100))}}, SettingsError, "9900 cells"),
    ],
)
def test_what_cannot_be_is_named(tmp_path: Path, section: dict[str, Any], error: type[Exception], said: str) -> None:
    with pytest.raises(error, match=said):
        plan_sweep(written(tmp_path, section))


def test_no_file_and_no_yaml_are_told(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no such settings file"):
        plan_sweep(tmp_path / "nothing.yaml")
    (tmp_path / "bad.yaml").write_text("a: [1")
    with pytest.raises(InputError, match="no valid YAML"):
        plan_sweep(tmp_path / "bad.yaml")


def test_confirming_on_one_half_asks_the_other_one_first(tmp_path: Path) -> None:
    plan = plan_sweep(written(tmp_path, {"grid": {"run.seed": [1, 2]}}), confirm_split="test")
    assert (plan.part, plan.confirm) == ("dev", "test")


def test_settings_with_a_struck_out_secret_are_not_restored(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="secret"):
        restore_settings({"judge": {"name": "openai:x", "api_key": "***"}, "base": "."})
