"""Files as other tools write them.

Shapes: promptfoo's output file v3 (`OutputFile`), DeepEval's `.latest_test_run.json`, MLflow's `Trace.to_dict`,
Phoenix's `get_spans_dataframe`, Langfuse's trace API, LangSmith's examples, TruLens's
`get_records_and_feedback`, AutoRAG's `qa.parquet`, Ragas's `EvaluationDataset.to_jsonl`, TREC and BEIR files.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st

from ragauge.cli.import_ import command
from ragauge.core.sample import GoldenItem, Response, RetrievedChunk, RetrievedContext, Sample, Usage
from ragauge.dataset import load_golden, read_samples
from ragauge.dataset.importing import read_foreign, recorded_record, write_imported
from ragauge.errors import InputError

PROMPTFOO = {"evalId": "e", "results": {"version": 3, "results": [{
    "promptIdx": 0, "testIdx": 0, "vars": {"query": "Q?", "context": ["c1", "c2"]}, "latencyMs": 120, "cost": 0.001,
    "response": {"output": "A", "tokenUsage": {"prompt": 10, "completion": 5}}, "provider": {"id": "openai:m"},
    "testCase": {"vars": {"query": "Q?"}, "assert": [{"type": "equals", "value": "R"}]},
}]}}  # fmt: skip
DEEPEVAL = {"testCases": [{
    "name": "t1", "input": "Q?", "actualOutput": "A", "expectedOutput": "R", "retrievalContext": ["c1", "c2"],
    "success": True, "metricsData": [{"name": "Faithfulness", "score": 1.0}],
}]}  # fmt: skip
MLFLOW = {"traces": [{"info": {"trace_id": "tr-1", "assessments": [
    {"assessment_name": "expected_response", "expectation": {"value": "R"}}]},
    "data": {"spans": [
        {"name": "rag", "parent_id": None, "attributes": {"mlflow.spanType": '"CHAIN"',
         "mlflow.spanInputs": '{"question": "Q?"}', "mlflow.spanOutputs": '"A"'}},
        {"name": "retrieve", "parent_id": "x", "attributes": {"mlflow.spanType": '"RETRIEVER"',
         "mlflow.spanOutputs": '[{"page_content": "c1", "id": "i1"}, {"page_content": "c2", "id": "i2"}]'}},
    ]}}]}  # fmt: skip
PHOENIX = [
    {"context.trace_id": "t1", "parent_id": None, "span_kind": "CHAIN", "attributes.input.value": "Q?",
     "attributes.output.value": "A"},
    {"context.trace_id": "t1", "parent_id": "a", "span_kind": "RETRIEVER", "attributes.input.value": "rewritten",
     "attributes.retrieval.documents": [{"document.content": "c1", "document.id": "i1"}, {"document.content": "c2"}]},
]  # fmt: skip
LANGFUSE = [{"id": "t1", "input": {"question": "Q?"}, "output": "A", "metadata": {"user": "u"}, "observations": [
    {"type": "RETRIEVER", "name": "search", "output": [{"content": "c1"}, {"content": "c2"}]},
    {"type": "GENERATION", "name": "llm", "output": "A"}]}]  # fmt: skip
TRULENS = [{"record_id": "r1", "app_id": "app", "input": "Q?", "output": "A", "record_json": json.dumps({"calls": [
    {"stack": [{"method": {"name": "retrieve"}}], "rets": ["c1", "c2"]}]})}]  # fmt: skip
RAGAS = [{"user_input": "Q?", "response": "A", "reference": "R", "retrieved_contexts": ["c1", "c2"], "persona": "p"}]
RECORDED = {
    "promptfoo": PROMPTFOO, "deepeval": DEEPEVAL, "mlflow": MLFLOW, "phoenix": PHOENIX, "langfuse": LANGFUSE,
    "trulens": TRULENS, "ragas": RAGAS,
}  # fmt: skip


@pytest.mark.parametrize("tool", RECORDED)
def test_what_was_recorded_is_sniffed_and_read(tool: str, tmp_path: Path) -> None:
    file = tmp_path / "export.json"
    file.write_text(json.dumps(RECORDED[tool]))
    found = read_foreign([file])
    assert (found.tool, found.role, len(found.samples)) == (tool, "recorded", 1)
    (sample,) = found.samples
    assert (sample.item.question, sample.response.answer) == ("Q?", "A")
    assert sample.response.context is not None
    assert [chunk.text for chunk in sample.response.context] == ["c1", "c2"]
    assert sample.item.answer == (None if tool in ("phoenix", "langfuse", "trulens") else "R")
    write_imported(found, tmp_path / "ours.jsonl")
    assert next(iter(read_samples(tmp_path / "ours.jsonl"))).response.answer == "A"


GOLDEN = {
    "langsmith": [{"id": "e1", "dataset_id": "d", "inputs": {"question": "Q?"}, "outputs": {"answer": "R"}}],
    "langfuse": [{"id": "e1", "dataset_name": "d", "input": {"question": "Q?"}, "expectedOutput": "R"}],
    "trulens": [{"query": "Q?", "expected_response": "R", "expected_chunks": [{"text": "gold text", "title": "t"}]}],
    "mlflow": [{"inputs": {"question": "Q?"}, "expectations": {"expected_response": "R"}, "tags": {}}],
    "deepeval": {"goldens": [{"input": "Q?", "expected_output": "R", "context": ["gold text"]}]},
    "autorag": [{"qid": "e1", "query": "Q?", "retrieval_gt": [["d1"]], "generation_gt": ["R"]}],
}  # fmt: skip


@pytest.mark.parametrize("tool", GOLDEN)
@pytest.mark.parametrize("suffix", [".yaml", ".jsonl"])
def test_examples_become_a_golden_set(tool: str, suffix: str, tmp_path: Path) -> None:
    file, out = tmp_path / "export.json", tmp_path / f"golden{suffix}"
    file.write_text(json.dumps(GOLDEN[tool]))
    found = read_foreign([file])
    assert (found.tool, found.role) == (tool, "golden")
    write_imported(found, out)
    (item,) = load_golden(out).items
    assert (item.question, item.answer) == ("Q?", "R")
    assert item == found.samples[0].item


def test_trec_files_are_told_apart_by_their_columns(tmp_path: Path) -> None:
    (tmp_path / "qrels.txt").write_text("q1 0 d1 2\nq1 0 d2 0\n")
    (tmp_path / "a.run").write_text("q1 Q0 d2 1 0.4 tag\nq1 Q0 d1 2 0.9 tag\n")
    (tmp_path / "queries.tsv").write_text("q1\tQ?\nq9\tunused\n")
    found = read_foreign([tmp_path / "qrels.txt", tmp_path / "a.run", tmp_path / "queries.tsv"])
    (sample,) = found.samples
    assert (found.tool, found.role, sample.item.relevance) == ("trec", "recorded", {"d1": 2, "d2": 0})
    assert sample.response.context is not None
    assert sample.response.context.ids == ["d1", "d2"]
    with pytest.raises(InputError, match="have no text"):
        read_foreign([tmp_path / "qrels.txt"])


def test_a_beir_folder(tmp_path: Path) -> None:
    (tmp_path / "queries.jsonl").write_text('{"_id": "q1", "text": "Q?"}\n')
    (tmp_path / "qrels").mkdir()
    (tmp_path / "qrels" / "test.tsv").write_text("query-id\tcorpus-id\tscore\nq1\td1\t1\n")
    found = read_foreign([tmp_path])
    assert (found.tool, found.samples[0].item.relevance) == ("beir", {"d1": 1})


def test_the_command_says_what_became_of_each_field(tmp_path: Path) -> None:
    file = tmp_path / "testset.json"
    file.write_text(json.dumps(RAGAS))
    out = tmp_path / "ours.jsonl"
    done = CliRunner().invoke(command, [str(file), "--out", str(out)], standalone_mode=False, catch_exceptions=False)
    assert "1 recorded outputs; taken for ragas (user_input)" in done.output
    assert "persona" in done.output
    assert "not understood, kept as metadata (1)" in done.output
    assert out.exists()
    done = CliRunner().invoke(command, [str(file), "--from", "deepeval", "--json"], standalone_mode=False)
    assert json.loads(done.output)["tool"] == "deepeval"


def test_nothing_is_half_written(tmp_path: Path) -> None:
    file, out = tmp_path / "bad.json", tmp_path / "ours.jsonl"
    file.write_text(json.dumps([*RAGAS, {"user_input": None, "response": "A", "retrieved_contexts": []}]))
    done = CliRunner().invoke(command, [str(file), "--out", str(out)], standalone_mode=False)
    assert isinstance(done.exception, InputError)
    assert list(tmp_path.iterdir()) == [file]


WORDS = st.text(
    st.characters(codec="utf-8", exclude_categories=("Cc", "Cs", "Zs", "Zl", "Zp", "Cf", "Cn", "Co", "Mn")),
    min_size=1,
    max_size=12,
)
CHUNKS = st.lists(st.tuples(WORDS, WORDS, st.none() | st.floats(-1, 1)), max_size=3, unique_by=lambda one: one[0])


@settings(max_examples=60, deadline=None)
@given(WORDS, WORDS, st.none() | WORDS, st.none() | WORDS, st.none() | CHUNKS, st.none() | st.integers(0, 500))
def test_what_is_written_is_read_back_equal(
    name: str, question: str, answer: str | None, reference: str | None, chunks: Any, tokens: int | None
) -> None:
    context = None
    if chunks is not None:
        made = [RetrievedChunk(id=a, text=b, score=c, rank=n) for n, (a, b, c) in enumerate(chunks, 1)]
        context = RetrievedContext(chunks=tuple(made))
    given_fields: dict[str, Any] = {"context": context, "answer": answer, "usage": Usage(tokens_in=tokens or 0)}
    sample = Sample(
        item=GoldenItem(id=name, question=f"What is {question}", answer=reference), response=Response(**given_fields)
    )
    back = next(iter(read_samples([json.loads(json.dumps(recorded_record(sample)))])))
    assert back.item == sample.item
    assert back.response.model_dump() == sample.response.model_dump()


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")  # of libraries below MLflow
def test_a_trace_that_mlflow_itself_wrote(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    mlflow = pytest.importorskip("mlflow", reason="the trace is written by MLflow")
    monkeypatch.chdir(tmp_path)  # the traces themselves are written into ./mlruns
    mlflow.set_tracking_uri(f"sqlite:///{tmp_path}/mlflow.db")
    mlflow.set_experiment("import")
    with mlflow.start_span("rag", span_type="CHAIN") as root:
        root.set_inputs({"question": "Q?"})
        with mlflow.start_span("retrieve", span_type="RETRIEVER") as span:
            span.set_outputs([mlflow.entities.Document(page_content="c1", id="i1", metadata={"doc_uri": "a.md"})])
        root.set_outputs("A")
    mlflow.flush_trace_async_logging()
    (tmp_path / "traces.json").write_text(f"[{mlflow.get_trace(root.trace_id).to_json()}]")
    (sample,) = read_foreign([tmp_path / "traces.json"]).samples
    assert (sample.item.question, sample.response.answer) == ("Q?", "A")
    assert sample.response.context is not None
    assert [(one.id, one.document, one.text) for one in sample.response.context] == [("i1", "a.md", "c1")]
