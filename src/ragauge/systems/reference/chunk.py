"""Documents into chunks: a chunk is always a stretch of its document, `document.text[start:end]`."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Literal

from ragauge.core.sample import Chunk
from ragauge.errors import SettingsError
from ragauge.systems.reference.blocks import Block, blocks, heading_path
from ragauge.systems.reference.corpus import Document
from ragauge.text.sentences import split_sentences

Splitter = Literal["markdown", "sentence", "fixed", "none"]
SPLITTERS: tuple[Splitter, ...] = ("markdown", "sentence", "fixed", "none")
#: Raised when the same settings give other chunks.
CODE_VERSION = 1
_WORD = re.compile(r"\S+")
#: Code longer than so many characters is cut all the same: it is data, not an example.
MOST_CODE = 20_000
_FENCED = re.compile(r"^[ \t]{0,24}(`{3,}|~{3,})[^\n]*\n.*?^[ \t]{0,24}\1[`~]*[ \t]*$", re.MULTILINE | re.DOTALL)


@dataclass(frozen=True)
class ChunkSettings:
    """How documents are cut. `unit` "tokens" counts WordPiece tokens, as the default embedder does.

    `size` is the most that a chunk holds; `overlap` the most that it repeats from the one before it in the same
    section: whole sentences, or exactly that much with the fixed splitter. `keep_code`: a piece of code (up to
    `MOST_CODE` characters) is never cut, even where it is longer than `size`, and chunks say their `lines`; of the
    splitters only "markdown" knows code.
    """

    splitter: Splitter = "markdown"
    size: int = 800
    overlap: int = 100
    unit: Literal["characters", "tokens"] = "characters"
    keep_code: bool = False

    def __post_init__(self) -> None:
        if self.splitter != "none" and self.size < 20:
            raise SettingsError(f"chunk_size must be at least 20, not {self.size}")
        if self.splitter != "none" and not 0 <= self.overlap <= self.size // 2:
            raise SettingsError(f"chunk_overlap must be from 0 to half of chunk_size ({self.size}), not {self.overlap}")


@dataclass(frozen=True)
class _Unit:
    """A stretch that is not cut any further. `section` numbers the heading it stands under."""

    start: int
    end: int
    kind: str
    section: int
    path: tuple[tuple[int, str], ...] = ()
    table_header: str | None = None


def chunk_documents(
    documents: Sequence[Document], settings: ChunkSettings, count_tokens: Callable[[str], int] | None = None
) -> list[Chunk]:
    """The chunks of all documents, in order. Ids are `DOCUMENT#0000` …, with splitter "none" `DOCUMENT`.

    `count_tokens` (tokens of one word) is needed when `settings.unit` is "tokens". Blank documents give no chunk.
    """
    return [chunk for document in documents for chunk in chunk_document(document, settings, count_tokens)]


def chunk_document(
    document: Document, settings: ChunkSettings, count_tokens: Callable[[str], int] | None = None
) -> list[Chunk]:
    """The chunks of one document, in order, each with `text == document.text[start:end]`.

    Together they hold every character that is not white space. `metadata`: `title` of the document, `headings` from the
    outermost in, `table_header` when the chunk starts inside a table whose header is in an earlier chunk; with
    `keep_code` also `lines`, the first and the last line of the document's text, counted from 1.
    """
    if settings.unit == "tokens" and count_tokens is None:
        raise ValueError("chunks in tokens need `count_tokens`")
    text = document.text
    measure = _Measure(text, count_tokens if settings.unit == "tokens" else None)
    if settings.splitter == "none":
        units = [_Unit(0, len(text), "paragraph", 0)] if text.strip() else []
        groups: Iterator[list[_Unit]] = iter([[unit] for unit in units])
    elif settings.splitter == "fixed":
        groups = (
            [_Unit(start, end, "paragraph", 0)] for start, end in measure.windows(settings.size, settings.overlap)
        )
    else:
        whole = [Block("paragraph", 0, len(text))] if text.strip() else []
        found = blocks(text, rst=document.id.endswith(".rst")) if settings.splitter == "markdown" else whole
        units = list(_units(text, found, measure, settings))
        groups = _packed(units, text, measure, settings)
    return [_chunk(document, group, index, settings) for index, group in enumerate(groups)]


def _chunk(document: Document, group: list[_Unit], index: int, settings: ChunkSettings) -> Chunk:
    start, end = group[0].start, group[-1].end
    metadata: dict[str, Any] = {}
    if document.title:
        metadata["title"] = document.title
    body = next((unit for unit in group if unit.kind not in ("heading", "overlap")), group[-1])
    if body.path:
        metadata["headings"] = [title for _, title in body.path]
    if group[0].table_header is not None:
        metadata["table_header"] = group[0].table_header
    if settings.keep_code:
        metadata["lines"] = [1 + document.text.count("\n", 0, start), 1 + document.text.count("\n", 0, end)]
    return Chunk(
        id=document.id if settings.splitter == "none" else f"{document.id}#{index:04d}",
        document=document.id,
        text=document.text[start:end],
        start=start,
        end=end,
        metadata=metadata,
    )


class _Measure:
    """How long a stretch of a text is, in characters or in tokens."""

    def __init__(self, text: str, count_tokens: Callable[[str], int] | None) -> None:
        self._text = text
        self._tokens = count_tokens is not None
        if count_tokens is not None:
            self._starts: list[int] = []
            self._sums = [0]
            for match in _WORD.finditer(text):
                self._starts.append(match.start())
                self._sums.append(self._sums[-1] + count_tokens(match.group()))

    def __call__(self, start: int, end: int) -> int:
        if not self._tokens:
            return end - start
        return self._sums[bisect_left(self._starts, end)] - self._sums[bisect_left(self._starts, start)]

    def windows(self, size: int, overlap: int) -> Iterator[tuple[int, int]]:
        """Stretches of `size`, each starting `overlap` before the end of the last; white space at the edges trimmed."""
        if self._tokens:
            yield from self._token_windows(size, overlap)
            return
        for start in range(0, max(len(self._text) - overlap, 1), size - overlap):
            trimmed = _trim(self._text, start, min(start + size, len(self._text)))
            if trimmed:
                yield trimmed

    def _token_windows(self, size: int, overlap: int) -> Iterator[tuple[int, int]]:
        first, n_words = 0, len(self._starts)
        while first < n_words:
            after = first + 1
            while after < n_words and self._sums[after + 1] - self._sums[first] <= size:
                after += 1
            end = self._starts[after] if after < n_words else len(self._text)
            trimmed = _trim(self._text, self._starts[first], end)
            if trimmed:
                yield trimmed
            if after >= n_words:
                return
            back = after
            while back - 1 > first and self._sums[after] - self._sums[back - 1] <= overlap:
                back -= 1
            first = back


def _trim(text: str, start: int, end: int) -> tuple[int, int] | None:
    while start < end and text[start].isspace():
        start += 1
    while end > start and text[end - 1].isspace():
        end -= 1
    return (start, end) if start < end else None


def _units(text: str, found: Sequence[Block], measure: _Measure, settings: ChunkSettings) -> Iterator[_Unit]:
    """The blocks, those that are too long cut up."""
    size = settings.size
    path: tuple[tuple[int, str], ...] = ()
    section = 0
    headings_from: int | None = None
    for block in found:
        if block.kind == "heading":
            path, section = heading_path(path, block), section + 1
            headings_from = block.start if headings_from is None else headings_from
        # a block must fit together with the headings right before it
        room = size if headings_from is None else max(size - measure(headings_from, block.start), size // 2)
        room = size if block.kind == "heading" else room
        header = None if block.header is None else text[block.start : block.header]
        for start, end, kind in _cut(text, block, measure, room, settings.keep_code):
            inside = header if block.header is not None and start >= block.header else None
            yield _Unit(start, end, kind, section, path, inside)
        headings_from = headings_from if block.kind == "heading" else None


def _cut(text: str, block: Block, measure: _Measure, size: int, keep_code: bool) -> Iterator[tuple[int, int, str]]:
    """`block` whole if it fits, else at its rows, items or lines, else at sentences, words, and at last anywhere."""
    whole = block.kind == "code" and keep_code and block.end - block.start <= MOST_CODE
    if whole or measure(block.start, block.end) <= size:
        yield block.start, block.end, block.kind
        return
    edges = [block.start, *block.breaks, block.end]
    for start, end in pairwise(edges):
        trimmed = _trim(text, start, end)
        if trimmed is None:
            continue
        if measure(*trimmed) <= size:
            yield *trimmed, block.kind
        elif block.kind == "code":
            yield from ((*part, "code") for part in _by_words(text, *trimmed, measure, size))
        elif keep_code:
            yield from _around_code(text, *trimmed, measure, size, block.kind)
        else:
            yield from ((*part, block.kind) for part in _by_sentences(text, *trimmed, measure, size))


def _around_code(
    text: str, start: int, end: int, measure: _Measure, size: int, kind: str
) -> Iterator[tuple[int, int, str]]:
    """A stretch (a list item) cut at sentences, the pieces of fenced code in it whole."""
    position = start
    for match in [*_FENCED.finditer(text, start, end), None]:
        before = _trim(text, position, end if match is None else match.start())
        if before is not None:
            yield from ((*part, kind) for part in _by_sentences(text, *before, measure, size))
        if match is None:
            return
        inside = _trim(text, match.start(), match.end())
        assert inside is not None
        if inside[1] - inside[0] <= MOST_CODE:
            yield *inside, "code"
        else:
            yield from ((*part, "code") for part in _by_words(text, *inside, measure, size))
        position = match.end()


def _by_sentences(text: str, start: int, end: int, measure: _Measure, size: int) -> Iterator[tuple[int, int]]:
    """Cut before each sentence, so that what stands between sentences (markers, sources) is kept too."""
    starts = [start + span.start for span in split_sentences(text[start:end])]
    edges = sorted({start, *starts, end})
    for one, following in pairwise(edges):
        trimmed = _trim(text, one, following)
        if trimmed is None:
            continue
        if measure(*trimmed) <= size:
            yield trimmed
        else:
            yield from _by_words(text, *trimmed, measure, size)


def _by_words(text: str, start: int, end: int, measure: _Measure, size: int) -> Iterator[tuple[int, int]]:
    first, last = start, start
    for match in _WORD.finditer(text, start, end):
        if last > first and measure(first, match.end()) > size:
            yield first, last
            first = match.start()
        first = match.start() if last <= first else first
        last = match.end()
        while last - first > size and measure(first, last) > size:  # one word alone is too long: a key, a data URI
            step = size
            yield first, first + step
            first += step
    if last > first:
        yield first, last


def _packed(units: Sequence[_Unit], text: str, measure: _Measure, settings: ChunkSettings) -> Iterator[list[_Unit]]:
    """Units in order, as many to a chunk as fit; a heading stays with what follows it and starts a chunk once the
    one before it is a third full."""
    current: list[_Unit] = []
    for unit in units:
        held = any(one.kind not in ("heading", "overlap") for one in current)
        full = bool(current) and measure(current[0].start, unit.end) > settings.size
        starts = unit.kind == "heading" and held and measure(current[0].start, current[-1].end) * 3 >= settings.size
        if held and (full or starts):
            headings = _trailing_headings(current)
            body = current[: len(current) - len(headings)]
            yield body
            current = headings or _overlap(body, unit, text, measure, settings)
        whole = settings.keep_code and unit.kind == "code"  # stays under its headings, however long it is
        if current and not whole and measure(current[0].start, unit.end) > settings.size:
            if current[0].kind != "overlap":
                yield current  # headings that leave no room for what they stand over
            current = []
        current.append(unit)
    if any(unit.kind != "overlap" for unit in current):
        yield current


def _trailing_headings(units: Sequence[_Unit]) -> list[_Unit]:
    count = 0
    while count < len(units) and units[-1 - count].kind == "heading":
        count += 1
    return list(units[len(units) - count :])


def _overlap(body: Sequence[_Unit], unit: _Unit, text: str, measure: _Measure, settings: ChunkSettings) -> list[_Unit]:
    """The last sentences of `body` as the start of the next chunk, where they are prose of the same section and fit."""
    last = body[-1]
    if not settings.overlap or last.section != unit.section or last.kind not in ("paragraph", "list"):
        return []
    first = min(one.start for one in body if one.section == last.section and one.kind in ("paragraph", "list"))
    window = max(first, last.end - 8 * settings.overlap)
    for span in split_sentences(text[window : last.end]):
        start = window + span.start
        if start == window and window not in {one.start for one in body}:
            continue  # the window may begin in the middle of a sentence
        if measure(start, last.end) <= settings.overlap and measure(start, unit.end) <= settings.size:
            return [_Unit(start, last.end, "overlap", last.section, last.path)]
    return []
