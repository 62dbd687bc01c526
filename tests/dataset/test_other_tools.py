"""Records as other tools write them are read as what they mean (the table of spellings)."""

from __future__ import annotations

import json
from typing import Any

import pytest

from ragauge.core.sample import GoldenItem, Sample
from ragauge.dataset import load_golden, read_samples


def golden(record: dict[str, Any], **options: Any) -> GoldenItem:
    return load_golden([record], **options).items[0]


def recorded(record: dict[str, Any], **options: Any) -> Sample:
    return next(iter(read_samples([record], **options)))


def texts(sample: Sample) -> list[str]:
    assert sample.response.context is not None
    return [chunk.text for chunk in sample.response.context]


RECORDED = {
    "ragas 0.4": {
        "user_input": "Q?", "response": "A", "reference": "R", "retrieved_contexts": ["c1", "c2"],
        "retrieved_context_ids": ["i1", "i2"], "reference_context_ids": ["i1"], "persona_name": "p",
    },
    "ragas 0.1": {"question": "Q?", "answer": "A", "ground_truths": ["R"], "contexts": ["c1", "c2"]},
    "deepeval": {"input": "Q?", "actual_output": "A", "expected_output": "R", "retrieval_context": ["c1", "c2"],
    "context": ["gold"]},
    "deepeval objects": {
        "input": "Q?", "actualOutput": "A", "expectedOutput": "R",
        "retrievalContext": [{"context": "c1", "source": "d1"}, {"context": "c2", "source": "d2"}],
    },
    "deepeval turns": {
        "turns": [
            {"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Hello"},
            {"role": "user", "content": "Q?"}, {"role": "assistant", "content": "A", "retrieval_context": ["c1", "c2"]},
        ],
        "expected_output": "R",
    },
    "mlflow 3": {
        "inputs": {"question": "Q?"}, "outputs": {"response": "A", "contexts": ["c1", "c2"]},
        "expectations": {"expected_response": "R", "expected_facts": ["f"]}, "tags": {"team": "docs"},
        "source": {"source_type": "HUMAN"},
    },
    "mlflow columns": {
        "inputs/question": "Q?", "outputs": "A", "expectations/expected_response": "R", "retrieved_context": ["c1",
        "c2"],
    },
    "mlflow messages": {
        "inputs": {"messages": [{"role": "user", "content": "Q?"}]}, "outputs": "A",
        "expectations": {"expected_response": "R"}, "contexts": ["c1", "c2"],
    },
    "phoenix spans": {
        "attributes.input.value": "Q?", "attributes.output.value": "A", "expected": "R",
        "attributes.retrieval.documents": [
            {"document.id": "i1", "document.content": "c1", "document.score": 0.9},
            {"document.id": "i2", "document.content": "c2", "document.score": 0.8},
        ],
    },
    "openinference flattened": {
        "input.value": "Q?", "output.value": "A", "reference": "R",
        "retrieval.documents.1.document.content": "c2", "retrieval.documents.0.document.content": "c1",
        "retrieval.documents.0.document.metadata": '{"source": "d1"}',
    },
    "langfuse": {"input": {"question": "Q?"}, "output": "A", "expectedOutput": "R", "contexts": ["c1", "c2"]},
    "langsmith": {
        "inputs": {"question": "Q?"}, "outputs": {"answer": "A", "documents": [{"page_content": "c1"},
        {"page_content": "c2"}]},
        "reference_outputs": {"answer": "R"},
    },
    "opik": {"input": "Q?", "output": "A", "context": ["c1", "c2"], "expected_output": "R"},
    "braintrust": {"input": "Q?", "output": "A", "context": ["c1", "c2"], "expected": "R"},
    "inspect": {
        "input": [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "x"}, {"role": "user",
        "content": "Q?"}],
        "output": "A", "target": ["R", "R2"], "contexts": ["c1", "c2"],
    },
    "promptfoo": {
        "vars": {"query": "Q?", "context": ["c1", "c2"]}, "response": {"output": "A"},
        "assert": [{"type": "similar", "value": "R"}, {"type": "icontains", "value": "kw"}],
    },
    "llamaindex": {
        "query": "Q?", "response": "A", "reference_answer": "R",
        "source_nodes": [{"node": {"id_": "i1", "text": "c1", "metadata": {"file_name": "d1"}}, "score": 0.7},
        {"node": {"id_": "i2", "text": "c2"}}],
    },
    "haystack": {
        "questions": "Q?", "predicted_answers": "A", "ground_truth_answers": "R",
        "contexts": [{"id": "i1", "content": "c1", "meta": {"file_path": "d1"}, "score": 0.4}, {"id": "i2",
        "content": "c2"}],
    },
    "autorag": {
        "qid": "x", "query": "Q?", "generation_gt": ["R", "R2"], "retrieval_gt": [["i1"], ["i3"]], "answer": "A",
        "retrieved_contents": ["c1", "c2"], "retrieved_ids": ["i1", "i2"], "retrieve_scores": [0.9, 0.1],
    },
    "ragchecker": {
        "query_id": "x", "query": "Q?", "gt_answer": "R", "response": "A",
        "retrieved_context": [{"doc_id": "i1", "text": "c1"}, {"doc_id": "i2", "text": "c2"}],
    },
    "raget": {
        "id": "x", "question": "Q?", "reference_answer": "R", "agent_answer": "A", "contexts": ["c1", "c2"],
        "reference_context": "Document 12: one\n\nDocument 3: two", "conversation_history": [],
        "metadata": {"topic": "t"},
    },
    "azure": {"query": "Q?", "response": "A", "context": '["c1", "c2"]', "ground_truth": "R"},
    "databricks": {
        "request": "Q?", "response": "A", "expected_response": "R",
        "retrieved_context": [{"doc_uri": "d1", "content": "c1"}, {"doc_uri": "d2", "content": "c2"}],
    },
    "uptrain": {"question": "Q?", "context": ["c1", "c2"], "response": "A", "ground_truth": "R"},
    "langchain": {
        "query": "Q?", "result": "A", "ground_truth": "R",
        "source_documents": [{"page_content": "c1", "metadata": {"source": "d1", "chunk_id": "i1"}},
        {"page_content": "c2", "metadata": {}}],
    },
    "trulens": {
        "query": "Q?", "response": "A", "expected_response": "R", "contexts": ["c1", "c2"],
        "expected_chunks": [{"text": "gold", "title": "t", "expect_score": 1.0}],
    },
}  # fmt: skip


