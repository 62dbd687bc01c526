"""The units of evidence that a chunk holds: sentences, list items, table rows read with their header, lines of code."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ragauge.text.sentences import Span, split_sentences

#: Longer units are cut, so that one huge line cannot pass for a sentence that says everything.
MAX_UNIT = 600
_CELL = re.compile(r"(?<!\\)\|")
_FENCE = ("```", "~~~")
_RULE_SIGNS = " \t\r\n|:->"


@dataclass(frozen=True, slots=True)
class Unit:
    """`text` is what the unit says, `start:end` where it stands in its chunk, `under` the heading or lead-in above it.

    `cells` are (column, value) of a table row.
    """

    text: str
    start: int
    end: int
    kind: str
    under: str = ""
    cells: tuple[tuple[str, str], ...] = ()


def units_of(text: str, header: str = "") -> list[Unit]:
    """The units of one chunk, in order. `header`: the header row of a table that began before the chunk.

    A table row is read with the names of its columns, wherever in the chunk the header stands; a fenced block line by
    line.

    >>> [unit.text for unit in units_of("| Size | Time |\\n|---|---|\\n| 1 GB | 2 h |")]
    ['Size: Time', 'Size: 1 GB; Time: 2 h']
    """
    columns = cells_of(header)
    heading = lead = ""
    spans = split_sentences(text)
    found: list[Unit] = []
    for index, span in enumerate(spans):
        if span.kind == "row":
            row = cells_of(span.text)
            if is_header(text, span, spans[index + 1] if index + 1 < len(spans) else None):
                columns = row
                said = ": ".join(cell for cell in row if cell)
                _add(found, text, Unit(said, span.start, span.end, "header", heading))
            else:
                _add(found, text, _row(span, row, columns, f"{heading} {lead}".strip()))
        elif span.kind == "code":
            found.extend(_lines(span, f"{heading} {lead}".strip()))
        else:
            if span.kind == "heading":
                heading, lead = span.text.strip("#=- \t"), ""
            under = f"{heading} {lead}".strip() if span.kind == "item" else heading if span.kind == "prose" else ""
            _add(found, text, Unit(span.text, span.start, span.end, span.kind, under))
            if span.kind == "prose":
                lead = span.text if span.text.endswith(":") else ""
    return found


def cells_of(row: str) -> list[str]:
    """The cells of a table row, without their signs of emphasis.

    >>> cells_of("| **a** | `b` |")
    ['a', '`b`']
    """
    held = row.strip()
    if not held:
        return []
    held = held.removeprefix("|")
    held = held[:-1] if held.endswith("|") and not held.endswith("\\|") else held
    return [
        cell.strip(" \t*").replace("\\|", "|") for cell in (_CELL.split(held) if "\\|" in held else held.split("|"))
    ]


def is_header(text: str, span: Span, following: Span | None) -> bool:
    """Whether a rule (`|---|`) stands right behind a row."""
    between = text[span.end : following.start if following is not None else min(len(text), span.end + 2000)]
    return "-" in between and "|" in between and not between.strip(_RULE_SIGNS)


def linear(cells: Sequence[str], columns: Sequence[str]) -> tuple[str, tuple[tuple[str, str], ...]]:
    """A row as "column: value; column: value" and as pairs; without names where the numbers of cells differ."""
    named = len(columns) == len(cells)
    pairs = tuple((columns[i] if named else "", cell) for i, cell in enumerate(cells) if cell)
    return "; ".join(f"{name}: {cell}" if name else cell for name, cell in pairs), pairs


def _row(span: Span, cells: Sequence[str], columns: Sequence[str], under: str) -> Unit:
    said, pairs = linear(cells, columns)
    return Unit(said, span.start, span.end, "row", under, pairs)


def _lines(span: Span, under: str) -> Iterator[Unit]:
    start = span.start
    for line in span.text.split("\n"):
        bare = line.strip()
        if bare and not bare.startswith(_FENCE):
            place = start + line.index(bare)
            yield from _cut(span.text, Unit(bare, place, place + len(bare), "code", under), span.start)
        start += len(line) + 1


def _add(found: list[Unit], text: str, unit: Unit) -> None:
    if len(unit.text) > MAX_UNIT:
        found.extend(_cut(text, unit))
    elif unit.text.strip():
        found.append(unit)


def _cut(text: str, unit: Unit, offset: int = 0) -> Iterator[Unit]:
    """The unit, in pieces when it is very long; a long row keeps its place and is cut in what it says."""
    if len(unit.text) <= MAX_UNIT:
        if unit.text.strip():
            yield unit
        return
    whole = unit.text
    follows = text[unit.start - offset : unit.end - offset] == whole
    start = 0
    while start < len(whole):
        end = len(whole)
        if end - start > MAX_UNIT:
            cut = whole.rfind(" ", start + MAX_UNIT // 2, start + MAX_UNIT)
            end = cut if cut > 0 else start + MAX_UNIT
        if whole[start:end].strip():
            first, last = (unit.start + start, unit.start + end) if follows else (unit.start, unit.end)
            yield Unit(whole[start:end], first, last, unit.kind, unit.under)
        start = end
