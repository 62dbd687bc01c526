"""The ranking API: joining, switches, diagnostics, odd ids, errors; the faults of other tools do not occur here."""

from __future__ import annotations

import math
import subprocess
import sys
from typing import Any

import numpy as np
import pytest

from ragauge.errors import InputError, SettingsError, UnknownName, UsageError
from ragauge.ranking import MEASURES, Judgements, Measure, Options, evaluate, parse_measure, parse_measures, score_one
from ragauge.ranking.batch import MixedIds

ENGINES = ["plain", "numpy"]
every_engine = pytest.mark.parametrize("engine", ENGINES)


def mean(qrels: Any, run: Any, metric: str, **switches: Any) -> float:
    return evaluate(qrels, run, metric, **switches)[metric]


# --- faults seen in other tools -------------------------------------------------------------------------------------


@every_engine
def test_questions_are_joined_by_id_never_by_position(engine: Any) -> None:
    # ranx pairs dicts by position: mrr 0.0 here, without an error.
    qrels = {"q1": {"a": 1}, "q2": {"b": 1}}
    assert mean(qrels, {"q2": {"b": 1.0}, "q1": {"a": 1.0}}, "mrr", engine=engine) == 1.0
    assert mean(qrels, {"q2": ["b"], "q1": ["a"]}, "mrr", engine=engine) == 1.0


@every_engine
def test_one_measure_gives_the_same_shape_as_many(engine: Any) -> None:
    # ranx returns a float for one measure and a dict for two, and fails on "ndcg@3" per question.
    result = evaluate({"q": {"a": 1}}, {"q": {"a": 1.0}}, "ndcg@3", engine=engine)
    assert dict(result.means) == {"ndcg@3": 1.0}
    assert result.per_question("ndcg@3") == {"q": 1.0}


@every_engine
def test_ids_whose_hashes_collide_are_told_apart(engine: Any) -> None:
    # ranx compares 53 bits of a hash. -1 and -2 have the same hash in CPython, and so have 0 and 2**61 - 1.
    assert hash(-1) == hash(-2)
    assert mean({"q": {"-1": 1}}, {"q": [-2, -1]}, "mrr", engine=engine) == 0.5
    assert mean({"q": {"0": 1}}, {"q": [2**61 - 1, 0]}, "mrr", engine=engine) == 0.5


@every_engine
def test_cut_and_uncut_measures_order_ties_alike(engine: Any) -> None:
    # ir_measures answers RR=0.5 and RR@10=1.0 in one call.
    result = evaluate({"q": {"a": 1}}, {"q": {"a": 1.0, "b": 1.0}}, "RR,RR@10,AP,nDCG@10,P@1", engine=engine)
    assert result["RR"] == result["RR@10"] == result["AP"] == 0.5
    assert result["P@1"] == 0.0


@every_engine
def test_a_constant_scorer_gains_nothing_from_ties(engine: Any) -> None:
    # mteb: a scorer that says the same of everything once reached MRR@10 = 1.0.
    run = {f"q{i}": dict.fromkeys([f"d{n:02}" for n in range(20)], 1.0) for i in range(20)}
    qrels = {f"q{i}": {f"d{i:02}": 1} for i in range(20)}
    assert mean(qrels, run, "mrr@10", engine=engine) == pytest.approx(sum(1 / rank for rank in range(1, 11)) / 20)


@every_engine
def test_missing_judged_questions_count_zero_and_are_named(engine: Any) -> None:
    # trec_eval 10.0-rc3 exits with 4, pytrec_eval leaves them out of the mean.
    result = evaluate({"q1": {"a": 1}, "q2": {"b": 1}}, {"q1": ["a"]}, "recall@5", engine=engine)
    assert result["recall@5"] == 0.5
    assert result.missing == ("q2",)
    assert result.per_question("recall@5") == {"q1": 1.0, "q2": 0.0}
    assert mean({"q1": {"a": 1}, "q2": {"b": 1}}, {"q1": ["a"]}, "mrr", missing="skip", engine=engine) == 1.0
    with pytest.raises(InputError, match="'q2'"):
        evaluate({"q1": {"a": 1}, "q2": {"b": 1}}, {"q1": ["a"]}, "mrr", missing="error", engine=engine)


