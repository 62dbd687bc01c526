"""Who judges and what it may cost, on the command line: dry runs, budgets, caches, prices, juries, failing fast."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from ragauge.cli.main import main
from ragauge.testing.fake_llm import FakeLLMServer

METRICS = "faithfulness,context_precision"


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    for name in ("OPENAI_API_KEY", "ANTHROPIC_API_KEY"):
        monkeypatch.delenv(name, raising=False)
    return tmp_path


@pytest.fixture
def answers(here: Path) -> Path:
    file = here / "answers.jsonl"
    rows = [
        {
            "id": f"q{n}", "question": f"Which port has agent {n}?", "answer": f"Agent {n} listens on port {n}000.",
            "contexts": [f"Agent {n} listens on port {n}000.", "Nothing else."],
            "reference": f"Agent {n} listens on port {n}000.",
        }
        for n in range(6)
    ]  # fmt: skip
    file.write_text("\n".join(map(json.dumps, rows)), "utf-8")
    return file


class Outcome:
    """What a command printed and how it ended."""

    def __init__(self, code: int, out: str, err: str) -> None:
        self.code, self.out, self.err = code, out, err

    @property
    def document(self) -> Any:
        return json.loads(self.out)


@pytest.fixture
def ragauge(capsys: pytest.CaptureFixture[str]) -> Any:
    def run(*arguments: object) -> Outcome:
        capsys.readouterr()
        with pytest.raises(SystemExit) as ended:
            main([str(argument) for argument in arguments])
        said = capsys.readouterr()
        return Outcome(int(ended.value.code or 0), said.out, said.err)

    return run


def test_a_dry_run_says_the_calls_of_the_real_one_and_writes_nothing(here: Path, answers: Path, ragauge: Any) -> None:
    with FakeLLMServer() as server:
        common = ("score", answers, "--metrics", METRICS, "--judge", f"compatible:fake@{server.openai_url}", "--quiet")
        before = sorted(here.rglob("*"))
        forecast = ragauge(*common, "--dry-run", "--json").document["forecast"]
        assert server.counts.requests == server.counts.listings == 0
        assert sorted(here.rglob("*")) == before
        real = ragauge(*common, "--json")
        assert real.code == 0
        assert server.counts.requests == 18
        again = ragauge(*common, "--dry-run", "--json").document["forecast"]
    assert forecast["total"]["calls"] == 18
    assert forecast["metrics"]["faithfulness"]["calls"] == 12
    assert forecast["metrics"]["context_precision"]["calls"] == 6
    assert forecast["total"]["cost_usd"] is None
    took = real.document["totals"]["usage"]
    assert abs(forecast["total"]["tokens_in"] - took["tokens_in"]) < 0.15 * took["tokens_in"]
    assert again["total"]["calls"] == 0
    assert again["total"]["cached_calls"] == 18


def test_a_dry_run_in_dollars_with_ones_own_prices(here: Path, answers: Path, ragauge: Any) -> None:
    (here / "prices.yaml").write_text("openai:gpt-x: {input: 100, output: 200}\n", "utf-8")
    common = ("score", answers, "--metrics", METRICS, "--judge", "openai:gpt-x", "--dry-run")
    found = ragauge(*common, "--prices", "prices.yaml")
    assert found.code == 0
    assert "unknown" not in found.out
    assert "Nothing was sent" in found.out
    assert "unknown" in ragauge(*common).out
    usage = ragauge(*common, "--prices", "prices.yaml", "--json").document["forecast"]["total"]
    assert usage["cost_usd"] == pytest.approx((usage["tokens_in"] * 100 + usage["tokens_out"] * 200) / 1e6)


def test_a_budget_of_calls_ends_a_run_cleanly_and_a_larger_one_ends_it_whole(answers: Path, ragauge: Any) -> None:
    with FakeLLMServer() as server:
        judge = f"compatible:fake@{server.openai_url}"
        common = ("--quiet", "--json")
        first = ragauge(
            "score", answers, "--metrics", METRICS, "--judge", judge, "--budget-calls", 7, "--concurrency", 1, *common
        )
        assert first.code == 3
        assert server.counts.requests == 7
        assert "budget of 7 calls is used up" in first.err
        resumed = ragauge("score", "--resume", first.document["run"], "--budget-calls", 50, *common)
        assert resumed.code == 0
        assert server.counts.requests == 18
    assert resumed.document["summary"]["faithfulness"]["n"] == 6


def test_the_table_says_what_each_metric_took(answers: Path, ragauge: Any) -> None:
    Path("p.json").write_text('{"compatible:fake": {"input": 1000, "output": 1000}}', "utf-8")
    with FakeLLMServer() as server:
        found = ragauge(
            "score", answers, "--metrics", METRICS, "--judge", f"compatible:fake@{server.openai_url}", "--quiet",
            "--prices", "p.json", "--cache", "kept.sqlite",
        )  # fmt: skip
        assert Path("kept.sqlite").exists()
        assert not Path(".ragauge").exists()
        second = ragauge(
            "score", answers, "--metrics", METRICS, "--judge", f"compatible:fake@{server.openai_url}", "--quiet",
            "--cache", "kept.sqlite",
        )  # fmt: skip
        assert server.counts.requests == 18
    line = next(line for line in found.out.splitlines() if line.strip().startswith("faithfulness"))
    assert "12 $" in line
    assert "Judge calls: 18 (+0 from the cache)" in found.out
    assert "Judge calls: 0 (+18 from the cache)" in second.out


def test_a_jury_by_commas(answers: Path, ragauge: Any) -> None:
    with FakeLLMServer() as server:
        names = ",".join(f"compatible:{name}@{server.openai_url}" for name in ("llama-a", "qwen-b"))
        found = ragauge("score", answers, "--metrics", METRICS, "--judge", names, "--quiet", "--json")
    document = found.document
    assert document["manifest"]["judge"]["voters"] == {"compatible:llama-a": "meta", "compatible:qwen-b": "qwen"}
    assert document["totals"]["judging"]["cross_family"] == 1.0


@pytest.mark.parametrize(
    ("flags", "code", "message"),
    [
        (("--judge", "openai:gpt-4o"), 2, "OPENAI_API_KEY is not set"),
        (("--judge", "anthropic:claude"), 2, "ANTHROPIC_API_KEY is not set"),
        (("--judge", "compatible:m@http://127.0.0.1:9/v1"), 3, "cannot be reached"),
        (("--judge", "opneai:gpt-4o"), 2, "Did you mean 'openai'"),
        (("--set", "judge.name=embedded", "--set", "judge.temprature=1"), 2, "Did you mean 'temperature'"),
        (("--judge", "compatible:m@http://127.0.0.1:9/v1", "--prompts", "nowhere"), 2, "folder of prompts"),
        (("--judge", "compatible:m@http://127.0.0.1:9/v1", "--prices", "nowhere.yaml"), 2, "no such file of prices"),
        (("--judge", "compatible:m@http://127.0.0.1:9/v1", "--budget-usd", "1"), 2, "needs the price of compatible:m"),
    ],
)
def test_what_cannot_be_is_said_in_one_line_before_the_first_sample(
    here: Path, answers: Path, ragauge: Any, flags: tuple[str, ...], code: int, message: str
) -> None:
    found = ragauge("score", answers, "--metrics", METRICS, *flags)
    assert (found.code, found.out) == (code, "")
    assert message in found.err
    assert found.err.startswith("error: ")
    assert not (here / "runs").exists()


def test_a_refused_key_and_an_unknown_model_stop_before_the_first_sample(
    here: Path, answers: Path, ragauge: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    with FakeLLMServer(api_key="right", models=["known"]) as server:
        monkeypatch.setenv("OPENAI_API_KEY", "wrong-secret")
        settings = here / "ragauge.yaml"
        settings.write_text(json.dumps({"judge": {"model": "openai:known", "base_url": server.openai_url}}), "utf-8")
        refused = ragauge("score", answers, "--metrics", METRICS)
        monkeypatch.setenv("OPENAI_API_KEY", "right")
        settings.write_text(json.dumps({"judge": {"model": "openai:knwon", "base_url": server.openai_url}}), "utf-8")
        unknown = ragauge("score", answers, "--metrics", METRICS)
        assert server.counts.requests == 0
    assert refused.code == unknown.code == 3
    assert "The key was refused" in refused.err
    assert "wrong-secret" not in refused.err
    assert "no such model" in unknown.err
    assert "known" in unknown.err
    assert not (here / "runs").exists()


def test_settings_hold_what_the_flags_do_and_flags_go_first(here: Path, answers: Path, ragauge: Any) -> None:
    with FakeLLMServer() as server:
        judge = {"model": f"compatible:fake@{server.openai_url}", "cache": "a.sqlite", "budget": {"calls": 1}}
        (here / "ragauge.yaml").write_text(json.dumps({"judge": judge}), "utf-8")
        assert ragauge("score", answers, "--metrics", METRICS, "--quiet").code == 3
        assert (here / "a.sqlite").exists()
        found = ragauge("score", answers, "--metrics", METRICS, "--quiet", "--budget-calls", 99, "--cache", "b.sqlite")
        assert found.code == 0
        assert (here / "b.sqlite").exists()
    for key, near in (("cahce", "cache"), ("modle", "model"), ("temprature", "temperature")):
        (here / "ragauge.yaml").write_text(json.dumps({"judge": {"model": "openai:x", key: 1}}), "utf-8")
        assert f"'{near}'" in ragauge("score", answers).err
    (here / "ragauge.yaml").write_text(json.dumps({"judge": {"model": "openai:x", "budget": {"cals": 1}}}), "utf-8")
    assert "Did you mean 'calls'" in ragauge("score", answers).err


def test_the_command_line_embeds_with_one_thread_unless_told_otherwise(
    monkeypatch: pytest.MonkeyPatch, ragauge: Any
) -> None:
    import os

    for given, kept in ((None, "1"), ("4", "4")):
        monkeypatch.setenv("OPENBLAS_NUM_THREADS", "4")
        if given is None:
            monkeypatch.delenv("OPENBLAS_NUM_THREADS")
        ragauge("--version")
        assert os.environ["OPENBLAS_NUM_THREADS"] == kept


def test_passwords_in_addresses_do_not_reach_the_manifest() -> None:
    from ragauge.api.shown import shown_settings
    from ragauge.engine.settings import Settings

    judge = {"name": "openai:x", "cache": "postgresql://me:hush@host/db", "api_key_env": "MY_KEY"}
    shown = shown_settings(Settings(judge=judge))["judge"]
    assert shown == {"name": "openai:x", "cache": "postgresql://me:***@host/db", "api_key_env": "MY_KEY"}
    kept = shown_settings(Settings(judge={"name": "x:y", "cache": "postgresql://me:${PW}@host/db"}))["judge"]
    assert kept["cache"] == "postgresql://me:${PW}@host/db"


def corpus(here: Path) -> None:
    (here / "docs").mkdir()
    (here / "docs" / "keys.md").write_text("# Keys\n\nTo rotate a key, press Rotate in the settings.\n", "utf-8")
    (here / "docs" / "limits.md").write_text("# Limits\n\nThe Pro plan has 600 requests per minute.\n", "utf-8")
    items = [
        {"id": "a", "question": "How do I rotate a key?", "answer": "Press Rotate.", "sources": ["keys.md"]},
        {"id": "b", "question": "How many requests has the Pro plan?", "answer": "600.", "sources": ["limits.md"]},
    ]
    (here / "golden.json").write_text(json.dumps(items), "utf-8")


def settings_of_a_run(server: FakeLLMServer, **knobs: Any) -> dict[str, Any]:
    model = f"compatible:llama-fake@{server.openai_url}"
    system = {"generator": model, "embedding_cache": "none", "retrieval": "bm25", **knobs}
    return {
        "golden": "golden.json", "corpus": "docs", "system": {"reference": system},
        "judge": {"model": model, "prices": {"compatible:llama-fake": {"input": 1, "output": 2}}},
        "metrics": ["recall@5", "faithfulness"],
    }  # fmt: skip


def test_a_dry_run_of_a_system_with_models_counts_them_too(here: Path, ragauge: Any) -> None:
    corpus(here)
    with FakeLLMServer() as server:
        settings = settings_of_a_run(server, expand="multi_query", prefix="contextual")
        (here / "ragauge.yaml").write_text(json.dumps(settings), "utf-8")
        forecast = ragauge("run", "--dry-run", "--json").document["forecast"]
        assert server.counts.requests == 0
        assert not (here / ".ragauge").exists()
        assert not (here / "runs").exists()
        real = ragauge("run", "--quiet", "--json").document
        by_task = dict(server.counts.by_task)
        again = ragauge("run", "--dry-run", "--json").document["forecast"]
    assert by_task["chunk_context"] == 2
    assert forecast["index"]["calls"] == 2
    assert forecast["system"]["calls"] == 2  # one answer each; expansion waits until the prefixes are there
    assert any("prefixes are not written yet" in note for note in forecast["notes"])
    assert forecast["metrics"]["faithfulness"]["calls"] == by_task["split_claims"] + by_task["support"]
    assert real["totals"]["system_usage"]["calls"] == 4
    assert again["total"]["calls"] == 0
    assert again["system"]["cached_calls"] == 4


@pytest.mark.parametrize(("keeps", "calls"), [(True, 2), (False, 4)])
def test_a_dry_run_knows_whether_the_same_request_would_be_paid_for_twice(
    here: Path, ragauge: Any, keeps: bool, calls: int
) -> None:
    corpus(here)
    items = json.loads((here / "golden.json").read_text("utf-8"))
    (here / "golden.json").write_text(json.dumps(items + [{**one, "id": f"{one['id']}2"} for one in items]), "utf-8")
    with FakeLLMServer() as server:
        settings = settings_of_a_run(server) | {"judge": {"name": "none"} | ({} if keeps else {"cache": False})}
        (here / "ragauge.yaml").write_text(json.dumps(settings | {"metrics": ["recall@5"]}), "utf-8")
        forecast = ragauge("run", "--dry-run", "--json").document["forecast"]
        assert ragauge("run", "--quiet", "--concurrency", 1).code == 0
        assert forecast["system"]["calls"] == server.counts.by_task["answer"] == calls


def test_judge_and_generator_of_one_family_are_warned_of_on_the_table(here: Path, ragauge: Any) -> None:
    corpus(here)
    with FakeLLMServer() as server:
        (here / "ragauge.yaml").write_text(json.dumps(settings_of_a_run(server)), "utf-8")
        found = ragauge("run", "--quiet")
        assert found.code == 0
        document = ragauge("show", "--json").document
    text = " ".join(found.out.split())
    assert "are of one family (meta): judges tend to favour it" in text
    assert "System calls: 2 (+0 from the cache)" in text
    with FakeLLMServer(port=server.port):
        second = ragauge("run", "--quiet", "--json").document["totals"]
    first = document["totals"]["system_usage"]
    assert first["cost_usd"] > 0
    assert second["system_usage"] == {**first, "calls": 0, "cached_calls": 2}
    assert (second["usage"]["calls"], second["usage"]["cost_usd"]) == (0, 0.0)
    assert any("one family (meta)" in note for note in document["manifest"]["notes"])


def test_the_budget_holds_for_the_system_and_the_judge_together(here: Path, ragauge: Any) -> None:
    corpus(here)
    with FakeLLMServer() as server:
        (here / "ragauge.yaml").write_text(json.dumps(settings_of_a_run(server)), "utf-8")
        found = ragauge("run", "--quiet", "--budget-calls", 4, "--concurrency", 1)
        assert found.code == 3
        assert server.counts.requests == 4
        assert ragauge("run", "--quiet", "--no-judges", "--budget-calls", 1, "--cache", "none.sqlite").code == 3


def test_a_system_that_is_not_ours_is_not_asked_in_a_dry_run(here: Path, ragauge: Any) -> None:
    corpus(here)
    (here / "mine_dry.py").write_text("def answer(question):\n    raise SystemExit('asked')\n", "utf-8")
    settings = {"golden": "golden.json", "system": {"callable": {"path": "mine_dry:answer"}}, "judge": "openai:gpt-x"}
    (here / "ragauge.yaml").write_text(json.dumps(settings), "utf-8")
    found = ragauge("run", "--dry-run", "--json", "--metrics", "faithfulness")
    assert found.code == 0
    assert found.document["forecast"]["total"]["calls"] == 4
    assert "is not asked" in found.document["forecast"]["notes"][0]
