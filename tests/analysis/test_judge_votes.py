"""Juries and repeats in whole runs: what they agree on, whose the variance is, and that rows alone tell it."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import pytest

import ragauge
from ragauge.analysis.judge_votes import noise_note, noise_of, votes_note
from ragauge.core.judge import JudgeInfo
from ragauge.core.provider import Endpoint, Reply, Request
from ragauge.judges.jury import Jury, repeated
from ragauge.judges.llm.judge import LLMJudge
from ragauge.judges.shared import Shared
from ragauge.report.terminal import run_report, stdout_console
from ragauge.testing.fake_llm_answers import answer


class Model:
    """Judges by word overlap, and turns every label over in a share of its draws that follows from `mood`."""

    def __init__(self, name: str, mood: float = 0.0) -> None:
        self.endpoint, self.mood = Endpoint(*name.split(":")), mood
        self.n_requests = 0

    async def complete(self, request: Request) -> Reply:
        self.n_requests += 1
        said: Any = answer(f"{request.system}\n{request.user}")
        for verdict in said.get("verdicts", ()) if request.task == "support" else ():
            words = request.user.split(verdict["id"] + ": ")[-1].split("\n")[0]
            draw = hashlib.sha256(f"{self.endpoint.label}{request.sample}{words}".encode()).digest()[0] / 256
            if draw < self.mood:
                verdict["label"] = "not_mentioned" if verdict["label"] == "supported" else "supported"
        return Reply(json.dumps(said), 10, 10)


def data(n: int = 30) -> list[dict[str, Any]]:
    made = []
    for number in range(n):
        facts = [f"The agent of case {number} listens on port {number}{digit}." for digit in (1, 2, 3)]
        shown = facts if number % 3 else facts[:1]
        made.append({"id": f"q{number}", "question": "Which?", "answer": " ".join(facts), "contexts": shown})
    return made


def test_a_jury_is_read_back_from_its_rows(tmp_path: Path) -> None:
    jury = Jury((LLMJudge(Model("openai:gpt-a")), LLMJudge(Model("anthropic:claude-b", 0.3))))
    run = ragauge.evaluate(data(), ["faithfulness"], judge=Shared(jury), out=tmp_path)
    judging = run.summary.judging
    assert judging["n_verdicts"] == 90
    assert judging["disagreement"] == jury.ledger.flip_rate("support") > 0.1
    assert judging["cross_family"] == pytest.approx(1 - judging["disagreement"])
    again = ragauge.open_run(run.path)
    assert again.summary == run.summary
    verdict = next(again.rows()).scores["faithfulness"].verdicts[0]
    assert verdict.ballots.keys() == {"openai:gpt-a", "anthropic:claude-b"}
    assert any("Jury of 2: not of one mind on" in note for note in run.summary.notes)
    console = stdout_console()
    with console.capture() as shown:
        console.print(run_report(run.path, run.manifest, run.summary, run.diagnosis))
    assert "judges of different model families agree on" in " ".join(shown.get().split())
    assert run.to_dict()["totals"]["judging"] == judging
    assert run["faithfulness"].noise == {}  # two judges are not one judge twice


def test_draws_of_one_judge_split_the_variance(tmp_path: Path) -> None:
    judge = Shared(repeated(LLMJudge(Model("openai:gpt-a", 0.2)), 3))
    run = ragauge.evaluate(data(), ["faithfulness"], judge=judge, out=tmp_path)
    noise = run["faithfulness"].noise
    assert (noise["n_questions"], noise["n_draws"]) == (30, 3)
    assert 0 < noise["judge_share"] < 1
    assert 0 < noise["narrower"] < 1
    assert noise["more_draws"] > 0
    first, second = run.summary.notes
    assert first.startswith("3 draws of one judge: not of one mind on")
    assert second.startswith("Repeats: most noise in faithfulness")
    steady = Shared(repeated(LLMJudge(Model("openai:gpt-a")), 3))
    calm = ragauge.evaluate(data(), ["faithfulness"], judge=steady, out=tmp_path, name="calm")
    assert calm["faithfulness"].noise["judge_share"] == 0
    assert calm.summary.judging["disagreement"] == 0


def test_repeating_a_run_draws_the_judge_anew(tmp_path: Path) -> None:
    model = Model("openai:gpt-a", 0.2)
    judge = Shared(LLMJudge(model))
    run = ragauge.evaluate(data(), ["faithfulness"], judge=judge, out=tmp_path, repeats=3)
    noise = run["faithfulness"].noise
    assert (noise["n_questions"], noise["n_draws"]) == (30, 3)
    assert noise["changed"] > 0.1
    assert noise["judge_share"] > 0
    assert model.n_requests == 3 * 60  # each repeat asks for itself
    assert ragauge.open_run(run.path).summary == run.summary


def test_the_split_of_a_case_worked_out_by_hand(tmp_path: Path) -> None:
    judge = Shared(LLMJudge(Model("openai:gpt-a")))
    manifest = ragauge.evaluate(data(3), ["faithfulness"], judge=judge, out=tmp_path, repeats=2).manifest
    # Means .85 .25 .5; MSB = 2 · .18 / 2 … = .1825, MSW = (.005 + .005 + 0) / 3.
    noise = noise_of([], [[0.9, 0.8], [0.2, 0.3], [0.5, 0.5]], manifest)
    between, within = (0.18166666 - 0.00333333) / 2, 0.00333333
    assert noise["variance_judge"] == pytest.approx(within, abs=1e-6)
    assert noise["variance_questions"] == pytest.approx(between, abs=2e-3)
    assert noise["judge_share"] == pytest.approx(within / (between + within), abs=2e-3)
    assert noise["changed"] == pytest.approx(2 / 3)
    assert "flip_rate" not in noise
    assert noise_of([], [[1, 0], [1, 1]], manifest)["flip_rate"] == 0.5
    assert noise_of([], [[1]], manifest) == {}  # a row whose repeats did not all come


def test_without_judges_that_vote_nothing_is_said(tmp_path: Path) -> None:
    assert votes_note(None, {}) is None
    assert votes_note(JudgeInfo(name="x", kind="llm", version="1", fingerprint="f"), {}) is None
    run = ragauge.evaluate(data(3), ["faithfulness"], judge=LLMJudge(Model("openai:gpt-a")), out=tmp_path)
    assert (run.summary.judging, run["faithfulness"].noise, run.summary.notes) == ({}, {}, ())
    assert noise_note(run.manifest, run.summary.metrics) is None


def test_usage_is_told_for_each_metric(tmp_path: Path) -> None:
    from ragauge.judges.wrappers.priced import Price, Priced

    model = Priced(Model("openai:gpt-a"), Price(1.0, 1.0))
    judge = Shared(LLMJudge(model))
    run = ragauge.evaluate(data(3), ["faithfulness", "context_sufficiency"], judge=judge, out=tmp_path)
    document = run.to_dict()["summary"]
    assert document["faithfulness"]["usage"]["calls"] == 6
    assert document["context_sufficiency"]["usage"]["calls"] == 3
    assert document["context_sufficiency"]["usage"]["cost_usd"] == pytest.approx(3 * 20 / 1e6)
    assert run.summary.usage.calls == 9