@every_engine
def test_scores_keep_double_precision_and_may_lose_it_on_request(engine: Any) -> None:
    run = {"q": {"a": 1 + 1e-9, "b": 1.0}}
    assert mean({"q": {"b": 1}}, run, "mrr", engine=engine) == 0.5
    assert mean({"q": {"b": 1}}, run, "mrr", score_dtype="float32", engine=engine) == 1.0
    huge = {"q": {"a": 1e300, "b": 2e300}}
    assert mean({"q": {"b": 1}}, huge, "mrr", score_dtype="float32", engine=engine) == 1.0


@every_engine
@pytest.mark.parametrize("others", [["c"], ["c", "d", "e"]])
def test_nan_scores_are_refused_with_question_and_document(engine: Any, others: list[str]) -> None:
    run = {"q1": {"a": 1.0}, "q2": {**dict.fromkeys(others, 1.0), "b": math.nan}}
    with pytest.raises(InputError, match=r"'b' for question 'q2'"):
        evaluate({"q1": {"a": 1}, "q2": {"zz": 1}}, run, "mrr", engine=engine)


@every_engine
def test_scores_of_zero_and_below_are_scores(engine: Any) -> None:
    # torchmetrics takes them for not retrieved.
    run = {"q": {"a": -5.0, "b": 0.0, "c": -0.5}}
    result = evaluate({"q": {"a": 1, "c": 1}}, run, "map,recall@3,P@2", engine=engine)
    assert result["map"] == pytest.approx((1 / 2 + 2 / 3) / 2)
    assert (result["recall@3"], result["P@2"]) == (1.0, 0.5)


@every_engine
def test_evaluating_twice_gives_the_same(engine: Any) -> None:
    # pytrec_eval 0.5 answered 0 the second time.
    judgements = Judgements({"q": {"a": 1}})
    assert [mean(judgements, {"q": ["b", "a"]}, "mrr", engine=engine) for _ in range(3)] == [0.5, 0.5, 0.5]


@every_engine
def test_input_is_not_changed(engine: Any) -> None:
    qrels: Any = {"q": {"a": 1, "b": 0}}
    for ranking in (["c", "c", 7, "a"], {"a": 1, 7: 2.0}):
        run: Any = {"q": ranking}
        evaluate(qrels, run, "mrr,precision_retrieved@2", judged_only=True, engine=engine)
        evaluate(qrels, run, "mrr", depth=1, engine=engine)
        assert run == {"q": ranking}
        assert qrels == {"q": {"a": 1, "b": 0}}


# --- switches and diagnostics ---------------------------------------------------------------------------------------


@every_engine
def test_questions_without_relevant_documents_count_zero_can_be_left_out_or_refused(engine: Any) -> None:
    qrels, run = {"q1": {"a": 1}, "q2": {"b": 0}, "q3": {}}, {"q1": ["a"], "q2": ["b"]}
    result = evaluate(qrels, run, "mrr", engine=engine)
    assert (result["mrr"], result.without_relevant) == (1 / 3, ("q2", "q3"))
    skipped = evaluate(qrels, run, "mrr", empty_relevant="skip", engine=engine)
    assert (skipped["mrr"], skipped.questions) == (1.0, ("q1",))
    for switches, words in [
        ({"empty_relevant": "error"}, "'q2'"),
        ({"empty_relevant": "skip", "level": 5}, "no question has a relevant"),
    ]:
        with pytest.raises(InputError, match=words):
            evaluate(qrels, run, "mrr", engine=engine, **switches)


@every_engine
def test_unjudged_questions_of_the_run_are_named_and_ignored_or_refused(engine: Any) -> None:
    result = evaluate({"q1": {"a": 1}}, {"zz": ["a"], "q1": ["a"]}, "mrr", engine=engine)
    assert (result["mrr"], result.ignored) == (1.0, ("zz",))
    with pytest.raises(InputError, match="'zz'"):
        evaluate({"q1": {"a": 1}}, {"zz": ["a"], "q1": ["a"]}, "mrr", extra="error", engine=engine)


