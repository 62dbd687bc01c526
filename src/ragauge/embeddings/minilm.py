"""all-MiniLM-L6-v2 in numpy: the default embedder. No torch, no network, weights in the package."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import resources
from itertools import chain
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from ragauge.core.model import fingerprint
from ragauge.embeddings.base import Vectors, normalise_rows
from ragauge.embeddings.tokenizer import WordPiece

ASSET = "minilm_int8.npz"
#: Of the asset file; the tests compare. Part of the fingerprint that keys cached vectors.
ASSET_SHA256 = "9eab5e703234d0f1f1ad9107915d8bb9a233d024f5cb94f55fc0a541d10ede6c"
#: Raised when the code changes a vector by more than rounding.
CODE_VERSION = 1

N_LAYERS, N_HEADS, DIMENSION, MAX_TOKENS = 6, 12, 384, 256
#: Tokens in one pass: enough to keep the matrix products large, little enough for the processor's caches.
TOKENS_PER_BATCH = 1024
#: Rows of the inner layer that are activated at once, so that the passes over them stay in the cache.
GELU_ROWS = 64


@dataclass(frozen=True, eq=False)
class _Layer:
    """Weights of one transformer layer; matrices lie as (inputs, outputs)."""

    attention: Vectors
    attention_bias: Vectors
    mixed: Vectors
    mixed_bias: Vectors
    mixed_norm: tuple[Vectors, Vectors]
    inner: Vectors
    inner_bias: Vectors
    outer: Vectors
    outer_bias: Vectors
    outer_norm: tuple[Vectors, Vectors]


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
        self._tokenizer = WordPiece(arrays["vocabulary"].tobytes().decode("utf-8").split("\n")[:-1])
        words = "embeddings.word_embeddings.weight"
        # stays int8: only the rows that a batch needs are scaled, which saves 35 MB and most of the loading time
        self._words, self._word_scales = arrays["int8:" + words], arrays["scale:" + words]
        types = _matrix(arrays, "embeddings.token_type_embeddings.weight")
        self._positions = _matrix(arrays, "embeddings.position_embeddings.weight") + types[0]
        self._norm = _norm(arrays, "embeddings.LayerNorm")
        self._layers = tuple(_layer(arrays, f"encoder.layer.{index}.") for index in range(N_LAYERS))

    def encode(self, texts: Sequence[str]) -> Vectors:
        """float32 (len(texts), 384), rows of length 1. A blank text has the vector of an empty sentence."""
        ids = [self._tokenizer.encode(text, MAX_TOKENS)[0] for text in texts]
        result = np.empty((len(ids), DIMENSION), np.float32)
        for batch in _batches([len(one) for one in ids]):
            tokens, lengths = self._forward([ids[index] for index in batch])
            keep = np.arange(tokens.shape[1]) < lengths[:, None]
            result[batch] = np.einsum("bth,bt->bh", tokens, keep.astype(np.float32)) / lengths[:, None]
        return normalise_rows(result)

    def token_vectors(self, texts: Sequence[str]) -> list[Vectors]:
        """For each text its tokens' vectors, float32 (n_tokens, 384), rows of length 1, special tokens left out."""
        ids = [self._tokenizer.encode(text, MAX_TOKENS)[0] for text in texts]
        result: list[Vectors] = [np.empty((0, DIMENSION), np.float32)] * len(ids)
        for batch in _batches([len(one) for one in ids]):
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

        ids = [self._tokenizer.encode(text, MAX_TOKENS)[0][1:-1] for text in texts]
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
        return [self._tokenizer.encode(text, MAX_TOKENS)[1] for text in texts]

    def count_word_tokens(self, word: str) -> int:
        """How many tokens a word becomes; those of a text are the sum over its words, special ones apart."""
        return len(self._tokenizer.encode(word, 3 * len(word) + 3)[0]) - 2

    def _forward(self, ids: Sequence[Sequence[int]]) -> tuple[Vectors, NDArray[np.int64]]:
        """Last hidden state (n_texts, n_tokens, 384), padded at the end, and the texts' lengths in tokens."""
        lengths = np.array([len(one) for one in ids])
        n_texts, n_tokens = len(ids), int(lengths.max())
        padded = np.zeros((n_texts, n_tokens), np.intp)
        for row, one in enumerate(ids):
            padded[row, : len(one)] = one
        flat = padded.reshape(-1)
        x = self._words[flat] * self._word_scales[flat]
        x.reshape(n_texts, n_tokens, DIMENSION)[:] += self._positions[:n_tokens]
        _layer_norm(x, self._norm)
        padding: Vectors | None = None
        if int(lengths.min()) < n_tokens:
            padding = np.where(np.arange(n_tokens) < lengths[:, None], np.float32(0), np.float32(-1e9))
            padding = padding[:, None, None, :]
        inner = np.empty((len(flat), 4 * DIMENSION), np.float32)
        for layer in self._layers:
            x = _attended(x, layer, (n_texts, n_tokens), padding)
            np.matmul(x, layer.inner, out=inner)
            _gelu(inner, layer.inner_bias)
            out = inner @ layer.outer
            out += layer.outer_bias
            out += x
            x = _layer_norm(out, layer.outer_norm)
        return x.reshape(n_texts, n_tokens, DIMENSION), lengths


