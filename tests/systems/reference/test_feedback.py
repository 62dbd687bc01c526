from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from ragauge.core.sample import Question, Response
from ragauge.errors import SettingsError
from ragauge.systems.reference.pipeline import ReferenceSystem
from ragauge.systems.reference.settings import read_settings

Make = Callable[..., ReferenceSystem]
ROTATE = Question(id="q1", text="How long does the old key keep working after I rotate it?")


def ask(system: ReferenceSystem, question: Question) -> Response:
    async def main() -> Response:
        try:
            return await system.respond(question)
        finally:
            await system.aclose()

    return asyncio.run(main())


@pytest.mark.parametrize("retrieval", ["dense", "bm25", "hybrid"])
@pytest.mark.parametrize("rerank", ["none", "minilm"])
def test_searches_for_the_question_and_what_a_first_search_quotes(make: Make, retrieval: str, rerank: str) -> None:
    response = ask(make(retrieval=retrieval, rerank=rerank, expand="feedback", k=2), ROTATE)
    assert response.context is not None
    assert response.context.documents[0] == "keys.md"
    first = response.steps[0]
    assert first.name.endswith(":feedback")
    assert (first.query or "").startswith(ROTATE.text)
    assert "The old key works for 24 hours." in (first.query or "")
    assert response.metadata["expansion"]["n_quotes"] >= 1
    reranked = [step for step in response.steps if step.name == "rerank"]
    assert [step.query for step in reranked] == ([ROTATE.text] if rerank != "none" else [])


def test_the_question_alone_where_nothing_is_found(make: Make) -> None:
    response = ask(make(retrieval="bm25", expand="feedback", k=2), Question(id="q", text="zyzzyva quokka"))
    assert response.context is not None
    assert len(response.context) == 0
    assert response.metadata["expansion"]["n_quotes"] == 0


def test_needs_no_model_but_changes_the_fingerprint(make: Make) -> None:
    one, other = make(expand="none"), make(expand="feedback")
    assert one.info().fingerprint != other.info().fingerprint
    assert one.index_fingerprint() == other.index_fingerprint()
    read: Any = read_settings({"corpus": ".", "expand": "feedback"})
    assert read.helper is None
    with pytest.raises(SettingsError, match="prefix: contextual needs a language model"):
        read_settings({"corpus": ".", "expand": "feedback", "prefix": "contextual"})