@every_engine
def test_a_run_of_other_questions_is_an_error_and_an_empty_run_counts_zero(engine: Any) -> None:
    with pytest.raises(InputError, match="no question in common"):
        evaluate({"q1": {"a": 1}}, {"1": ["a"]}, "mrr", engine=engine)
    assert mean({"q1": {"a": 1}}, {}, "mrr", engine=engine) == 0.0
    with pytest.raises(InputError, match="empty"):
        evaluate({"q1": {"a": 1}}, {}, "mrr", missing="skip", engine=engine)


@every_engine
def test_repeated_ids_count_once_at_their_best_rank(engine: Any) -> None:
    result = evaluate({"q": {"a": 1, "b": 1}}, {"q": ["x", "x", "a", "a", "b"]}, "mrr,P@3,set_P", engine=engine)
    assert (result["mrr"], result["P@3"], result["set_P"]) == (0.5, 2 / 3, 2 / 3)
    assert (dict(result.duplicates or {}), result.n_duplicates) == ({"q": 2}, 2)
    with pytest.raises(InputError, match="question 'q' repeats 2"):
        evaluate({"q": {"a": 1}}, {"q": ["x", "x", "a", "a"]}, "mrr", duplicates="error", engine=engine)


@every_engine
def test_grades_of_any_number_type_are_read(engine: Any) -> None:
    qrels = {"q": {"a": np.int64(2), "b": True, "c": 0.5, "d": np.float32(1)}}
    result = evaluate(qrels, {"q": {"a": np.float32(3), "b": 2, "d": np.int32(1)}}, "recall@3,ndcg@3", engine=engine)
    assert (result["recall@3"], result["ndcg@3"]) == (1.0, 1.0)


@every_engine
def test_relevant_ids_may_come_as_sets_lists_and_tuples(engine: Any) -> None:
    for relevant in ({"a", "b"}, ["a", "b"], ("a", "b"), frozenset("ab"), {"a": 1, "b": 1}.keys()):
        assert mean({"q": relevant}, {"q": ["a"]}, "recall", engine=engine) == 0.5


@every_engine
@pytest.mark.parametrize(
    "ranking", [["7", 8], [7, "8"], (7, 8), np.array([7, 8]), {7: 2.0, "8": 1.0}, {"7": 2.0, 8: 1.0}]
)
def test_whole_numbers_and_texts_are_the_same_ids(engine: Any, ranking: Any) -> None:
    result = evaluate({1: {"8": 1, 7: 0}}, {"1": ranking}, "mrr,recall", engine=engine)
    assert (result["mrr"], result["recall"]) == (0.5, 1.0)


@every_engine
def test_many_questions_with_lengths_far_apart(engine: Any) -> None:
    long = {f"d{n}": float(-n) for n in range(3000)}
    run = {f"q{i}": (long if i % 100 == 7 else {"x": 2.0, f"d{i}": 1.0}) for i in range(600)}
    qrels = {f"q{i}": {f"d{i}": 1} for i in range(600)}
    values = evaluate(qrels, run, "mrr", engine=engine).per_question("mrr")
    assert all(values[f"q{i}"] == (1 / (i + 1) if i % 100 == 7 else 0.5) for i in range(600))


