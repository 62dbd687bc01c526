"""What cutting did to a chunk: cut sentences, lost headings, orphan tables, too short, too long, not read whole."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ragauge.diagnose.passages import says_nothing
from ragauge.text.tokens import words

#: Chunks with fewer words than this say little, with more than this much at once.
SHORT, LONG = 25, 600
_ENDS = ".!?:;。！？…)]}\"'”’`*_|>"


@dataclass(frozen=True)
class Artefact:
    """One flaw of a chunk, in a word and in words."""

    name: str
    detail: str


def artefacts(text: str, metadata: Mapping[str, Any] | None = None, *, truncated: bool = False) -> list[Artefact]:
    """The flaws of one chunk, judged by its text alone, in a fixed order; none: an empty list.

    >>> [one.name for one in artefacts("and the port is 8125. It is open to all machines that have a key and that we")]
    ['cut_start', 'cut_end', 'no_heading', 'too_short']
    """
    metadata = metadata or {}
    found = []
    stripped = text.strip()
    lines = [line.strip() for line in stripped.split("\n") if line.strip()]
    if stripped and stripped[0].islower() and _is_prose(lines[0]):
        found.append(Artefact("cut_start", f"begins in the middle of a sentence: {_shown(stripped[:40])}…"))
    if lines and _is_prose(lines[-1]) and lines[-1][-1] not in _ENDS:
        found.append(Artefact("cut_end", f"ends in the middle of a sentence: …{_shown(stripped[-40:])}"))
    table = [line.startswith("|") for line in lines]
    if any(table) and not _has_header(lines) and not metadata.get("table_header"):
        found.append(Artefact("orphan_table", "table rows without their header"))
    if lines and not any(_is_heading(line) for line in lines) and not metadata.get("headings"):
        if not metadata.get("title"):
            found.append(Artefact("no_heading", "nothing says which document or section it is from"))
    elif len(lines) > 1 and _is_heading(lines[-1]):
        found.append(Artefact("lost_heading", f"the heading {_shown(lines[-1])} is cut off from its text"))
    n_words = len(words(text[:100_000]))
    if n_words < SHORT:
        found.append(Artefact("too_short", f"{n_words} words"))
    elif n_words > LONG:
        found.append(Artefact("too_long", f"{n_words} words: one vector for many subjects"))
    if n_words >= SHORT and says_nothing(text):
        found.append(Artefact("no_content", "the same few words over and over"))
    if truncated:
        found.append(Artefact("over_token_limit", "longer than the embedder reads: its end cannot be found by meaning"))
    return found


def _is_prose(line: str) -> bool:
    return bool(line) and line[0] not in "|#`-*>+=~<{[(/$" and not line.endswith("```") and len(line.split()) > 3


def _is_heading(line: str) -> bool:
    return line.startswith("#") and line.lstrip("#").startswith(" ")


def _has_header(lines: list[str]) -> bool:
    return any(set(line) <= set("|-: ") and "-" in line for line in lines)


def _shown(text: str) -> str:
    return repr(" ".join(text.split()))
