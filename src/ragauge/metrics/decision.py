"""Did the system answer, answer in part, decline, or say nothing at all?"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

from ragauge.core.judge import Judge
from ragauge.core.sample import Sample, is_blank
from ragauge.core.tasks import ABSTENTION
from ragauge.metrics.remembered import refusal
from ragauge.metrics.verdicts import verdict_on

Kind = Literal["answered", "partial", "declined", "no_answer"]


@dataclass(frozen=True)
class Decision:
    """What the system did, who says so, and the words that show it. A partial answer is an answer."""

    kind: Kind
    by: Literal["system", "judge", "text"]
    phrase: str = ""

    @property
    def answered(self) -> bool:
        """Whether something was answered, at least in part."""
        return self.kind in ("answered", "partial")

    def said(self) -> str:
        """The decision in a few words, for details."""
        return f"{self.kind} (by {self.by}{f': {self.phrase!r}' if self.phrase else ''})"

    def details(self) -> dict[str, Any]:
        """For `Scored.details`: a blank answer is counted as `no_answer`, apart from a refusal."""
        return {
            "decision": self.kind,
            "by": self.by,
            "phrase": self.phrase,
            "declined": float(self.kind == "declined"),
            "partial": float(self.kind == "partial"),
            "no_answer": float(self.kind == "no_answer"),
        }


def decide(sample: Sample, phrases: Sequence[str] = ()) -> Decision | None:
    """The decision without asking anybody: the system's own word first, else the rules on the text.

    `phrases` are further refusal phrases, such as the fixed one of your prompt. None: the system gave no answer at
    all (a bare retriever) and does not say that it declined.
    """
    response = sample.response
    if response.abstained:
        return Decision("declined", "system")
    if response.answer is None:
        return None
    if is_blank(response.answer):
        return Decision("no_answer", "text")
    if response.abstained is False:
        return Decision("answered", "system")
    found = refusal(response.answer, tuple(phrases))
    if found is None:
        return Decision("answered", "text")
    return Decision("partial" if found.partial else "declined", "text", found.phrase)


async def decide_with(judge: Judge | None, sample: Sample, phrases: Sequence[str] = ()) -> Decision | None:
    """As `decide`, but what only the text rules could say is asked of the judge instead, when there is one."""
    decision = decide(sample, phrases)
    if judge is None or decision is None or decision.by == "system" or decision.kind == "no_answer":
        return decision
    verdict = await verdict_on(judge, ABSTENTION, question=sample.item.question, answer=sample.response.answer)
    kinds: dict[str, Kind] = {"declined": "declined", "partial": "partial", "answered": "answered"}
    return Decision(kinds[verdict.label], "judge", verdict.quote or "")
