"""Calling somebody's code: what it raises becomes `SystemFailed`, and what it retrieves is written down on the way."""

from __future__ import annotations

import contextvars
import inspect
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from ragauge.core.sample import Response, RetrievalStep, RetrievedChunk, RetrievedContext, Usage
from ragauge.errors import RagaugeError, SampleError, SystemFailed, TimedOut
from ragauge.systems.threads import in_daemon_thread
from ragauge.systems.variables import struck

#: Of a message that somebody's library raised, so much is kept.
_LONGEST = 2000


@contextmanager
def failures_of(name: str, secrets: Sequence[str] = ()) -> Iterator[None]:
    """Inside this block whatever is raised on purpose by others becomes `SystemFailed`, secrets struck out."""
    try:
        yield
    except (SystemFailed, TimedOut) as error:
        for secret in secrets:  # also what a service says of itself may hold what it was sent
            error.message = error.message.replace(secret, "***")
            error.raw = error.raw.replace(secret, "***") if error.raw is not None else None
            error.args = (error.message,)
        raise
    except SampleError as error:
        raise SystemFailed(struck(f"{name} raised {type(error).__name__}: {error.message}", secrets)) from None
    except RagaugeError as error:
        raise SystemFailed(struck(f"{name} raised {type(error).__name__}: {error.message}", secrets)) from error
    except (Exception, SystemExit) as error:
        told = struck(f"{name} raised {type(error).__name__}: {_said(error)}", secrets)
        raise SystemFailed(told[:_LONGEST]) from (None if secrets else error)


def _said(error: BaseException) -> str:
    """What an exception says; a group's first member, which is what happened."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
        return f"{type(error).__name__}: {_said(error)}"
    return str(error)


async def called(call: Callable[[], Any], *, on_loop: bool) -> Any:
    """What `call()` gives: on the running loop when it is asynchronous, else in a thread that keeps nothing alive."""
    if on_loop:
        return await call()
    returned = await in_daemon_thread(partial(contextvars.copy_context().run, partial(_without_stop, call)))
    return await returned if inspect.isawaitable(returned) else returned


def _without_stop(call: Callable[[], Any]) -> Any:
    try:
        return call()
    except StopIteration as error:  # a future cannot carry it
        raise RuntimeError(f"StopIteration: {error}") from error


@dataclass
class Span:
    """One piece of work, in seconds of `time.perf_counter`."""

    began: float
    ended: float


@dataclass
class Recorder:
    """What happened while one question was answered: retrieval steps in the order in which they ended, model calls.

    `top` numbers the steps that are no part of another one: together they are what was retrieved.
    """

    steps: list[RetrievalStep] = field(default_factory=list)
    top: list[int] = field(default_factory=list)
    usage: Usage = field(default_factory=Usage)
    model: str | None = None
    retrieving: list[Span] = field(default_factory=list)
    generating: list[Span] = field(default_factory=list)

    def step(
        self,
        name: str,
        query: str | None,
        chunks: Sequence[RetrievedChunk],
        span: Span | None = None,
        *,
        inner: bool = False,
        **metadata: Any,
    ) -> None:
        """Write down one retrieval step; an `inner` one is part of another."""
        if not inner:
            self.top.append(len(self.steps))
            if span is not None:
                self.retrieving.append(span)
        latency = None if span is None else (span.ended - span.began) * 1000
        self.steps.append(
            RetrievalStep(name=name, query=query, chunks=tuple(chunks), latency_ms=latency, metadata=metadata)
        )

    def used(self, tokens_in: int, tokens_out: int, model: str | None) -> None:
        """One more call of a language model."""
        self.usage += Usage(calls=1, tokens_in=tokens_in, tokens_out=tokens_out)
        self.model = model or self.model

    def context(self) -> RetrievedContext | None:
        """The chunks of all top steps, in the order of the steps, each once; None when no step was seen."""
        if not self.top:
            return None
        found: dict[str, RetrievedChunk] = {}
        for place in self.top:
            for chunk in self.steps[place].chunks:
                found.setdefault(chunk.id, chunk)
        chunks = [chunk.model_copy(update={"rank": rank}) for rank, chunk in enumerate(found.values(), start=1)]
        return RetrievedContext(chunks=tuple(chunks))

    def completed(self, response: Response, total_ms: float) -> Response:
        """`response` with what was seen on the way, where it does not say so itself."""
        seen: dict[str, Any] = {"total_ms": total_ms}
        if response.context is None and (context := self.context()) is not None:
            seen["context"] = context
        # one step that is the context itself adds nothing: what is worth keeping is a way with several steps
        if not response.steps and len(self.steps) > 1:
            seen["steps"] = tuple(_without_text(step) for step in self.steps)
        if response.usage == Usage() and self.usage != Usage():
            seen["usage"] = self.usage
        if response.model is None and self.model is not None:
            seen["model"] = self.model
        if response.retrieval_ms is None and self.retrieving:
            seen["retrieval_ms"] = covered_ms(self.retrieving)
        if response.generation_ms is None and self.generating:
            seen["generation_ms"] = covered_ms(self.generating)
        given = {name: value for name, value in seen.items() if name != "total_ms" or response.total_ms is None}
        return response.model_copy(update=given)


def _without_text(step: RetrievalStep) -> RetrievalStep:
    """Steps name chunks; their text stands in the context."""
    chunks = tuple(chunk.model_copy(update={"text": "", "metadata": {}}) for chunk in step.chunks)
    return step.model_copy(update={"chunks": chunks})


def covered_ms(spans: Sequence[Span]) -> float:
    """Milliseconds in which at least one of the spans was running: what ran side by side counts once.

    >>> covered_ms([Span(0.0, 1.0), Span(0.5, 1.5), Span(2.0, 2.25)])
    1750.0
    """
    total, end = 0.0, float("-inf")
    for span in sorted(spans, key=lambda one: one.began):
        total += max(0.0, span.ended - max(end, span.began))
        end = max(end, span.ended)
    return total * 1000


async def timed(call: Callable[[], Any], *, on_loop: bool) -> tuple[Any, float]:
    """What came back and the milliseconds that it took; waiting for a thread to start is not the system's time."""
    began: list[float] = []

    def noted() -> Any:
        began.append(time.perf_counter())
        return call()

    started = time.perf_counter()
    returned = await called(noted, on_loop=on_loop)
    return returned, (time.perf_counter() - (began[0] if began else started)) * 1000
