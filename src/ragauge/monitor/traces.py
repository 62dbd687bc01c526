"""A trace as one logged query: what was asked, what was retrieved and seen, what was answered, how long it took."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from ragauge.monitor.lenient import chunks_of, lenient_query, number
from ragauge.monitor.otlp import Span
from ragauge.monitor.query import LoggedChunk, LoggedQuery
from ragauge.monitor.trace_content import (
    Kind,
    answer_of,
    documents_of,
    kind_of,
    numbers,
    parsed,
    prompt_of,
    question_of,
)

#: The question of a trace whose producer does not capture content.
NOT_CAPTURED = "[not captured]"
_TOLD: frozenset[Kind] = frozenset({"retriever", "reranker", "llm", "chain", "agent"})
_PROJECT = ("openinference.project.name", "ragauge.project", "service.name")


def query_of_trace(spans: Sequence[Span]) -> LoggedQuery | None:
    """The query of a trace's spans; None when nothing in it retrieves, answers or is a chain of such steps.

    `metadata.contexts_source` says where the chunks come from: `prompt` (those of the retrieved ones that the model
    was really sent), `reranker`, `retriever`. What was retrieved before stays in `metadata.retrieved`.
    """
    spans = sorted({span.span_id: span for span in spans}.values(), key=lambda span: (span.start_ns, -span.end_ns))
    kinds = {span.span_id: kind_of(span) for span in spans}
    if not any(kind in _TOLD for kind in kinds.values()):
        return None
    root = root_of(spans)
    of = {kind: [span for span in spans if kinds[span.span_id] == kind] for kind in set(kinds.values())}
    retrievers = _outermost(of.get("retriever", []), spans, kinds)
    rerankers, models = of.get("reranker", []), of.get("llm", [])
    retrieval = retrievers + rerankers
    since = max((span.end_ns for span in retrieval), default=0)
    answering = [span for span in models if span.start_ns >= since] or models
    chunks, metadata = _chunks(retrievers, rerankers, answering)
    fields: dict[str, Any] = {
        "id": root.trace_id,
        "at": datetime.fromtimestamp(root.start_ns / 1e9, UTC),
        "project": _project(root),
        "question": _said(question_of, [root, *_by_use(spans, kinds)]) or NOT_CAPTURED,
        "answer": _said(answer_of, [root, *reversed(answering)]) if _answers(root, kinds, models) else None,
        "chunks": chunks,
        "retrieval_ms": _covered_ms(retrieval),
        "generation_ms": _covered_ms(answering),
        "total_ms": (root.end_ns - root.start_ns) / 1e6,
        "error": root.error,
        "source": "otlp",
        **_known(root, spans, models),
    }
    metadata |= _own_metadata(root)
    variant = root.get("ragauge.variant") or metadata.get("variant")
    if isinstance(variant, str):
        fields["variant"] = variant
    return lenient_query({**fields, "metadata": metadata})


def root_of(spans: Sequence[Span]) -> Span:
    """The span that has no parent here; of several the longest."""
    here = {span.span_id for span in spans}
    roots = [span for span in spans if span.parent_id is None] or [s for s in spans if s.parent_id not in here]
    return max(roots or spans, key=lambda span: (kind_of(span) != "other", span.end_ns - span.start_ns))


def _outermost(retrievers: list[Span], spans: Sequence[Span], kinds: Mapping[str, Kind]) -> list[Span]:
    """Retrievers inside a retriever that lists its documents itself are its steps, not further retrievals."""
    by_id = {span.span_id: span for span in spans}
    found = []
    for span in retrievers:
        above, seen = by_id.get(span.parent_id or ""), {span.span_id}
        inside = False
        while above is not None and above.span_id not in seen:
            seen.add(above.span_id)
            inside = inside or (kinds[above.span_id] == "retriever" and documents_of(above) is not None)
            above = by_id.get(above.parent_id or "")
        inner = any(other.parent_id == span.span_id for other in retrievers)
        if not inside and not (documents_of(span) is None and inner):
            found.append(span)
    return found


def _by_use(spans: Sequence[Span], kinds: Mapping[str, Kind]) -> list[Span]:
    order: tuple[Kind, ...] = ("chain", "agent", "retriever", "reranker", "llm")
    return [span for kind in order for span in spans if kinds[span.span_id] == kind]


def _said(read: Any, spans: Iterable[Span]) -> str | None:
    return next((text for text in map(read, spans) if text and text.strip()), None)


def _answers(root: Span, kinds: Mapping[str, Kind], models: Sequence[Span]) -> bool:
    """A trace that only retrieves has no answer, whatever its root gives back."""
    return bool(models) or kinds[root.span_id] in {"chain", "agent"}


def _chunks(
    retrievers: Sequence[Span], rerankers: Sequence[Span], answering: Sequence[Span]
) -> tuple[tuple[LoggedChunk, ...] | None, dict[str, Any]]:
    retrieved: list[dict[str, Any]] = []
    captured = False
    for span in retrievers:
        documents = documents_of(span)
        captured = captured or documents is not None or bool(span.get("output.value") in ("[]", '{"documents": []}'))
        retrieved += [{**document, "_span": span.span_id} for document in documents or []]
    if not retrievers and not rerankers:
        return None, {}
    final = _plain(retrieved)
    metadata: dict[str, Any] = {"contexts_source": "retriever", "retriever_span_ids": [s.span_id for s in retrievers]}
    for span in rerankers:
        documents = documents_of(span, "reranker.output_documents")
        if documents is not None:
            metadata |= {"contexts_source": "reranker", "retrieved": _brief(final)}
            final, captured = _plain(documents), True
    sent = _sent(final, answering)
    if sent is not None:
        metadata.setdefault("retrieved", _brief(final))
        metadata["contexts_source"] = "prompt"
        final = sent
    # A retriever that found nothing writes no document: with a captured query, no document means none.
    asked = any(question_of(span) is not None for span in (*retrievers, *rerankers))
    return (final if final or captured or asked else None), metadata


def _plain(documents: Sequence[Mapping[str, Any]]) -> tuple[LoggedChunk, ...]:
    chunks = chunks_of([{k: v for k, v in document.items() if k != "_span"} for document in documents]) or ()
    first = {(chunk.id, chunk.text): chunk for chunk in reversed(chunks)}
    once = [chunk for chunk in chunks if first[chunk.id, chunk.text] is chunk]
    return tuple(chunk.model_copy(update={"rank": rank}) for rank, chunk in enumerate(once, start=1))


def _brief(chunks: Sequence[LoggedChunk]) -> list[dict[str, Any]]:
    return [{"id": chunk.id, "score": chunk.score, "rank": chunk.rank} for chunk in chunks]


def _sent(chunks: Sequence[LoggedChunk], answering: Sequence[Span]) -> tuple[LoggedChunk, ...] | None:
    """The chunks whose text stands in what the model was sent; None when that cannot be told, or all do."""
    if not chunks or any(not (chunk.text or "").strip() for chunk in chunks):
        return None
    prompt = " ".join("\n".join(map(prompt_of, answering)).split())
    there = [chunk for chunk in chunks if " ".join((chunk.text or "").split()) in prompt]
    if not there or len(there) == len(chunks):
        return None
    return tuple(chunk.model_copy(update={"rank": rank}) for rank, chunk in enumerate(there, start=1))


def _covered_ms(spans: Sequence[Span]) -> float | None:
    """How long at least one of the spans was running."""
    total, until = 0, 0
    for start, end in sorted((span.start_ns, span.end_ns) for span in spans):
        total += max(0, end - max(start, until))
        until = max(until, end)
    return total / 1e6 if spans else None


def _known(root: Span, spans: Sequence[Span], models: Sequence[Span]) -> dict[str, Any]:
    """Model, tokens, cost, session, tags."""
    counted = models or [root]
    session = next((value for span in spans if (value := span.get(
        "session.id", "gen_ai.conversation.id", "langfuse.session.id", "traceloop.association.properties.session_id"
    )) is not None), None)  # fmt: skip
    model = next((value for span in reversed(counted) if (value := span.get(
        "llm.response.model_name", "gen_ai.response.model", "llm.model_name", "llm.request.model_name",
        "gen_ai.request.model",
    )) is not None), None)  # fmt: skip
    tokens_in = numbers(counted, "llm.token_count.prompt", "gen_ai.usage.input_tokens", "gen_ai.usage.prompt_tokens")
    tokens_out = numbers(
        counted, "llm.token_count.completion", "gen_ai.usage.output_tokens", "gen_ai.usage.completion_tokens"
    )
    tags = parsed(root.get("tag.tags", "langfuse.trace.tags")) or ()
    return {
        "session": None if session is None else str(session)[:400],
        "model": None if model is None else str(model)[:400],
        "tokens_in": None if tokens_in is None else int(tokens_in),
        "tokens_out": None if tokens_out is None else int(tokens_out),
        "cost_usd": numbers(counted, "llm.cost.total", "gen_ai.usage.cost"),
        "tags": [str(tag) for tag in ([tags] if isinstance(tags, str) else tags)],
    }


def _own_metadata(root: Span) -> dict[str, Any]:
    found = parsed(root.get("metadata", "langfuse.trace.metadata"))
    own: dict[str, Any] = dict(found) if isinstance(found, Mapping) else {}
    top_k = number(root.get("gen_ai.request.top_k", "gen_ai.retrieval.top_k", "reranker.top_k"))
    return own | ({"top_k": int(top_k)} if top_k is not None else {})


def _project(root: Span) -> str:
    for name in _PROJECT:
        value = root.resource.get(name) or root.attributes.get(name)
        if isinstance(value, str) and value.strip() and not value.startswith("unknown_service"):
            return value[:200]
    return "default"
