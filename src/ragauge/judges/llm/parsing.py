"""JSON out of what a model said. Never a part of a cut reply, never a draft, never something quoted.

A reply that is one JSON object is read as such. Otherwise reasoning blocks are dropped, every complete top-level object
is found by a scan that knows strings, and the last one that the task accepts is taken. What had to be repaired is said.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

T = TypeVar("T")

_MARK = re.compile(r'["{}\\]')
_QUOTE = re.compile(r'["\\]')
_TRAILING_COMMA = re.compile(r'"(?:[^"\\]|\\.)*"|,(?=\s{0,200}[}\]])', re.DOTALL)
_OPENING = re.compile(r"<(think|thinking|reasoning)>", re.I)
_CLOSING = re.compile(r"</(?:think|thinking|reasoning)>", re.I)
#: The scan gives up after so many times the reply's length (nested openings would make it quadratic).
_PATIENCE = 8
#: … and every opening counts as so many characters, however short the object.
_EACH = 500


class Unreadable(ValueError):
    """No object in the reply is one that the task accepts; the message says what the last one lacked."""


@dataclass(frozen=True)
class Reading(Generic[T]):
    """What was read, and what had to be done to the reply first."""

    value: T
    repairs: tuple[str, ...] = ()


def read(text: str, accept: Callable[[dict[str, Any]], T]) -> Reading[T]:
    """The last object in `text` that `accept` takes; `accept` raises `ValueError` for one that it does not take."""
    whole = _loads(text)
    if isinstance(whole, dict):
        return _accepted(whole, (), accept)
    problem: ValueError = Unreadable("the reply holds no JSON object")
    found: Reading[T] | None = None
    rest = without_reasoning(text)
    around = ("text around the JSON",)
    for value, repairs in objects(rest):
        try:
            found = _accepted(value, (*around, *repairs), accept)
        except ValueError as refusal:
            problem = refusal
    if found is None:
        raise Unreadable(str(problem)) from None
    return found


def _accepted(value: dict[str, Any], repairs: tuple[str, ...], accept: Callable[[dict[str, Any]], T]) -> Reading[T]:
    try:
        return Reading(accept(value), repairs)
    except ValueError as problem:
        inner = next(iter(value.values())) if len(value) == 1 else None
        if not isinstance(inner, dict):
            raise Unreadable(str(problem)) from None
    try:
        return Reading(accept(inner), (*repairs, "an object around the reply"))
    except ValueError as problem:
        raise Unreadable(str(problem)) from None


def without_reasoning(text: str) -> str:
    """`text` without `<think>` blocks. An unclosed one swallows the rest; a lone closing mark, all before it.

    >>> without_reasoning('<think>{"a": 0}</think>{"a": 1}')
    '{"a": 1}'
    """
    kept, at = [], 0
    while opening := _OPENING.search(text, at):
        kept.append(text[at : opening.start()])
        closing = _CLOSING.search(text, opening.end())
        if closing is None:
            return "".join(kept)
        at = closing.end()
    last = at
    for closing in _CLOSING.finditer(text, at):
        last = closing.end()
    if last > at:
        return text[last:]
    return "".join(kept) + text[at:]


def objects(text: str) -> Iterator[tuple[dict[str, Any], tuple[str, ...]]]:
    """The complete top-level JSON objects in `text`, in order, each with the repairs that it took."""
    at, patience = 0, _PATIENCE * len(text) + 200 * _EACH
    while patience > 0 and (start := text.find("{", at)) >= 0:
        end, looked = _end_of_object(text, start, patience)
        patience -= looked + _EACH
        value, repairs = (None, ()) if end is None else _repaired(text[start:end])
        if isinstance(value, dict) and end is not None:
            yield value, repairs
            at = end
        else:
            at = start + 1


def _end_of_object(text: str, start: int, patience: int) -> tuple[int | None, int]:
    """Where the object that opens at `start` ends, and how many characters were looked at to find out."""
    depth, at, limit = 0, start, min(len(text), start + patience)
    while match := _MARK.search(text, at, limit):
        at = match.end()
        if match[0] == "{":
            depth += 1
        elif match[0] == "}":
            depth -= 1
            if depth == 0:
                return at, at - start
        elif match[0] == '"':
            closed = _end_of_string(text, at, limit)
            if closed is None:
                return None, limit - start
            at = closed
    return None, limit - start


def _end_of_string(text: str, at: int, limit: int) -> int | None:
    while match := _QUOTE.search(text, at, limit):
        if match[0] == '"':
            return match.end()
        at = match.end() + 1
    return None


def _repaired(text: str) -> tuple[Any, tuple[str, ...]]:
    value = _loads(text)
    if value is not None:
        return value, ()
    without_commas = _TRAILING_COMMA.sub(lambda match: match[0] if match[0][0] == '"' else "", text)
    for candidate, strict, repairs in (
        (without_commas, True, ("a trailing comma",)),
        (text, False, ("control characters in a string",)),
        (without_commas, False, ("a trailing comma", "control characters in a string")),
    ):
        value = _loads(candidate, strict=strict)
        if value is not None:
            return value, repairs
    return None, ()


def _loads(text: str, *, strict: bool = True) -> Any:
    """The JSON value, or None for what is no JSON (and for `null`, which no task accepts)."""
    try:
        return json.loads(text, strict=strict, parse_constant=_refuse)
    except (ValueError, RecursionError):
        return None


def _refuse(name: str) -> None:
    raise ValueError(f"{name} is no JSON")
