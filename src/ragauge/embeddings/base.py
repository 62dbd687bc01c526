"""What an embedder is."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

Vectors = NDArray[np.float32]


@runtime_checkable
class Embedder(Protocol):
    """Turns texts into vectors of length 1, so that a dot product is the cosine similarity.

    `name` is what `load` was given; `fingerprint` changes with anything that can change a vector (weights, tokeniser,
    normalisation), so it can key a cache. `max_tokens` None: texts of any length are read to the end.
    """

    @property
    def name(self) -> str:
        """The name that `load` knows it by."""
        ...

    @property
    def dimension(self) -> int:
        """Length of a vector."""
        ...

    @property
    def max_tokens(self) -> int | None:
        """How many tokens of a text are read, special ones included; what follows is cut."""
        ...

    @property
    def fingerprint(self) -> str:
        """Identity of weights and code, 16 hex digits."""
        ...

    def encode(self, texts: Sequence[str]) -> Vectors:
        """float32 array of shape (len(texts), dimension), rows of length 1 (zeros for a text without tokens)."""
        ...

    def truncated(self, texts: Sequence[str]) -> list[bool]:
        """For each text whether its end was not read because it has more than `max_tokens` tokens."""
        ...


def normalise_rows(matrix: Vectors) -> Vectors:
    """Each row divided by its Euclidean length; a row of zeros stays zeros. float32 of the same shape.

    >>> normalise_rows(np.array([[3.0, 4.0], [0.0, 0.0]], dtype=np.float32)).tolist()
    [[0.6000000238418579, 0.800000011920929], [0.0, 0.0]]
    """
    lengths = np.sqrt(np.einsum("ij,ij->i", matrix, matrix))[:, None]
    result: Vectors = np.divide(matrix, np.maximum(lengths, np.float32(1e-12)), dtype=np.float32)
    return result
