"""Exports as they come: nested values as text, NaN, traces without an input, names that repeat, markers in gold texts.

Shapes: Phoenix's `get_spans_dataframe` saved by pandas, Langfuse's trace API and its CSV export, DeepEval's
`.latest_test_run.json` and `save_as("csv")`, Ragas's multi-hop test sets, TREC Web Track qrels.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from ragauge.dataset import load_golden, read_samples
from ragauge.dataset.importing import read_foreign
from ragauge.errors import InputError

NAN = float("nan")
SPANS: list[dict[str, Any]] = [
    {"context.trace_id": "t1", "parent_id": None, "span_kind": "CHAIN", "attributes.input.value": "Q?",
     "attributes.output.value": "A"},
    {"context.trace_id": "t1", "parent_id": "s1", "span_kind": "RETRIEVER", "attributes.input.value": "Q?",
     "attributes.output.value": NAN, "attributes.retrieval.documents": [
         {"document.content": "it's c1", "document.id": "i1", "document.score": 0.5}, {"document.content": "c2",
                                                                                       "document.score": NAN}]},
    {"context.trace_id": "t2", "parent_id": None, "span_kind": "CHAIN",
     "attributes.input.value": '{"query": "P?"}', "attributes.output.value": '{"answer": "B"}'},
    {"context.trace_id": "t3", "parent_id": None, "span_kind": "CHAIN", "attributes.input.value": NAN},
]  # fmt: skip


def _save(rows: list[dict[str, Any]], file: Path) -> Path:
    frame = pd.DataFrame(rows)
    if file.suffix == ".csv":
        frame.to_csv(file, index=False)
    elif file.suffix == ".parquet":
        frame.to_parquet(file)
    elif file.suffix == ".json":
        frame.to_json(file, orient="records")
    else:
        file.write_text("".join(json.dumps(row) + "\n" for row in rows))  # with a bare NaN
    return file


@pytest.mark.parametrize("suffix", [".csv", ".parquet", ".json", ".jsonl"])
def test_span_tables_of_phoenix_however_they_were_saved(suffix: str, tmp_path: Path) -> None:
    found = read_foreign([_save(SPANS, tmp_path / f"spans{suffix}")])
    first, second = found.samples
    assert first.response.context is not None
    assert [(one.text, one.score) for one in first.response.context] == [("it's c1", 0.5), ("c2", None)]
    assert (first.item.question, first.response.answer) == ("Q?", "A")
    assert (second.item.question, second.response.answer) == ("P?", "B")
    assert "1 traces without an input, e.g. t3" in found.lost


def test_documents_that_cannot_be_read_are_refused_and_not_taken_apart(tmp_path: Path) -> None:
    rows = [{**SPANS[0]}, {**SPANS[1], "attributes.retrieval.documents": "[{'document.content': 'a'}\n {'b': 'c'}]"}]
    with pytest.raises(InputError, match="no list"):
        read_foreign([_save(rows, tmp_path / "spans.csv")])


LANGFUSE: list[dict[str, Any]] = [
    {"id": "t1", "timestamp": "2026-01-05T10:00:00Z", "input": {"question": "Q?", "chat_history": []},
     "output": {"answer": "A"}, "tags": ["prod"], "observations": [
        {"type": "RETRIEVER", "output": [{"page_content": "c1", "metadata": {"source": "a.md"}, "id": None}]},
        {"type": "SPAN", "name": "x", "output": None}]},
    {"id": "t2", "input": {"messages": [{"role": "system", "content": "s"}, {"role": "user", "content": "P?"}]},
     "output": {"role": "assistant", "content": "B"}, "observations": []},
    {"id": "t3", "input": None, "output": None, "observations": []},
]  # fmt: skip


@pytest.mark.parametrize("suffix", [".csv", ".jsonl"])
@pytest.mark.parametrize("nested", [False, True])
def test_traces_of_langfuse_with_nested_values_or_their_text(suffix: str, nested: bool, tmp_path: Path) -> None:
    rows = LANGFUSE
    if not nested:
        rows = [
            {name: json.dumps(value) if isinstance(value, dict | list) else value for name, value in row.items()}
            for row in LANGFUSE
        ]
    found = read_foreign([_save(rows, tmp_path / f"traces{suffix}")])
    first, second = found.samples
    assert first.response.context is not None
    assert [(one.text, one.document) for one in first.response.context] == [("c1", "a.md")]
    assert (first.item.question, first.response.answer) == ("Q?", "A")
    assert (second.item.question, second.response.answer) == ("P?", "B")
    assert "1 traces without an input, e.g. t3" in found.lost


ANSWERS = {
    '"--max-size", "--min-size"': '"--max-size", "--min-size"',
    '["--a","--b"]': '["--a","--b"]',
    "[1]": "[1]",
    '{"a": 1}': '{"a": 1}',
    "{'x'}": "{'x'}",
    '"a" "b"': '"a" "b"',
    "{'answer': 'a' 'b'}": "{'answer': 'a' 'b'}",
    '"in quotes"': "in quotes",  # JSON of a text
    '{"answer": "B"}': "B",
    "{'answer': 'B'}": "B",
    '[{"role": "assistant", "content": "B"}]': "B",
}


@pytest.mark.parametrize("tool", ["langfuse", "trulens"])
@pytest.mark.parametrize("said", ANSWERS)
def test_an_answer_that_looks_like_a_list_or_an_object_stays_what_was_said(
    said: str, tool: str, tmp_path: Path
) -> None:
    marks: dict[str, dict[str, Any]] = {
        "langfuse": {"id": "t1", "observations": []},
        "trulens": {"record_id": "t1", "app_id": "a"},
    }
    file = tmp_path / "traces.jsonl"
    file.write_text(json.dumps({**marks[tool], "input": "Q?", "output": said}) + "\n")
    found = read_foreign([file], tool)
    assert [sample.response.answer for sample in found.samples] == [ANSWERS[said]]


def test_traces_none_of_which_has_an_input(tmp_path: Path) -> None:
    file = tmp_path / "traces.json"
    file.write_text(json.dumps(LANGFUSE[2:]))
    with pytest.raises(InputError, match="none of the 1 traces has an input"):
        read_foreign([file])


ROOT = {"parent_id": None, "attributes": {"mlflow.spanInputs": '"Q?"', "mlflow.spanOutputs": '"A"'}}
NO_TRACES: dict[str, tuple[str, dict[str, Any], str, str]] = {
    "info": ("mlflow", {"info": "TraceInfo(trace_id='t')", "data": {"spans": [ROOT]}}, "info", "TraceInfo"),
    "data": ("mlflow", {"info": {}, "data": "TraceData(spans=[])"}, "data", "TraceData"),
    "spans": ("mlflow", {"trace_id": "t", "spans": "[Span(name='x')]"}, "spans", "Span"),
    "no list": ("mlflow", {"trace_id": "t", "spans": {"a": 1}}, "spans", "'a': 1"),
    "span": ("mlflow", {"trace_id": "t", "spans": [ROOT, "Span(name='x')"]}, r"spans\[1\]", "Span"),
    "attributes": ("mlflow", {"trace_id": "t", "spans": [{"attributes": "x=1"}]}, r"spans\[0\].attributes", "x=1"),
    "assessments": ("mlflow", {"info": {"assessments": "[Expectation()]"}, "data": {"spans": [ROOT]}},
                    "info.assessments", "Expectation"),
    "expectation": ("mlflow", {"info": {"assessments": [{"assessment_name": "a", "expectation": "e"}]},
                               "data": {"spans": [ROOT]}}, r"info.assessments\[0\].expectation", "'e'"),
    "observations": ("langfuse", {"id": "t", "input": "Q?", "observations": "<list>"}, "observations", "<list>"),
    "a count": ("langfuse", {"id": "t", "input": "Q?", "observations": 3}, "observations", "3"),
    "calls": ("trulens", {"record_id": "r", "app_id": "a", "input": "Q?", "calls": "Call()"}, "calls", "Call"),
    "call": ("trulens", {"record_id": "r", "app_id": "a", "input": "Q?", "record_json": {"calls": [{}, "c"]}},
             r"record_json.calls\[1\]", "'c'"),
    "stack": ("trulens", {"record_id": "r", "app_id": "a", "input": "Q?", "calls": [{"stack": "s"}]},
              r"calls\[0\].stack", "'s'"),
    "frame": ("trulens", {"record_id": "r", "app_id": "a", "input": "Q?", "calls": [{"stack": [["m"]]}]},
              r"calls\[0\].stack\[0\]", "'m'"),
}  # fmt: skip


@pytest.mark.parametrize("case", NO_TRACES)
def test_parts_of_a_trace_that_cannot_be_read_are_named(case: str, tmp_path: Path) -> None:
    tool, row, where, found = NO_TRACES[case]
    file = tmp_path / "traces.jsonl"
    file.write_text(json.dumps(row) + "\n")
    with pytest.raises(InputError, match=f"field '{where}', found .*{found}"):
        read_foreign([file], tool)


def test_a_record_of_trulens_without_an_id_or_calls_is_read(tmp_path: Path) -> None:
    calls = json.dumps({"calls": [{"stack": [{"method": "m"}]}]})
    rows = [
        {"record_id": "r", "app_id": "a", "input": "Q?", "output": "A", "calls": None},
        {"app_id": "a", "input": "P?", "output": "B", "record_json": calls},
    ]
    file = tmp_path / "records.jsonl"
    file.write_text("".join(json.dumps(row) + "\n" for row in rows))
    assert [one.response.answer for one in read_foreign([file]).samples] == ["A", "B"]


def test_archived_items_of_a_data_set_stay_out(tmp_path: Path) -> None:
    items = [
        {"id": "a", "datasetName": "d", "input": "Q?", "status": "ACTIVE"},
        {"id": "b", "datasetName": "d", "input": "P?", "status": "ARCHIVED"},
    ]
    file = tmp_path / "items.json"
    file.write_text(json.dumps(items))
    found = read_foreign([file])
    assert [sample.item.id for sample in found.samples] == ["a"]
    assert found.lost == ("1 archived items",)


def test_names_of_deepeval_may_repeat(tmp_path: Path) -> None:
    cases = [{"name": "test_case_0", "input": f"Q{n}?", "actualOutput": "A", "retrievalContext": None} for n in "12"]
    file = tmp_path / ".latest_test_run.json"
    file.write_text(json.dumps({"testCases": cases, "conversationalTestCases": [], "metricsScores": []}))
    found = read_foreign([file])
    assert [sample.item.id for sample in found.samples] == ["test_case_0", "test_case_0#2"]
    assert any("tells them apart" in note for note in found.notes)


def test_a_number_that_tells_names_apart_is_one_that_no_name_has(tmp_path: Path) -> None:
    names = ["n1", "n1", "n1#2", "n1", "n1#2"]
    file = tmp_path / "cases.json"
    file.write_text(json.dumps([{"name": one, "input": f"Q{n}?", "actual_output": "A"} for n, one in enumerate(names)]))
    ids = [sample.item.id for sample in read_foreign([file]).samples]
    assert ids == ["n1", "n1#3", "n1#2", "n1#4", "n1#2#2"]


def test_cells_of_deepeval_hold_several_passages(tmp_path: Path) -> None:
    file = tmp_path / "cases.csv"
    file.write_text('input,actual_output,expected_output,context,retrieval_context\nQ?,A,R,"| a | b |","c1; x|c2."\n')
    found = read_foreign([file])
    (sample,) = found.samples
    assert sample.response.context is not None
    assert [one.text for one in sample.response.context] == ["c1; x", "c2."]
    assert sample.item.evidence is not None
    assert [group.any[0].quote for group in sample.item.evidence] == ["| a | b |"]  # a row of a table stays whole
    assert any("split at |" in note for note in found.notes)


@pytest.mark.parametrize("suffix", [".csv", ".jsonl"])
def test_hop_markers_of_ragas_are_no_part_of_the_gold_text(suffix: str, tmp_path: Path) -> None:
    rows = [
        {"user_input": "Q?", "reference": "R", "reference_contexts": ["<1-hop>\n\nIt's a.", "<2-hop>\n\nb <3-hop>"]}
    ]
    file = _save(rows, tmp_path / f"testset{suffix}")
    for golden in (load_golden(file).items, [sample.item for sample in read_foreign([file]).samples]):
        (item,) = golden
        assert item.evidence is not None
        assert [group.any[0].quote for group in item.evidence] == ["It's a.", "b <3-hop>"]


def test_a_bare_nan_is_nothing_and_infinity_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "answers.jsonl"
    line = '{"question": "Q?", "answer": "A", "contexts": [{"text": "c", "score": NaN}], "faithfulness": NaN}'
    file.write_text(line)
    (sample,) = read_samples(file)
    assert sample.response.context is not None
    assert sample.response.context.chunks[0].score is None
    assert "faithfulness" not in sample.item.metadata
    file.write_text(line.replace('"faithfulness": NaN', '"faithfulness": Infinity'))
    with pytest.raises(InputError, match="Infinity is not a value"):
        list(read_samples(file))


def test_printed_lists_with_nan_in_a_cell_are_lists(tmp_path: Path) -> None:
    file = tmp_path / "answers.csv"
    pd.DataFrame(
        [{"question": "Q?", "answer": "A", "contexts": [{"text": "c'1", "score": NAN}, {"text": "c2"}]}]
    ).to_csv(file)
    (sample,) = read_samples(file)
    assert sample.response.context is not None
    assert [one.text for one in sample.response.context] == ["c'1", "c2"]


def test_grades_below_zero_are_not_relevant(tmp_path: Path) -> None:
    (tmp_path / "qrels.txt").write_text("q1 0 d1 2\r\nq1 0 d2 -2\n")
    (tmp_path / "queries.tsv").write_text("q1\tQ?\nq9\tunused\n")
    found = read_foreign([tmp_path / "qrels.txt", tmp_path / "queries.tsv"])
    assert found.samples[0].item.relevance == {"d1": 2, "d2": 0}
    assert any("1 grades below 0" in note for note in found.notes)
    assert "1 queries that no other file names" in found.lost


def test_a_beir_folder_says_which_queries_it_leaves_out(tmp_path: Path) -> None:
    (tmp_path / "queries.jsonl").write_text('{"_id": "q1", "text": "Q?"}\n{"_id": "q2", "text": "of another split"}\n')
    (tmp_path / "qrels").mkdir()
    (tmp_path / "qrels" / "test.tsv").write_text("query-id\tcorpus-id\tscore\nq1\td1\t1\nq1\td2\t-1\n")
    found = read_foreign([tmp_path])
    assert found.samples[0].item.relevance == {"d1": 1, "d2": 0}
    assert found.lost == ("1 queries that the judgements do not name",)


def test_an_experiment_of_langsmith_as_a_table(tmp_path: Path) -> None:
    """`results.to_pandas()`: the reference is flattened, and `id` is the run's, not the example's."""
    row = {
        "inputs.question": "Q?", "outputs.answer": "A", "outputs.contexts": ["c"], "error": None, "id": "run-1",
        "reference.answer": "R", "feedback.correctness": 1.0, "execution_time": 1.5, "example_id": "e1",
    }  # fmt: skip
    found = read_foreign([_save([row], tmp_path / "experiment.csv")])
    (sample,) = found.samples
    assert (found.tool, sample.item.id, sample.item.answer, sample.response.answer) == ("langsmith", "e1", "R", "A")
    assert sample.response.total_ms == 1500


def test_an_example_id_is_the_id_only_in_experiments_of_langsmith_or_where_there_is_no_other() -> None:
    rows = [{"id": one, "example_id": "e", "question": f"{one}?", "answer": "A"} for one in "ab"]
    assert [one.item.id for one in read_samples(rows)] == ["a", "b"]
    assert [one.id for one in load_golden(rows)] == ["a", "b"]
    assert [one.item.id for one in read_samples([{"example_id": "e", "question": "Q?", "answer": "A"}])] == ["e"]
    timed = [{**row, "execution_time": 1.5} for row in rows]  # timing alone is no mark of LangSmith
    assert [one.item.id for one in read_samples(timed)] == ["a", "b"]
    experiment = {"inputs": {"question": "Q?"}, "outputs": {"answer": "A"}, "id": "run-1", "example_id": "e1",
                  "execution_time": 1.5, "row": "r"}  # fmt: skip
    assert [one.item.id for one in read_samples([experiment])] == ["e1"]
    assert [one.item.id for one in read_samples([experiment], field_map={"id": "id"})] == ["run-1"]
    assert [one.item.id for one in read_samples([experiment], field_map={"row": "id"})] == ["r"]


def test_data_set_examples_of_phoenix_are_golden(tmp_path: Path) -> None:
    row = {"example_id": "RGF=", "input": '{"question": "Q?"}', "output": '{"answer": "R"}', "metadata": "{}"}
    found = read_foreign([_save([row], tmp_path / "examples.csv")])
    assert (found.tool, found.role, found.samples[0].item.answer) == ("phoenix", "golden", "R")


def test_a_reference_that_is_an_object_is_opened(tmp_path: Path) -> None:
    file = tmp_path / "answers.jsonl"
    file.write_text('{"question": "Q?", "answer": "A", "reference": {"answer": "R"}}\n')
    (sample,) = read_samples(file)
    assert sample.item.answer == "R"
