"""Items and labels as rows of the database, and back. Text is cleaned of what databases refuse; payloads stay exact."""

from __future__ import annotations

import json
from typing import Any

from ragauge.errors import UsageError
from ragauge.review.items import Candidate, Label, ReviewItem
from ragauge.text.normalise import clean


def _text(value: str | None) -> str | None:
    return None if value is None else clean(value)


def row_of(candidate: Candidate, now: float) -> dict[str, Any]:
    """A candidate as a row of the table of items."""
    if candidate.wanted < 1:
        raise UsageError("an item wants at least one label")
    return {
        "id": candidate.id,
        "run": clean(candidate.run),
        "item": clean(candidate.item),
        "repeat_no": candidate.repeat,
        "target": _text(candidate.target),
        "metric": candidate.metric,
        "source": candidate.source,
        "reason": clean(candidate.reason),
        "payload": json.dumps(candidate.payload, allow_nan=False),
        "answer": candidate.answer,
        "judge": candidate.judge,
        "cluster": _text(candidate.cluster),
        "priority": candidate.priority,
        "wanted": candidate.wanted,
        "probability": candidate.probability,
        "band": candidate.band,
        "design": candidate.design,
        "state": "open",
        "n_labels": 0,
        "created": now,
    }


def change_of(candidate: Candidate, known: Any) -> dict[str, Any]:
    """What of a row changes when the candidate is added again."""
    change: dict[str, Any] = {}
    if candidate.design is not None and known.design is None:
        change |= {"design": candidate.design, "band": candidate.band, "probability": candidate.probability}
    if candidate.wanted > known.wanted:
        change |= {"wanted": candidate.wanted, "state": "open" if known.n_labels < candidate.wanted else known.state}
    if candidate.priority > known.priority:
        change |= {"priority": candidate.priority}
    return change


def item_of(row: Any, lease_expires: float | None = None) -> ReviewItem:
    """A row of the table of items."""
    data = dict(row._mapping)
    data["repeat"] = data.pop("repeat_no")
    data["payload"] = json.loads(data["payload"])
    return ReviewItem(**data, lease_expires=lease_expires)


def label_of(row: Any) -> Label:
    """A row of the table of labels."""
    data = dict(row._mapping)
    data["edits"] = json.loads(data["edits"]) if data["edits"] else None
    data["adjudicated"] = bool(data["adjudicated"])
    return Label(**data)


def label_row(label: Label) -> dict[str, Any]:
    """A label as a row of its table."""
    return {
        "id": label.id,
        "item_id": label.item_id,
        "reviewer": label.reviewer,
        "label": label.label,
        "note": label.note,
        "systematic": label.systematic,
        "edits": json.dumps(label.edits, allow_nan=False) if label.edits else None,
        "adjudicated": int(label.adjudicated),
        "created": label.created,
        "undone": label.undone,
    }


def same_label(old: Label, new: Label) -> bool:
    """Whether two labels of one person say the same."""
    return (old.label, old.note, old.systematic, old.edits, old.adjudicated) == (
        new.label, new.note, new.systematic, new.edits, new.adjudicated,
    )  # fmt: skip