@every_engine
def test_questions_with_hundreds_of_relevant_documents(engine: Any) -> None:
    run = {"q": {f"d{n}": float(n // 2) for n in range(1000)}}
    result = evaluate({"q": [f"d{n}" for n in range(0, 1000, 2)]}, run, "map,ndcg", engine=engine)
    # Pairs of equal scores stand in the order of their texts, larger first.
    order = [id for top in range(998, -1, -2) for id in sorted((f"d{top}", f"d{top + 1}"), reverse=True)]
    expected = evaluate({"q": [f"d{n}" for n in range(0, 1000, 2)]}, {"q": order}, "map,ndcg", engine="plain")
    assert result["map"] == pytest.approx(expected["map"])
    assert result["ndcg"] == pytest.approx(expected["ndcg"])


@every_engine
def test_a_perfect_order_is_exactly_one(engine: Any) -> None:
    grades = {f"d{n}": grade for n, grade in enumerate([3] * 7 + [2] * 11 + [1] * 13)}
    for metric in ("ndcg", "ndcg@10", "map", "context_precision@10", "r_precision"):
        assert mean({"q": grades}, {"q": list(grades)}, metric, engine=engine) == 1.0


@every_engine
def test_continuous_gains_are_read(engine: Any) -> None:
    grades = {f"d{n}": 1 + n / 7 for n in range(40)}
    order = sorted(grades, key=grades.__getitem__, reverse=True)
    assert mean({"q": grades}, {"q": order}, "ndcg@10", engine=engine) == 1.0
    assert mean({"q": grades}, {"q": order[::-1]}, "ndcg@10", engine=engine) < 0.5
    assert mean({"q": {"a": 1, "b": 2}}, {"q": ["a", "b"]}, "ndcg", gain={1: 1, 2: 1}, engine=engine) == 1.0


def test_the_result_describes_and_converts_itself() -> None:
    result = evaluate(
        {f"q{i}": {"a": 1} for i in range(4)}, {f"q{i}": ["x"] * (i > 1) + ["a"] for i in range(4)}, "mrr"
    )
    assert result.describe("MRR") == {
        "mean": 0.75, "std": pytest.approx(0.28867513), "min": 0.5, "p25": 0.5, "median": 0.75, "p75": 1.0, "max": 1.0,
    }  # fmt: skip
    assert result.to_dict()["metrics"] == {"reciprocal_rank": 0.75}
    assert "std" not in evaluate({"q": {"a": 1}}, {"q": ["a"]}, "mrr").describe("mrr")
    with pytest.raises(UnknownName):
        result["ndcg@10"]


# --- names ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("theirs", "ours"),
    [
        ("ndcg_cut_10", "ndcg@10"), ("ndcg_cut.10", "ndcg@10"), ("nDCG@10", "ndcg@10"), ("P_10", "precision@10"),
        ("P.5", "precision@5"), ("recip_rank", "reciprocal_rank"), ("mrr", "reciprocal_rank"),
        ("MRR@10", "reciprocal_rank@10"), ("map", "average_precision"), ("map_cut_10", "average_precision@10"),
        ("ap@5", "average_precision@5"), ("recall_10", "recall@10"), ("R@100", "recall@100"),
        ("success_10", "hit_rate@10"), ("success@1", "hit_rate@1"), ("Rprec", "r_precision"), ("set_F", "f1"),
        ("set_P", "precision_retrieved"), ("R_cap@10", "recall_cap@10"), (" f1@3 ", "f1@3"),
    ],
)  # fmt: skip
def test_names_of_other_tools_are_understood(theirs: str, ours: str) -> None:
    assert parse_measure(theirs).key == ours


def test_every_measure_keeps_its_name() -> None:
    assert all(parse_measure(name).name == name for name in MEASURES)
    assert [m.key for m in parse_measures([Measure("recall", 5), "recall@5", "mrr"])] == ["recall@5", "reciprocal_rank"]


@pytest.mark.parametrize(
    "text", ["recall@0", "recall@-1", "recall@2.5", "recall@", "recall_0", "recall@٣", "rprec@5", "recall@5:doc"]
)
def test_wrong_cut_offs_are_refused(text: str) -> None:
    with pytest.raises(UsageError):
        parse_measure(text)


def test_unknown_names_offer_the_nearest() -> None:
    with pytest.raises(UnknownName, match="'ndcg'"):
        parse_measure("ndgc@10")
    with pytest.raises(UsageError, match="no measure"):
        parse_measures(" , ")
    for k in (0, -1, 2.5, True):
        with pytest.raises(UsageError):
            Measure("recall", k)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "switches",
    [
        {"missing": "zer"}, {"gain": "quadratic"}, {"gain": {1: -1}}, {"gain": {1: math.nan}}, {"level": 0},
        {"level": math.nan}, {"depth": 0}, {"duplicates": "last"}, {"denominator": "n"}, {"score_dtype": "f4"},
        {"empty_relevant": "nan"}, {"extra": "skip"},
    ],
)  # fmt: skip
def test_wrong_switches_are_refused(switches: dict[str, Any]) -> None:
    with pytest.raises(UsageError):
        Options(**switches)


def test_the_engine_is_one_of_three() -> None:
    with pytest.raises(SettingsError):
        evaluate({"q": {"a": 1}}, {"q": ["a"]}, "mrr", engine="numba")  # type: ignore[arg-type]


# --- bad data -------------------------------------------------------------------------------------------------------

GOOD: Any = {"q": {"a": 1}}


@every_engine
@pytest.mark.parametrize(
    ("qrels", "run", "words"),
    [
        ({}, {"q": ["a"]}, "no judgements"),
        ([], {"q": ["a"]}, "must be a mapping"),
        ({"q": "a"}, {"q": ["a"]}, "question 'q'"),
        ({"q": 1}, {"q": ["a"]}, "question 'q'"),
        ({"q": {"a": "1"}}, {"q": ["a"]}, "grade of document 'a'"),
        ({"q": {"a": None}}, {"q": ["a"]}, "grade of document 'a'"),
        ({"q": {"a": math.nan}}, {"q": ["a"]}, "grade of document 'a'"),
        ({"q": {"a": 10**400}}, {"q": ["a"]}, "grade of document 'a'"),
        ({"q": {"1": 1, 1: 2}}, {"q": ["a"]}, "judged twice"),
        ({"1": {"a": 1}, 1: {"a": 1}}, {"1": ["a"]}, "judged twice"),
        ({"q": [None]}, {"q": ["a"]}, "cannot be an id"),
        (GOOD, [], "must be a mapping"),
        (GOOD, {"q": "abc"}, "cannot be read"),
        (GOOD, {"q": 5}, "cannot be read"),
        (GOOD, {"q": [("a", 0.5)]}, "cannot be an id"),
        (GOOD, {"q": [None]}, "cannot be an id"),
        (GOOD, {"q": [0.5]}, "cannot be an id"),
        (GOOD, {"q": {"a": "0.5"}}, "score of document 'a'"),
        (GOOD, {"q": {"a": None, "b": 1}}, "score of document 'a'"),
        (GOOD, {"q": {1: 1.0, "1": 2.0}}, "comes twice"),
        (GOOD, {"q": ["a"], 1: ["a"], "1": ["a"]}, "comes twice"),
        ({"q": {"a": 1}, "r": {"a": 1}}, {"q": ["a"], "r": {"a": 1.0}}, "one kind for the whole run"),
    ],
)
def test_bad_data_is_named(engine: Any, qrels: Any, run: Any, words: str) -> None:
    with pytest.raises(InputError, match=words):
        evaluate(qrels, run, "mrr,ndcg@5", engine=engine)


def test_mixed_ids_never_leave_the_engine() -> None:
    assert issubclass(MixedIds, Exception)
    qrels = {f"q{i}": {"5": 1} for i in range(10)}
    run = {f"q{i}": ["a", 5] if i == 7 else ["a", "5"] for i in range(10)}
    assert mean(qrels, run, "mrr", engine="numpy") == 0.5


def test_hostile_ids_are_only_ids() -> None:
    ids = ["", "\0", "\ud800", "a\nb", "٣", "²", "9" * 5000, "🙂", "\u202e"]
    for engine in ENGINES:
        assert mean({"q": ids}, {"q": ["x", *ids]}, "recall", engine=engine) == 1.0
        assert mean({"q": ids}, {"q": ["x", 3]}, "recall", engine=engine) == 0.0
        assert mean({"q": ids}, {"q": {"x": 1.0, "²": 0.5}}, "recall", engine=engine) == pytest.approx(1 / 9)


def test_score_one_takes_lists_scores_and_sets() -> None:
    assert score_one("recall", ["b", "a"], {"a"}, k=1) == 0.0
    assert score_one("mrr", {"b": 1.0, "a": 1.0}, {"a": 1}) == 0.5
    assert score_one("ndcg@2", ["a", "b"], {"a": 1, "b": 2}, gain="binary") == 1.0
    with pytest.raises(InputError, match="NaN"):
        score_one("mrr", {"a": math.nan}, {"a": 1})


def test_few_questions_load_no_numpy() -> None:
    code = (
        "import sys; from ragauge.ranking import evaluate, score_one;"
        "assert evaluate({'q': {'a': 1}}, {'q': {'a': 1.0}}, 'ndcg@10,map')['map'] == 1;"
        "assert score_one('mrr', ['a'], {'a'}) == 1; assert 'numpy' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
