from __future__ import annotations

import asyncio
import sys
from pathlib import Path

import pytest

from ragauge.core.judge import Judge
from ragauge.core.tasks import SPLIT_CLAIMS, SUPPORT
from ragauge.errors import EndpointUnusable, SettingsError, UnknownName, UsageError
from ragauge.judges.dry_run import Forecast
from ragauge.judges.factory import make_judge
from ragauge.judges.jury import Jury
from ragauge.judges.layers import aclose, preflight
from ragauge.judges.shared import Shared
from ragauge.judges.wrappers.budgeted import Budget
from ragauge.testing.fake_llm import FakeLLMServer, Faults

KEYS = {
    "OPENAI_API_KEY": "k",
    "ANTHROPIC_API_KEY": "k",
    "AZURE_OPENAI_API_KEY": "k",
    "AZURE_OPENAI_ENDPOINT": "http://127.0.0.1:1",
}


@pytest.mark.parametrize(
    ("spec", "name"),
    [
        ("openai:gpt-x", "openai:gpt-x"), ("azure:dep", "azure:dep"), ("anthropic:claude-x", "anthropic:claude-x"),
        ("compatible:m@http://127.0.0.1:1/v1", "compatible:m"),
        ("compatible:a@b@http://127.0.0.1:1/v1", "compatible:a@b"),
        ({"name": "compatible:org/m:tag", "base_url": "http://127.0.0.1:1/v1"}, "compatible:org/m:tag"),
        ("python:json:dumps", "python:json:dumps"),
    ],
)  # fmt: skip
def test_names(spec, name: str) -> None:
    judge = make_judge(spec, environment=KEYS)
    assert isinstance(judge, Judge)
    assert judge.info().name == name


def test_lists_and_mappings_make_juries() -> None:
    two = ["openai:gpt-x", {"name": "anthropic:c", "temperature": None}]
    for spec in (two, {"jury": two, "rule": "mean"}, {"name": "openai:gpt-x", "repeats": 2}):
        judge = make_judge(spec, environment=KEYS)
        assert isinstance(judge, Shared)
        assert isinstance(judge.inner, Jury)


@pytest.mark.parametrize(("spec", "variable"), [("openai:x", "OPENAI_API_KEY"), ("anthropic:x", "ANTHROPIC_API_KEY")])
def test_a_missing_key_says_which_variable(spec: str, variable: str) -> None:
    for environment in ({}, {variable: "  "}):
        with pytest.raises(SettingsError, match=variable):
            make_judge(spec, environment=environment)
    with pytest.raises(SettingsError, match="MY_KEY"):
        make_judge({"name": spec, "api_key_env": "MY_KEY"}, environment=KEYS)


@pytest.mark.parametrize(
    ("spec", "says"),
    [
        ("opnai:x", "openai"), ("", "name"), ("openai:", "which model"), ("openai", "which model"),
        ("compatible:m", "where the model is"), ("compatible:m@ftp://h", "not a URL"), ("compatible:m@http://", "URL"),
        ("compatible:m@http://me:secret@h/v1", "password"), ("python:nomodule_xyz:f", "cannot be imported"),
        ("python:json:nothing", "has no 'nothing'"), ("python:json", "module:function"),
        ("python:sys:version", "not a function"),
        ({"name": "openai:x", "temprature": 1}, "temperature"), ({"name": "openai:x", "temperature": 9}, "temperature"),
        ({"name": "openai:x", "mode": "xml"}, "mode"), ({"jury": ["openai:x"]}, "two to five"),
        ({"jury": "openai:x"}, "list"),
        ({"jury": ["openai:x", "openai:y"], "rule": "all"}, "majority or mean"), ([], "two to five"), ({}, "name"),
        ({"name": "openai:x", "prompts": "/nowhere"}, "does not exist"),
    ],
)  # fmt: skip
def test_bad_settings_say_what_is_wrong(spec, says: str) -> None:
    with pytest.raises(UsageError, match=says) as failed:
        make_judge(spec, environment=KEYS)
    assert "secret" not in str(failed.value)
    assert failed.value.exit_code == 2


