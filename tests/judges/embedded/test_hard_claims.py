"""The claims that words cannot tell are what they are said to be, and any judge can be measured on them."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import numpy as np
from tests.judges.embedded.test_faithful_text import script

from ragauge.analysis.agreement import auroc
from ragauge.engine.judge_bench import read_labelled


def test_half_are_supported_and_their_words_do_not_say_which() -> None:
    hard = script("hard_claims")
    passages = hard.passages()
    assert len({one.text for one in passages}) == len(passages)
    labels = Counter(label for one in passages for label, _ in one.claims)
    assert set(labels) == set(hard.LABELS)
    assert 0.45 < labels["supported"] / labels.total() < 0.55
    measured = [one for one in passages if one.measured]
    assert 0.03 < len(measured) / len(passages) < 0.07
    claims = [(hard.share_found(claim, one.contexts), label) for one in measured for label, claim in one.claims]
    overlap = auroc(
        np.array([share for share, _ in claims]), np.array([float(label == "supported") for _, label in claims])
    )
    assert overlap is not None
    assert 0.4 < overlap < 0.55


def test_they_are_rows_that_a_bench_of_judges_reads(tmp_path: Path) -> None:
    hard = script("hard_claims")
    target = tmp_path / "hard.jsonl"
    n = hard.write_rows(target)
    rows = read_labelled(target)["hard_claims"]
    assert len(rows) == n > 1000
    assert len({row.group for row in rows}) == sum(one.measured for one in hard.passages())
