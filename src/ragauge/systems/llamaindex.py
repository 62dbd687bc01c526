"""LlamaIndex as the system under test: a query engine, a chat engine, a retriever or an index. An extra."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextvars import ContextVar
from functools import cache
from pathlib import Path
from typing import Any

from ragauge.core.sample import Response, RetrievedContext
from ragauge.errors import MissingExtra, SettingsError
from ragauge.systems.calling import Recorder
from ragauge.systems.framework import FrameworkSettings, FrameworkSystem, target_of, unsuitable
from ragauge.systems.own_settings import read_own

_FORM = "python:module:object, e.g. python:my_app.rag:query_engine"
#: Metadata fields in which readers leave a document's name, the most telling first.
_DOCUMENT_FIELDS = ("file_path", "file_name", "source", "url", "doc_id")

_running: ContextVar[tuple[Recorder, Callable[[Any], Any]] | None] = ContextVar("ragauge_llamaindex", default=None)


class LlamaIndexSettings(FrameworkSettings):
    """`use`: what an index becomes: `retriever` (no model is asked) or `query_engine`. `k`: how many nodes it gives."""

    use: str = "retriever"
    k: int | None = None


def build(settings: Mapping[str, Any], *, base: Path | None = None) -> LlamaIndexSystem:
    """The query engine, chat engine, retriever or index that `settings["object"]` names."""
    checked = read_own(LlamaIndexSettings, "llamaindex", settings, hint=f"Give it as {_FORM}.")
    found, source = target_of(checked, _FORM, base)
    return LlamaIndexSystem(found, checked, name=checked.object.removeprefix("python:"), source=source)


def from_llamaindex(target: Any, **settings: Any) -> LlamaIndexSystem:
    """A LlamaIndex object that is already there, as a system."""
    name = str(settings.pop("name", type(target).__name__))
    checked = read_own(LlamaIndexSettings, "llamaindex", {"object": name, **settings})
    return LlamaIndexSystem(target, checked, name=name)


class LlamaIndexSystem(FrameworkSystem):
    """Asks the object once for each question; every retrieval inside of it is seen by LlamaIndex's instrumentation.

    The context is the response's source nodes, in their order; retrievals and re-rankings on the way are steps.
    """

    kind = "llamaindex"
    settings: LlamaIndexSettings

    def __init__(self, target: Any, settings: LlamaIndexSettings, *, name: str, source: str = "") -> None:
        _listen()
        if settings.use not in ("retriever", "query_engine"):
            raise SettingsError(f"system.llamaindex.use must be retriever or query_engine, not {settings.use!r}")
        if hasattr(target, "as_retriever") and hasattr(target, "as_query_engine"):  # an index
            options = {} if settings.k is None else {"similarity_top_k": settings.k}
            made = target.as_retriever if settings.use == "retriever" else target.as_query_engine
            target = made(**options)
        self._verb = next((verb for verb in ("query", "chat", "retrieve") if callable(getattr(target, verb, None))), "")
        if not self._verb:
            raise unsuitable(settings, target, "a LlamaIndex query engine, chat engine, retriever or index")
        if self._verb == "query" and not hasattr(target, "synthesize") and hasattr(target, "retrieve"):
            self._verb = "retrieve"
        super().__init__(target, settings, name=name, source=source)

    def calling(self, given: Any, recorder: Recorder) -> Callable[[], Any]:
        """`query`, `chat` or `retrieve` (with `async`: `aquery` …), while the recorder listens."""
        method = getattr(self.target, f"a{self._verb}" if self.settings.use_async else self._verb)
        if self.settings.use_async:

            async def awaited() -> Any:
                token = _running.set((recorder, self.passages))
                try:
                    return await method(given)
                finally:
                    _running.reset(token)

            return awaited

        def call() -> Any:
            token = _running.set((recorder, self.passages))
            try:
                returned = method(given)
                # a streamed answer is made while it is read: that is the model's work, and so part of the time
                return returned.get_response() if hasattr(returned, "get_response") else returned
            finally:
                _running.reset(token)

        return call

    def read(self, returned: Any, recorder: Recorder) -> Response:
        """The answer and its source nodes; of a retriever the nodes."""
        if isinstance(returned, list):
            return Response(context=RetrievedContext(chunks=self.passages(returned)))
        if self.settings.answer is not None or self.settings.contexts is not None:
            return self.picked(returned)
        answer = getattr(returned, "response", returned)
        nodes = getattr(returned, "source_nodes", None)
        context = None if nodes is None else RetrievedContext(chunks=self.passages(list(nodes)))
        return Response(answer=None if answer is None else str(answer), context=context)

    def passages(self, found: Any) -> Any:
        """Nodes as chunks: the node's id, the document's name from its metadata, else the id of its source node."""
        nodes = []
        for one in found:
            node, score = getattr(one, "node", one), getattr(one, "score", None)
            metadata = dict(getattr(node, "metadata", None) or {})
            named = next((metadata[name] for name in _DOCUMENT_FIELDS if metadata.get(name)), None)
            nodes.append(
                {
                    "id": node.node_id, "text": node.get_content(), "score": score, "metadata": metadata,
                    "document": named or getattr(node, "ref_doc_id", None),
                }
            )  # fmt: skip
        return super().passages(nodes)


@cache
def _listen() -> None:
    """Have LlamaIndex tell us, once for the process; what happens outside of a question is not for us."""
    try:
        from llama_index.core.instrumentation import get_dispatcher
        from llama_index.core.instrumentation.event_handlers import BaseEventHandler
    except ImportError as error:
        raise MissingExtra("llama-index-core", "llamaindex") from error

    class Steps(BaseEventHandler):  # type: ignore[misc]
        @classmethod
        def class_name(cls) -> str:
            return "RagaugeSteps"

        def handle(self, event: Any, **more: Any) -> None:
            running = _running.get()
            if running is not None:
                _heard(event, *running)

    get_dispatcher().add_event_handler(Steps())


def _heard(event: Any, recorder: Recorder, passages: Callable[[Any], Any]) -> None:
    kind = event.class_name()
    if kind == "RetrievalEndEvent":
        asked = event.str_or_query_bundle
        query = asked if isinstance(asked, str) else getattr(asked, "query_str", None)
        recorder.step("retrieve", query, passages(event.nodes))
    elif kind == "ReRankEndEvent":
        recorder.step("rerank", None, passages(event.nodes), inner=True)
    elif kind in ("LLMChatEndEvent", "LLMCompletionEndEvent"):
        raw = getattr(event.response, "raw", None)
        usage = raw.get("usage") if isinstance(raw, Mapping) else getattr(raw, "usage", None)
        told = usage if isinstance(usage, Mapping) else getattr(usage, "__dict__", {})
        recorder.used(int(told.get("prompt_tokens") or 0), int(told.get("completion_tokens") or 0), None)