@pytest.mark.parametrize("tool", sorted(RECORDED))
def test_recorded_outputs_of_other_tools_are_read(tool: str) -> None:
    sample = recorded(RECORDED[tool])
    assert sample.item.question == "Q?"
    assert sample.response.answer == "A"
    assert sample.item.answer == "R"
    assert texts(sample) == ["c1", "c2"]


@pytest.mark.parametrize("tool", sorted(RECORDED))
def test_the_same_records_survive_json_text_in_table_cells(tool: str, tmp_path: Any) -> None:
    from ragauge.store.tables import write_csv

    record = RECORDED[tool]
    write_csv(tmp_path / "r.csv", [record])
    sample = next(iter(read_samples(tmp_path / "r.csv")))
    assert (sample.item.question, sample.response.answer, texts(sample)) == ("Q?", "A", ["c1", "c2"])


def test_ids_documents_and_scores_of_contexts_are_found_where_tools_put_them() -> None:
    def first(tool: str) -> tuple[str, str | None, float | None]:
        context = recorded(RECORDED[tool]).response.context
        assert context is not None
        chunk = context.chunks[0]
        return chunk.id, chunk.document, chunk.score

    assert first("ragas 0.4") == ("i1", None, None)
    assert first("phoenix spans") == ("i1", None, 0.9)
    assert first("openinference flattened") == ("ctx-1", "d1", None)
    assert first("llamaindex") == ("i1", "d1", 0.7)
    assert first("haystack") == ("i1", "d1", 0.4)
    assert first("autorag") == ("i1", None, 0.9)
    assert first("ragchecker") == ("i1", "i1", None)
    assert first("langchain") == ("i1", "d1", None)
    assert first("databricks") == ("ctx-1", "d1", None)
    assert first("deepeval objects") == ("ctx-1", "d1", None)


def test_multi_turn_records_keep_the_turns_before_the_question() -> None:
    ragas = recorded({
        "user_input": [
            {"content": "Hi", "type": "human"}, {"content": "Hello", "type": "ai"}, {"content": "Q?", "type": "human"},
            {"content": "A", "type": "ai"},
        ],
    })  # fmt: skip
    assert [(m.role, m.content) for m in ragas.item.history] == [("user", "Hi"), ("assistant", "Hello")]
    assert (ragas.item.question, ragas.response.answer) == ("Q?", "A")
    assert [m.content for m in recorded(RECORDED["inspect"]).item.history] == ["Hi", "x"]
    turns = recorded(RECORDED["deepeval turns"])
    assert [m.content for m in turns.item.history] == ["Hi", "Hello"]
    parts = recorded(
        {"gen_ai.input.messages": [{"role": "user", "parts": [{"type": "text", "content": "Q?"}]}], "output": "A"}
    )
    assert parts.item.question == "Q?"
    pairs = recorded({"vars": {"query": "Q?", "_conversation": [{"input": "Hi", "output": "Hello"}]}, "output": "A"})
    assert [m.content for m in pairs.item.history] == ["Hi", "Hello"]


