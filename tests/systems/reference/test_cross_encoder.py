"""Re-ranking with a cross-encoder: a tiny model that is made here, run by the real onnxruntime."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

import pytest

from ragauge.core.sample import Question
from ragauge.errors import InputError, MissingExtra, SettingsError
from ragauge.systems.reference.pipeline import build
from ragauge.systems.reference.settings import read_settings

QUESTION = Question(id="q", text="anything")


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    folder = tmp_path / "docs"
    folder.mkdir()
    for name, text in (("a", "plain words about anything"), ("b", "the magic magic word"), ("c", "magic once")):
        (folder / f"{name}.md").write_text(text)
    return folder


@pytest.fixture
def model(tmp_path: Path) -> Path:
    """A model whose relevance is how often the token `magic` comes: input_ids → count."""
    onnx = pytest.importorskip("onnx", reason="onnx, which makes the test's model, is not installed")
    pytest.importorskip("onnxruntime", reason="onnxruntime is not installed (extra local)")
    tokenizers = pytest.importorskip("tokenizers", reason="tokenizers is not installed (extra local)")
    from onnx import TensorProto, helper

    folder = tmp_path / "model"
    folder.mkdir()
    words = {"[PAD]": 0, "[UNK]": 1, "magic": 2}
    tokenizer = tokenizers.Tokenizer(tokenizers.models.WordLevel(words, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.Whitespace()
    tokenizer.save(str(folder / "tokenizer.json"))
    graph = helper.make_graph(
        [
            helper.make_node("Equal", ["input_ids", "two"], ["is_magic"]),
            helper.make_node("Cast", ["is_magic"], ["ones"], to=TensorProto.FLOAT),
            helper.make_node("ReduceSum", ["ones", "axes"], ["logits"], keepdims=1),
        ],
        "magic",
        [helper.make_tensor_value_info("input_ids", TensorProto.INT64, ["batch", "length"])],
        [helper.make_tensor_value_info("logits", TensorProto.FLOAT, ["batch", 1])],
        [
            helper.make_tensor("two", TensorProto.INT64, [], [2]),
            helper.make_tensor("axes", TensorProto.INT64, [1], [1]),
        ],
    )
    made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)])
    made.ir_version = 8
    onnx.save(made, str(folder / "model.onnx"))
    return folder


def test_a_cross_encoder_in_a_folder_re_ranks(corpus: Path, model: Path) -> None:
    settings = {"corpus": str(corpus), "retrieval": "dense", "k": 3, "generator": "none", "embedding_cache": "none"}

    async def order(rerank: str) -> tuple[list[str], list[float | None], str]:
        system = build({**settings, "rerank": rerank})
        try:
            response = await system.respond(QUESTION)
            assert response.context is not None
            scores = [chunk.score for chunk in response.context]
            return response.context.documents, scores, system.info().fingerprint
        finally:
            await system.aclose()

    plain, _, without = asyncio.run(order("none"))
    assert plain[0] == "a.md"
    ranked, scores, with_model = asyncio.run(order(f"cross-encoder:{model}"))
    assert ranked == ["b.md", "c.md", "a.md"]
    assert scores == [2.0, 1.0, 0.0]
    assert with_model != without


def test_a_folder_that_is_no_model_is_said(corpus: Path, model: Path) -> None:
    (model / "tokenizer.json").unlink()
    with pytest.raises(InputError, match=r"lacks tokenizer\.json"):
        build({"corpus": str(corpus), "retrieval": "bm25", "rerank": f"cross-encoder:{model}"}).info()


def test_without_the_library_the_extra_is_named(corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "sentence_transformers", None)
    system = build({"corpus": str(corpus), "retrieval": "bm25", "rerank": "cross-encoder:some/model-of-nobody"})
    with pytest.raises(MissingExtra, match="local"):
        system.info()


def test_settings_name_what_is_accepted() -> None:
    assert read_settings({"corpus": "x", "rerank": "cross-encoder:a/b"}).rerank == "cross-encoder:a/b"
    with pytest.raises(SettingsError, match="cross-encoder:NAME"):
        read_settings({"corpus": "x", "rerank": "cross-encoder:"})
