from __future__ import annotations

from typing import Any

import pytest

from ragauge.analysis.rowcheck import RowCheck
from ragauge.analysis.thresholds import resolve_thresholds
from ragauge.core.counterfactual import Counterfactual
from ragauge.core.run import Record
from ragauge.core.sample import (
    Evidence,
    EvidenceGroup,
    GoldenItem,
    Labels,
    Response,
    RetrievalStep,
    RetrievedChunk,
    RetrievedContext,
    Sample,
)
from ragauge.core.score import Scored, Unscored, unscored
from ragauge.core.verdict import Verdict
from ragauge.diagnose.causes import CAUSES
from ragauge.diagnose.facts import read_facts
from ragauge.diagnose.fixes import FIXES, STEPS
from ragauge.diagnose.parts import run_facts
from ragauge.diagnose.rootcause import RowCause, root_cause, row_check
from ragauge.errors import Reason

THRESHOLDS = resolve_thresholds({})
QUOTE = "The agent listens on UDP port 8125 unless agent.port says otherwise, on every network interface."
NOISE = "Lunch is served at noon in the canteen on the second floor, and coffee all day long in the lobby."


def chunks(*pairs: tuple[str, str]) -> tuple[RetrievedChunk, ...]:
    return tuple(
        RetrievedChunk(id=name, document=name.partition("#")[0], text=text, rank=rank, score=1 / rank)
        for rank, (name, text) in enumerate(pairs, start=1)
    )


def a_record(
    *,
    context: tuple[tuple[str, str], ...] = (("agent#1", QUOTE), ("lunch#1", NOISE)),
    answer: str | None = "It listens on UDP port 8125.",
    abstained: bool | None = None,
    answerable: bool = True,
    correct: float | None = 1.0,
    labels: tuple[str, ...] | None = ("supported",),
    evidence: str = "agent#1",
    steps: tuple[RetrievalStep, ...] = (),
    gold: Labels | None = None,
    item: dict[str, Any] | None = None,
    **values: float,
) -> Record:
    scores: dict[str, Scored | Unscored] = {name: Scored(value=value) for name, value in values.items()}
    if correct is not None:
        scores["correctness"] = Scored(value=correct)
    if labels is not None:
        verdicts = tuple(
            Verdict(id=f"c{n}", claim=f"claim {n}", label=label, evidence=evidence if label == "supported" else None)
            for n, label in enumerate(labels, start=1)
        )
        scores["faithfulness"] = Scored(value=labels.count("supported") / len(labels), verdicts=verdicts)
    golden = GoldenItem(
        id="q1",
        question="On which port does the agent listen?",
        answer="UDP port 8125 on every interface",
        answerable=answerable,
        evidence=(EvidenceGroup(any=(Evidence(document="agent", quote=QUOTE),)),),
    ).model_copy(update=item or {})
    return Record(
        index=0,
        sample=Sample(
            item=golden,
            response=Response(
                context=RetrievedContext(chunks=chunks(*context)), answer=answer, abstained=abstained, steps=steps
            ),
            labels=gold or Labels(chunks={"agent#1": 1}, documents={"agent": 1}, groups=(("agent#1",),)),
        ),
        scores=scores,
    )


def cause_of(record: Record, **tried: Counterfactual) -> RowCause:
    found = root_cause(read_facts(record, run_facts([record]), THRESHOLDS, tried))
    assert found is not None
    return found


def tried(condition: Any, correct: float, **more: Any) -> Counterfactual:
    return Counterfactual(id="q1", condition=condition, scores={"correctness": Scored(value=correct)}, **more)


def test_a_row_without_problems_has_no_cause() -> None:
    record = a_record()
    assert root_cause(read_facts(record, run_facts([record]), THRESHOLDS)) is None
    assert row_check(record, THRESHOLDS).outcome == "good"


def test_errors_of_the_judge_are_no_problem_of_the_row() -> None:
    record = a_record(correct=None, labels=None).model_copy(
        update={"scores": {"faithfulness": unscored(Reason.JUDGE_UNAVAILABLE)}}
    )
    assert root_cause(read_facts(record, run_facts([record]), THRESHOLDS)) is None


OTHER = (("lunch#1", NOISE), ("lunch#2", NOISE.replace("Lunch", "Dinner").replace("noon", "eight")))
DEEPER = (RetrievalStep(name="dense", chunks=chunks(("lunch#1", ""), ("x#1", ""), ("agent#1", ""))),)
LOW = (RetrievalStep(name="dense", chunks=chunks(*((f"x#{n}", "") for n in range(18)), ("agent#1", ""))),)
DECLINED: dict[str, Any] = {"answer": "I don't know.", "abstained": True, "correct": 0.0, "labels": None}
STALE = QUOTE.replace("8125", "9410")
HALF = QUOTE[:55]


