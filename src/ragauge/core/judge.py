"""Judges and tasks: the seam between metrics and whoever gives verdicts.

A *task* is a question with a typed answer. For a language model it is a prompt, for the embedded judge an algorithm,
for a cross-encoder an input pair. Metrics never know which one answered.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any, Generic, Protocol, TypeVar, runtime_checkable

from pydantic import Field

from ragauge.core.model import Model
from ragauge.core.sample import Usage

T = TypeVar("T", bound=Model)


@dataclass(frozen=True)
class Task(Generic[T]):
    """A named question with a typed reply. `inputs` names what `ask` must be given; one job per task.

    `labels` is the menu that every verdict's label must come from; the first one is the positive one.
    """

    name: str
    version: int
    reply: type[T]
    inputs: tuple[str, ...]
    labels: tuple[str, ...] = ()


class JudgeInfo(Model):
    """A judge's card, for manifests and tables. `fingerprint` changes with anything that can change a verdict.

    `agreement` is the sentence about measured agreement with people that stands under every table. `voters`: of a jury,
    each judge with its model family (its own name where that is not known). `uncertain`: verdicts whose probability
    lies between the two are guesses; they are counted, and the review queue takes them.
    """

    name: str
    kind: str  # embedded, llm, crossencoder, jury, scripted
    version: str
    model: str | None = None
    fingerprint: str
    agreement: str | None = None
    prompts: dict[str, str] = Field(default_factory=dict)  # task name → hash of the prompt text
    voters: dict[str, str] = Field(default_factory=dict)
    uncertain: tuple[float, float] | None = None


@runtime_checkable
class Judge(Protocol):
    """Answers a task with the type that the task declares; raises `SampleError` when it cannot."""

    def info(self) -> JudgeInfo:
        """Who this is."""
        ...

    async def ask(self, task: Task[T], /, **inputs: Any) -> T:
        """The reply to `task` for these inputs; every asked id exactly once."""
        ...


@dataclass
class Meter:
    """Adds up what judging one metric of one sample used."""

    usage: Usage = field(default_factory=Usage)

    def add(self, usage: Usage) -> None:
        """Count `usage` in."""
        self.usage = self.usage + usage


_METER: ContextVar[Meter | None] = ContextVar("ragauge_meter", default=None)


@contextmanager
def metered() -> Iterator[Meter]:
    """Whatever judges use inside this block is added up in the meter it gives."""
    meter = Meter()
    token = _METER.set(meter)
    try:
        yield meter
    finally:
        _METER.reset(token)


def count_usage(usage: Usage) -> None:
    """Called by providers: add `usage` to the meter of the running metric, if there is one."""
    meter = _METER.get()
    if meter is not None:
        meter.add(usage)
