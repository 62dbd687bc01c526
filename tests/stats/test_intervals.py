"""Intervals of one system's mean."""

from __future__ import annotations

import math
import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragauge.stats.intervals import (
    cluster_standard_error,
    design_effect,
    effective_n,
    mean_interval,
    proportion_interval,
)

UNIT = st.floats(0, 1, allow_nan=False)


def test_pass_or_fail_values_get_wilsons_interval() -> None:
    estimate = mean_interval([1] * 27 + [0] * 3, kind="rate")
    same = proportion_interval(27, 30)
    assert (estimate.low, estimate.high) == pytest.approx((same.low, same.high), abs=1e-15)
    assert estimate.method == "Wilson score interval"
    assert estimate.n == 30


def test_a_perfect_run_does_not_get_an_interval_of_zero_width() -> None:
    estimate = mean_interval([1.0] * 40)
    assert estimate.high == 1.0
    assert estimate.low == pytest.approx(0.912, abs=0.001)


def test_one_graded_value_has_no_interval_and_one_verdict_has() -> None:
    assert mean_interval([0.4]).low is None
    assert mean_interval([1.0]).low is None
    assert mean_interval([1.0], kind="rate").low == pytest.approx(0.2065, abs=1e-4)


def test_numbers_get_students_t() -> None:
    estimate = mean_interval([1.0, 2.0, 3.0, 4.0], kind="number")
    assert estimate.method == "Student t interval"
    assert estimate.high - estimate.value == pytest.approx(3.182446 * math.sqrt(5 / 3 / 4), abs=1e-5)


def test_clusters_widen_the_interval_and_are_named() -> None:
    values = [1, 1, 1, 1, 0, 0, 0, 0] * 6
    clusters = [f"document {i // 4}" for i in range(48)]
    plain, robust = mean_interval(values), mean_interval(values, clusters=clusters)
    assert robust.high - robust.low > 1.5 * (plain.high - plain.low)
    assert robust.method == "cluster-robust Wilson score interval, 12 clusters"


def test_fewer_than_ten_clusters_are_said_to_be_too_few() -> None:
    estimate = mean_interval([1, 0, 1, 1, 0, 1], clusters=["a", "a", "b", "b", "c", "c"])
    assert estimate.method.endswith("3 clusters (too few to quantify well)")


def test_one_cluster_gives_no_interval() -> None:
    estimate = mean_interval([1, 0, 1], clusters=["a", "a", "a"])
    assert estimate.low is None
    assert estimate.value == pytest.approx(2 / 3)


def test_clusters_of_one_question_each_change_nothing() -> None:
    values = [0.2, 0.9, 1.0, 0.4]
    assert mean_interval(values, clusters=list("abcd")) == mean_interval(values)


def test_unbounded_clustered_values_get_the_robust_t() -> None:
    values = [10.0, 11.0, 20.0, 21.0, 30.0, 31.0]
    estimate = mean_interval(values, clusters=list("aabbcc"), kind="number")
    se, g = cluster_standard_error(values, list("aabbcc"))
    assert g == 3
    assert estimate.high - estimate.value == pytest.approx(4.302653 * se, rel=1e-6)


@pytest.mark.parametrize("values", [[], [math.nan], [math.inf, 0.0], [1.2], [-0.1, 0.5]])
def test_what_is_no_value_is_refused(values: list[float]) -> None:
    with pytest.raises(ValueError):
        mean_interval(values)


def test_rounding_just_outside_the_range_is_no_error() -> None:
    assert mean_interval([1.0 + 1e-12, 0.0 - 1e-12]).value == 0.5


@pytest.mark.parametrize("level", [0, 1, 95, -0.5])
def test_a_confidence_level_is_a_fraction(level: float) -> None:
    with pytest.raises(ValueError, match="between 0 and 1"):
        mean_interval([0.5, 0.6], level=level)


def test_no_questions_have_no_proportion() -> None:
    with pytest.raises(ValueError, match="0 of 0"):
        proportion_interval(0, 0)
    with pytest.raises(ValueError, match="5 of 4"):
        proportion_interval(5, 4)


@given(st.lists(UNIT, min_size=2, max_size=60))
def test_the_interval_stays_in_range_and_holds_the_mean(values: list[float]) -> None:
    estimate = mean_interval(values)
    assert 0.0 <= estimate.low <= estimate.value + 1e-12
    assert estimate.value - 1e-12 <= estimate.high <= 1.0
    assert estimate.high > estimate.low
    assert len(values) <= effective_n(values) <= 50 * len(values)


@given(st.lists(st.tuples(UNIT, st.sampled_from("abcdef")), min_size=2, max_size=40), st.randoms(use_true_random=False))
def test_order_does_not_matter(pairs: list[tuple[float, str]], random) -> None:
    shuffled = random.sample(pairs, len(pairs))
    one, other = (mean_interval([v for v, _ in p], clusters=[c for _, c in p]) for p in (pairs, shuffled))
    assert one.value == pytest.approx(other.value, abs=1e-12)
    if one.low is not None:
        assert (one.low, one.high) == pytest.approx((other.low, other.high), abs=1e-9)


@given(st.lists(UNIT, min_size=4, max_size=40))
def test_clustering_never_narrows_below_independence(values: list[float]) -> None:
    assert design_effect(values, [str(i // 2) for i in range(len(values))]) >= 1.0


def test_importing_and_a_wilson_interval_need_neither_numpy_nor_scipy() -> None:
    code = (
        "import sys; from ragauge.stats.intervals import mean_interval; mean_interval([1,0,1]);"
        "print([m for m in sys.modules if m in ('numpy','scipy','scipy.stats')])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
