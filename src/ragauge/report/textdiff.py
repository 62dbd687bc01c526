"""Two texts side by side, word by word: what is in both, and what is only in one."""

from __future__ import annotations

import re
from dataclasses import dataclass
from difflib import SequenceMatcher

#: Longer texts are shown as they are: comparing them would take too long.
MAX_WORDS = 1_500
_WORD = re.compile(r"\s+|\w+|[^\w\s]")


@dataclass(frozen=True)
class Part:
    """A stretch of a text; `own`: it is in this text only."""

    text: str
    own: bool


@dataclass(frozen=True)
class TextDiff:
    """Both texts in parts. `compared`: False when they were too long to be compared word by word."""

    a: tuple[Part, ...]
    b: tuple[Part, ...]
    compared: bool
    same: bool


def text_diff(a: str, b: str, limit: int = 20_000) -> TextDiff:
    """The parts of both texts, each cut to `limit` characters.

    >>> [part.text for part in text_diff("port 80 is open", "port 81 is open").b if part.own]
    ['81']
    """
    if a == b:
        return TextDiff((Part(a[:limit], False),), (Part(b[:limit], False),), True, True)
    a, b = a[:limit], b[:limit]
    words = _WORD.findall(a), _WORD.findall(b)
    if max(map(len, words)) > MAX_WORDS:
        return TextDiff((Part(a, False),), (Part(b, False),), False, False)
    left: list[Part] = []
    right: list[Part] = []
    for kind, a1, a2, b1, b2 in SequenceMatcher(None, *words, autojunk=False).get_opcodes():
        _put(left, "".join(words[0][a1:a2]), own=kind != "equal")
        _put(right, "".join(words[1][b1:b2]), own=kind != "equal")
    return TextDiff(tuple(left), tuple(right), True, False)


def _put(parts: list[Part], text: str, *, own: bool) -> None:
    """A part more; white space between two parts of one's own belongs to them."""
    if not text:
        return
    if own and len(parts) > 1 and parts[-2].own and not parts[-1].text.strip():
        space = parts.pop()
        parts[-1] = Part(parts[-1].text + space.text + text, True)
    else:
        parts.append(Part(text, own))
