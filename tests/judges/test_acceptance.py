"""Whole runs against a server that misbehaves, dies or is asked twice."""

from __future__ import annotations

import asyncio
import random
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import ragauge
from ragauge.core.score import Scored
from ragauge.core.tasks import SUPPORT
from ragauge.errors import EndpointUnusable
from ragauge.judges.factory import make_judge
from ragauge.judges.layers import aclose
from ragauge.judges.wrappers.budgeted import Budget
from ragauge.testing.fake_llm import FakeLLMServer, Faults

# Answer relevance embeds texts on this machine, which would be most of the time; one test has it.
METRICS = ["faithfulness", "context_precision", "context_recall"]
SUBJECTS = ["agent", "server", "cache", "queue", "broker", "index", "parser", "router", "worker", "ledger"]
FACTS = ["listens on port", "keeps at most", "retries after", "was released in", "accepts batches of", "logs every"]


def samples(n: int, seed: int = 0) -> list[dict[str, Any]]:
    draw = random.Random(seed)
    made = []
    for number in range(n):
        subject = draw.choice(SUBJECTS)
        facts = [f"The {subject} {fact} {draw.randrange(1000, 9999)}." for fact in draw.sample(FACTS, 4)]
        wrong = facts[1][:-5] + "7."
        contexts = [*facts[:3], *(f"The {s} has nothing to say about number {number}." for s in SUBJECTS[:2])]
        draw.shuffle(contexts)
        made.append(
            {
                "id": f"q{number}",
                "question": f"What is known of the {subject} of case {number}?",
                "answer": " ".join([facts[0], draw.choice([facts[1], wrong]), "It sings at night."]),
                "contexts": [{"id": f"q{number}-{i}", "text": text} for i, text in enumerate(contexts)],
                "reference": f"{facts[0]} {facts[3]}",
            }
        )
    return made


def evaluated(
    server: FakeLLMServer,
    out: Path,
    data: list[dict[str, Any]],
    *,
    cache: Path | None = None,
    metrics=METRICS,
    **judge: Any,
):
    budget = judge.pop("budget", None)
    spec = {"name": f"compatible:fake@{server.openai_url}", "client": "raw", "timeout_s": 1.0, **judge}
    made = make_judge(spec, cache=cache, budget=budget)
    try:
        return ragauge.evaluate(data, metrics, judge=made, out=out, concurrency=16)
    finally:
        asyncio.run(aclose(made))


def values(run: Any) -> dict[str, dict[str, Any]]:
    return {
        record.sample.id: {
            key: score.value if isinstance(score, Scored) else score.reason for key, score in record.scores.items()
        }
        for record in run.rows()
    }


def test_with_faults_every_sample_is_scored_or_has_a_reason_and_the_means_are_those_without(tmp_path: Path) -> None:
    data = samples(60)
    with FakeLLMServer() as server:
        calm = evaluated(server, tmp_path / "calm", data)
    faults = Faults(rate_limited=0.05, server_error=0.05, malformed=0.05, hang=0.01)
    with FakeLLMServer(faults=faults, retry_after_s=0.02) as server:
        stormy = evaluated(server, tmp_path / "stormy", data)
        counts = server.counts
    assert set(counts.by_fault) == {"rate_limited", "server_error", "malformed", "hang"}
    want, got = values(calm), values(stormy)
    assert sorted(got) == sorted(d["id"] for d in data)
    assert all(isinstance(value, float) for row in want.values() for value in row.values())
    assert got == want
    for key in METRICS:
        assert stormy[key].value == calm[key].value
        assert stormy[key].n == 60


@pytest.mark.parametrize("fault", ["prose", "malformed", "truncated", "refused", "missing_ids", "wrong_label"])
def test_a_judge_that_never_answers_properly_costs_scores_and_no_denominator(tmp_path: Path, fault: str) -> None:
    data = samples(4)
    with FakeLLMServer(faults=Faults(**{fault: 1.0})) as server:
        run = evaluated(server, tmp_path, data)
    for key in METRICS:
        result = run[key]
        assert result.n_asked == 4
        assert result.n + sum(result.unscored.values()) == 4
    assert run["faithfulness"].n == 0
    assert {str(reason) for reason in run["faithfulness"].unscored} <= {"judge_unparseable", "judge_incomplete"}


