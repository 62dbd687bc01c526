"""A Python function as the system under test."""

from __future__ import annotations

import contextvars
import hashlib
import inspect
import time
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from ragauge.core.model import fingerprint
from ragauge.core.sample import Question, Response, RetrievedContext
from ragauge.core.system import SystemInfo
from ragauge.errors import RagaugeError, SettingsError, SystemFailed, nearest
from ragauge.systems.coerce import as_response
from ragauge.systems.objects import import_object
from ragauge.systems.threads import in_daemon_thread
from ragauge.systems.variables import struck

#: Of what a function raised, so much is kept.
_LONGEST = 2000

_KEYS = ("function", "version")
_FORM = "python:module:function, e.g. python:my_project.rag:answer"


def build(settings: Mapping[str, Any]) -> CallableSystem:
    """The function that `settings["function"]` names (`python:module:function`; dots reach into objects).

    `version` (any text) goes into the fingerprint: raise it when the function's answers change for a reason that its
    source does not show. Modules are looked for as Python does, the working directory first.
    """
    for key in settings:
        if key not in _KEYS:
            near = nearest(str(key), _KEYS)
            hint = f"Did you mean {near[0]!r}?" if near else f"Known: {', '.join(_KEYS)}."
            raise SettingsError(f"a callable system has no setting {key!r}", hint=hint)
    name = settings.get("function")
    if not isinstance(name, str) or not name.strip():
        raise SettingsError("a callable system needs `function`", hint=f"Give it as {_FORM}.")
    return CallableSystem(_imported(name), name=name, version=str(settings.get("version", "")))


def from_callable(function: Callable[..., Any], *, name: str | None = None, version: str = "") -> CallableSystem:
    """`function` as a system. It is given the question's text, or the `Question` if its first parameter is so
    annotated or named `request`; a parameter named `context` or `history` is given those as well.
    """
    if not callable(function):
        raise SettingsError(f"{function!r} is not a function", hint="Give a function that takes a question.")
    if name is None:
        name = str(getattr(function, "__qualname__", type(function).__name__))
    return CallableSystem(function, name=name, version=version)


class CallableSystem:
    """Calls a sync or async function once for each question.

    A sync one runs in a worker thread, so that several questions are answered at the same time; it must allow that.
    Whatever it raises becomes `SystemFailed` with the type and the message of what was raised.
    """

    def __init__(self, function: Callable[..., Any], *, name: str, version: str = "") -> None:
        self._function, self._name, self._version = function, name, version
        self._takes_question, self._keywords = _parameters(function, name)
        called = function if inspect.isroutine(function) else getattr(function, "__call__", function)  # noqa: B004
        self._is_async = inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(called)

    def info(self) -> SystemInfo:
        """The function's name; the fingerprint holds its name, its version and its source."""
        digest = hashlib.sha256(_source(self._function).encode("utf-8", "surrogatepass")).hexdigest()
        settings = {"function": self._name} | ({"version": self._version} if self._version else {})
        return SystemInfo(
            name=self._name, kind="callable", settings=settings, fingerprint=fingerprint({**settings, "source": digest})
        )

    async def respond(self, question: Question, /, *, context: RetrievedContext | None = None) -> Response:
        """What the function returned, as a Response, with `total_ms` measured unless it says so itself."""
        if context is not None and "context" not in self._keywords:
            raise SystemFailed(
                f"{self._name} cannot answer from a given context: it has no parameter named `context`",
                hint="Add a parameter `context=None` to the function.",
            )
        given = {"context": context, "history": question.history}
        keywords = {name: given[name] for name in self._keywords}
        argument: Any = question if self._takes_question else question.text
        started = time.perf_counter()
        try:
            if self._is_async:
                returned = await self._function(argument, **keywords)
            else:
                started, returned = await _in_thread(self._function, argument, keywords)
                if inspect.isawaitable(returned):
                    returned = await returned
        except SystemFailed:
            raise
        except RagaugeError as error:
            raise SystemFailed(struck(f"{self._name} raised {type(error).__name__}: {error.message}", ())) from error
        except (Exception, SystemExit) as error:
            told = struck(f"{self._name} raised {type(error).__name__}: {error}", ())
            raise SystemFailed(told[:_LONGEST]) from error
        elapsed = (time.perf_counter() - started) * 1000
        response = as_response(returned, source=self._name)
        if response.context is None and context is not None:
            response = response.model_copy(update={"context": context})
        return response if response.total_ms is not None else response.model_copy(update={"total_ms": elapsed})


async def _in_thread(function: Callable[..., Any], argument: Any, keywords: dict[str, Any]) -> tuple[float, Any]:
    """When the call began, and what came back: waiting for a free thread is not the system's time."""

    def call() -> tuple[float, Any]:
        began = time.perf_counter()
        try:
            return began, function(argument, **keywords)
        except StopIteration as error:  # a future cannot carry it
            raise RuntimeError(f"StopIteration: {error}") from error

    return await in_daemon_thread(partial(contextvars.copy_context().run, call))


def _imported(name: str) -> Callable[..., Any]:
    found = import_object(name, _FORM, what="a function")
    if not callable(found):
        raise SettingsError(f"{name!r} is {type(found).__name__}, not a function")
    return found  # type: ignore[no-any-return]


def _parameters(function: Callable[..., Any], name: str) -> tuple[bool, tuple[str, ...]]:
    """Whether the first parameter wants the whole Question, and which further ones are given."""
    try:
        parameters = list(inspect.signature(function).parameters.values())
    except (TypeError, ValueError):  # some builtins have no signature
        return False, ()
    positional = [
        one for one in parameters if one.kind in (one.POSITIONAL_ONLY, one.POSITIONAL_OR_KEYWORD, one.VAR_POSITIONAL)
    ]
    if not positional:
        raise SettingsError(f"{name} takes no question", hint="Its first parameter is given the question's text.")
    first = positional[0]
    annotated = first.annotation is Question or str(first.annotation).rpartition(".")[2].strip("'\"") == "Question"
    wants = first.name == "request" or annotated
    extra = tuple(one.name for one in parameters if one is not first and one.name in ("context", "history"))
    needed = [
        one.name
        for one in parameters
        if one is not first and one.name not in extra and one.default is one.empty
        and one.kind not in (one.VAR_POSITIONAL, one.VAR_KEYWORD)
    ]  # fmt: skip
    if needed:
        raise SettingsError(
            f"{name} has parameters that nothing is given for: {', '.join(needed)}",
            hint="Give them defaults. Given are the question, and `context` and `history` where it has them.",
        )
    return wants, extra


def _source(function: Callable[..., Any]) -> str:
    try:
        return inspect.getsource(function if inspect.isroutine(function) else type(function))
    except (OSError, TypeError):  # written at a prompt, or compiled
        return getattr(function, "__qualname__", type(function).__qualname__)
