"""BERT's transformer in numpy, as the packaged models use it: layers of 384 dimensions, weights int8 by rows."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ragauge.embeddings.base import Vectors

N_HEADS, DIMENSION = 12, 384
#: Tokens in one pass: enough to keep the matrix products large, little enough for the processor's caches.
TOKENS_PER_BATCH = 1024
#: Rows of the inner layer that are activated at once, so that the passes over them stay in the cache.
GELU_ROWS = 64


@dataclass(frozen=True, eq=False)
class Layer:
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


def padded(ids: Sequence[Sequence[int]]) -> tuple[NDArray[np.intp], NDArray[np.int64]]:
    """(n_texts, n_tokens), zeros at the end, and the texts' lengths in tokens."""
    lengths = np.array([len(one) for one in ids])
    table = np.zeros((len(ids), int(lengths.max())), np.intp)
    for row, one in enumerate(ids):
        table[row, : len(one)] = one
    return table, lengths


def transformed(x: Vectors, layers: Sequence[Layer], lengths: NDArray[np.int64]) -> Vectors:
    """`x` (n_texts, n_tokens, 384), padded at the end, through the layers. Padding is attended to by nobody."""
    n_texts, n_tokens = x.shape[:2]
    padding: Vectors | None = None
    if int(lengths.min()) < n_tokens:
        padding = np.where(np.arange(n_tokens) < lengths[:, None], np.float32(0), np.float32(-1e9))
        padding = padding[:, None, None, :]
    x = x.reshape(-1, DIMENSION)
    inner = np.empty((len(x), 4 * DIMENSION), np.float32)
    for layer in layers:
        x = _attended(x, layer, (n_texts, n_tokens), padding)
        np.matmul(x, layer.inner, out=inner)
        _gelu(inner, layer.inner_bias)
        out = inner @ layer.outer
        out += layer.outer_bias
        out += x
        x = layer_norm(out, layer.outer_norm)
    return x.reshape(n_texts, n_tokens, DIMENSION)


def _attended(x: Vectors, layer: Layer, shape: tuple[int, int], padding: Vectors | None) -> Vectors:
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
    return layer_norm(out, layer.mixed_norm)


def layer_norm(x: Vectors, norm: tuple[Vectors, Vectors]) -> Vectors:
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


def batches(lengths: Sequence[int]) -> Iterator[list[int]]:
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


def matrix(arrays: Mapping[str, Any], name: str) -> Vectors:
    """A stored matrix in float32: its int8 rows, each by its scale."""
    product: Vectors = arrays["int8:" + name] * arrays["scale:" + name]
    return product


def norm(arrays: Mapping[str, Any], name: str) -> tuple[Vectors, Vectors]:
    """(weight, bias) of a stored norm."""
    return arrays[f"float:{name}.weight"], arrays[f"float:{name}.bias"]


def read_layer(arrays: Mapping[str, Any], name: str) -> Layer:
    """A stored layer by its reference names, laid out for the products here."""

    def weight(part: str) -> Vectors:
        return np.ascontiguousarray(matrix(arrays, f"{name}{part}.weight").T)

    def bias(part: str) -> Vectors:
        vector: Vectors = arrays[f"float:{name}{part}.bias"]
        return vector

    scale = np.float32((DIMENSION // N_HEADS) ** -0.5)
    parts = ("attention.self.query", "attention.self.key", "attention.self.value")
    scales = (scale, np.float32(1), np.float32(1))
    return Layer(
        attention=np.concatenate([weight(part) * by for part, by in zip(parts, scales, strict=True)], axis=1),
        attention_bias=np.concatenate([bias(part) * by for part, by in zip(parts, scales, strict=True)]),
        mixed=weight("attention.output.dense"),
        mixed_bias=bias("attention.output.dense"),
        mixed_norm=norm(arrays, name + "attention.output.LayerNorm"),
        inner=weight("intermediate.dense"),
        inner_bias=bias("intermediate.dense"),
        outer=weight("output.dense"),
        outer_bias=bias("output.dense"),
        outer_norm=norm(arrays, name + "output.LayerNorm"),
    )
