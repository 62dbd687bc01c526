from __future__ import annotations

import asyncio

import pytest

from ragauge.core.run import Record
from ragauge.core.sample import (
    Chunk,
    Evidence,
    EvidenceGroup,
    GoldenItem,
    Labels,
    Question,
    Response,
    RetrievedChunk,
    RetrievedContext,
    Sample,
)
from ragauge.core.system import SystemInfo
from ragauge.dataset.evidence import CorpusIndex
from ragauge.engine.counterfactual import Trial, attempt, conditions_for, deeper_settings, gold_context, shuffled
from ragauge.engine.settings import Settings
from ragauge.errors import SystemFailed

QUOTE = "The agent listens on port 8125."


def context(*ids: str) -> RetrievedContext:
    return RetrievedContext(
        chunks=tuple(RetrievedChunk(id=name, document=name[0], text=name, rank=n) for n, name in enumerate(ids, 1))
    )


def a_record(*retrieved: str, answerable: bool = True) -> Record:
    item = GoldenItem(
        id="q", question="Port?", answerable=answerable,
        evidence=(EvidenceGroup(any=(Evidence(document="g", quote=QUOTE),)),),
    )  # fmt: skip
    labels = Labels(chunks={"g1": 1}, documents={"g": 1}, groups=(("g1",),))
    sample = Sample(item=item, response=Response(context=context(*retrieved), answer="x"), labels=labels)
    return Record(index=0, sample=sample, scores={})


class Echo:
    """Finds `hits`, whatever is asked; answers with the ids of its context."""

    def __init__(self, *hits: str, fails: bool = False) -> None:
        self.hits, self.fails, self.asked = hits, fails, []

    def info(self) -> SystemInfo:
        return SystemInfo(name="echo", kind="callable", fingerprint="echo")

    async def respond(self, question: Question, /, *, context: RetrievedContext | None = None) -> Response:
        self.asked.append(question.text)
        if self.fails:
            raise SystemFailed("cannot answer from a given context")
        given = context if context is not None else globals()["context"](*self.hits)
        return Response(context=given, answer=" ".join(given.ids))


def test_only_conditions_that_can_settle_a_row_are_tried() -> None:
    assert conditions_for(a_record("a", "b")) == ["gold_context", "more_k", "quote_query"]
    assert conditions_for(a_record("g1", "b")) == ["gold_context", "shuffled"]
    assert conditions_for(a_record("a", answerable=False)) == []


def test_the_gold_context_is_the_chunk_that_holds_the_quote_else_the_quote() -> None:
    record = a_record("a")
    alone = gold_context(record.sample.item, record, None)
    assert [(c.id, c.text, c.document) for c in alone] == [("gold:1", QUOTE, "g")]
    corpus = CorpusIndex.from_chunks([Chunk(id="g1", document="g", text=f"# Ports\n{QUOTE}")])
    assert gold_context(record.sample.item, record, corpus).ids == ["g1"]


def test_where_documents_are_labelled_the_gold_context_is_all_of_them_as_far_as_they_fit() -> None:
    record = a_record("a")
    item = record.sample.item.model_copy(update={"evidence": None})
    sample = record.sample.model_copy(update={"item": item, "labels": Labels(documents={"g": 1, "h": 0})})
    record = record.model_copy(update={"sample": sample})
    corpus = CorpusIndex.from_chunks(
        [Chunk(id=f"{name}{n}", document=name, text=name) for n in (1, 2) for name in "gh"]
    )
    assert gold_context(item, record, corpus).ids == ["g1", "g2"]
    long = CorpusIndex.from_chunks([Chunk(id="g1", document="g", text="word " * 9000)])
    found = asyncio.run(attempt(Trial(Echo("a"), corpus=long), record, "gold_context"))
    assert found.error == "the labelled documents have 45000 characters, too many for one context"


def test_another_order_is_another_order_and_always_the_same() -> None:
    one = shuffled(context("a", "b", "c", "d"), "seed")
    assert sorted(one.ids) == ["a", "b", "c", "d"]
    assert one.ids != ["a", "b", "c", "d"]
    assert one == shuffled(context("a", "b", "c", "d"), "seed")
    assert shuffled(context("a", "b"), "any").ids == ["b", "a"]


def test_the_quote_itself_is_asked_of_the_deeper_system() -> None:
    shallow, deep = Echo("a"), Echo("a", "g7")
    line = asyncio.run(attempt(Trial(shallow, deeper=deep), a_record("a"), "quote_query"))
    assert line.found == (True,)
    assert deep.asked == [QUOTE]
    assert shallow.asked == []
    lost = asyncio.run(attempt(Trial(shallow), a_record("a"), "quote_query"))
    assert lost.found == (False,)


@pytest.mark.parametrize(
    ("trial", "condition", "error"),
    [
        (Trial(Echo("a")), "more_k", "no k that could be raised"),
        (Trial(Echo(fails=True)), "gold_context", "given context"),
        (Trial(Echo("a")), "shuffled", "fewer than two chunks"),
    ],
)
def test_what_cannot_be_tried_says_why(trial: Trial, condition: str, error: str) -> None:
    line = asyncio.run(attempt(trial, a_record("a"), condition))  # type: ignore[arg-type]
    assert error in (line.error or "")


def test_only_the_reference_pipeline_can_be_made_deeper() -> None:
    deeper = deeper_settings(Settings(system={"reference": {"k": 10}}))
    assert deeper is not None
    assert deeper.system == {"reference": {"k": 40, "candidates": 40}}
    assert deeper_settings(Settings(system={"callable": {"function": "a:b"}})) is None
