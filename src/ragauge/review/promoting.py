"""Reviewed questions become golden items."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from ragauge.core.sample import GoldenItem
from ragauge.review.items import Label, ReviewItem

#: Fields of a golden item that a reviewer may change.
EDITABLE = frozenset(("question", "answer", "answerable", "tags", "sources", "chunks", "keywords", "evidence"))


def promoted(labels: Iterable[Label], items: Iterable[ReviewItem]) -> list[GoldenItem]:
    """The questions that people want in the golden set, verified, with what they changed.

    Items of metric "golden" whose latest (or adjudicated) label is "promote"; two people who differ promote nothing
    until it is settled. Rows of runs whose reviewers wrote a better reference or marked the question unanswerable are
    promoted as well.
    """
    by_item: dict[str, list[Label]] = {}
    for label in labels:
        by_item.setdefault(label.item_id, []).append(label)
    found: dict[str, GoldenItem] = {}
    for item in items:
        given = by_item.get(item.id)
        if not given:
            continue
        final = [one for one in given if one.adjudicated] or given
        edits: dict[str, Any] = {}
        for one in final:
            edits |= {name: value for name, value in (one.edits or {}).items() if name in EDITABLE}
        if item.metric == "golden":
            if {one.label.casefold() for one in final} != {"promote"}:
                continue
        elif not edits:
            continue
        found[item.item] = _golden(item, edits, sorted({one.reviewer for one in final}))
    return list(found.values())


def _golden(item: ReviewItem, edits: dict[str, Any], reviewers: list[str]) -> GoldenItem:
    payload = item.payload
    known = payload.get("golden") if isinstance(payload.get("golden"), dict) else {}
    fields: dict[str, Any] = {
        "id": item.item,
        "question": payload.get("question"),
        "answer": payload.get("reference"),
        "answerable": payload.get("answerable"),
        "tags": payload.get("tags") or [],
        **(known or {}),
        **edits,
        "verified": True,
    }
    if fields.get("answerable") is False:
        fields |= {
            "sources": None,
            "chunks": None,
            "evidence": None,
            "relevance": None,
            "keywords": None,
            "claims": None,
        }
        if "answer" not in edits:
            fields["answer"] = None
    if "answer" in edits or "question" in edits:
        fields["claims"] = None  # the stored claims are of the old words
    fields["metadata"] = {**(fields.get("metadata") or {}), "verified_by": reviewers}
    return GoldenItem.model_validate({name: value for name, value in fields.items() if value not in (None, [], {})})