@pytest.mark.parametrize(
    ("cause", "fix", "made"),
    [
        ("not_retrieved", "hybrid_search", {"context": OTHER, **DECLINED}),
        ("retrieved_low", "larger_k", {"context": OTHER, "steps": DEEPER, **DECLINED}),
        ("retrieved_low", "rerank", {"context": OTHER, "steps": LOW, **DECLINED}),
        ("chunk_missing", "rechunk", {"context": (("agent#2", NOISE), *OTHER), **DECLINED}),
        ("answer_cut", "rechunk", {"context": (("agent#1", HALF), *OTHER), **DECLINED}),
        (
            "stale_duplicate",
            "remove_stale",
            {"context": (("old#1", STALE), *OTHER), "correct": 0.0, "evidence": "old#1"},
        ),
        (
            "crowded_out",
            "clean_corpus",
            {"context": (("a#1", NOISE), ("b#1", NOISE), ("c#1", NOISE), ("d#1", "See the menu.")), **DECLINED},
        ),
        ("wrong_label", "fix_labels", {"context": (("other#1", QUOTE), *OTHER), "evidence": "other#1"}),
        ("wrong_label", "fix_labels", {"correct": 0.0, "item": {"answer": "Coffee, until noon"}}),
        ("wrong_abstention", "soften_refusal", DECLINED),
        ("answered_unanswerable", "decline_when_absent", {"answerable": False, "correct": 0.0,
                                                          "hallucination_on_unanswerable": 1.0}),
        ("retrieved_unused", "grounding_prompt", {"labels": ("not_mentioned", "not_mentioned"), "correct": 0.0}),
        ("retrieved_unused", "grounding_prompt", {"evidence": "lunch#1", "correct": 0.0, "answer": "At noon."}),
        ("contradicted", "grounding_prompt", {"labels": ("contradicted",), "correct": 0.0}),
        ("unsupported", "grounding_prompt", {"labels": ("supported", "not_mentioned")}),
        ("miscited", "cite_each_statement", {"citation_accuracy": 0.5}),
        ("incomplete", "ask_for_all_parts", {"correct": 0.5, "completeness": 0.5}),
        ("off_topic", "question_last", {"correct": 0.0, "answer_relevance": 0.2}),
        ("wrong_despite_evidence", "stronger_model", {"correct": 0.0}),
        (
            "judge_disagreement",
            "check_judge",
            {"answer": "UDP port 8125 on every interface.", "correct": 0.0},
        ),
    ],
)  # fmt: skip
def test_each_pattern_has_its_cause_and_its_first_fix(cause: str, fix: str, made: dict[str, Any]) -> None:
    found = cause_of(a_record(**made))
    assert (found.cause, found.fix) == (cause, fix)
    assert found.evidence
    assert row_check(a_record(**made), THRESHOLDS) == RowCheck("bad", found.problems)
    assert found.problems


def test_a_system_that_failed_is_blamed_before_anything_else() -> None:
    record = a_record(**DECLINED).model_copy(update={"error": "time-out"})
    assert cause_of(record).cause == "system_failed"


def test_a_document_hit_without_its_answering_chunk_is_reported_and_no_success() -> None:
    by_document = Labels(documents={"agent": 1})
    record = a_record(
        context=(("agent#2", NOISE), *OTHER), gold=by_document, item={"evidence": None}, context_sufficiency=0.0,
        correct=None, labels=None, answer=None,
    )  # fmt: skip
    found = cause_of(record)
    assert found.cause == "label_too_coarse"
    assert "the document was retrieved, the passage that answers was not" in found.problems
    by_chunk = cause_of(a_record(context=(("agent#2", NOISE), *OTHER), correct=None, labels=None, answer=None))
    assert by_chunk.cause == "chunk_missing"
    assert "a hit at document level that is none" in by_chunk.evidence[0]


def test_one_part_of_several_missing_is_said_with_the_count() -> None:
    other = EvidenceGroup(any=(Evidence(document="key", quote="Keys are rotated every ninety days by the agent."),))
    two = a_record(
        gold=Labels(chunks={"agent#1": 1, "key#1": 1}, documents={"agent": 1, "key": 1},
                    groups=(("agent#1",), ("key#1",))),
        correct=0.5,
    )  # fmt: skip
    item = two.sample.item.model_copy(update={"evidence": (*(two.sample.item.evidence or ()), other)})
    found = cause_of(two.model_copy(update={"sample": two.sample.model_copy(update={"item": item})}))
    assert found.cause == "multi_hop_part_missing"
    assert found.evidence[0] == "1 of 2 needed passages were retrieved"


