"""The three network providers against one fake server: the same failures, the same ways round a server's quirks."""

from __future__ import annotations

import asyncio
import json
import socket
from collections.abc import Callable
from typing import Any

import pytest

from ragauge.core.provider import Endpoint, Provider, Reply, Request, Sampling
from ragauge.errors import EndpointUnusable, JudgeUnavailable, Reason
from ragauge.judges.llm.forms import shape_of
from ragauge.judges.providers.anthropic import AnthropicProvider
from ragauge.judges.providers.failures import CallFailed, CallTimedOut
from ragauge.judges.providers.openai import OpenAIProvider
from ragauge.judges.providers.raw import RawProvider
from ragauge.prompts import Fenced, load
from ragauge.testing.fake_llm import FakeLLMServer, Faults

SECRET = "sk-very-secret-key-123456"
MENU = ("correct", "partial", "wrong")
Make = Callable[..., Any]


def openai_provider(server: FakeLLMServer, model: str = "fake", **more: Any) -> OpenAIProvider:
    return OpenAIProvider(Endpoint("openai", model, server.openai_url), SECRET, **more)


def compatible_provider(server: FakeLLMServer, model: str = "fake", **more: Any) -> OpenAIProvider:
    return OpenAIProvider(Endpoint("compatible", model, server.openai_url), SECRET, **more)


def azure_provider(server: FakeLLMServer, model: str = "fake", **more: Any) -> OpenAIProvider:
    return OpenAIProvider(Endpoint("azure", model, server.url), SECRET, "2024-10-21", **more)


def anthropic_provider(server: FakeLLMServer, model: str = "fake", **more: Any) -> AnthropicProvider:
    return AnthropicProvider(Endpoint("anthropic", model, server.url), SECRET, **more)


def raw_provider(server: FakeLLMServer, model: str = "fake", **more: Any) -> RawProvider:
    return RawProvider(Endpoint("compatible", model, server.openai_url), SECRET, **more)


EVERY = pytest.mark.parametrize(
    "make", [openai_provider, compatible_provider, azure_provider, anthropic_provider, raw_provider]
)


def request(**more: Any) -> Request:
    shown = load("correctness").render(
        item="T555",
        question=Fenced.one("question", "Which port?"),
        answer=Fenced.one("answer", "Port 8125."),
        reference=Fenced.one("reference", "It is port 8125."),
    )
    given: dict[str, Any] = {
        "task": "correctness", "system": shown.system, "user": shown.user, "prompt_sha256": "x",
        "shape": shape_of("correctness", "verdict", MENU), "ids": ("T555",), "labels": MENU,
    }  # fmt: skip
    return Request(**{**given, **more})


def once(provider: Any, *requests: Request) -> list[Reply]:
    async def scenario() -> list[Reply]:
        try:
            return [await provider.complete(one) for one in requests or (request(),)]
        finally:
            await provider.aclose()

    return asyncio.run(scenario())


def failure(provider: Any) -> CallFailed | CallTimedOut:
    with pytest.raises((CallFailed, CallTimedOut)) as failed:
        once(provider)
    assert SECRET not in str(failed.value)
    return failed.value


@EVERY
def test_one_request_once(make: Make) -> None:
    with FakeLLMServer() as server:
        provider = make(server)
        assert isinstance(provider, Provider)
        (reply,) = once(provider)
    assert json.loads(reply.text)["label"] == "correct"
    assert (reply.tokens_in, reply.tokens_out) == (server.counts.tokens_in, server.counts.tokens_out)
    assert reply.stop == "complete"
    assert reply.latency_ms > 0
    assert server.counts.requests == 1


@EVERY
@pytest.mark.parametrize(
    ("fault", "kind"), [("rate_limited", "throttled"), ("server_error", "server"), ("dropped", "connection")]
)
def test_faults_are_transient_and_tried_once(make: Make, fault: str, kind: str) -> None:
    with FakeLLMServer(faults=Faults(**{fault: 1.0}), retry_after_s=6) as server:
        failed = failure(make(server))
        assert isinstance(failed, CallFailed)
        assert server.counts.requests == 1
    assert (failed.kind, failed.transient, failed.reason) == (kind, True, Reason.JUDGE_UNAVAILABLE)
    assert failed.retry_after_s == (6.0 if fault == "rate_limited" else None)


