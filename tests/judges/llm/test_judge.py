from __future__ import annotations

import asyncio
import json
import re

import pytest

from ragauge.core.judge import Task
from ragauge.core.provider import Reply
from ragauge.core.sample import RetrievedChunk
from ragauge.core.tasks import (
    ABSTENTION,
    CITATION_SUPPORT,
    CORRECTNESS,
    COVERAGE,
    RELEVANCE,
    REVERSE_QUESTIONS,
    SIMILARITY,
    SPLIT_CLAIMS,
    SUFFICIENCY,
    SUPPORT,
    TASKS,
    USEFULNESS,
    VerdictsReply,
)
from ragauge.errors import JudgeIncomplete, JudgeUnparseable, JudgeUnsupported, Reason
from ragauge.judges.llm.forms import shape_of
from ragauge.judges.llm.judge import LLMJudge


def words(n: int) -> tuple[str, ...]:
    return tuple(f"statement number {i}" for i in range(n))


def test_peer_bug_01_only_the_missing_claims_are_asked_again(script, say, run, claims, chunks) -> None:
    model = script([say("supported"), say(*["not_mentioned"] * 4)])
    reply = run(LLMJudge(model).ask(SUPPORT, claims=claims(*words(5)), chunks=chunks("sheet")))
    assert [v.id for v in reply.verdicts] == ["c1", "c2", "c3", "c4", "c5"]
    assert sum(v.label == "supported" for v in reply.verdicts) / 5 == 0.2
    first, second = model.requests
    assert second.ids == first.ids[1:]
    assert "statement number 0" not in second.user
    assert "statement number 4" in second.user


def test_a_verdict_on_another_id_is_asked_for_again_in_other_words(script, say, run, claims, chunks) -> None:
    """Small models give a passage's id for the statement's; at temperature 0 the same words get the same reply."""
    astray = {"verdicts": [{"id": "P1", "label": "supported", "evidence": "", "quote": "", "reason": "it says so"}]}
    model = script([lambda request: astray, say("supported")])
    reply = run(LLMJudge(model).ask(SUPPORT, claims=claims("the sheet is blue"), chunks=chunks("a blue sheet")))
    assert [v.label for v in reply.verdicts] == ["supported"]
    first, second = model.requests
    assert second.user.startswith(first.user)
    assert first.ids[0] in second.user.removeprefix(first.user)


def test_the_label_is_asked_for_before_the_reason() -> None:
    schema = shape_of("support", "verdicts", SUPPORT.labels).schema
    assert list(schema["properties"]["verdicts"]["items"]["properties"]) == [
        "id", "label", "evidence", "quote", "reason",
    ]  # fmt: skip


def test_peer_bug_04_a_label_off_the_menu_is_asked_again_and_then_an_error(script, say, run, chunks) -> None:
    model = script([say("2", "2")])
    with pytest.raises(JudgeIncomplete) as failed:
        run(LLMJudge(model).ask(USEFULNESS, question="q", chunks=chunks("a", "b"), reference=None))
    assert failed.value.reason is Reason.JUDGE_INCOMPLETE
    assert len(model.requests) == 3
    assert '"2"' in (failed.value.raw or "")


def test_peer_bug_14_an_unusable_verdict_keeps_its_place(script, run, chunks) -> None:
    answers = {
        "Cafeteria menu.": "not_useful",
        "The board is chaired by L. Ito.": "useful",
        "Parking rules.": "not_useful",
    }

    def truth(request, unsure: bool):
        said = []
        for code in request.ids:
            text = request.user.split(f"passage {code}>>\n")[1].split("\n")[0]
            label = "partially" if unsure and answers[text] == "not_useful" else answers[text]
            said.append({"id": code, "reason": "", "label": label})
        return {"verdicts": said}

    model = script([lambda r: truth(r, True), lambda r: truth(r, False)])
    reply = run(
        LLMJudge(model).ask(USEFULNESS, question="Who chairs the board?", chunks=chunks(*answers), reference="L. Ito")
    )
    assert [(v.id, v.label) for v in reply.verdicts] == [("d1", "not_useful"), ("d2", "useful"), ("d3", "not_useful")]
    assert len(model.requests[1].ids) == 2


@pytest.mark.parametrize("prose", ["I would say that all are supported.", "", "supported", '{"verdict": "supported"}'])
def test_prose_never_becomes_a_verdict(script, run, claims, chunks, prose: str) -> None:
    model = script([prose])
    with pytest.raises(JudgeUnparseable) as failed:
        run(LLMJudge(model).ask(SUPPORT, claims=claims("a b"), chunks=chunks("x")))
    assert not isinstance(failed.value, JudgeIncomplete)
    assert len(model.requests) == 3
    assert prose in (failed.value.raw or "")


