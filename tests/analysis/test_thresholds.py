from __future__ import annotations

import pytest

import ragauge
from ragauge.analysis.thresholds import Threshold, judge_value, resolve_thresholds
from ragauge.errors import SettingsError, UnknownName


def test_profiles_differ_where_stakes_are_high() -> None:
    general, high = resolve_thresholds({}), resolve_thresholds({"profile": "high_stakes"})
    assert general.of("recall@5:doc") == Threshold(good=0.7, broken=0.5, meaning=general.of("recall").meaning)  # type: ignore[union-attr]
    assert high.of("recall@5:doc").good == 0.9  # type: ignore[union-attr]
    assert high.of("faithfulness") == general.of("faithfulness")


def test_a_number_or_a_mapping_is_laid_over_the_profile_and_exact_keys_win() -> None:
    thresholds = resolve_thresholds({"faithfulness": 0.8, "recall@10": {"good": 0.95, "broken": 0.9}})
    assert thresholds.of("faithfulness") == Threshold(good=0.8)
    assert thresholds.of("recall@10").good == 0.95  # type: ignore[union-attr]
    assert thresholds.of("recall@10:doc").good == 0.95  # type: ignore[union-attr]
    assert thresholds.of("recall@5").good == 0.7  # type: ignore[union-attr]
    assert thresholds.of("nothing") is None


@pytest.mark.parametrize(
    ("settings", "error", "message"),
    [
        ({"profile": "generl"}, UnknownName, "Did you mean 'general'"),
        ({"fathfulness": 0.9}, UnknownName, "Did you mean 'faithfulness'"),
        ({"faithfulness": "high"}, SettingsError, "thresholds.faithfulness"),
        ({"recall@x": 0.9}, SettingsError, "k must be a whole number"),
        ({"recall": {"good": 0.9, "brokn": 0.8}}, SettingsError, "thresholds.recall"),
    ],
)
def test_what_cannot_be_a_threshold_is_named(settings: dict[str, object], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        resolve_thresholds(settings, frozenset({"faithfulness", "recall"}))


@pytest.mark.parametrize("given", [90, -0.1, {"good": 0.9, "broken": 70}])
def test_a_threshold_that_no_value_can_have_is_refused(given: object) -> None:
    with pytest.raises(SettingsError, match=r"thresholds\.faithfulness: .* is outside of the metric's range"):
        resolve_thresholds({"faithfulness": given}, frozenset({"faithfulness"}), lambda _: (0.0, 1.0))


def test_thresholds_of_settings_know_the_ranges() -> None:
    with pytest.raises(SettingsError, match="outside"):
        ragauge.evaluate([{"question": "Q", "answer": "A"}], judge="none", thresholds={"token_f1": 90})


@pytest.mark.parametrize(
    ("value", "better", "verdict"),
    [(0.95, "higher", "good"), (0.92, "higher", "below"), (0.89, "higher", "broken"), (0.5, "none", "none")],
)
def test_verdicts_where_higher_is_better(value: float, better: str, verdict: str) -> None:
    assert judge_value(value, Threshold(good=0.95, broken=0.9), better) == verdict


@pytest.mark.parametrize(("value", "verdict"), [(0.05, "good"), (0.1, "below"), (0.3, "broken")])
def test_verdicts_where_lower_is_better(value: float, verdict: str) -> None:
    assert judge_value(value, Threshold(good=0.05, broken=0.2), "lower") == verdict
