"""Agreement with trec_eval and pytrec_eval on stored cases, to 1e-9, for every engine and every kind of input."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from ragauge.errors import RagaugeError
from ragauge.ranking import RankingResult, collapse_to_documents, evaluate, parse_measure

ENGINES = ["plain", "numpy"]

#: Names of the oracle files that our aliases do not cover on purpose: our `dcg` is inside nDCG, gains are a switch.
GAINED = {"ndcg_binary": "binary", "ndcg_bin": "binary", "ndcg_exp": "exp"}


def read_oracle(shared: Path, name: str) -> dict[str, Any]:
    path = shared / "oracles" / name
    data = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
    return json.loads(data)


def ours(name: str) -> tuple[str, str] | None:
    """Our measure and its gain for a name of the oracle files; None for what we do not measure."""
    gain = "linear"
    for prefix, its_gain in GAINED.items():
        if name.split("@")[0].startswith(prefix):
            name, gain = "ndcg" + name[len(prefix) :], its_gain
            break
    name = name.replace("recip_rank_cut_", "reciprocal_rank@").replace("set_F_cut_", "set_F@")
    name = name.replace("context_precision_", "context_precision@") if name[-1].isdigit() and "@" not in name else name
    try:
        return parse_measure(name).key, gain
    except RagaugeError:
        return None


def close(got: float, want: float) -> bool:
    return abs(got - want) <= 1e-9


def hand_cases(shared: Path) -> list[dict[str, Any]]:
    return read_oracle(shared, "ir_hand_cases.json")["cases"]


@pytest.mark.parametrize("engine", ENGINES)
def test_every_hand_case_agrees(shared: Path, engine: str) -> None:
    n_checked = 0
    for case in hand_cases(shared):
        retrieved = collapse_to_documents(case["chunks"], "#") if "chunks" in case else case["retrieved"]
        rankings: list[Any] = [case.get("run", retrieved)] if "run" in case else [retrieved]
        for name, want in case["expected"].items():
            found = ours(name)
            if found is None:
                assert name in {"dcg@6", "idcg@6"}
                continue
            key, gain = found
            for ranking in rankings:
                result = evaluate(
                    {"q": case["relevant"]}, {"q": ranking}, key,
                    level=case["relevance_level"], gain=gain, engine=engine,
                )  # fmt: skip
                assert close(result[key], want), (case["id"], name, result[key], want)
                n_checked += 1
    assert n_checked > 140


def test_the_alternatives_of_the_hand_cases_are_switches(shared: Path) -> None:
    cases = {case["id"]: case for case in hand_cases(shared)}

    def measured(id: str, metric: str, **switches: Any) -> float:
        case = cases[id]
        return evaluate({"q": case["relevant"]}, {"q": case.get("run", case["retrieved"])}, metric, **switches)[metric]

    assert measured("k_beyond_list", "precision@5", denominator="retrieved") == 0.5
    assert measured("ap_cut_R_gt_k", "recall_cap@2") == 0.5
    assert measured("tie_float32", "reciprocal_rank", score_dtype="float32") == 1.0
    assert close(measured("unjudged", "ap@5", judged_only=True), 0.8333333333333333)
    assert measured("unjudged", "reciprocal_rank", judged_only=True) == 1.0
    assert measured("unjudged", "precision@5", judged_only=True) == 0.4
    chunks = cases["chunk_to_document"]["chunks"]
    cut = collapse_to_documents(chunks, "#", k=3, cut="chunks")
    relevant = cases["chunk_to_document"]["relevant"]
    assert close(evaluate({"q": relevant}, {"q": cut}, "precision@3")["precision@3"], 1 / 3)
    assert evaluate({"q": relevant}, {"q": cut}, "recall@3")["recall@3"] == 0.5


@pytest.mark.parametrize("engine", ENGINES)
def test_every_multi_question_case_agrees(shared: Path, engine: str) -> None:
    for case in read_oracle(shared, "ir_hand_cases.json")["multi_query"]:
        for switches, expected in [({}, case["expected_mean"]), *alternatives(case)]:
            for name, want in expected.items():
                result = evaluate(case["qrels"], case["rankings"], name, engine=engine, **switches)
                assert close(result[name], want), (case["id"], switches, name)
        result = evaluate(case["qrels"], case["rankings"], "map")
        assert set(result.missing) == set(case["qrels"]) - set(case["rankings"])
        assert set(result.ignored) == set(case["rankings"]) - set(case["qrels"])


def alternatives(case: dict[str, Any]) -> list[tuple[dict[str, str], dict[str, float]]]:
    found = []
    for text, expected in case.get("alternatives", {}).items():
        switch, _, value = text.partition("=")
        found.append(({switch: value.strip('"')}, expected))
    return found


@pytest.mark.parametrize("engine", ENGINES)
def test_all_trec_eval_cases_agree(shared: Path, engine: str) -> None:
    cases = read_oracle(shared, "ir_trec_eval_cases.json.gz")["cases"]
    assert len(cases) == 80
    n_checked = 0
    for case in cases:
        for run in (case["run"], case["ranking"]):
            n_checked += check_trec_case(case, run, engine)
    assert n_checked > 60_000


def check_trec_case(case: dict[str, Any], run: dict[str, Any], engine: str) -> int:
    n_checked, level = 0, case["relevance_level"]
    for switches, names in names_by_switches(case).items():
        options: dict[str, Any] = {"level": level, "engine": engine, **dict(switches)}
        result = evaluate(case["qrels"], run, names.values(), **options)
        skipped = evaluate(case["qrels"], run, names.values(), missing="skip", **options)
        for name, key in names.items():
            values = result.per_question(key)
            for question, want in case["expected"]["per_query"].items():
                assert close(values[question], want[name]), (case["id"], question, name)
                n_checked += 1
            if name in case["expected"]["mean_complete"]:
                assert close(result[key], case["expected"]["mean_complete"][name]), (case["id"], name)
                assert close(skipped[key], case["expected"]["mean_intersection"][name]), (case["id"], name)
        assert result.n_questions == case["expected"]["n_complete"]
        assert skipped.n_questions == case["expected"]["n_intersection"]
    return n_checked


def names_by_switches(case: dict[str, Any]) -> dict[tuple[tuple[str, str], ...], dict[str, str]]:
    """Switches → name in the oracle → our measure."""
    groups: dict[tuple[tuple[str, str], ...], dict[str, str]] = {}
    for name in next(iter(case["expected"]["per_query"].values())):
        found = ours(name)
        if found is None:
            assert name.startswith("num_"), name
            continue
        # set_F_cut_k is trec_eval's `-M k`: its precision divides by what is left of the list.
        denominator = "retrieved" if name.startswith("set_F_cut") else "k"
        groups.setdefault((("gain", found[1]), ("denominator", denominator)), {})[name] = found[0]
    return groups


@pytest.mark.parametrize("engine", ENGINES)
def test_trec_evals_own_shipped_cases_agree(shared: Path, engine: str) -> None:
    # Converted from trec_eval's own test data, a NIST public service.
    oracle = read_oracle(shared, "ir_trec_eval_shipped.json.gz")
    for case in oracle["cases"]:
        gain: Any = {1: 3, 2: 9, 4: 4.5} if case["id"] == "meas_params" else "linear"
        wanted = case["expected_full_precision"]
        names = {name: key for name in wanted["all"] if (key := shipped_name(name, case["id"]))}
        result = evaluate(
            oracle["qrels"][case["qrels_ref"]], oracle["runs"][case["run_ref"]], names.values(),
            level=case["relevance_level"], gain=gain, depth=case["max_docs_per_topic"],
            missing="zero" if case["average_complete"] else "skip", engine=engine,
        )  # fmt: skip
        assert len(names) >= 5, case["id"]
        for name, key in names.items():
            assert close(result[key], wanted["all"][name]), (case["id"], name)
            values = result.per_question(key)
            for question, want in wanted["per_query"].items():
                if name in want:
                    assert close(values[question], want[name]), (case["id"], question, name)


def shipped_name(name: str, case: str) -> str | None:
    if name.startswith(("set_relative", "set_map", "iprec", "num_", "relative_P", "Rprec_mult", "unj_", "ndcg_rel")):
        return None
    if case == "meas_params" and name.startswith("ndcg_cut"):
        return None  # the gains of this case are set for `ndcg` only
    found = ours(name)
    return found[0] if found else None


def test_errors_of_the_oracle_are_errors() -> None:
    qrels, nan = {"q": {"a": 1}}, float("nan")
    for metric in ("recall@0", "recall@-1", "recall@2.5", "ndgc@10"):
        with pytest.raises(RagaugeError):
            evaluate(qrels, {"q": ["a"]}, metric)
    for engine in ENGINES:
        with pytest.raises(RagaugeError, match=r"document 'a' for question 'q'"):
            evaluate(qrels, {"q": {"a": nan, "b": 1.0}}, "mrr", engine=engine)
        result = evaluate(qrels, {"q": {"b": 1.0, "a": float("inf")}}, "mrr", engine=engine)
        assert result["mrr"] == 1.0
        assert evaluate({"q": {"a": True}}, {"q": ["a"]}, "recall@1", engine=engine)["recall@1"] == 1.0
        half: RankingResult = evaluate({"q": {"a": 0.5, "b": 1}}, {"q": ["b", "a"]}, "ndcg,recall@1", engine=engine)
        assert half["ndcg"] == 1.0
        assert half["recall@1"] == 1.0
