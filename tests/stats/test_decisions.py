"""Multiplicity, non-inferiority, power, certification: what is decided with the numbers."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragauge.stats import agreement, correction, judge_noise, multiplicity, noninferiority, power, sampling
from ragauge.stats.agreement import Certificate, Table
from ragauge.stats.correction import Judged
from ragauge.stats.noninferiority import Decision

P = st.lists(st.floats(0, 1), min_size=1, max_size=30)


@given(P)
def test_adjusted_p_values_never_shrink_and_keep_the_order(p: list[float]) -> None:
    for adjust in (multiplicity.holm, multiplicity.benjamini_hochberg, multiplicity.benjamini_yekutieli):
        adjusted = adjust(p)
        assert all(a >= x - 1e-12 and a <= 1 for a, x in zip(adjusted, p, strict=True))
        pairs = sorted(zip(p, adjusted, strict=True))
        assert all(x[1] <= y[1] + 1e-12 for x, y in pairwise(pairs))


@given(P)
def test_holm_is_the_strictest_of_holm_and_benjamini_hochberg(p: list[float]) -> None:
    for strict, loose in zip(multiplicity.holm(p), multiplicity.benjamini_hochberg(p), strict=True):
        assert strict >= loose - 1e-12


def test_no_p_values_give_no_adjusted_ones() -> None:
    assert multiplicity.holm([]) == []
    assert noninferiority.decide([]) == []


def test_an_unchanged_metric_passes_with_enough_questions_and_is_inconclusive_with_few() -> None:
    many, few = (noninferiority.drop_of_rates(n // 20, n // 20, n, 0.03) for n in (1400, 60))
    assert noninferiority.decide([many]) == [Decision.PASS]
    assert noninferiority.decide([few]) == [Decision.INCONCLUSIVE]
    assert few.n_needed == pytest.approx(687, abs=1)


def test_a_real_drop_fails() -> None:
    drop = noninferiority.drop_of_rates(1, 25, 120, 0.03)
    assert noninferiority.decide([drop]) == [Decision.FAIL]
    graded = noninferiority.drop_of_means([-0.4, -0.2, -0.3, -0.1, -0.2, -0.35] * 8, 0.03)
    assert noninferiority.decide([graded]) == [Decision.FAIL]


def test_a_significant_drop_inside_the_margin_is_no_failure() -> None:
    drop = noninferiority.drop_of_means([-0.02, -0.021, -0.019] * 40, 0.03)
    assert drop.p_worse < 0.001
    assert noninferiority.decide([drop]) == [Decision.PASS]


def test_two_identical_runs_pass_but_not_with_a_bound_of_zero_width() -> None:
    many, few = (noninferiority.drop_of_means([0.0] * n, 0.03) for n in (100, 20))
    assert many.low < 0
    assert noninferiority.decide([many]) == [Decision.PASS]
    assert noninferiority.decide([few]) == [Decision.INCONCLUSIVE]


def test_one_question_decides_nothing() -> None:
    with pytest.raises(ValueError, match="two independent"):
        noninferiority.drop_of_means([0.1], 0.03)
    with pytest.raises(ValueError, match="two independent"):
        noninferiority.drop_of_means([0.1, 0.2], 0.03, clusters=["a", "a"])


@pytest.mark.parametrize("psi, n", [(0.05, 343), (0.10, 687), (0.15, 1030), (0.20, 1374)])
def test_the_questions_that_a_gate_needs_are_those_of_the_design_sheet(psi: float, n: int) -> None:
    assert round(power.sample_size_noninferiority(psi, 0.03)) in (n, n - 1)


@pytest.mark.parametrize(
    "psi, n, mde", [(0.05, 200, 0.044), (0.10, 100, 0.088), (0.20, 50, 0.173), (0.20, 1000, 0.040)]
)
def test_smallest_differences_are_those_of_the_design_sheet(psi: float, n: int, mde: float) -> None:
    assert power.mde_mcnemar(n, psi) == pytest.approx(mde, abs=0.0006)


def test_power_and_sample_size_invert_each_other() -> None:
    n = power.sample_size_paired_t(0.1, 0.3)
    assert power.power_paired_t(n, 0.1, 0.3) == pytest.approx(0.8, abs=1e-6)
    assert power.mde_paired_t(n, 0.3) == pytest.approx(0.1, abs=1e-6)


@pytest.mark.parametrize("n, needed", [(30, 30), (50, 49), (100, 94), (150, 139), (200, 184), (300, 274), (500, 453)])
def test_agreements_that_certify_a_judge(n: int, needed: int) -> None:
    assert agreement.min_agreements_to_certify(n) == needed


def test_too_few_labels_certify_nothing() -> None:
    assert agreement.min_agreements_to_certify(10) is None


def test_a_judge_that_always_passes_is_not_certified_by_its_agreement() -> None:
    certificate = agreement.certify(Table(0, 20, 0, 980))
    assert certificate.agreement == 0.98
    assert certificate.verdict is Certificate.PROVISIONAL


def test_a_judge_without_a_single_human_failure_is_not_certified() -> None:
    assert agreement.certify(Table(0, 0, 0, 200)).verdict is Certificate.PROVISIONAL


def test_a_bad_judge_is_sent_back_and_the_proof_is_told() -> None:
    assert agreement.certify(Table(10, 15, 25, 50)).proven
    assert not agreement.certify(Table(2, 1, 2, 6)).proven


def test_kappa_of_raters_who_say_one_thing_is_undefined_and_of_opposites_minus_one() -> None:
    assert agreement.cohen_kappa(Table(30, 0, 0, 0)) is None
    assert agreement.cohen_kappa(Table(0, 10, 10, 0)).value == -1.0
    assert agreement.krippendorff_alpha([[1, 1, None], [1, 1, 2]]) is None


def test_undefined_corrections_are_none() -> None:
    assert correction.rogan_gladen(Judged(Table(0, 0, 5, 25), 10, 100)) is None
    assert correction.rogan_gladen(Judged(Table(5, 5, 15, 15), 10, 100)) is None
    assert correction.lang_reiczigel(Judged(Table(0, 0, 0, 0), 10, 100)) is None


@given(st.tuples(*[st.integers(0, 30)] * 4), st.integers(0, 200), st.integers(0, 200))
def test_corrected_rates_stay_in_range_whatever_was_labelled(
    cells: tuple[int, ...], failing: int, passing: int
) -> None:
    if sum(cells) + failing + passing == 0:
        return
    estimate = correction.corrected_rate(Judged(Table(*cells), failing, failing + passing))
    assert 0 <= estimate.low <= estimate.value + 1e-9
    assert estimate.value - 1e-9 <= estimate.high <= 1


@given(
    st.integers(0, 300),
    st.lists(st.tuples(st.floats(0.01, 1), st.floats(0, 0.5), st.integers(0, 100)), min_size=1, max_size=5),
)
def test_an_allocation_spends_the_budget_and_never_more_than_there_is(
    budget: int, strata: list[tuple[float, float, int]]
) -> None:
    weights, sds, sizes = (list(column) for column in zip(*strata, strict=True))
    counts = sampling.neyman_allocation(budget, weights, sds, sizes)
    assert sum(counts) == min(budget, sum(sizes))
    assert all(0 <= c <= size for c, size in zip(counts, sizes, strict=True))


def test_judge_noise_needs_repeats() -> None:
    with pytest.raises(ValueError, match="two"):
        judge_noise.variance_components([[0.5], [0.6]])
    with pytest.raises(ValueError, match="two judgements"):
        judge_noise.flip_rate([[1]])
    assert judge_noise.variance_components([[0.5, 0.5], [0.5, 0.5]]).icc1 is None
