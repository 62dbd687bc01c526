"""The result of an MCP tool as a Response: structured content, JSON in a text block, or plain passages."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from ragauge.core.sample import Response, RetrievedContext
from ragauge.errors import SystemFailed, shortened
from ragauge.systems.coerce import as_context
from ragauge.systems.passages import with_fields
from ragauge.systems.reply_map import Mapped, Reader


def read_result(result: Any, reader: Reader, *, text: str, split: str | None, source: str) -> Mapped:
    """Structured content is read by the map; without any, text that is JSON; else the text blocks themselves."""
    blocks = [_block(one) for one in result.content]
    if result.is_error:
        said = " ".join(str(one.get("text", "")) for one in blocks).strip()
        raise SystemFailed(f"{source} reported an error: {shortened(said, 500)}")
    value = result.structured_content
    if value is None:
        value = _as_json(blocks)
    if isinstance(value, Mapping) and set(value) == {"result"} and not reader.maps_anything:
        value = value["result"]  # servers wrap what is no object
    if reader.maps_anything:
        if value is None:
            raise SystemFailed(
                f"{source} gave plain text, in which the mapping finds nothing: {shortened(blocks, 300)}",
                hint="Leave `response` out, and say with `text` whether it is contexts or the answer.",
            )
        return reader.read([value], source=source)
    if isinstance(value, Mapping):
        return reader.read([value], source=source)
    if isinstance(value, list):
        return Mapped(_retrieved(value, reader, source))
    if isinstance(value, str):
        blocks = [{"text": value}]
    if text == "answer":
        return Mapped(Response(answer="\n".join(str(one["text"]) for one in blocks if one.get("text"))))
    return Mapped(_retrieved(_passages(blocks, split), reader, source))


def _retrieved(found: Any, reader: Reader, source: str) -> Response:
    context = with_fields(as_context(found, source=source), reader.map.fields)
    return Response(context=context if context is not None else RetrievedContext())


def _passages(blocks: list[dict[str, Any]], split: str | None) -> list[dict[str, Any]]:
    passages = []
    for block in blocks:
        parts = str(block.get("text", "")).split(split) if split else [str(block.get("text", ""))]
        passages += [{**block, "text": part.strip()} for part in parts if part.strip()]
    return passages


def _as_json(blocks: list[dict[str, Any]]) -> Any:
    """What the blocks are as JSON: one document, or a list of objects, one in each block. None for plain text."""
    values = []
    for block in blocks:
        try:
            values.append(json.loads(str(block.get("text", ""))))
        except (ValueError, RecursionError):
            return None
    if len(values) == 1 and isinstance(values[0], dict | list):
        return values[0]
    return values if len(values) > 1 and all(isinstance(one, dict) for one in values) else None


def _block(block: Any) -> dict[str, Any]:
    """A block of a result: its text, and the resource that it comes from."""
    resource = getattr(block, "resource", None)
    if resource is not None:
        return {"text": getattr(resource, "text", ""), "document": str(resource.uri)}
    if getattr(block, "uri", None) is not None:
        return {"text": block.description or block.name, "document": str(block.uri), "id": str(block.uri)}
    return {"text": getattr(block, "text", "")}
