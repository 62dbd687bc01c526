"""Every knob of the reference pipeline as a cell of a real sweep: it runs, it is recorded, and it changes something."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from ragauge.cli.sweep import command
from ragauge.store.rundir import RunDir
from ragauge.store.sweepdir import SweepDir
from ragauge.testing.fake_llm import FakeLLMServer

ITEMS = [
    {"id": "pro", "question": "How many requests per minute does the Pro plan have?", "sources": ["guide/limits.md"]},
    {"id": "wait", "question": "What does the flag --wait do and how long does it wait?", "sources": ["cli.md"]},
    {"id": "rotate", "question": "How do I rotate a key?", "sources": ["keys.md"]},
]
#: Knob → a value that is not the base's. Embedders and cross-encoders have tests of their own beside this one.
KNOBS: dict[str, Any] = {
    "splitter": "sentence", "chunk_size": 200, "chunk_overlap": 0, "chunk_unit": "tokens", "prefix": "none",
    "retrieval": "bm25", "k": 2, "candidates": 8, "rrf_k": 10,
    "rerank": "minilm", "history": "ignore", "generator": "none", "max_sentences": 1, "abstain_below": 0.6,
    "expand": "feedback",
}  # fmt: skip
#: Way of expanding → a retrieval step that shows it.
STEPS = {
    "hyde": "dense:hyde", "rewrite": "dense:rewrite", "multi_query": "dense:wording_1", "decompose": "dense:part_1",
}  # fmt: skip


def sweep(folder: Path, cells: list[dict[str, Any]], docs: Path, cache: Path, **system: Any) -> SweepDir:
    (folder / "golden.json").write_text(json.dumps([{**item, "answerable": True} for item in ITEMS]))
    base = {
        "golden": "golden.json", "corpus": str(docs),
        "judge": {"name": "none", "cache": str(folder / "replies.sqlite")},
        "metrics": ["recall@5", "abstention"],
        "system": {"reference": {"embedding_cache": str(cache), "chunk_size": 400, "retrieval": "hybrid", **system}},
    }  # fmt: skip
    (folder / "ragauge.yaml").write_text(json.dumps(base))
    file = folder / "sweep.yaml"
    file.write_text(json.dumps({"base": "ragauge.yaml", "cells": [{}, *cells], "executor": "tasks"}))
    done = CliRunner().invoke(command, [str(file), "--out", str(folder / "sweeps")], standalone_mode=False)
    assert done.exception is None, done.output
    (found,) = (folder / "sweeps").iterdir()
    return SweepDir.open(found)


def runs_of(made: SweepDir) -> dict[str, RunDir]:
    """Label → run of every cell."""
    found = [RunDir.open(path.parent) for path in made.path.rglob("manifest.json")]
    return {run.path.name: run for run in found}


def test_every_knob_that_needs_no_model_can_be_swept(tmp_path: Path, docs: Path, cache: Path) -> None:
    cells = [{f"system.reference.{name}": value} for name, value in KNOBS.items()]
    runs = runs_of(sweep(tmp_path, cells, docs, cache))
    assert len(runs) == len(cells) + 1
    settings = [run.manifest.system.settings for run in runs.values()]
    for name, value in KNOBS.items():
        assert any(one[name] == value for one in settings), name
    assert len({run.manifest.system.fingerprint for run in runs.values()}) == len(runs)
    assert all(record.error is None for run in runs.values() for record in run.records())


def test_every_way_of_asking_a_model_can_be_swept(tmp_path: Path, docs: Path, cache: Path) -> None:
    with FakeLLMServer() as server:
        model = {"name": f"compatible:fake@{server.openai_url}", "client": "raw", "timeout_s": 5.0}
        cells: list[dict[str, Any]] = [{"system.reference.expand": way} for way in STEPS]
        cells += [{"system.reference.prefix": "contextual"}, {"system.reference.generator": model}]
        cells += [{"system.reference.expand": "multi_query", "system.reference.n_queries": 1}]
        runs = runs_of(sweep(tmp_path, cells, docs, cache, model=model))
    assert len(runs) == len(cells) + 1
    names = {step.name for run in runs.values() for record in run.records() for step in record.sample.response.steps}
    assert set(STEPS.values()) <= names
    assert all(record.error is None for run in runs.values() for record in run.records())
    assert any(run.manifest.system.model for run in runs.values())


@pytest.mark.slow
def test_the_grid_of_the_issue_runs(tmp_path: Path, docs: Path, cache: Path) -> None:
    """{dense, BM25, hybrid} × {re-rank} × {HyDE} × {3 chunk sizes}; HyDE and BM25 alone exclude each other."""
    with FakeLLMServer() as server:
        model = {"name": f"compatible:fake@{server.openai_url}", "client": "raw", "timeout_s": 5.0}
        cells = [
            {
                "system.reference.retrieval": retrieval, "system.reference.rerank": rerank,
                "system.reference.expand": expand, "system.reference.chunk_size": size,
            }
            for retrieval in ("dense", "bm25", "hybrid")
            for rerank in ("none", "minilm")
            for expand in ("none", "hyde")
            for size in (200, 400, 800)
            if (retrieval, expand) != ("bm25", "hyde")
        ]  # fmt: skip
        runs = runs_of(sweep(tmp_path, cells, docs, cache, model=model))
    assert len(runs) == len(cells) + 1 == 31
    assert all(record.error is None for run in runs.values() for record in run.records())
