"""The blocks of a Markdown or reStructuredText document, with offsets: what a splitter should keep together."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

Kind = Literal["heading", "paragraph", "list", "table", "code"]

_FENCE = re.compile(r"[ \t]{0,12}(?P<fence>`{3,}|~{3,})")
_ATX = re.compile(r" {0,3}(?P<marks>#{1,6})(?=[ \t\n]|$)")
_ITEM = re.compile(r"[ \t]{0,24}(?:[-*+]|\d{1,9}[.)])[ \t]+\S")
_DIRECTIVE = re.compile(r"\.\. [a-z-]{1,40}::")
_RST_ADORNMENTS = frozenset("=-~^\"'`#*+.:_")


@dataclass(frozen=True)
class Block:
    """`text[start:end]` without the newline behind it. `breaks`: where it may be cut (rows, items, lines), ascending.

    `level` counts a heading's depth from 1; `title` is its text. `header` is where a table's header row ends.
    """

    kind: Kind
    start: int
    end: int
    breaks: tuple[int, ...] = ()
    level: int = 0
    title: str = ""
    header: int | None = None


@dataclass(frozen=True)
class _Line:
    start: int
    end: int  # without the newline
    text: str

    @property
    def blank(self) -> bool:
        return not self.text.strip()


def blocks(text: str, *, rst: bool = False) -> list[Block]:
    """The blocks of `text` in order; every character that is not white space belongs to exactly one.

    >>> [(b.kind, b.level) for b in blocks("# A\\nwords\\n\\n- x\\n- y\\n\\n| a |\\n|---|\\n| 1 |\\n")]
    [('heading', 1), ('paragraph', 0), ('list', 0), ('table', 0)]
    """
    return list(_Scanner(text, rst).scan())


class _Scanner:
    def __init__(self, text: str, rst: bool) -> None:
        self.lines = list(_lines(text))
        self.rst = rst
        self.adornments: list[str] = []

    def scan(self) -> Iterator[Block]:
        at = 0
        while at < len(self.lines):
            if self.lines[at].blank:
                at += 1
                continue
            block, at = self._block(at)
            yield block

    def _block(self, at: int) -> tuple[Block, int]:
        line = self.lines[at]
        fence = _FENCE.match(line.text)
        if fence:
            return self._cut("code", at, self._after_fence(at, fence["fence"]))
        heading = self._heading(at)
        if heading:
            return heading
        if self._is_table(at):
            return self._table(at)
        if _ITEM.match(line.text):
            return self._list(at)
        if self.rst and (line.text.rstrip().endswith("::") or _DIRECTIVE.match(line.text)):
            after = self._after_indented(at + 1)
            if after > at + 1:
                return self._cut("code", at, after)
        return self._paragraph(at)

    def _cut(self, kind: Kind, at: int, after: int, **more: int | None) -> tuple[Block, int]:
        """The lines `at` to `after` as one block that may be cut at each of its lines."""
        while self.lines[after - 1].blank:
            after -= 1
        part = self.lines[at:after]
        block = Block(kind, part[0].start, part[-1].end, tuple(one.start for one in part[1:] if not one.blank), **more)  # type: ignore[arg-type]
        return block, after

    def _after_fence(self, at: int, fence: str) -> int:
        for after in range(at + 1, len(self.lines)):
            stripped = self.lines[after].text.strip()
            if len(stripped) >= len(fence) and stripped == fence[0] * len(stripped):
                return after + 1
        return len(self.lines)

    def _after_indented(self, at: int) -> int:
        after = at
        for index in range(at, len(self.lines)):
            line = self.lines[index]
            if not line.blank and line.text[0] not in " \t":
                break
            after = after if line.blank else index + 1
        return after

    def _heading(self, at: int) -> tuple[Block, int] | None:
        line = self.lines[at]
        atx = None if self.rst else _ATX.match(line.text)
        if atx:
            title = line.text[atx.end() :].strip().rstrip("#").strip()
            return Block("heading", line.start, line.end, level=len(atx["marks"]), title=title), at + 1
        over = self.rst and self._adornment(at) and at + 2 < len(self.lines) and self._adornment(at + 2)
        if over and not self.lines[at + 1].blank:
            return self._underlined(at, at + 1, "over" + self._adornment(at + 2))
        if at + 1 < len(self.lines) and not _ITEM.match(line.text) and not self._adornment(at):
            under = self._adornment(at + 1)
            if under:
                return self._underlined(at, at + 1 if not over else at, under, at + 2)
        return None

    def _underlined(self, at: int, title_at: int, mark: str, after: int | None = None) -> tuple[Block, int]:
        after = at + 3 if after is None else after
        title = self.lines[title_at if mark.startswith("over") else at].text.strip()
        if self.rst:
            if mark not in self.adornments:
                self.adornments.append(mark)
            level = min(self.adornments.index(mark) + 1, 6)
        else:
            level = 1 if mark == "=" else 2
        return Block("heading", self.lines[at].start, self.lines[after - 1].end, level=level, title=title), after

    def _adornment(self, at: int) -> str:
        """The character that line `at` is a heading's underline of, or nothing."""
        mark = self.lines[at].text.strip()
        least = 3 if self.rst else 2
        known = _RST_ADORNMENTS if self.rst else frozenset("=-")
        return mark[0] if len(mark) >= least and mark[0] in known and mark == mark[0] * len(mark) else ""

    def _is_table(self, at: int) -> bool:
        line = self.lines[at].text
        if "|" not in line or at + 1 >= len(self.lines):
            return False
        return _is_rule(self.lines[at + 1].text) or (
            line.lstrip().startswith("|") and self.lines[at + 1].text.lstrip().startswith("|")
        )

    def _table(self, at: int) -> tuple[Block, int]:
        after = at
        while after < len(self.lines) and "|" in self.lines[after].text:
            after += 1
        header = at + 1 if _is_rule(self.lines[at + 1].text) else None
        block, after = self._cut("table", at, after, header=None if header is None else self.lines[header].end)
        if header is not None:  # a header is never parted from its rule and first row
            first = self.lines[header].start
            breaks = [one for one in block.breaks if one > first]
            block = Block("table", block.start, block.end, tuple(breaks[1:]), header=block.header)
        return block, after

    def _list(self, at: int) -> tuple[Block, int]:
        after, starts = at, []
        while after < len(self.lines):
            line = self.lines[after]
            if line.blank:
                following = next((one for one in self.lines[after : after + 3] if not one.blank), None)
                if following is None or not (following.text[0] in " \t" or _ITEM.match(following.text)):
                    break
            elif _ITEM.match(line.text):
                starts.append(line.start)
            elif fence := _FENCE.match(line.text):
                if line.text[0] not in " \t":
                    break
                after = self._after_fence(after, fence["fence"])
                continue
            elif line.text[0] not in " \t" and (self._heading(after) or self._is_table(after)):
                break
            after += 1
        block, after = self._cut("list", at, after)
        return Block("list", block.start, block.end, tuple(starts[1:])), after

    def _paragraph(self, at: int) -> tuple[Block, int]:
        after = at + 1
        while after < len(self.lines) and not self.lines[after].blank:
            line = self.lines[after].text
            if _FENCE.match(line) or _ITEM.match(line) or (not self.rst and _ATX.match(line)) or self._is_table(after):
                break
            after += 1
        block, after = self._cut("paragraph", at, after)
        return Block("paragraph", block.start, block.end), after


def _is_rule(line: str) -> bool:
    marks = set(line.strip())
    return marks <= set("|:- \t") and {"|", "-"} <= marks


def _lines(text: str) -> Iterator[_Line]:
    start = 0
    while start < len(text):
        end = text.find("\n", start)
        end = len(text) if end < 0 else end
        yield _Line(start, end, text[start:end])
        start = end + 1


def heading_path(path: Sequence[tuple[int, str]], block: Block) -> tuple[tuple[int, str], ...]:
    """The path of headings (level, title) once `block`, a heading, has been met."""
    return (*((level, title) for level, title in path if level < block.level), (block.level, block.title))
