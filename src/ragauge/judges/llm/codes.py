"""Ids that mean nothing: what a model is shown instead of chunk and claim ids, and the order that it sees them in."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import TypeVar

T = TypeVar("T")


def salt_of(seed: int, *parts: object) -> str:
    """A salt that is the same for the same seed and parts, on every platform."""
    whole = hashlib.sha256(str(seed).encode())
    for part in parts:
        raw = str(part).encode("utf-8", "surrogatepass")
        whole.update(len(raw).to_bytes(8, "big") + raw)
    return whole.hexdigest()


def codes(prefix: str, n: int, salt: str) -> list[str]:
    """`n` different codes such as `S417`, derived from `salt`: whoever wrote the texts cannot know them.

    >>> len(set(codes("S", 500, "x"))), codes("S", 2, "x") == codes("S", 2, "x")
    (500, True)
    """
    low = 10 ** max(2, len(str(n)))
    made: dict[int, None] = {}
    for index in range(n):
        digest = hashlib.blake2b(f"{salt}:{prefix}:{index}".encode(), digest_size=8).digest()
        number = int.from_bytes(digest, "big") % (9 * low)
        while number in made:
            number = (number + 1) % (9 * low)
        made[number] = None
    return [f"{prefix}{low + number}" for number in made]


def shuffled(things: Sequence[T], salt: str) -> list[T]:
    """`things` in an order that follows from `salt` alone, not from where they stood for better or worse.

    >>> sorted(shuffled([1, 2, 3], "x"))
    [1, 2, 3]
    """
    keyed = [
        (hashlib.blake2b(f"{salt}:{index}".encode(), digest_size=8).digest(), index) for index in range(len(things))
    ]
    return [things[index] for _, index in sorted(keyed)]
