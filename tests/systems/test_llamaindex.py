# ruff: noqa: E402 - the framework may not be installed
"""LlamaIndex's own engines, with an embedded embedder and its mock model."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from ragauge.core.sample import Question, Response
from ragauge.errors import SettingsError, SystemFailed

pytest.importorskip("llama_index.core", reason="llama-index-core is not installed (extra llamaindex)")
pytestmark = pytest.mark.slow

from llama_index.core import VectorStoreIndex
from llama_index.core.base.embeddings.base import BaseEmbedding
from llama_index.core.llms import MockLLM
from llama_index.core.memory import ChatMemoryBuffer
from llama_index.core.query_engine import CustomQueryEngine, RetrieverQueryEngine
from llama_index.core.retrievers import BaseRetriever
from llama_index.core.schema import NodeWithScore, QueryBundle, TextNode

from ragauge.embeddings import load
from ragauge.systems.llamaindex import from_llamaindex
from ragauge.testing.systems import check_system

QUESTION = Question(id="q1", text="How many requests per minute?")
NODES = [
    TextNode(text="Free plan: 60 requests per minute.", id_="limits#1", metadata={"file_path": "/srv/docs/limits.md"}),
    TextNode(text="Keys are rotated in the console.", id_="keys#1", metadata={"file_path": "/srv/docs/keys.md"}),
]


class MiniLM(BaseEmbedding):
    def _get_query_embedding(self, query: str) -> list[float]:
        return load().encode([query])[0].tolist()

    def _get_text_embedding(self, text: str) -> list[float]:
        return load().encode([text])[0].tolist()

    async def _aget_query_embedding(self, query: str) -> list[float]:
        return self._get_query_embedding(query)


@pytest.fixture(scope="module")
def index() -> VectorStoreIndex:
    return VectorStoreIndex(NODES, embed_model=MiniLM())


def ask(target: Any, **settings: Any) -> Response:
    return asyncio.run(from_llamaindex(target, **settings).respond(QUESTION))


def check_context(response: Response) -> None:
    assert response.context is not None
    first = response.context.chunks[0]
    assert (first.id, first.document, first.text) == ("limits#1", "limits.md", NODES[0].text)
    assert first.score is not None
    assert first.score > 0.3


ROOT = {"fields": {"root": "/srv/docs"}}


def test_an_index_and_its_retriever_give_nodes_with_scores(index: VectorStoreIndex) -> None:
    for target, settings in ((index, {"k": 1}), (index.as_retriever(), {}), (index.as_retriever(), {"async": True})):
        response = ask(target, **settings, **ROOT)
        assert response.answer is None
        check_context(response)
    assert len(ask(index, k=1).context or ()) == 1


@pytest.mark.parametrize("settings", [{}, {"async": True}])
def test_a_query_engine_gives_answer_and_source_nodes(index: VectorStoreIndex, settings: dict[str, Any]) -> None:
    response = ask(index.as_query_engine(llm=MockLLM(max_tokens=3)), **settings, **ROOT)
    assert response.answer == "text text text"
    assert response.usage.calls >= 1
    check_context(response)


def test_streamed_answers_and_chats_are_read_to_their_end(index: VectorStoreIndex) -> None:
    streamed = ask(index.as_query_engine(llm=MockLLM(max_tokens=3), streaming=True), **ROOT)
    assert str(streamed.answer).split() == ["text"] * 3
    memory = ChatMemoryBuffer.from_defaults(token_limit=1000)  # the default one leaves a database open
    chat = ask(index.as_chat_engine(llm=MockLLM(max_tokens=3), chat_mode="context", memory=memory), **ROOT)
    assert str(chat.answer).startswith("text")
    check_context(chat)


class Hops(BaseRetriever):
    """Asks another retriever twice."""

    def __init__(self, inner: Any) -> None:
        self.inner = inner
        super().__init__()

    def _retrieve(self, query: QueryBundle) -> list[NodeWithScore]:
        first = self.inner.retrieve(query)
        return first + self.inner.retrieve(f"more: {first[0].node.get_content()}")


def test_every_retrieval_inside_is_a_step(index: VectorStoreIndex) -> None:
    engine = RetrieverQueryEngine.from_args(Hops(index.as_retriever(similarity_top_k=1)), llm=MockLLM(max_tokens=1))
    response = ask(engine, **ROOT)
    assert [one.query for one in response.steps] == [QUESTION.text, f"more: {NODES[0].text}", QUESTION.text]
    check_context(response)


def test_a_custom_engine_that_gives_a_text(index: VectorStoreIndex) -> None:
    class Text(CustomQueryEngine):
        def custom_query(self, query_str: str) -> str:
            return query_str.upper()

    assert ask(Text()).answer == QUESTION.text.upper()


def test_failures_and_wrong_objects_are_said(index: VectorStoreIndex) -> None:
    class Broken(CustomQueryEngine):
        def custom_query(self, query_str: str) -> str:
            raise KeyError("no index")

    with pytest.raises(SystemFailed, match="no index"):
        ask(Broken())
    with pytest.raises(SettingsError, match="is int 7, not a LlamaIndex"):
        ask(7)
    with pytest.raises(SettingsError, match="retriever or query_engine"):
        ask(index, use="chat")


def test_it_keeps_the_laws_of_systems(index: VectorStoreIndex) -> None:
    check_system(from_llamaindex(index.as_query_engine(llm=MockLLM(max_tokens=3))), takes_context=False)
