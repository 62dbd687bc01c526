"""What may be wrong with a golden set, where it stands, and what to do about it."""

from __future__ import annotations

from typing import Literal

from ragauge.core.model import Model

Severity = Literal["error", "warning", "note"]


class Complaint(Model):
    """One thing that is wrong. `kind` is stable; `line` counts from 1; `fix` says what to do.

    error: the numbers come out wrong; warning: most likely a mistake; note: worth knowing.
    """

    kind: str
    severity: Severity
    message: str
    fix: str
    item: str | None = None
    file: str | None = None
    line: int | None = None
    field: str | None = None


class Leakage(Model):
    """How much of the questions' wording stands in their gold passages.

    `share`: mean share (0 to 1) of a question's content words that its gold passages hold; `n_copied`: questions that
    share a long run of words with them; `n`: questions with known gold text.
    """

    n: int
    share: float | None
    n_copied: int


class Power(Model):
    """What the set can tell about two systems, at 80 % power: see `ragauge.stats.power.plan`."""

    n: int
    smallest_rate: float | None
    smallest_graded: float
    half_width_90: float


class GoldenFindings(Model):
    """What was found in a golden set: its items, what it can tell, and every complaint with its place."""

    name: str
    file: str | None
    n_items: int
    n_verified: int
    n_unanswerable: int
    tags: dict[str, int]
    leakage: Leakage
    power: Power | None
    complaints: tuple[Complaint, ...]
    notes: tuple[str, ...] = ()


class ValidateDocument(GoldenFindings):
    """What `ragauge golden validate --json` prints; the schema in the documentation is this one."""

    n_errors: int
    n_warnings: int


class GoldenReport(GoldenFindings):
    """Everything that `golden validate` says."""

    @property
    def n_errors(self) -> int:
        """How many complaints are errors."""
        return sum(one.severity == "error" for one in self.complaints)

    @property
    def n_warnings(self) -> int:
        """How many are warnings."""
        return sum(one.severity == "warning" for one in self.complaints)