GOLDEN = {
    "native": {"id": "x", "question": "Q?", "answer": "R"},
    "ragas testset": {"user_input": "Q?", "reference": "R", "reference_contexts": ["gold"], "synthesizer_name": "s"},
    "deepeval golden": {"input": "Q?", "expected_output": "R", "context": ["gold"], "source_file": "f"},
    "mlflow": {
        "dataset_record_id": "x", "inputs": {"question": "Q?"},
        "expectations": {"expected_response": "R", "expected_retrieved_context": [{"doc_uri": "d1",
        "content": "gold"}]},
    },
    "phoenix example": {"input": {"question": "Q?"}, "output": {"answer": "R"}, "reference_contexts": ["gold"]},
    "langsmith example": {"inputs": {"question": "Q?"}, "outputs": {"answer": "R"}, "metadata": {"split": "dev"}},
    "langfuse item": {"id": "x", "input": "Q?", "expected_output": "R", "metadata": {"a": 1}},
    "inspect": {"id": 3, "input": "Q?", "target": "R"},
    "promptfoo": {"vars": {"query": "Q?"}, "assert": [{"type": "equals", "value": "R"}]},
    "llamaindex": {"query": "Q?", "query_by": {"model_name": "m"}, "reference_contexts": ["gold"],
    "reference_answer": "R"},
    "trulens": {"query": "Q?", "expected_response": "R", "expected_chunks": [{"text": "gold", "title": "d1"}]},
    "raget": {"id": "x", "question": "Q?", "reference_answer": "R", "reference_context": "Document 1: gold"},
    "squad": {"id": "x", "question": "Q?", "answers": ["R"], "is_impossible": False},
}  # fmt: skip


@pytest.mark.parametrize("tool", sorted(GOLDEN))
def test_golden_records_of_other_tools_are_read(tool: str) -> None:
    item = golden(GOLDEN[tool])
    assert (item.question, item.answer) == ("Q?", "R")
    if "gold" in json.dumps(GOLDEN[tool]):
        assert item.evidence is not None
        assert item.evidence[0].any[0].quote == "gold"


def test_gold_texts_without_a_place_are_looked_for_everywhere_and_those_with_one_there() -> None:
    def place(tool: str) -> str:
        evidence = golden(GOLDEN[tool]).evidence
        assert evidence
        return evidence[0].any[0].document

    assert place("ragas testset") == "*"
    assert place("mlflow") == "d1"
    assert place("trulens") == "d1"


def test_gold_ids_and_grades_are_read_in_every_spelling() -> None:
    base = {"question": "Q?", "answer": "R"}
    assert golden({**base, "expected_chunk_ids": ["a", "b"]}).chunks == ("a", "b")
    assert golden({**base, "expected_chunks": ["a"]}).chunks == ("a",)
    assert golden({**base, "reference_context_ids": ["a"]}).chunks == ("a",)
    assert golden({**base, "expected_chunks": [{"id": "a"}, {"chunk_id": "b"}]}).chunks == ("a", "b")
    assert golden({**base, "sources": "doc.md"}).sources == ("doc.md",)
    assert golden({**base, "relevant_ids": ["a"], "irrelevant_ids": ["b"]}).relevance == {"a": 1, "b": 0}
    assert golden({**base, "relevance": {"a": 3, "b": 0}}).relevance == {"a": 3, "b": 0}
    azure = {**base, "retrieval_ground_truth": [{"document_id": "a", "query_relevance_label": 2}]}
    assert golden(azure).relevance == {"a": 2}
    assert golden({**base, "expected_answer_contains": ["4 GB"]}).keywords == ("4 GB",)
    assert golden({**base, "tags": {"domain": "cloud", "multi_hop": True, "off": False}}).tags == (
        "domain:cloud",
        "multi_hop",
    )


def test_autorag_requirements_keep_and_of_or() -> None:
    base = {"query": "Q?", "generation_gt": ["R"]}
    item = golden({**base, "retrieval_gt": [["a", "b"], ["c"]]})
    assert item.evidence is not None
    assert [[e.document for e in group.any] for group in item.evidence] == [["a", "b"], ["c"]]
    assert golden({**base, "retrieval_gt": [["a"], ["c"]]}).chunks == ("a", "c")
    flat = golden({**base, "retrieval_gt": ["a", "b"]}).evidence
    assert flat is not None
    assert [[e.document for e in group.any] for group in flat] == [["a", "b"]]


def test_deepeval_context_is_the_ideal_context_and_elsewhere_it_is_what_was_retrieved() -> None:
    sample = recorded(RECORDED["deepeval"])
    assert sample.item.evidence is not None
    assert sample.item.evidence[0].any[0].quote == "gold"
    bare = recorded({"input": "Q?", "actual_output": "A", "context": ["gold"]})
    assert bare.response.context is None
    assert texts(recorded(RECORDED["uptrain"])) == ["c1", "c2"]


