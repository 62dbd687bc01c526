"""Wrong answers that a newcomer saw judged correct."""

from __future__ import annotations

import pytest

from ragauge.judges.embedded.correctness import judge_correctness


@pytest.mark.parametrize(
    ("question", "answer", "reference"),
    [
        ("What is the value of v4?", "v4 is 5.", "4"),
        ("What is the value of v4?", "v4 is 5.", "v4 is 4."),
        ("What is the value of v17?", "The value of v17 is 21.", "The value of v17 is 17."),
        ("Is HTTP/3 supported?", "HTTP/3 is supported.", "HTTP/3 is not supported."),
        ("Does a restore overwrite the stream?", "A restore overwrites it.", "A restore never overwrites it."),
    ],
)  # fmt: skip
def test_a_number_in_a_name_is_not_the_answer_and_a_negation_counts(question: str, answer: str, reference: str) -> None:
    assert judge_correctness(question, answer, reference).label == "wrong"
    assert judge_correctness(question, reference, reference).label == "correct"