def test_two_different_verdicts_on_one_id_are_none(script, say, run, claims, chunks) -> None:
    def torn(request):
        said = [{"id": request.ids[0], "label": label} for label in ("supported", "contradicted")]
        return {"verdicts": [*said, {"id": request.ids[1], "label": "supported"}]}

    model = script([torn, say("not_mentioned")])
    reply = run(LLMJudge(model).ask(SUPPORT, claims=claims("a", "b"), chunks=chunks("x")))
    assert [v.label for v in reply.verdicts] == ["not_mentioned", "supported"]


def test_verdicts_on_what_was_not_asked_are_passed_over(script, run, claims, chunks) -> None:
    def more(request):
        ids = ["c1", "S000", *request.ids]
        return {"verdicts": [{"id": i, "label": "not_mentioned" if i in request.ids else "supported"} for i in ids]}

    reply = run(LLMJudge(script([more])).ask(SUPPORT, claims=claims("a"), chunks=chunks("x")))
    assert [(v.id, v.label) for v in reply.verdicts] == [("c1", "not_mentioned")]


def test_one_entry_that_is_none_does_not_cost_the_others(script, say, run, claims, chunks) -> None:
    model = script([lambda r: {"verdicts": ["?", None, {"id": r.ids[1], "label": "Supported "}]}, say("contradicted")])
    reply = run(LLMJudge(model).ask(SUPPORT, claims=claims("a", "b"), chunks=chunks("x")))
    assert [v.label for v in reply.verdicts] == ["contradicted", "supported"]
    assert len(model.requests) == 2


def test_a_reply_cut_at_the_limit_is_refused_and_asked_again_with_more_room(script, say, run, claims, chunks) -> None:
    whole = lambda r: json.dumps(say("supported", "supported")(r))  # noqa: E731
    model = script([lambda r: Reply(whole(r), stop="length"), whole])
    reply = run(LLMJudge(model).ask(SUPPORT, claims=claims("a", "b"), chunks=chunks("x")))
    assert len(reply.verdicts) == 2
    assert model.requests[1].sampling.max_tokens == 2 * model.requests[0].sampling.max_tokens


def test_a_refusal_is_an_error_with_the_refusal_in_it(script, run) -> None:
    model = script([Reply("I cannot help with that.", stop="refusal")])
    with pytest.raises(JudgeUnparseable, match="refused") as failed:
        run(LLMJudge(model).ask(CORRECTNESS, question="q", answer="a", reference="r"))
    assert "cannot help" in (failed.value.raw or "")


def test_a_repair_is_recorded_on_the_verdict(script, say, run, claims, chunks) -> None:
    model = script([lambda r: json.dumps(say("supported")(r))[:-1] + ",}"])
    judge = LLMJudge(model)
    reply = run(judge.ask(SUPPORT, claims=claims("a"), chunks=chunks("x")))
    assert "reply repaired" in reply.verdicts[0].reason
    assert "trailing comma" in reply.verdicts[0].reason
    assert judge.tally.n_repaired == 1


def test_ids_and_order_tell_the_model_nothing(script, say, run, claims, chunks) -> None:
    texts = [f"text of chunk {i}" for i in range(8)]
    orders = set()
    for seed in range(4):
        model = script([say(*["useful"] * 8)])
        reply = run(LLMJudge(model, seed=seed).ask(USEFULNESS, question="q", chunks=chunks(*texts), reference=None))
        assert [v.id for v in reply.verdicts] == [f"d{n}" for n in range(1, 9)]
        sent = model.requests[0].user
        assert not re.search(r"\bd[1-8]\b", sent)
        orders.add(tuple(sorted(texts, key=sent.index)))
        again = script([say(*["useful"] * 8)])
        run(LLMJudge(again, seed=seed).ask(USEFULNESS, question="q", chunks=chunks(*texts), reference=None))
        assert again.requests == model.requests
    assert len(orders) == 4


def test_one_call_per_chunk_by_option(script, say, run, chunks) -> None:
    model = script([say("useful")])
    judge = LLMJudge(model, per_chunk=True)
    reply = run(judge.ask(USEFULNESS, question="q", chunks=chunks("a", "b", " ", "c"), reference=None))
    assert len(model.requests) == 3
    assert [v.label for v in reply.verdicts] == ["useful", "useful", "not_useful", "useful"]


