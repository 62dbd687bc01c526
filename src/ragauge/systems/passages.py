"""Documents and nodes of other libraries as retrieved chunks, with ids that the labels can name."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from pathlib import PurePath
from typing import Any

from ragauge.core.sample import RetrievedChunk, RetrievedContext
from ragauge.systems.coerce import as_context, as_score
from ragauge.systems.own_settings import OwnSettings

#: Where retrievers leave a score when the document has no place for it.
_SCORES = ("score", "_score", "relevance_score", "similarity", "similarity_score")


class Fields(OwnSettings):
    """Which metadata fields name the chunk, its document and its score; None: the names that libraries use.

    `root` is cut off document names, so that `/srv/docs/a.md` is the `a.md` of the golden set.
    """

    id: str | None = None
    document: str | None = None
    score: str | None = None
    root: str | None = None


def as_passages(found: Any, fields: Fields, *, source: str) -> tuple[RetrievedChunk, ...]:
    """`found` as chunks. A chunk without an id gets one from its document and its text, the same in every step."""
    context = as_context(list(found) if isinstance(found, tuple) else found, source=source)
    chunks: Sequence[RetrievedChunk] = () if context is None else context.chunks
    return tuple(_named(chunk, fields) for chunk in chunks)


def with_fields(context: RetrievedContext | None, fields: Fields) -> RetrievedContext | None:
    """The same chunks, named as `fields` say."""
    if context is None:
        return None
    return RetrievedContext(chunks=tuple(_named(chunk, fields) for chunk in context))


def _named(chunk: RetrievedChunk, fields: Fields) -> RetrievedChunk:
    metadata = plain(chunk.metadata)
    document = metadata.get(fields.document) if fields.document else chunk.document
    document = None if document in (None, "") else _below(str(document), fields.root)
    identity = metadata.get(fields.id) if fields.id else None
    if identity in (None, ""):
        identity = chunk.id
        if chunk.id == f"context-{chunk.rank}":
            digest = hashlib.sha256(chunk.text.encode("utf-8", "surrogatepass")).hexdigest()[:10]
            identity = f"{document}#{digest}" if document else digest
    score = chunk.score
    for name in (fields.score,) if fields.score else _SCORES if score is None else ():
        score = as_score(metadata.get(name)) if name in metadata else score
    changed = {"id": str(identity), "document": document, "score": score, "metadata": metadata}
    return chunk.model_copy(update=changed)


def _below(document: str, root: str | None) -> str:
    """`document` as a path below `root`, where it lies there."""
    if not root:
        return document
    try:
        return PurePath(document).relative_to(PurePath(root)).as_posix()
    except ValueError:
        return document.removeprefix(root).lstrip("/") if document.startswith(root) else document


def plain(value: Any) -> dict[str, Any]:
    """Metadata as JSON can hold it: numbers of numpy, dates and the like become numbers and texts."""
    try:
        kept = json.loads(json.dumps(value, default=_as_json, allow_nan=False))
    except (TypeError, ValueError):
        kept = {str(key): str(entry) for key, entry in dict(value).items()}
    return kept if isinstance(kept, dict) else {}


def _as_json(value: Any) -> Any:
    item = getattr(value, "item", None)  # scalars of numpy
    if callable(item):
        try:
            return item()
        except (TypeError, ValueError):
            return str(value)
    return str(value)
