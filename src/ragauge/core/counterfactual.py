"""What a system would have said under another condition: evidence that settles which half is at fault."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field

from ragauge.core.model import Model
from ragauge.core.sample import Response
from ragauge.core.score import Score, Scored

#: gold_context: answered from the gold passages alone. more_k: retrieved deeper. shuffled: the same chunks in another
#: order. quote_query: the gold passage's own words as the question, to see whether the index holds it at all.
Condition = Literal["gold_context", "more_k", "shuffled", "quote_query"]


class Counterfactual(Model):
    """One line of `counterfactuals.jsonl`. `scores` are those of the run's metrics on the new response.

    `found` (quote_query): whether each needed passage came back. `error` says why the condition could not be tried.
    """

    id: str
    repeat: int = Field(default=0, ge=0)
    condition: Condition
    response: Response = Response()
    scores: dict[str, Score] = Field(default_factory=dict)
    found: tuple[bool, ...] = ()
    error: str | None = None
    details: dict[str, Any] = Field(default_factory=dict)

    @property
    def declined(self) -> bool:
        """Whether the system declined to answer, by its own word or by what was scored."""
        return bool(self.response.abstained) or self.value("wrong_abstention") == 1 or self.value("abstention") == 0

    def value(self, name: str) -> float | None:
        """The value of the first metric with this bare name, if it was scored."""
        for key, score in self.scores.items():
            if key.partition(":")[0].partition("@")[0] == name and isinstance(score, Scored):
                return score.value
        return None
