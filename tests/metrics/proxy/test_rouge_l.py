"""Agreement with rouge-score 0.1.2 (`RougeScorer(["rougeL"], use_stemmer=False)`); its output is written down here."""

from __future__ import annotations

import random

import pytest

from ragauge.core.score import Scored
from ragauge.metrics.proxy.rouge_l import RougeL, lcs_length, rouge_l
from ragauge.testing import a_sample, score_now

ROUGE_SCORE = [
    # answer, reference, precision, recall, F1
    ("the cat sat on the mat", "the cat is on the mat", 0.8333333333333334, 0.8333333333333334, 0.8333333333333334),
    (
        "The agent listens on UDP port 8125 by default.",
        "By default the agent listens on port 8125 (UDP).",
        0.6666666666666666,
        0.6666666666666666,
        0.6666666666666666,
    ),
    (
        "Set --max-size=10 in foo_bar.yaml, then restart.",
        "Set max_size to 10 in foo_bar.yaml and restart",
        0.9,
        0.8181818181818182,
        0.8571428571428572,
    ),
    ("a b c d e f g", "g f e d c b a", 0.14285714285714285, 0.14285714285714285, 0.14285714285714285),
    ("don't stop", "do not stop", 0.3333333333333333, 0.3333333333333333, 0.3333333333333333),
    (
        "Refunds are paid within 10 days. Shipping is not refunded.",
        "Refunds are paid within ten days; gift cards are excluded.",
        0.5,
        0.5,
        0.5,
    ),
    ("v8.1.2 fixes E42", "E42 is fixed in v8.1.2", 0.6, 0.42857142857142855, 0.5),
    ("x", "y", 0.0, 0.0, 0.0),
    (
        "one two three four five six seven eight nine ten",
        "two four six eight ten twelve",
        0.5,
        0.8333333333333334,
        0.625,
    ),
]


@pytest.mark.parametrize(("answer", "reference", "precision", "recall", "f1"), ROUGE_SCORE)
def test_agrees_with_rouge_score(answer: str, reference: str, precision: float, recall: float, f1: float) -> None:
    assert rouge_l(answer, reference) == pytest.approx((precision, recall, f1), abs=1e-9)


def test_words_of_every_script_count() -> None:
    assert rouge_l("Größe ändern", "größe ändern")[2] == 1.0
    assert rouge_l("порт 8125", "порт 8125")[2] == 1.0


def test_citation_markers_are_no_words() -> None:
    scored = score_now(RougeL(), a_sample(answer="Port 8125 [1].", reference="Port 8125"))
    assert isinstance(scored, Scored)
    assert scored.value == 1.0


def test_no_words_share_nothing() -> None:
    assert rouge_l("…", "!") == (0.0, 0.0, 0.0)
    scored = score_now(RougeL(), a_sample(answer="Port", reference="?!"))
    assert isinstance(scored, Scored)
    assert scored.value == 0.0


def plain(a: list[str], b: list[str]) -> int:
    row = [0] * (len(b) + 1)
    for x in a:
        diagonal = 0
        for j, y in enumerate(b, start=1):
            above = row[j]
            row[j] = diagonal + 1 if x == y else max(above, row[j - 1])
            diagonal = above
    return row[-1]


def test_the_bit_parallel_length_is_the_textbook_one() -> None:
    draw = random.Random(7)
    for _ in range(500):
        a, b = ([draw.choice("abcdefg") for _ in range(draw.randrange(40))] for _ in range(2))
        assert lcs_length(a, b) == plain(a, b)


def test_masks_that_are_not_kept_give_the_same_length(monkeypatch: pytest.MonkeyPatch) -> None:
    draw = random.Random(8)
    a, b = ([draw.choice("abcdefg") for _ in range(60)] for _ in range(2))
    monkeypatch.setattr("ragauge.metrics.proxy.rouge_l._MASK_BITS", 100)
    assert lcs_length(a, b) == plain(a, b)
