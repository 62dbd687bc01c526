"""Labels that were given in a spreadsheet, put into the queue."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from ragauge.analysis.labels import ACCEPTED, label_value
from ragauge.errors import InputError, UnknownName
from ragauge.review.items import ReviewConflict, ReviewItem
from ragauge.review.labels import rows_of
from ragauge.review.queue import Queue
from ragauge.store.textfile import existing_path


@dataclass
class Imported:
    """What became of the rows of a file."""

    n_stored: int = 0
    n_empty: int = 0
    conflicts: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class _Row:
    item: ReviewItem
    label: str
    reviewer: str
    note: str
    systematic: str | None


def import_labels(queue: Queue, path: Path, reviewer: str, *, second_opinion: bool = False) -> Imported:
    """Store every label of a CSV or JSON Lines file. Nothing is stored when a row is wrong: they are listed first.

    Columns: `queue_id` (or `item`, where that is unique), `label`, and if there are any `reviewer`, `note`,
    `systematic`. Importing a file twice changes nothing.
    """
    done = Imported()
    by_id = {item.id: item for item in queue.items()}
    by_name: dict[str, list[ReviewItem]] = {}
    for item in by_id.values():
        by_name.setdefault(item.item, []).append(item)
    rows: list[_Row] = []
    problems: list[InputError] = []
    for line, data in rows_of(existing_path(path)):
        if isinstance(data, InputError):
            problems.append(data)
            continue
        label = str(data.get("label") or "").strip()
        if not label:
            done.n_empty += 1
            continue
        try:
            item = _item(data.get("queue_id"), data.get("item") or data.get("id"), by_id, by_name)
            if item.metric != "golden":
                label_value(label)
        except (UnknownName, ValueError) as problem:
            field_ = "label" if isinstance(problem, ValueError) else "queue_id"
            accepted = ACCEPTED if field_ == "label" else ""
            problems.append(
                InputError(str(problem).split("\n")[0], file=str(path), line=line, field=field_, accepted=accepted)
            )
            continue
        who = str(data.get("reviewer") or reviewer).strip()
        pattern = str(data.get("systematic") or "").strip() or None
        rows.append(_Row(item, label, who, str(data.get("note") or ""), pattern))
    if problems:
        raise InputError.several(problems[:20], unread=len(problems) > 20)
    for row in rows:
        try:
            queue.label(
                row.item.id, row.reviewer, row.label,
                note=row.note, systematic=row.systematic, second_opinion=second_opinion,
            )  # fmt: skip
            done.n_stored += 1
        except ReviewConflict:
            done.conflicts.append(row.item.item)
    return done


def _item(
    queue_id: object, name: object, by_id: dict[str, ReviewItem], by_name: dict[str, list[ReviewItem]]
) -> ReviewItem:
    if queue_id is not None:
        found = by_id.get(str(queue_id).strip())
        if found is None:
            raise UnknownName("item in the review queue", str(queue_id), by_id)
        return found
    named = by_name.get(str(name or "").strip(), [])
    if len(named) != 1:
        raise UnknownName("item in the review queue" if not named else "item, or several,", str(name), by_name)
    return named[0]
