from __future__ import annotations

import hashlib
import subprocess
import sys
from importlib import resources
from pathlib import Path

import numpy as np
import pytest

from ragauge.embeddings import Embedder
from ragauge.embeddings.minilm import ASSET, ASSET_SHA256, MiniLM, load_minilm

REFERENCE = Path(__file__).parent / "minilm_reference.npz"


@pytest.fixture(scope="module")
def model() -> MiniLM:
    return load_minilm()


def test_the_asset_is_the_one_that_the_fingerprint_names() -> None:
    data = resources.files("ragauge.embeddings").joinpath(ASSET).read_bytes()
    assert hashlib.sha256(data).hexdigest() == ASSET_SHA256


def test_agrees_with_the_vectors_of_the_published_fp32_weights(model: MiniLM) -> None:
    with np.load(REFERENCE, allow_pickle=False) as stored:
        texts, expected = [str(text) for text in stored["texts"]], stored["vectors"]
    cosines = (model.encode(texts) * expected).sum(axis=1)
    assert cosines.min() > 0.998
    assert cosines.mean() > 0.999


def test_is_an_embedder(model: MiniLM) -> None:
    assert isinstance(model, Embedder)
    assert (model.name, model.dimension, model.max_tokens) == ("minilm", 384, 256)


def test_rows_have_length_one_and_the_order_of_the_texts(model: MiniLM) -> None:
    texts = ["a long sentence about rotating the keys of an interface " * 8, "short", "", "middle sized text here"]
    together = model.encode(texts)
    assert together.shape == (4, 384)
    assert together.dtype == np.float32
    assert np.allclose(np.linalg.norm(together, axis=1), 1, atol=1e-5)
    one_by_one = np.vstack([model.encode([text]) for text in texts])
    assert np.abs(together - one_by_one).max() < 1e-5


def test_no_texts_give_an_empty_matrix(model: MiniLM) -> None:
    assert model.encode([]).shape == (0, 384)
    assert model.token_vectors([]) == []


def test_like_meanings_are_nearer_than_unlike_ones(model: MiniLM) -> None:
    question, right, wrong = model.encode(
        ["How do I change my password?", "Reset your login credentials under Settings.", "The moon orbits the earth."]
    )
    assert question @ right > question @ wrong + 0.2


def test_hostile_text_is_only_text(model: MiniLM) -> None:
    texts = ["\x00\x00", "\ud800 lone", "\u202e rtl \u200b", "[SEP] [CLS] [MASK]", "💥" * 1000, "<script>" * 10_000]
    assert np.isfinite(model.encode(texts)).all()


def test_truncation_is_reported(model: MiniLM) -> None:
    assert model.truncated(["short", "word " * 254, "word " * 255]) == [False, False, True]
    head = "word " * 254
    assert np.allclose(model.encode([head]), model.encode([head + "and the end is not read"]), atol=1e-6)


def test_token_vectors_are_those_of_the_words(model: MiniLM) -> None:
    first, empty, cut = model.token_vectors(["rotate the key", "", "word " * 400])
    assert first.shape == (3, 384)
    assert empty.shape == (0, 384)
    assert cut.shape == (254, 384)
    assert np.allclose(np.linalg.norm(first, axis=1), 1, atol=1e-5)


def test_tokens_of_a_text_are_the_sum_over_its_words(model: MiniLM) -> None:
    text = "Set --max-size to 1,024 in naïve_config (see §3.2), then re-run."
    ids, _ = model.tokenizer.encode(text, 256)
    assert sum(model.count_word_tokens(word) for word in text.split()) == len(ids) - 2


def test_equal_calls_give_equal_bits_in_every_process(model: MiniLM) -> None:
    code = (
        "import hashlib\nfrom ragauge.embeddings import load\n"
        "print(hashlib.sha256(load().encode(['one text', 'another one', 'x ' * 300]).round(4).tobytes()).hexdigest())"
    )
    runs = {
        subprocess.run(
            [sys.executable, "-c", code], check=True, capture_output=True, text=True, env={"PYTHONHASHSEED": seed}
        ).stdout
        for seed in ("1", "2")
    }
    assert len(runs) == 1


def test_is_loaded_once() -> None:
    assert load_minilm() is load_minilm()


def test_word_vectors_group_by_subject_without_a_pass_through_the_model() -> None:
    texts = [f"How do I rotate the signing key number {n}?" for n in range(5)]
    texts += [f"What does the plan cost per gigabyte in region {n}?" for n in range(5)]
    vectors = load_minilm().word_vectors([*texts, ""])
    same, other = vectors[0] @ vectors[1], vectors[0] @ vectors[7]
    assert vectors.shape == (11, 384)
    assert same > other + 0.3
    assert not vectors[10].any()
    assert np.allclose(np.linalg.norm(vectors[:10], axis=1), 1, atol=1e-5)
