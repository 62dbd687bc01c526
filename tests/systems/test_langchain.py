# ruff: noqa: E402 - the framework may not be installed
"""LangChain's own objects, with an embedded embedder and models that say what they are told."""

from __future__ import annotations

import asyncio
import sys
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from ragauge.core.sample import Question, Response
from ragauge.errors import SettingsError, SystemFailed

pytest.importorskip("langchain_core", reason="langchain-core is not installed (extra langchain)")
pytestmark = pytest.mark.slow

from langchain_core.documents import Document
from langchain_core.embeddings import Embeddings
from langchain_core.language_models.fake_chat_models import FakeListChatModel, GenericFakeChatModel
from langchain_core.messages import AIMessage
from langchain_core.output_parsers import StrOutputParser
from langchain_core.prompts import ChatPromptTemplate
from langchain_core.retrievers import BaseRetriever
from langchain_core.runnables import RunnableLambda, RunnablePassthrough
from langchain_core.vectorstores import InMemoryVectorStore

from ragauge.embeddings import load
from ragauge.systems.langchain import build, from_langchain
from ragauge.testing.systems import check_system

QUESTION = Question(id="q1", text="How many requests per minute?")
DOCUMENTS = [
    Document("Free plan: 60 requests per minute.", id="limits#1", metadata={"source": "/srv/docs/limits.md", "n": 1}),
    Document("Keys are rotated in the console.", metadata={"source": "/srv/docs/keys.md"}),
]
PROMPT = ChatPromptTemplate.from_template("{context}\n\n{question}")


class MiniLM(Embeddings):
    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        return load().encode(texts).tolist()

    def embed_query(self, text: str) -> list[float]:
        return load().encode([text])[0].tolist()


class Fixed(BaseRetriever):
    found: list[Document]
    seconds: float = 0.0

    def _get_relevant_documents(self, query: str, **more: Any) -> list[Document]:
        time.sleep(self.seconds)
        return self.found


@pytest.fixture(scope="module")
def store() -> InMemoryVectorStore:
    made = InMemoryVectorStore(MiniLM())
    made.add_documents(DOCUMENTS)
    return made


def model(*said: str) -> FakeListChatModel:
    return FakeListChatModel(responses=list(said))


def joined(documents: list[Document]) -> str:
    return "\n".join(one.page_content for one in documents)


def ask(target: Any, question: Question = QUESTION, **settings: Any) -> Response:
    return asyncio.run(from_langchain(target, **settings).respond(question))


def ids(response: Response) -> list[str]:
    assert response.context is not None
    return response.context.ids


def test_a_vector_store_gives_documents_with_scores(store: InMemoryVectorStore) -> None:
    response = ask(store, k=2, fields={"root": "/srv/docs"})
    assert response.answer is None
    assert response.context is not None
    first, second = response.context.chunks
    assert (first.id, first.document, first.metadata["n"]) == ("limits#1", "limits.md", 1)
    assert first.score is not None
    assert second.score is not None
    assert first.score > second.score
    flipped = ask(store, k=2, scores="distance").context
    assert flipped is not None
    assert flipped.chunks[0].score == pytest.approx(-first.score)
    assert ids(ask(store, k=2, **{"async": True})) == response.context.ids


def test_a_retriever_gives_documents_in_its_order() -> None:
    response = ask(Fixed(found=list(reversed(DOCUMENTS))))
    assert response.answer is None
    assert response.context is not None
    assert response.context.documents == ["/srv/docs/keys.md", "/srv/docs/limits.md"]
    assert response.context.chunks[0].id.startswith("/srv/docs/keys.md#")  # no id of its own: one that stays the same
    assert response.retrieval_ms is not None


@pytest.mark.parametrize("use_async", [False, True])
def test_an_lcel_chain_that_gives_a_text_still_tells_what_it_retrieved(
    store: InMemoryVectorStore, use_async: bool
) -> None:
    retriever = store.as_retriever(search_kwargs={"k": 2})
    chain = (
        {"context": retriever | joined, "question": RunnablePassthrough()} | PROMPT | model("60.") | StrOutputParser()
    )
    response = ask(chain, **{"async": use_async})
    assert response.answer == "60."
    assert ids(response)[0] == "limits#1"
    assert response.usage.calls == 1
    assert response.retrieval_ms is not None
    assert response.generation_ms is not None
    assert response.total_ms is not None
    assert response.retrieval_ms <= response.total_ms
    assert response.steps == ()  # one retrieval is the context itself


def test_a_chain_with_sources(store: InMemoryVectorStore) -> None:
    retriever = store.as_retriever(search_kwargs={"k": 1})
    chain = RunnablePassthrough.assign(context=(lambda one: one["input"]) | retriever) | RunnablePassthrough.assign(
        answer=ChatPromptTemplate.from_template("{context}{input}") | model("60.") | StrOutputParser()
    )
    response = ask(chain, input="input")
    assert (response.answer, ids(response)) == ("60.", ["limits#1"])
    old = RunnableLambda(lambda one: {"result": "60.", "source_documents": DOCUMENTS, "query": one["query"]})
    assert ids(ask(old, input="query"))[0] == "limits#1"
    cited = RunnableLambda(lambda one: {"answer": "60.", "sources": "limits.md, keys.md"})
    assert ask(cited).citations == ("limits.md", "keys.md")


