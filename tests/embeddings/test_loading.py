from __future__ import annotations

import os
import socket
import subprocess
import sys
import types
from pathlib import Path

import numpy as np
import pytest

from ragauge.embeddings import Embedder, load
from ragauge.embeddings.sentence_transformer import SentenceTransformerEmbedder, load_sentence_transformer
from ragauge.embeddings.wordllama import load_wordllama
from ragauge.errors import MissingExtra, SettingsError, UnknownName


@pytest.fixture
def no_sockets(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise AssertionError("a socket was opened")

    monkeypatch.setattr(socket, "socket", refuse)
    monkeypatch.setattr(socket, "create_connection", refuse)
    monkeypatch.setattr(socket, "getaddrinfo", refuse)


@pytest.fixture
def fresh() -> None:
    load_wordllama.cache_clear()
    load_sentence_transformer.cache_clear()


@pytest.mark.usefixtures("no_sockets")
def test_the_default_opens_no_socket() -> None:
    assert load().encode(["no network"]).shape == (1, 384)


def test_loading_in_a_fresh_process_opens_no_socket_and_takes_under_two_seconds() -> None:
    code = (
        "import socket, time, sys\n"
        "def refuse(*a, **k): raise AssertionError('a socket was opened')\n"
        "socket.socket = socket.create_connection = socket.getaddrinfo = refuse\n"
        "from ragauge.embeddings import load\n"
        "began = time.process_time(); load(); print(time.process_time() - began)\n"
        "assert 'ragauge.embeddings.wordllama' not in sys.modules and 'torch' not in sys.modules\n"
    )
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert float(done.stdout) < 2  # 0.3 s on a quiet machine


def test_importing_the_package_reads_no_weights() -> None:
    code = "import ragauge.embeddings, sys; assert 'ragauge.embeddings.minilm' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.mark.parametrize("name", ["minilm2", "", "sentence-transformers:", "sentence-transformers: ", "openai:x"])
def test_an_unknown_name_offers_the_known_ones(name: str) -> None:
    with pytest.raises(UnknownName) as caught:
        load(name)
    assert "minilm" in caught.value.hint or "NAME" in caught.value.hint


@pytest.mark.usefixtures("fresh")
@pytest.mark.parametrize(
    ("name", "module", "extra"),
    [
        ("wordllama", "wordllama", "ragauge[wordllama]"),
        ("sentence-transformers:x", "sentence_transformers", "ragauge[local]"),
    ],
)
def test_a_missing_extra_says_what_to_install(
    name: str, module: str, extra: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(MissingExtra, match="is not installed") as caught:
        load(name)
    assert extra in caught.value.hint


@pytest.mark.usefixtures("fresh", "no_sockets")
def test_wordllama_reads_its_own_packaged_weights() -> None:
    pytest.importorskip("wordllama")
    embedder = load("wordllama")
    assert isinstance(embedder, Embedder)
    assert (embedder.dimension, embedder.max_tokens) == (256, None)
    vectors = embedder.encode(["How do I change my password?", "", "Reset your login.", "\ud800", "The moon is far."])
    assert vectors.shape == (5, 256)
    assert np.isfinite(vectors).all()
    assert not vectors[1].any()
    assert vectors[0] @ vectors[2] > vectors[0] @ vectors[4]
    assert embedder.truncated(["word " * 10_000]) == [False]
    assert embedder.encode([]).shape == (0, 256)


class _Tensor:
    def __init__(self, array: np.ndarray) -> None:
        self.array = array

    def detach(self) -> _Tensor:
        return self

    cpu = float = detach

    def numpy(self) -> np.ndarray:
        return self.array


class _Model:
    """What the library's class shows of itself, over a table of word vectors."""

    max_seq_length = 4

    def __init__(self, weights: np.ndarray) -> None:
        self.weights = weights

    def get_sentence_embedding_dimension(self) -> int:
        return self.weights.shape[1]

    def state_dict(self) -> dict[str, _Tensor]:
        return {"table": _Tensor(self.weights)}

    def tokenizer(self, texts: list[str], **_: object) -> dict[str, list[list[int]]]:
        return {"input_ids": [[0, *(len(word) for word in text.split()), 0] for text in texts]}

    def encode(self, texts: list[str], **_: object) -> np.ndarray:
        return np.stack(
            [self.weights[[len(word) % len(self.weights) for word in f"{t} x".split()]].sum(0) for t in texts]
        )


def _library(monkeypatch: pytest.MonkeyPatch, made: list[dict[str, object]]) -> None:
    def construct(name: str, **options: object) -> _Model:
        made.append({"name": name, "offline": os.environ.get("HF_HUB_OFFLINE"), **options})
        if not Path(name).is_dir():
            raise OSError("We couldn't connect to the hub")
        return _Model(np.load(Path(name) / "w.npy"))

    module = types.ModuleType("sentence_transformers")
    module.SentenceTransformer = construct  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "sentence_transformers", module)


@pytest.mark.usefixtures("fresh")
def test_a_folder_is_loaded_offline_and_its_vectors_are_normalised(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    made: list[dict[str, object]] = []
    _library(monkeypatch, made)
    monkeypatch.delenv("HF_HUB_OFFLINE", raising=False)
    np.save(tmp_path / "w.npy", np.arange(1, 13, dtype=np.float32).reshape(4, 3))
    embedder = load(f"sentence-transformers:{tmp_path}")
    assert isinstance(embedder, SentenceTransformerEmbedder)
    assert made == [{"name": str(tmp_path), "offline": "1", "device": "cpu", "local_files_only": True}]
    assert "HF_HUB_OFFLINE" not in os.environ
    assert np.allclose(np.linalg.norm(embedder.encode(["a bb", "\ud800"]), axis=1), 1)
    assert embedder.encode([]).shape == (0, 3)
    assert embedder.truncated(["a b", "a b c"]) == [False, True]


@pytest.mark.usefixtures("fresh")
def test_an_edited_folder_is_another_model(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    _library(monkeypatch, [])
    np.save(tmp_path / "w.npy", np.ones((4, 3), np.float32))
    before = load(f"sentence-transformers:{tmp_path}").fingerprint
    load_sentence_transformer.cache_clear()
    np.save(tmp_path / "w.npy", np.full((4, 3), 2, np.float32))
    assert load(f"sentence-transformers:{tmp_path}").fingerprint != before


@pytest.mark.usefixtures("fresh")
def test_a_model_that_is_not_on_this_machine_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    _library(monkeypatch, [])
    with pytest.raises(SettingsError, match="no sentence-transformers model 'absent'") as caught:
        load("sentence-transformers:absent")
    assert "hf download sentence-transformers/absent" in caught.value.hint
