"""What a rule of the root causes answers: a cause, and what shows it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from ragauge.diagnose.facts import Facts
from ragauge.diagnose.parts import Part

Certainty = Literal["clear", "likely"]


@dataclass(frozen=True)
class Why:
    """A cause and what shows it. `fix` None: the cause's own."""

    cause: str
    evidence: tuple[str, ...]
    certainty: Certainty = "clear"
    fix: str | None = None
    also: tuple[str, ...] = ()


def missing_parts(facts: Facts) -> list[Part]:
    """The needed passages that were not retrieved."""
    return [part for part in facts.parts if part.rank is None]
