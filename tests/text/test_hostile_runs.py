"""Long runs of signs cost time in proportion to their length: no pattern tries every split of a run."""

from __future__ import annotations

import time
from collections.abc import Callable

import pytest

from ragauge.judges.embedded.claims import split_claims
from ragauge.judges.embedded.support import judge_text
from ragauge.text.normalise import clean, normalise
from ragauge.text.numbers import quantities
from ragauge.text.sentences import split_sentences
from ragauge.text.tokens import words

RUNS = ["\t \t", " ", "# ", "> ", "* ", "- ", "_", "| ", "|-", ":-", ".a.", "a.a-", "1. ", "1\n", "[1]", "(", "`"]
DOING: dict[str, Callable[[str], object]] = {
    "words": words, "quantities": quantities, "sentences": split_sentences, "claims": split_claims, "clean": clean,
    "normalise": normalise, "evidence": lambda text: judge_text("The cat sat.", [text]),
    "claim": lambda text: judge_text(text, ["The cat sat. It slept."]),
}  # fmt: skip


@pytest.mark.parametrize("name", DOING)
def test_a_run_of_signs_takes_time_in_proportion_to_its_length(name: str) -> None:
    """Eight times the text: a quadratic pattern takes 64 times as long, and seconds."""
    for sign in RUNS:
        taken = []
        for size in (4_000, 32_000):
            text = sign * (size // len(sign)) + "a."
            started = time.process_time()
            DOING[name](text)
            taken.append(time.process_time() - started)
        assert taken[1] < 3.0 or taken[1] < 30 * taken[0], (name, sign, taken)
