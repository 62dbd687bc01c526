"""One metric, two runs: interval, test, verdict."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragauge.analysis.difference import conclude, measure, pair
from ragauge.core.metric import MetricInfo
from ragauge.stats.paired import mcnemar_midp, tango_interval


def info(**more: object) -> MetricInfo:
    return MetricInfo(**({"name": "m", "title": "m", "needs": frozenset(), "half": "retrieval"} | more))


def numbered(values: list[float]) -> dict[str, float]:
    return {f"q{i}": v for i, v in enumerate(values)}


def verdict(a: list[float], b: list[float], clusters: dict[str, str] | None = None, **more: object) -> str:
    pairs = pair(numbered(a), numbered(b), list(numbered(a)), clusters)
    return conclude({"m": measure(pairs, info(**more))})["m"].verdict


def test_pass_or_fail_values_get_tango_and_mcnemars_mid_p() -> None:
    a, b = [1.0] * 70 + [0.0] * 30, [1.0] * 60 + [0.0] * 10 + [1.0] * 4 + [0.0] * 26
    measured = measure(pair(numbered(a), numbered(b), list(numbered(a)), None), info())
    assert measured.test.p == mcnemar_midp(4, 10)
    expected = tango_interval(4, 10, 100)
    assert (measured.estimate.low, measured.estimate.high) == (expected.low, expected.high)


def test_a_large_loss_is_worse_and_for_a_metric_where_lower_is_better_it_is_better() -> None:
    a, b = [1.0] * 80, [1.0] * 60 + [0.0] * 20
    assert verdict(a, b) == "worse"
    assert verdict(b, a) == "better"
    assert verdict(a, b, better="lower") == "better"
    assert verdict(a, b, better="none") == "lower"


def test_equal_runs_show_no_measurable_difference_with_enough_questions() -> None:
    assert verdict([1.0, 0.0] * 32, [1.0, 0.0] * 32) == "no measurable difference"
    assert verdict([0.3, 0.8] * 32, [0.3, 0.8] * 32) == "no measurable difference"


def test_few_questions_cannot_tell_and_say_how_many_could() -> None:
    a, b = [1.0, 0.0] * 5, [1.0, 1.0] + [1.0, 0.0] * 4
    pairs = pair(numbered(a), numbered(b), list(numbered(a)), None)
    found = conclude({"m": measure(pairs, info())})["m"]
    assert found.verdict == "too few questions to tell"
    assert found.n_needed > found.n_pairs
    assert found.n_better == 1
    assert found.n_worse == 0


def test_one_pair_has_no_interval_and_decides_nothing() -> None:
    pairs = pair({"q": 0.2}, {"q": 0.9}, ["q"], None)
    found = conclude({"m": measure(pairs, info())})["m"]
    assert found.low is None
    assert found.p == 1.0
    assert found.verdict == "too few questions to tell"


def test_rounding_is_no_change() -> None:
    a = [0.1 + 0.2] * 40
    b = [0.3] * 40
    pairs = pair(numbered(a), numbered(b), list(numbered(a)), None)
    found = conclude({"m": measure(pairs, info())})["m"]
    assert found.n_better == found.n_worse == 0
    assert found.p == 1.0


def test_many_metrics_are_corrected_together() -> None:
    a, b = [1.0] * 60, [1.0] * 53 + [0.0] * 7
    pairs = pair(numbered(a), numbered(b), list(numbered(a)), None)
    alone = conclude({"m": measure(pairs, info())})["m"]
    among = conclude({f"m{i}": measure(pairs, info()) for i in range(10)})["m3"]
    assert alone.verdict == "worse"
    assert among.p == alone.p
    assert among.p_adjusted == pytest.approx(10 * alone.p)
    assert among.verdict != "worse"


def test_questions_of_one_document_count_together() -> None:
    a, b = [1.0] * 60, [0.0] * 15 + [1.0] * 45
    clusters = {f"q{i}": f"d{i // 5}" for i in range(60)}
    pairs = pair(numbered(a), numbered(b), list(numbered(a)), clusters)
    found = conclude({"m": measure(pairs, info())})["m"]
    assert "12 clusters" in found.method
    assert found.p == 0.25  # three documents changed, all for the worse: 2 of 8 sign patterns


def test_too_few_documents_are_set_aside_and_said() -> None:
    clusters = {f"q{i}": f"d{i % 4}" for i in range(60)}
    pairs = pair(numbered([1.0] * 60), numbered([1.0] * 60), [f"q{i}" for i in range(60)], clusters)
    assert pairs.clusters is None
    assert "4 documents" in pairs.notes[0]


def test_a_metric_on_another_scale_is_measured_on_that_scale() -> None:
    a, b = [1.0, 5.0, 3.0] * 20, [2.0, 4.0, 4.0] * 20
    pairs = pair(numbered(a), numbered(b), list(numbered(a)), None)
    found = conclude({"m": measure(pairs, info(low=1, high=5))})["m"]
    assert found.difference == pytest.approx(1 / 3)
    assert found.low < 1 / 3 < found.high


def test_numbers_without_a_range_get_student() -> None:
    a, b = [100.0, 220.0, 330.0] * 10, [90.0, 215.0, 300.0] * 10
    pairs = pair(numbered(a), numbered(b), list(numbered(a)), None)
    found = conclude({"m": measure(pairs, info(kind="number", better="lower"))})["m"]
    assert found.method == "paired t interval"
    assert found.verdict == "better"


def test_nothing_in_common_is_refused() -> None:
    with pytest.raises(ValueError, match="no pairs"):
        measure(pair({"a": 1.0}, {"b": 1.0}, ["a", "b"], None), info())


@given(st.lists(st.tuples(st.sampled_from([0.0, 0.5, 1.0]), st.sampled_from([0.0, 0.5, 1.0])), min_size=2, max_size=40))
def test_swapping_the_runs_mirrors_everything(rows: list[tuple[float, float]]) -> None:
    a, b = (numbered(list(column)) for column in zip(*rows, strict=True))
    one, other = (conclude({"m": measure(pair(x, y, list(a), None), info())})["m"] for x, y in ((a, b), (b, a)))
    assert one.difference == pytest.approx(-other.difference)
    assert one.p == pytest.approx(other.p, abs=0.02)
    assert one.low == pytest.approx(-other.high, abs=1e-9)
    assert (one.n_better, one.n_worse) == (other.n_worse, other.n_better)
