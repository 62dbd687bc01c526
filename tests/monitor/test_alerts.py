"""Alert rules on days whose truth is known."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable

import numpy as np
import pytest
import yaml

from ragauge.errors import SettingsError
from ragauge.monitor.alerts import Watched, replay
from ragauge.monitor.days import Day, Figure, mean, rate
from ragauge.monitor.rules import DEFAULTS, NAIVE, Limit, Shift, as_yaml, read_rules
from ragauge.monitor.telling import Open, steady, withdrawn

N = 2000


def _days(n: int, figures: Callable[[int, np.random.Generator], dict[str, Figure]], seed: int = 7) -> list[Day]:
    rng = np.random.default_rng(seed)
    start = dt.date(2026, 1, 5)
    return [
        Day(day=(start + dt.timedelta(i)).isoformat(), n_queries=N, figures=figures(i, rng)) for i in range(n)
    ]  # fmt: skip


def _similarity(level: Callable[[int], float]) -> Callable[[int, np.random.Generator], dict[str, Figure]]:
    def figures(i: int, rng: np.random.Generator) -> dict[str, Figure]:
        values = rng.normal(level(i), 0.12, N)
        return {"top_similarity": mean(float(values.mean()), float(values.std(ddof=1)), N)}

    return figures


def test_a_drop_of_ten_percent_is_one_alert_that_ends_when_it_is_mended() -> None:
    days = _days(70, _similarity(lambda i: 0.63 if 40 <= i < 55 else 0.7))
    found = replay(days, DEFAULTS)
    assert [(a.rule, a.status) for a in found.alerts] == [("top_similarity_drop", "resolved")]
    alert = found.alerts[0]
    assert days[38].day <= alert.since <= days[40].day
    assert days[40].day <= alert.raised <= days[42].day
    assert alert.resolved == days[57].day
    assert alert.says.startswith("mean top-1 similarity fell from 0.7")
    assert not found.cannot_be_judged


def test_the_days_of_an_alert_never_become_the_ordinary() -> None:
    days = _days(160, _similarity(lambda i: 0.63 if i >= 40 else 0.7))
    found = replay(days, DEFAULTS)
    assert [a.status for a in found.alerts] == ["firing"]
    assert found.alerts[0].expected == pytest.approx(0.7, abs=0.005)


def test_what_was_accepted_is_the_new_reference() -> None:
    days = _days(100, _similarity(lambda i: 0.63 if i >= 40 else 0.7))
    found = replay(days, DEFAULTS, accepted={"top_similarity_drop/top_similarity": days[40].day})
    assert found.alerts == ()
    assert found.judged == 1


def test_an_outage_of_the_index_is_seen_on_its_first_day() -> None:
    def figures(i: int, rng: np.random.Generator) -> dict[str, Figure]:
        return {"zero_results": rate(int(rng.binomial(N, 0.5 if i == 30 else 0.02)), N)}

    days = _days(40, figures)
    found = replay(days, DEFAULTS)
    assert {a.rule for a in found.alerts} == {"zero_result_spike", "zero_results_high"}
    assert {a.raised for a in found.alerts} == {days[30].day}
    assert {a.resolved for a in found.alerts} == {days[32].day}


def test_a_slow_p95_needs_no_reference() -> None:
    def figures(i: int, rng: np.random.Generator) -> dict[str, Figure]:
        return {"slow": rate(int(rng.binomial(N, 0.15)), N)}

    found = replay(_days(1, figures), DEFAULTS)
    assert [a.rule for a in found.firing] == ["slow_p95"]


def test_few_queries_ring_no_bell() -> None:
    def figures(i: int, rng: np.random.Generator) -> dict[str, Figure]:
        return {"slow": rate(9, 10), "zero_results": rate(9, 10)}

    found = replay(_days(20, figures), DEFAULTS)
    assert found.alerts == ()
    assert found.judged == 0
    assert found.cannot_be_judged
    assert any("no day has 50 values of slow" in why for why in found.unwatched)


def test_a_score_below_its_threshold_counts_the_low_answers() -> None:
    def figures(i: int, rng: np.random.Generator) -> dict[str, Figure]:
        x = rng.binomial(1, 0.8, 200)
        figure = mean(float(x.mean()), float(x.std(ddof=1)), 200)
        low = int((x == 0).sum())
        return {"faithfulness": figure.model_copy(update={"n_low": low, "n_judged": 200})}

    days = _days(20, figures)
    found = replay(days, DEFAULTS, {"faithfulness": Watched(threshold=0.9)})
    alert = next(a for a in found.firing if a.rule == "score_below_threshold")
    figure = days[-1].figures["faithfulness"]
    assert alert.low == {"faithfulness": (figure.n_low, 200)}
    assert alert.expected == 0.9


def test_lower_is_better_turns_a_rule_round() -> None:
    def figures(level: float) -> Callable[[int, np.random.Generator], dict[str, Figure]]:
        def make(i: int, rng: np.random.Generator) -> dict[str, Figure]:
            x = rng.binomial(1, level if i >= 40 else 0.1, 200)
            return {"noise_sensitivity": mean(float(x.mean()), float(x.std(ddof=1)), 200)}

        return make

    watched = {"noise_sensitivity": Watched(better="lower")}
    assert replay(_days(60, figures(0.02)), DEFAULTS, watched).alerts == ()
    assert [a.rule for a in replay(_days(60, figures(0.3)), DEFAULTS, watched).alerts] == ["score_drop"]


def test_new_topics_are_noticed_within_a_week_or_two() -> None:
    days = _days(60, lambda i, rng: {})
    rng = np.random.default_rng(3)
    made = []
    for i, day in enumerate(days):
        shares = [0.4, 0.3, 0.3, 0.0] if i < 40 else [0.3, 0.25, 0.25, 0.2]
        counts = dict(zip("abcd", (int(c) for c in rng.multinomial(200, shares)), strict=True))
        made.append(day.model_copy(update={"topics": {k: v for k, v in counts.items() if v}}))
    found = replay(made, DEFAULTS)
    assert [a.rule for a in found.firing] == ["topic_mix_change"]
    assert made[40].day < found.firing[0].raised <= made[47].day
    assert "d 0 % →" in found.firing[0].says or "d 0% →" in found.firing[0].says


def test_missing_judging_cannot_be_judged_but_learning_can_wait() -> None:
    def figures(i: int, rng: np.random.Generator) -> dict[str, Figure]:
        return _similarity(lambda _: 0.7)(i, rng) if i < 30 else {}

    assert replay(_days(31, figures), DEFAULTS).cannot_be_judged is False
    stale = replay(_days(40, figures), DEFAULTS)
    assert stale.cannot_be_judged
    assert "no day since" in stale.unjudged[0].why
    young = replay(_days(5, figures), DEFAULTS)
    assert young.unjudged[0].learning
    assert young.judged == 0


def test_the_same_days_give_the_same_alerts() -> None:
    days = _days(70, _similarity(lambda i: 0.63 if i >= 40 else 0.7))
    assert replay(days, DEFAULTS) == replay(list(days), DEFAULTS)
    longer = [*days, *(_days(80, _similarity(lambda _: 0.63))[70:])]
    assert replay(days, DEFAULTS).firing[0].id == replay(longer, DEFAULTS).firing[0].id


def test_a_standing_alert_keeps_its_name_when_old_days_are_gone() -> None:
    days = _days(100, _similarity(lambda i: 0.63 if i >= 60 else 0.7))
    before = replay(days[:70], DEFAULTS)
    told = Open(alerts=before.firing)
    moved = [alert.model_copy(update={"id": "another", "raised": days[63].day}) for alert in before.firing]
    later = steady(before.model_copy(update={"alerts": tuple(moved)}), told)
    assert later.firing == before.firing
    assert withdrawn(told, later) == ()
    (gone,) = withdrawn(told, before.model_copy(update={"alerts": ()}))
    assert (gone.id, gone.status) == (before.firing[0].id, "resolved")


def test_naive_rules_say_how_often_they_ring_for_nothing() -> None:
    def figures(i: int, rng: np.random.Generator) -> dict[str, Figure]:
        x = rng.binomial(1, 0.7, 200)
        return {"faithfulness": mean(float(x.mean()), float(x.std(ddof=1)), 200)}

    rules = [rule.model_copy(update={"enabled": True}) for rule in NAIVE]
    found = replay(_days(200, figures), rules)
    said = {one.rule: one.per_day for one in found.naive}
    rings = [a for a in found.alerts if a.rule == "three_points_below_yesterday"]
    assert said["three_points_below_yesterday"] == pytest.approx(0.26, abs=0.04)  # P(N(0, 2·.7·.3/200) < −.03)
    assert len(rings) / 200 == pytest.approx(said["three_points_below_yesterday"], abs=0.06)
    assert {one.rule for one in found.naive} == {rule.name for rule in NAIVE}


def test_rules_survive_yaml() -> None:
    assert read_rules(yaml.safe_load(as_yaml(DEFAULTS))) == DEFAULTS
    assert read_rules({}) == DEFAULTS


def test_a_rule_replaces_the_default_of_its_name() -> None:
    given = {"rules": [{"name": "slow_p95", "kind": "limit", "series": "slow", "direction": "up", "limit": 0.1}],
             "disable": ["topic_mix_change"]}  # fmt: skip
    rules = {rule.name: rule for rule in read_rules(given)}
    assert isinstance(rules["slow_p95"], Limit)
    assert rules["slow_p95"].limit == 0.1
    assert not rules["topic_mix_change"].enabled
    assert isinstance(rules["score_drop"], Shift)


@pytest.mark.parametrize(
    ("data", "says"),
    [
        ({"rulez": []}, "rulez"),
        ([{"name": "x", "kind": "shift", "series": "slow", "direction": "up"}], "min_effect"),
        ([{"name": "x", "kind": "shfit", "series": "slow"}], "shfit"),
        ({"disable": ["slow_p59"]}, "slow_p95"),
        ("rules", "list"),
        ([3], "0"),
    ],
)
def test_wrong_rules_are_named(data: object, says: str) -> None:
    with pytest.raises(SettingsError) as error:
        read_rules(data)
    assert says in str(error.value)
