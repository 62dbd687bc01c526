"""Two groups, looked at again and again."""

from __future__ import annotations

import random

import numpy as np
import pytest

from ragauge.stats.two_samples import (
    Moments,
    Stratum,
    difference_sequence,
    mean_sequence,
    observations_needed,
    sample_ratio_test,
)


def moments(values: list[float]) -> Moments:
    found = Moments()
    for value in values:
        found.add(value)
    return found


def test_moments_are_those_of_numpy() -> None:
    draw = random.Random(1)
    values = [draw.gauss(1e6, 3) for _ in range(500)]
    found = moments(values)
    assert found.mean == pytest.approx(np.mean(values), rel=1e-12)
    assert found.variance == pytest.approx(np.var(values, ddof=1), rel=1e-9)


def test_the_difference_is_second_minus_first_with_an_interval_around_it() -> None:
    draw = random.Random(2)
    a, b = moments([draw.gauss(0, 1) for _ in range(2000)]), moments([draw.gauss(0.5, 1) for _ in range(2000)])
    found, variance = difference_sequence([Stratum(a, b)], rate=False)
    assert found.value == pytest.approx(b.mean - a.mean)
    assert found.low is not None
    assert found.high is not None
    assert 0 < found.low < found.value < found.high
    assert variance == pytest.approx(4000 * (a.variance / 2000 + b.variance / 2000))


def test_an_always_valid_interval_is_wider_than_one_for_a_single_look() -> None:
    draw = random.Random(3)
    a, b = (moments([draw.gauss(0, 1) for _ in range(1000)]) for _ in range(2))
    found, _ = difference_sequence([Stratum(a, b)], rate=False, n_opt=1000)
    assert found.low is not None
    once = 1.96 * (a.variance / a.n + b.variance / b.n) ** 0.5
    assert 1.3 * once < found.value - found.low < 2.2 * once


def test_few_observations_have_no_interval_and_few_events_an_exact_one() -> None:
    a, b = moments([0.3, 0.4]), moments([0.5, 0.9])
    assert difference_sequence([Stratum(a, b)], rate=False)[0].low is None
    assert mean_sequence(a).low is None
    rare = Stratum(moments([0.0] * 200), moments([1.0] * 3 + [0.0] * 197))
    found, _ = difference_sequence([rare], rate=True)
    assert "exact" in found.method
    assert found.low is not None
    assert found.high is not None
    assert found.low < 0 < 0.015 < found.high


def test_strata_take_the_mix_out_of_the_difference() -> None:
    """Simpson's case: the variant is better within each stratum, and looks worse because it got the hard one."""
    easy = Stratum(moments([1.0] * 720 + [0.0] * 180), moments([1.0] * 90 + [0.0] * 10))
    hard = Stratum(moments([1.0] * 20 + [0.0] * 80), moments([1.0] * 270 + [0.0] * 630))
    found, _ = difference_sequence([easy, hard], rate=True)
    assert found.value == pytest.approx(0.1)
    together = Stratum(moments([1.0] * 740 + [0.0] * 260), moments([1.0] * 360 + [0.0] * 640))
    assert difference_sequence([together], rate=True)[0].value == pytest.approx(-0.38)


def test_the_promised_number_of_observations_settles_a_difference_of_that_size() -> None:
    needed = observations_needed(0.2, 4.0)
    assert needed is not None
    for n, settled in ((needed, True), (int(needed * 0.9), False)):
        half = n // 2
        a, b = moments([1.0, -1.0] * (half // 2)), moments([1.2, -0.8] * (half // 2))
        found, _ = difference_sequence([Stratum(a, b)], rate=False)
        assert found.low is not None
        assert (found.low > -0.002) is settled
    assert observations_needed(0.0, 1.0) is None
    assert observations_needed(1e-9, 1.0) is None


@pytest.mark.parametrize("kind", ["rate", "rare rate", "mean"])
def test_looking_every_day_raises_few_false_alarms(kind: str) -> None:
    """A/A tests, looked at 40 times each: the interval ever excludes 0 in at most 5 % of them."""
    generator = np.random.default_rng(11)
    n_tests, n_looks, step = 400, 40, 100
    wrong = 0
    for _ in range(n_tests):
        if kind == "mean":
            draws = generator.exponential(2.0, size=(2, n_looks * step))
        else:
            draws = (generator.random((2, n_looks * step)) < (0.3 if kind == "rate" else 0.01)).astype(float)
        sums, squares = draws.cumsum(axis=1), (draws**2).cumsum(axis=1)
        for look in range(1, n_looks + 1):
            n = look * step
            groups = [Moments(n, sums[g, n - 1] / n, squares[g, n - 1] - sums[g, n - 1] ** 2 / n) for g in range(2)]
            found, _ = difference_sequence([Stratum(*groups)], rate=kind != "mean")
            if found.low is not None and found.high is not None and (found.low > 0 or found.high < 0):
                wrong += 1
                break
    assert wrong / n_tests <= 0.05


def test_a_split_that_is_not_the_meant_one_is_found() -> None:
    assert sample_ratio_test({"A": 50_000, "B": 51_500}, {"A": 1, "B": 1})[1] < 0.001
    assert sample_ratio_test({"A": 50_000, "B": 50_200}, {"A": 1, "B": 1})[1] > 0.05
    assert sample_ratio_test({"A": 900, "B": 100}, {"A": 9, "B": 1})[1] > 0.9
    with pytest.raises(ValueError, match="share above 0"):
        sample_ratio_test({"A": 1, "B": 1}, {"A": 1, "B": 0})


def test_the_check_agrees_with_scipy() -> None:
    from scipy.stats import chisquare

    counts = {"A": 480, "B": 530, "C": 510}
    theirs = chisquare(list(counts.values()))
    chi2, p = sample_ratio_test(counts, dict.fromkeys(counts, 1.0))
    assert chi2 == pytest.approx(theirs.statistic)
    assert p == pytest.approx(theirs.pvalue)
