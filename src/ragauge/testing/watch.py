"""Watching what a metric reads: samples that note every input that is looked at."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any, TypeVar

from ragauge.core.judge import Judge, JudgeInfo, Task
from ragauge.core.metric import Need
from ragauge.core.model import Model
from ragauge.core.sample import GoldenItem, Labels, Response, RetrievedChunk, RetrievedContext, Sample

T = TypeVar("T", bound=Model)

_READ: ContextVar[set[Need] | None] = ContextVar("ragauge_watched_reads", default=None)
_WHOLE = {"model_dump", "model_dump_json", "model_copy", "fingerprint"}


def _note(table: dict[str, Need], name: str) -> None:
    read = _READ.get()
    if read is not None:
        if name in table:
            read.add(table[name])
        elif name in _WHOLE:
            read.update(table.values())


_ITEM = {
    "answer": Need.REFERENCE, "claims": Need.REFERENCE, "keywords": Need.KEYWORDS, "answerable": Need.ANSWERABLE,
    "sources": Need.LABELS, "chunks": Need.LABELS, "relevance": Need.LABELS, "evidence": Need.LABELS,
}  # fmt: skip
_LABELS = {"chunks": Need.LABELS, "documents": Need.LABELS, "groups": Need.LABELS}
_RESPONSE = {"answer": Need.ANSWER, "context": Need.CONTEXT}
_CHUNK = {"text": Need.CONTEXT_TEXT}


class _Item(GoldenItem):
    def __getattribute__(self, name: str) -> Any:
        _note(_ITEM, name)
        return super().__getattribute__(name)


class _Labels(Labels):
    def __getattribute__(self, name: str) -> Any:
        _note(_LABELS, name)
        return super().__getattribute__(name)


class _Response(Response):
    def __getattribute__(self, name: str) -> Any:
        _note(_RESPONSE, name)
        return super().__getattribute__(name)


class _Chunk(RetrievedChunk):
    def __getattribute__(self, name: str) -> Any:
        _note(_CHUNK, name)
        return super().__getattribute__(name)


def _as(kind: type[Model], model: Model, **changes: Any) -> Any:
    values = {name: getattr(model, name) for name in type(model).model_fields} | changes
    return kind.model_construct(**values)


def watched(sample: Sample) -> Sample:
    """The same sample, of models that note what is read from them."""
    context = sample.response.context
    if context is not None:
        context = RetrievedContext.model_construct(chunks=tuple(_as(_Chunk, chunk) for chunk in context.chunks))
    return Sample.model_construct(
        item=_as(_Item, sample.item),
        response=_as(_Response, sample.response, context=context),
        labels=_as(_Labels, sample.labels),
        repeat=sample.repeat,
    )


@contextmanager
def reads() -> Iterator[set[Need]]:
    """Whatever is read from watched samples inside this block is in the set it gives."""
    read: set[Need] = set()
    token = _READ.set(read)
    try:
        yield read
    finally:
        _READ.reset(token)


@dataclass(frozen=True, eq=False)
class WatchedJudge:
    """A judge that notes that it was asked, and reads the text of every chunk that it is shown."""

    inner: Judge

    def info(self) -> JudgeInfo:
        """Who stands behind it."""
        return self.inner.info()

    async def ask(self, task: Task[T], /, **inputs: Any) -> T:
        """Ask the judge behind."""
        _note({"judge": Need.JUDGE}, "judge")
        for chunk in inputs.get("chunks", ()):
            _ = chunk.text
        return await self.inner.ask(task, **inputs)
