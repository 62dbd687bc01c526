"""The Anthropic messages API, through the vendor's SDK (extra `anthropic`)."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from ragauge.core.provider import Endpoint, Reply, Request
from ragauge.errors import EndpointUnusable, MissingExtra
from ragauge.judges.providers.clients import Clients
from ragauge.judges.providers.dialect import Dialect
from ragauge.judges.providers.failures import (
    CallFailed,
    CallTimedOut,
    as_dict,
    failure_of_sdk,
    refuse_unusable,
)

ANTHROPIC_URL = "https://api.anthropic.com"
#: The API knows no JSON mode without a schema.
MODES = ("json_schema", "tool", "prompt")


@dataclass(frozen=True)
class AnthropicProvider:
    """`POST messages`, once."""

    endpoint: Endpoint
    api_key: str = field(repr=False, compare=False)
    mode: str | None = None
    timeout_s: float = 120.0

    @cached_property
    def dialect(self) -> Dialect:
        """What the endpoint has shown to understand."""
        return Dialect(self.endpoint, MODES if self.mode is None else (self.mode,))

    @cached_property
    def _clients(self) -> Clients:
        return Clients(self._client, lambda client: client.close())

    def _client(self) -> Any:
        try:
            import anthropic
        except ImportError:
            raise MissingExtra("anthropic", "anthropic") from None
        return anthropic.AsyncAnthropic(
            base_url=self.endpoint.base_url or ANTHROPIC_URL,
            api_key=self.api_key,
            timeout=self.timeout_s,
            max_retries=0,
        )

    async def complete(self, request: Request) -> Reply:
        """Send one request, once. Raises `CallFailed` or `CallTimedOut`."""
        client, mode = self._clients.here(), self.dialect.mode
        sent = self.dialect.spoken(parameters(request, self.endpoint, mode))
        # Of the sampling settings the SDK's signature knows none any more; the API takes them in the body.
        named = {name: sent.pop(name) for name in ("temperature", "top_p") if name in sent}
        started = time.perf_counter()
        try:
            message = await client.messages.create(**sent, extra_body=named or None)
        except Exception as problem:
            failure = self._failure(problem)
            if isinstance(failure, CallFailed):
                failure = self.dialect.learnt(failure, mode, sent | dict(named))
            raise failure from None
        return read_message(as_dict(message), self.endpoint, 1000 * (time.perf_counter() - started))

    def _failure(self, problem: Exception) -> CallFailed | CallTimedOut:
        import anthropic

        return failure_of_sdk(
            problem, anthropic, self.endpoint, timeout_s=self.timeout_s, api_key=self.api_key, default_url=ANTHROPIC_URL
        )

    async def preflight(self) -> bool:
        """Ask for the model's card, which costs nothing. True: it is served; False: only a call can tell.

        `EndpointUnusable` for a refused key, a missing model, a dead endpoint.
        """
        try:
            await self._clients.here().models.retrieve(self.endpoint.model, timeout=20.0)
        except Exception as problem:
            failure = self._failure(problem)
            if isinstance(failure, CallFailed) and failure.kind == "model":
                raise EndpointUnusable(f"{self.endpoint.label}: there is no such model", hint=failure.hint) from None
            refuse_unusable(failure)
            return False
        return True

    async def aclose(self) -> None:
        """Close the connections of the running loop."""
        await self._clients.aclose()


def parameters(request: Request, endpoint: Endpoint, mode: str) -> dict[str, Any]:
    """The body of `POST messages` for `request`, asking for JSON in the way that `mode` says."""
    body: dict[str, Any] = {
        "model": endpoint.model,
        "system": request.system,
        "messages": [{"role": "user", "content": request.user}],
        "max_tokens": request.sampling.max_tokens,
        "temperature": request.sampling.temperature,
        "top_p": request.sampling.top_p,
    }
    if (shape := request.shape) is None:
        return body
    if mode == "json_schema":
        body["output_config"] = {"format": {"type": "json_schema", "schema": shape.schema}}
    elif mode == "tool":
        body["tools"] = [{"name": shape.name, "description": "The reply.", "input_schema": shape.schema}]
        body["tool_choice"] = {"type": "tool", "name": shape.name}
    return body


def read_message(message: Mapping[str, Any], endpoint: Endpoint, latency_ms: float) -> Reply:
    """The reply in a message. `CallFailed` (server) for one without content."""
    try:
        blocks = list(message["content"])
        calls = [json.dumps(block["input"]) for block in blocks if block["type"] == "tool_use"]
        texts = [block["text"] for block in blocks if block["type"] == "text"]
    except (KeyError, TypeError):
        raise CallFailed(f"{endpoint.label} sent a reply without content", kind="server") from None
    usage, stop = message.get("usage") or {}, message.get("stop_reason")
    cut = stop in ("max_tokens", "model_context_window_exceeded")
    cached = (usage.get("cache_read_input_tokens") or 0) + (usage.get("cache_creation_input_tokens") or 0)
    return Reply(
        text=calls[0] if calls else "".join(texts),
        tokens_in=(usage.get("input_tokens") or 0) + cached,
        tokens_out=usage.get("output_tokens") or 0,
        stop="length" if cut else "refusal" if stop == "refusal" else "complete",
        model=message.get("model"),
        latency_ms=latency_ms,
    )
