"""WordLlama: static word vectors, some fifty times faster than the default embedder and less exact. An extra."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from importlib import metadata
from pathlib import Path
from typing import Any

import numpy as np

from ragauge.core.model import fingerprint
from ragauge.embeddings.base import Vectors, normalise_rows
from ragauge.errors import MissingExtra


class WordLlamaEmbedder:
    """256-dimensional mean of static token vectors, derived from Llama token tables (its own licence applies).

    Reads texts to the end. The weights are those in the installed package; nothing is downloaded.
    """

    name = "wordllama"
    max_tokens = None

    def __init__(self, model: Any, version: str) -> None:
        self._model = model
        self.dimension = int(model.embedding.shape[1])
        self.fingerprint = fingerprint({"model": "wordllama", "version": version, "dimension": self.dimension})

    def encode(self, texts: Sequence[str]) -> Vectors:
        """float32 (len(texts), 256), rows of length 1; a text without tokens has a row of zeros."""
        result = np.zeros((len(texts), self.dimension), np.float32)
        # its tokeniser refuses lone surrogates, and the mean over no tokens is NaN: blank texts stay apart
        readable = [text.encode("utf-8", "replace").decode("utf-8") for text in texts]
        filled = [index for index, text in enumerate(readable) if text.strip()]
        if filled:
            result[filled] = np.asarray(self._model.embed([readable[index] for index in filled]), np.float32)
        return normalise_rows(result)

    def truncated(self, texts: Sequence[str]) -> list[bool]:
        """Never: every token is averaged in."""
        return [False] * len(texts)


@cache
def load_wordllama() -> WordLlamaEmbedder:
    """The model of the installed `wordllama` package. `MissingExtra` when it is not installed."""
    try:
        import wordllama
    except ImportError as error:
        raise MissingExtra("wordllama", "wordllama") from error
    # without an explicit folder its loader looks for the tokenizer in the wrong place, then on the hub
    folder = Path(wordllama.__file__).parent
    model = wordllama.WordLlama.load(cache_dir=folder, disable_download=True)
    return WordLlamaEmbedder(model, metadata.version("wordllama"))