def test_evidence_is_a_chunk_that_was_shown_and_a_quote_stands_in_it(script, run, claims, chunks) -> None:
    def say(evidence, quote):
        def reply(request):
            codes = {t: request.user.split(f">>\n{t}")[0].rpartition(" ")[2] for t in ("alpha beta", "gamma delta")}
            return {
                "verdicts": [
                    {
                        "id": request.ids[0],
                        "label": "supported",
                        "evidence": codes.get(evidence, evidence),
                        "quote": quote,
                    }
                ]
            }

        return reply

    for evidence, quote, want in [
        ("alpha beta", "Alpha  beta", ("d1", "Alpha  beta")),
        ("gamma delta", "gamma", ("d2", "gamma")),
        ("P000", "gamma", ("d2", "gamma")),
        ("d1", "invented", (None, None)),
        ("alpha beta", "invented", ("d1", None)),
        (None, None, (None, None)),
    ]:
        model = script([say(evidence, quote)])
        reply = run(LLMJudge(model).ask(SUPPORT, claims=claims("a"), chunks=chunks("alpha beta", "gamma delta")))
        assert (reply.verdicts[0].evidence, reply.verdicts[0].quote) == want


def test_without_a_passage_that_shows_text_the_judge_is_not_asked(script, run, claims, chunks) -> None:
    model = script(["never"])
    judge = LLMJudge(model)
    for shown in ((), chunks("", " \n", "\u200b")):
        reply = run(judge.ask(SUPPORT, claims=claims("a", "b"), chunks=shown))
        assert [v.label for v in reply.verdicts] == ["not_mentioned"] * 2
        assert run(judge.ask(SUFFICIENCY, question="q", chunks=shown)).verdict.label == "insufficient"
    assert run(judge.ask(SPLIT_CLAIMS, text=" \n")).claims == ()
    assert run(judge.ask(COVERAGE, claims=claims("a"), text="")).verdicts[0].label == "not_mentioned"
    assert run(judge.ask(SUPPORT, claims=(), chunks=chunks("x"))) == VerdictsReply(verdicts=())
    assert model.requests == []


def test_a_chunk_that_comes_twice_is_shown_once(script, say, run) -> None:
    twice = tuple(RetrievedChunk(id="same", text="the text", rank=n) for n in (1, 2))
    model = script([say("useful")])
    reply = run(LLMJudge(model).ask(USEFULNESS, question="q", chunks=twice, reference=None))
    assert [v.id for v in reply.verdicts] == ["same"]
    assert model.requests[0].user.count("the text") == 1


def test_claims_get_ids_in_order_and_their_place_in_the_text(script, run) -> None:
    model = script([lambda r: {"id": r.ids[0], "claims": ["It is fast.", " ", "It is fast.", "The tool is free."]}])
    reply = run(LLMJudge(model).ask(SPLIT_CLAIMS, text="Well. It is fast. It's free."))
    assert [(c.id, c.text, c.start) for c in reply.claims] == [
        ("c1", "It is fast.", 6),
        ("c2", "The tool is free.", None),
    ]


def test_exactly_as_many_questions_as_asked_for(script, run) -> None:
    def questions(n):
        return lambda r: {"id": r.ids[0], "noncommittal": False, "questions": [f"q{n}{i}?" for i in range(n)]}

    model = script([questions(1), questions(2)])
    assert run(LLMJudge(model).ask(REVERSE_QUESTIONS, answer="a", n=3)).questions == ("q10?", "q20?", "q21?")
    assert model.requests[1].count == 2
    assert run(LLMJudge(script([questions(5)])).ask(REVERSE_QUESTIONS, answer="a", n=3)).questions == (
        "q50?",
        "q51?",
        "q52?",
    )
    with pytest.raises(JudgeIncomplete, match="3 of 3 questions"):
        run(LLMJudge(script([questions(0)])).ask(REVERSE_QUESTIONS, answer="a", n=3))


def test_a_citation_is_judged_by_the_cited_passages_only(script, say, run, claims, chunks) -> None:
    model = script([say("supported")])
    cited = {"c1": ("d2", "gone"), "c2": ("gone",)}
    reply = run(
        LLMJudge(model).ask(CITATION_SUPPORT, claims=claims("a", "b", "c"), chunks=chunks("one", "two"), cited=cited)
    )
    assert [v.label for v in reply.verdicts] == ["supported", "not_mentioned", "not_mentioned"]
    assert reply.verdicts[0].evidence == "d2"
    assert "two" in model.requests[0].user
    assert "one" not in model.requests[0].user
    assert len(model.requests[0].ids) == 1


