"""Requests as templates: `{question}` and its like inside of any JSON value."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from ragauge.core.sample import Question, RetrievedContext
from ragauge.errors import SettingsError, nearest

#: What a template can name. `history` and `context` are lists where they stand alone, texts inside of other text.
NAMES = ("question", "id", "history", "context")
_PLACE = re.compile(r"\{([A-Za-z_]+)\}")


def fill(template: Any, values: Mapping[str, Any]) -> Any:
    """`template` with its places filled in. A string that is one place alone becomes the value itself.

    >>> fill({"n": 3, "chat": "{history}", "text": "Q: {question}"}, {"question": "Why?", "history": []})
    {'n': 3, 'chat': [], 'text': 'Q: Why?'}
    """
    if isinstance(template, str):
        alone = _PLACE.fullmatch(template)
        if alone and alone[1] in values:
            return values[alone[1]]
        return _PLACE.sub(lambda match: _text(values.get(match[1], match[0])), template)
    if isinstance(template, Mapping):
        return {key: fill(entry, values) for key, entry in template.items()}
    if isinstance(template, list | tuple):
        return [fill(entry, values) for entry in template]
    return template


def values_of(question: Question, context: RetrievedContext | None = None) -> dict[str, Any]:
    """What the places of a template stand for."""
    history = [{"role": one.role, "content": one.content} for one in question.history]
    chunks = [] if context is None else [_passage(chunk) for chunk in context]
    return {"question": question.text, "id": question.id, "history": history, "context": chunks}


def names_in(template: Any) -> set[str]:
    """The places that a template has."""
    if isinstance(template, str):
        return set(_PLACE.findall(template))
    entries = template.values() if isinstance(template, Mapping) else template if isinstance(template, list) else ()
    return {name for entry in entries for name in names_in(entry)}


def check_template(template: Any, where: str) -> None:
    """`SettingsError` when the question is nowhere in it, or a place looks like a slip of a known name."""
    there = names_in(template)
    for name in sorted(there - set(NAMES)):
        near = nearest(name, NAMES, n=1)
        if near and near[0] not in there:
            raise SettingsError(f"{where}: there is no {{{name}}}", hint=f"Did you mean {{{near[0]}}}?")
    if "question" not in there:
        raise SettingsError(f"{where}: the question is nowhere in it", hint="Put {question} where it belongs.")


def _passage(chunk: Any) -> dict[str, Any]:
    return {"id": chunk.id, "document": chunk.document, "text": chunk.text}


def _text(value: Any) -> str:
    if isinstance(value, str):
        return value
    entries = value if isinstance(value, list) else [value]
    lines = [
        f"{one['role']}: {one['content']}" if "role" in one else str(one.get("text", one))
        for one in entries
        if isinstance(one, Mapping)
    ]
    return "\n".join(lines)
