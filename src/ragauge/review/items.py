"""What stands in the review queue, and what people say about it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

from ragauge.core.model import fingerprint
from ragauge.errors import UsageError

#: Why something is in the queue. Only draws with known probabilities may be used for estimates.
Source = Literal["estimate", "random", "cluster", "disagreement", "uncertain", "thumbs_down", "log", "asked"]
FOR_ESTIMATION = frozenset({"estimate", "random"})
State = Literal["open", "done"]

#: What a reviewer may read in blind mode: nothing that gives the judge's verdict away.
NEUTRAL = {
    "estimate": "drawn to measure the judge",
    "random": "drawn at random, as a control",
    "cluster": "stands for a group of similar answers",
    "disagreement": "automatic checks disagree about it",
    "uncertain": "automatic checks are not sure about it",
    "thumbs_down": "a user was not content",
    "log": "a question from production that the golden set may lack",
    "asked": "somebody asked for it",
}


class ReviewConflict(UsageError):
    """Somebody else has labelled the item, or is doing so; nothing was stored."""


@dataclass(frozen=True)
class Candidate:
    """One thing to be labelled: an answer (or one chunk or claim of it, `target`) under one metric.

    `metric` "golden" asks whether a question from a log belongs into the golden set. `payload` is what a reviewer is
    shown; its key "verdict" is kept from them in blind mode. `answer` is the fingerprint of the response, `judge`
    that of the judge. `probability`, `band` and `design` say how it was drawn, where it was.
    """

    run: str
    item: str
    metric: str
    source: Source
    reason: str
    payload: dict[str, Any] = field(default_factory=dict)
    repeat: int = 0
    target: str | None = None
    answer: str | None = None
    judge: str | None = None
    cluster: str | None = None
    priority: float = 0.0
    wanted: int = 1
    probability: float | None = None
    band: str | None = None
    design: str | None = None

    @property
    def id(self) -> str:
        """The same thing to be labelled has the same id in every queue."""
        return fingerprint([self.run, self.item, self.repeat, self.target, self.metric])


@dataclass(frozen=True)
class ReviewItem:
    """A candidate as it stands in the queue. `n_labels` counts the labels that are not undone."""

    id: str
    run: str
    item: str
    metric: str
    source: str
    reason: str
    payload: dict[str, Any]
    repeat: int
    target: str | None
    answer: str | None
    judge: str | None
    cluster: str | None
    priority: float
    wanted: int
    probability: float | None
    band: str | None
    design: str | None
    state: str
    n_labels: int
    created: float
    lease_expires: float | None = None

    def shown(self, *, blind: bool) -> dict[str, Any]:
        """What a reviewer sees: in blind mode neither the judge's verdict nor a reason that gives it away."""
        payload = {key: value for key, value in self.payload.items() if not (blind and key == "verdict")}
        return {
            "id": self.id,
            "run": self.run,
            "item": self.item,
            "repeat": self.repeat,
            "target": self.target,
            "metric": self.metric,
            "source": self.source,
            "reason": NEUTRAL.get(self.source, "") if blind else self.reason,
            **payload,
        }


@dataclass(frozen=True)
class Label:
    """What one person said about one item. `systematic` names a pattern; `edits` are proposed changes of the item."""

    id: str
    item_id: str
    reviewer: str
    label: str
    note: str = ""
    systematic: str | None = None
    edits: dict[str, Any] | None = None
    adjudicated: bool = False
    created: float = 0.0
    undone: float | None = None
