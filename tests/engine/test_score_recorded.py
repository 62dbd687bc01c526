"""Scoring what was recorded: what was expected counts, and what reading it took liberties with is said."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pandas as pd
import pytest

import ragauge
from ragauge.errors import Reason

GOLDEN = [
    {"id": "a", "question": "What is the port?", "answer": "The port is 8080.", "verified": True},
    {"id": "b", "question": "What is the host?", "answer": "The host is example.org.", "verified": True},
]
RECORDED = [
    {"id": "a", "question": "What is the port?", "answer": "The port is 8080.", "contexts": ["The port is 8080."]},
]
METRICS = ["faithfulness", "token_f1"]


def test_a_golden_item_without_a_recorded_output_counts_as_failed(tmp_path: Path) -> None:
    golden = ragauge.load_golden(GOLDEN)
    run = ragauge.evaluate(RECORDED, METRICS, golden=golden, out=tmp_path)
    assert run.summary.n_rows == 2
    assert run["token_f1"].n_asked == 2
    assert run["token_f1"].unscored == {Reason.SYSTEM_FAILED: 1}
    assert run.summary.share_unverified == 0
    assert any("no recorded output" in note for note in run.manifest.notes)


def test_a_record_that_says_why_it_has_no_answer_is_a_failed_row_and_no_blank_answer(tmp_path: Path) -> None:
    """As experiment tables and promptfoo record failed calls; `replay` does the same."""
    failed = [
        {"question": "P?", "answer": None, "error": "HTTP 500", "reference": "x", "total_ms": 0},
        {"question": "R?", "error": {"message": "boom"}, "reference": "x"},
        {"question": "S?", "answer": "fine", "error": "a warning only", "reference": "x"},
        {"question": "T?", "answer": "", "error": "", "reference": "x"},
        {"question": "U?", "answer": "", "error": True, "reference": "x"},
    ]
    run = ragauge.evaluate(failed, "token_f1", judge="none", out=tmp_path)
    assert run["token_f1"].unscored == {Reason.NO_ANSWER: 1, Reason.SYSTEM_FAILED: 3}
    assert run.summary.n_failed_rows == 3
    assert not run.summary.latency_ms  # nor is how long a failure took a latency of answers
    assert [row.error for row in run.rows()][:2] == ["the record says: HTTP 500", "the record says: boom"]
    assert [row.error for row in run.rows()][-1] == "the record says that there was an error"


@pytest.mark.parametrize("suffix", [".csv", ".jsonl"])
def test_a_cell_that_says_there_was_no_error_fails_no_row(suffix: str, tmp_path: Path) -> None:
    """As DataFrames write it; the answer is blank, or there is none because retrieval alone was recorded."""
    nothing = ["False", "None", " nan ", "NaN", "0", "0.0", "no", "NULL", "", "<NA>", False, 0, 0.0, None, float("nan")]
    rows = [{"id": f"q{n}", "question": f"Q{n}?", "answer": "", "error": one} for n, one in enumerate(nothing)]
    rows += [{"id": "bad", "question": "Bad?", "answer": "", "error": "no route to host"}]
    rows += [{"id": "good", "question": "Good?", "answer": "yes", "reference": "yes", "error": "False"}]
    file = tmp_path / f"answers{suffix}"
    if suffix == ".csv":
        pd.DataFrame(rows).to_csv(file, index=False)
    else:
        objects = [{**rows[0], "id": f"o{n}", "error": {"message": one}} for n, one in enumerate(("", "None", None))]
        file.write_text("".join(json.dumps(row) + "\n" for row in [*rows, *objects]))
    run = ragauge.evaluate(file, "token_f1", judge="none", out=tmp_path / "run")
    assert [row.error for row in run.rows() if row.error] == ["the record says: no route to host"]


def test_invented_ids_and_other_liberties_are_noted(tmp_path: Path) -> None:
    run = ragauge.evaluate(RECORDED, METRICS, out=tmp_path)
    assert run.manifest.notes
    assert run.summary.share_unverified is None


def test_run_and_score_give_one_set_one_fingerprint(tmp_path: Path) -> None:
    golden = ragauge.load_golden(GOLDEN)
    both = [*RECORDED, {"id": "b", "question": "What is the host?", "answer": "x", "contexts": ["y"]}]
    run = ragauge.evaluate(both, METRICS, golden=golden, out=tmp_path)
    assert run.manifest.dataset.fingerprint == golden.fingerprint
    assert run.manifest.dataset.items == golden.fingerprints


def test_it_works_inside_a_running_event_loop(tmp_path: Path) -> None:
    async def notebook() -> ragauge.Run:
        return ragauge.evaluate(RECORDED, METRICS, out=tmp_path)

    assert asyncio.run(notebook())["faithfulness"].value == 1.0


def test_a_run_is_read_back_as_it_was_made(tmp_path: Path) -> None:
    made = ragauge.evaluate(RECORDED, METRICS, out=tmp_path)
    read = ragauge.open_run(made.path)
    assert read.summary == made.summary
    assert read.to_dict() == made.to_dict()
    assert list(read) == ["faithfulness"]  # nothing was recorded that token F1 could be computed from
    assert set(read.manifest.skipped_metrics) == {"token_f1"}
    with pytest.raises(ragauge.RagaugeError, match="Did you mean 'faithfulness'"):
        read["fathfulness"]


def test_to_pandas_keeps_every_row_and_every_reason(tmp_path: Path) -> None:
    run = ragauge.evaluate(RECORDED, METRICS, golden=ragauge.load_golden(GOLDEN), out=tmp_path)
    frame = run.to_pandas()
    assert list(frame["id"]) == ["a", "b"]
    assert frame["token_f1"].isna().tolist() == [False, True]
    assert frame["token_f1:unscored"].tolist()[1] == "system_failed"


def test_hostile_text_is_text_in_a_notebook(tmp_path: Path) -> None:
    run = ragauge.evaluate(RECORDED, METRICS, out=tmp_path, name="<script>alert(1)</script>")
    assert "<script>" not in run._repr_html_()
