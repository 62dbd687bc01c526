"""all-MiniLM-L6-v2 in numpy: the default embedder. No torch, no network, weights in the package."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from importlib import resources
from itertools import chain
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from ragauge.core.model import fingerprint
from ragauge.embeddings.base import Vectors, normalise_rows
from ragauge.embeddings.tokenizer import WordPiece
from ragauge.embeddings.transformer import (
    DIMENSION,
    batches,
    layer_norm,
    matrix,
    norm,
    padded,
    read_layer,
    transformed,
)  # fmt: skip

ASSET = "minilm_int8.npz"
#: Of the asset file; the tests compare. Part of the fingerprint that keys cached vectors.
ASSET_SHA256 = "9eab5e703234d0f1f1ad9107915d8bb9a233d024f5cb94f55fc0a541d10ede6c"
#: Raised when the code changes a vector by more than rounding.
CODE_VERSION = 1

N_LAYERS, MAX_TOKENS = 6, 256


class MiniLM:
    """Sentence embeddings of 384 dimensions by all-MiniLM-L6-v2 (mean of the token vectors, length 1).

    Weights are int8 with one scale per row, computed in fp32: cosine to the fp32 model's vectors is above 0.998.
    Reads the first 256 tokens of a text. Safe to use from several threads. Equal texts in equal calls give equal
    vectors; in another batch a vector can differ in the last bits (order of sums in the matrix product).
    """

    name = "minilm"
    dimension = DIMENSION
    max_tokens = MAX_TOKENS
    fingerprint = fingerprint({"model": "all-MiniLM-L6-v2", "asset": ASSET_SHA256, "code": CODE_VERSION})

    def __init__(self, asset: IO[bytes]) -> None:
        with np.load(asset, allow_pickle=False) as stored:
            arrays: dict[str, Any] = {name: stored[name] for name in stored.files}
        self.tokenizer = WordPiece(arrays["vocabulary"].tobytes().decode("utf-8").split("\n")[:-1])
        words = "embeddings.word_embeddings.weight"
        # stays int8: only the rows that a batch needs are scaled, which saves 35 MB and most of the loading time
        self._words, self._word_scales = arrays["int8:" + words], arrays["scale:" + words]
        types = matrix(arrays, "embeddings.token_type_embeddings.weight")
        self._positions = matrix(arrays, "embeddings.position_embeddings.weight") + types[0]
        self._norm = norm(arrays, "embeddings.LayerNorm")
        self._layers = tuple(read_layer(arrays, f"encoder.layer.{index}.") for index in range(N_LAYERS))

    def encode(self, texts: Sequence[str]) -> Vectors:
        """float32 (len(texts), 384), rows of length 1. A blank text has the vector of an empty sentence."""
        ids = [self.tokenizer.encode(text, MAX_TOKENS)[0] for text in texts]
        result = np.empty((len(ids), DIMENSION), np.float32)
        for batch in batches([len(one) for one in ids]):
            tokens, lengths = self._forward([ids[index] for index in batch])
            keep = np.arange(tokens.shape[1]) < lengths[:, None]
            result[batch] = np.einsum("bth,bt->bh", tokens, keep.astype(np.float32)) / lengths[:, None]
        return normalise_rows(result)

    def token_vectors(self, texts: Sequence[str]) -> list[Vectors]:
        """For each text its tokens' vectors, float32 (n_tokens, 384), rows of length 1, special tokens left out."""
        ids = [self.tokenizer.encode(text, MAX_TOKENS)[0] for text in texts]
        result: list[Vectors] = [np.empty((0, DIMENSION), np.float32)] * len(ids)
        for batch in batches([len(one) for one in ids]):
            tokens, _ = self._forward([ids[index] for index in batch])
            for row, index in enumerate(batch):
                result[index] = normalise_rows(tokens[row, 1 : len(ids[index]) - 1])
        return result

    def word_vectors(self, texts: Sequence[str]) -> Vectors:
        """float32 (len(texts), 384), rows of length 1 (zero for a blank text), without a pass through the model.

        The mean of the tokens' input vectors, weighted by how rare each token is among `texts`: weight
        log((n + 1) / (df + 0.5)) for a token in df of n texts. Hundreds of times as fast as `encode`, and coarser: for
        grouping many short texts, never for search. A text's vector depends on the texts beside it.
        """
        from scipy.sparse import csr_array

        ids = [self.tokenizer.encode(text, MAX_TOKENS)[0][1:-1] for text in texts]
        lengths = np.fromiter(map(len, ids), np.int64, len(ids))
        flat = np.fromiter(chain.from_iterable(ids), np.int64, int(lengths.sum()))
        starts = np.concatenate(([0], np.cumsum(lengths)))
        counts = csr_array((np.ones(len(flat), np.float32), flat, starts), shape=(len(ids), len(self._words)))
        counts.sum_duplicates()
        n_texts_with = np.bincount(counts.indices, minlength=len(self._words))
        weight = np.log((len(ids) + 1) / (n_texts_with + 0.5)).clip(min=0).astype(np.float32)
        counts.data = np.sqrt(counts.data) * weight[counts.indices]
        used = np.flatnonzero(n_texts_with)
        table = self._words[used] * self._word_scales[used]
        return normalise_rows(np.asarray(counts[:, used] @ table, np.float32))

    def truncated(self, texts: Sequence[str]) -> list[bool]:
        """For each text whether it has more than 256 tokens, so that its end is not in its vector."""
        return [self.tokenizer.encode(text, MAX_TOKENS)[1] for text in texts]

    def count_word_tokens(self, word: str) -> int:
        """How many tokens a word becomes; those of a text are the sum over its words, special ones apart."""
        return len(self.tokenizer.encode(word, 3 * len(word) + 3)[0]) - 2

    def _forward(self, ids: Sequence[Sequence[int]]) -> tuple[Vectors, NDArray[np.int64]]:
        """Last hidden state (n_texts, n_tokens, 384), padded at the end, and the texts' lengths in tokens."""
        tokens, lengths = padded(ids)
        x = self.embedded(tokens)
        layer_norm(x, self._norm)
        return transformed(x.reshape(*tokens.shape, DIMENSION), self._layers, lengths), lengths

    def embedded(self, tokens: NDArray[np.intp]) -> Vectors:
        """(n_texts · n_tokens, 384): each token's input vector plus that of its place, before the first norm."""
        flat = tokens.reshape(-1)
        x: Vectors = self._words[flat] * self._word_scales[flat]
        x.reshape(*tokens.shape, DIMENSION)[:] += self._positions[: tokens.shape[1]]
        return x


@cache
def load_minilm() -> MiniLM:
    """The packaged model, read once per process (about 0.3 s, 60 MB)."""
    with resources.files("ragauge.embeddings").joinpath(ASSET).open("rb") as asset:
        return MiniLM(asset)
