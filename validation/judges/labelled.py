# ruff: noqa: E501
"""Reads the human-labelled sets (NAME.jsonl.gz, one row a line) that judges are measured on."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

GROUNDING = ("grounding", "citation")


@dataclass(frozen=True)
class Row:
    """One judged text. `label` 1: supported, correct, relevant, answerable. `group`: what must not be split."""

    id: str
    dataset: str
    task: str
    question: str | None
    contexts: tuple[str, ...]
    text: str
    reference: str | None
    label: int
    group: str
    golds: tuple[str, ...] = ()


def rows(folder: Path, tasks: tuple[str, ...]) -> dict[str, list[Row]]:
    """Set name → its rows for `tasks`, in file order. Pairwise sets and rows without contexts (grounding) are left out."""
    found: dict[str, list[Row]] = {}
    for path in sorted(folder.glob("*.jsonl.gz")):
        for row in _read(path):
            if row.task in tasks and not (row.task in GROUNDING and not row.contexts):
                name = row.dataset if row.dataset != "attributionbench" else f"attributionbench_{row.task}"
                found.setdefault(name, []).append(row)
    return found


def _read(path: Path) -> Iterator[Row]:
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        for line in lines:
            row = json.loads(line)
            if "text_b" in row:
                continue
            golds = (row.get("label_detail") or {}).get("gold_answers") or ()
            yield Row(
                id=row["id"], dataset=row["dataset"], task=row["task"], question=row["question"],
                contexts=tuple(row["contexts"]), text=row["text"], reference=row["reference"], label=row["label"],
                group=row["group"], golds=tuple(golds),
            )  # fmt: skip
