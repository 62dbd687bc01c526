"""The library: a system asked from Python, names of metrics, a sweep, also while a loop is running."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

import ragauge
from ragauge.errors import DiskFull, UnknownName, UsageError

GOLDEN = """
- {id: a, question: Which port?, answer: Port 8125., keywords: ["8125"], sources: [net.md]}
- {id: b, question: Which name?, answer: Otter., keywords: [Otter], sources: [name.md]}
"""


def answer(question: str) -> dict[str, object]:
    return {"answer": f"{question} Port 8125.", "contexts": [{"id": "net.md#1", "document": "net.md", "text": "8125"}]}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "golden.yaml").write_text(GOLDEN, encoding="utf-8")
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "net.md").write_text("# Net\n\nThe port is 8125.\n", encoding="utf-8")
    (tmp_path / "docs" / "name.md").write_text("# Name\n\nThe name is Otter.\n", encoding="utf-8")
    (tmp_path / "ragauge.yaml").write_text(
        "golden: golden.yaml\ncorpus: docs\njudge: null\nmetrics: [keyword_hits]\n"
        "system: {reference: {retrieval: bm25}}\n",
        encoding="utf-8",
    )
    (tmp_path / "sweep.yaml").write_text("base: ragauge.yaml\ngrid: {system.reference.k: [1, 2]}\n", encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_a_function_is_asked_the_golden_questions(folder: Path) -> None:
    run = ragauge.evaluate(golden="golden.yaml", system=answer, metrics="recall@5, keyword_hits", judge="none")
    assert list(run) == ["recall@5:doc", "keyword_hits"]
    assert run["keyword_hits"].value == 0.5
    assert run.manifest.system.name.endswith("answer")


def test_what_evaluate_cannot_do_is_said(folder: Path) -> None:
    with pytest.raises(UsageError, match="what was answered, or a system to ask"):
        ragauge.evaluate(metrics="keyword_hits")
    with pytest.raises(UsageError, match="what was answered, or a system to ask"):
        ragauge.evaluate([{"question": "Q", "answer": "A"}], system=answer, golden="golden.yaml")
    with pytest.raises(UsageError, match="which questions"):
        ragauge.evaluate(system=answer)


def test_a_metric_may_be_named_without_its_granularity(folder: Path) -> None:
    run = ragauge.evaluate(golden="golden.yaml", system=answer, metrics=["recall@5", "recall@1"], judge="none")
    assert run["recall@5"].key == "recall@5:doc"
    assert "recall@5" in run
    assert "recall" not in run
    with pytest.raises(UnknownName, match="one metric"):
        _ = run["recall"]


def test_a_sweep_from_python_while_a_loop_is_running(folder: Path) -> None:
    async def notebook() -> object:
        return ragauge.sweep("sweep.yaml", quality="keyword_hits", executor="tasks", workers=1)

    swept = asyncio.run(notebook())
    assert [cell.id for cell in swept.table.cells] == ["c01", "c02"]  # type: ignore[attr-defined]
    assert ragauge.open_run(swept.runs["c01"])["keyword_hits"].n == 2  # type: ignore[attr-defined]
    assert swept.to_dict()["quality"] == "keyword_hits"  # type: ignore[attr-defined]
    again = ragauge.sweep(resume=swept.path)  # type: ignore[attr-defined]
    assert again.table.cells[0].id == "c01"
    assert "2 cells by keyword_hits" in repr(again)
    with pytest.raises(UsageError, match="sweep needs a file"):
        ragauge.sweep()


def test_a_full_disk_is_no_wrong_usage() -> None:
    assert DiskFull("no space").exit_code == 3