def test_a_document_that_not_even_its_own_words_bring_back_is_not_in_the_index() -> None:
    record = a_record(context=OTHER, **DECLINED)
    quoted = Counterfactual(id="q1", condition="quote_query", found=(False,))
    found = cause_of(record, quote_query=quoted)
    assert (found.cause, found.certainty) == ("not_in_index", "clear")
    there = Counterfactual(id="q1", condition="quote_query", found=(True,))
    assert cause_of(record, quote_query=there).cause == "not_retrieved"


def test_what_is_right_from_the_gold_passage_alone_was_distracted() -> None:
    record = a_record(labels=("not_mentioned",), correct=0.0)
    assert cause_of(record).cause == "retrieved_unused"
    assert cause_of(record, gold_context=tried("gold_context", 1.0)).cause == "distracted"
    assert cause_of(record, gold_context=tried("gold_context", 0.0)).cause == "retrieved_unused"
    found = cause_of(record, gold_context=tried("gold_context", 0.0), shuffled=tried("shuffled", 1.0))
    assert found.cause == "order_sensitive"


def test_a_deeper_search_shows_how_far_away_the_passage_was() -> None:
    record = a_record(context=OTHER, **DECLINED)
    deep = Counterfactual(
        id="q1", condition="more_k",
        response=Response(context=RetrievedContext(chunks=chunks(*OTHER, ("x#1", NOISE), ("agent#1", QUOTE)))),
    )  # fmt: skip
    found = cause_of(record, more_k=deep)
    assert (found.cause, found.fix) == ("retrieved_low", "larger_k")
    assert "more_k 4" in found.evidence[0]


def test_a_lost_passage_and_an_invented_answer_are_both_said() -> None:
    found = cause_of(a_record(context=OTHER, labels=("not_mentioned",), correct=0.0))
    assert found.cause == "not_retrieved"
    assert "unsupported" in found.also


def test_claims_that_stand_in_a_chunk_word_for_word_refute_the_judge() -> None:
    record = a_record(correct=None)
    verdict = Verdict(id="c1", claim="The agent listens on UDP port 8125", label="contradicted")
    scores = {"faithfulness": Scored(value=0.0, verdicts=(verdict,))}
    found = cause_of(record.model_copy(update={"scores": scores}))
    assert found.cause == "judge_disagreement"


FOREIGN = {"answer": "Coffee, until noon in the canteen"}
SOME = {"answer": "UDP 8125, and coffee until noon in the canteen"}


def recalled(value: float, *evidence: str) -> Scored:
    return Scored(value=value, verdicts=tuple(Verdict(id="c", label="supported", evidence=one) for one in evidence))


def with_scores(record: Record, **scores: Scored) -> Record:
    return record.model_copy(update={"scores": {**record.scores, **scores}})


def test_a_reference_of_another_question_is_seen_in_its_words_whatever_the_judge_says() -> None:
    """It stands in another chunk, so a judge finds it in the context; not in the labelled passage."""
    record = a_record(correct=0.0, item=FOREIGN, completeness=0.0)
    assert cause_of(with_scores(record, context_recall=recalled(1.0, "lunch#1"))).cause == "wrong_label"
    mine = a_record(correct=0.0, completeness=0.0)
    assert cause_of(with_scores(mine, context_recall=recalled(0.0))).cause == "wrong_despite_evidence"


def test_where_words_do_not_say_whose_a_reference_is_the_judge_does() -> None:
    record = a_record(correct=0.0, item=SOME, completeness=0.0)
    assert cause_of(with_scores(record, context_recall=recalled(1.0, "lunch#1"))).cause == "wrong_label"
    assert cause_of(with_scores(record, context_recall=recalled(1.0, "agent#1"))).cause == "wrong_despite_evidence"
    assert cause_of(record).cause == "wrong_despite_evidence"


def test_a_yes_belongs_to_every_passage() -> None:
    assert cause_of(a_record(correct=0.0, item={"answer": "Yes"})).cause == "wrong_despite_evidence"


