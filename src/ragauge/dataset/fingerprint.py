"""Content hashes: of an item, of a set, of what a system returned."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping

from ragauge.core.model import fingerprint
from ragauge.core.sample import GoldenItem, Response


def item_fingerprint(item: GoldenItem) -> str:
    """The item's content (everything but `metadata`) as 16 hex digits."""
    return item.fingerprint()


def set_fingerprint(items: Mapping[str, str]) -> str:
    """Of item id → fingerprint; the order of the items does not matter, neither do file format, name or place.

    >>> set_fingerprint({"a": "1", "b": "2"}) == set_fingerprint({"b": "2", "a": "1"})
    True
    """
    return fingerprint(dict(items))


def response_fingerprint(response: Response) -> str:
    """What was retrieved, in order, and what was answered (not latencies, usage or metadata), as 16 hex digits."""
    digest = hashlib.sha256()
    parts: list[str | None] = [response.answer]
    if response.context is None:
        parts.append(None)
    else:
        for chunk in response.context.chunks:
            parts += (chunk.id, chunk.document, chunk.text)
    parts += response.citations or ()
    for part in parts:
        raw = b"" if part is None else part.encode("utf-8")
        digest.update(b"%d:" % (-1 if part is None else len(raw)))
        digest.update(raw)
    return digest.hexdigest()[:16]


def sample_fingerprint(item: GoldenItem, response: Response) -> str:
    """Item and response together."""
    return hashlib.sha256(f"{item.fingerprint()}{response_fingerprint(response)}".encode()).hexdigest()[:16]
