"""Bugs found in other tools, as tests of our metrics.

The cases stand in `../shared/oracles/peer_bug_cases.jsonl`; each test reads its own from there. Cases about parsing
replies, caches, runners and gates are tested with the parts that own them. Where the design decides otherwise than a
case suggests, the test follows the design and says so.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from ragauge.core.sample import Sample
from ragauge.core.score import Kind, Scored, Unscored
from ragauge.errors import Reason
from ragauge.metrics.answer.abstention import Abstention
from ragauge.metrics.answer.answer_relevance import AnswerRelevance
from ragauge.metrics.answer.completeness import Completeness
from ragauge.metrics.answer.composite import Composite
from ragauge.metrics.answer.correct_abstention import CorrectAbstention
from ragauge.metrics.answer.correctness import Correctness
from ragauge.metrics.answer.faithfulness import Faithfulness
from ragauge.metrics.context.context_precision import ContextPrecision
from ragauge.metrics.context.context_recall import ContextRecall
from ragauge.metrics.context.noise_sensitivity import NoiseSensitivity
from ragauge.ranking.single import score_one
from ragauge.testing import Rounds, ScriptedJudge, a_sample, score_now


@pytest.fixture(scope="module")
def cases(shared: Path) -> dict[str, Any]:
    lines = (shared / "oracles" / "peer_bug_cases.jsonl").read_text(encoding="utf-8").splitlines()
    found = {}
    for line in lines:
        case = json.loads(line)
        found[case["id"].split("-")[0]] = case
    return found


def sample_of(case: dict[str, Any], **more: Any) -> Sample:
    given = case["input"]
    contexts = [(f"k{number}", text) for number, text in enumerate(given.get("contexts") or [], start=1)]
    values = {"question": given["question"], "answer": given.get("answer"), "reference": given.get("reference")}
    return a_sample(contexts, gold="", **(values | more))


def test_pb01_missing_verdicts_do_not_shrink_the_denominator(cases: dict[str, Any]) -> None:
    case = cases["PB01"]
    script = case["input"]["judge_script"]
    rounds = [dict(pairs) for pairs in script["verdict_rounds"]]
    judge = ScriptedJudge({"split_claims": script["claims"], "support": Rounds(*rounds)})
    score = score_now(Faithfulness(judge), sample_of(case))
    assert isinstance(score, Scored)
    assert (score.value, score.count) == (case["expected_behaviour"]["value"], 5)
    assert [claim.id for claim in judge.calls[-1].inputs["claims"]] == ["c2", "c3", "c4", "c5"], "only the missing ones"

    # Still missing after the re-ask: no value at all. The case would give bounds; our rows keep the raw replies.
    lazy = ScriptedJudge({"split_claims": script["claims"], "support": rounds[0]})
    missing = score_now(Faithfulness(lazy), sample_of(case))
    assert isinstance(missing, Unscored)
    assert (missing.reason, missing.kind) == (Reason.JUDGE_INCOMPLETE, Kind.ERROR)
    assert missing.raw


def test_pb02_context_recall_divides_by_the_stored_statements(cases: dict[str, Any]) -> None:
    case = cases["PB02"]
    script = case["input"]["judge_script"]
    labels = {"attributed": "supported", "not_attributed": "not_mentioned"}
    rounds = [{id.replace("s", "r"): labels[label] for id, label in pairs} for pairs in script["verdict_rounds"]]
    judge = ScriptedJudge({"support": Rounds(*rounds)})
    score = score_now(ContextRecall(judge), sample_of(case, claims=tuple(script["statements"])))
    assert isinstance(score, Scored)
    assert (score.value, score.count) == (case["expected_behaviour"]["value"], len(script["statements"]))
    assert judge.count("split_claims") == 0


def test_pb03_a_perfect_list_is_exactly_one(cases: dict[str, Any]) -> None:
    case = cases["PB03"]
    labels = ["useful" if hit else "not_useful" for hit in case["input"]["judge_script"]["relevance"]]
    score = score_now(ContextPrecision(ScriptedJudge({"usefulness": labels})), sample_of(case))
    assert isinstance(score, Scored)
    assert score.value == 1.0
    none = score_now(ContextPrecision(ScriptedJudge({"usefulness": "not_useful"})), sample_of(case))
    assert isinstance(none, Scored)
    assert none.value == 0.0


def test_pb04_a_verdict_outside_the_menu_is_asked_again_and_then_an_error(cases: dict[str, Any]) -> None:
    case = cases["PB04"]
    labels = [str(label) for label in case["input"]["judge_script"]["relevance_raw"]]
    judge = ScriptedJudge({"usefulness": labels})
    score = score_now(ContextPrecision(judge), sample_of(case))
    assert isinstance(score, Unscored)
    assert score.reason is Reason.JUDGE_UNPARSEABLE
    assert judge.count() == 2


def test_pb05_low_density_is_shown_beside_average_precision(cases: dict[str, Any]) -> None:
    case = cases["PB05"]
    given, want = case["input"], case["expected_behaviour"]["value"]
    labels = ["useful" if hit else "not_useful" for hit in given["contexts_relevance"]]
    sample = a_sample(given["retrieved_ids"], question=given["question"], reference=given["reference"])
    score = score_now(ContextPrecision(ScriptedJudge({"usefulness": labels})), sample)
    assert isinstance(score, Scored)
    assert score.value == want["ap_over_retrieved_hits"]
    assert score.details["useful_share"] == want["precision_at_10"]
    assert score.details["denominator"] == "useful chunks retrieved"
    grades = dict.fromkeys(given["relevant_ids"], 1)
    for name, k, key in (
        ("average_precision", None, "ap_over_all_relevant"),
        ("precision", 10, "precision_at_10"),
        ("recall", 10, "recall_at_10"),
        ("reciprocal_rank", None, "mrr"),
    ):
        assert score_one(name, given["retrieved_ids"], grades, k) == pytest.approx(want[key], abs=1e-9)


def test_pb06_precision_and_recall_count_their_own_direction(cases: dict[str, Any]) -> None:
    case = cases["PB06"]
    script, want = case["input"]["judge_script"], case["expected_behaviour"]["value"]
    answer_side = script["answer_claims_supported_by_reference"]
    reference_side = script["reference_claims_supported_by_answer"]

    def coverage(claims: Any, text: str) -> list[str]:
        side = answer_side if text == case["input"]["reference"] else reference_side
        return ["supported" if hit else "not_mentioned" for hit in side]

    def split(text: str) -> list[str]:
        return [f"{part}." for part in text.rstrip(".").split(". ")]

    judge = ScriptedJudge({"correctness": "partial", "split_claims": split, "coverage": coverage})
    score = score_now(Correctness(judge), sample_of(case))
    assert isinstance(score, Scored)
    for name in ("precision", "recall", "f1"):
        assert score.details[name] == pytest.approx(want[name], abs=1e-9)
    assert score.details["recall"] == 2 / 3, "rounding is for display only"


def test_pb08_a_right_refusal_is_right_and_makes_no_claims(cases: dict[str, Any]) -> None:
    sample = sample_of(cases["PB08"], answerable=False)
    for metric in (Abstention(), CorrectAbstention(), Correctness(ScriptedJudge({"abstention": "declined"}))):
        right = score_now(metric, sample)
        assert isinstance(right, Scored)
        assert right.value == 1.0
    silent = ScriptedJudge({"split_claims": []})
    for claims in (Faithfulness(silent), Completeness(silent)):
        score = score_now(claims, sample)
        assert isinstance(score, Unscored)
        assert score.kind is Kind.NOT_APPLICABLE
    assert silent.count("support") == 0


@pytest.mark.parametrize("contexts", [[], [""], [" \n"], ["\u200b"]])
def test_pb09_an_invented_answer_without_context_is_zero(cases: dict[str, Any], contexts: list[str]) -> None:
    case = cases["PB09"]
    case = case | {"input": case["input"] | {"contexts": contexts}}
    judge = ScriptedJudge({"split_claims": case["input"]["judge_script"]["claims"]})
    score = score_now(Faithfulness(judge), sample_of(case))
    assert isinstance(score, Scored)
    assert (score.value, score.count) == (0.0, 2)
    assert score.details["no_context"] is True
    assert judge.count("support") == 0


def test_pb11_a_blank_answer_is_no_answer_and_costs_nothing(cases: dict[str, Any]) -> None:
    # The case scores 0 with a flag. Our design (edge table) keeps it out of the mean and counts it as `no_answer`, so
    # that silence is not mixed with irrelevance; the abstention metrics count it as a wrong decision.
    case = cases["PB11"]
    for answer in [case["input"]["answer"], *case["input"]["answer_variants"]]:
        judge = ScriptedJudge({})
        score = score_now(AnswerRelevance(judge), sample_of(case, answer=answer))
        assert isinstance(score, Unscored)
        assert score.reason is Reason.NO_ANSWER
        assert judge.count() == 0
        decision = score_now(Abstention(), sample_of(case, answer=answer))
        assert isinstance(decision, Scored)
        assert (decision.value, decision.details["no_answer"]) == (0.0, 1.0)


def test_pb12_not_mentioned_is_not_supported(cases: dict[str, Any]) -> None:
    case = cases["PB12"]
    script = case["input"]["judge_script"]
    judge = ScriptedJudge({"split_claims": script["claims"], "support": script["verdicts"]})
    score = score_now(Faithfulness(judge), sample_of(case))
    assert isinstance(score, Scored)
    assert score.value == pytest.approx(case["expected_behaviour"]["value"], abs=1e-9)
    assert score.details["not_mentioned"] == pytest.approx(2 / 3)
    assert score.details["contradicted"] == 0.0
    shown = judge.calls[1].inputs["chunks"]
    assert [chunk.text for chunk in shown] == case["input"]["contexts"], "the judge sees the chunks as they are"


def test_pb14_an_unusable_verdict_keeps_its_rank(cases: dict[str, Any]) -> None:
    case = cases["PB14"]
    script = case["input"]["judge_script"]
    words = {"yes": "useful", "no": "not_useful"}
    first = [words.get(word, word) for word in script["raw_verdicts_round1"]]
    second = {f"k{int(index) + 1}": words[word] for index, word in script["round2"].items()}
    judge = ScriptedJudge({"usefulness": Rounds(first, second)})
    score = score_now(ContextPrecision(judge), sample_of(case))
    assert isinstance(score, Scored)
    assert score.value == case["expected_behaviour"]["value"]
    assert score.count == 3


def test_pb16_a_failed_component_is_an_error_of_the_composite(cases: dict[str, Any]) -> None:
    # The mean over rows and the gate belong to `analysis`; what metrics own is that no failure becomes a number.
    rows = cases["PB16"]["input"]["rows"]
    judge = ScriptedJudge({"split_claims": ["One."], "support": TimeoutError})
    assert rows.count("error") == 7
    with pytest.raises(TimeoutError):
        score_now(Faithfulness(judge), a_sample())  # a bug of the judge stops the run, and is no score
    failed = Unscored(reason=Reason.JUDGE_UNAVAILABLE)
    score = Composite(metrics=("faithfulness", "completeness")).derive(
        {"faithfulness": Scored(value=rows[0]), "completeness": failed}
    )
    assert isinstance(score, Unscored)
    assert score.kind is Kind.ERROR


def test_pb28_the_direction_stands_on_the_card(cases: dict[str, Any]) -> None:
    case = cases["PB28"]["input"]
    assert case["direction"] == "lower_is_better"
    assert NoiseSensitivity.info.better == "lower"
    assert NoiseSensitivity.info.name == case["metric"]
    assert NoiseSensitivity.info.version >= 1


def test_pb29_the_matrix_of_claims_and_chunks_is_whole_or_an_error(cases: dict[str, Any]) -> None:
    case = cases["PB29"]
    script = case["input"]["judge_script"]
    claims = [f"A{number}." for number in range(1, script["answer_claims"] + 1)]
    wrong = ["supported" if hit else "not_mentioned" for hit in script["reference_verdicts_for_answer"]]
    column = ["supported" if hit else "not_mentioned" for hit in script["verdicts_per_context_for_answer"][0]]

    # One claim is wrong, and the judge's columns are one long: whole. Both wrong: each column is one short.
    whole = ScriptedJudge({"split_claims": claims, "coverage": wrong, "support": column, "usefulness": "useful"})
    assert isinstance(score_now(NoiseSensitivity(whole), sample_of(case)), Scored)
    short = {"split_claims": claims, "coverage": "not_mentioned", "support": {"c1": column[0]}, "usefulness": "useful"}
    score = score_now(NoiseSensitivity(ScriptedJudge(short)), sample_of(case))
    assert isinstance(score, Unscored)
    assert (score.reason, score.kind) == (Reason.JUDGE_INCOMPLETE, Kind.ERROR)


@pytest.mark.parametrize("noncommittal", [True, False])
def test_pb30_half_an_answer_gets_partial_credit(cases: dict[str, Any], noncommittal: bool) -> None:
    from ragauge.core.tasks import QuestionsReply

    questions = QuestionsReply(questions=("What is the warranty?",) * 3, noncommittal=noncommittal)
    judge = ScriptedJudge({"reverse_questions": questions, "similarity": 0.9, "abstention": "partial"})
    score = score_now(AnswerRelevance(judge), sample_of(cases["PB30"]))
    assert isinstance(score, Scored)
    assert 0.4 <= score.value <= 0.7
    assert score.details["answered_share"] == score.details["declined_share"] == 0.5


def test_every_case_has_an_owner(cases: dict[str, Any]) -> None:
    here = {name[7:9] for name in globals() if name.startswith("test_pb")}
    elsewhere = {
        "15": "parsing of judge replies", "17": "cache", "18": "cache", "19": "cache",
        "23": "quotations: no metric of ours", "26": "engine", "27": "engine",
    }  # fmt: skip
    assert {id[2:] for id in cases} == here | set(elsewhere)