def test_the_key_of_the_question_is_read_from_the_input_schema() -> None:
    chain = ChatPromptTemplate.from_template("Answer: {question}") | model("ok")
    assert ask(chain).answer == "ok"
    with pytest.raises(SystemFailed, match="takes other, topic"):
        ask(ChatPromptTemplate.from_template("{topic} {other}") | model("ok"))
    assert ask(
        ChatPromptTemplate.from_template("{topic} {other}") | model("ok"), input={"topic": "{question}", "other": 1}
    )


def test_messages_tokens_and_the_model_are_read() -> None:
    message = AIMessage(
        [{"type": "text", "text": "60 "}, {"type": "text", "text": "per minute."}],
        usage_metadata={"input_tokens": 30, "output_tokens": 4, "total_tokens": 34},
        response_metadata={"model_name": "m-1"},
    )
    response = ask(RunnableLambda(str) | GenericFakeChatModel(messages=iter([message])))
    assert response.answer == "60 per minute."
    assert (response.usage.tokens_in, response.usage.tokens_out, response.model) == (30, 4, "m-1")
    state = RunnableLambda(lambda one: {"messages": [("user", "x"), message]})
    assert ask(state, input={"messages": [["user", "{question}"]]}).answer == "60 per minute."


def test_rewrites_and_hops_are_steps_and_the_context_is_their_union() -> None:
    first, second = Fixed(found=DOCUMENTS[:1], name="first"), Fixed(found=DOCUMENTS, name="second")

    def hops(question: str) -> dict[str, Any]:
        found = first.invoke(question)
        second.invoke(f"more about {found[0].page_content}")
        return {"answer": "both"}

    response = ask(RunnableLambda(hops))
    assert [one.name for one in response.steps] == ["first", "second"]
    assert response.steps[0].query == QUESTION.text
    assert [len(one.chunks) for one in response.steps] == [1, 2]
    assert response.steps[1].query == "more about Free plan: 60 requests per minute."
    assert len(ids(response)) == 2
    assert ids(response)[0] == "limits#1"


def test_what_a_chain_raises_is_a_failed_question() -> None:
    def broken(question: str) -> str:
        raise ValueError("no such index")

    with pytest.raises(SystemFailed, match="ValueError: no such index"):
        ask(RunnableLambda(broken))
    with pytest.raises(SystemFailed, match="without an answer or contexts"):
        ask(RunnableLambda(lambda one: {"foo": 1}))
    with pytest.raises(SystemFailed, match="'reply' is not in the output"):
        ask(RunnableLambda(lambda one: {"foo": 1}), answer="reply")


def test_blocking_chains_run_side_by_side_and_a_hanging_one_keeps_nothing_alive() -> None:
    system = from_langchain(Fixed(found=DOCUMENTS, seconds=0.4))
    before = set(threading.enumerate())

    async def main() -> float:
        started = time.perf_counter()
        await asyncio.gather(*(system.respond(QUESTION) for _ in range(4)))
        passed = time.perf_counter() - started
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.05):
                await system.respond(QUESTION)
        return passed

    assert asyncio.run(main()) < 1.2
    assert all(thread.daemon for thread in set(threading.enumerate()) - before)


def test_it_keeps_the_laws_of_systems(store: InMemoryVectorStore) -> None:
    chain = {"context": store.as_retriever() | joined, "question": RunnablePassthrough()} | PROMPT | model("60.")
    check_system(from_langchain(chain), takes_context=False)


def test_objects_are_found_by_name_and_wrong_ones_are_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "my_lc_app.py").write_text(
        "from langchain_core.runnables import RunnableLambda\n"
        "chain = RunnableLambda(lambda q: q.upper())\n"
        "def make():\n    return RunnableLambda(lambda q: 'made')\n"
        "number = 7\n"
    )
    monkeypatch.delitem(sys.modules, "my_lc_app", raising=False)
    system = build({"object": "python:my_lc_app:chain"}, base=tmp_path)
    assert asyncio.run(system.respond(QUESTION)).answer == QUESTION.text.upper()
    assert asyncio.run(build({"object": "python:my_lc_app:make"}, base=tmp_path).respond(QUESTION)).answer == "made"
    for settings, message in (
        ({}, "needs `object`"),
        ({"object": "python:my_lc_app:number"}, "is int 7, not a LangChain runnable"),
        ({"object": "python:my_lc_app:chian"}, "Did you mean 'chain'"),
        ({"object": "python:my_lc_app:chain", "anwser": "x"}, "Did you mean 'answer'"),
        ({"object": "python:my_lc_app:chain", "input": {"q": "x"}}, "the question is nowhere"),
    ):
        with pytest.raises(SettingsError, match=message):
            build(settings, base=tmp_path)