@EVERY
def test_a_hang_ends_at_the_clients_own_limit(make: Make) -> None:
    with FakeLLMServer(faults=Faults(hang=1)) as server:
        assert failure(make(server, timeout_s=0.3)).reason is Reason.TIMED_OUT


@EVERY
def test_a_refused_key_is_final_and_not_shown(make: Make) -> None:
    with FakeLLMServer(api_key="another") as server:
        failed = failure(make(server))
    assert isinstance(failed, CallFailed)
    assert (failed.kind, failed.transient) == ("key", False)
    assert "***" in str(failed)
    assert SECRET not in repr(make(server))


@EVERY
def test_nobody_listening(make: Make) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    failed = failure(make(FakeLLMServer(port=port)))
    assert isinstance(failed, CallFailed)
    assert failed.kind == "connection"
    assert "listening" in failed.hint


@EVERY
def test_a_cut_reply_says_so(make: Make) -> None:
    with FakeLLMServer(faults=Faults(truncated=1)) as server:
        assert once(make(server))[0].stop == "length"


@EVERY
def test_a_refusal_says_so(make: Make) -> None:
    with FakeLLMServer(faults=Faults(refused=1)) as server:
        (reply,) = once(make(server))
    assert reply.stop == "refusal"
    assert "cannot help" in reply.text


@EVERY
@pytest.mark.parametrize("schema", ["rejected_400", "rejected_500"])
def test_a_server_without_schemas_is_asked_in_another_way_from_then_on(make: Make, schema: str) -> None:
    with FakeLLMServer(schema=schema) as server:
        provider = make(server)

        async def scenario() -> Reply:
            with pytest.raises(CallFailed) as refused:
                await provider.complete(request())
            assert refused.value.kind == "dialect"
            reply = await provider.complete(request())
            await provider.complete(request())
            await provider.aclose()
            return reply

        reply = asyncio.run(scenario())
        assert json.loads(reply.text)["id"] == "T555"
        assert server.counts.requests == 3
        assert provider.dialect.mode == ("tool" if make is anthropic_provider else "json_object")


def test_down_to_the_prompt_alone() -> None:
    with FakeLLMServer(schema="rejected_400", json_object=False, tools=False) as server:
        provider = compatible_provider(server)

        async def scenario() -> Reply:
            for _ in range(3):
                with pytest.raises(CallFailed):
                    await provider.complete(request())
            reply = await provider.complete(request())
            await provider.aclose()
            return reply

        assert json.loads(asyncio.run(scenario()).text)["id"] == "T555"
        assert provider.dialect.mode == "prompt"


@EVERY
def test_a_parameter_that_is_refused_is_no_longer_sent(make: Make) -> None:
    with FakeLLMServer(rejects=["temperature"]) as server:
        provider = make(server)

        async def scenario() -> None:
            with pytest.raises(CallFailed) as refused:
                await provider.complete(request())
            assert refused.value.kind == "dialect"
            await provider.complete(request())
            await provider.aclose()

        asyncio.run(scenario())
        assert "temperature" in server.seen[0].body
        assert "temperature" not in server.seen[1].body


def test_the_token_limit_goes_under_the_name_that_the_server_knows() -> None:
    for make, refused, known in (
        (openai_provider, "max_completion_tokens", "max_tokens"),
        (compatible_provider, "max_tokens", "max_completion_tokens"),
    ):
        with FakeLLMServer(rejects=[refused]) as server:
            provider = make(server)

            async def scenario(provider: Any = provider) -> None:
                with pytest.raises(CallFailed):
                    await provider.complete(request())
                await provider.complete(request())
                await provider.aclose()

            asyncio.run(scenario())
            assert server.seen[1].body[known] == 2000
            assert refused not in server.seen[1].body


@EVERY
def test_a_500_without_a_word_about_the_form_changes_nothing(make: Make) -> None:
    with FakeLLMServer(faults=Faults(server_error=1)) as server:
        provider = make(server)
        for _ in range(10):
            failure(provider)
        assert provider.dialect.mode == "json_schema"


