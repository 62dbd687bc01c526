"""Text that we did not write, held inside fences that it cannot close.

A fence carries a code of eight hexadecimal digits that is derived from everything inside all fences of the request.
Whoever wrote a passage cannot know it: changing the passage changes the code. It is the same in every run.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable
from dataclasses import dataclass

# Characters that can hide text from a reader or break a line without looking like it: C0 and C1 controls but tab and
# newline, lone surrogates, bidirectional embeddings, overrides and isolates, Unicode tags.
_HIDDEN = re.compile(
    "[\x00-\x08\x0e-\x1f\x7f-\x84\x86-\x9f\ud800-\udfff\u202a-\u202e\u2066-\u2069\U000e0000-\U000e007f]"
)
_LINE_ENDS = re.compile("\r\n?|[\x0b\x0c\x85\u2028\u2029]")


@dataclass(frozen=True)
class Piece:
    """One text for a fence: its `kind` (passage, question, answer …), its words, and an id of ours if it has one."""

    kind: str
    text: str
    name: str | None = None


@dataclass(frozen=True)
class Fenced:
    """A value of a placeholder: pieces that are to be fenced. None of them leaves the place empty."""

    pieces: tuple[Piece, ...] = ()

    @classmethod
    def one(cls, kind: str, text: str | None) -> Fenced:
        """A single text, or nothing if `text` is None."""
        return cls() if text is None else cls((Piece(kind, text),))


def defused(text: str) -> str:
    """`text` with every line end as a newline and every hiding character as U+FFFD.

    >>> defused("a\\r\\nb\\u202ec\\x00")
    'a\\nb\\ufffdc\\ufffd'
    """
    return _HIDDEN.sub("\ufffd", _LINE_ENDS.sub("\n", text))


def one_line(text: str) -> str:
    """`text` defused, on one line, so that nothing in it can pass for the next entry of a list."""
    return " ".join(defused(text).split())


def fence_code(texts: Iterable[str], salt: str) -> str:
    """Eight hexadecimal digits that occur in none of `texts`, the same ones for the same texts and salt."""
    parts = list(texts)
    whole = hashlib.sha256(salt.encode())
    for part in parts:
        raw = part.encode("utf-8", "surrogatepass")
        whole.update(len(raw).to_bytes(8, "big") + raw)
    code = whole.hexdigest()[:8]
    while any(code in part.casefold() for part in parts):
        whole.update(b"again")
        code = whole.hexdigest()[:8]
    return code


def fenced(pieces: Iterable[Piece], code: str) -> str:
    """The pieces one under the other, each within its fence."""
    lines = []
    for piece in pieces:
        label = piece.kind if piece.name is None else f"{piece.kind} {piece.name}"
        lines.append(f"<<{code} {label}>>\n{defused(piece.text)}\n<<{code}>>")
    return "\n".join(lines)
