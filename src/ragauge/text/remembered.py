"""What functions of single words gave, kept for the next time: texts repeat their words."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")

#: Longer strings are hardly ever words that come again, and would make what is kept large.
LONGEST = 40


class Remembered(dict[str, T]):
    """`remembered[word]` is `compute(word)`, computed when it is first asked for; emptied when it holds `most` values.

    Several times as fast as `lru_cache` in a `map` over many words, and without an object for each entry that the
    garbage collector visits. Threads may share one: two may compute the same value, none sees another.
    """

    def __init__(self, compute: Callable[[str], T], most: int) -> None:
        super().__init__()
        self._compute, self._most = compute, most

    def __missing__(self, word: str) -> T:
        value = self._compute(word)
        if len(word) <= LONGEST:
            if len(self) >= self._most:
                self.clear()
            self[word] = value
        return value
