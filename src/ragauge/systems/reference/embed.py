"""What of a chunk is searched: its text, after the headings that it stands under."""

from __future__ import annotations

from ragauge.core.sample import Chunk

#: Raised when the same chunk gives another text.
CODE_VERSION = 1


def search_text(chunk: Chunk, prefix: str) -> str:
    """The text that is embedded and indexed. `prefix` "headings": title, headings and table header come first, unless
    the chunk shows them itself; "contextual": before those, what a model said of where the chunk stands
    (`metadata["context"]`); "none": the chunk's text alone.

    >>> names = {"title": "Guide", "headings": ["Keys"]}
    >>> search_text(Chunk(id="a#1", text="Press Rotate.", metadata=names), "headings")
    'Guide > Keys\\nPress Rotate.'
    """
    if prefix == "none":
        return chunk.text
    shown = {line.strip("#=- \t") for line in chunk.text.split("\n", 12)[:12]}
    names = [chunk.metadata.get("title", ""), *chunk.metadata.get("headings", ())]
    path = " > ".join(dict.fromkeys(name for name in names if name and name not in shown))
    header = chunk.metadata.get("table_header", "")
    context = chunk.metadata.get("context", "") if prefix == "contextual" else ""
    return "\n".join(part for part in (context, path, header, chunk.text) if part)
