from __future__ import annotations

from typing import Any

import pytest

from ragauge.core.score import SCORE, Scored, Unscored, unscored
from ragauge.errors import Reason, SettingsError
from ragauge.metrics.answer.composite import Composite

SCORES: dict[str, Scored | Unscored] = {
    "faithfulness": Scored(value=0.8),
    "recall@5:chunk": Scored(value=0.5),
    "noise_sensitivity": Scored(value=0.1),
    "completeness": unscored(Reason.NO_REFERENCE),
    "correctness": unscored(Reason.JUDGE_UNAVAILABLE, "gone"),
}


def derive(*metrics: str, **options: Any) -> Scored | Unscored:
    return Composite(metrics=metrics, **options).derive(SCORES)


def test_is_the_weighted_mean_and_shows_its_parts() -> None:
    score = derive("faithfulness", "recall@5:chunk", weights=(2, 1))
    assert isinstance(score, Scored)
    assert score.value == pytest.approx(0.7)
    assert score.count == 2
    assert score.details["components"] == {"faithfulness": 0.8, "recall@5:chunk": 0.5}
    assert score.details["weights"] == {"faithfulness": 2.0, "recall@5:chunk": 1.0}
    assert SCORE.validate_json(SCORE.dump_json(score)) == score


def test_weights_by_name_and_settings_lists_are_taken() -> None:
    by_name = Composite(metrics=["faithfulness", "recall@5:chunk"], weights={"faithfulness": 2})  # type: ignore[arg-type]
    assert by_name == Composite(metrics=("faithfulness", "recall@5:chunk"), weights=(2.0, 1.0))
    assert hash(by_name)


def test_a_bare_name_finds_the_only_key_that_has_it() -> None:
    assert derive("recall") == Scored(
        value=0.5,
        details={"components": {"recall": 0.5}, "weights": {"recall": 1.0}, "inverted": [], "skipped": {}},
    )
    two = SCORES | {"recall@10:doc": Scored(value=0.9)}
    score = Composite(metrics=("recall",)).derive(two)
    assert isinstance(score, Unscored)
    assert "could be any of recall@5:chunk, recall@10:doc" in score.detail


def test_what_is_better_when_lower_is_turned_round() -> None:
    score = derive("faithfulness", "noise_sensitivity")
    assert isinstance(score, Scored)
    assert score.value == pytest.approx((0.8 + 0.9) / 2)
    assert score.details["inverted"] == ["noise_sensitivity"]
    assert score.details["components"]["noise_sensitivity"] == 0.1


def test_a_missing_component_leaves_no_number_and_is_named() -> None:
    score = derive("faithfulness", "completeness")
    assert isinstance(score, Unscored)
    assert score.reason is Reason.NO_COMPONENTS
    assert "completeness: no_reference" in score.detail


def test_a_failed_component_stays_a_failure() -> None:
    score = derive("completeness", "correctness", "faithfulness")
    assert isinstance(score, Unscored)
    assert score.reason is Reason.JUDGE_UNAVAILABLE
    assert "correctness" in score.detail


def test_a_metric_that_was_not_asked_for_is_named() -> None:
    score = derive("ndcg@10")
    assert isinstance(score, Unscored)
    assert score.detail == "ndcg@10: not asked for in this run"


def test_skipping_says_what_was_used_and_what_not() -> None:
    score = derive("faithfulness", "completeness", "recall", missing="skip", weights=(1, 5, 1))
    assert isinstance(score, Scored)
    assert score.value == pytest.approx(0.65)
    assert score.count == 2
    assert score.details["skipped"] == {"completeness": "no_reference"}
    nothing = derive("completeness", missing="skip")
    assert isinstance(nothing, Unscored)


def test_a_value_outside_zero_to_one_cannot_be_averaged() -> None:
    score = Composite(metrics=("answer_similarity",)).derive({"answer_similarity": Scored(value=-0.2)})
    assert isinstance(score, Unscored)
    assert score.reason is Reason.INVALID_SCORE


@pytest.mark.parametrize(
    "options",
    [
        {"metrics": ()},
        {"metrics": ("a", "a")},
        {"metrics": ("a",), "weights": (1, 2)},
        {"metrics": ("a",), "weights": (-1,)},
        {"metrics": ("a",), "weights": (0,)},
        {"metrics": ("a",), "weights": (float("nan"),)},
        {"metrics": ("a",), "weights": {"b": 1}},
        {"metrics": ("a",), "missing": "zero"},
    ],
)
def test_senseless_settings_are_refused(options: dict[str, Any]) -> None:
    with pytest.raises(SettingsError):
        Composite(**options)
