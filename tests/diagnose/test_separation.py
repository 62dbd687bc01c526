from __future__ import annotations

import numpy as np
import pytest

from ragauge.diagnose.separation import auroc, overlap


def brute_force(scores: list[float], relevant: list[bool]) -> float:
    good = [s for s, r in zip(scores, relevant, strict=True) if r]
    bad = [s for s, r in zip(scores, relevant, strict=True) if not r]
    return sum((g > b) + 0.5 * (g == b) for g in good for b in bad) / (len(good) * len(bad))


def test_auroc_is_the_share_of_pairs_in_the_right_order() -> None:
    rng = np.random.default_rng(0)
    for _ in range(20):
        scores = np.round(rng.random(60), 1).tolist()
        relevant = (rng.random(60) < 0.3).tolist()
        found = auroc(scores, relevant, [str(i // 5) for i in range(60)])
        assert found is not None
        assert found.value == pytest.approx(brute_force(scores, relevant))
        assert found.low is not None
        assert found.high is not None
        assert found.low <= found.value <= found.high


def test_the_interval_covers_the_truth_when_chunks_of_a_question_hang_together() -> None:
    rng = np.random.default_rng(1)
    # scores = question's own level + 1 for relevant + noise: the pooled AUROC of N(1, 2) against N(0, 2) is Φ(1 / 2)
    truth, covered, n = 0.6915, 0, 200
    for _ in range(n):
        level = np.repeat(rng.normal(size=40), 8)
        relevant = np.tile([True, True, False, False, False, False, False, False], 40)
        scores = level + relevant + rng.normal(size=320)
        found = auroc(scores.tolist(), relevant.tolist(), [str(i // 8) for i in range(320)])
        assert found is not None
        assert found.low is not None
        assert found.high is not None
        covered += found.low <= truth <= found.high
    assert covered / n >= 0.90


def test_nothing_to_compare_has_no_auroc_and_perfect_separation_no_interval() -> None:
    assert auroc([0.1, 0.2], [True, True], ["a", "b"]) is None
    perfect = auroc([0.1, 0.9], [False, True], ["a", "b"])
    assert perfect is not None
    assert (perfect.value, perfect.low, perfect.high) == (1.0, None, None)


def test_overlap_is_the_shared_area() -> None:
    assert overlap([0.0, 0.1, 0.2], [0.8, 0.9, 1.0]) == 0.0
    assert overlap([1, 2, 3], [1, 2, 3]) == 1.0
    assert overlap([], [1.0]) is None
