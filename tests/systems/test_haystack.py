# ruff: noqa: E402 - the framework may not be installed
"""Haystack's own pipelines, with an embedded embedder and a generator that says what it is told."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from typing import Any

import pytest

from ragauge.core.sample import Question, Response
from ragauge.errors import SettingsError, SystemFailed

os.environ.setdefault("HAYSTACK_TELEMETRY_ENABLED", "false")
pytest.importorskip("haystack", reason="haystack-ai is not installed (extra haystack)")
pytestmark = pytest.mark.slow

from haystack import Document, Pipeline, component
from haystack.components.builders import PromptBuilder
from haystack.components.builders.answer_builder import AnswerBuilder
from haystack.components.retrievers.in_memory import InMemoryBM25Retriever, InMemoryEmbeddingRetriever
from haystack.dataclasses import ChatMessage
from haystack.document_stores.in_memory import InMemoryDocumentStore

from ragauge.embeddings import load
from ragauge.systems.haystack import from_haystack
from ragauge.testing.systems import check_system

QUESTION = Question(id="q1", text="How many requests per minute?")
TEXTS = {"limits.md": "Free plan: 60 requests per minute.", "keys.md": "Keys are rotated in the console."}
TEMPLATE = "{% for one in documents %}{{one.content}}\n{% endfor %}{{question}}"


@component
class MiniLM:
    @component.output_types(embedding=list[float])
    def run(self, text: str) -> dict[str, Any]:
        return {"embedding": load().encode([text])[0].tolist()}


@component
class Says:
    @component.output_types(replies=list[ChatMessage])
    def run(self, prompt: str) -> dict[str, Any]:
        meta = {"model": "m-1", "usage": {"prompt_tokens": 20, "completion_tokens": 3}}
        return {"replies": [ChatMessage.from_assistant("60 per minute.", meta=meta)]}


@component
class Best:
    """A re-ranker that keeps one."""

    @component.output_types(documents=list[Document])
    def run(self, query: str, documents: list[Document]) -> dict[str, Any]:
        return {"documents": documents[:1]}


@component
class Fails:
    @component.output_types(documents=list[Document])
    def run(self, query: str) -> dict[str, Any]:
        raise RuntimeError("the store is locked")


@pytest.fixture(scope="module")
def store() -> InMemoryDocumentStore:
    made = InMemoryDocumentStore()
    vectors = load().encode(list(TEXTS.values())).tolist()
    made.write_documents(
        [
            Document(id=f"{name}#1", content=text, meta={"file_path": f"/srv/{name}"}, embedding=vector)
            for (name, text), vector in zip(TEXTS.items(), vectors, strict=True)
        ]
    )
    return made


def dense(store: InMemoryDocumentStore) -> Pipeline:
    """Embedder, retriever, re-ranker, prompt, generator, answer."""
    made = Pipeline()
    made.add_component("embedder", MiniLM())
    made.add_component("retriever", InMemoryEmbeddingRetriever(store, top_k=2))
    made.add_component("ranker", Best())
    made.add_component("prompt", PromptBuilder(TEMPLATE, required_variables=["question", "documents"]))
    made.add_component("llm", Says())
    made.add_component("answers", AnswerBuilder())
    made.connect("embedder.embedding", "retriever.query_embedding")
    made.connect("retriever", "ranker.documents")
    made.connect("ranker", "prompt.documents")
    made.connect("prompt", "llm")
    made.connect("llm.replies", "answers.replies")
    made.connect("ranker.documents", "answers.documents")
    return made


def ask(pipeline: Any, **settings: Any) -> Response:
    return asyncio.run(from_haystack(pipeline, **settings).respond(QUESTION))


@pytest.mark.parametrize("settings", [{}, {"async": True}])
def test_a_pipeline_gives_answer_documents_and_steps(store: InMemoryDocumentStore, settings: dict[str, Any]) -> None:
    response = ask(dense(store), fields={"root": "/srv"}, **settings)
    assert response.answer == "60 per minute."
    assert response.context is not None
    (chunk,) = response.context.chunks
    assert (chunk.id, chunk.document, chunk.text) == ("limits.md#1", "limits.md", TEXTS["limits.md"])
    assert chunk.score is not None
    assert [(one.name, len(one.chunks)) for one in response.steps] == [("retriever", 2), ("ranker", 1)]
    assert (response.usage.tokens_in, response.usage.tokens_out, response.model) == (20, 3, "m-1")


def test_output_is_mapped_by_component(store: InMemoryDocumentStore) -> None:
    response = ask(dense(store), answer="llm.replies.0", contexts="retriever.documents")
    assert response.answer == "60 per minute."
    assert response.context is not None
    assert len(response.context) == 2
    with pytest.raises(SystemFailed, match="'reply' of"):
        ask(dense(store), answer="llm.reply")


def test_a_retriever_alone_and_an_input_template(store: InMemoryDocumentStore) -> None:
    alone = Pipeline()
    alone.add_component("bm25", InMemoryBM25Retriever(store, top_k=1))
    for settings in ({}, {"input": {"bm25": {"query": "{question}", "top_k": 1}}}):
        response = ask(alone, **settings)
        assert response.answer is None
        assert response.context is not None
        assert response.context.ids == ["limits.md#1"]


def test_what_a_component_raises_is_a_failed_question(store: InMemoryDocumentStore) -> None:
    broken = Pipeline()
    broken.add_component("fails", Fails())
    with pytest.raises(SystemFailed, match="the store is locked"):
        ask(broken)
    with pytest.raises(SettingsError, match="is int 7, not a Haystack pipeline"):
        ask(7)
    prompt = Pipeline()
    prompt.add_component("prompt", PromptBuilder("{{topic}}", required_variables=["topic"]))
    with pytest.raises(SystemFailed, match=r"must be given prompt\.topic"):
        ask(prompt)


def test_questions_do_not_disturb_each_other(store: InMemoryDocumentStore) -> None:
    system = from_haystack(dense(store))

    async def main() -> list[Response]:
        texts = ["How many requests per minute?", "Where are keys rotated?"] * 5
        asked = (system.respond(Question(id=str(n), text=text)) for n, text in enumerate(texts))
        return list(await asyncio.gather(*asked))

    found = [one.context.ids for one in asyncio.run(main()) if one.context is not None]
    assert found == [["limits.md#1"], ["keys.md#1"]] * 5


def test_it_keeps_the_laws_of_systems(store: InMemoryDocumentStore) -> None:
    check_system(from_haystack(dense(store)), takes_context=False)


def test_telemetry_is_off() -> None:
    code = (
        "from ragauge.systems.haystack import build\n"
        "try:\n    build({'object': 'python:haystack:Pipeline.nothing'})\nexcept Exception:\n    pass\n"
        "from haystack.telemetry import _telemetry\nprint(_telemetry.telemetry)\n"
    )
    environment = {name: value for name, value in os.environ.items() if name != "HAYSTACK_TELEMETRY_ENABLED"}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=environment, timeout=60)
    assert done.stdout.strip() == "None", done.stderr
