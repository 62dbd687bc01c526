"""What the adapters for frameworks share: the object by its name, the input, the failures, the clock."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, ClassVar

from pydantic import Field

from ragauge.core.model import fingerprint
from ragauge.core.sample import Question, Response, RetrievedContext
from ragauge.core.system import SystemInfo
from ragauge.errors import SettingsError, SystemFailed, shortened
from ragauge.systems.calling import Recorder, failures_of, timed
from ragauge.systems.coerce import as_response
from ragauge.systems.objects import import_object, made, source_digest
from ragauge.systems.own_settings import OwnSettings
from ragauge.systems.passages import Fields, as_passages, with_fields
from ragauge.systems.template import check_template, fill, names_in, values_of


class FrameworkSettings(OwnSettings):
    """Settings that every framework's adapter has.

    `object`: `python:module:object`, or a function without parameters that makes it. `input`: what it is given instead
    of what fits by itself: the name of a key, or a template with `{question}`. `answer`, `contexts`: the keys of its
    output (dots reach inside). `async`: use its asynchronous methods (default: a worker thread for each question).
    """

    object: str
    input: Any = None
    answer: str | None = None
    contexts: str | None = None
    fields: Fields = Fields()
    use_async: bool = Field(default=False, alias="async")
    version: str = ""


class FrameworkSystem(ABC):
    """One object of a framework as the system under test. Subclasses say how it is called and read."""

    kind: ClassVar[str]

    def __init__(self, target: Any, settings: FrameworkSettings, *, name: str, source: str = "") -> None:
        self.target, self.settings, self._name = target, settings, name
        shown = settings.model_dump(mode="json", by_alias=True, exclude_defaults=True)
        made_of = {**shown, "type": f"{type(target).__module__}.{type(target).__qualname__}", "source": source}
        self._info = SystemInfo(name=name, kind=self.kind, settings=shown, fingerprint=fingerprint(made_of))

    def info(self) -> SystemInfo:
        """The object's name; the fingerprint holds the settings, `version`, and the source of the object's module."""
        return self._info

    async def respond(self, question: Question, /, *, context: RetrievedContext | None = None) -> Response:
        """What the object returned, with the retrieval steps and model calls that were seen on the way."""
        if context is not None and "context" not in names_in(self.settings.input):
            raise SystemFailed(
                f"{self._name} cannot answer from a given context",
                hint="Give an `input` template that has a place for {context}.",
            )
        recorder = Recorder()
        with failures_of(self._name):
            call = self.calling(self.given(values_of(question, context)), recorder)
            returned, total_ms = await timed(call, on_loop=self.settings.use_async)
            response = self.read(returned, recorder)
        if context is not None:
            response = response.model_copy(update={"context": context})
        return recorder.completed(response, total_ms)

    def given(self, values: Mapping[str, Any]) -> Any:
        """The object's input: the question, the question under a key, or the template filled in."""
        wanted = self.settings.input if self.settings.input is not None else self.usual_input()
        if isinstance(wanted, str) and not names_in(wanted):
            return {wanted: values["question"]}
        return values["question"] if wanted is None else fill(wanted, values)

    def usual_input(self) -> Any:
        """What fits when the settings do not say: None for the question's text, a key, or a template."""
        return None

    @abstractmethod
    def calling(self, given: Any, recorder: Recorder) -> Callable[[], Any]:
        """The call itself, to be made on the loop (`async`) or in a thread."""

    @abstractmethod
    def read(self, returned: Any, recorder: Recorder) -> Response:
        """What came back as a Response."""

    def picked(self, returned: Any) -> Response:
        """A Response from output that has named parts, by the settings' `answer` and `contexts` or the usual names."""
        settings = self.settings
        if settings.answer is None and settings.contexts is None:
            response = as_response(returned, source=self._name)
        else:
            parts: dict[str, Any] = {}
            if settings.answer is not None:
                parts["answer"] = self.part(returned, settings.answer, "answer")
            if settings.contexts is not None:
                parts["contexts"] = self.part(returned, settings.contexts, "contexts")
            response = as_response(parts, source=self._name)
        return response.model_copy(update={"context": with_fields(response.context, settings.fields)})

    def part(self, returned: Any, path: str, setting: str) -> Any:
        """`path` (dots reach into mappings, lists and attributes) of the output; `SystemFailed` says where it ends."""
        found = returned
        for part in path.split("."):
            if isinstance(found, Mapping) and part in found:
                found = found[part]
            elif isinstance(found, list | tuple) and part.isdigit() and int(part) < len(found):
                found = found[int(part)]
            elif not isinstance(found, Mapping | list | tuple) and hasattr(found, part):
                found = getattr(found, part)
            else:
                there = list(found) if isinstance(found, Mapping) else type(found).__name__
                raise SystemFailed(f"{setting}: {path!r} is not in the output of {self._name}: {part!r} of {there}")
        return found

    def passages(self, found: Any) -> Any:
        """Documents or nodes as chunks."""
        return as_passages(found, self.settings.fields, source=self._name)


def target_of(settings: FrameworkSettings, form: str, folder: Path | None) -> tuple[Any, str]:
    """The object that the settings name, and a digest of the source of its module."""
    if settings.input is not None and not (isinstance(settings.input, str) and not names_in(settings.input)):
        check_template(settings.input, "input")
    found = made(import_object(settings.object, form, folder=folder), settings.object)
    return found, source_digest(settings.object)


def unsuitable(settings: FrameworkSettings, found: Any, wanted: str) -> SettingsError:
    """The error for an object of another kind."""
    return SettingsError(f"{settings.object} is {type(found).__name__} {shortened(found)}, not {wanted}")