@EVERY
def test_sampling_is_sent_and_nothing_is_sent_for_none(make: Make) -> None:
    with FakeLLMServer() as server:
        provider = make(server)
        plain = request(sampling=Sampling(temperature=None))
        once(provider, request(sampling=Sampling(0.7, 0.9, 5, 777)), plain)
        sent, bare = (seen.body for seen in server.seen)
    assert (sent["temperature"], sent["top_p"]) == (0.7, 0.9)
    assert 777 in (sent.get("max_tokens"), sent.get("max_completion_tokens"))
    assert not {"temperature", "top_p", "seed"} & set(bare)
    if make is not anthropic_provider:
        assert sent["seed"] == 5


@pytest.mark.parametrize("make", [openai_provider, compatible_provider, anthropic_provider, raw_provider])
def test_preflight_is_free_and_knows_the_served_model(make: Make) -> None:
    with FakeLLMServer(models=["fake"]) as server:
        provider = make(server)

        async def scenario() -> bool:
            try:
                return await provider.preflight()
            finally:
                await provider.aclose()

        assert asyncio.run(scenario()) is True
        assert server.counts.requests == 0


def preflight(provider: Any) -> Any:
    async def scenario() -> Any:
        try:
            return await provider.preflight()
        finally:
            await provider.aclose()

    return asyncio.run(scenario())


@pytest.mark.parametrize("make", [openai_provider, compatible_provider, anthropic_provider, raw_provider])
def test_preflight_finds_a_refused_key_and_a_dead_endpoint(make: Make) -> None:
    with FakeLLMServer(api_key="another") as server, pytest.raises(EndpointUnusable, match="401") as refused:
        preflight(make(server))
    assert SECRET not in str(refused.value)
    with pytest.raises(EndpointUnusable, match="cannot be reached"):
        preflight(make(server))


@pytest.mark.parametrize("make", [openai_provider, anthropic_provider])
def test_preflight_finds_an_unknown_model(make: Make) -> None:
    with (
        FakeLLMServer(models=["fake-large", "other"]) as server,
        pytest.raises(EndpointUnusable, match="no such model"),
    ):
        preflight(make(server, "fake-larg"))


def test_preflight_cannot_tell_for_azure_and_for_servers_that_serve_any_name() -> None:
    with FakeLLMServer(models=["fake"]) as server:
        assert preflight(azure_provider(server)) is False
        assert preflight(compatible_provider(server, "alias")) is False
        assert preflight(raw_provider(server, "alias")) is False


@EVERY
def test_a_provider_works_in_one_event_loop_after_another(make: Make) -> None:
    with FakeLLMServer() as server:
        provider = make(server)
        assert once(provider)[0].text == once(provider)[0].text


@EVERY
def test_one_client_serves_all_calls(make: Make) -> None:
    with FakeLLMServer(latency_ms=20) as server:
        provider = make(server)
        made = []
        client = provider._clients.make
        provider._clients.make = lambda: made.append(1) or client()

        async def scenario() -> None:
            await asyncio.gather(*(provider.complete(request(user=f"{request().user}{n}")) for n in range(20)))
            await provider.aclose()

        asyncio.run(scenario())
        assert made == [1]
        assert server.counts.peak > 5


@pytest.mark.parametrize("body", ["[]", "{}", '"text"', '{"choices": []}', '{"choices": [{}]}', "not json"])
def test_odd_shapes_are_failures_not_crashes(body: str) -> None:
    async def scenario() -> None:
        async def odd(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            await reader.readuntil(b"\r\n\r\n")
            head = (
                f"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {len(body)}\r\nconnection: close"
            )
            writer.write(f"{head}\r\n\r\n{body}".encode())
            await writer.drain()
            writer.close()

        server = await asyncio.start_server(odd, "127.0.0.1", 0)
        fake = FakeLLMServer(port=server.sockets[0].getsockname()[1])
        for make in (openai_provider, raw_provider, anthropic_provider):
            provider = make(fake)
            with pytest.raises(JudgeUnavailable):
                await provider.complete(request())
            await provider.aclose()
        server.close()

    asyncio.run(scenario())
