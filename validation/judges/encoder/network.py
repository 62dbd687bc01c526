"""The encoder in torch, for training: the packaged MiniLM with a vector for each token's mark and a small head."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from ragauge.judges.embedded.reading import NOWHERE, PLAIN, Pair

N_LAYERS, N_MARKS, HEAD, WIDTH, HEADS = 6, 7, 64, 384, 12


def packaged() -> dict[str, Any]:
    """The arrays of the packaged MiniLM."""
    with files("ragauge.embeddings").joinpath("minilm_int8.npz").open("rb") as asset, np.load(asset) as stored:
        return {name: stored[name] for name in stored.files}


def _matrix(arrays: Mapping[str, Any], name: str) -> Tensor:
    return torch.tensor(arrays["int8:" + name] * arrays["scale:" + name])


def _linear(arrays: Mapping[str, Any], *names: str) -> Any:
    """One layer of several stored ones, their outputs side by side."""
    weight = torch.cat([_matrix(arrays, f"{name}.weight") for name in names])
    made = nn.Linear(weight.shape[1], weight.shape[0])
    made.weight.data = weight
    made.bias.data = torch.cat([torch.tensor(arrays[f"float:{name}.bias"]) for name in names])
    return made


def _norm(arrays: Mapping[str, Any], name: str) -> Any:
    made = nn.LayerNorm(WIDTH, eps=1e-12)
    made.weight.data = torch.tensor(arrays[f"float:{name}.weight"])
    made.bias.data = torch.tensor(arrays[f"float:{name}.bias"])
    return made


class _Layer(nn.Module):  # type: ignore[misc]
    def __init__(self, arrays: Mapping[str, Any], name: str) -> None:
        super().__init__()
        self.attention = _linear(arrays, *(f"{name}attention.self.{part}" for part in ("query", "key", "value")))
        self.mixed = _linear(arrays, name + "attention.output.dense")
        self.inner = _linear(arrays, name + "intermediate.dense")
        self.outer = _linear(arrays, name + "output.dense")
        self.mixed_norm = _norm(arrays, name + "attention.output.LayerNorm")
        self.outer_norm = _norm(arrays, name + "output.LayerNorm")

    def forward(self, x: Tensor, mask: Tensor, drop: float) -> Tensor:
        n, length, _ = x.shape
        query, key, value = self.attention(x).view(n, length, 3, HEADS, WIDTH // HEADS).permute(2, 0, 3, 1, 4)
        seen = functional.scaled_dot_product_attention(query, key, value, attn_mask=mask)
        seen = self.mixed(seen.transpose(1, 2).reshape(n, length, WIDTH))
        x = self.mixed_norm(x + functional.dropout(seen, drop, self.training))
        inner = self.outer(functional.gelu(self.inner(x), approximate="tanh"))
        return self.outer_norm(x + functional.dropout(inner, drop, self.training))


class Network(nn.Module):  # type: ignore[misc]
    """Log odds that a claim is supported. Word and place vectors stay as they are; so do the first `frozen` layers."""

    def __init__(self) -> None:
        super().__init__()
        arrays = packaged()
        words = _matrix(arrays, "embeddings.word_embeddings.weight")
        places = _matrix(arrays, "embeddings.position_embeddings.weight")
        self.words = nn.Embedding.from_pretrained(words, freeze=True)
        self.places = nn.Embedding.from_pretrained(
            places + _matrix(arrays, "embeddings.token_type_embeddings.weight")[0], freeze=True
        )
        self.marks = nn.Embedding(N_MARKS, WIDTH)
        self.marks.weight.data.normal_(0, 0.02)
        self.norm = _norm(arrays, "embeddings.LayerNorm")
        self.layers = nn.ModuleList(_Layer(arrays, f"encoder.layer.{index}.") for index in range(N_LAYERS))
        self.pool, self.out = nn.Linear(2 * WIDTH, HEAD), nn.Linear(HEAD, 1)
        self.frozen = 0

    def freeze(self, layers: int) -> None:
        """Keep the input vectors and the first `layers` layers as they are."""
        self.frozen = layers
        for module in (self.marks, self.norm, *self.layers[:layers]):
            for parameter in module.parameters():
                parameter.requires_grad_(layers == 0)

    def forward(self, ids: Tensor, marks: Tensor, keep: Tensor, drop: float = 0.1) -> Tensor:
        """(n) log odds of n pairs, padded at the end."""
        mask = torch.zeros(keep.shape).masked_fill(~keep, -1e9)[:, None, None, :]
        mask = mask.to(torch.bfloat16) if torch.is_autocast_enabled("cpu") else mask
        with torch.set_grad_enabled(torch.is_grad_enabled() and not self.frozen):
            x = self.norm(self.words(ids) + self.places.weight[: ids.shape[1]] + self.marks(marks))
            x = x if self.frozen else functional.dropout(x, drop, self.training)
            for layer in self.layers[: self.frozen]:
                x = layer(x, mask, 0.0)
        for layer in self.layers[self.frozen :]:
            x = layer(x, mask, drop)
        claim = ((marks >= PLAIN) & (marks <= NOWHERE))[..., None]
        mean = (x * claim).sum(1) / claim.sum(1).clamp(min=1)
        hidden = torch.tanh(self.pool(functional.dropout(torch.cat([x[:, 0], mean], 1), drop, self.training)))
        return self.out(hidden).squeeze(1).float()


def padded(pairs: Sequence[Pair]) -> tuple[Tensor, Tensor, Tensor]:
    """(ids, marks, which are tokens) of pairs, zeros at the end."""
    length = max(len(pair.ids) for pair in pairs)
    ids, marks = np.zeros((len(pairs), length), np.int64), np.zeros((len(pairs), length), np.int64)
    keep = np.zeros((len(pairs), length), bool)
    for row, pair in enumerate(pairs):
        n = len(pair.ids)
        ids[row, :n], marks[row, :n], keep[row, :n] = pair.ids, pair.marks, True
    return torch.from_numpy(ids), torch.from_numpy(marks), torch.from_numpy(keep)


def export(network: Network, target: Path) -> None:
    """The weights as the package reads them: matrices in 8 bits with a scale for each row, the rest in float32."""
    arrays: dict[str, Any] = {}

    def matrix(name: str, weight: Tensor) -> None:
        rows = weight.detach().float().numpy()
        scale = np.abs(rows).max(axis=1, keepdims=True).astype(np.float32) / 127
        scale[scale == 0] = 1
        arrays["int8:" + name], arrays["scale:" + name] = np.round(rows / scale).astype(np.int8), scale

    def plain(name: str, value: Tensor) -> None:
        arrays["float:" + name] = value.detach().float().numpy().astype(np.float32)

    def linear(name: str, module: Any, part: slice = slice(None)) -> None:
        matrix(f"{name}.weight", module.weight[part])
        plain(f"{name}.bias", module.bias[part])

    plain("marks", network.marks.weight)
    for index, layer in enumerate(network.layers):
        name = f"encoder.layer.{index}."
        for place, part in enumerate(("query", "key", "value")):
            linear(f"{name}attention.self.{part}", layer.attention, slice(place * WIDTH, (place + 1) * WIDTH))
        linear(name + "attention.output.dense", layer.mixed)
        linear(name + "intermediate.dense", layer.inner)
        linear(name + "output.dense", layer.outer)
        norms = ((name + "attention.output.LayerNorm", layer.mixed_norm), (name + "output.LayerNorm", layer.outer_norm))
        for called, module in norms:
            plain(f"{called}.weight", module.weight)
            plain(f"{called}.bias", module.bias)
    plain("embeddings.LayerNorm.weight", network.norm.weight)
    plain("embeddings.LayerNorm.bias", network.norm.bias)
    linear("pool", network.pool)
    plain("out.weight", network.out.weight[0])
    plain("out.bias", network.out.bias[0])
    np.savez_compressed(target, **arrays)
