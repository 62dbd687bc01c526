"""Line numbers in a statement against chunks that say which lines of their document they are."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from ragauge.core.sample import RetrievedChunk
from ragauge.judges.exact.lookup import Source
from ragauge.judges.exact.names import FILE, PATH, RELATIVE, Name

_LINES = re.compile(
    r"(?:\blines?\s+|\bL|:|#L)(?P<first>\d{1,7})(?:\s{0,2}(?:-|–|to|through|until|and)\s{0,2}L?(?P<last>\d{1,7}))?(?![\w.]\w|\d|\s?%)",
    re.IGNORECASE,
)
_AFTER_FILE = re.compile(r"\.[A-Za-z]\w{0,9}`?$")
_KEYS = (("start_line", "end_line"), ("line_start", "line_end"), ("first_line", "last_line"), ("lineStart", "lineEnd"))


def line_range(chunk: RetrievedChunk) -> tuple[int, int] | None:
    """The lines (from 1, both ends included) of its document that a chunk is, where its metadata says so.

    Read: `lines: [a, b]` or "a-b", `start_line`/`end_line` and the like, LangChain's `loc: {lines: {from, to}}`. Where
    only the start is given, the chunk's own line breaks say the end.
    """
    data = chunk.metadata
    found: Any = data.get("lines")
    loc = data.get("loc")
    if found is None and isinstance(loc, dict) and isinstance(loc.get("lines"), dict):
        found = [loc["lines"].get("from"), loc["lines"].get("to")]
    if isinstance(found, str) and (match := re.fullmatch(r"\s*(\d+)\s*[-–:]\s*(\d+)\s*", found)):
        found = [int(match[1]), int(match[2])]
    if found is None:
        found = next(([data[a], data.get(b)] for a, b in _KEYS if data.get(a) is not None), None)
    if not isinstance(found, list | tuple) or not found or not _whole(found[0]):
        return None
    first = int(found[0])
    last = int(found[1]) if len(found) > 1 and _whole(found[1]) else first + chunk.text.rstrip("\n").count("\n")
    return (first, last) if 0 < first <= last else None


def line_faults(text: str, held: Sequence[Name], chunks: Sequence[RetrievedChunk]) -> tuple[str, ...]:
    """What is wrong with the line numbers in `text`, in words; nothing where no chunk has line numbers.

    A line must be inside a chunk (of the file, where one is named). Where the statement also gives exact names, at
    least one of them must stand in the lines that it gives.
    """
    ranged = [(chunk, lines) for chunk in chunks if (lines := line_range(chunk)) is not None]
    if not ranged:
        return ()
    files = [match.group().rstrip(".") for pattern in (PATH, RELATIVE, FILE) for match in pattern.finditer(text)]
    faults = []
    for match in _LINES.finditer(text):
        if match.group()[0] == ":" and not _AFTER_FILE.search(text[: match.start()]):
            continue
        first, last = int(match["first"]), int(match["last"] or match["first"])
        mine = [one for one in ranged if not files or any(_is_file(one[0], file) for file in files)]
        said = (f"line {first}" if first == last else f"lines {first}–{last}") + (f" of {files[0]}" if files else "")
        inside = [one for one in mine if one[1][0] <= first and last <= one[1][1]]
        if not inside:
            if mine or not files:
                faults.append(f"no chunk holds {said}")
            continue
        wanted = [name for name in held if name.kind in ("name", "flag") and name.text not in files]
        there = ["\n".join(chunk.text.split("\n")[first - lines[0] : last - lines[0] + 1]) for chunk, lines in inside]
        if wanted and not any(Source(part).holds(name) for part in there for name in wanted):
            shown = " ".join(there[0].split())[:80]
            faults.append(f"{said} reads {shown!r} and holds no {', '.join(name.text for name in wanted[:3])}")
    return tuple(faults)


def without_lines(text: str) -> str:
    """`text` without its line numbers, which no text of a chunk states; what is left can be judged by its words.

    >>> without_lines("`retry` is defined on line 12 of `retry.py`."), without_lines("See `a/b.py:12-14`.")
    ('`retry` is defined in `retry.py`.', 'See `a/b.py`.')
    """
    return _AFTER.sub(r"\1", _SPOKEN.sub(lambda match: " in " if match[1] else "", text))


_SPOKEN = re.compile(
    r"\s(?:\(?(?:on|at|in|from|see|around)\s)?lines?\s\d{1,7}(?:\s?(?:-|–|to|through|until|and)\s?\d{1,7})?\)?(\s(?:of|in)\s)?",
    re.IGNORECASE,
)
_AFTER = re.compile(r"(\.[A-Za-z]\w{0,9})(?::|#L)\d{1,7}(?:\s?[-–]\s?L?\d{1,7})?(?!\w)")


def _is_file(chunk: RetrievedChunk, file: str) -> bool:
    places = [
        chunk.document,
        chunk.id.partition("#")[0],
        *(chunk.metadata.get(key) for key in ("path", "source", "file")),
    ]
    wanted = file.lstrip("./")
    return any(isinstance(one, str) and (one == wanted or one.endswith("/" + wanted)) for one in places)


def _whole(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)
