"""Claims and the verdicts on them."""

from __future__ import annotations

from pydantic import Field

from ragauge.core.model import Model


class Claim(Model):
    """One atomic statement; `id` is unique within its sample (c1, c2, …). `start`/`end`: its place in the answer."""

    id: str = Field(min_length=1)
    text: str = Field(min_length=1)
    start: int | None = None
    end: int | None = None


class Verdict(Model):
    """One judgement on one thing that was asked about: a claim, a chunk, a citation.

    `id` is the id that was asked; `claim` its words; `label` one of the task's menu; `evidence` the id of the chunk
    that decided it; `quote` the words in that chunk; `reason` why, in words; `probability` (0 to 1) that the label
    is the task's positive one, where the judge gives one. `ballots`: who of several judges said what (a jury, or one
    judge several times), by voter.
    """

    id: str = Field(min_length=1)
    claim: str = ""
    label: str = Field(min_length=1)
    evidence: str | None = None
    quote: str | None = None
    reason: str = ""
    probability: float | None = Field(default=None, ge=0, le=1)
    ballots: dict[str, str] = Field(default_factory=dict)