def test_evidence_of_another_question_is_seen_even_when_the_judge_errs() -> None:
    lunch = (EvidenceGroup(any=(Evidence(document="lunch", quote=NOISE),)),)
    labels = Labels(chunks={"lunch#1": 1}, documents={"lunch": 1}, groups=(("lunch#1",),))
    made: dict[str, Any] = {
        "context": (("agent#1", QUOTE), ("x#1", "Nothing of either.")), "gold": labels,
        "item": {"evidence": lunch}, "answer": QUOTE[:59] + " on every network interface.",
    }  # fmt: skip
    found = cause_of(a_record(**made, correct=0.0))
    assert (found.cause, found.certainty) == ("wrong_label", "clear")
    assert "hardly a word of it in the labelled passage" in found.evidence[-1]
    # Not scored on faithfulness: that the answer stands in a retrieved chunk is enough.
    assert cause_of(a_record(**made | {"answer": QUOTE}, correct=1.0, labels=None)).cause == "wrong_label"


def two_parts(answer: str, *retrieved: tuple[str, str], **more: Any) -> Record:
    key = "Keys are rotated every ninety days by the agent."
    groups = tuple(
        EvidenceGroup(any=(Evidence(document=name, quote=quote),)) for name, quote in (("agent", QUOTE), ("key", key))
    )
    labels = Labels(
        chunks={"agent#1": 1, "key#1": 1}, documents={"agent": 1, "key": 1}, groups=(("agent#1",), ("key#1",))
    )
    item = {"evidence": groups, "answer": "UDP port 8125 on every interface; keys are rotated every ninety days"}
    return a_record(context=retrieved, answer=answer, gold=labels, item=item, **more)


def test_a_right_answer_with_one_passage_of_two_is_no_wrong_label() -> None:
    record = two_parts(QUOTE, ("agent#1", QUOTE), ("lunch#1", NOISE), correct=1.0)
    assert cause_of(record).cause == "multi_hop_part_missing"


def test_an_answer_that_says_one_passage_of_two_is_incomplete_though_it_is_judged_wrong() -> None:
    both = (("agent#1", QUOTE), ("key#1", "Keys are rotated every ninety days by the agent."))
    found = cause_of(two_parts(QUOTE, *both, correct=0.0, completeness=0.0))
    assert (found.cause, found.certainty) == ("incomplete", "likely")
    assert "1 of 2 needed passages" in found.evidence[0]
    assert cause_of(two_parts("Other.", *both, correct=0.0, completeness=0.0)).cause == "wrong_despite_evidence"


def test_what_rests_on_an_outdated_copy_is_stale_though_it_is_judged_right() -> None:
    record = a_record(
        context=(("old#1", STALE), ("agent#1", QUOTE)), answer=STALE, evidence="old#1", correct=1.0, completeness=0.0
    )
    assert cause_of(record).cause == "stale_duplicate"


def test_an_outdated_copy_of_a_labelled_chunk_is_seen_without_a_quote() -> None:
    rest = " It has done so since the first edition, and every client on the network relies on it."
    made: dict[str, Any] = {"item": {"evidence": None}, "correct": 0.0, "evidence": "old#1"}
    found = cause_of(a_record(context=(("old#1", STALE + rest), ("agent#1", QUOTE + rest)), answer=STALE, **made))
    assert (found.cause, found.fix) == ("stale_duplicate", "remove_stale")
    other = cause_of(a_record(context=(("old#1", NOISE), ("agent#1", QUOTE + rest)), answer=NOISE, **made))
    assert other.cause == "retrieved_unused"


def test_of_a_list_of_chunks_those_that_are_missing_explain_an_answer_that_is_right_in_part() -> None:
    listed = Labels(chunks={"agent#1": 1, "key#1": 1})
    made: dict[str, Any] = {"gold": listed, "item": {"evidence": None}}
    found = cause_of(a_record(**made, correct=0.5))
    assert (found.cause, found.certainty) == ("multi_hop_part_missing", "likely")
    assert found.evidence[0] == "1 of 2 needed passages were retrieved"
    below = (RetrievalStep(name="dense", chunks=chunks(("lunch#1", ""), ("key#1", ""))),)
    assert cause_of(a_record(**made, correct=0.5, steps=below)).cause == "retrieved_low"
    assert cause_of(a_record(**made, correct=0.0)).cause == "wrong_despite_evidence"
    alone = tried("gold_context", 1.0)
    assert cause_of(a_record(**made, correct=0.0), gold_context=alone).cause == "multi_hop_part_missing"


