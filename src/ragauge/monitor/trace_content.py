"""What stands in a span's attributes: its kind, texts, messages, documents, in the dialects that are spoken.

OpenInference first, then the OpenTelemetry GenAI conventions (several years' spellings), then vendors' own names.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal

from ragauge.monitor.lenient import clean
from ragauge.monitor.otlp import Span

Kind = Literal["retriever", "reranker", "llm", "embedding", "chain", "agent", "tool", "other"]

_KINDS: dict[str, Kind] = {
    "retriever": "retriever", "retrieval": "retriever", "reranker": "reranker", "reranking": "reranker",
    "rerank": "reranker", "llm": "llm", "chat": "llm", "chat_model": "llm", "generation": "llm",
    "generate_content": "llm", "text_completion": "llm", "completion": "llm", "embedding": "embedding",
    "embeddings": "embedding", "chain": "chain", "workflow": "chain", "task": "chain", "record_root": "chain",
    "invoke_workflow": "chain", "agent": "agent", "invoke_agent": "agent", "tool": "tool", "execute_tool": "tool",
}  # fmt: skip
_KIND_NAMES = (
    "openinference.span.kind", "gen_ai.operation.name", "langfuse.observation.type", "traceloop.span.kind",
    "mlflow.spanType", "ai.observability.span_type", "llm.request.type",
)  # fmt: skip
_INPUT = ("input.value", "ai.observability.record_root.input", "langfuse.observation.input",
          "langfuse.trace.input", "traceloop.entity.input", "mlflow.spanInputs")  # fmt: skip
_OUTPUT = ("output.value", "ai.observability.record_root.output", "langfuse.observation.output",
           "langfuse.trace.output", "traceloop.entity.output", "mlflow.spanOutputs")  # fmt: skip
_QUERY = ("gen_ai.retrieval.query.text", "ai.observability.retrieval.query_text", "reranker.query",
          "ai.observability.reranking.query_text")  # fmt: skip
_QUESTION_KEYS = ("question", "query", "user_input", "input", "user_query", "query_str", "prompt", "text", "inputs",
                  "kwargs", "args", "messages")  # fmt: skip
_ANSWER_KEYS = ("answer", "response", "output", "result", "text", "content", "completion", "generations", "outputs",
                "choices", "message", "messages")  # fmt: skip
_DOCUMENT = re.compile(r"\.(\d+)\.document\.(\w+)$")
_MESSAGE = re.compile(r"\.(\d+)\.(?:message\.)?(role|content|contents\.\d+\.message_content\.text)$")
_DEEP = 8


def kind_of(span: Span) -> Kind:
    """What the span does."""
    for name in _KIND_NAMES:
        value = span.attributes.get(name)
        if isinstance(value, str):
            found = _KINDS.get(value.strip('"').lower())
            if found:
                return found
    if any(name.startswith("retrieval.documents.") for name in span.attributes):
        return "retriever"
    return "llm" if span.get("gen_ai.request.model", "llm.model_name") else "other"


def question_of(span: Span) -> str | None:
    """What the span was asked."""
    messages = messages_of(span, "input")
    said = next((text for role, text in reversed(messages) if role in {"user", "human"} and text.strip()), None)
    if kind_of(span) == "llm" and said:
        return said
    for name in (*_INPUT, *_QUERY):
        text = _text_in(span.attributes.get(name), _QUESTION_KEYS, "user")
        if text:
            return text
    prompt = span.get("gen_ai.prompt")
    return said or (_text_in(prompt, _QUESTION_KEYS, "user") if prompt is not None else None)


def answer_of(span: Span) -> str | None:
    """What the span gave."""
    messages = messages_of(span, "output")
    said = next((text for _, text in reversed(messages) if text.strip()), None)
    if kind_of(span) == "llm" and said:
        return said
    for name in _OUTPUT:
        text = _text_in(span.attributes.get(name), _ANSWER_KEYS, "assistant")
        if text:
            return text
    done = span.get("gen_ai.completion")
    return said or (_text_in(done, _ANSWER_KEYS, "assistant") if done is not None else None)


def prompt_of(span: Span) -> str:
    """Everything that a model was sent."""
    parts = [text for _, text in messages_of(span, "input")]
    for name in ("gen_ai.system_instructions", "llm.prompts", "input.value", "gen_ai.prompt"):
        value = span.attributes.get(name)
        if value is not None:
            parts.append(value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str))
    return "\n".join(parts)


def messages_of(span: Span, side: Literal["input", "output"]) -> list[tuple[str, str]]:
    """(role, text) of the messages on one side."""
    found = _flat_messages(span.attributes, f"llm.{side}_messages.")
    if not found:
        found = _messages_in(parsed(span.attributes.get(f"gen_ai.{side}.messages")))
    if not found:
        found = _flat_messages(span.attributes, "gen_ai.prompt." if side == "input" else "gen_ai.completion.")
    if not found:
        found = _event_messages(span, side)
    return found


def _flat_messages(attributes: Mapping[str, Any], prefix: str) -> list[tuple[str, str]]:
    found: dict[int, dict[str, Any]] = {}
    for name, value in attributes.items():
        match = _MESSAGE.search(name) if name.startswith(prefix) else None
        if match and value is not None:
            entry = found.setdefault(int(match.group(1)), {})
            part = match.group(2)
            key = "role" if part == "role" else "content"
            entry[key] = f"{entry[key]}\n{value}" if key in entry and key == "content" else value
    return [(str(entry.get("role", "")), clean(entry.get("content", ""))) for _, entry in sorted(found.items())]


def _event_messages(span: Span, side: str) -> list[tuple[str, str]]:
    found: list[tuple[str, str]] = []
    for name, attributes in span.events:
        match = re.fullmatch(r"gen_ai\.(system|user|assistant|tool)\.message", name)
        if side == "input" and match:
            found += _messages_in({"role": match.group(1), **attributes})
        elif side == "output" and name == "gen_ai.choice":
            found += _messages_in(parsed(attributes.get("message")) or {"role": "assistant", **attributes})
        elif name == "gen_ai.client.inference.operation.details":
            found += _messages_in(parsed(attributes.get(f"gen_ai.{side}.messages")))
        elif name == f"gen_ai.content.{'prompt' if side == 'input' else 'completion'}":
            found += _messages_in(parsed(attributes.get(f"gen_ai.{'prompt' if side == 'input' else 'completion'}")))
    return found


def _messages_in(value: Any) -> list[tuple[str, str]]:
    if isinstance(value, Mapping):
        value = [value]
    if not isinstance(value, Sequence) or isinstance(value, str):
        return []
    found = []
    for message in value:
        if isinstance(message, Mapping) and ("role" in message or "parts" in message or "content" in message):
            body = message.get("parts", message.get("content"))
            found.append((str(message.get("role", "")), _parts_text(body)))
    return found


def _parts_text(body: Any) -> str:
    if isinstance(body, str):
        return clean(body)
    if isinstance(body, Mapping):
        body = [body]
    if not isinstance(body, Sequence):
        return ""
    texts = [
        part if isinstance(part, str) else part.get("content") or part.get("text")
        for part in body
        if isinstance(part, str) or (isinstance(part, Mapping) and part.get("type", "text") == "text")
    ]
    return "\n".join(clean(text) for text in texts if isinstance(text, str))


def _text_in(value: Any, keys: Sequence[str], role: str, depth: int = 0) -> str | None:
    """The telling text of a value that may be JSON: of its usual keys, or of the last message of that role."""
    if isinstance(value, str):
        inner = parsed(value)
        if inner is value or depth > _DEEP:
            return clean(value) if value.strip() else None
        return _text_in(inner, keys, role, depth + 1) or clean(value)
    if depth > _DEEP:
        return None
    if isinstance(value, Mapping):
        if "parts" in value or (isinstance(value.get("content"), list) and "role" in value):
            return _parts_text(value.get("parts", value.get("content"))) or None
        for key in keys:
            if value.get(key) not in (None, "", [], {}):
                text = _text_in(value[key], keys, role, depth + 1)
                if text:
                    return text
        only = next(iter(value.values())) if len(value) == 1 else None
        return _text_in(only, keys, role, depth + 1) if only is not None else None
    if isinstance(value, Sequence) and value:
        spoken = [entry for entry in value if isinstance(entry, Mapping) and "role" in entry]
        mine = [entry for entry in spoken if str(entry["role"]) in {role, "human" if role == "user" else "ai"}]
        chosen = mine[-1] if mine else spoken[-1] if spoken else value[0] if role == "assistant" else value[-1]
        if isinstance(chosen, Mapping) and "role" in chosen and isinstance(chosen.get("content"), str):
            return clean(chosen["content"]) or None
        return _text_in(chosen, keys, role, depth + 1)
    return None


def documents_of(span: Span, prefix: str | None = None) -> list[dict[str, Any]] | None:
    """The documents of a retriever, or of one side of a re-ranker; None when the span says nothing of them."""
    prefix = prefix or "retrieval.documents"
    found = _flat_documents(span.attributes, prefix)
    if found is not None or prefix != "retrieval.documents":
        return found
    for name in ("gen_ai.retrieval.documents", "ai.observability.retrieval.retrieved_contexts", "mlflow.spanOutputs",
                 "langfuse.observation.output", "traceloop.entity.output", "output.value"):  # fmt: skip
        listed = _documents_in(parsed(span.attributes.get(name)))
        if listed is not None:
            return listed
    return None


def _flat_documents(attributes: Mapping[str, Any], prefix: str) -> list[dict[str, Any]] | None:
    found: dict[int, dict[str, Any]] = {}
    for name, value in attributes.items():
        match = _DOCUMENT.search(name) if name.startswith(prefix) else None
        if match and value is not None:
            key = match.group(2)
            found.setdefault(int(match.group(1)), {})[key] = parsed(value) if key == "metadata" else value
    return [found[place] for place in sorted(found)] or None


def _documents_in(value: Any) -> list[dict[str, Any]] | None:
    if isinstance(value, Mapping):
        value = next((value[key] for key in ("documents", "source_nodes", "nodes", "results") if key in value), None)
    if not isinstance(value, Sequence) or isinstance(value, str):
        return None
    found = [{"text": entry} if isinstance(entry, str) else dict(entry) for entry in value
             if isinstance(entry, str | Mapping)]  # fmt: skip
    usual = {"id", "content", "text", "page_content", "score", "document", "node"}
    return found if all(usual & set(entry) for entry in found) else None


def parsed(value: Any) -> Any:
    """JSON in a text as what it says; anything else as it is."""
    if isinstance(value, str) and value[:1] in {"{", "[", '"'}:
        try:
            return json.loads(value)
        except (ValueError, RecursionError):
            return value
    return value


def numbers(spans: Iterable[Span], *names: str) -> float | None:
    """The sum over spans of the first of these attributes that each has; None when none has any."""
    found = [value for value in (span.get(*names) for span in spans) if isinstance(value, int | float)]
    return float(sum(found)) if found else None
