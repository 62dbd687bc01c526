"""The second tier of the embedded judge: a small transformer that reads a claim beside its evidence."""

from __future__ import annotations

from functools import cache
from importlib.resources import files
from typing import IO, Any

import numpy as np

from ragauge.embeddings.minilm import N_LAYERS, load_minilm
from ragauge.embeddings.transformer import DIMENSION, layer_norm, matrix, norm, read_layer, transformed
from ragauge.judges.embedded.evidence import Evidence, Statement
from ragauge.judges.embedded.features import Signals
from ragauge.judges.embedded.reading import NOWHERE, PLAIN, Pair, pair_of

ASSET = "encoder_int8.npz"


class Encoder:
    """MiniLM, fine-tuned on labelled claims by `validation/judges/encoder/`: log odds that a claim is supported.

    Each token's input vector is the packaged MiniLM's plus one for its mark; the mean over the claim's tokens and the
    first token pass through a layer of 64. Weights are int8 with one scale per row, computed in float32. Each pair is
    read alone, so its log odds depend on nothing else.
    """

    def __init__(self, asset: IO[bytes]) -> None:
        with np.load(asset, allow_pickle=False) as stored:
            arrays: dict[str, Any] = {name: stored[name] for name in stored.files}
        self._marks = arrays["float:marks"]
        self._norm = norm(arrays, "embeddings.LayerNorm")
        self._layers = tuple(read_layer(arrays, f"encoder.layer.{index}.") for index in range(N_LAYERS))
        self._pool, self._pool_bias = matrix(arrays, "pool.weight"), arrays["float:pool.bias"]
        self._out, self._out_bias = arrays["float:out.weight"], arrays["float:out.bias"]

    def read(self, said: Statement, signals: Signals, evidence: Evidence) -> float:
        """The log odds that the evidence supports a claim, from those sentences of it that are closest to the claim."""
        return self.log_odds(pair_of(said, signals, evidence))

    def log_odds(self, pair: Pair) -> float:
        """ln(P(supported) / P(not supported)), to three decimals."""
        tokens, marks = np.array([pair.ids], np.intp), np.array(pair.marks)
        x = load_minilm().embedded(tokens)
        x += self._marks[marks]
        layer_norm(x, self._norm)
        states = transformed(x.reshape(1, -1, DIMENSION), self._layers, np.array([len(marks)]))[0]
        claim = (marks >= PLAIN) & (marks <= NOWHERE)
        mean = states[claim].sum(axis=0) / max(int(claim.sum()), 1)
        hidden = np.tanh(self._pool @ np.concatenate([states[0], mean]) + self._pool_bias)
        return round(float(self._out @ hidden + self._out_bias), 3)


@cache
def load_encoder() -> Encoder:
    """The packaged encoder, read once per process."""
    with files("ragauge.judges.embedded").joinpath(ASSET).open("rb") as asset:
        return Encoder(asset)
