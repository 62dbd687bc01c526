"""What an extractive answer is made of: the sentences, table rows and code of retrieved chunks."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ragauge.core.sample import RetrievedChunk
from ragauge.text.sentences import Span, split_sentences

#: A longer piece of code is cut at blank lines, and at last after this many lines.
MAX_CODE_LINES = 14


@dataclass(frozen=True)
class Passage:
    """A piece that can be quoted. `text` is what is written, `search` the same with the words that it stands under.

    `rank` is its chunk's, `place` its order within the chunk, `start` its offset there.
    """

    text: str
    search: str
    kind: str
    rank: int
    place: int
    chunk: str


def passages(chunk: RetrievedChunk) -> list[Passage]:
    """The quotable pieces of a chunk, in order. A table row is written with its header: `Plan: Pro; Limit: 500`."""
    return [
        Passage(text, " ".join(part for part in (under, text) if part), kind, chunk.rank, place, chunk.id)
        for place, (text, under, kind) in enumerate(_pieces(chunk))
    ]


def _pieces(chunk: RetrievedChunk) -> Iterator[tuple[str, str, str]]:
    headings = chunk.metadata.get("headings")
    known = [str(one) for one in headings] if isinstance(headings, (list, tuple)) else []
    title = chunk.metadata.get("title")
    heading = known[-1] if known else title if isinstance(title, str) else ""
    lead = ""
    header = _cells(str(chunk.metadata.get("table_header", "")).split("\n", 1)[0])
    spans = split_sentences(chunk.text)
    for index, span in enumerate(spans):
        if span.kind != "row" and index and spans[index - 1].kind == "row":
            header = []
        if span.kind == "heading":
            heading, lead = span.text.strip("#=- \t"), ""
        elif span.kind == "row":
            following = spans[index + 1] if index + 1 < len(spans) else None
            if _is_header(chunk.text, span, following):
                header = _cells(span.text)
            else:
                yield _row(_cells(span.text), header), " ".join(filter(None, (heading, lead))), "row"
        elif span.kind == "code":
            for piece in _code(span.text):
                yield (f"{lead}\n{piece}" if lead else piece), heading, "code"
                lead = ""
        elif span.kind != "item" and span.text.endswith(":") and _goes_on(spans, index):
            lead = span.text  # "To deploy, run:" says nothing without what follows it
        else:
            yield span.text, " ".join(filter(None, (heading, lead if span.kind == "item" else ""))), span.kind
            lead = lead if span.kind == "item" else ""


def _goes_on(spans: Sequence[Span], index: int) -> bool:
    return index + 1 < len(spans) and spans[index + 1].kind in ("item", "code", "row")


def _is_header(text: str, span: Span, following: Span | None) -> bool:
    """Whether a rule (`|---|`) stands right behind the row."""
    between = text[span.end : following.start if following is not None else min(len(text), span.end + 2000)]
    rule = between.strip(" \t\n|:-")
    return not rule and "-" in between and "|" in between


def _cells(row: str) -> list[str]:
    held = row.strip().removeprefix("|").removesuffix("|").replace("\\|", "\x00")
    return [cell.strip().replace("\x00", "|") for cell in held.split("|")] if row.strip() else []


def _row(cells: Sequence[str], header: Sequence[str]) -> str:
    if len(header) == len(cells):
        return "; ".join(f"{name}: {cell}" if name else cell for name, cell in zip(header, cells, strict=True) if cell)
    return "; ".join(cell for cell in cells if cell)


def _code(block: str) -> Iterator[str]:
    lines = block.split("\n")
    if lines and lines[0].strip().startswith(("```", "~~~")):
        lines = lines[1:]
        if lines and lines[-1].strip()[:3] in ("```", "~~~"):
            lines = lines[:-1]
    piece: list[str] = []
    for line in lines:
        if piece and (len(piece) >= MAX_CODE_LINES or (not line.strip() and len(lines) > MAX_CODE_LINES)):
            yield from _fenced(piece)
            piece = []
        piece.append(line)
    yield from _fenced(piece)


def _fenced(lines: Sequence[str]) -> Iterator[str]:
    body = "\n".join(lines).strip("\n")
    if body.strip():
        yield f"```\n{body}\n```"
