"""What verbs of `ragauge review` and `calibrate --next` print with --json, as the schemas in the documentation say."""

from __future__ import annotations

from typing import Any

from pydantic import ConfigDict

from ragauge.analysis.label_next import Draw
from ragauge.core.model import Model
from ragauge.review.items import Source


class AddDocument(Model):
    """Of `review add`. `queue`: which one; `run`: the run's directory; `added`: how many were not there yet;
    `sources`: where those that were chosen come from → how many.
    """

    queue: str
    run: str
    added: int
    sources: dict[Source, int]


class ShownItem(Model):
    """What a reviewer sees of an item: where it comes from, what is asked of it (`metric`), and its contents (question,
    answer, contexts …; with --no-blind the judge's verdict), each under its own key.
    """

    model_config = ConfigDict(extra="allow")

    id: str
    run: str
    item: str
    repeat: int
    target: str | None
    metric: str
    source: str
    reason: str


class HeldItem(Model):
    """Of `review next`: the item, how many you reviewed today, and until when it is yours (seconds since 1970)."""

    item: ShownItem
    today: int
    lease_expires: float | None


class NoItem(Model):
    """Of `review next`, when there is none: nothing is left, or the day's budget is used."""

    item: None
    today: int
    budget_used: bool


#: What `ragauge review next --json` prints.
NextDocument = HeldItem | NoItem


class LabelDocument(Model):
    """Of `review label`: what was stored, of which row (`item`) under which id, and what the judge had said."""

    label: str
    item: str
    id: str
    verdict: dict[str, Any] | None


class DrawnDocument(Model):
    """Of `calibrate --next`: what to label next for `metric`, in this order. `run`: its directory."""

    run: str
    metric: str
    next: tuple[Draw, ...]
