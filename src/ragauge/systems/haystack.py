"""Haystack as the system under test: a pipeline. An extra. Haystack's telemetry is switched off."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from ragauge.core.sample import Response, RetrievedContext
from ragauge.errors import MissingExtra, SystemFailed
from ragauge.systems.calling import Recorder
from ragauge.systems.framework import FrameworkSettings, FrameworkSystem, target_of, unsuitable
from ragauge.systems.own_settings import read_own

_FORM = "python:module:object, e.g. python:my_app.rag:pipeline"
_TELEMETRY = "HAYSTACK_TELEMETRY_ENABLED"
#: Sockets that are given the question when a component must have them.
_QUESTION_SOCKETS = ("query", "question", "text", "prompt", "user_input", "input")


def build(settings: Mapping[str, Any], *, base: Path | None = None) -> HaystackSystem:
    """The pipeline that `settings["object"]` names."""
    checked = read_own(FrameworkSettings, "haystack", settings, hint=f"Give it as {_FORM}.")
    _without_telemetry()
    found, source = target_of(checked, _FORM, base)
    return HaystackSystem(found, checked, name=checked.object.removeprefix("python:"), source=source)


def from_haystack(target: Any, **settings: Any) -> HaystackSystem:
    """A Haystack pipeline that is already there, as a system: `from_haystack(pipeline, answer="llm.replies.0")`."""
    name = str(settings.pop("name", type(target).__name__))
    checked = read_own(FrameworkSettings, "haystack", {"object": name, **settings})
    return HaystackSystem(target, checked, name=name)


class HaystackSystem(FrameworkSystem):
    """Runs the pipeline once for each question and keeps what every component that gives documents gave.

    The question goes to each component that must be given a `query`, `question` or `text`. The answer is taken from
    the last component with `answers` or `replies`, the context from that answer's documents, else from the last
    component with `documents`; `answer` and `contexts` name others (`llm.replies.0`, `ranker.documents`). Components
    with documents are the steps, in the order of the pipeline.
    """

    kind = "haystack"

    def __init__(self, target: Any, settings: FrameworkSettings, *, name: str, source: str = "") -> None:
        _without_telemetry()
        try:
            from haystack import Pipeline
        except ImportError as error:
            raise MissingExtra("haystack-ai", "haystack") from error
        if not isinstance(target, Pipeline):
            raise unsuitable(settings, target, "a Haystack pipeline")
        self._order = [component for component, _ in target.walk()]
        outputs = target.outputs(include_components_with_connected_outputs=True)
        self._with_documents = [name for name in self._order if "documents" in outputs.get(name, {})]
        self._kept = set(self._with_documents) | {
            name for name in self._order if {"answers", "replies"} & set(outputs.get(name, {}))
        }
        for path in (settings.answer, settings.contexts):
            if path is not None and (component := path.partition(".")[0]) in self._order:
                self._kept.add(component)
        super().__init__(target, settings, name=name, source=source)

    def usual_input(self) -> Any:
        """The question for every component that must be given one."""
        wanted: dict[str, dict[str, str]] = {}
        lacking = []
        for component, sockets in self.target.inputs().items():
            for socket, about in sockets.items():
                if not about["is_mandatory"]:
                    continue
                if socket in _QUESTION_SOCKETS:
                    wanted.setdefault(component, {})[socket] = "{question}"
                else:
                    lacking.append(f"{component}.{socket}")
        if lacking or not wanted:
            needed = f"must be given {', '.join(lacking)}" if lacking else "has no input for a question"
            raise SystemFailed(
                f"{self._name} {needed}", hint="Give an `input` template: {component: {socket: '{question}'}}."
            )
        return wanted

    def calling(self, given: Any, recorder: Recorder) -> Callable[[], Any]:
        """`run` (with `async`: `run_async`), keeping the outputs of components that we read."""
        run = self.target.run_async if self.settings.use_async else self.target.run
        return lambda: run(given, include_outputs_from=set(self._kept))

    def read(self, returned: Any, recorder: Recorder) -> Response:
        """Answer, documents, steps and tokens from the components' outputs."""
        steps = [(one, returned[one]["documents"]) for one in self._with_documents if one in returned]
        for place, (component, documents) in enumerate(steps):
            recorder.step(component, None, self.passages(documents), inner=place < len(steps) - 1)
        settings = self.settings
        found = self.part(returned, settings.answer, "answer") if settings.answer is not None else self._said(returned)
        self._count(returned, recorder)
        answer, documents = _text_and_documents(found)
        if settings.contexts is not None:
            documents = self.part(returned, settings.contexts, "contexts")
        if answer is None and not steps and documents is None:
            raise SystemFailed(
                f"{self._name} gave neither an answer nor documents; it gave {_shape(returned)}",
                hint="Name where they are: `answer: component.output`, `contexts: component.output`.",
            )
        context = None if documents is None else RetrievedContext(chunks=self.passages(documents))
        return Response(answer=answer, context=context)

    def passages(self, found: Any) -> Any:
        """Haystack's documents as chunks: id, content, score; the document's name from its meta."""
        documents = [
            {"id": one.id, "text": one.content or "", "score": one.score, "metadata": dict(one.meta or {})}
            if hasattr(one, "content")
            else one
            for one in found
        ]
        for one in documents:
            if isinstance(one, dict) and not self.settings.fields.document:
                meta = one["metadata"]
                named = next((meta[key] for key in ("source", "file_path", "file_name", "url") if meta.get(key)), None)
                one["document"] = named or meta.get("source_id")
        return super().passages(documents)

    def _said(self, returned: Mapping[str, Any]) -> Any:
        for component in reversed(self._order):
            for socket in ("answers", "replies"):
                if found := returned.get(component, {}).get(socket):
                    return found[0]
        return None

    def _count(self, returned: Mapping[str, Any], recorder: Recorder) -> None:
        """Tokens, where the generators' messages say them."""
        for output in returned.values():
            for reply in output.get("replies", ()) if isinstance(output, Mapping) else ():
                meta = getattr(reply, "meta", None) or {}
                usage = meta.get("usage") or {}
                if usage or meta.get("model"):
                    tokens_in, tokens_out = usage.get("prompt_tokens") or 0, usage.get("completion_tokens") or 0
                    recorder.used(int(tokens_in), int(tokens_out), meta.get("model"))


def _text_and_documents(found: Any) -> tuple[str | None, Any]:
    """Of an answer object its text and documents; of a chat message or text the text alone."""
    if isinstance(found, list | tuple):
        found = found[0] if found else None
    if found is None or isinstance(found, str):
        return found, None
    if hasattr(found, "data"):
        documents = getattr(found, "documents", None)
        return None if found.data is None else str(found.data), documents or None
    text = getattr(found, "text", None)
    return (text if isinstance(text, str) else str(found)), None


def _shape(returned: Mapping[str, Any]) -> str:
    return ", ".join(f"{name}.{key}" for name, output in returned.items() for key in output) or "nothing"


def _without_telemetry() -> None:
    """Haystack asks the environment once, while it is imported; whoever set the variable keeps what they set."""
    if _TELEMETRY in os.environ:
        return
    os.environ[_TELEMETRY] = "false"
    loaded = sys.modules.get("haystack.telemetry._telemetry")
    if loaded is not None:
        loaded.telemetry = None  # type: ignore[attr-defined]
