"""The retrieval sets that stand beside the checkout, as questions for the reference pipeline."""

from __future__ import annotations

import json
import tempfile
from dataclasses import dataclass
from pathlib import Path

from ragauge.core.sample import Message, Question

FOLDER = Path(__file__).resolve().parents[3] / "shared" / "judgedata" / "retrieval"
NAMES = ("mtrag_passages", "clapnq_dev", "squad2_dev")
#: Vectors are kept here between runs of these scripts, apart from the user's own cache.
CACHE = Path(tempfile.gettempdir()) / "ragauge-validation-embeddings"


@dataclass(frozen=True)
class Asked:
    """A question with its labels. `group`: what must not be on both sides of a split."""

    question: Question
    relevant: tuple[str, ...]
    answerable: bool
    group: str
    domain: str
    standalone: bool
    answers: tuple[str, ...]


def read(name: str) -> list[Asked]:
    """The questions of a set, in file order."""
    found = []
    for line in (FOLDER / name / "questions.jsonl").read_text("utf-8").splitlines():
        row = json.loads(line)
        tags = row["tags"]
        history = tuple(_message(one) for one in tags.get("history") or ())
        source = tags.get("title") or (row["relevant_ids"] or tags.get("source_passage") or [row["id"]])[0]
        answer = row["answer"]
        found.append(
            Asked(
                Question(id=row["id"], text=row["question"], history=history),
                tuple(row["relevant_ids"]),
                row["answerable"],
                row["id"].split("<")[0] if name.startswith("mtrag") else source,
                tags.get("domain", ""),
                not history,
                tuple(answer) if isinstance(answer, list) else (answer,) if answer else (),
            )
        )
    return found


def _message(turn: dict[str, str]) -> Message:
    return Message(role="user" if turn["speaker"] == "user" else "assistant", content=turn["text"])


def settings(name: str, **changes: object) -> dict[str, object]:
    """Settings of the pipeline for a set whose documents are passages already."""
    return {
        "corpus": str(FOLDER / name / "corpus.jsonl.gz"),
        "splitter": "none",
        "embedding_cache": str(CACHE),
        **changes,
    }
