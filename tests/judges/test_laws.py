"""The shipped kit's laws, kept by what we ship; and a real model on a real server, where there is one."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterator

import pytest

from ragauge.core.provider import Endpoint
from ragauge.core.tasks import TASKS
from ragauge.judges.factory import make_judge
from ragauge.judges.jury import Jury
from ragauge.judges.layers import aclose, preflight
from ragauge.judges.providers.anthropic import AnthropicProvider
from ragauge.judges.providers.openai import OpenAIProvider
from ragauge.judges.providers.raw import RawProvider
from ragauge.judges.selfcheck import self_check
from ragauge.testing.fake_llm import FakeLLMServer
from ragauge.testing.judges import check_judge
from ragauge.testing.providers import KEY, check_provider

REAL = "RAGAUGE_TEST_LLM"


@pytest.fixture
def server() -> Iterator[FakeLLMServer]:
    with FakeLLMServer() as running:
        yield running


@pytest.mark.parametrize("client", ["sdk", "raw"])
def test_the_language_model_judge_keeps_the_laws_and_can_do_every_task(server: FakeLLMServer, client: str) -> None:
    spec = {"name": f"compatible:fake@{server.openai_url}", "client": client}
    assert check_judge(_closing(make_judge(spec))) == list(TASKS)


def _closing(judge):
    """The kit asks each question in an event loop of its own; connections are closed where they belong."""

    class Closing:
        info = staticmethod(judge.info)

        @staticmethod
        async def ask(task, /, **inputs):
            try:
                return await judge.ask(task, **inputs)
            finally:
                await aclose(judge)

    return Closing()


def test_a_jury_keeps_the_laws(server: FakeLLMServer) -> None:
    jury = make_judge([f"compatible:{name}@{server.openai_url}" for name in ("a", "b", "c")])
    assert check_judge(_closing(jury)) == list(TASKS)
    inside = jury.inner  # type: ignore[attr-defined]
    assert isinstance(inside, Jury)
    assert inside.ledger.flip_rate() == 0.0


def test_a_repeated_judge_keeps_the_laws(server: FakeLLMServer) -> None:
    assert check_judge(_closing(make_judge({"name": f"compatible:m@{server.openai_url}", "repeats": 2}))) == list(TASKS)


@pytest.mark.parametrize(
    "make",
    [
        lambda s: OpenAIProvider(Endpoint("openai", "m", s.openai_url), KEY, timeout_s=1.5),
        lambda s: OpenAIProvider(Endpoint("azure", "m", s.url), KEY, "2024-10-21", timeout_s=1.5),
        lambda s: AnthropicProvider(Endpoint("anthropic", "m", s.url), KEY, timeout_s=1.5),
        lambda s: RawProvider(Endpoint("compatible", "m", s.openai_url), KEY, timeout_s=1.5),
    ],
    ids=["openai", "azure", "anthropic", "raw"],
)
def test_every_provider_keeps_the_laws(make) -> None:
    check_provider(make)


@pytest.mark.slow
def test_a_real_small_model_judges_the_self_test_cases() -> None:
    """`RAGAUGE_TEST_LLM=NAME@http://127.0.0.1:PORT/v1`: any OpenAI-compatible server with a small model behind it."""
    if not (where := os.environ.get(REAL)):
        pytest.skip(f"set {REAL}=NAME@http://host:port/v1 to judge with a real model")
    judge = make_judge({"name": f"compatible:{where}", "concurrency": 1, "timeout_s": 300.0})

    async def scenario():
        try:
            await preflight(judge)
            return await self_check(judge)
        finally:
            await aclose(judge)

    report = asyncio.run(scenario())
    told = "\n".join(f"{r.passed} {r.name}: expected {r.expected}, got {r.got}" for r in report.results)
    assert not [r for r in report.results if r.got.startswith(("judge_un", "judge_inc", "timed_out"))], told
    assert report.n_passed >= 0.6 * len(report.results), told
