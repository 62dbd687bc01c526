"""What services have in hand, made into our records: chunks of any framework, numbers of any kind, broken Unicode."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from pydantic import ValidationError

from ragauge.monitor.query import LoggedChunk, LoggedQuery

_ID = ("id", "chunk_id", "node_id", "id_", "_id", "doc_chunk_id")
_DOCUMENT = (
    "document",
    "document_id",
    "doc_id",
    "doc_uri",
    "source",
    "file_name",
    "file",
    "url",
    "ref_doc_id",
    "title",
)
_TEXT = ("text", "content", "page_content", "chunk", "passage", "body")
_SCORE = ("score", "similarity", "relevance_score", "_score", "rerank_score")
_META = ("metadata", "meta")
#: A metadata value this deep is written as text.
_DEPTH = 12


def chunks_of(value: Any) -> tuple[LoggedChunk, ...] | None:
    """Retrieved chunks, best first, from texts, mappings, objects, or pairs with scores; None stays None."""
    if value is None:
        return None
    if isinstance(value, str | bytes | Mapping) or not isinstance(value, Iterable):
        value = [value]
    return tuple(chunk_of(part, rank) for rank, part in enumerate(value, start=1))


_OWN = frozenset(LoggedChunk.model_fields)


def quick_chunks(value: Any) -> Any:
    """Chunks as `LoggedQuery` reads them; those that are mappings with our own names are not looked at further."""
    if type(value) is not list and type(value) is not tuple:
        return chunks_of(value)
    return [
        {**part, "rank": rank} if type(part) is dict and part.keys() <= _OWN and "id" in part else chunk_of(part, rank)
        for rank, part in enumerate(value, start=1)
    ]


def chunk_of(part: Any, rank: int) -> LoggedChunk:
    """One chunk at `rank`. One that has no id gets one from its text, so that the same text has the same id."""
    if isinstance(part, LoggedChunk):
        return part if part.rank == rank else part.model_copy(update={"rank": rank})
    score = None
    if isinstance(part, tuple | list) and len(part) == 2 and not isinstance(part[0], int | float):
        part, score = part  # LangChain's similarity_search_with_score
    get = _getter(part)
    inner = get("node")
    if inner is not None:  # LlamaIndex's NodeWithScore
        score, get = get("score"), _getter(inner)
    meta = next((found for found in map(get, _META) if isinstance(found, Mapping)), {})
    text = part if isinstance(part, str) else _first(get, _TEXT)
    text = None if text is None else clean(text)
    found_id = _first(get, _ID) or _first(meta.get, ("chunk_id", "id"))
    document = _first(get, _DOCUMENT) or _first(meta.get, _DOCUMENT)
    score = next((s for s in (score, _first(get, _SCORE), meta.get("score")) if s is not None), None)
    return LoggedChunk(
        id=clean(found_id)[:2_000] if found_id not in (None, "") else _id_of(text, rank),
        document=None if document is None else clean(document)[:2_000] or None,
        text=text,
        score=number(score),
        rank=rank,
    )


def _getter(part: Any) -> Callable[[str], Any]:
    if isinstance(part, Mapping):
        return part.get
    if part is None or isinstance(part, str | bytes | int | float):
        return lambda name: None
    return lambda name: _plain_attribute(part, name)


def _plain_attribute(part: Any, name: str) -> Any:
    try:
        value = getattr(part, name, None)
    except Exception:  # a property of a foreign object may raise anything
        return None
    return None if callable(value) else value


def _first(get: Callable[[str], Any], names: Iterable[str]) -> Any:
    return next((value for value in map(get, names) if value is not None), None)


def _id_of(text: str | None, rank: int) -> str:
    if text is None:
        return f"rank:{rank}"
    return f"text:{hashlib.sha256(text.encode('utf-8', 'replace')).hexdigest()[:16]}"


def number(value: Any) -> float | None:
    """A finite number (of Python, numpy, torch, or in a text), or None."""
    try:
        found = float(value)
    except (TypeError, ValueError, OverflowError):
        return None
    return found if math.isfinite(found) else None


def clean(value: Any) -> str:
    """A text that is valid Unicode: a half of a surrogate pair becomes `?`."""
    text = (
        value
        if isinstance(value, str)
        else value.decode("utf-8", "replace")
        if isinstance(value, bytes)
        else str(value)
    )
    return text if text.isascii() else text.encode("utf-8", "replace").decode("utf-8")


def plain(value: Any, depth: int = 0) -> Any:
    """A value as JSON can hold it; what it cannot becomes its text."""
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, str):
        return clean(value)
    if isinstance(value, int):
        return value if abs(value) < 2**63 else str(value)
    if isinstance(value, float):
        return value if math.isfinite(value) else str(value)
    if depth < _DEPTH and isinstance(value, Mapping):
        return {clean(key): plain(entry, depth + 1) for key, entry in value.items()}
    if depth < _DEPTH and isinstance(value, list | tuple | set | frozenset):
        return [plain(entry, depth + 1) for entry in value]
    found = number(value)
    return found if found is not None and not isinstance(value, bytes) else clean(value)


def lenient_query(fields: Mapping[str, Any]) -> LoggedQuery:
    """A query from fields that a strict reading refused: broken texts are mended, and what cannot be read is left out.

    What was left out stands in `metadata["ragauge.unreadable"]` as text. Raises `ValidationError` when there is no
    question or no time.
    """
    values = {name: chunks_of(value) if name == "chunks" else plain(value) for name, value in fields.items()}
    for name in ("top_score", "mean_score", "retrieval_ms", "generation_ms", "total_ms", "outcome", "cost_usd"):
        if values.get(name) is not None:
            values[name] = number(values[name])
    for name in ("answer", "error", "note", "variant", "session", "model"):
        if values.get(name) is not None and not isinstance(values[name], str):
            values[name] = json.dumps(values[name], ensure_ascii=False)
    left_out: dict[str, str] = {}
    for _ in range(len(values)):
        try:
            query = LoggedQuery.model_validate(values)
        except ValidationError as error:
            bad = {str(problem["loc"][0]) for problem in error.errors() if problem["loc"]} - {"id", "at", "question"}
            if not bad & set(values):
                raise
            for name in bad & set(values):
                left_out[name] = clean(values.pop(name))[:500]
        else:
            break
    if not left_out:
        return query
    return query.model_copy(update={"metadata": {**query.metadata, "ragauge.unreadable": left_out}})
