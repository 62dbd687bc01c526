"""The OpenAI chat-completions format: a request as parameters, a completion as a reply."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ragauge.core.provider import Endpoint, Reply, Request
from ragauge.judges.providers.failures import CallFailed


def parameters(request: Request, endpoint: Endpoint, mode: str) -> dict[str, Any]:
    """The body of `POST chat/completions` for `request`, asking for JSON in the way that `mode` says."""
    limit = "max_tokens" if endpoint.provider == "compatible" else "max_completion_tokens"
    body: dict[str, Any] = {
        "model": endpoint.model,
        "messages": [{"role": "system", "content": request.system}, {"role": "user", "content": request.user}],
        "temperature": request.sampling.temperature,
        "top_p": request.sampling.top_p,
        "seed": request.sampling.seed,
        limit: request.sampling.max_tokens,
        "reasoning_effort": dict(endpoint.options).get("reasoning_effort"),
    }
    if (shape := request.shape) is None:
        return body
    if mode == "json_schema":
        schema = {"name": shape.name, "strict": True, "schema": shape.schema}
        body["response_format"] = {"type": "json_schema", "json_schema": schema}
    elif mode == "json_object":
        # llama.cpp's servers enforce a schema that is given here; OpenAI's own refuses one.
        own = {"schema": shape.schema} if endpoint.provider == "compatible" else {}
        body["response_format"] = {"type": "json_object", **own}
    elif mode == "tool":
        function = {"name": shape.name, "parameters": shape.schema}
        body["tools"] = [{"type": "function", "function": function}]
        body["tool_choice"] = {"type": "function", "function": {"name": shape.name}}
    return body


def read_completion(completion: Mapping[str, Any], endpoint: Endpoint, latency_ms: float) -> Reply:
    """The reply in a completion. `CallFailed` (server) for one without a message."""
    try:
        choice = completion["choices"][0]
        message, stop = choice["message"], choice.get("finish_reason")
        calls = message.get("tool_calls") or ()
        text = calls[0]["function"]["arguments"] if calls else message.get("content")
        refusal = message.get("refusal")
    except (KeyError, IndexError, TypeError, AttributeError):
        raise CallFailed(f"{endpoint.label} sent a reply without a message", kind="server") from None
    usage = completion.get("usage") or {}
    return Reply(
        text=_text_of(text) or str(refusal or ""),
        tokens_in=_count(usage.get("prompt_tokens")),
        tokens_out=_count(usage.get("completion_tokens")),
        stop="length" if stop == "length" else "refusal" if refusal or stop == "content_filter" else "complete",
        model=completion.get("model"),
        latency_ms=latency_ms,
    )


def _text_of(content: Any) -> str:
    """Some compatible servers send a list of parts instead of a string."""
    if isinstance(content, str):
        return content
    if isinstance(content, list):
        return "".join(part.get("text") or "" for part in content if isinstance(part, dict))
    return ""


def _count(value: Any) -> int:
    return value if isinstance(value, int) and value > 0 else 0
