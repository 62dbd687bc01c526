"""Retrieved contexts in every shape that tools write: texts, objects, JSON text, parallel lists of ids and scores."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from ragauge.core.sample import RetrievedChunk, RetrievedContext
from ragauge.dataset.rows import Written
from ragauge.dataset.values import Values, Wrong, as_list, as_number, as_text, as_texts, listed_in_text, plain

_TEXT = ("text", "content", "page_content", "contents", "passage", "body", "chunk", "snippet", "context")
_CHUNK_ID = ("chunk_id", "id", "_id", "id_", "node_id", "context_id")
_DOCUMENT = (
    "document", "doc_id", "document_id", "docid", "doc", "source", "doc_uri", "file_path", "file_name", "filename",
    "path", "uri", "url", "title", "document_title",
)  # fmt: skip
_SCORE = ("score", "relevance_score", "similarity", "similarity_score", "_score")
_ACCEPTED = "a list of texts, or of objects {id, document, text, score}, or one text"

#: Ids that were made from the position because the records had none.
GENERATED = "generated_chunk_ids"


def read_contexts(values: Values, given: Any = None) -> tuple[RetrievedContext | None, bool]:
    """(what was retrieved, whether its chunk ids were made up from positions). None: nothing is said of it."""
    raw = values.given("contexts") if given is None else given
    parts = None if raw is None else values.read("contexts", _listed) if given is None else _listed(given)
    columns = {name: _column(values, name) for name in ("context_ids", "context_documents", "context_scores")}
    if parts is None:
        first = next((column for column in (columns["context_ids"], columns["context_documents"]) if column), None)
        if raw is not None or first is None:
            return None, False
        parts = [{} for _ in first]
    for name, column in columns.items():
        if column is not None and len(column) != len(parts):
            values.problem(
                name, f"{len(column)} values for {len(parts)} contexts", "one value for each context, in the same order"
            )
            return None, False
    generated = False
    chunks = []
    for index, part in enumerate(parts):
        try:
            fields = chunk_fields(part)
            if part and not fields.keys() & {"id", "text", "document"}:
                raise Wrong("an object without id, document and text", _ACCEPTED, found=part)
            if columns["context_ids"] is not None:
                fields["id"] = as_text(columns["context_ids"][index]).strip()
            if columns["context_documents"] is not None:
                fields["document"] = as_text(columns["context_documents"][index]).strip()
            if columns["context_scores"] is not None:
                fields["score"] = as_number(columns["context_scores"][index])
        except Wrong as wrong:
            values.problem(
                "contexts", f"context {index + 1}: {wrong.problem}", wrong.accepted or _ACCEPTED, wrong.found
            )
            return None, False
        if not fields.get("id"):
            generated, fields["id"] = True, f"ctx-{index + 1}"
        fields["id"] = values.clean(fields["id"], "contexts")
        fields["text"] = values.clean(fields.get("text", ""), "contexts")
        if fields.get("document"):
            fields["document"] = values.clean(fields["document"], "contexts")
        chunks.append(RetrievedChunk(rank=index + 1, **fields))
    return RetrievedContext(chunks=tuple(chunks)), generated


def chunk_fields(part: Any) -> dict[str, Any]:
    """`id, document, text, score, metadata` of one retrieved or gold context, as far as it says them."""
    if isinstance(part, str):
        return {"text": str(part)}
    if not isinstance(part, Mapping):
        raise Wrong("neither text nor object", _ACCEPTED, found=part)
    flat = _unnested(part)
    meta = _metadata(flat)
    fields: dict[str, Any] = {}
    used = {"rank", "metadata", "meta"}
    for name, keys in (("text", _TEXT), ("id", _CHUNK_ID), ("document", _DOCUMENT), ("score", _SCORE)):
        key, value = _first(flat, keys)
        if key is None and name != "text":
            key, value = _first(meta, ("chunk_id",) if name == "id" else keys)
        else:
            used.add(key or "")
        if value is None:
            continue
        fields[name] = as_number(value) if name == "score" else as_text(value)
        if name in ("id", "document"):
            fields[name] = fields[name].strip()
    if not fields.get("id"):
        key, value = _first(flat, ("doc_id", "document_id", "docid"))
        if key is not None:
            fields["id"] = as_text(value).strip()
    if not fields.get("document"):
        fields.pop("document", None)
    rest = {key: value for key, value in flat.items() if key not in used and value is not None}
    if meta or rest:
        fields["metadata"] = plain({**meta, **rest})
    return fields


def _unnested(part: Mapping[str, Any]) -> dict[str, Any]:
    """Without the wrappers of LlamaIndex (`node`) and OpenInference (`document.`)."""
    flat: dict[str, Any] = {}
    for key, value in part.items():
        name = str(key)
        if name in ("node", "document") and isinstance(value, Mapping):
            flat.update({str(inner): child for inner, child in value.items()})
        elif name.startswith("document."):
            flat[name.removeprefix("document.")] = value
        else:
            flat[name] = value
    return flat


def _metadata(flat: Mapping[str, Any]) -> dict[str, Any]:
    meta = flat.get("metadata") if flat.get("metadata") is not None else flat.get("meta")
    if isinstance(meta, str):
        try:
            meta = json.loads(meta)
        except (ValueError, RecursionError):
            return {"metadata": meta}
    return dict(meta) if isinstance(meta, Mapping) else {}


def _first(fields: Mapping[str, Any], keys: Sequence[str]) -> tuple[str | None, Any]:
    for key in keys:
        value = fields.get(key)
        if value is not None and not isinstance(value, Mapping | list | tuple):
            return key, value
    return None, None


def _listed(value: Any) -> list[Any]:
    """Contexts as a list. One text is one context (a text that is a JSON list is that list); a blank one is none."""
    if isinstance(value, str) and not isinstance(value, Written):
        listed = listed_in_text(value)
        if listed is not None:
            return listed
        if value.lstrip()[:1] == "{":
            try:
                return [json.loads(value)]
            except (ValueError, RecursionError):
                pass
        return [value] if value.strip() else []
    if isinstance(value, Mapping):
        inner = next(
            (value[key] for key in ("documents", "contexts", "chunks") if isinstance(value.get(key), list)), None
        )
        if inner is not None:
            return list(inner)
        if not chunk_fields(value).keys() & {"id", "text", "document"} and all(
            isinstance(t, str) for t in value.values()
        ):
            return [{"id": str(name), "text": text} for name, text in value.items()]  # id → text
        return [value]
    if isinstance(value, list | tuple) or hasattr(value, "tolist"):
        listed = as_list(value, False)
        # Haystack nests one list per query; a list of lists of one is that list.
        return list(listed[0]) if len(listed) == 1 and isinstance(listed[0], list) else listed
    raise Wrong("no contexts", _ACCEPTED)


def _column(values: Values, name: str) -> list[Any] | None:
    if name == "context_scores":
        column: list[Any] | None = values.read(name, as_list, values.row.cells)
        return column
    return values.read(name, as_texts, values.row.cells)  # type: ignore[no-any-return]
