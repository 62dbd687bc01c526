"""A row as it was read, before anything is made of it: names and values, and where they stand."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from ragauge.core.sample import Sample


class Written(str):
    """A YAML scalar without quotes: a string as it was written, that also knows what YAML takes it for.

    So the id `no`, `1e3`, `0123` or `2024-01-02` stays what the author typed, and `answerable: true` is still a truth
    value. (YAML 1.2 core schema: `yes`, `no`, dates and octals are strings.)
    """

    __slots__ = ("value",)
    value: Any

    def __new__(cls, text: str, value: Any) -> Written:
        """The text, and its value."""
        written = super().__new__(cls, text)
        written.value = value
        return written


@dataclass(frozen=True, slots=True)
class Row:
    """One record. `line` is where it starts (the row number where a format has no lines), from 1.

    `cells`: every value is the text of a table cell, in which lists are written as JSON or with separators.
    `lines` says on which line a field stands, where that is known.
    """

    line: int | None
    data: Mapping[str, Any]
    cells: bool = False
    lines: Mapping[str, int] = field(default_factory=dict)
    file: str | None = None
    ready: Sample | None = None  # the record was a sample already
