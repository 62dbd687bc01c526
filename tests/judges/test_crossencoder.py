from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from ragauge.core.judge import JudgeInfo
from ragauge.core.tasks import CITATION_SUPPORT, COVERAGE, SPLIT_CLAIMS, SUPPORT, USEFULNESS, ClaimsReply
from ragauge.errors import InputError, MissingExtra, SettingsError
from ragauge.judges.crossencoder import CrossEncoderJudge, windows
from ragauge.judges.crossencoder_models import Classes, load_scorer

NLI = {0: "contradiction", 1: "entailment", 2: "neutral"}


class Overlap:
    """Supports what stands in the passage word for word; contradicts what differs in "not"."""

    name, fingerprint = "overlap", "0123"

    def __init__(self) -> None:
        self.pairs: list[tuple[str, str]] = []

    def score(self, pairs):
        self.pairs += pairs
        return [(0.9 if c in p else 0.1, 0.8 if c.replace(" not", "") in p and " not" in c else 0.0) for p, c in pairs]


class Splitter:
    def info(self) -> JudgeInfo:
        return JudgeInfo(name="splitter", kind="scripted", version="1", fingerprint="f")

    async def ask(self, task, /, **inputs):
        return ClaimsReply(claims=())


@pytest.fixture
def judge() -> CrossEncoderJudge:
    return CrossEncoderJudge(Overlap(), Splitter())


def test_support_takes_the_best_window_of_the_best_passage(judge, run, claims, chunks) -> None:
    far = "filler words " * 300 + "the port is open " + "filler words " * 300
    asked = claims("the port is open", "the door is not shut", "whales sing")
    reply = run(judge.ask(SUPPORT, claims=asked, chunks=chunks("nothing", far, "the door is shut", " ")))
    assert [(v.id, v.label, v.evidence) for v in reply.verdicts] == [
        ("c1", "supported", "d2"), ("c2", "contradicted", "d3"), ("c3", "not_mentioned", None)
    ]  # fmt: skip
    assert [v.probability for v in reply.verdicts] == [0.9, 0.1, 0.1]
    assert all(len(passage) <= 1200 for passage, _ in judge.scorer.pairs)


def test_citations_are_judged_by_what_they_cite(judge, run, claims, chunks) -> None:
    cited = {"c1": ("d2",), "c2": ("d1",)}
    asked = claims("the port is open", "the port is open", "the port is open")
    reply = run(judge.ask(CITATION_SUPPORT, claims=asked, chunks=chunks("the port is open", "no"), cited=cited))
    assert [v.label for v in reply.verdicts] == ["not_mentioned", "supported", "not_mentioned"]


def test_coverage_and_nothing_to_read(judge, run, claims) -> None:
    assert run(judge.ask(COVERAGE, claims=claims("a b"), text="x a b")).verdicts[0].label == "supported"
    assert run(judge.ask(COVERAGE, claims=claims("a b"), text=" ")).verdicts[0].probability == 0
    assert run(judge.ask(SUPPORT, claims=claims("a"), chunks=())).verdicts[0].label == "not_mentioned"


def test_other_tasks_go_to_the_other_judge(judge, run) -> None:
    assert run(judge.ask(SPLIT_CLAIMS, text="x")) == ClaimsReply(claims=())
    assert run(judge.ask(USEFULNESS, question="q", chunks=(), reference=None)) == ClaimsReply(claims=())


NUMBERED = " ".join(f"w{n}" for n in range(3000))


@pytest.mark.parametrize("text", ["a", "x" * 5000, NUMBERED, " " * 3000, "ab\n" * 1500, "x" * 1199 + " y" * 900])
def test_windows_cover_everything_and_end(text: str) -> None:
    made = windows(text)
    assert all(len(window) <= 1200 for window in made)
    assert len(made) <= len(text) // 500 + 2
    found = {word for window in made for word in window.split()}
    if text == NUMBERED:
        assert found >= set(text.split())
    assert bool(found) == bool(text.strip())


def test_labels_say_which_output_is_support() -> None:
    assert Classes.of(NLI, "m") == Classes(3, 1, 0)
    assert Classes.of({0: "LABEL_0"}, "m") == Classes(1)
    assert Classes.of({0: "hallucinated", 1: "consistent"}, "m") == Classes(2, 1, None)
    assert Classes.of({0: "not_entailment", 1: "entailment"}, "m") == Classes(2, 1, None)
    assert Classes.of({0: "inconsistent", 1: "consistent"}, "m") == Classes(2, 1, None)
    for unknown in ({0: "LABEL_0", 1: "LABEL_1"}, {0: "entailment", 1: "supported"}):
        with pytest.raises(SettingsError, match="do not say"):
            Classes.of(unknown, "m")


def test_logits_become_probabilities() -> None:
    ((supported, contradicted),) = Classes(3, 1, 0).probabilities(np.array([[0.0, np.log(3), 0.0]], np.float32))
    assert (supported, contradicted) == (pytest.approx(0.6), pytest.approx(0.2))
    assert Classes(1).probabilities(np.array([[0.0], [1000.0], [-1000.0]], np.float32)) == [
        (0.5, 0),
        (1, 0),
        (pytest.approx(0), 0),
    ]


def test_without_the_libraries_the_extra_is_named(tmp_path: Path, monkeypatch) -> None:
    import builtins

    real = builtins.__import__

    def without(name, *rest, **more):
        if name.split(".")[0] in ("sentence_transformers", "onnxruntime", "tokenizers"):
            raise ImportError(name)
        return real(name, *rest, **more)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(MissingExtra, match=r"ragauge\[local\]"):
        load_scorer("some/model")
    (tmp_path / "model.onnx").write_bytes(b"")
    with pytest.raises(MissingExtra, match="onnxruntime"):
        load_scorer(str(tmp_path))


