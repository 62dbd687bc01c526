"""References with weekdays and ordinary variation; tails of overdispersed counts."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from ragauge.stats.shift import DayValue, _normal_of_t, arcsine, overdispersed_tail, pooled, reference


def _days(n: int, rng: np.random.Generator, *, weekend: float = 0.0, between: float = 0.0) -> list[DayValue]:
    sampling = 0.01
    return [
        DayValue(
            0.8 + (weekend if i % 7 >= 5 else 0.0) + rng.normal(0, math.sqrt(sampling**2 + between**2)),
            sampling**2,
            i % 7,
        )
        for i in range(n)
    ]


def test_z_is_standard_normal_when_nothing_changed() -> None:
    rng = np.random.default_rng(1)
    for weekend, between in ((0.0, 0.0), (-0.05, 0.0), (0.0, 0.03), (-0.05, 0.02)):
        z = []
        for _ in range(300):
            days = _days(57, rng, weekend=weekend, between=between)
            z.append(reference(days[:56]).z(days[56]))
        assert abs(np.mean(z)) < 0.2
        assert 0.85 < np.std(z) < 1.15
        assert np.mean(np.abs(z) > 3) < 0.02


def test_weekdays_are_taken_out_only_when_they_differ() -> None:
    rng = np.random.default_rng(2)
    differs = reference(_days(56, rng, weekend=-0.05))
    assert differs.expected(6) - differs.expected(2) == pytest.approx(-0.05, abs=0.01)
    alike = [reference(_days(56, rng)) for _ in range(50)]
    assert np.mean([max(map(abs, ref.effects)) for ref in alike]) < 0.004
    assert reference(_days(14, rng, weekend=-0.05)).effects == (0.0,) * 7


def test_a_reference_of_constant_days() -> None:
    ref = reference([DayValue(0.5, 0.0, i % 7) for i in range(10)])
    assert ref.z(DayValue(0.5, 0.0, 0)) == 0.0
    assert ref.z(DayValue(0.4, 0.0, 0)) == -10.0
    with pytest.raises(ValueError, match="two days"):
        reference([DayValue(0.5, 0.1, 0)])


@pytest.mark.parametrize(("t", "df"), [(0.0, 5), (1.0, 13), (2.5, 27), (-4.0, 55), (6.0, 27)])
def test_the_z_of_a_t_has_its_tail(t: float, df: int) -> None:
    assert _normal_of_t(t, df) == pytest.approx(-stats.norm.ppf(stats.t.sf(t, df)), abs=0.02)


@pytest.mark.parametrize(
    ("k", "n", "rate", "between"), [(11, 200, 0.02, 1e-4), (3, 50, 0.01, 1e-3), (60, 2000, 0.02, 2e-5)]
)
def test_the_tail_is_the_beta_binomials(k: int, n: int, rate: float, between: float) -> None:
    strength = rate * (1 - rate) / (between + rate * (1 - rate) / 6000) - 1
    expected = stats.betabinom.sf(k - 1, n, rate * strength, (1 - rate) * strength)
    assert overdispersed_tail(k, n, rate, between, 6000) == pytest.approx(expected, rel=1e-6)


def test_large_days_use_the_normal_tail() -> None:
    exact = stats.binom.sf(449, 20_001, 0.02)
    assert overdispersed_tail(450, 20_001, 0.02, 0.0, 10**9) == pytest.approx(exact, rel=0.15)
    assert overdispersed_tail(0, 200, 0.02, 0.0, 100) == 1.0


def test_arcsine_and_pooling() -> None:
    rng = np.random.default_rng(3)
    y = [arcsine(int(k), 300)[0] for k in rng.binomial(300, 0.05, 4000)]
    assert np.var(y) == pytest.approx(arcsine(1, 300)[1], rel=0.1)
    value, variance = pooled([DayValue(1.0, 0.1, 0), DayValue(2.0, 0.3, 1)])
    assert value == pytest.approx(1.25)
    assert variance == pytest.approx(0.075)