@pytest.mark.parametrize("fault", ["missing_ids", "wrong_label"])
def test_skipped_claims_and_odd_labels_now_and_then_change_no_score(tmp_path: Path, fault: str) -> None:
    data = samples(20)
    with FakeLLMServer() as server:
        want = values(evaluated(server, tmp_path / "calm", data))
    with FakeLLMServer(faults=Faults(**{fault: 0.3})) as server:
        got = values(evaluated(server, tmp_path / "odd", data, max_reasks=6))
        assert server.counts.by_fault[fault] > 5
    assert got == want


def test_the_second_run_makes_no_call(tmp_path: Path) -> None:
    data = samples(15)
    with FakeLLMServer(faults=Faults(malformed=0.1, rate_limited=0.1), retry_after_s=0.01) as server:
        first = evaluated(server, tmp_path / "1", data, cache=tmp_path / "cache", max_reasks=5)
        server.reset()
        second = evaluated(server, tmp_path / "2", data, cache=tmp_path / "cache", max_reasks=5)
        assert server.counts.requests == 0
    assert values(second) == values(first)
    used = second.summary.usage
    assert (used.calls, used.tokens_in) == (0, 0)
    assert used.cached_calls >= 60


def test_at_most_five_calls_and_4000_prompt_tokens_per_sample(tmp_path: Path) -> None:
    data = samples(4)
    for sample in data:
        for context in sample["contexts"]:
            context["text"] = (context["text"] + " It is described in the manual, which nobody reads to the end.") * 6
            assert 500 < len(context["text"]) < 700
    with FakeLLMServer() as server:
        evaluated(server, tmp_path / "first", data, metrics=[*METRICS, "answer_relevance"])
        first = server.counts.by_task
    assert first == {"split_claims": 8, "support": 8, "usefulness": 4, "reverse_questions": 4}
    # Six, because these references come without claims; with them stored in the golden item it is five.
    with FakeLLMServer() as server:
        stored = [{**sample, "claims": sample["reference"].split(". ")} for sample in data]
        evaluated(server, tmp_path / "stored", stored, metrics=[*METRICS, "answer_relevance"])
        assert server.counts.requests == 4 * 5
        assert server.counts.tokens_in <= 4 * 4000


def test_the_budget_stops_the_run_and_a_larger_one_goes_on_from_there(tmp_path: Path) -> None:
    data = samples(12)
    with FakeLLMServer() as server:
        evaluated(server, tmp_path / "1", data, cache=tmp_path / "cache", budget=Budget(max_calls=20))
        assert server.counts.requests == 20
        whole = evaluated(server, tmp_path / "2", data, cache=tmp_path / "cache", budget=Budget(max_calls=100))
        assert server.counts.requests == 60
    assert whole["faithfulness"].n == 12


CHILD = """
import asyncio, json, sys
import ragauge
from pathlib import Path
from ragauge.judges.factory import make_judge
url, folder, data = sys.argv[1], Path(sys.argv[2]), json.load(open(sys.argv[3]))
judge = make_judge({"name": f"compatible:fake@{url}", "client": "raw", "concurrency": 4}, cache=folder / "cache")
ragauge.evaluate(data, ["faithfulness", "context_precision"], judge=judge, out=folder / "runs", concurrency=4)
"""


