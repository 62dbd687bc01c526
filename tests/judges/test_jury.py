from __future__ import annotations

import pytest

from ragauge.core.judge import JudgeInfo
from ragauge.core.provider import Endpoint
from ragauge.core.tasks import ABSTENTION, RELEVANCE, SPLIT_CLAIMS, SUPPORT
from ragauge.core.verdict import Verdict
from ragauge.errors import JudgeUnavailable, SettingsError
from ragauge.judges.families import family_of, same_family_warning
from ragauge.judges.jury import Jury, repeated
from ragauge.judges.llm.judge import LLMJudge
from ragauge.judges.votes import decide


def judge(script, name: str, *said):
    return LLMJudge(script(list(said), endpoint=Endpoint(*name.split(":"))))


def test_the_majority_decides_and_dissent_is_told(script, say, run, claims, chunks) -> None:
    jury = Jury(
        (
            judge(script, "openai:gpt-4o", say("supported", "supported")),
            judge(script, "anthropic:claude-x", say("supported", "not_mentioned")),
            judge(script, "openai:gpt-4.1", say("contradicted", "contradicted")),
        )
    )
    first, second = run(jury.ask(SUPPORT, claims=claims("a", "b"), chunks=chunks("x"))).verdicts
    assert (first.label, first.probability) == ("supported", pytest.approx(2 / 3))
    assert "2 of 3 say supported; openai:gpt-4.1: contradicted" in first.reason
    assert (second.label, second.probability) == ("not_mentioned", pytest.approx(1 / 3))
    assert jury.ledger.flip_rate() == 1.0
    assert jury.ledger.agreement()["anthropic:claude-x", "openai:gpt-4o"] == (0.5, 2)
    assert jury.cross_family_agreement() == (0.25, 4)


def test_a_tie_is_never_decided_for_the_positive_label(script, say, run, claims, chunks) -> None:
    for pair in (("supported", "not_mentioned"), ("contradicted", "supported")):
        jury = Jury(tuple(judge(script, f"p:{label}", say(label)) for label in pair))
        verdict = run(jury.ask(SUPPORT, claims=claims("a"), chunks=chunks("x"))).verdicts[0]
        assert verdict.label != "supported"


def test_the_mean_of_a_rubric() -> None:
    votes = [Verdict(id="r", label=label) for label in ("5", "2", "3")]
    assert decide(RELEVANCE.labels, votes, "mean") == "3"
    assert decide(RELEVANCE.labels, votes[:1], "mean") == "5"
    assert decide(RELEVANCE.labels, votes[:2], "mean") == "3"


def test_all_vote_on_the_claims_of_the_first(script, run) -> None:
    split = [
        judge(script, f"p:{n}", lambda r, n=n: {"id": r.ids[0], "claims": [f"claim of {n}"]}) for n in ("one", "two")
    ]
    assert [c.text for c in run(Jury(tuple(split)).ask(SPLIT_CLAIMS, text="x")).claims] == ["claim of one"]


def test_one_that_fails_is_left_out_and_it_is_said(script, say, run, claims, chunks) -> None:
    broken = judge(script, "p:broken", JudgeUnavailable("down"))
    good = [judge(script, f"p:{n}", say("supported")) for n in "ab"]
    jury = Jury((broken, *good))
    verdict = run(jury.ask(SUPPORT, claims=claims("a"), chunks=chunks("x"))).verdicts[0]
    assert (verdict.label, verdict.probability) == ("supported", 1.0)
    assert "1 gave no verdict" in verdict.reason
    with pytest.raises(JudgeUnavailable):
        run(Jury((broken, good[0])).ask(SUPPORT, claims=claims("a"), chunks=chunks("x")))


def test_single_verdicts_are_voted_on(script, run) -> None:
    said = [
        judge(script, f"p:{n}", lambda r, label=label: {"id": r.ids[0], "label": label})
        for n, label in enumerate(["declined", "answered", "answered"])
    ]
    verdict = run(Jury(tuple(said)).ask(ABSTENTION, question="q", answer="a")).verdict
    assert (verdict.label, verdict.probability) == ("answered", pytest.approx(1 / 3))


def test_the_size_of_a_jury(script) -> None:
    one = judge(script, "p:m", "x")
    for n in (0, 1, 6):
        with pytest.raises(SettingsError, match="two to five"):
            Jury((one,) * n)


def test_repeats_are_draws_of_their_own(script, run, say, claims, chunks) -> None:
    labels = ["supported", "not_mentioned", "supported"]
    model = script([lambda r: say(labels[r.sample])(r)])
    jury = repeated(LLMJudge(model), 3)
    verdict = run(jury.ask(SUPPORT, claims=claims("a"), chunks=chunks("x"))).verdicts[0]
    assert (verdict.label, verdict.probability) == ("supported", pytest.approx(2 / 3))
    assert sorted(request.sample for request in model.requests) == [0, 1, 2]
    assert jury.ledger.flip_rate("support") == 1.0
    assert jury.names == ("scripted:m#1", "scripted:m#2", "scripted:m#3")
    assert jury.cross_family_agreement() is None


def test_a_judge_without_randomness_cannot_be_repeated() -> None:
    class Fixed:
        def info(self) -> JudgeInfo:
            return JudgeInfo(name="fixed", kind="embedded", version="1", fingerprint="f")

    with pytest.raises(SettingsError, match="always says the same"):
        repeated(Fixed(), 3)


@pytest.mark.parametrize(
    ("model", "family"),
    [
        ("openai:gpt-4o-mini", "openai"), ("azure:my-deployment", "openai"), ("o3-mini", "openai"),
        ("anthropic:claude-haiku-4-5", "anthropic"), ("meta-llama/Llama-3.1-8B-Instruct", "meta"),
        ("compatible:Qwen2.5-Coder-1.5B-Instruct@http://h/v1", "qwen"), ("mixtral-8x7b", "mistral"),
        ("compatible:my-llama-tune@http://h/v1", "meta"), ("local-judge", None), ("", None),
    ],
)  # fmt: skip
def test_families(model: str, family: str | None) -> None:
    assert family_of(model) == family


def test_the_same_family_is_warned_of() -> None:
    assert "one family (openai)" in (same_family_warning("openai:gpt-4.1", "gpt-4o") or "")
    assert same_family_warning("openai:gpt-4.1", "claude-x") is None
    assert same_family_warning("local", "local") is None
    assert same_family_warning("openai:gpt-4.1", None) is None
