"""Chunks to documents."""

from __future__ import annotations

import math

import pytest

from ragauge.errors import InputError, UsageError
from ragauge.ranking import collapse_run, collapse_to_documents, evaluate

CHUNKS = ["d1#3", "d2#0", "d1#1", "d3#2", "d2#5"]


def test_documents_stand_where_their_best_chunk_stood() -> None:
    assert collapse_to_documents(CHUNKS, "#") == ["d1", "d2", "d3"]
    assert collapse_to_documents(CHUNKS, {c: c[:2] for c in CHUNKS}, k=2) == ["d1", "d2"]
    assert collapse_to_documents(CHUNKS, lambda c: c[:2], k=3, cut="chunks") == ["d1", "d2"]
    assert collapse_to_documents(["whole", "a#b#1"], "#") == ["whole", "a#b"]


def test_scores_collapse_to_the_best_chunk() -> None:
    assert collapse_run({"q": {"d1#0": -2.0, "d1#1": -1.0, "d2#0": -1.5}}, "#") == {"q": {"d1": -1.0, "d2": -1.5}}
    assert collapse_run({"q": CHUNKS}, "#") == {"q": ["d1", "d2", "d3"]}


@pytest.mark.parametrize("scores", [{"d#1": math.nan, "d#2": 1.0}, {"d#1": 1.0, "d#2": math.nan}])
def test_a_nan_does_not_hide_behind_a_better_chunk(scores: dict[str, float]) -> None:
    with pytest.raises(InputError, match="'d'"):
        evaluate({"q": {"d": 1}}, collapse_run({"q": scores}, "#"), "mrr")


def test_unknown_chunks_and_bad_cut_offs_are_errors() -> None:
    with pytest.raises(InputError, match="'d9'"):
        collapse_to_documents(["d9"], {"d1": "x"})
    with pytest.raises(InputError):
        collapse_to_documents(["d9"], "")
    with pytest.raises(UsageError):
        collapse_to_documents(["d9"], "#", k=0)
