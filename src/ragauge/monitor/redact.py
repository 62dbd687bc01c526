"""Words taken out of what is logged before anything is written or sent."""

from __future__ import annotations

import importlib
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ragauge.errors import SettingsError, UnknownName
from ragauge.monitor.query import Feedback, LoggedQuery

#: Changes one text.
Redact = Callable[[str], str]

#: Patterns for what identifies people. They are deliberately greedy: a number too many is lost, not kept.
PATTERNS: dict[str, tuple[str, str]] = {
    "email": (r"(?<![\w.+-])[\w.+-]{1,64}@[\w-]{1,63}(?:\.[\w-]{1,63}){1,8}", "[email]"),
    "iban": (r"\b[A-Z]{2}\d{2}(?: ?[A-Z0-9]{4}){3,7}(?: ?[A-Z0-9]{1,4})?\b", "[iban]"),
    "card": (r"(?<!\d)\d(?:[ -]?\d){12,18}(?!\d)", "[card]"),
    "phone": (r"(?<![\w.])(?:\+|00)?\d(?:[ ()./-]{0,2}\d){6,14}(?![\w])", "[phone]"),
    "ip": (r"(?<![\w.])\d{1,3}(?:\.\d{1,3}){3}(?![\w.])", "[ip]"),
    "secret": (r"\b(?:sk|pk|ghp|gho|xox[abp]|AKIA|eyJ)[-_]?[A-Za-z0-9_.-]{16,}", "[secret]"),
}


def redactor(spec: str | Redact | Sequence[Any] | None) -> Redact | None:
    """The hook that a setting describes; None for nothing.

    A function; `"package.module:function"`; names of PATTERNS; `{"pattern": …, "with": …}`; or a list of these,
    applied in order.

    >>> redactor(["email", {"pattern": "ACME-[0-9]+", "with": "[order]"}])("ann@example.org asks for ACME-77")
    '[email] asks for [order]'
    """
    if not spec:
        return None
    if callable(spec):
        return spec
    steps = [_step(one) for one in ([spec] if isinstance(spec, str | Mapping) else spec)]

    def apply(text: str) -> str:
        for step in steps:
            text = step(text)
        return text

    return apply


def _step(one: Any) -> Redact:
    if callable(one):
        found: Redact = one
        return found
    if isinstance(one, Mapping):
        extra = sorted(set(one) - {"pattern", "with"})
        if extra or not isinstance(one.get("pattern"), str):
            raise SettingsError(
                f"monitor.redact: {dict(one)!r} is no pattern", hint='{pattern: "ACME-[0-9]+", with: "[order]"}'
            )
        return _pattern(one["pattern"], str(one.get("with", "[redacted]")))
    if isinstance(one, str) and ":" in one:
        return _imported(one)
    if isinstance(one, str) and one in PATTERNS:
        return _pattern(*PATTERNS[one])
    raise UnknownName("redaction", str(one), PATTERNS)


def _pattern(pattern: str, replacement: str) -> Redact:
    try:
        compiled = re.compile(pattern)
    except re.error as error:
        raise SettingsError(f"monitor.redact: {pattern!r} is no regular expression: {error}") from None
    return lambda text: compiled.sub(lambda _: replacement, text)


def _imported(path: str) -> Redact:
    module, _, name = path.partition(":")
    try:
        found = getattr(importlib.import_module(module), name)
    except (ImportError, AttributeError) as error:
        raise SettingsError(f"monitor.redact: {path} cannot be imported: {error}") from None
    if not callable(found):
        raise SettingsError(f"monitor.redact: {path} is no function")
    hook: Redact = found
    return hook


def redact_query(query: LoggedQuery, redact: Redact) -> LoggedQuery:
    """The query with every text passed through `redact`, and marked as redacted. Ids and names stay."""
    chunks = query.chunks and tuple(
        chunk if chunk.text is None else chunk.model_copy(update={"text": redact(chunk.text)}) for chunk in query.chunks
    )
    changed = {
        "question": redact(query.question) or "[redacted]",
        "answer": _maybe(query.answer, redact),
        "error": _maybe(query.error, redact),
        "note": _maybe(query.note, redact),
        "chunks": chunks,
        "tags": tuple(redact(tag) for tag in query.tags),
        "metadata": everywhere(query.metadata, redact),
        "redacted": True,
    }
    return query.model_copy(update=changed)


def redact_feedback(event: Feedback, redact: Redact) -> Feedback:
    """The event with its note redacted."""
    return event.model_copy(update={"note": _maybe(event.note, redact)})


def _maybe(text: str | None, redact: Redact) -> str | None:
    return None if text is None else redact(text)


def everywhere(value: Any, redact: Redact) -> Any:
    """`value` with every text in it redacted."""
    if isinstance(value, str):
        return redact(value)
    if isinstance(value, Mapping):
        return {key: everywhere(entry, redact) for key, entry in value.items()}
    if isinstance(value, list | tuple):
        return [everywhere(entry, redact) for entry in value]
    return value