def test_kill_9_and_again_pays_only_for_what_was_under_way(tmp_path: Path) -> None:
    import json
    import time

    data = samples(40)
    (tmp_path / "data.json").write_text(json.dumps(data), encoding="utf-8")
    with FakeLLMServer(latency_ms=15) as server:
        command = [sys.executable, "-c", CHILD, server.openai_url, str(tmp_path), str(tmp_path / "data.json")]
        n_killed = 0
        for stop_at in (15, 50, 85):
            with subprocess.Popen(command, stderr=subprocess.DEVNULL) as child:
                while server.counts.requests < stop_at and child.poll() is None:
                    time.sleep(0.005)
                child.send_signal(signal.SIGKILL)
            n_killed += child.returncode == -signal.SIGKILL
        assert n_killed == 3
        assert subprocess.run(command, check=False, stderr=subprocess.DEVNULL).returncode == 0
        total = server.counts.requests
        # Under way at a kill: four requests, and four replies that had arrived and were not yet stored.
        assert 120 <= total <= 120 + 3 * 8
        assert subprocess.run(command, check=False, stderr=subprocess.DEVNULL).returncode == 0
        assert server.counts.requests == total


def test_a_judge_that_breaks_down_leaves_rows_with_reasons(tmp_path: Path) -> None:
    with FakeLLMServer() as server:
        evaluated(server, tmp_path / "1", samples(5), cache=tmp_path / "cache")
    with FakeLLMServer(port=server.port, faults=Faults(server_error=1)) as broken:
        run = evaluated(broken, tmp_path / "2", samples(8), cache=tmp_path / "cache", tries=1)
    assert run["faithfulness"].n == 5
    assert {str(reason): n for reason, n in run["faithfulness"].unscored.items()} == {"judge_unavailable": 3}


def test_an_endpoint_that_cannot_serve_leaves_no_run_behind(tmp_path: Path) -> None:
    server = FakeLLMServer(port=1)
    with pytest.raises(EndpointUnusable, match="cannot be reached"):
        evaluated(server, tmp_path / "runs", samples(2))
    assert not (tmp_path / "runs").exists()


def test_peer_bug_19_another_way_of_scoring_costs_no_call(tmp_path: Path, claims, chunks) -> None:
    asked = {
        "claims": claims("The cell holds 250 units.", "It is made in Norway.", "Volt AB makes it."),
        "chunks": chunks("The cell holds 250 units."),
    }
    scores = []
    with FakeLLMServer() as server:
        for counts in ({"supported", "not_mentioned"}, {"supported"}):
            judge = make_judge(f"compatible:fake@{server.openai_url}", cache=tmp_path / "cache")

            async def ask(judge=judge):
                try:
                    return await judge.ask(SUPPORT, **asked)
                finally:
                    await aclose(judge)

            verdicts = asyncio.run(ask()).verdicts
            scores.append(sum(v.label in counts for v in verdicts) / 3)
        assert server.counts.requests == 1
    assert scores == [1.0, pytest.approx(1 / 3)]


def test_peer_bug_26_a_slow_row_and_a_failing_one_cost_the_others_nothing(tmp_path: Path) -> None:
    import json
    import time

    from ragauge.core.provider import Endpoint, Reply, Request
    from ragauge.judges.llm.judge import LLMJudge
    from ragauge.judges.providers.failures import CallFailed
    from ragauge.testing.fake_llm_answers import answer

    class Model:
        endpoint = Endpoint("scripted", "m")

        async def complete(self, request: Request) -> Reply:
            if "row 0" in request.user:
                await asyncio.sleep(0.5)
            if "row 3" in request.user:
                raise CallFailed("the judge broke", kind="request")
            return Reply(json.dumps(answer(f"{request.system}\n{request.user}")))

    data = [
        {"id": f"r{n}", "question": "What?", "answer": f"This is row {n}.", "contexts": [f"This is row {n}."]}
        for n in range(6)
    ]
    started = time.perf_counter()
    run = ragauge.evaluate(data, ["faithfulness"], judge=LLMJudge(Model()), out=tmp_path, concurrency=4)
    assert time.perf_counter() - started < 30
    rows = {record.index: record for record in run.rows()}
    assert [rows[n].sample.id for n in range(6)] == [f"r{n}" for n in range(6)]
    assert [isinstance(rows[n].scores["faithfulness"], Scored) for n in range(6)] == [True] * 3 + [False] + [True] * 2
    assert "the judge broke" in rows[3].scores["faithfulness"].detail
