"""Random rankings: every path gives the same numbers, and they are pytrec_eval's."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ragauge.ranking import MEASURES, evaluate, score_one
from ragauge.ranking.single import order_by_score

pytrec_eval = pytest.importorskip("pytrec_eval")

IDS = st.sampled_from([f"d{n}" for n in range(12)] + ["Z", "é", "文", "10", "9"])
#: Exact in single precision, and few: so that ties are common and mean the same to pytrec_eval.
SCORES = st.sampled_from([-2.0, -0.5, 0.0, 0.25, 0.5, 1.0, 3.0, 1e6])
GRADES = st.dictionaries(IDS, st.integers(-1, 4), min_size=1, max_size=10)
QUESTIONS = st.sampled_from(["q1", "q2", "q3", "q4"])
QRELS = st.dictionaries(QUESTIONS, GRADES, min_size=1)
RUNS = st.dictionaries(QUESTIONS, st.dictionaries(IDS, SCORES, max_size=14), min_size=1)
TREC = {
    "ndcg": "ndcg", "ndcg_cut_3": "ndcg@3", "ndcg_cut_10": "ndcg@10", "map": "map", "map_cut_5": "map@5",
    "recip_rank": "mrr", "P_1": "P@1", "P_5": "P@5", "recall_3": "recall@3", "recall_100": "recall@100",
    "success_1": "success@1", "success_10": "success@10", "Rprec": "Rprec", "set_P": "set_P",
    "set_recall": "set_recall", "set_F": "set_F",
}  # fmt: skip
ASKED = {"ndcg", "ndcg_cut.3,10", "map", "map_cut.5", "recip_rank", "P.1,5", "recall.3,100", "success.1,10", "Rprec",
         "set_P", "set_recall", "set_F"}  # fmt: skip
EVERY = [
    name if name in ("r_precision", "context_recall_ids") else f"{name}{cut}"
    for name in MEASURES
    for cut in ("", "@1", "@3", "@20")
]


@settings(max_examples=100, deadline=None)
@given(qrels=QRELS, run=RUNS, level=st.integers(1, 3), engine=st.sampled_from(["plain", "numpy"]))
def test_values_are_those_of_pytrec_eval(qrels: Any, run: Any, level: int, engine: Any) -> None:
    if not qrels.keys() & run.keys():
        return
    theirs = pytrec_eval.RelevanceEvaluator(qrels, ASKED, relevance_level=level).evaluate(run)
    result = evaluate(qrels, run, TREC.values(), level=level, missing="skip", engine=engine)
    assert set(result.questions) == set(theirs)
    for name, ours in TREC.items():
        values = result.per_question(ours)
        for question, expected in theirs.items():
            assert values[question] == pytest.approx(expected[name], abs=1e-9), (name, question)


@settings(max_examples=100, deadline=None)
@given(
    qrels=QRELS,
    run=RUNS,
    switches=st.fixed_dictionaries(
        {},
        optional={
            "level": st.sampled_from([1, 2, 0.5]),
            "gain": st.sampled_from(["linear", "exp", "binary", {1: 5, 2: 0, 3: 0.1}]),
            "missing": st.sampled_from(["zero", "skip"]),
            "denominator": st.sampled_from(["k", "retrieved"]),
            "score_dtype": st.sampled_from(["float64", "float32"]),
            "judged_only": st.booleans(),
            "depth": st.integers(1, 6),
        },
    ),
)
def test_lists_scores_plain_and_numpy_agree(qrels: Any, run: Any, switches: dict[str, Any]) -> None:
    if not qrels.keys() & run.keys():
        return
    lists = {question: order_by_score(scores) for question, scores in run.items()}
    results = [
        evaluate(qrels, given_run, EVERY, engine=engine, **switches)
        for given_run in (run, lists)
        for engine in ("plain", "numpy")
    ]
    first = results[0]
    for other in results[1:]:
        assert other.questions == first.questions
        assert (other.missing, other.ignored) == (first.missing, first.ignored)
        assert other.without_relevant == first.without_relevant
        for key in first.means:
            assert list(other.values[key]) == pytest.approx(list(first.values[key]), abs=1e-12), key
    for key, values in first.values.items():
        assert all(0 <= value <= 1 for value in values), key
    if not {"missing", "judged_only"} & switches.keys():
        for question in first.questions:
            for key in first.means:
                one = score_one(key, lists.get(question, []), qrels[question], **switches)
                assert one == pytest.approx(first.per_question(key)[question], abs=1e-12)


@settings(max_examples=80, deadline=None)
@given(grades=GRADES, ranked=st.lists(IDS, max_size=20))
def test_repeats_change_nothing_but_the_count(grades: Any, ranked: list[str]) -> None:
    unique = list(dict.fromkeys(ranked))
    for engine in ("plain", "numpy"):
        with_repeats = evaluate({"q": grades}, {"q": ranked}, EVERY, engine=engine)  # type: ignore[arg-type]
        without = evaluate({"q": grades}, {"q": unique}, EVERY, engine=engine)  # type: ignore[arg-type]
        assert dict(with_repeats.means) == dict(without.means)
        assert with_repeats.n_duplicates == len(ranked) - len(unique)


@settings(max_examples=80, deadline=None)
@given(grades=st.dictionaries(IDS, st.floats(0, 5, allow_subnormal=False), min_size=1), data=st.data())
def test_the_best_order_scores_one_and_none_more(grades: dict[str, float], data: st.DataObject) -> None:
    best = sorted(grades, key=grades.__getitem__, reverse=True)
    shuffled = data.draw(st.permutations(best))
    for engine in ("plain", "numpy"):
        for metric in ("ndcg", "ndcg@3"):
            top = evaluate({"q": grades}, {"q": best}, metric, engine=engine)[metric]  # type: ignore[arg-type]
            other = evaluate({"q": grades}, {"q": shuffled}, metric, engine=engine)[metric]  # type: ignore[arg-type]
            assert top == (1.0 if any(grade > 0 for grade in grades.values()) else 0.0)
            assert other <= top


@settings(max_examples=80, deadline=None)
@given(
    scores=st.dictionaries(IDS, st.floats(allow_nan=False) | st.integers(-5, 5), min_size=1),
    single=st.booleans(),
    data=st.data(),
)
def test_any_scores_order_as_sorting_does(scores: dict[str, float], single: bool, data: st.DataObject) -> None:
    id = data.draw(st.sampled_from(sorted(scores)))
    dtype = "float32" if single else "float64"
    import numpy as np

    with np.errstate(over="ignore"):
        keyed = {d: float(np.float32(s)) if single else float(s) for d, s in scores.items()}
    rank = sorted(scores, key=lambda d: (keyed[d], d), reverse=True).index(id) + 1
    for engine in ("plain", "numpy"):
        result = evaluate({"q": [id]}, {"q": scores}, "mrr", score_dtype=dtype, engine=engine)  # type: ignore[arg-type]
        assert result["mrr"] == 1 / rank
