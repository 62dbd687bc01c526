"""Markdown and plain text cut into blocks: paragraphs, headings, list items, table rows, code; offsets are kept."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

Kind = Literal["prose", "heading", "item", "row", "code"]

_FENCE = re.compile(r"[ \t]{0,3}(`{3,}|~{3,})")
_HEADING = re.compile(r"[ \t]{0,3}#{1,6}[ \t]+")
_SETEXT = re.compile(r"[ \t]{0,3}(?:={3,}|-{3,})[ \t]*$")
_RULE = re.compile(r"[ \t]{0,3}(?:(?:-[ \t]*){3,}|(?:\*[ \t]*){3,}|(?:_[ \t]*){3,})$")
_ITEM = re.compile(r"[ \t]*(?:[-*+•‣▪◦·–—]|\(?\d{1,3}[.)]|\(?[a-zA-Z]\))[ \t]+(?:\[[ xX]\][ \t]+)?(?=\S)")
_QUOTE = re.compile(r"(?:[ \t]{0,3}>)+[ \t]?")
_TABLE_RULE = re.compile(
    r"[ \t]*+(?:\|[ \t]*+)?:?-+:?[ \t]*+(?:\|[ \t]*+:?-+:?[ \t]*+)+\|?[ \t]*$|[ \t]*+\|[ \t]*+:?-+:?[ \t]*+\|[ \t]*$"
)
_DEFINITION = re.compile(r"[ \t]{0,3}\[(?:\^[^\]\s]{1,40}|[^\]\n]{1,60})\]:(?=\s|$)")
_SOURCES = re.compile(
    r"[#>*_ \t]*+(?=[srcfbwqlźи参出])"
    r"(?:sources?|references?|citations?|footnotes?|bibliography|works cited|further reading|quellen|"
    r"literatur|fuentes|referencias|références|fonti|fontes|bronnen|źródła|источники|参考文献|参考资料|出典)"
    r"[ \t*_]*[:：]?[ \t*_]*$",
    re.IGNORECASE,
)
_LISTED_SOURCE = re.compile(r"[ \t]*(?:[-*+•][ \t]+)?(?:\[\^?[\w:.-]{1,40}\]|\d{1,3}[.):]|[¹²³⁴-⁹])(?=\s|$|\[)")
#: A line that begins with a letter, but not as "a)" does: no heading, item, row, rule, fence, quotation or definition.
_PLAIN = re.compile(r"[ \t]*[A-Za-z](?!\))")
_INK = re.compile(r"\S*+")
#: A line that gives a value to a name ("Size: 5 GB; Time: 2 h"); two such lines say two things.
_KEYED = re.compile(r"[ \t]*[^\s:.!?][^:.!?\n]{0,80}:[ \t]+\S")
_DANGLING = re.compile(
    r"(?:[,;:(–—/-]|\b(?:a|an|the|of|in|on|at|by|to|for|from|with|and|or|nor|but|as|than|is|are|was|were|be|been|that|"
    r"which|who|whose|into|per|via|not|its|their|his|her|our|your|my|this|these|der|die|das|des|dem|den|ein|eine|und|oder|"
    r"von|mit|für|le|la|les|de|du|des|et|ou|un|une|el|los|las|y|o|del|con|por|para|il|lo|gli|di|e))$"
)


@dataclass(frozen=True, slots=True)
class Block:
    """Characters `start` to `end` of a text that belong together, and what kind of block they are."""

    start: int
    end: int
    kind: Kind


@dataclass
class _Open:
    """A paragraph or item still growing: where it started, where its last line ended, its lines."""

    start: int
    end: int
    kind: Kind
    lines: list[tuple[int, int]]


def blocks(text: str) -> Iterator[Block]:
    """The blocks of `text`, in order.

    Markers of headings, items and quotations are outside of the block. Rules between table rows, horizontal rules and
    definitions (`[^1]: …`, `[name]: url`, the list under a "Sources:" line) are no blocks. A fenced code block is one.
    """
    current: _Open | None = None
    fence: tuple[str, int] | None = None
    kind: Kind
    in_sources = skipping = False
    for start, end in _lines(text):
        line = text[start:end]
        if fence is not None:
            if _closes(line, fence[0]):
                yield Block(fence[1], end, "code")
                fence = None
            continue
        if not line.strip():
            if current:
                yield from _close(text, current)
                current = None
            skipping = False
            continue
        if not skipping and _PLAIN.match(line):
            in_sources = bool(_SOURCES.match(line))
            begin = start
            kind = "heading" if in_sources else "prose"
        else:
            opening = _FENCE.match(line)
            if opening and "`" not in line[opening.end() :]:
                if current:
                    yield from _close(text, current)
                    current = None
                fence = (opening[1], start)
                continue
            if current and current.kind == "prose" and _SETEXT.match(line) and len(current.lines) == 1:
                yield Block(current.start, current.end, "heading")
                current = None
                continue
            skipped = _is_definition(line, in_sources) or (skipping and line[:1] in " \t")
            if skipped or _RULE.match(line) or _TABLE_RULE.match(line):
                if current:
                    yield from _close(text, current)
                    current = None
                skipping = skipped
                continue
            skipping = False
            in_sources = bool(_SOURCES.match(line)) or (in_sources and bool(_LISTED_SOURCE.match(line)))
            begin, kind = _classify(text, start, end, line)
        if kind == "prose" and current and current.kind in ("prose", "item"):
            current.lines.append((begin, end))
            current.end = end
            continue
        if current:
            yield from _close(text, current)
            current = None
        if kind in ("heading", "row"):
            yield Block(begin, end, kind)
        else:
            current = _Open(begin, end, kind, [(begin, end)])
    if fence is not None:
        yield Block(fence[1], len(text), "code")
    if current:
        yield from _close(text, current)


def code_spans(text: str, start: int, end: int) -> list[tuple[int, int]]:
    """Inline code (`` `…` ``) between `start` and `end`: offsets of each span with its backticks, in order."""
    if text.find("`", start, end) < 0:
        return []
    runs = [(m.start(), m.end()) for m in re.compile("`+").finditer(text, start, end)]
    of_length: dict[int, list[int]] = {}
    for index, (a, b) in enumerate(runs):
        of_length.setdefault(b - a, []).append(index)
    spans: list[tuple[int, int]] = []
    index = 0
    while index < len(runs):
        same = of_length[runs[index][1] - runs[index][0]]
        place = bisect_right(same, index)
        if place == len(same):
            index += 1
            continue
        spans.append((runs[index][0], runs[same[place]][1]))
        index = same[place] + 1
    return spans


def inside(spans: list[tuple[int, int]], position: int) -> bool:
    """Whether `position` is within one of the sorted `spans`."""
    index = bisect_right(spans, (position, 1 << 62)) - 1
    return index >= 0 and spans[index][0] <= position < spans[index][1]


def _lines(text: str) -> Iterator[tuple[int, int]]:
    start = 0
    while start <= len(text):
        end = text.find("\n", start)
        end = len(text) if end < 0 else end
        yield start, end - 1 if end > start and text[end - 1] == "\r" else end
        start = end + 1


def _closes(line: str, marker: str) -> bool:
    stripped = line.strip()
    return len(stripped) >= len(marker) and not stripped.strip(marker[0])


def _is_definition(line: str, in_sources: bool) -> bool:
    return bool(_DEFINITION.match(line)) or (in_sources and bool(_LISTED_SOURCE.match(line)))


def _classify(text: str, start: int, end: int, line: str) -> tuple[int, Kind]:
    """Where the words of a line begin, and which kind of block the line opens."""
    begin = start
    quote = _QUOTE.match(line)
    if quote:
        begin += quote.end()
        line = line[quote.end() :]
    heading = _HEADING.match(line)
    if heading:
        return begin + heading.end(), "heading"
    if _SOURCES.match(line):
        return begin, "heading"
    item = _ITEM.match(line)
    if item:
        return begin + item.end(), "item"
    if line.lstrip().startswith("|") and line.count("|") >= 2:
        return begin, "row"
    return begin, "prose"


def _close(text: str, block: _Open) -> Iterator[Block]:
    """The finished block, cut where a line was broken on purpose and not because it was full.

    A line broken although the next word would have fitted, before a capital or a digit and not after a word that
    asks for more, ends what it says.
    """
    if len(block.lines) == 1:
        yield Block(block.start, block.end, block.kind)
        return
    width = max(end - start for start, end in block.lines)
    start = block.start
    for (_, end), (begin, finish) in zip(block.lines, block.lines[1:], strict=False):
        while begin < finish and text[begin] in " \t":
            begin += 1
        head = text[begin : begin + 1]
        line_start = max(start, text.rfind("\n", 0, end) + 1)
        starts = head.isupper() or head.isdigit()
        if starts and width >= 50:
            word = _INK.match(text, begin, finish)
            starts = (end - line_start) + 1 + (word.end() - begin if word else 0) <= width
        if not starts:
            starts = bool(_KEYED.match(text, begin, finish) and _KEYED.match(text, line_start, end))
        if starts and not _DANGLING.search(text[max(start, end - 12) : end]):
            yield Block(start, end, block.kind)
            start = begin
    yield Block(start, block.end, block.kind)
