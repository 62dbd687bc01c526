"""Whatever a user's system returns, as a `Response`."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, is_dataclass
from typing import Any

from pydantic import BaseModel, ValidationError

from ragauge.core.sample import Response, RetrievalStep, RetrievedChunk, RetrievedContext, Usage
from ragauge.errors import SystemFailed, shortened
from ragauge.text.normalise import clean

#: Names under which other tools return the same things.
ANSWER = (
    "answer",
    "response",
    "output",
    "actual_output",
    "result",
    "text",
    "content",
    "generated_answer",
    "prediction",
)
CONTEXT = (
    "contexts", "context", "retrieved_contexts", "retrieval_context", "retrieved_chunks", "chunks", "documents",
    "source_documents", "source_nodes", "sources", "hits", "retrieved",
)  # fmt: skip
CHUNK_TEXT = ("text", "page_content", "content", "passage", "chunk", "body")
CHUNK_ID = ("id", "chunk_id", "node_id", "id_", "docid")
CHUNK_DOCUMENT = ("document", "document_id", "doc_id", "doc", "source", "file", "path", "url", "doc_uri")
CHUNK_SCORE = ("score", "similarity", "relevance_score")
ACCEPTED = (
    "a text, a dict with `answer` and `contexts`, a tuple (answer, contexts), or a ragauge Response; "
    "contexts are texts or dicts with id, text, document, score"
)


def as_response(returned: Any, *, source: str = "the system") -> Response:
    """`returned` as a Response. `SystemFailed` says what came and what would be accepted.

    A text is the answer. A pair is (answer, contexts). A mapping may use the field names of other tools. None is an
    error: a system that declines says so in words. Contexts without an id get `context-1`, `context-2` … by rank.

    >>> response = as_response(("60 per minute.", ["Free: 60 requests per minute."]))
    >>> response.answer, response.context.chunks[0].id
    ('60 per minute.', 'context-1')
    """
    if isinstance(returned, Response):
        return returned
    if isinstance(returned, str):
        return Response(answer=clean(returned))
    if isinstance(returned, tuple) and len(returned) == 2:
        answer, contexts = returned
        return Response(answer=_answer(answer, source), context=as_context(contexts, source=source))
    fields = _fields(returned)
    if fields is None:
        raise SystemFailed(
            f"{source} returned {type(returned).__name__} {shortened(returned)}, which is no response",
            hint=f"Return {ACCEPTED}.",
        )
    return _from_fields(fields, source)


def as_context(contexts: Any, *, source: str = "the system") -> RetrievedContext | None:
    """Retrieved chunks in the order given; None stays None (not said). `SystemFailed` names the place that is wrong."""
    if contexts is None or isinstance(contexts, RetrievedContext):
        return contexts
    if isinstance(contexts, Mapping) and "chunks" in contexts:
        contexts = contexts["chunks"]
    if isinstance(contexts, str):
        contexts = [contexts]
    if not isinstance(contexts, Sequence) or isinstance(contexts, (bytes, bytearray)):
        raise SystemFailed(
            f"{source} returned contexts as {type(contexts).__name__} {shortened(contexts)}",
            hint="Return a list of texts, or of dicts with id, text, document, score.",
        )
    return RetrievedContext(chunks=tuple(_chunk(one, rank, source) for rank, one in enumerate(contexts, start=1)))


def _from_fields(fields: Mapping[str, Any], source: str) -> Response:
    answer_name, answer = _first(fields, ANSWER)
    context_name, contexts = _first(fields, CONTEXT)
    if answer_name is None and context_name is None:
        raise SystemFailed(
            f"{source} returned a dict without an answer or contexts; its keys are {shortened(list(fields))}",
            hint=f"Return {ACCEPTED}.",
        )
    extra: dict[str, Any] = {
        name: fields[name]
        for name in ("retrieval_ms", "generation_ms", "total_ms", "abstained", "model")
        if fields.get(name) is not None
    }
    if isinstance(fields.get("metadata"), Mapping):
        extra["metadata"] = {str(key): value for key, value in fields["metadata"].items()}
    if fields.get("citations") is not None:
        extra["citations"] = tuple(str(one) for one in fields["citations"])
    try:
        if fields.get("usage") is not None:
            extra["usage"] = Usage.model_validate(_fields(fields["usage"]) or fields["usage"])
        if fields.get("steps") is not None:
            extra["steps"] = tuple(_step(one, source) for one in fields["steps"])
        return Response(
            answer=None if answer is None else _answer(answer, source),
            context=as_context(contexts, source=source),
            **extra,
        )
    except (ValidationError, TypeError, ValueError) as error:
        raise SystemFailed(f"{source} returned a field that cannot be used: {_reasons(error)}") from error


def _step(step: Any, source: str) -> RetrievalStep:
    if isinstance(step, RetrievalStep):
        return step
    fields = dict(_fields(step) or {})
    context = as_context(fields.pop("chunks", ()), source=source)
    return RetrievalStep(chunks=context.chunks if context is not None else (), **fields)


def _answer(answer: Any, source: str) -> str | None:
    if answer is None or isinstance(answer, str):
        return None if answer is None else clean(answer)
    content = getattr(answer, "content", None)  # chat messages of several libraries
    if isinstance(content, str):
        return clean(content)
    raise SystemFailed(
        f"{source} returned an answer of type {type(answer).__name__} {shortened(answer)}", hint="Return it as a text."
    )


def _chunk(one: Any, rank: int, source: str) -> RetrievedChunk:
    if isinstance(one, RetrievedChunk):
        return one if one.rank == rank else one.model_copy(update={"rank": rank})
    if isinstance(one, str):
        return RetrievedChunk(id=f"context-{rank}", text=clean(one), rank=rank)
    if isinstance(one, tuple) and len(one) == 2 and isinstance(one[1], (int, float)):  # (document, score)
        return _chunk(one[0], rank, source).model_copy(update={"score": as_score(one[1])})
    if (node := getattr(one, "node", None)) is not None:  # a node with its score, as some libraries wrap it
        return _chunk(node, rank, source).model_copy(update={"score": as_score(getattr(one, "score", None))})
    fields = _fields(one)
    if fields is None:
        raise SystemFailed(
            f"{source} returned context {rank} as {type(one).__name__} {shortened(one)}",
            hint="A context is a text, or a dict with id, text, document, score.",
        )
    metadata = fields.get("metadata") if isinstance(fields.get("metadata"), Mapping) else {}
    assert isinstance(metadata, Mapping)
    text = _first(fields, CHUNK_TEXT)[1]
    identity = next((v for v in (_first(fields, CHUNK_ID)[1], _first(metadata, CHUNK_ID)[1]) if v is not None), None)
    document = next(
        (v for v in (_first(fields, CHUNK_DOCUMENT)[1], _first(metadata, CHUNK_DOCUMENT)[1]) if v is not None), None
    )
    if text is None and identity is None:
        raise SystemFailed(
            f"context {rank} of {source} has neither a text nor an id; its keys are {shortened(list(fields))}",
            hint="A context is a text, or a dict with id, text, document, score.",
        )
    if text is not None and not isinstance(text, str):
        raise SystemFailed(f"context {rank} of {source} has a text of type {type(text).__name__}")
    return RetrievedChunk(
        id=str(identity) if identity not in (None, "") else f"context-{rank}",
        document=None if document in (None, "") else str(document),
        text=clean(text or ""),
        rank=rank,
        score=as_score(_first(fields, CHUNK_SCORE)[1]),
        metadata={str(key): value for key, value in metadata.items()},
    )


def as_score(value: Any) -> float | None:
    """A finite number or None: a retriever's NaN is no score."""
    if value is None or isinstance(value, bool):
        return None
    try:
        number = float(value)
    except (TypeError, ValueError):
        return None
    return number if math.isfinite(number) else None