@pytest.mark.parametrize(
    ("task", "inputs"),
    [
        (SUFFICIENCY, {"question": "q", "chunks": (RetrievedChunk(id="d", text="t", rank=1),)}),
        (ABSTENTION, {"question": "q", "answer": "a"}),
        (CORRECTNESS, {"question": "q", "answer": "a", "reference": "r"}),
        (RELEVANCE, {"question": "q", "answer": "a"}),
    ],
    ids=lambda value: getattr(value, "name", ""),
)
def test_a_single_verdict_needs_the_asked_id_and_a_label_of_the_menu(script, run, task: Task, inputs) -> None:
    for label in task.labels:
        model = script([lambda r, label=label: {"id": r.ids[0], "reason": "because", "label": label}])
        assert run(LLMJudge(model).ask(task, **inputs)).verdict.label == label
    for bad in ({"id": "T000", "label": task.labels[0]}, {"label": task.labels[0]}):
        with pytest.raises(JudgeUnparseable):
            run(LLMJudge(script([bad])).ask(task, **inputs))
    with pytest.raises(JudgeUnparseable):
        run(LLMJudge(script([lambda r: {"id": r.ids[0], "label": "7"}])).ask(task, **inputs))


def test_the_support_judge_sees_neither_question_nor_reference(script, say, run, claims, chunks) -> None:
    assert set(SUPPORT.inputs) == {"claims", "chunks"}
    model = script([say("supported")])
    run(LLMJudge(model).ask(SUPPORT, claims=claims("a"), chunks=chunks("x")))
    assert "question" not in model.requests[0].user


def test_similarity_is_free_and_on_this_machine(script, run) -> None:
    model = script(["never"])
    near, far = run(
        LLMJudge(model).ask(
            SIMILARITY, text="How do I reset a password?", others=("Resetting my password", "Whale song")
        )
    ).similarities
    assert near > far
    assert model.requests == []


def test_a_task_of_somebody_else_is_unsupported(script, run) -> None:
    with pytest.raises(JudgeUnsupported, match="poetry"):
        run(LLMJudge(script(["x"])).ask(Task("poetry", 1, VerdictsReply, ()), text="t"))


def test_the_card_changes_with_whatever_can_change_a_verdict(script, tmp_path) -> None:
    own = "# System\n<<{{fence}}>> be strict\n\n# User\n{{passages}}\n{{statements}}\n"
    (tmp_path / "support.v1.md").write_text(own, encoding="utf-8")
    plain = LLMJudge(script([""]))
    others = [
        LLMJudge(script([""]), seed=1), LLMJudge(script([""]), per_chunk=True),
        LLMJudge(script([""]), prompts=tmp_path), plain.with_sample(1),
    ]  # fmt: skip
    prints = {judge.info().fingerprint for judge in (plain, *others)}
    assert len(prints) == 5
    assert plain.info() == LLMJudge(script(["other"])).info()
    assert set(plain.info().prompts) == set(TASKS) - {"similarity"}


def test_a_thousand_claims_still_come_back_one_for_one(script, say, run, claims, chunks) -> None:
    model = script([say(*["supported"] * 1000)])
    reply = run(LLMJudge(model).ask(SUPPORT, claims=claims(*words(1000)), chunks=chunks("x")))
    assert [v.id for v in reply.verdicts] == [f"c{n}" for n in range(1, 1001)]


def test_what_is_cancelled_is_cancelled(script, run, claims, chunks) -> None:
    model = script(["never"], delay_s=30)

    async def scenario() -> None:
        task = asyncio.create_task(LLMJudge(model).ask(SUPPORT, claims=claims("a"), chunks=chunks("x")))
        await asyncio.sleep(0.05)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    run(scenario())


def test_a_lone_surrogate_in_a_reply_is_no_reason_to_lose_it(script, run, claims, chunks) -> None:
    odd = {"reason": "\ud800 odd", "label": "supported"}
    model = script([lambda r: json.dumps({"verdicts": [{"id": r.ids[0], **odd}]})])
    verdict = run(LLMJudge(model).ask(SUPPORT, claims=claims("a"), chunks=chunks("x"))).verdicts[0]
    assert verdict.label == "supported"
    assert "odd" in verdict.reason
