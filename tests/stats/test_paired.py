"""Paired tests and intervals."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragauge.stats import paired, permutation

COUNTS = st.tuples(st.integers(0, 40), st.integers(0, 40), st.integers(0, 60)).filter(lambda c: sum(c) > 0)


def test_no_discordant_pairs_are_no_evidence() -> None:
    assert paired.mcnemar_exact(0, 0) == 1.0
    assert paired.mcnemar_midp(0, 0) == 1.0


def test_identical_runs_still_have_an_interval_of_some_width() -> None:
    estimate = paired.tango_interval(0, 0, 50)
    assert estimate.value == 0
    assert estimate.low == pytest.approx(-estimate.high, abs=1e-9)
    assert 0.05 < estimate.high < 0.1


def test_everything_flipped_reaches_the_end() -> None:
    assert paired.tango_interval(20, 0, 20).high == 1.0
    assert paired.tango_interval(0, 20, 20).low == -1.0


@given(COUNTS)
def test_tango_is_antisymmetric_and_holds_the_difference(counts: tuple[int, int, int]) -> None:
    b, c, same = counts
    n = b + c + same
    one, other = paired.tango_interval(b, c, n), paired.tango_interval(c, b, n)
    assert one.low <= one.value + 1e-9
    assert one.high >= one.value - 1e-9
    assert one.low == pytest.approx(-other.high, abs=1e-9)


@given(st.integers(0, 60), st.integers(0, 60))
def test_midp_lies_between_half_the_exact_p_and_the_exact_p(b: int, c: int) -> None:
    exact, mid = paired.mcnemar_exact(b, c), paired.mcnemar_midp(b, c)
    assert 0 < mid <= 1
    assert mid <= exact + 1e-12
    assert mid == pytest.approx(paired.mcnemar_midp(c, b))


def test_huge_counts_agree_with_the_exact_sum() -> None:
    small = 2 * sum(math.comb(1000, k) for k in range(471)) / 2**1000
    assert paired.mcnemar_exact(530, 470) == pytest.approx(small, rel=1e-9)
    assert paired.mcnemar_exact(531, 470) == pytest.approx(
        2 * sum(math.comb(1001, k) for k in range(471)) / 2**1001, rel=1e-9
    )


def test_sign_flips_of_pass_or_fail_are_mcnemars_exact_test() -> None:
    differences = [1.0] * 8 + [-1.0] * 2 + [0.0] * 90
    assert permutation.sign_flip_test(differences).p == pytest.approx(paired.mcnemar_exact(8, 2))


def test_monte_carlo_p_is_reproducible_and_near_the_exact_one() -> None:
    rng = np.random.default_rng(3)
    d = rng.normal(0.3, 1.0, 14)
    exact = permutation.sign_flip_test(d, exact_up_to=14).p
    drawn = permutation.sign_flip_test(d, exact_up_to=0, seed=1)
    assert drawn.p == permutation.sign_flip_test(d, exact_up_to=0, seed=1).p
    assert drawn.p == pytest.approx(exact, abs=0.02)
    assert "seed 1" in drawn.method


def test_clusters_flip_together() -> None:
    d = [0.2] * 10 + [0.1] * 10
    assert permutation.sign_flip_test(d, clusters=["a"] * 10 + ["b"] * 10).p == 0.5
    assert permutation.sign_flip_test(d).p < 0.01


def test_a_monte_carlo_p_is_never_zero() -> None:
    assert permutation.sign_flip_test([1.0] * 60).p == pytest.approx(1 / 10_000)


def test_differences_that_do_not_vary_have_no_t_interval() -> None:
    for d in ([0.0] * 5, [0.25] * 5, [0.3]):
        assert paired.difference_interval(d).low is None


@pytest.mark.parametrize("counts", [(-1, 0, 5), (3, 3, 5), (0, 0, 0)])
def test_impossible_counts_are_refused(counts: tuple[int, int, int]) -> None:
    with pytest.raises(ValueError, match="no counts"):
        paired.tango_interval(*counts)


@given(st.lists(st.floats(-1, 1), min_size=2, max_size=30))
def test_p_values_are_probabilities_and_do_not_depend_on_direction(d: list[float]) -> None:
    p = permutation.sign_flip_test(d).p
    assert 0 < p <= 1
    assert permutation.sign_flip_test([-x for x in d]).p == pytest.approx(p, abs=1e-9)