@cache
def load_minilm() -> MiniLM:
    """The packaged model, read once per process (about 0.3 s, 60 MB)."""
    with resources.files("ragauge.embeddings").joinpath(ASSET).open("rb") as asset:
        return MiniLM(asset)


def _attended(x: Vectors, layer: _Layer, shape: tuple[int, int], padding: Vectors | None) -> Vectors:
    """Self-attention with its residual and norm. The scale 1/√32 is already in the query weights."""
    n_texts, n_tokens = shape
    both = x @ layer.attention
    both += layer.attention_bias
    heads = both.reshape(n_texts, n_tokens, 3, N_HEADS, DIMENSION // N_HEADS).transpose(2, 0, 3, 1, 4)
    scores = heads[0] @ heads[1].transpose(0, 1, 3, 2)
    if padding is not None:
        scores += padding
    scores -= scores.max(axis=-1, keepdims=True)
    np.exp(scores, out=scores)
    mixed = scores @ heads[2]
    mixed /= scores.sum(axis=-1, keepdims=True)
    out = mixed.transpose(0, 2, 1, 3).reshape(-1, DIMENSION) @ layer.mixed
    out += layer.mixed_bias
    out += x
    return _layer_norm(out, layer.mixed_norm)


def _layer_norm(x: Vectors, norm: tuple[Vectors, Vectors]) -> Vectors:
    """`x` of shape (n, 384), in place: each row to mean 0 and variance 1, then scaled and shifted."""
    weight, bias = norm
    x -= x.mean(axis=1, keepdims=True)
    x *= 1 / np.sqrt(np.einsum("ij,ij->i", x, x)[:, None] / np.float32(DIMENSION) + np.float32(1e-12))
    x *= weight
    x += bias
    return x


def _gelu(x: Vectors, bias: Vectors) -> None:
    """`x + bias` through GELU, in place: x/2 (1 + tanh(√(2/π) (x + 0.044715 x³))), within 5e-4 of the exact one."""
    scratch = np.empty((GELU_ROWS, x.shape[1]), np.float32)
    for start in range(0, len(x), GELU_ROWS):
        part = x[start : start + GELU_ROWS]
        work = scratch[: len(part)]
        part += bias
        np.multiply(part, part, out=work)
        work *= np.float32(0.044715 * 0.7978845608)
        work += np.float32(0.7978845608)
        work *= part
        np.tanh(work, out=work)
        work += np.float32(1)
        part *= np.float32(0.5)
        part *= work


def _batches(lengths: Sequence[int]) -> Iterator[list[int]]:
    """Indices of texts, shortest first, so that a batch's texts are of like length and little is padded."""
    order = sorted(range(len(lengths)), key=lambda index: (lengths[index], index))
    batch: list[int] = []
    for index in order:
        if batch and (len(batch) + 1) * lengths[index] > TOKENS_PER_BATCH:
            yield batch
            batch = []
        batch.append(index)
    if batch:
        yield batch


def _matrix(arrays: dict[str, Any], name: str) -> Vectors:
    matrix: Vectors = arrays["int8:" + name] * arrays["scale:" + name]
    return matrix


def _norm(arrays: dict[str, Any], name: str) -> tuple[Vectors, Vectors]:
    return arrays[f"float:{name}.weight"], arrays[f"float:{name}.bias"]


def _layer(arrays: dict[str, Any], name: str) -> _Layer:
    def weight(part: str) -> Vectors:
        return np.ascontiguousarray(_matrix(arrays, f"{name}{part}.weight").T)

    def bias(part: str) -> Vectors:
        vector: Vectors = arrays[f"float:{name}{part}.bias"]
        return vector

    scale = np.float32((DIMENSION // N_HEADS) ** -0.5)
    parts = ("attention.self.query", "attention.self.key", "attention.self.value")
    scales = (scale, np.float32(1), np.float32(1))
    return _Layer(
        attention=np.concatenate([weight(part) * by for part, by in zip(parts, scales, strict=True)], axis=1),
        attention_bias=np.concatenate([bias(part) * by for part, by in zip(parts, scales, strict=True)]),
        mixed=weight("attention.output.dense"),
        mixed_bias=bias("attention.output.dense"),
        mixed_norm=_norm(arrays, name + "attention.output.LayerNorm"),
        inner=weight("intermediate.dense"),
        inner_bias=bias("intermediate.dense"),
        outer=weight("output.dense"),
        outer_bias=bias("output.dense"),
        outer_norm=_norm(arrays, name + "output.LayerNorm"),
    )
