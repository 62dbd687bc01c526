from __future__ import annotations

import math

import numpy as np
import pytest

from ragauge.diagnose.dip import dip_statistic, dip_test, p_value, quantiles

# Reference values of the `diptest` package 0.12.0 (a translation of R's diptest), written down so that this runs
# without it.
REFERENCE = [
    ([0.1, 0.11, 0.2, 0.5, 0.51, 0.52, 0.9, 0.95, 0.97], 0.14074074074074075),
    ([1.0, 2.0, 3.0, 4.0, 5.0], 0.1),
]


@pytest.mark.parametrize(("values", "expected"), REFERENCE)
def test_the_dip_has_its_reference_value(values: list[float], expected: float) -> None:
    assert dip_statistic(values) == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("kind", ["uniform", "normal", "two normals", "ties", "exponential"])
def test_the_dip_agrees_with_the_diptest_package(kind: str) -> None:
    diptest = pytest.importorskip("diptest")
    rng = np.random.default_rng(5)
    for n in (4, 5, 7, 19, 60, 200):
        for _ in range(8):
            values = {
                "uniform": rng.random(n),
                "normal": rng.normal(size=n),
                "two normals": np.concatenate([rng.normal(size=n), rng.normal(4, 1, n)]),
                "ties": np.round(rng.random(n), 1),
                "exponential": rng.exponential(size=n),
            }[kind]
            expected = max(diptest.dipstat(values), 1 / (2 * len(values)))
            assert dip_statistic(values.tolist()) == pytest.approx(expected, abs=1e-9)


def test_order_and_scale_do_not_matter() -> None:
    rng = np.random.default_rng(1)
    values = np.concatenate([rng.normal(size=30), rng.normal(6, 1, 30)])
    dip = dip_statistic(values.tolist())
    assert dip_statistic((1000 * values[::-1] - 7).tolist()) == pytest.approx(dip, abs=1e-9)
    assert dip_statistic((-values).tolist()) == pytest.approx(dip, abs=1e-9)
    assert 1 / 120 <= dip <= 0.25


def test_two_heaps_have_two_modes_and_one_heap_has_one() -> None:
    rng = np.random.default_rng(2)
    one, two = rng.normal(size=200), np.concatenate([rng.normal(size=100), rng.normal(6, 1, 100)])
    alone, apart = dip_test(one.tolist()), dip_test(two.tolist())
    assert alone is not None
    assert alone.p > 0.5
    assert apart is not None
    assert apart.p <= 0.001 + 1e-12


def test_of_uniform_samples_one_in_twenty_is_called_bimodal() -> None:
    rng = np.random.default_rng(3)
    found = [dip_test(rng.random(40).tolist()) for _ in range(400)]
    share = sum(one is not None and one.p < 0.05 for one in found) / 400
    assert 0.02 <= share <= 0.085  # binomial, 400 trials of 0.05


def test_p_values_of_the_package_are_met_between_the_tables_sizes() -> None:
    diptest = pytest.importorskip("diptest")
    rng = np.random.default_rng(4)
    for n in (12, 37, 150, 700):
        values = rng.random(n)
        dip, expected = diptest.diptest(values)
        assert p_value(dip, n) == pytest.approx(min(max(expected, 0.001), 0.95), abs=0.03)


def test_too_few_values_have_no_test_and_none_no_dip() -> None:
    assert dip_test([0.1, 0.2, 0.3]) is None
    assert dip_statistic([3.0, 3.0, 3.0, 3.0]) == 0.125
    with pytest.raises(ValueError, match="no values"):
        dip_statistic([])


def test_the_table_rises_in_probability_and_covers_small_and_large_samples() -> None:
    probabilities, table = quantiles()
    assert list(probabilities) == sorted(probabilities)
    assert min(table) == 4
    assert max(table) == 5000
    for row in table.values():
        assert list(row) == sorted(row)
        assert all(math.isfinite(value) for value in row)
