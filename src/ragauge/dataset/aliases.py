"""One table: our field names and what other tools call them.

Names are compared without regard to case, and `expectedOutput`, `expected-output`, `Expected Output` and
`expected_output` are one name. A dot leads into a nested object: `inputs.question` is found in
`{"inputs": {"question": …}}` and as a flat column `inputs.question` or `inputs/question`. The first alias of a field
that a record has wins. Spellings of: Ragas, DeepEval, MLflow, Phoenix (OpenInference), Langfuse, LangSmith, Opik,
Braintrust, Inspect, promptfoo, LlamaIndex, Haystack, AutoRAG, RAGChecker, Giskard (RAGET), BEIR, TREC, Azure AI
Evaluation, Databricks, UpTrain, ARES, TruLens.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Literal

from ragauge.errors import UnknownName

#: What a file is read as: golden questions (`answer` is the reference), or outputs that a system gave.
Role = Literal["golden", "recorded"]

#: Our name → what others call it, most telling first. `answer` is what the system said, `reference` the right answer;
#: in a golden file `answer` is the reference.
ALIASES: dict[str, tuple[str, ...]] = {
    "id": (
        "id", "_id", "qid", "query_id", "question_id", "dataset_record_id", "record_id", "item_id", "example_id",
        "sample_id", "test_case_id", "request_id", "uid",
    ),
    "question": (
        "question", "query", "user_input", "input", "request", "questions", "queries", "user_query", "user_question",
        "prompt", "input.value", "inputs", "vars.query", "vars.question", "vars.input", "text",
    ),
    "history": (
        "history", "messages", "turns", "conversation_history", "chat_history", "conversation", "_conversation",
        "vars._conversation", "input_messages", "llm.input_messages", "gen_ai.input.messages",
    ),
    "answer": (
        "answer", "response", "actual_output", "output", "agent_answer", "predicted_answers", "predicted_answer",
        "prediction", "predictions", "generated_answer", "model_output", "model_answer", "pred", "completion",
        "outputs", "output.value", "answers", "result",
    ),
    "reference": (
        "reference", "ground_truth", "ground_truths", "reference_answer", "expected_answer", "expected_output",
        "expected_response", "expected", "target", "gt_answer", "generation_gt", "ground_truth_answers",
        "ground_truth_answer", "gold_answer", "gold_answers", "golden_answer", "correct_answer", "ideal",
        "ideal_answer", "reference_output", "reference_outputs", "reference_answers", "expected_answers", "expectation",
    ),
    "contexts": (
        "contexts", "retrieved_contexts", "retrieval_context", "retrieved_context", "context", "retrieved_contents",
        "retrieved_chunks", "retrieved_documents", "retrieved_docs", "source_documents", "source_nodes",
        "retrieval.documents", "gen_ai.retrieval.documents", "vars.context", "vars.contexts", "passages",
        "retrieved", "docs", "documents", "search_results",
    ),
    "context_ids": (
        "context_ids", "retrieved_context_ids", "retrieved_ids", "retrieved_chunk_ids",
    ),
    "context_documents": ("context_documents", "retrieved_doc_ids", "retrieved_document_ids", "retrieved_sources"),
    "context_scores": (
        "context_scores", "retrieve_scores", "retrieved_scores", "retrieval_scores", "retrieved_context_scores",
        "similarity_scores",
    ),
    "sources": (
        "sources", "source", "expected_sources", "expected_documents", "expected_document_ids", "expected_doc_ids",
        "reference_documents", "relevant_documents", "relevant_document_ids", "relevant_doc_ids", "gold_documents",
        "gold_doc_ids", "doc_ids", "document_ids",
    ),
    "chunks": (
        "chunks", "expected_chunk_ids", "expected_chunks", "reference_context_ids", "chunk_ids", "gold_chunk_ids",
        "gold_chunks", "relevant_chunk_ids", "relevant_chunks", "expected_context_ids",
    ),
    "relevance": (
        "relevance", "qrels", "relevance_grades", "relevant_ids", "relevant_docs", "retrieval_ground_truth",
        "relevance_judgements", "relevance_judgments",
    ),
    "not_relevant": (
        "not_relevant", "irrelevant", "irrelevant_ids", "not_relevant_ids", "non_relevant_ids", "negative_ids",
    ),
    "retrieval_gt": ("retrieval_gt",),
    "evidence": ("evidence", "gold_evidence"),
    "gold_contexts": (
        "reference_contexts", "reference_context", "gold_contexts", "gold_context", "ground_truth_contexts",
        "ground_truth_context", "ground_truth_documents", "expected_contexts", "expected_context", "ideal_context",
        "expected_retrieved_context",
    ),
    "document": ("document", "evidence_document"),
    "quote": ("quote", "evidence_quote"),
    "start": ("start", "evidence_start"),
    "end": ("end", "evidence_end"),
    "answerable": ("answerable", "is_answerable", "has_answer"),
    "unanswerable": ("unanswerable", "is_unanswerable", "is_impossible"),
    "keywords": (
        "keywords", "expected_answer_contains", "keyword", "expected_keywords", "must_contain", "answer_contains",
        "required_strings",
    ),
    "assert": ("assert", "assertions"),
    "tags": ("tags", "tag"),
    "faithfulness_threshold": ("faithfulness_threshold", "min_faithfulness"),
    "verified": ("verified", "is_verified", "human_verified", "reviewed"),
    "language": ("language", "lang"),
    "claims": ("claims", "reference_claims", "expected_facts"),
    "metadata": ("metadata", "additional_metadata", "meta"),
    "citations": ("citations", "cited_ids", "cited_chunk_ids"),
    "abstained": ("abstained", "declined", "refused", "is_refusal"),
    "retrieval_ms": ("retrieval_ms", "retrieval_latency_ms", "retrieval_time_ms"),
    "generation_ms": ("generation_ms", "generation_latency_ms", "generation_time_ms"),
    "total_ms": ("total_ms", "latency_ms", "total_latency_ms", "execution_time_ms", "duration_ms"),
    "retrieval_s": ("retrieval_s", "retrieval_latency_s", "retrieval_time_s"),
    "generation_s": ("generation_s", "generation_latency_s", "generation_time_s"),
    "total_s": (
        "total_s", "latency_s", "total_latency_s", "completion_time", "latency_seconds", "duration_s", "execution_time",
    ),
    "usage": ("usage", "token_usage"),
    "tokens_in": ("tokens_in", "prompt_tokens", "input_tokens", "llm.token_count.prompt", "gen_ai.usage.input_tokens"),
    "tokens_out": (
        "tokens_out", "completion_tokens", "output_tokens", "llm.token_count.completion", "gen_ai.usage.output_tokens",
    ),
    "cost_usd": ("cost_usd", "token_cost", "total_cost_usd", "llm.cost.total"),
    "model": ("model", "model_name", "llm.model_name", "gen_ai.response.model", "gen_ai.request.model"),
    "steps": ("steps", "retrieval_steps"),
    "repeat": ("repeat", "sample_idx", "repeat_index"),
}  # fmt: skip

#: Objects that other tools nest their fields in, and what a field has to be called in there to mean what.
_QUESTION_IN = {
    "question": "question", "query": "question", "user_input": "question", "input": "question", "request": "question",
    "text": "question", "value": "question", "prompt": "question", "content": "question", "user_query": "question",
    "messages": "history", "chat_history": "history", "history": "history", "_conversation": "history",
    "context": "contexts", "contexts": "contexts", "retrieved_contexts": "contexts", "id": "id",
}  # fmt: skip
_ANSWER_IN = {
    "answer": "answer", "response": "answer", "output": "answer", "content": "answer", "text": "answer",
    "result": "answer", "value": "answer", "generated_text": "answer", "prediction": "answer", "completion": "answer",
    "contexts": "contexts", "context": "contexts", "retrieved_contexts": "contexts", "documents": "contexts",
    "source_documents": "contexts", "retrieval_context": "contexts", "sources": "context_documents",
    "citations": "citations",
    "retrieved_context_ids": "context_ids", "usage": "usage",
}  # fmt: skip
_REFERENCE_IN = {
    "answer": "reference", "response": "reference", "output": "reference", "content": "reference",
    "text": "reference", "value": "reference", "expected_response": "reference", "expected_answer": "reference",
    "expected_output": "reference", "reference": "reference", "ground_truth": "reference", "result": "reference",
    "expected_facts": "claims", "expected_retrieved_context": "gold_contexts", "reference_contexts": "gold_contexts",
    "contexts": "gold_contexts", "sources": "sources", "keywords": "keywords",
}  # fmt: skip
CONTAINERS: dict[str, dict[str, str]] = {
    "inputs": _QUESTION_IN, "input": _QUESTION_IN, "vars": _QUESTION_IN,
    "outputs": _ANSWER_IN, "output": _ANSWER_IN, "response": _ANSWER_IN,
    "expectations": _REFERENCE_IN, "expected": _REFERENCE_IN, "expected_output": _REFERENCE_IN,
    "reference_outputs": _REFERENCE_IN, "reference_output": _REFERENCE_IN, "reference": _REFERENCE_IN,
}  # fmt: skip

#: Which of our names a golden item uses; the rest describes what a system did.
GOLDEN_FIELDS = frozenset({
    "id", "question", "history", "reference", "sources", "chunks", "relevance", "not_relevant", "retrieval_gt",
    "evidence", "gold_contexts", "document", "quote", "start", "end", "answerable", "unanswerable", "keywords",
    "assert", "tags", "faithfulness_threshold", "verified", "language", "claims", "metadata",
})  # fmt: skip
#: Every name that `field_map` may map to.
FIELDS = frozenset(ALIASES)

_RANKED: dict[str, tuple[str, int]] = {}
for _name, _aliases in ALIASES.items():
    for _place, _alias in enumerate(_aliases):
        _RANKED[_alias] = (_name, _place)
for _container, _inside in CONTAINERS.items():
    for _place, (_key, _name) in enumerate(_inside.items()):
        _RANKED.setdefault(f"{_container}.{_key}", (_name, 100 + _place))

_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")


@lru_cache(maxsize=4096)
def normal_name(name: str) -> str:
    """`name` as names are compared.

    >>> normal_name("expectedOutput"), normal_name("Expected Answer"), normal_name("inputs/question")
    ('expected_output', 'expected_answer', 'inputs.question')
    """
    flat = _CAMEL.sub("_", name.strip()[:200]).lower().replace("/", ".").replace("-", "_").replace(" ", "_")
    return flat.removeprefix("attributes.")


@lru_cache(maxsize=4096)
def field_of(path: str) -> tuple[str, int] | None:
    """(our name, place in the order of preference) of a normal name, or None if nobody calls a field so.

    >>> field_of("user_input"), field_of("inputs.question"), field_of("colour")
    (('question', 2), ('question', 100), None)
    """
    return _RANKED.get(path)


@lru_cache(maxsize=4096)
def near_miss(name: str) -> str | None:
    """The known name that `name` is probably a slip of, or None.

    >>> near_miss("qestion"), near_miss("difficulty")
    ('question', None)
    """
    known = [alias for aliases in ALIASES.values() for alias in aliases]
    if len(name) < 4:
        return None
    hits = difflib.get_close_matches(normal_name(name), known, n=1, cutoff=0.87)
    return hits[0] if hits else None


def checked_map(field_map: Mapping[str, str] | None, role: Role) -> dict[str, str]:
    """`field_map` (theirs → ours) with normal names; `UnknownName` if ours is not one of our fields.

    >>> checked_map({"Frage": "question"}, "golden")
    {'frage': 'question'}
    """
    checked = {}
    for theirs, ours in (field_map or {}).items():
        name = "reference" if role == "golden" and ours == "answer" else ours
        if name not in FIELDS:
            raise UnknownName("field", ours, FIELDS)
        checked[normal_name(theirs)] = name
    return checked


def spellings(name: str, n: int = 6) -> str:
    """The first `n` spellings of a field, for messages.

    >>> spellings("keywords", 2)
    'keywords | expected_answer_contains'
    """
    return " | ".join(ALIASES[name][:n])
