"""Retrieval metrics: values, granularity, evidence groups, and what cannot be scored."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from ragauge.core.sample import Evidence, EvidenceGroup, Sample
from ragauge.core.score import Scored, Unscored
from ragauge.errors import Reason, UsageError
from ragauge.metrics.retrieval.average_precision import AveragePrecision
from ragauge.metrics.retrieval.context_precision_ids import ContextPrecisionIds
from ragauge.metrics.retrieval.context_recall_ids import ContextRecallIds
from ragauge.metrics.retrieval.coverage import Coverage
from ragauge.metrics.retrieval.f1 import F1
from ragauge.metrics.retrieval.hit_rate import HitRate
from ragauge.metrics.retrieval.ndcg import NDCG
from ragauge.metrics.retrieval.precision import Precision, PrecisionRetrieved
from ragauge.metrics.retrieval.r_precision import RPrecision
from ragauge.metrics.retrieval.recall import Recall
from ragauge.metrics.retrieval.reciprocal_rank import ReciprocalRank
from ragauge.metrics.retrieval.zero_results import ZeroResults
from ragauge.testing import a_sample

LABELLED = [
    HitRate, Recall, Precision, PrecisionRetrieved, F1, ReciprocalRank, AveragePrecision, NDCG, RPrecision,
    ContextPrecisionIds, ContextRecallIds, Coverage,
]  # fmt: skip


def scored(metric: Any, sample: Sample) -> Scored:
    score = metric.score(sample)
    assert isinstance(score, Scored), score
    return score


def value(metric: Any, sample: Sample) -> float:
    return scored(metric, sample).value


TUTORIAL = a_sample("B A D C E", gold="A C")


@pytest.mark.parametrize(
    ("metric", "want"),
    [
        (HitRate(k=5), 1.0), (Recall(k=5), 1.0), (Precision(k=5), 0.4), (F1(k=5), 0.8 / 1.4), (Recall(k=3), 0.5),
        (ReciprocalRank(), 0.5), (AveragePrecision(), 0.5), (NDCG(k=5), 0.6509209298071326),
        (ContextPrecisionIds(k=5), 0.5), (RPrecision(), 0.5), (ContextRecallIds(), 1.0), (PrecisionRetrieved(), 0.4),
        (ReciprocalRank(k=1), 0.0), (AveragePrecision(k=3), 0.25), (Coverage(), 1.0), (Coverage(k=1), 0.0),
        (ZeroResults(), 0.0),
    ],
)  # fmt: skip
def test_the_worked_example(metric: Any, want: float) -> None:
    assert value(metric, TUTORIAL) == pytest.approx(want, abs=1e-12)


def test_every_hand_case_agrees(shared: Path) -> None:
    metrics = {
        "hit_rate": HitRate, "recall": Recall, "precision": Precision, "f1": F1, "reciprocal_rank": ReciprocalRank,
        "ap": AveragePrecision, "ndcg": NDCG, "context_precision": ContextPrecisionIds, "r_precision": RPrecision,
        "id_context_recall": ContextRecallIds, "set_precision": lambda k: PrecisionRetrieved(k=k),
        "id_context_precision": lambda k: PrecisionRetrieved(k=k),
    }  # fmt: skip
    n_checked = 0
    for case in json.loads((shared / "oracles" / "ir_hand_cases.json").read_text())["cases"]:
        if case["relevance_level"] != 1:
            continue  # a metric's level is always 1; other levels are `ragauge rank --level`
        retrieved = [str(id) for id in case["retrieved"]]
        sample = a_sample(retrieved, grades=case["relevant"])
        for name, want in case["expected"].items():
            base, _, k = name.partition("@")
            if base not in metrics:
                continue
            factory: Any = metrics[base]
            cut = {} if base in ("r_precision", "id_context_recall") else {"k": int(k) if k else None}
            score = factory(**cut).score(sample)
            if any(grade > 0 for grade in case["relevant"].values()):
                assert score.value == pytest.approx(want, abs=1e-9), (case["id"], name)
            else:
                assert score.reason in (Reason.NO_RELEVANT, Reason.NO_LABELS)
            n_checked += 1
    assert n_checked > 100


def test_perfect_order_is_exactly_one_and_none_relevant_exactly_zero() -> None:
    # An epsilon in the denominator makes 0.99999999995 of it elsewhere.
    assert value(ContextPrecisionIds(), a_sample("a b", gold="a b")) == 1.0
    assert value(ContextPrecisionIds(), a_sample("x y", gold="a b")) == 0.0


def test_junk_below_the_only_hit_shows_in_recall_precision_and_average_precision() -> None:
    sample = a_sample("d1 x1 x2 x3 x4 x5 x6 x7 x8 x9", gold="d1 d2 d3")
    assert value(ContextPrecisionIds(k=10), sample) == 1.0
    assert value(AveragePrecision(), sample) == pytest.approx(1 / 3)
    assert value(Precision(k=10), sample) == 0.1
    assert value(Recall(k=10), sample) == pytest.approx(1 / 3)
    assert value(ReciprocalRank(), sample) == 1.0


# --- granularity ----------------------------------------------------------------------------------------------------

PLACES = {"d1#3": "d1", "d2#0": "d2", "d1#1": "d1", "d3#2": "d3", "d2#5": "d2"}
CHUNKED = a_sample(" ".join(PLACES), grades={"d1#1": 1, "d3#2": 1}, documents=PLACES)


@pytest.mark.parametrize(
    ("metric", "chunk", "doc"),
    [
        (Recall, 0.5, 1.0),  # d1, d2, d3 are the first three documents
        (HitRate, 1.0, 1.0),
        (ReciprocalRank, 1 / 3, 1.0),
        (AveragePrecision, 1 / 6, (1 + 2 / 3) / 2),
        (Precision, 1 / 3, 2 / 3),  # chunk positions: d1#3 and d1#1 are of a relevant document
        (ContextPrecisionIds, 1 / 3, (1 + 2 / 3) / 2),
        (PrecisionRetrieved, 1 / 3, 2 / 3),
        (F1, 0.4, 0.8),
    ],
)
def test_documents_are_ranked_once_and_precision_stays_with_chunks(metric: Any, chunk: float, doc: float) -> None:
    assert value(metric(k=3, level="chunk"), CHUNKED) == pytest.approx(chunk)
    assert value(metric(k=3, level="doc"), CHUNKED) == pytest.approx(doc)


def test_a_chunk_without_a_document_is_its_own() -> None:
    sample = a_sample("x a", gold="a", documents={"a": "guide"})
    assert value(ReciprocalRank(level="doc"), sample) == 0.5
    assert value(Coverage(level="doc"), sample) == 1.0


# --- evidence groups ------------------------------------------------------------------------------------------------


def test_alternatives_count_once_for_recall_and_each_for_precision() -> None:
    sample = a_sample("b x a c", grades={"a": 1, "b": 1, "c": 1}, groups=[("a", "b"), ("c",)])
    assert value(Recall(k=2), sample) == 0.5
    assert value(Recall(k=4), sample) == 1.0
    assert value(RPrecision(), sample) == 0.5
    assert value(AveragePrecision(), sample) == pytest.approx((1 + 2 / 4) / 2)
    assert value(Precision(k=4), sample) == 0.75
    assert value(ContextRecallIds(), sample) == 1.0
    assert value(F1(k=4), sample) == pytest.approx(2 * 0.75 / 1.75)
    assert scored(Recall(k=2), sample).count == 2


def test_an_alternative_that_was_not_retrieved_is_not_missing() -> None:
    sample = a_sample("b x", grades={"a": 3, "b": 1, "c": 1}, groups=[("a", "b"), ("c",)])
    details = scored(Recall(), sample).details
    assert details["missing"] == ["c"]
    assert details["ranks"] == {"b": 1}
    assert value(NDCG(k=1), sample) == 1.0


def test_one_chunk_may_stand_for_two_groups() -> None:
    sample = a_sample("c", grades={"a": 1, "b": 1, "c": 1}, groups=[("a", "c"), ("b", "c")])
    assert value(Recall(), sample) == 1.0


def test_groups_apply_to_documents_too() -> None:
    sample = a_sample("b#1", grades={"a#1": 1, "b#1": 1}, documents={"a#1": "a", "b#1": "b"})
    group = EvidenceGroup(any=(Evidence(document="a"), Evidence(document="b")))
    grouped = sample.model_copy(update={"item": sample.item.model_copy(update={"evidence": (group,)})})
    assert value(Recall(level="doc"), sample) == 0.5
    assert value(Recall(level="doc"), grouped) == 1.0


# --- edge table -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("metric", LABELLED)
@pytest.mark.parametrize("level", ["chunk", "doc"])
def test_what_cannot_be_scored_says_why(metric: Any, level: Any) -> None:
    measured = metric(level=level)
    documents = {"a": "guide"}
    for sample, reason in [
        (a_sample("a b", answerable=False, documents=documents), Reason.NO_RELEVANT),
        (a_sample("a b", gold="a", answerable=False, documents=documents), Reason.NO_RELEVANT),
        (a_sample("a b", grades={"a": 0}, documents=documents), Reason.NO_RELEVANT),
        (a_sample("a b", gold=""), Reason.NO_LABELS),
        (a_sample(None, documents=documents), Reason.NOT_RETRIEVED),
    ]:
        score = measured.score(sample)
        assert isinstance(score, Unscored)
        assert score.reason is reason
    assert value(measured, a_sample("", documents=documents)) == 0.0
    assert value(measured, a_sample("x y", documents=documents)) == 0.0


def test_labels_at_the_other_granularity_are_no_labels() -> None:
    score = Recall(level="doc").score(a_sample("a", gold="a"))
    assert isinstance(score, Unscored)
    assert score.reason is Reason.NO_LABELS


def test_repeated_chunks_count_once_at_their_best_rank() -> None:
    score = scored(ReciprocalRank(), a_sample("x x a a", gold="a"))
    assert (score.value, score.details["n_repeated"], score.details["ranks"]) == (0.5, 2, {"a": 2})


def test_details_list_a_few_missing_ids_and_count_all() -> None:
    details = scored(Recall(), a_sample("x", gold=[f"g{n:02}" for n in range(50)])).details
    assert details["n_missing"] == 50
    assert details["missing"] == [f"g{n:02}" for n in range(20)]


@pytest.mark.parametrize(
    ("min_score", "want"), [(None, 1.0), (0.4, 1.0), (0.41, 0.0), (-1.0, 1.0)]
)  # fmt: skip
def test_coverage_may_ask_for_a_score(min_score: float | None, want: float) -> None:
    assert value(Coverage(min_score=min_score), a_sample("b a", gold="a", scores=[0.9, 0.4])) == want


def test_coverage_with_a_threshold_needs_scores() -> None:
    score = Coverage(min_score=0.5).score(a_sample("a", gold="a"))
    assert isinstance(score, Unscored)
    assert score.reason is Reason.MISSING_INPUT


def test_zero_results_needs_no_labels() -> None:
    assert value(ZeroResults(), a_sample("", gold="", answerable=None)) == 1.0
    assert value(ZeroResults(), a_sample("a", answerable=False)) == 0.0
    score = ZeroResults().score(a_sample(None))
    assert isinstance(score, Unscored)
    assert score.reason is Reason.NOT_RETRIEVED


@pytest.mark.parametrize(
    "build",
    [lambda: Recall(k=0), lambda: NDCG(k=-1), lambda: NDCG(gain="cubic"), lambda: Coverage(min_score=float("nan"))],  # type: ignore[arg-type]
)
def test_wrong_parameters_are_refused(build: Any) -> None:
    with pytest.raises(UsageError):
        build()


def test_gains_differ() -> None:
    sample = a_sample("a b", grades={"a": 1, "b": 3})
    values = {gain: value(NDCG(gain=gain), sample) for gain in ("linear", "exp", "binary")}  # type: ignore[arg-type]
    assert values["binary"] == 1.0
    assert values["exp"] < values["linear"] < 1.0
