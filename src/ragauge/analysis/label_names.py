"""Do labels and retrieved passages speak of the same things by the same names?

Labels that say `docs/install.md` where the system says `install.md` make every retrieval measure 0, which looks like a
retriever that finds nothing. The numbers are what they are; the report says what they may rest on.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from ragauge.core.run import Record
from ragauge.core.sample import Level

#: Names kept at each level and side; beyond that nothing is said, for a name may be among those not kept.
MAX_NAMES = 50_000
#: Fewer questions without any hit are bad luck.
MIN_QUESTIONS = 5
#: Endings of files that hold documents: `doc.c1` and `doc.c2` are two chunks, not one text in two formats.
_ENDINGS = frozenset((
    "md", "mdx", "markdown", "txt", "text", "rst", "adoc", "asciidoc", "tex", "html", "htm", "xhtml", "xml", "pdf",
    "doc", "docx", "odt", "rtf", "ppt", "pptx", "xls", "xlsx", "epub", "ipynb", "json", "jsonl", "ndjson", "yaml",
    "yml", "toml", "csv", "tsv", "parquet",
))  # fmt: skip
_WORDS = {"doc": ("document", "documents"), "chunk": ("chunk", "chunks")}


@dataclass
class _Side:
    n: int = 0
    wanted: dict[str, None] = field(default_factory=dict)
    found: dict[str, None] = field(default_factory=dict)


@dataclass
class LabelNames:
    """Collects the names of one run, row by row."""

    sides: dict[Level, _Side] = field(default_factory=lambda: {"doc": _Side(), "chunk": _Side()})

    def add(self, record: Record) -> None:
        """Note what a row's labels name, and what was retrieved for it."""
        context = record.sample.response.context
        if context is None or not context.chunks:
            return
        names: dict[Level, Iterable[str | None]] = {
            "doc": (chunk.document for chunk in context.chunks), "chunk": (chunk.id for chunk in context.chunks),
        }  # fmt: skip
        for level, side in self.sides.items():
            wanted = _relevant(record.sample.labels.at(level))
            found = [name for name in names[level] if name is not None]
            if not wanted or not found:
                continue
            side.n += 1
            _keep(side.wanted, wanted)
            _keep(side.found, found)

    def note(self) -> str | None:
        """A warning where no label names anything that came back, or where two names look like one thing."""
        for level, side in self.sides.items():
            if side.n and max(len(side.wanted), len(side.found)) < MAX_NAMES:
                said = _said(level, side)
                if said is not None:
                    return said
        return None


def _keep(names: dict[str, None], more: Iterable[str]) -> None:
    for name in more:
        if len(names) >= MAX_NAMES:
            return
        names[name] = None


def _said(level: Level, side: _Side) -> str | None:
    one, many = _WORDS[level]
    never = [name for name in side.wanted if name not in side.found]
    alike = _alike(never, side.found)
    if len(never) < len(side.wanted):  # the same kind of names; a few may be written otherwise
        pairs = [f"{theirs!r} and {ours!r}" for theirs, ours in list(alike.items())[:3]]
        if not pairs:
            return None
        return (
            f"{f'1 {one}' if len(alike) == 1 else f'{len(alike)} {many}'} of the labels never came back by that name, "
            f"but by one that looks like it: {', '.join(pairs)}. If they are the same, name them alike: "
            "retrieval counts them as not found"
        )
    if side.n < MIN_QUESTIONS and not alike:
        return None
    theirs, ours = next(iter(alike.items()), (never[0], next(iter(side.found))))
    return (
        f"no label names a {one} that was retrieved for any question: labels say {theirs!r}, the system says {ours!r}. "
        f"If these are names of two kinds, retrieval was not measured: write labels as the system names its {many} "
        "(`ragauge ask` shows them)"
    )


def _alike(never: Iterable[str], found: Iterable[str]) -> dict[str, str]:
    """Label name → a retrieved name that differs only in case, folder above, or ending."""
    by_end: dict[str, list[str]] = {}
    for name in found:
        by_end.setdefault(_end(name), []).append(name)
    pairs = {}
    for name in never:
        near = next((other for other in by_end.get(_end(name), ()) if _one_in_other(name, other)), None)
        if near is not None:
            pairs[name] = near
    return pairs


def _plain(name: str) -> str:
    path = name.casefold().replace("\\", "/").strip("/").removeprefix("./")
    stem, dot, ending = path.rpartition(".")
    return stem if dot and ending in _ENDINGS else path


def _end(name: str) -> str:
    return _plain(name).rpartition("/")[2]


def _one_in_other(first: str, second: str) -> bool:
    one, other = _plain(first), _plain(second)
    return one == other or one.endswith(f"/{other}") or other.endswith(f"/{one}")


def _relevant(grades: Mapping[str, int] | None) -> list[str]:
    return [name for name, grade in (grades or {}).items() if grade > 0]
