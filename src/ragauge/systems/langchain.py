"""LangChain as the system under test: a runnable, a chain, a retriever or a vector store. An extra."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from pydantic import Field

from ragauge.core.sample import Response, RetrievedContext
from ragauge.errors import MissingExtra, SettingsError, SystemFailed
from ragauge.systems.calling import Recorder
from ragauge.systems.framework import FrameworkSettings, FrameworkSystem, target_of, unsuitable
from ragauge.systems.langchain_steps import step_handler
from ragauge.systems.own_settings import read_own

_FORM = "python:module:object, e.g. python:my_app.rag:chain"
#: Keys that a chain's input has for the question, the usual one first.
_QUESTION_KEYS = ("question", "input", "query", "user_input", "text")


class LangChainSettings(FrameworkSettings):
    """`k`: how many documents a vector store is asked for. `scores`: whether its scores are similarities, or distances
    (which are negated, so that higher is better). `config`: goes to the runnable with every question.
    """

    k: int | None = None
    scores: str = "similarity"
    config: dict[str, Any] = Field(default_factory=dict)


def build(settings: Mapping[str, Any], *, base: Path | None = None) -> LangChainSystem:
    """The runnable, retriever or vector store that `settings["object"]` names."""
    checked = read_own(LangChainSettings, "langchain", settings, hint=f"Give it as {_FORM}.")
    if checked.scores not in ("similarity", "distance"):
        raise SettingsError(f"system.langchain.scores must be similarity or distance, not {checked.scores!r}")
    found, source = target_of(checked, _FORM, base)
    return LangChainSystem(found, checked, name=checked.object.removeprefix("python:"), source=source)


def from_langchain(target: Any, **settings: Any) -> LangChainSystem:
    """A LangChain object that is already there, as a system: `from_langchain(chain, answer="result")`."""
    name = str(settings.pop("name", type(target).__name__))
    checked = read_own(LangChainSettings, "langchain", {"object": name, **settings})
    return LangChainSystem(target, checked, name=name)


class LangChainSystem(FrameworkSystem):
    """Invokes the object once for each question, with a callback that sees every retriever and model inside of it.

    So a chain that returns a bare text still tells what it retrieved: the documents of its retrievers are the context,
    and each of them is a step. Documents in the output itself (`context`, `source_documents`) come first.
    """

    kind = "langchain"
    settings: LangChainSettings

    def __init__(self, target: Any, settings: LangChainSettings, *, name: str, source: str = "") -> None:
        try:
            from langchain_core.retrievers import BaseRetriever
            from langchain_core.runnables import Runnable
            from langchain_core.vectorstores import VectorStore
        except ImportError as error:
            raise MissingExtra("langchain-core", "langchain") from error
        if not isinstance(target, Runnable | VectorStore):
            raise unsuitable(settings, target, "a LangChain runnable, retriever or vector store")
        self._is_store = isinstance(target, VectorStore)
        self._is_retriever = isinstance(target, BaseRetriever)
        super().__init__(target, settings, name=name, source=source)

    def usual_input(self) -> Any:
        """The key that the runnable's input schema asks for; None where it takes a text."""
        if self._is_store or self._is_retriever:
            return None
        try:
            schema = self.target.get_input_jsonschema()
        except Exception:  # a schema is a courtesy of the library: many runnables cannot make one
            return None
        properties = schema.get("properties") if schema.get("type") == "object" else None
        if not properties:
            return None
        key = next((name for name in _QUESTION_KEYS if name in properties), None)
        needed = list(schema.get("required", properties))
        if key is None and len(needed) == 1:
            key = needed[0]
        if key is None:
            raise SystemFailed(
                f"{self._name} takes {', '.join(properties)}: none of them is known to be the question",
                hint="Name it: `input: KEY`, or give a template.",
            )
        return key

    def calling(self, given: Any, recorder: Recorder) -> Callable[[], Any]:
        """`invoke` (or `ainvoke`), with the callback; a vector store is searched for documents with scores."""
        if self._is_store:
            search = self.target.similarity_search_with_score
            if self.settings.use_async:
                search = self.target.asimilarity_search_with_score
            return lambda: search(given, k=self.settings.k or 5)
        config = dict(self.settings.config)
        callbacks = [*config.get("callbacks", ()), step_handler(recorder, self.passages)]
        config["callbacks"] = callbacks
        invoke = self.target.ainvoke if self.settings.use_async else self.target.invoke
        return lambda: invoke(given, config=config)

    def read(self, returned: Any, recorder: Recorder) -> Response:
        """A text, a message, documents, or a mapping."""
        if self._is_store:
            sign = -1.0 if self.settings.scores == "distance" else 1.0
            returned = [(document, sign * float(score)) for document, score in returned]
        if self._is_store or self._is_retriever or _documents(returned):
            chunks = self.passages(list(returned))
            return Response(context=RetrievedContext(chunks=chunks))
        if isinstance(returned, str):
            return Response(answer=returned)
        if (text := _message(returned)) is not None:
            return Response(answer=text)
        if not isinstance(returned, Mapping):
            return self.picked(returned)
        return self._from_mapping(dict(returned))

    def _from_mapping(self, output: dict[str, Any]) -> Response:
        citations: tuple[str, ...] | None = None
        if isinstance(output.get("sources"), str) and self.settings.contexts != "sources":  # "… with sources" chains
            named = [one.strip() for one in output.pop("sources").split(",")]
            citations = tuple(one for one in named if one)
        messages = output.get("messages")
        if self.settings.answer is None and isinstance(messages, list) and messages and "answer" not in output:
            output["answer"] = _message(messages[-1])
        if self.settings.contexts is None and isinstance(output.get("context"), str):
            output.pop("context")  # the prompt's text, not the documents
        for key, value in output.items():
            text = _message(value)
            output[key] = value if text is None else text
        response = self.picked(output)
        return response if citations is None else response.model_copy(update={"citations": citations})


def _documents(value: Any) -> bool:
    from langchain_core.documents import Document

    return isinstance(value, list) and bool(value) and all(isinstance(one, Document) for one in value)


def _message(value: Any) -> str | None:
    """The text of a chat message, whatever blocks it is made of; None for what is no message."""
    from langchain_core.messages import BaseMessage

    if not isinstance(value, BaseMessage):
        return None
    if isinstance(value.content, str):
        return value.content
    blocks = [block if isinstance(block, str) else block.get("text", "") for block in value.content]
    return "".join(str(block) for block in blocks)
