"""The table of a sweep: who is best, is it luck, what to do."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest

from ragauge.analysis.pareto import front
from ragauge.analysis.sweep import CellRun, Options, confirm, matching, read_sweep
from ragauge.analysis.sweep_table import SweepTable
from ragauge.core.sample import Usage
from ragauge.errors import Reason, RunError, UnknownName
from ragauge.report.sweep import as_markdown, document, recommendation, rows
from ragauge.report.sweep_plots import pictures
from ragauge.store.sweepdir import SweepCell, SweepManifest
from ragauge.testing.runs import a_metric, a_run

Rows = list[float | Reason]


def a_sweep(
    folder: Path,
    cells: dict[str, Rows],
    *,
    key: str = "correctness",
    usage: dict[str, Usage] | None = None,
    **more: Any,
) -> tuple[SweepManifest, dict[str, CellRun]]:
    """Cells c01 … over a knob `k` with these values of one metric; the first one is the base."""
    runs = {}
    for name, values in cells.items():
        items = {f"q{n}": {"usage": usage[name]} for n in range(len(values))} if usage else None
        run = a_run(
            folder, {f"q{n}": {key: value} for n, value in enumerate(values)}, name=name, items=items,
            metrics=[a_metric(key, half="generation", better=more.get("better", "higher"))],
        )  # fmt: skip
        runs[name] = CellRun(str(run.path), run.manifest, run.records)
    manifest = SweepManifest(
        sweep="s",
        created="2026-01-31T10:12:03Z",
        ragauge="0.1.0",
        knobs=("system.reference.k",),
        cells=tuple(
            SweepCell(id=name, label=f"k={place}", knobs={"system.reference.k": place}, index="i")
            for place, name in enumerate([*cells, *more.get("missing", ())])
        ),
        base=next(iter(cells)),
        part=more.get("part"),
        n_questions=len(next(iter(cells.values()))),
    )
    return manifest, runs


def table_of(folder: Path, cells: dict[str, Rows], options: Options | None = None, **more: Any) -> SweepTable:
    manifest, runs = a_sweep(folder, cells, **more)
    return read_sweep(manifest, runs, 1, options)


def test_a_clear_winner_is_taken(tmp_path: Path) -> None:
    table = table_of(tmp_path, {"c01": [0.0] * 30 + [1.0] * 30, "c02": [1.0] * 60, "c03": [0.0] * 30 + [1.0] * 30})
    assert (table.best, table.winner, table.advice, table.advised) == ("c02", "c02", "switch", "c02")
    assert table.shortlist == ("c02",)
    assert table.cell("c02").rank == 1
    assert table.cell("c02").metrics["correctness"].difference.p_adjusted < 0.001  # type: ignore[union-attr]
    said = recommendation(table)
    assert said[0].startswith("Take c02 (k=1): correctness 1.000 against 0.500, +0.500")
    assert any("--confirm-split test" in line for line in said)


def test_the_best_of_many_equal_cells_is_not_taken_for_a_winner(tmp_path: Path) -> None:
    draw = random.Random(3)
    cells = {f"c{place:02d}": [float(draw.random() < 0.7) for _ in range(60)] for place in range(1, 31)}
    table = table_of(tmp_path, cells)
    assert table.best != table.base
    assert (table.winner, table.advice, table.advised) == (None, "stay", "c01")
    assert table.noise_bar is not None
    assert table.noise_bar > 0.1
    said = " ".join(recommendation(table))
    assert "no cell is better beyond luck" in said
    assert "Luck alone makes the best of 29 equal cells" in said


def test_more_cells_raise_the_bar(tmp_path: Path) -> None:
    base = [float(n % 2) for n in range(40)]
    better = [1.0] * 7 + base[7:]
    few = table_of(tmp_path / "few", {"c01": base, "c02": better})
    many = table_of(tmp_path / "many", {"c01": base, "c02": better} | {f"c{n:02d}": base for n in range(3, 40)})
    p_few, p_many = (t.cell("c02").metrics["correctness"].difference.p_adjusted for t in (few, many))  # type: ignore[union-attr]
    assert p_many > p_few
    assert (many.noise_bar or 0) > (few.noise_bar or 0)


def test_lower_is_better_turns_everything_round(tmp_path: Path) -> None:
    cells: dict[str, Rows] = {"c01": [1.0] * 40, "c02": [0.0] * 40}
    table = table_of(tmp_path, cells, key="wrong_abstention", better="lower")
    assert (table.best, table.winner, table.better) == ("c02", "c02", "lower")


def test_an_equal_cell_that_needs_fewer_tokens_is_taken(tmp_path: Path) -> None:
    same = [float(n % 4 > 0) for n in range(120)]
    usage = {"c01": Usage(calls=1, tokens_in=1000), "c02": Usage(calls=1, tokens_in=400)}
    table = table_of(tmp_path, {"c01": same, "c02": same}, usage=usage)
    assert (table.advice, table.advised) == ("switch to the cheaper", "c02")
    assert "400 tokens instead of 1000" in recommendation(table)[0]
    assert table.front == ("c02",)
    assert table.front_by == ("correctness", "tokens")


def test_cost_goes_before_tokens_on_the_front(tmp_path: Path) -> None:
    usage = {
        "c01": Usage(calls=1, tokens_in=10, cost_usd=0.01),
        "c02": Usage(calls=1, tokens_in=99, cost_usd=0.001),
    }
    table = table_of(tmp_path, {"c01": [1.0] * 20, "c02": [0.5] * 20}, usage=usage)
    assert table.front_by == ("correctness", "cost")
    assert table.front == ("c01", "c02")
    assert table.cell("c02").cost_usd == pytest.approx(0.001)


def test_questions_that_only_one_cell_scored_are_not_compared_and_it_is_said(tmp_path: Path) -> None:
    base: Rows = [0.5] * 30
    daring: Rows = [Reason.ABSTAINED] * 15 + [0.5] * 15
    table = table_of(tmp_path, {"c01": base, "c02": daring}, key="faithfulness")
    found = table.cell("c02").metrics["faithfulness"].difference
    assert found is not None
    assert (found.n_pairs, found.difference) == (15, 0.0)
    assert any("scored on 100% of the questions in the base, and on 50% in 1 other" in line for line in table.warnings)


def test_cells_without_a_run_and_unfinished_ones_are_in_the_table(tmp_path: Path) -> None:
    options = Options(problems={"c04": "no such module"})
    manifest, runs = a_sweep(tmp_path, {"c01": [1.0] * 10, "c02": [1.0] * 10}, missing=("c03", "c04"))
    partial = manifest.model_copy(update={"base": "c01"})
    table = read_sweep(partial, runs, 1, options)
    assert [cell.state for cell in table.cells] == ["complete", "complete", "missing", "missing"]
    assert table.cell("c04").problem == "no such module"
    assert table.n_complete == 2
    assert any("2 of 4 cells are not finished" in note for note in table.notes)
    assert "c04 could not be finished: no such module" in as_markdown(table).replace("\\", "")


def test_without_the_base_nothing_is_compared(tmp_path: Path) -> None:
    manifest, runs = a_sweep(tmp_path, {"c01": [1.0] * 10, "c02": [1.0] * 10})
    del runs["c01"]
    with pytest.raises(RunError, match="base cell c01 has no rows"):
        read_sweep(manifest, runs, 0)


def test_an_unknown_quality_metric_is_named(tmp_path: Path) -> None:
    with pytest.raises(UnknownName, match="fathfulness"):
        table_of(tmp_path, {"c01": [1.0] * 5, "c02": [1.0] * 5}, Options(quality="fathfulness"))


def test_confirmation_is_one_test_on_other_questions(tmp_path: Path) -> None:
    manifest, runs = a_sweep(tmp_path, {"c01": [0.0] * 20 + [1.0] * 10, "c02": [1.0] * 30})
    found = confirm(manifest, "c02", runs, "correctness", "test")
    assert (found.verdict, found.n_questions) == ("confirmed", 30)
    again = confirm(manifest.model_copy(update={"base": "c02"}), "c01", runs, "correctness", "test")
    assert again.verdict == "not confirmed"
    few_manifest, few = a_sweep(tmp_path / "few", {"c01": [0.0, 1.0, 1.0, 0.0], "c02": [1.0, 1.0, 0.0, 1.0]})
    assert confirm(few_manifest, "c02", few, "correctness", "test").verdict == "too few questions to tell"


def test_names_stand_for_both_granularities() -> None:
    keys = ["recall@5:chunk", "recall@5:doc", "recall@10:doc"]
    assert matching("recall", keys) == keys
    assert matching("recall@5", keys) == keys[:2]
    assert matching("recall@5:doc", keys) == keys[1:2]
    assert matching("ndcg", keys) == []


def test_the_front_keeps_equal_points_and_drops_beaten_ones() -> None:
    assert front({"a": (1.0, 1.0), "b": (1.0, 1.0), "c": (1.0, 0.5), "d": (0.0, 2.0)}) == {"a", "b", "d"}
    assert front({}) == set()


def test_csv_rows_have_every_cell_and_one_set_of_columns(tmp_path: Path) -> None:
    manifest, runs = a_sweep(tmp_path, {"c01": [1.0] * 10, "c02": [0.5] * 10}, missing=("c03",))
    lines = rows(read_sweep(manifest, runs, 1))
    assert [line["cell"] for line in lines] == ["c01", "c02", "c03"]
    assert len({tuple(line) for line in lines}) == 1
    assert lines[1]["correctness:difference"] == pytest.approx(-0.5)


def test_hostile_names_stay_inside_their_cells(tmp_path: Path) -> None:
    manifest, runs = a_sweep(tmp_path, {"c01": [1.0] * 10, "c02": [0.5] * 10})
    evil = "| <img src=x onerror=alert(1)> `code` @team"
    cells = tuple(cell.model_copy(update={"knobs": {"system.reference.k": evil + cell.id}}) for cell in manifest.cells)
    table = read_sweep(manifest.model_copy(update={"cells": cells}), runs, 1)
    text = as_markdown(table)
    assert "<img" not in text
    assert "@team" not in text
    assert all("<img" not in svg for _, svg in pictures(table))


def test_the_document_names_what_to_do(tmp_path: Path) -> None:
    manifest, runs = a_sweep(tmp_path, {"c01": [0.0] * 30, "c02": [1.0] * 30})
    table = read_sweep(manifest, runs, 1)
    found = document(table, "here", confirm(manifest, "c02", runs, "correctness", "test"))
    assert found["recommendation"][0].startswith("Take c02")
    assert found["confirmation"]["verdict"] == "confirmed"
    assert {name for name, _ in pictures(table)} == {"lines.svg"}
