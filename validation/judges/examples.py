"""Labelled rows as features of the embedded judge, one table for each of its regressions."""

from __future__ import annotations

import gzip
import hashlib
import json
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from labelled import GROUNDING, Row, rows
from training import Example

from ragauge.judges.embedded import correctness, features, questions
from ragauge.judges.embedded.claims import split_claims
from ragauge.judges.embedded.evidence import prepare, statement

#: Regression → names of its features.
FEATURES = {
    "support": features.NAMES, "usefulness": questions.NAMES, "sufficiency": questions.NAMES,
    "correctness": correctness.NAMES,
}  # fmt: skip
#: Sets that share sources: a set is tested with weights from none of its relatives.
RELATIVES = {
    "ragtruth": ("ragtruth", "ragtruth_sentences"), "ragtruth_sentences": ("ragtruth", "ragtruth_sentences"),
    "attributionbench_citation": ("attributionbench_citation", "attributionbench_grounding"),
    "attributionbench_grounding": ("attributionbench_citation", "attributionbench_grounding"),
}  # fmt: skip


def claims_of(row: Row) -> list[str]:
    """The claims of a text; the text itself when it claims nothing."""
    return [claim.text for claim in split_claims(row.text)] or [row.text]


def claims_hash(found: Sequence[Row]) -> str:
    """Of all claims of these texts, to tell whether figures belong to them."""
    return hashlib.sha256("\n".join(claim for row in found for claim in claims_of(row)).encode()).hexdigest()[:16]


def tables(folder: Path) -> dict[str, dict[str, tuple[list[Row], list[Example]]]]:
    """Regression → set → (rows, examples in the same order)."""
    useful = _table(folder, ("relevance",), _usefulness) | _passages(folder)
    return {
        "support": _table(folder, GROUNDING, _support),
        "usefulness": useful,
        # One passage that bears on a question or not is a context that suffices or not: without these pairs the
        # threshold sits where only sets with near misses in every context put it.
        "sufficiency": _table(folder, ("abstention",), _sufficiency) | useful,
        "correctness": _table(folder, ("correctness",), _correctness),
    }


def _table(folder: Path, tasks: tuple[str, ...], vectors: object) -> dict[str, tuple[list[Row], list[Example]]]:
    assert callable(vectors)
    return {
        name: (found, [Example(np.array(vectors(row), dtype=float), row.label, row.group) for row in found])
        for name, found in rows(folder, tasks).items()
    }


def _passages(folder: Path) -> dict[str, tuple[list[Row], list[Example]]]:
    """Questions with a passage that answers them, one that shares their words, and one from elsewhere (hash of ids)."""
    made = {}
    for name in ("clapnq_dev", "mtrag_passages", "squad2_dev"):
        with gzip.open(folder / "retrieval" / name / "corpus.jsonl.gz", "rt", encoding="utf-8") as lines:
            corpus = {p["id"]: p["text"] for p in map(json.loads, lines)}
        places: dict[str, list[str]] = {}
        for id, text in corpus.items():
            for one in statement(text[:3000]).stem_set:
                places.setdefault(one, []).append(id)
        ids = list(corpus)
        found = []
        lines = (folder / "retrieval" / name / "questions.jsonl").read_text(encoding="utf-8").splitlines()
        for number, question in enumerate(map(json.loads, lines)):
            relevant = [id for id in question["relevant_ids"] if id in corpus]
            if not relevant or (question.get("tags") or {}).get("standalone") is False or len(found) >= 1500:
                continue
            held: Counter[str] = Counter()
            for one in statement(question["question"]).stem_set:
                for id in places.get(one, ()):
                    held[id] += 1 / len(places[one])
            near = [id for id, _ in sorted(held.items(), key=lambda pair: (-pair[1], pair[0])) if id not in relevant]
            far = next(id for id in ids[(number * 7919) % len(ids) :] + ids if id not in relevant)
            for id, label in ((relevant[0], 1), (near[4] if len(near) > 4 else far, 0), (far, 0)):
                found.append(
                    Row(
                        f"{name}:{question['id']}:{id}",
                        name,
                        "relevance",
                        question["question"],
                        (),
                        corpus[id],
                        None,
                        label,
                        question["id"],
                    )
                )
        made[name] = (found, [Example(np.array(_usefulness(r), dtype=float), r.label, r.group) for r in found])
    return made


#: Row id → signals of its claims, measured once.
_SIGNALS: dict[str, list[features.Signals]] = {}


def signals_of(row: Row) -> list[features.Signals]:
    """The signals of each claim of a text."""
    if row.id not in _SIGNALS:
        evidence = prepare(row.contexts)
        _SIGNALS[row.id] = [features.measure(statement(claim), evidence) for claim in claims_of(row)]
    return _SIGNALS[row.id]


def _support(row: Row) -> list[tuple[float, ...]]:
    return [signals.vector for signals in signals_of(row)]


def _usefulness(row: Row) -> list[tuple[float, ...]]:
    return [questions.question_vector(questions.asked(row.question or ""), prepare((row.text,)))]


def _sufficiency(row: Row) -> list[tuple[float, ...]]:
    return [questions.question_vector(questions.asked(row.question or ""), prepare(row.contexts))]


def _correctness(row: Row) -> list[tuple[float, ...]]:
    made = [correctness.correctness_vector(row.question or "", row.text, gold) for gold in golds_of(row)]
    return [max(made)]  # the reference that the answer is nearest to: new_recall comes first


def golds_of(row: Row) -> tuple[str, ...]:
    """The reference answers, any of which is right."""
    return row.golds or (row.reference or "",)
