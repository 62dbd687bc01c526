# ruff: noqa: E501
"""What simple scores reach on the sets that the embedded judge is measured on: majority, overlap, BM25, ROUGE-L, cosine.

    python validation/judges/baselines.py ../shared/judgedata      writes RESULTS-baselines.md beside it

Every score says how much of the claim (relevance and abstention: of the question) stands in the text that it is looked
up in; the best of several passages counts, except for overlap, which reads all of them together. Cosine is that of the
packaged MiniLM, on at most `EMBEDDED` rows of a set (seeded draw), because embedding every passage takes an hour.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import bm25s
import numpy as np
from bench import SEED, Interval, intervals, overlap
from examples import golds_of
from labelled import GROUNDING, Row, rows

from ragauge.analysis.agreement import auroc
from ragauge.embeddings.loading import load
from ragauge.metrics.proxy.rouge_l import rouge_l
from ragauge.text.tokens import content_words

HERE = Path(__file__).parent
TASKS = (*GROUNDING, "relevance", "abstention", "correctness")
EMBEDDED = 150
#: At most this many characters of a text are embedded or aligned: the model reads 256 word pieces.
_LONGEST = 2_000


def pair(row: Row) -> tuple[list[str], list[str]]:
    """(what is looked up, where): the best pair counts."""
    if row.task == "correctness":
        return list(golds_of(row)), [row.text]
    if row.task == "relevance":
        return [row.question or ""], [row.text]
    if row.task == "abstention":
        return [row.question or ""], list(row.contexts)
    return [row.text], list(row.contexts)


def bm25(found: Sequence[Row]) -> list[float]:
    """BM25 of the best passage over the claim's score against itself; the set's passages are the collection."""
    places: dict[str, int] = {}
    for row in found:
        for text in pair(row)[1]:
            places.setdefault(text, len(places))
    index = bm25s.BM25()
    index.index([content_words(text) or ["-"] for text in places], show_progress=False)
    scores = []
    for row in found:
        wanted, texts = pair(row)
        best = 0.0
        for one in wanted:
            words = list(dict.fromkeys(content_words(one)))
            if words:
                every = index.get_scores(words)
                best = max(best, max((float(every[places[text]]) for text in texts), default=0.0) / len(words))
        scores.append(best)
    return scores


def rouge(found: Sequence[Row]) -> list[float]:
    """ROUGE-L recall of the claim in the best passage."""
    return [
        max((rouge_l(text[:_LONGEST], one)[1] for one in pair(row)[0] for text in pair(row)[1]), default=0.0)
        for row in found
    ]


def cosine(found: Sequence[Row]) -> list[float]:
    """Cosine of MiniLM's vectors of claim and best passage."""
    embedder = load("minilm")
    scores = []
    for row in found:
        wanted, texts = ([text[:_LONGEST] or " " for text in side] for side in pair(row))
        if not wanted or not texts:
            scores.append(0.0)
            continue
        vectors = embedder.encode([*wanted, *texts])
        scores.append(float((vectors[: len(wanted)] @ vectors[len(wanted) :].T).max()))
    return scores


def measured(found: Sequence[Row], score: Callable[[Sequence[Row]], Sequence[float]]) -> Interval:
    labels = np.array([row.label for row in found], dtype=float)
    values = np.array(score(found))

    def one(chosen: np.ndarray) -> list[float]:
        area = auroc(values[chosen], labels[chosen])
        return [np.nan if area is None else area]

    return intervals([row.group for row in found], one)[0]


def drawn(found: Sequence[Row]) -> list[Row]:
    """At most `EMBEDDED` rows, the same in every run."""
    if len(found) <= EMBEDDED:
        return list(found)
    chosen = np.random.default_rng(SEED).choice(len(found), EMBEDDED, replace=False)
    return [found[place] for place in sorted(chosen)]


def main(folder: Path) -> None:
    lines, areas = [], []
    for name, found in sorted(rows(folder, TASKS).items()):
        positive = float(np.mean([row.label for row in found]))
        if positive in (0.0, 1.0):
            continue
        by_words = [measured(found, lambda each: [overlap(row) for row in each]), measured(found, bm25)]
        by_words += [measured(found, rouge), measured(drawn(found), cosine)]
        lines.append(
            f"| {name} | {found[0].task} | {len(found)} | {max(positive, 1 - positive):.2f} | "
            + " | ".join(str(one) for one in by_words)
            + " |"
        )
        if found[0].task in GROUNDING:
            areas.append([one.value for one in by_words])
        print(lines[-1], flush=True)
    means = " | ".join(f"**{value:.3f}**" for value in np.mean(np.array(areas), axis=0))
    text = f"""# Simple scores on the same sets

Written by `python validation/judges/baselines.py FOLDER`; do not edit. AUROC with 95 % intervals (bootstrap over groups,
seed {SEED}). *Majority*: accuracy of always saying the more frequent label; its AUROC is .5 and its balanced accuracy .5 everywhere.
Overlap, BM25, ROUGE-L recall and cosine of the packaged MiniLM: see `baselines.py`. Cosine is measured on at most
{EMBEDDED} rows of a set, so its intervals are wide. The embedded judge's own figures: `RESULTS.md`.

| set | task | n | majority | overlap | BM25 | ROUGE-L | cosine |
|---|---|---|---|---|---|---|---|
{chr(10).join(lines)}
| mean over the {len(areas)} grounding and citation sets | | | | {means} |

Published balanced accuracies on LLM-AggreFact, which these sets only partly overlap with, as yardsticks: SummaC-ZS .677, MiniCheck-FT5
.750, GPT-4o .759 (sources: the judged data's README).
"""
    (HERE / "RESULTS-baselines.md").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