def test_in_a_golden_file_an_explicit_reference_wins_over_a_recorded_answer() -> None:
    loaded = load_golden([{"question": "Q?", "answer": "said", "ground_truth": "R"}])
    assert loaded.items[0].answer == "R"
    assert any("'ground_truth' is the reference" in note for note in loaded.notes)
    other = load_golden([{"user_input": "Q?", "response": "said"}])
    assert other.items[0].answer is None
    assert any("'response' is what a system said" in note for note in other.notes)


def test_several_references_keep_the_first_and_remember_the_rest() -> None:
    item = golden({"question": "Q?", "ground_truths": ["R", "R2"]})
    assert item.answer == "R"
    assert item.metadata["other_references"] == ["R2"]


def test_unknown_fields_become_metadata_and_slips_are_said() -> None:
    loaded = load_golden([{"question": "Q?", "difficulty": "hard", "keyword_s": ["a"], "answerabel": True}])
    assert loaded.items[0].metadata == {"difficulty": "hard", "keyword_s": ["a"], "answerabel": True}
    assert any("'answerabel' is not known" in n and "'answerable'" in n for n in loaded.notes)
    assert not any("difficulty" in n for n in loaded.notes)


def test_field_map_goes_before_the_aliases() -> None:
    item = golden(
        {"Frage": "Q?", "Antwort": "R", "question": "other"}, field_map={"Frage": "question", "Antwort": "answer"}
    )
    assert (item.question, item.answer) == ("Q?", "R")
    nested = recorded({"payload": "Q?", "deep.text": "A"}, field_map={"payload": "question", "deep.text": "answer"})
    assert nested.response.answer == "A"


def test_usage_latency_and_the_rest_of_a_response_are_read() -> None:
    response = recorded({
        "question": "Q?", "answer": "A [1]", "contexts": [{"id": "c", "text": "t"}], "retrieval_ms": 12,
        "generation_s": 0.5,
        "usage": {"prompt_tokens": 10, "completion_tokens": 3, "cost": 0.01}, "citations": ["c"], "abstained": "no",
        "model": "m", "steps": [{"name": "hop", "query": "q2", "chunks": [{"id": "c", "text": "t"}], "latency_ms": 3}],
    }).response  # fmt: skip
    assert (response.retrieval_ms, response.generation_ms) == (12, 500)
    assert (response.usage.tokens_in, response.usage.tokens_out, response.usage.cost_usd) == (10, 3, 0.01)
    assert (response.citations, response.abstained, response.model) == (("c",), False, "m")
    assert response.steps[0].query == "q2"
    assert response.steps[0].chunks[0].id == "c"


def test_one_text_is_one_context_and_an_empty_list_is_not_the_same_as_nothing() -> None:
    assert texts(recorded({"question": "Q?", "context": "one; two | three"})) == ["one; two | three"]
    empty = recorded({"question": "Q?", "contexts": []}).response.context
    assert empty is not None
    assert len(empty) == 0
    assert recorded({"question": "Q?", "answer": "A"}).response.context is None


def test_a_blank_recorded_answer_stays_an_answer_that_is_blank() -> None:
    assert recorded({"question": "Q?", "answer": ""}).response.answer == ""
    assert recorded({"question": "Q?"}).response.answer is None


def test_what_an_application_returned_as_sources_or_chunks_is_retrieved_and_ids_alone_are_gold() -> None:
    passages = [{"id": "i1", "text": "c1", "score": 0.5}, {"id": "i2", "text": "c2"}]
    for name in ("chunks", "sources", "documents", "retrieved", "docs"):
        sample = recorded({"question": "Q?", "answer": "A", name: passages})
        assert texts(sample) == ["c1", "c2"]
        assert (sample.item.chunks, sample.item.sources) == (None, None)
    gold = recorded({"question": "Q?", "answer": "A", "chunks": ["i1"], "sources": ["d1"], "contexts": passages})
    assert (gold.item.chunks, gold.item.sources) == (("i1",), ("d1",))
    nested = recorded({"inputs": {"question": "Q?"}, "outputs": {"answer": "A", "sources": ["d1", "d2"]}})
    assert nested.item.sources is None
    assert nested.response.context is not None
    assert nested.response.context.documents == ["d1", "d2"]
    assert golden({"question": "Q?", "documents": ["d1"]}).sources == ("d1",)


def test_a_slip_in_a_results_file_is_offered_and_metric_columns_are_not_taken_for_slips() -> None:
    stream = read_samples([{"user_input": "Q?", "response": "A", "faithfulness": 0.5, "answer_relevancy": 0.2}])
    stream.scan()
    assert stream.warnings == ()
