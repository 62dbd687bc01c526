"""Loading cross-encoders: by onnxruntime from a folder with `model.onnx`, else by sentence-transformers. Nothing is
downloaded unless the settings say `download: true`.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from ragauge.errors import InputError, MissingExtra, SettingsError

_SUPPORTED = ("entail", "consistent", "supported", "factual", "grounded")
_CONTRADICTED = ("contradict", "refute")
_NEGATED = ("not_", "non_", "in", "un", "not ", "non-", "not-")
_BATCH = 16


class Scorer(Protocol):
    """Reads (passage, claim) pairs."""

    @property
    def name(self) -> str:
        """Name or folder of the model."""
        ...

    @property
    def fingerprint(self) -> str:
        """Changes with the model."""
        ...

    def score(self, pairs: Sequence[tuple[str, str]]) -> list[tuple[float, float]]:
        """For each pair the probabilities (0 to 1) that the passage supports and that it contradicts the claim."""
        ...


@dataclass(frozen=True)
class Classes:
    """Which of a model's outputs means support and which contradiction; one output alone is support by a sigmoid."""

    n: int
    supported: int = 0
    contradicted: int | None = None

    @classmethod
    def of(cls, labels: Mapping[int, str], name: str) -> Classes:
        """From the model's own label names; `SettingsError` if they do not say which one means support."""
        if len(labels) == 1:
            return cls(1)
        plain = {number: label.casefold() for number, label in labels.items()}
        yes = [
            n for n, label in plain.items() if any(w in label for w in _SUPPORTED) and not label.startswith(_NEGATED)
        ]
        no = [n for n, label in plain.items() if any(w in label for w in _CONTRADICTED)]
        if len(yes) != 1 or len(no) > 1:
            raise SettingsError(
                f"{name}: its labels {sorted(labels.values())} do not say which one means that a claim is supported",
                hint="Use an NLI model (entailment, neutral, contradiction) or a detector with one output.",
            )
        return cls(len(labels), yes[0], no[0] if no else None)

    def probabilities(self, logits: NDArray[np.float32]) -> list[tuple[float, float]]:
        """Logits (pairs × outputs) → probabilities of support and contradiction."""
        wide = np.asarray(logits, dtype=np.float64).reshape(len(logits), -1)
        if self.n == 1:
            return [(float(p), 0.0) for p in 1 / (1 + np.exp(-np.clip(wide[:, 0], -500, 500)))]
        shares = np.exp(wide - wide.max(axis=1, keepdims=True))
        shares /= shares.sum(axis=1, keepdims=True)
        contradicted = None if self.contradicted is None else shares[:, self.contradicted]
        return [
            (float(p), 0.0 if contradicted is None else float(contradicted[row]))
            for row, p in enumerate(shares[:, self.supported])
        ]


@dataclass(frozen=True)
class OnnxScorer:
    """A folder with `model.onnx` (also under `onnx/`), `tokenizer.json` and `config.json`, by onnxruntime."""

    name: str
    fingerprint: str
    session: Any = field(repr=False, compare=False)
    tokenizer: Any = field(repr=False, compare=False)
    classes: Classes

    def score(self, pairs: Sequence[tuple[str, str]]) -> list[tuple[float, float]]:
        """Probabilities of support and contradiction for each pair."""
        scores: list[tuple[float, float]] = []
        wanted = [put.name for put in self.session.get_inputs()]
        for start in range(0, len(pairs), _BATCH):
            read = self.tokenizer.encode_batch(list(pairs[start : start + _BATCH]))
            columns = {
                "input_ids": [one.ids for one in read],
                "attention_mask": [one.attention_mask for one in read],
                "token_type_ids": [one.type_ids for one in read],
            }
            given = {name: np.asarray(columns[name], dtype=np.int64) for name in wanted}
            scores += self.classes.probabilities(self.session.run(None, given)[0])
        return scores


@dataclass(frozen=True)
class SentenceTransformerScorer:
    """Any cross-encoder that sentence-transformers loads."""

    name: str
    fingerprint: str
    model: Any = field(repr=False, compare=False)
    classes: Classes

    def score(self, pairs: Sequence[tuple[str, str]]) -> list[tuple[float, float]]:
        """Probabilities of support and contradiction for each pair."""
        import torch

        logits = self.model.predict(
            list(pairs), batch_size=_BATCH, show_progress_bar=False, activation_fn=torch.nn.Identity()
        )
        return self.classes.probabilities(np.asarray(logits))


def load_scorer(name: str, *, download: bool = False) -> Scorer:
    """The cross-encoder in the folder `name`, or called `name`. `MissingExtra` without the libraries."""
    folder = Path(name).expanduser()
    for inner in (folder, folder / "onnx"):
        if (inner / "model.onnx").is_file():
            return _load_onnx(folder, inner / "model.onnx")
    return _load_sentence_transformer(name, download)


def _load_onnx(folder: Path, model: Path) -> OnnxScorer:
    try:
        import onnxruntime
        from tokenizers import Tokenizer
    except ImportError:
        raise MissingExtra("onnxruntime", "local") from None
    for needed in ("tokenizer.json", "config.json"):
        if not (folder / needed).is_file():
            raise InputError(f"the model's folder lacks {needed}", file=str(folder))
    tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
    config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    longest = int(config.get("max_position_embeddings") or 512)
    tokenizer.enable_truncation(min(longest, 512), strategy="only_first")
    tokenizer.enable_padding(pad_id=int(config.get("pad_token_id") or 0))
    try:
        session = onnxruntime.InferenceSession(str(model), providers=["CPUExecutionProvider"])
    except Exception as problem:  # onnxruntime's own errors have no common base that it exports
        raise InputError(f"onnxruntime cannot load the model: {problem}", file=str(model)) from None
    labels = {int(number): str(label) for number, label in (config.get("id2label") or {0: "LABEL_0"}).items()}
    digest = hashlib.sha256()
    with model.open("rb") as opened:
        while block := opened.read(1 << 20):
            digest.update(block)
    return OnnxScorer(folder.name, digest.hexdigest()[:16], session, tokenizer, Classes.of(labels, folder.name))


def _load_sentence_transformer(name: str, download: bool) -> SentenceTransformerScorer:
    try:
        from sentence_transformers import CrossEncoder
    except ImportError:
        raise MissingExtra("sentence-transformers", "local") from None
    try:
        model = CrossEncoder(name, local_files_only=not download)
    except (OSError, ValueError) as problem:
        hint = "Give a folder, or set `download: true` to have it fetched by its name."
        raise SettingsError(f"the cross-encoder {name!r} cannot be loaded: {problem}"[:300], hint=hint) from None
    config = model.model.config
    digest = hashlib.sha256(json.dumps(config.to_dict(), sort_keys=True, default=str).encode())
    for tensor in list(model.model.state_dict().values())[:4]:
        digest.update(tensor.detach().float().numpy().tobytes())
    labels = {int(number): str(label) for number, label in config.id2label.items()}
    return SentenceTransformerScorer(Path(name).name, digest.hexdigest()[:16], model, Classes.of(labels, name))
