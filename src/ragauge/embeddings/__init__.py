"""Text embeddings: the packaged all-MiniLM-L6-v2, and others by name. Nothing is fetched from anywhere.

Similarity of embeddings finds passages on the same subject. It cannot tell whether a passage supports a statement.
"""

from __future__ import annotations

from ragauge.embeddings.base import Embedder, Vectors, normalise_rows
from ragauge.embeddings.loading import DEFAULT, load

__all__ = ["DEFAULT", "Embedder", "Vectors", "load", "normalise_rows"]
