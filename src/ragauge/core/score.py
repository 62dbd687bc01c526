"""Scored or Unscored: a failure is a type, not a number."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Any

from pydantic import ConfigDict, Discriminator, Field, Tag, TypeAdapter

from ragauge.core.model import Model
from ragauge.core.verdict import Verdict
from ragauge.errors import Reason


class Kind(StrEnum):
    """The three ways in which a score can be missing; they are counted apart."""

    NOT_APPLICABLE = "not_applicable"
    ERROR = "error"
    SKIPPED = "skipped"


_ERRORS = {
    Reason.SYSTEM_FAILED, Reason.JUDGE_UNAVAILABLE, Reason.JUDGE_UNPARSEABLE, Reason.JUDGE_INCOMPLETE,
    Reason.JUDGE_UNSUPPORTED, Reason.TIMED_OUT, Reason.INVALID_SCORE, Reason.WORKER_LOST,
}  # fmt: skip
_SKIPPED = {Reason.MISSING_INPUT, Reason.BUDGET_SPENT, Reason.NOT_SAMPLED}


def kind_of(reason: Reason) -> Kind:
    """Which kind a reason belongs to."""
    if reason in _ERRORS:
        return Kind.ERROR
    return Kind.SKIPPED if reason in _SKIPPED else Kind.NOT_APPLICABLE


class Scored(Model):
    """A value that was measured. NaN and infinities cannot be built.

    `count` is the denominator: how many claims, chunks or labels were asked about. `verdicts` are all of them, one
    for each asked id. `details` holds named parts (`{"contradicted": 0.2}`) and whatever explains the value.
    """

    value: float = Field(allow_inf_nan=False)
    count: int = Field(default=1, ge=0)
    verdicts: tuple[Verdict, ...] = ()
    details: dict[str, Any] = Field(default_factory=dict)


class Unscored(Model):
    """No value, and why. On disk `reason` is written as `unscored`."""

    reason: Reason = Field(alias="unscored")
    detail: str = ""
    raw: str | None = None

    model_config = ConfigDict(populate_by_name=True, serialize_by_alias=True)

    @property
    def kind(self) -> Kind:
        """not_applicable, error or skipped."""
        return kind_of(self.reason)


def _tag(value: Any) -> str:
    if isinstance(value, dict):
        return "unscored" if "unscored" in value or "reason" in value else "scored"
    return "unscored" if isinstance(value, Unscored) else "scored"


Score = Annotated[
    Annotated[Scored, Tag("scored")] | Annotated[Unscored, Tag("unscored")],
    Discriminator(_tag),
]
SCORE: TypeAdapter[Scored | Unscored] = TypeAdapter(Score)


def unscored(reason: Reason, detail: str = "", raw: str | None = None) -> Unscored:
    """An `Unscored`, spelled short."""
    return Unscored(reason=reason, detail=detail, raw=raw)


def share(
    part: float, whole: int, *, verdicts: tuple[Verdict, ...] = (), empty: Reason, **details: Any
) -> Scored | Unscored:
    """`part / whole` (fraction, 0 to 1) with its denominator; `Unscored(empty)` when there was nothing to ask about.

    >>> share(1, 4, empty=Reason.NO_CLAIMS).value
    0.25
    >>> share(0, 0, empty=Reason.NO_CLAIMS).reason.value
    'no_claims'
    """
    if whole == 0:
        return unscored(empty)
    return Scored(value=part / whole, count=whole, verdicts=verdicts, details=details)
