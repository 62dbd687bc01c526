from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import pytest

from ragauge.core.sample import Response, RetrievedChunk, RetrievedContext
from ragauge.errors import SystemFailed
from ragauge.systems.coerce import as_context, as_response


@dataclass
class Page:
    """As several libraries shape a retrieved document."""

    page_content: str
    metadata: dict[str, Any] = field(default_factory=dict)


class Node:
    def __init__(self) -> None:
        self.node_id, self.text, self.metadata = "n1", "node text", {"source": "a.md"}


class NodeWithScore:
    def __init__(self) -> None:
        self.node, self.score = Node(), 0.7


class ChatMessage:
    content = "from a chat"


@pytest.mark.parametrize(
    ("returned", "answer", "ids"),
    [
        ("text", "text", None),
        ("", "", None),
        (("a", ["x", "y"]), "a", ["context-1", "context-2"]),
        (("a", None), "a", None),
        (("a", []), "a", []),
        ((None, ["x"]), None, ["context-1"]),
        ({"answer": "a", "contexts": [{"id": 7, "text": "x"}]}, "a", ["7"]),
        ({"response": "a", "retrieved_contexts": ["x"]}, "a", ["context-1"]),
        ({"output": None, "result": "a"}, "a", None),
        ({"contexts": [{"id": "c"}]}, None, ["c"]),
        ({"answer": "a", "source_documents": [Page("x", {"chunk_id": "p#1"})]}, "a", ["p#1"]),
        ({"answer": ChatMessage(), "source_nodes": [NodeWithScore()]}, "from a chat", ["n1"]),
        ({"answer": "a", "context": {"chunks": [{"id": "c", "text": "x"}]}}, "a", ["c"]),
        ({"answer": "a", "context": "one text"}, "a", ["context-1"]),
        (Response(answer="kept"), "kept", None),
    ],
)
def test_whatever_a_system_returns_becomes_a_response(returned: Any, answer: str | None, ids: list[str] | None) -> None:
    response = as_response(returned)
    assert response.answer == answer
    assert (None if response.context is None else response.context.ids) == ids


def test_details_of_chunks_are_kept_and_ranks_follow_the_order() -> None:
    context = as_context(
        [
            {"chunk_id": "a", "content": "x", "doc_id": "d.md", "similarity": "0.5", "metadata": {"page": 3}},
            (Page("y", {"source": "e.md"}), 0.25),
            RetrievedChunk(id="c", text="z", rank=9),
            {"id": "d", "text": "w", "score": float("nan")},
        ]
    )
    assert context is not None
    assert [(c.id, c.document, c.text, c.rank, c.score) for c in context] == [
        ("a", "d.md", "x", 1, 0.5),
        ("context-2", "e.md", "y", 2, 0.25),
        ("c", None, "z", 3, None),
        ("d", None, "w", 4, None),
    ]
    assert context.chunks[0].metadata == {"page": 3}


def test_usage_latency_citations_and_steps_are_read() -> None:
    response = as_response(
        {
            "answer": "a [1]",
            "contexts": ["x"],
            "usage": {"tokens_in": 5, "cost_usd": 0.1},
            "retrieval_ms": 3,
            "total_ms": 8.5,
            "citations": ["x", 1],
            "abstained": False,
            "steps": [{"name": "rewrite", "query": "q", "chunks": ["x"]}],
        }
    )
    assert (response.usage.tokens_in, response.usage.cost_usd) == (5, 0.1)
    assert (response.retrieval_ms, response.total_ms, response.abstained) == (3, 8.5, False)
    assert response.citations == ("x", "1")
    assert response.steps[0].chunks[0].text == "x"


def test_text_that_cannot_be_stored_is_made_visible() -> None:
    response = as_response(("a\x00\ud800", ["b\x00"]))
    assert response.answer == "a\ufffd\ufffd"
    assert response.context == RetrievedContext(chunks=(RetrievedChunk(id="context-1", text="b\ufffd", rank=1),))
    response.model_dump_json()


@pytest.mark.parametrize(
    ("returned", "message"),
    [
        (None, "returned NoneType None, which is no response"),
        (5, "returned int 5"),
        ([], "returned list"),
        ({}, "without an answer or contexts"),
        ({"answr": "x"}, "its keys are ['answr']"),
        ({"answer": 5}, "an answer of type int"),
        (("a", 5), "contexts as int 5"),
        (("a", [None]), "context 1 as NoneType"),
        (("a", ["x", {"score": 1}]), "context 2 of my_rag has neither a text nor an id"),
        (("a", [{"text": 5}]), "a text of type int"),
        ({"answer": "a", "total_ms": -1}, "total_ms"),
        ({"answer": "a", "usage": {"tokens": 5}}, "tokens"),
        ({"answer": "a", "steps": [{"nome": "x"}]}, "name"),
        ({"answer": "a", "metadata": {"x": float("nan")}, "total_ms": float("nan")}, "total_ms"),
    ],
)
def test_what_is_no_response_says_what_came_and_from_whom(returned: Any, message: str) -> None:
    with pytest.raises(SystemFailed) as caught:
        as_response(returned, source="my_rag")
    assert message in str(caught.value)
    assert "my_rag" in str(caught.value)
