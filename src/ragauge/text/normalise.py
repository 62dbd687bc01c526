"""Text made comparable, storable and showable."""

from __future__ import annotations

import re
import unicodedata

_INVISIBLE = re.compile("[\u00ad\u180e\u200b-\u200f\u202a-\u202e\u2060-\u2064\u2066-\u2069\ufe00-\ufe0f\ufeff\x00]")
_SPACE = re.compile(r"\s+")
_UNSTORABLE = re.compile("[\x00\ud800-\udfff]")
_UNSHOWABLE = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff\ufff9-\ufffb]"
)


def normalise(text: str) -> str:
    """`text` made comparable: NFKC, casefolded, invisible characters removed, white space collapsed and stripped.

    Idempotent. Offsets are not kept.

    >>> normalise("  Ｆｕｌｌ\\u200b width\\n\\tSTRASSE ")
    'full width strasse'
    """
    if text.isascii():  # the common case, several times as fast
        return " ".join(text.replace("\x00", "").lower().split())
    folded = unicodedata.normalize("NFKC", _INVISIBLE.sub("", text)).casefold()
    return _SPACE.sub(" ", _INVISIBLE.sub("", unicodedata.normalize("NFKC", folded))).strip()


def clean(text: str) -> str:
    """`text` made storable: NUL and lone surrogates become U+FFFD; nothing else changes, so offsets stay.

    >>> clean("a\\x00b")
    'a\ufffdb'
    """
    return _UNSTORABLE.sub("\ufffd", text)


def display(text: str) -> str:
    """`text` made safe to show in a terminal: control characters and bidi overrides are written out as escapes.

    Line feeds and tabs stay. A carriage return is written out, because it can overwrite a line already shown.

    >>> display("red \\x1b[31m, hidden \\u202e")
    'red \\\\x1b[31m, hidden \\\\u202e'
    """
    return _UNSHOWABLE.sub(_escape, text)


def _escape(match: re.Match[str]) -> str:
    code = ord(match.group())
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}"
