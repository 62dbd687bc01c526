"""Cross-encoders that say how relevant a passage is to a query: from a folder by onnxruntime, else by name."""

from __future__ import annotations

import hashlib
import json
import threading
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from ragauge.errors import InputError, MissingExtra, SettingsError

_BATCH = 32
_LONGEST = 512


class Relevance(Protocol):
    """Reads (query, passage) pairs."""

    @property
    def fingerprint(self) -> str:
        """Changes with the weights."""
        ...

    def scores(self, query: str, passages: Sequence[str]) -> list[float]:
        """One number for each passage, higher is more relevant; the model's own scale."""
        ...


@dataclass
class OnnxRelevance:
    """A folder with `model.onnx` (also under `onnx/`) and `tokenizer.json`."""

    fingerprint: str
    session: Any = field(repr=False)
    tokenizer: Any = field(repr=False)
    _lock: Any = field(default_factory=threading.Lock, repr=False)

    def scores(self, query: str, passages: Sequence[str]) -> list[float]:
        """The one output, or of several the last one."""
        wanted = [put.name for put in self.session.get_inputs()]
        found: list[float] = []
        for start in range(0, len(passages), _BATCH):
            pairs = [(query, _readable(passage)) for passage in passages[start : start + _BATCH]]
            with self._lock:  # the tokenizer keeps its padding while it reads a batch
                read = self.tokenizer.encode_batch(pairs)
            columns = {
                "input_ids": [one.ids for one in read],
                "attention_mask": [one.attention_mask for one in read],
                "token_type_ids": [one.type_ids for one in read],
            }
            given = {name: np.asarray(columns[name], dtype=np.int64) for name in wanted}
            logits = np.asarray(self.session.run(None, given)[0], np.float64).reshape(len(pairs), -1)
            found += [float(one) for one in logits[:, -1]]
        return found


@dataclass
class SentenceTransformersRelevance:
    """Any cross-encoder that sentence-transformers loads."""

    fingerprint: str
    model: Any = field(repr=False)

    def scores(self, query: str, passages: Sequence[str]) -> list[float]:
        """The one output, or of several the last one."""
        import torch

        pairs = [(query, _readable(passage)) for passage in passages]
        logits = self.model.predict(
            pairs, batch_size=_BATCH, show_progress_bar=False, activation_fn=torch.nn.Identity()
        )
        return [float(one) for one in np.asarray(logits, np.float64).reshape(len(pairs), -1)[:, -1]]


@cache
def load_relevance(name: str) -> Relevance:
    """The cross-encoder in the folder `name`, or called `name` in this machine's model cache; nothing is downloaded."""
    folder = Path(name).expanduser()
    for inner in (folder, folder / "onnx"):
        if (inner / "model.onnx").is_file():
            return _onnx(folder, inner / "model.onnx")
    try:
        from sentence_transformers import CrossEncoder
    except ImportError:
        raise MissingExtra("sentence-transformers (or a folder with model.onnx)", "local") from None
    try:
        model = CrossEncoder(name, local_files_only=True)
    except (OSError, ValueError) as problem:
        raise SettingsError(
            f"rerank: the cross-encoder {name!r} cannot be loaded: {problem}"[:300],
            hint=f"Give a folder, or download it first: hf download {name}",
        ) from None
    digest = hashlib.sha256()
    for key, tensor in sorted(model.model.state_dict().items()):
        digest.update(key.encode() + np.ascontiguousarray(tensor.detach().cpu().float().numpy()).tobytes())
    return SentenceTransformersRelevance(digest.hexdigest()[:16], model)


def _onnx(folder: Path, file: Path) -> OnnxRelevance:
    try:
        import onnxruntime
        from tokenizers import Tokenizer
    except ImportError:
        raise MissingExtra("onnxruntime", "local") from None
    if not (folder / "tokenizer.json").is_file():
        raise InputError("the model's folder lacks tokenizer.json", file=str(folder))
    config = folder / "config.json"
    told = json.loads(config.read_text(encoding="utf-8")) if config.is_file() else {}
    tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
    limit = min(int(told.get("max_position_embeddings") or _LONGEST), _LONGEST)
    tokenizer.enable_truncation(limit, strategy="only_second")
    tokenizer.enable_padding(pad_id=int(told.get("pad_token_id") or 0))
    try:
        session = onnxruntime.InferenceSession(str(file), providers=["CPUExecutionProvider"])
    except Exception as problem:  # onnxruntime's own errors have no common base that it exports
        raise InputError(f"onnxruntime cannot load the model: {problem}", file=str(file)) from None
    digest = hashlib.sha256(file.read_bytes())
    digest.update((folder / "tokenizer.json").read_bytes())
    return OnnxRelevance(digest.hexdigest()[:16], session, tokenizer)


def _readable(text: str) -> str:
    return text.encode("utf-8", "replace").decode("utf-8")
