"""Models of the sentence-transformers library, from a folder or from what is already on this machine. An extra."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np

from ragauge.core.environment import environment
from ragauge.core.model import fingerprint
from ragauge.embeddings.base import Vectors, normalise_rows
from ragauge.errors import MissingExtra, SettingsError

#: The hub's client reads these once, when it is imported.
_OFFLINE = {"HF_HUB_OFFLINE": "1", "TRANSFORMERS_OFFLINE": "1"}


class SentenceTransformerEmbedder:
    """Any sentence-transformers model. Vectors are normalised whether or not the model does."""

    def __init__(self, name: str, model: Any) -> None:
        self._model = model
        self.name = f"sentence-transformers:{name}"
        self.dimension = int(model.get_sentence_embedding_dimension())
        limit = model.max_seq_length
        self.max_tokens: int | None = int(limit) if limit else None
        self.fingerprint = fingerprint({"model": self.name, "weights": _weights_digest(model)})

    def encode(self, texts: Sequence[str]) -> Vectors:
        """float32 (len(texts), dimension), rows of length 1."""
        if not texts:
            return np.empty((0, self.dimension), np.float32)
        readable = [text.encode("utf-8", "replace").decode("utf-8") for text in texts]
        vectors = self._model.encode(readable, convert_to_numpy=True, show_progress_bar=False)
        return normalise_rows(np.asarray(vectors, np.float32))

    def truncated(self, texts: Sequence[str]) -> list[bool]:
        """For each text whether the model's tokenizer finds more tokens than the model reads."""
        if self.max_tokens is None:
            return [False] * len(texts)
        readable = [text.encode("utf-8", "replace").decode("utf-8") for text in texts]
        tokens = self._model.tokenizer(readable, truncation=False, verbose=False)["input_ids"] if readable else []
        return [len(one) > self.max_tokens for one in tokens]


@cache
def load_sentence_transformer(name: str) -> SentenceTransformerEmbedder:
    """`name` is a folder, or the name of a model in this machine's model cache; the hub is never asked.

    `MissingExtra` when the library is not installed, `SettingsError` when there is no such model here.
    """
    with environment(_OFFLINE):
        try:
            from sentence_transformers import SentenceTransformer
        except ImportError as error:
            raise MissingExtra("sentence-transformers", "local") from error
        try:
            model = SentenceTransformer(name, device="cpu", local_files_only=True)
        except (OSError, ValueError) as error:
            raise SettingsError(
                f"no sentence-transformers model {name!r} on this machine ({type(error).__name__}: {error})",
                hint="Give the path of a folder that holds one, or download it first: "
                f"hf download {name if '/' in name else 'sentence-transformers/' + name}",
            ) from error
    return SentenceTransformerEmbedder(name, model)


def _weights_digest(model: Any) -> str:
    """SHA-256 over the parameters' names and bytes, so that an edited folder is another model."""
    digest = hashlib.sha256()
    for name, tensor in sorted(model.state_dict().items()):
        digest.update(name.encode())
        digest.update(np.ascontiguousarray(tensor.detach().cpu().float().numpy()).tobytes())
    return digest.hexdigest()