def _first(fields: Mapping[Any, Any], names: Sequence[str]) -> tuple[str | None, Any]:
    """The first of `names` that is there: one with a value before one that is None."""
    present = [name for name in names if name in fields]
    for name in present:
        if fields[name] is not None:
            return name, fields[name]
    return (present[0], None) if present else (None, None)


def _fields(value: Any) -> Mapping[str, Any] | None:
    """The named parts of a mapping, dataclass, pydantic model or named tuple; attributes of a document-like object."""
    if isinstance(value, Mapping):
        return value
    if isinstance(value, BaseModel):
        return dict(value)
    if is_dataclass(value) and not isinstance(value, type):
        return asdict(value)
    if isinstance(value, tuple) and hasattr(value, "_asdict"):
        return dict(value._asdict())
    names = (*ANSWER, *CONTEXT, *CHUNK_TEXT, *CHUNK_ID, *CHUNK_SCORE, "metadata")
    if type(value).__module__ == "builtins":
        return None
    found = {
        name: getattr(value, name)
        for name in names
        if not callable(getattr(value, name, None)) and hasattr(value, name)
    }
    return found or None


def _reasons(error: Exception) -> str:
    if isinstance(error, ValidationError):
        return "; ".join(f"{'.'.join(map(str, one['loc']))}: {one['msg']}" for one in error.errors()[:3])
    return str(error)
