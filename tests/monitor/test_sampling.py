"""The draw of a day, and what its sample says of the whole day."""

from __future__ import annotations

import math

import numpy as np
import pytest

from ragauge.monitor.sampling import DOWN, POOL, Asked, draw, estimate, late_thumbs_down, size_of
from ragauge.stats.survey import SurveyStratum, survey_mean


def _day(seed: int, n: int = 600) -> tuple[list[Asked], dict[str, float]]:
    rng = np.random.default_rng(seed)
    top, declined, rated = rng.beta(6, 3, n), rng.random(n) < 0.06, rng.random(n) < 0.1
    topic = rng.choice(6, n)
    p = 1 / (1 + np.exp(-(2 + 4 * (top - 0.67) - 1.5 * declined - 1.0 * (topic == 3))))
    values = (rng.random(n) < p).astype(float)
    bad = rng.random(n) < 0.1 + 0.75 * (1 - values)
    asked = [
        Asked(f"{seed}-{i}", ("down" if bad[i] else "up") if rated[i] else None, bool(declined[i]), float(top[i]), 5,
              f"t{topic[i]}")
        for i in range(n)
    ]  # fmt: skip
    return asked, {one.id: float(v) for one, v in zip(asked, values, strict=True)}


def test_estimates_hold_the_truth_of_the_whole_day() -> None:
    """300 days; 93 % is what the issue asks for (validation/monitor/RESULTS.md has more kinds of days)."""
    inside, errors = 0, []
    for seed in range(300):
        asked, truth = _day(seed)
        whole = sum(truth.values()) / len(truth)
        sample = draw(asked, "2026-01-31", 120, seed=seed)
        found = estimate(sample, {one.id: truth[one.id] for one in sample.drawn}).estimate
        assert found.low is not None
        assert found.high is not None
        inside += found.low <= whole <= found.high
        errors.append(found.value - whole)
    assert inside / 300 >= 0.93
    assert abs(np.mean(errors)) < 3 * np.std(errors) / math.sqrt(300)


def test_every_thumbs_down_is_in_and_probabilities_add_up() -> None:
    asked, _ = _day(1)
    sample = draw(asked, "2026-01-31", 120)
    drawn = {one.id: one for one in sample.drawn}
    down = [one.id for one in asked if one.feedback == "down"]
    assert down
    assert all(drawn[name].probability == 1.0 and drawn[name].stratum == DOWN for name in down)
    assert len(sample.drawn) == 120
    assert sum(size for size, _ in sample.strata.values()) == pytest.approx(len(asked))
    assert sum(1 / one.probability for one in sample.drawn if one.probability) == pytest.approx(len(asked))
    for name, (size, n) in sample.strata.items():
        assert all(one.probability == pytest.approx(n / size) for one in sample.drawn if one.stratum == name)


def test_the_order_of_the_log_has_no_influence() -> None:
    asked, _ = _day(2)
    assert draw(asked, "d", 120, seed=3) == draw(asked[::-1], "d", 120, seed=3)
    assert draw(asked, "d", 120, seed=3) != draw(asked, "d", 120, seed=4)


def test_a_flood_of_thumbs_down_leaves_room_for_the_rest() -> None:
    asked = [Asked(f"q{i}", "down" if i < 150 else None) for i in range(1000)]
    sample = draw(asked, "d", 100)
    assert len(sample.drawn) == 200
    assert "thumbs down" in sample.notes[0]


def test_a_large_day_is_drawn_from_a_pool_and_weighed_up() -> None:
    asked = [Asked(f"q{i}", "down" if i % 500 == 0 else None, i % 9 == 0, (i % 100) / 100, 3) for i in range(12_000)]
    sample = draw(asked, "d", 200)
    assert sample.pool == (POOL, 12_000 - 24)
    assert sum(size for size, _ in sample.strata.values()) == pytest.approx(12_000)
    truth = {one.id: float(one.abstained is False) for one in asked}
    found = estimate(sample, {one.id: truth[one.id] for one in sample.drawn}).estimate
    assert found.low is not None
    assert found.high is not None
    assert found.low <= 8 / 9 <= found.high


def test_a_part_of_the_sample_is_a_sample_too() -> None:
    inside = 0
    for seed in range(150):
        asked, truth = _day(seed)
        sample = draw(asked, "2026-01-31", 120, seed=seed)
        part = sample.drawn[:80]
        for name, (_, n) in sample.strata.items():
            assert abs(sum(one.stratum == name for one in part) - 2 * n / 3) <= 1
        found = estimate(sample, {one.id: truth[one.id] for one in part}).estimate
        assert found.low is not None
        assert found.high is not None
        inside += found.low <= sum(truth.values()) / len(truth) <= found.high
    assert inside / 150 >= 0.92


def test_small_days_and_shares() -> None:
    assert size_of(1000, share=0.02) == 20
    assert size_of(3, share=0.01) == 1
    assert size_of(50) == 50
    asked, truth = _day(3, n=40)
    sample = draw(asked, "d", size_of(40))
    assert {one.id for one in sample.drawn} == {one.id for one in asked}
    found = estimate(sample, truth).estimate
    assert found.value == found.low == found.high == pytest.approx(sum(truth.values()) / 40)
    assert draw([], "d", 0).drawn == ()


def test_a_thumbs_down_that_came_late_is_judged_but_not_counted() -> None:
    asked, truth = _day(4)
    sample = draw(asked, "d", 100)
    late = next(one.id for one in asked if one.id not in {d.id for d in sample.drawn})
    more = late_thumbs_down(sample, [late, sample.drawn[0].id])
    assert [one.id for one in more.drawn[len(sample.drawn) :]] == [late]
    assert more.drawn[-1].probability is None
    values = {one.id: truth[one.id] for one in more.drawn}
    assert estimate(more, values) == estimate(sample, values)


def test_strata_of_equal_values_still_have_an_interval() -> None:
    found = survey_mean([SurveyStratum(500, [1.0] * 5), SurveyStratum(500, [1.0] * 5)])
    assert found.estimate.low is not None
    assert found.estimate.low < 0.8
    with pytest.raises(ValueError, match="no values"):
        survey_mean([SurveyStratum(5, [])])