def test_of_a_list_of_chunks_one_that_came_as_an_exact_copy_is_neither_missing_nor_outdated() -> None:
    keys = "Keys are rotated every ninety days by the agent, and the old ones are kept for another thirty days."
    listed = Labels(chunks={"agent#1": 1, "key#1": 1})
    deep = Counterfactual(
        id="q1", condition="more_k",
        response=Response(context=RetrievedContext(chunks=chunks(("agent#1", QUOTE), ("key#1", keys)))),
    )  # fmt: skip

    def found(text: str) -> RowCause:
        context = (("agent#1", QUOTE), ("mirror#1", text))
        return cause_of(a_record(context=context, gold=listed, item={"evidence": None}, correct=0.5), more_k=deep)

    assert found(keys).cause == "incomplete"
    assert found(keys.replace("ninety", "sixty")).cause == "stale_duplicate"


BY_DOCUMENT: dict[str, Any] = {
    "context": (("agent#2", NOISE), *OTHER), "gold": Labels(documents={"agent": 1}),
    **DECLINED, "item": {"evidence": None, "keywords": None},
}  # fmt: skip


def test_where_a_document_is_labelled_a_refusal_is_believed_if_anything_agrees_with_it() -> None:
    """Words of the reference that are nowhere; a judge that finds too little; else it could have answered."""
    found = cause_of(a_record(**BY_DOCUMENT, context_recall=1.0, context_sufficiency=1.0))
    assert (found.cause, found.certainty) == ("label_too_coarse", "likely")
    assert "hold 0% of what the reference says" in found.evidence[0]
    there = BY_DOCUMENT | {"context": (("agent#1", QUOTE), *OTHER)}
    assert cause_of(a_record(**there, context_recall=1.0, context_sufficiency=0.0)).cause == "label_too_coarse"
    assert cause_of(a_record(**there, context_recall=1.0, context_sufficiency=1.0)).cause == "wrong_abstention"


def test_an_answer_from_the_whole_document_settles_whether_its_passage_was_missing() -> None:
    record = a_record(**BY_DOCUMENT)
    found = cause_of(record, gold_context=tried("gold_context", 1.0))
    assert (found.cause, found.certainty) == ("label_too_coarse", "clear")
    again = tried("gold_context", 0.0, response=Response(answer="I don't know.", abstained=True))
    assert cause_of(record, gold_context=again).cause == "wrong_abstention"


def test_a_wrong_answer_that_the_whole_document_mends_is_no_distraction_unless_it_was_all_retrieved() -> None:
    wrong = BY_DOCUMENT | {"answer": "At noon.", "abstained": None, "labels": ("supported",), "evidence": "agent#2"}
    record = a_record(**wrong)
    whole = Response(context=RetrievedContext(chunks=chunks(("agent#1", QUOTE), ("agent#2", NOISE))))
    found = cause_of(record, gold_context=tried("gold_context", 1.0, response=whole))
    assert (found.cause, found.certainty, found.fix) == ("label_too_coarse", "likely", "label_chunks")
    assert "answered from all of it, the answer is right" in found.evidence[0]
    said = a_record(**wrong | {"context": (("agent#1", QUOTE), *OTHER), "evidence": "lunch#1"})
    found = cause_of(said, gold_context=tried("gold_context", 1.0, response=whole))
    assert (found.cause, found.certainty) == ("distracted", "likely")  # what answers was there, not all of the document
    all_of_it = wrong | {"context": (("agent#1", QUOTE), ("agent#2", NOISE), *OTHER)}
    found = cause_of(a_record(**all_of_it), gold_context=tried("gold_context", 1.0, response=whole))
    assert (found.cause, found.certainty) == ("distracted", "clear")
    assert cause_of(record, gold_context=tried("gold_context", 0.0, response=whole)).cause != "label_too_coarse"


def test_chunks_that_share_words_with_the_passage_are_no_cut_and_one_that_ends_in_it_is() -> None:
    shares = "It is open on every network interface of the agent, unless agent.port says otherwise, UDP is used."
    found = cause_of(a_record(context=(("agent#2", shares), *OTHER), **DECLINED))
    assert found.cause == "chunk_missing"
    for text in (f"# Ports\n\nFirst. {QUOTE[:41]}", f"# Ports\n\n{QUOTE[41:]} After that."):
        assert cause_of(a_record(context=(("agent#2", text), *OTHER), **DECLINED)).cause == "answer_cut"


def test_every_cause_has_a_fix_and_every_fix_a_step() -> None:
    assert all(cause.fix in FIXES for cause in CAUSES.values())
    assert all(fix.step in STEPS for fix in FIXES.values())
    assert all(fix.do and fix.then and fix.check for fix in FIXES.values())