@pytest.fixture
def onnx_folder(tmp_path: Path) -> Path:
    """A real ONNX file and a real tokenizer, as small as can be: each token of the claim votes for a label."""
    onnx = pytest.importorskip("onnx", reason="the package onnx, to make a model with, is not installed")
    pytest.importorskip("onnxruntime", reason="onnxruntime is not installed")
    tokenizers = pytest.importorskip("tokenizers", reason="tokenizers is not installed")
    from onnx import TensorProto, helper, numpy_helper

    vocabulary = {"[PAD]": 0, "[UNK]": 1, "[CLS]": 2, "[SEP]": 3, "yes": 4, "no": 5, "filler": 6}
    tokenizer = tokenizers.Tokenizer(tokenizers.models.WordLevel(vocabulary, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.Whitespace()
    tokenizer.post_processor = tokenizers.processors.TemplateProcessing(
        single="[CLS] $A [SEP]", pair="[CLS] $A [SEP] $B:1 [SEP]:1", special_tokens=[("[CLS]", 2), ("[SEP]", 3)]
    )
    tokenizer.save(str(tmp_path / "tokenizer.json"))
    votes = np.zeros((7, 3), np.float32)
    votes[4, 1] = votes[5, 0] = 6.0
    votes[1, 2] = 6.0
    ids, mask, kinds = (
        helper.make_tensor_value_info(name, TensorProto.INT64, ["n", "t"])
        for name in ("input_ids", "attention_mask", "token_type_ids")
    )
    nodes = [
        helper.make_node("Gather", ["votes", "input_ids"], ["each"]),
        helper.make_node("Mul", ["attention_mask", "token_type_ids"], ["of_claim"]),
        helper.make_node("Cast", ["of_claim"], ["weight"], to=TensorProto.FLOAT),
        helper.make_node("Unsqueeze", ["weight", "last"], ["wide"]),
        helper.make_node("Mul", ["each", "wide"], ["counted"]),
        helper.make_node("ReduceSum", ["counted", "tokens"], ["logits"], keepdims=0),
    ]
    graph = helper.make_graph(
        nodes, "votes", [ids, mask, kinds], [helper.make_tensor_value_info("logits", TensorProto.FLOAT, ["n", 3])],
        [numpy_helper.from_array(votes, "votes"), numpy_helper.from_array(np.array([-1]), "last"),
         numpy_helper.from_array(np.array([1]), "tokens")],
    )  # fmt: skip
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    onnx.checker.check_model(model)
    (tmp_path / "onnx").mkdir()
    onnx.save(model, str(tmp_path / "onnx" / "model.onnx"))
    config = {"id2label": {str(n): label for n, label in NLI.items()}, "pad_token_id": 0, "max_position_embeddings": 64}
    (tmp_path / "config.json").write_text(json.dumps(config), encoding="utf-8")
    return tmp_path


@pytest.mark.slow
def test_a_real_onnx_model_is_loaded_and_judges(onnx_folder: Path, run, claims, chunks) -> None:
    scorer = load_scorer(str(onnx_folder))
    assert scorer.classes == Classes(3, 1, 0)
    judge = CrossEncoderJudge(scorer, Splitter())
    many = "filler " * 500
    reply = run(judge.ask(SUPPORT, claims=claims("yes", "no", "whales"), chunks=chunks(many, "short")))
    assert [v.label for v in reply.verdicts] == ["supported", "contradicted", "not_mentioned"]
    assert reply.verdicts[0].probability == pytest.approx(np.exp(6) / (np.exp(6) + 2), abs=1e-4)
    assert judge.info().fingerprint == CrossEncoderJudge(load_scorer(str(onnx_folder)), Splitter()).info().fingerprint


@pytest.mark.slow
def test_an_incomplete_or_broken_folder_says_what_is_wrong(onnx_folder: Path) -> None:
    (onnx_folder / "onnx" / "model.onnx").write_bytes(b"this is no model")
    with pytest.raises(InputError, match="cannot load"):
        load_scorer(str(onnx_folder))
    (onnx_folder / "config.json").unlink()
    with pytest.raises(InputError, match=r"lacks config\.json"):
        load_scorer(str(onnx_folder))


@pytest.mark.slow
def test_a_real_sentence_transformers_model_is_loaded_and_judges(tmp_path: Path, run, claims, chunks) -> None:
    pytest.importorskip("sentence_transformers", reason="sentence-transformers is not installed")
    transformers = pytest.importorskip("transformers")
    vocabulary = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "yes", "no"]
    (tmp_path / "vocab.txt").write_text("\n".join(vocabulary), encoding="utf-8")
    transformers.BertTokenizerFast(vocab_file=str(tmp_path / "vocab.txt")).save_pretrained(tmp_path)
    config = transformers.BertConfig(
        vocab_size=len(vocabulary), hidden_size=8, num_hidden_layers=1, num_attention_heads=2, intermediate_size=8,
        max_position_embeddings=64, id2label=NLI, label2id={label: n for n, label in NLI.items()}, num_labels=3,
    )  # fmt: skip
    transformers.BertForSequenceClassification(config).save_pretrained(tmp_path)
    judge = CrossEncoderJudge(load_scorer(str(tmp_path)), Splitter())
    reply = run(judge.ask(SUPPORT, claims=claims("yes", "no"), chunks=chunks("yes no " * 100)))
    assert [v.id for v in reply.verdicts] == ["c1", "c2"]
    assert all(0 < v.probability < 1 for v in reply.verdicts)
    with pytest.raises(SettingsError, match="cannot be loaded"):
        load_scorer(str(tmp_path / "nothing"))
