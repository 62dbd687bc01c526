"""Agreement with labels: against scikit-learn's definitions by hand, and laws."""

from __future__ import annotations

import itertools
import random

import numpy as np
import pytest

from ragauge.analysis.agreement import agreement_of, auroc, balanced_accuracy, calibration_error, f1, kappa


def drawn(n: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    generator = random.Random(seed)
    labels = [generator.randint(0, 1) for _ in range(n)]
    scores = [round(min(1.0, max(0.0, 0.4 * label + generator.random() * 0.6)), 1) for label in labels]
    return np.array(scores), np.array(labels, dtype=float)


@pytest.mark.parametrize("seed", range(10))
def test_auroc_is_the_share_of_pairs_in_order(seed: int) -> None:
    s, y = drawn(40, seed)
    pairs = [(a, b) for (a, i), (b, j) in itertools.product(zip(s, y, strict=True), repeat=2) if i == 1 and j == 0]
    by_hand = sum(1.0 if a > b else 0.5 if a == b else 0.0 for a, b in pairs) / len(pairs)
    assert auroc(s, y) == pytest.approx(by_hand)
    assert auroc(1 - s, y) == pytest.approx(1 - by_hand)
    assert auroc(s, 1 - y) == pytest.approx(1 - by_hand)


def test_one_label_alone_gives_no_figure() -> None:
    found = agreement_of([0.2, 0.9], [1, 1])
    assert found.auroc is None
    assert found.balanced_accuracy is None
    assert found.n == found.n_positive == 2
    assert f1(np.array([0.1]), np.array([0.0])) is None
    assert kappa(np.array([0.1]), np.array([0.0])) is None


def test_intervals_hold_the_value_and_repeat() -> None:
    s, y = drawn(120, 3)
    groups = [f"g{n // 3}" for n in range(120)]
    first, second = agreement_of(list(s), list(map(int, y)), groups), agreement_of(list(s), list(map(int, y)), groups)
    assert first == second
    for name in ("auroc", "balanced_accuracy", "f1", "kappa"):
        estimate = getattr(first, name)
        assert estimate.low < estimate.value < estimate.high


def test_groups_that_err_together_widen_the_interval() -> None:
    generator = random.Random(5)
    scores, labels, groups = [], [], []
    for number in range(30):
        label, right = generator.randint(0, 1), generator.random() < 0.8
        for _ in range(10):
            scores.append(float(label == right) if right else float(1 - label))
            labels.append(label)
            groups.append(str(number))
    alone = agreement_of(scores, labels).balanced_accuracy
    together = agreement_of(scores, labels, groups).balanced_accuracy
    assert alone is not None
    assert together is not None
    assert together.high - together.low > 2 * (alone.high - alone.low)


def test_calibration_error_of_a_perfect_and_a_boastful_judge() -> None:
    assert calibration_error(np.array([0.0, 1.0]), np.array([0.0, 1.0])) == 0.0
    assert calibration_error(np.array([1.0, 1.0]), np.array([0.0, 1.0])) == 0.5
    assert balanced_accuracy(np.array([1.0, 1.0]), np.array([0.0, 1.0])) == 0.5


def test_labels_other_than_0_and_1_are_refused() -> None:
    with pytest.raises(ValueError, match="0 or 1"):
        agreement_of([0.5], [2])
    with pytest.raises(ValueError, match="same length"):
        agreement_of([0.5], [1, 0])
