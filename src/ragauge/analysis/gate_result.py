"""What a gate says: one check for each rule, and the verdict on all of them."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from ragauge.analysis.gate_settings import GateSettings
from ragauge.core.model import Model

Verdict = Literal["pass", "fail", "inconclusive"]
Outcome = Literal["passed", "failed", "unknown"]
Kinds = Literal["floor", "drop", "pass_rate", "errors", "complete", "baseline", "cost", "latency"]


class NamedQuestion(Model):
    """A question that a failed check points at."""

    id: str
    question: str
    why: str = ""


class Check(Model):
    """One rule. `observed` against `limit`; for a drop both are losses (positive: got worse), `high` its upper bound.

    `n_needed`: how many questions would decide an inconclusive check. `false_alarm`: for a rule on observed values
    alone, how often it would fail although nothing changed.
    """

    name: str
    kind: Kinds
    metric: str | None = None
    limit: float | None = None
    observed: float | None = None
    low: float | None = None
    high: float | None = None
    verdict: Verdict
    n: int = 0
    n_needed: int | None = None
    false_alarm: float | None = None
    reason: str = ""
    questions: tuple[NamedQuestion, ...] = ()


class GateResult(Model):
    """`fail` if any check fails, else `inconclusive` if any could not be judged, else `pass`."""

    verdict: Verdict
    checks: tuple[Check, ...]
    run: str
    baseline: str | None = None
    suite: str
    n_questions: int
    warnings: tuple[str, ...] = ()
    settings: GateSettings
    questions: tuple[NamedQuestion, ...] = ()
    outcomes: dict[str, Outcome] = Field(default_factory=dict)
