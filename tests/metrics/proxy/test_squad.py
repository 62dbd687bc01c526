"""Exact match and token F1 as SQuAD's evaluation script (v1.1, v2.0) computes them."""

from __future__ import annotations

import pytest

from ragauge.core.score import Scored
from ragauge.metrics.proxy.exact_match import ExactMatch
from ragauge.metrics.proxy.squad import squad_f1, squad_normal
from ragauge.metrics.proxy.token_f1 import TokenF1
from ragauge.testing import a_sample, score_now


@pytest.mark.parametrize(
    ("text", "want"),
    [
        ("The Eiffel Tower.", "eiffel tower"),
        ("  an  A the ", ""),
        ("theatre and an-other", "theatre and another"),
        ("U.S.A.", "usa"),
        ("“curly” quotes stay", "“curly” quotes stay"),
        ("a\u00a0b", "b"),
    ],
)
def test_normalises_as_the_script_does(text: str, want: str) -> None:
    assert squad_normal(text) == want


@pytest.mark.parametrize(
    ("answer", "reference", "exact", "f1"),
    [
        ("The port 8125.", "port 8125", 1.0, 1.0),
        ("the port is 8125", "port 8125", 0.0, 0.8),
        ("8125", "8126", 0.0, 0.0),
        ("to be or to be", "to be", 0.0, 2 * (2 / 5) / (2 / 5 + 1)),
        ("the", "a", 1.0, 1.0),
        ("the", "port", 0.0, 0.0),
        ("port", "the", 0.0, 0.0),
        ("Port 8125 [1].", "port 8125", 1.0, 1.0),
    ],
)
def test_scores_as_the_script_does(answer: str, reference: str, exact: float, f1: float) -> None:
    sample = a_sample(answer=answer, reference=reference)
    match, overlap = score_now(ExactMatch(), sample), score_now(TokenF1(), sample)
    assert isinstance(match, Scored)
    assert isinstance(overlap, Scored)
    assert match.value == exact
    assert overlap.value == pytest.approx(f1, abs=1e-12)


def test_precision_and_recall_are_shown() -> None:
    assert squad_f1("the port is 8125", "port 8125")[:2] == pytest.approx((2 / 3, 1.0))
    overlap = score_now(TokenF1(), a_sample(answer="the port is 8125", reference="port 8125"))
    assert isinstance(overlap, Scored)
    assert overlap.details == pytest.approx({"precision": 2 / 3, "recall": 1.0})
