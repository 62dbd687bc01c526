"""Does a reference show in its words which passage it belongs to? What `diagnose.passages.told` can tell apart.

    python validation/diagnosis/references.py        # writes RESULTS-references.md

For every answerable item: the share of what its reference says beyond the question that stands in its own labelled
passages, and in those of the next item (of the same document where there is one, which is harder). Deterministic.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

import elsewhere
from oracle import EXAMPLE

from ragauge.core.sample import GoldenItem
from ragauge.dataset.golden import load_golden
from ragauge.diagnose.facts import APART, TOGETHER
from ragauge.diagnose.passages import told
from ragauge.stats.intervals import proportion_interval

RESULTS = Path(__file__).parent / "RESULTS-references.md"
Texts = Callable[[GoldenItem], list[str]]


def quotes(item: GoldenItem) -> list[str]:
    return [part.quote for group in item.evidence or () for part in group.any if part.quote]


def shares(items: Sequence[GoldenItem], texts: Texts) -> tuple[list[float], list[float], int]:
    """Own, another's, and how many references say nothing beyond their question."""
    own, other, n_nothing = [], [], 0
    for place, item in enumerate(items):
        others = [*items[place + 1 :], *items[:place]]
        beside = next((one for one in others if one.sources == item.sources), others[0])
        mine = told(item.answer or "", item.question, texts(item))
        if mine is None:
            n_nothing += 1
            continue
        own.append(mine)
        other.append(told(item.answer or "", item.question, texts(beside)) or 0.0)
    return own, other, n_nothing


def line(name: str, items: Sequence[GoldenItem], texts: Texts) -> str:
    own, other, n_nothing = shares(items, texts)
    cells = [f"| {name} | {len(own)}" + (f" (+ {n_nothing})" if n_nothing else "")]
    for values in (own, other):
        for low, high in ((-1.0, APART), (APART, TOGETHER), (TOGETHER, 2.0)):
            n = sum(low <= value < high for value in values)
            interval = proportion_interval(n, len(values))
            cells.append(f"{n / len(values):.0%} ({interval.low:.0%}–{interval.high:.0%})")
    return " | ".join(cells) + " |"


def mtrag() -> tuple[list[GoldenItem], Texts]:
    texts = {row["id"]: f"{row['title']} {row['text']}" for row in elsewhere.corpus_of("mtrag_passages")}
    items = []
    for text in (elsewhere.FOLDER / "mtrag_passages" / "questions.jsonl").read_text("utf-8").splitlines():
        row = json.loads(text)
        if row["answerable"] and row["answer"] and row["relevant_ids"]:
            items.append(
                GoldenItem(
                    id=row["id"], question=row["question"], answer=row["answer"], sources=tuple(row["relevant_ids"])
                )
            )
    return items, lambda item: [texts[name] for name in item.sources or ()]


def main() -> None:
    """Measure and write."""
    example = [
        item for item in load_golden(EXAMPLE / "golden.yaml") if item.answerable and item.answer and quotes(item)
    ]
    lines = [line("the example, quotes", example, quotes)]
    for where in (elsewhere.squad(), elsewhere.clapnq()):
        items = [item for item in where.golden if item.answerable]
        lines.append(line(f"{where.name}, quotes", items, quotes))
    lines.append(line("mtrag_passages, passages", *mtrag()))
    text = f"""# Whose is this reference?

Written by `validation/diagnosis/references.py`; deterministic. The share of what a reference says beyond its question
that stands in its own labelled passages, and in those of another item (of the same document where there is one). Below
{APART:g} they are *apart*, from {TOGETHER:g} on *together*; between the two the judge has the word. In brackets:
Wilson's 95 % interval; (+ n): references that say nothing beyond their question. SQuAD's references are spans of
its passages, so that nothing of its own can be apart; those of the example, of CLAPnq and of MTRAG were written by
people and models.

| references | n | own: apart | own: between | own: together | other's: apart | between | together |
|---|---|---|---|---|---|---|---|
""" + "\n".join(lines)
    RESULTS.write_text(text + "\n", encoding="utf-8")
    print(text)


if __name__ == "__main__":
    main()
