"""False alarms on faithful text: each sentence and table row of a corpus as a claim against its chunk and four others.

`python validation/judges/copies.py [FOLDER_OF_MARKDOWN]` (default: the shipped example) prints shares of claims that
are not called supported, by kind of claim. An extractive system copies what was retrieved: it must be judged faithful.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path

from ragauge.core.sample import RetrievedChunk
from ragauge.judges.embedded.claims import split_claims
from ragauge.judges.embedded.encoder import Encoder
from ragauge.judges.embedded.support import judge_claims
from ragauge.judges.embedded.units import units_of
from ragauge.text.blocks import blocks

CHUNK = 900
#: How a faithful answer may say a table row; {pairs} etc. are made from the cells.
KINDS = ("sentence", "row, raw", "row; with header", "row, with header, in lines", "two cells", "row in words", "code")


@dataclass(frozen=True)
class Copy:
    """A claim that its chunk makes; `chunk` is the place of that chunk."""

    kind: str
    text: str
    chunk: int


def chunks_of(folder: Path) -> list[str]:
    """Chunks of up to about 900 characters, cut between blocks, never within a table."""
    found = []
    for path in sorted(folder.rglob("*.md")):
        text = path.read_text(encoding="utf-8")
        start = last = 0
        table = False
        for block in blocks(text):
            begins = text.rfind("\n", 0, block.start) + 1
            if begins - start > CHUNK and not (table and block.kind == "row"):
                found.append(text[start:begins].strip())
                start = begins
            table, last = block.kind == "row", block.end
        if last > start:
            found.append(text[start:].strip())
    return [chunk for chunk in found if chunk]


def copies_of(chunk: str, place: int) -> Iterator[Copy]:
    """The claims of one chunk."""
    for unit in units_of(chunk):
        raw = chunk[unit.start : unit.end]
        if unit.kind in ("prose", "item"):
            yield Copy("sentence", raw, place)
        elif unit.kind == "code" and len(raw) > 8:
            yield Copy("code", f"```\n{raw}\n```", place)
        elif unit.kind == "row":
            named = [(name, value) for name, value in unit.cells if name]
            yield Copy("row, raw", raw, place)
            yield Copy("row; with header", "; ".join(f"{n}: {v}" if n else v for n, v in unit.cells), place)
            if len(named) == len(unit.cells) >= 2:
                yield Copy("row, with header, in lines", "\n".join(f"- {n}: {v}" for n, v in unit.cells), place)
            if len(unit.cells) >= 2:
                (first_name, first), (name, value) = unit.cells[0], unit.cells[-1]
                yield Copy("two cells", f"{first_name}: {first}; {name}: {value}".removeprefix(": "), place)
                if name:
                    yield Copy("row in words", f"For {first}, the {name[:1].lower()}{name[1:]} is {value}.", place)


def false_alarms(folder: Path, encoder: Encoder | None = None) -> dict[str, tuple[int, int, list[str]]]:
    """Kind → (claims not called supported, claims, those claims with label and reason)."""
    chunks = chunks_of(folder)
    found: dict[str, tuple[int, int, list[str]]] = {kind: (0, 0, []) for kind in KINDS}
    for place, chunk in enumerate(chunks):
        others = [chunks[(place + step) % len(chunks)] for step in (1, 7, 19, 31)]
        texts = [*others[:2], chunk, *others[2:]]
        shown = tuple(RetrievedChunk(id=f"k{n}", text=text, rank=n) for n, text in enumerate(texts, start=1))
        for copy in copies_of(chunk, place):
            for verdict in judge_claims(split_claims(copy.text), shown, encoder):
                wrong, n, which = found[copy.kind]
                if verdict.label != "supported":
                    wrong += 1
                    which.append(f"{verdict.label} {verdict.probability}: {verdict.claim!r} — {verdict.reason}")
                found[copy.kind] = (wrong, n + 1, which)
    return found


def example() -> Path:
    """The corpus that ragauge ships."""
    return Path(str(files("ragauge.examples_data").joinpath("corpus")))


def main(folder: Path) -> None:
    """Print the table, and the claims that were not called supported."""
    for kind, (wrong, n, which) in false_alarms(folder).items():
        print(f"| {kind} | {n} | {wrong} | {100 * wrong / max(n, 1):.1f} % |")
        for one in which:
            print("   ", one[:330].replace("\n", " "))


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else example())