def test_an_unknown_kind_is_an_unknown_name() -> None:
    with pytest.raises(UnknownName):
        make_judge("gemini:pro")


def test_a_python_function_judges(tmp_path: Path, monkeypatch, run) -> None:
    (tmp_path / "my_model_xyz.py").write_text(
        "import json\n"
        "def plain(request):\n"
        "    return json.dumps({'id': request.ids[0], 'claims': ['One.']})\n"
        "async def waiting(request):\n"
        "    return plain(request)\n"
        "def wrong(request):\n"
        "    return 5\n"
        "def broken(request):\n"
        "    raise RuntimeError('out of memory, key sk-abcdefgh123')\n",
        encoding="utf-8",
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    for name in ("plain", "waiting"):
        reply = run(make_judge(f"python:my_model_xyz:{name}").ask(SPLIT_CLAIMS, text="One."))
        assert reply.claims[0].text == "One."
    with pytest.raises(Exception, match="returned int"):
        run(make_judge("python:my_model_xyz:wrong").ask(SPLIT_CLAIMS, text="One."))
    with pytest.raises(Exception, match=r"out of memory, key \*\*\*"):
        run(make_judge({"name": "python:my_model_xyz:broken", "tries": 1}).ask(SPLIT_CLAIMS, text="One."))
    del sys.modules["my_model_xyz"]


def used(judge: Judge, *asks) -> list:
    async def scenario() -> list:
        try:
            await preflight(judge)
            return [await judge.ask(task, **inputs) for task, inputs in asks]
        finally:
            await aclose(judge)

    return asyncio.run(scenario())


def test_preflight_stops_before_the_first_sample(claims, chunks) -> None:
    with FakeLLMServer(models=["fake"], api_key="right") as server:
        wrong = {"OPENAI_API_KEY": "sk-wrongwrong1"}
        spec = {"name": "openai:fake", "base_url": server.openai_url}
        with pytest.raises(EndpointUnusable, match="401") as refused:
            used(make_judge(spec, environment=wrong))
        assert "sk-wrong" not in str(refused.value)
        with pytest.raises(EndpointUnusable, match="no such model"):
            used(make_judge({**spec, "name": "openai:other"}, environment={"OPENAI_API_KEY": "right"}))
        assert server.counts.requests == 0
    with pytest.raises(EndpointUnusable, match="cannot be reached"):
        used(make_judge(f"compatible:m@{server.openai_url}"))


def test_preflight_asks_once_where_a_list_tells_nothing_and_the_cache_keeps_it(tmp_path: Path) -> None:
    with FakeLLMServer(models=["served"], script={"probe": [404]}) as server:
        spec = f"compatible:alias@{server.openai_url}"
        with pytest.raises(EndpointUnusable, match="404"):
            used(make_judge(spec, cache=tmp_path / "c"))
        used(make_judge(spec, cache=tmp_path / "c"))
        used(make_judge(spec, cache=tmp_path / "c"))
        assert server.counts.requests == 2


def test_a_budget_is_shared_by_a_jury(claims, chunks) -> None:
    with FakeLLMServer() as server:
        budget = Budget(max_calls=3)
        spec = [f"compatible:a@{server.openai_url}", f"compatible:b@{server.openai_url}"]
        judge = make_judge(spec, budget=budget)
        asks = [(SUPPORT, {"claims": claims(f"text {n}"), "chunks": chunks("x")}) for n in range(5)]
        with pytest.raises(Exception, match="used up"):
            used(judge, *asks)
        assert server.counts.requests == 3


def test_a_dry_run_sends_nothing_and_forecasts_what_the_run_then_takes(tmp_path: Path, claims, chunks) -> None:
    asks = [
        (SPLIT_CLAIMS, {"text": "The agent listens on port 8125. It was made in 2019. " * 4}),
        *(
            (SUPPORT, {"claims": claims(f"claim {n}", "another"), "chunks": chunks("a passage " * 50)})
            for n in range(10)
        ),
    ]
    with FakeLLMServer() as server:
        spec = {"name": f"compatible:m@{server.openai_url}", "prices": {"compatible:m": {"input": 1.0, "output": 4.0}}}
        forecast = Forecast()
        used(make_judge(spec, forecast=forecast, cache=tmp_path / "c"), *asks, asks[0])
        assert server.counts.requests == server.counts.listings == 0
        assert (forecast.calls, forecast.cached_calls) == (11, 0)
        used(make_judge(spec, cache=tmp_path / "c"), *asks)
        assert server.counts.requests in (11, 12)  # a probe where the list of models does not name the model
        assert forecast.tokens_in == pytest.approx(server.counts.tokens_in, rel=0.1)
        assert forecast.usd is not None
        assert forecast.usd > forecast.tokens_in / 1e6
        again = Forecast()
        used(make_judge(spec, forecast=again, cache=tmp_path / "c"), *asks)
        assert (again.calls, again.cached_calls) == (0, 11)
    assert "price unknown" in Forecast().said()
    assert "11 calls" in forecast.said()


def test_a_dry_run_needs_no_key() -> None:
    used(
        make_judge("openai:gpt-4o-mini", forecast=(forecast := Forecast()), environment={}),
        (SPLIT_CLAIMS, {"text": "A."}),
    )
    assert forecast.usd is not None
    assert forecast.calls == 1


def test_own_prompts_are_used(tmp_path: Path) -> None:
    own = "# System\nTask: split_claims. MY OWN <<{{fence}}>>\n\n# User\nItem: {{item}}\n{{question}}\n{{text}}\n"
    (tmp_path / "split_claims.v1.md").write_text(own, encoding="utf-8")
    with FakeLLMServer() as server:
        judge = make_judge(f"compatible:m@{server.openai_url}", prompts=tmp_path)
        used(judge, (SPLIT_CLAIMS, {"text": "A fact."}))
        assert "MY OWN" in server.seen[-1].prompt
        assert judge.info().fingerprint != make_judge(f"compatible:m@{server.openai_url}").info().fingerprint


def test_the_raw_client_and_the_sdk_get_the_same_verdicts(claims, chunks) -> None:
    asks = [(SUPPORT, {"claims": claims("The port is 8125.", "Whales."), "chunks": chunks("The port is 8125.")})]
    with FakeLLMServer() as server:
        specs = [{"name": f"compatible:m@{server.openai_url}", "client": client} for client in ("sdk", "raw")]
        sdk, raw = (used(make_judge(spec), *asks) for spec in specs)
        assert sdk == raw
        assert server.seen[0].body.keys() == server.seen[-1].body.keys()


def test_temperature_of_its_own_reaches_the_model_and_a_hang_is_an_error_of_one_sample(claims, chunks) -> None:
    with FakeLLMServer(faults=Faults(hang=1)) as server:
        spec = {"name": f"compatible:fake@{server.openai_url}", "timeout_s": 0.2, "tries": 2, "temperature": 0.5}
        with pytest.raises(Exception, match="given up after 2 tries"):
            used(make_judge(spec), (SUPPORT, {"claims": claims("a"), "chunks": chunks("x")}))
        assert server.seen[0].body["temperature"] == 0.5


def test_the_entry_points_lead_here() -> None:
    from ragauge.judges import factory

    assert factory.openai({"name": "gpt-x", "api_key_env": "PATH"}).info().name == "openai:gpt-x"
    assert factory.openai({"name": "openai:gpt-x", "api_key_env": "PATH"}).info().name == "openai:gpt-x"
    assert factory.python({"name": "json:dumps"}).info().name == "python:json:dumps"


def test_a_module_in_the_working_directory_is_found_and_one_that_breaks_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "judge_beside_xyz.py").write_text("def ask(request):\n    return 'yes'\n", encoding="utf-8")
    (tmp_path / "judge_broken_xyz.py").write_text("raise ValueError('no weights')\n", encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    assert make_judge("python:judge_beside_xyz:ask").info().name == "python:judge_beside_xyz:ask"
    with pytest.raises(SettingsError, match="cannot be imported: ValueError: no weights"):
        make_judge("python:judge_broken_xyz:ask")
