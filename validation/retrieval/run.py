"""How well does the reference pipeline find, and when does it decline? Writes RESULTS.md beside this file.

    python validation/retrieval/run.py [--features FILE.npz] [--only TEXT]

Needs ../shared/judgedata/retrieval beside the checkout. Ten to forty minutes, most of it embedding; a second run reads
the vectors from the cache.
"""

from __future__ import annotations

import argparse
import asyncio
import hashlib
import statistics
import time
from collections.abc import Sequence
from pathlib import Path

import fit_abstention as fitting
import numpy as np
import sets

from ragauge import __version__
from ragauge.ranking.evaluate import evaluate
from ragauge.stats.intervals import mean_interval
from ragauge.systems.reference.evidence import SIGNALS
from ragauge.systems.reference.generate import ABSTAIN_BELOW, HOLDS_ANSWER
from ragauge.systems.reference.pipeline import build
from ragauge.text.normalise import normalise

METRICS = ("hit_rate@1", "recall@5", "recall@10", "ndcg@10")
MODES: dict[str, dict[str, object]] = {
    "BM25": {"retrieval": "bm25"},
    "dense": {"retrieval": "dense"},
    "hybrid": {"retrieval": "hybrid"},
    "hybrid + re-rank": {"retrieval": "hybrid", "rerank": "minilm"},
}
QUOTED_ANSWERS = 300
MOST_QUESTIONS = 1000
PAGE = """\
# The reference pipeline on public retrieval sets

Written by `validation/retrieval/run.py` with ragauge {version}; the development folds of the sets. Every passage is
one chunk (`splitter: none`), embedded with its title by the packaged all-MiniLM-L6-v2; 20 candidates of each retriever
where there is fusion or re-ranking; 95 % intervals over questions. Unanswerable questions have nothing to find and are
left out here; of SQuAD's answerable ones a fixed random 1 000 are asked. ms: median of one search without embedding
the question, on two shared cores: read ratios; re-ranking's hold the token vectors of passages met for the first time.

`mtrag_passages` holds the gold passages of MTRAG only, so its figures are optimistic against the full corpus.

## Retrieval

{retrieval}
## When the extractive generator declines

Hybrid retrieval, five passages. *answerable*: a gold passage is among them. *unanswerable*: annotators found no answer
in the passage that it was asked of (SQuAD's are written to look answerable). *gold removed*: an answerable question
with its gold passages taken out (other passages may still answer it, in MTRAG often). *elsewhere*: asked of another
set's corpus. Groups (article, passage, conversation) that the fit did not see.

The threshold was chosen by looking at these tables, so its own row is a little flattering. Similarity cannot see
whether a passage that is about the question also answers it: on the shipped example, whose unanswerable questions are
written to look answerable, the generator answers most of them. It stands in for a language model and is no match for
one.

{abstention}

## What it quotes

{quoting}
"""


async def ranked(name: str, asked: Sequence[sets.Asked], **settings: object) -> tuple[dict[str, list[str]], float]:
    """The ten best passages of each question, and the median milliseconds of a search with its vector at hand."""
    system = build(sets.settings(name, k=10, candidates=20, generator="none", **settings))
    questions = [one.question for one in asked]
    await system.build_index()
    await system.prepare(questions)
    found, times = {}, []
    for question in questions:
        response = await system.respond(question)
        assert response.context is not None
        found[question.id] = response.context.ids
        times.append(response.retrieval_ms or 0.0)
    await system.aclose()
    return found, statistics.median(times)


def row(title: str, asked: Sequence[sets.Asked], found: dict[str, list[str]], ms: float) -> str:
    result = evaluate({one.question.id: set(one.relevant) for one in asked}, found, METRICS)
    cells = []
    for metric in METRICS:
        values = result.per_question(metric)
        estimate = mean_interval([values[one.question.id] for one in asked])
        cells.append(f"{estimate.value:.3f} ({estimate.low:.3f}–{estimate.high:.3f})")
    return f"| {title} | {len(asked)} | {' | '.join(cells)} | {ms:.0f} |"


def parts(name: str) -> list[tuple[str, list[sets.Asked], dict[str, object]]]:
    """Heading, questions and settings of each table of a set."""
    asked = [one for one in sets.read(name) if one.answerable]
    asked.sort(key=lambda one: hashlib.sha256(one.question.id.encode()).digest())
    asked = asked[:MOST_QUESTIONS]
    if name != "mtrag_passages":
        return [(name, asked, {})]
    alone = [one for one in asked if one.standalone]
    later = [one for one in asked if not one.standalone]
    return [
        (f"{name} · standalone questions", alone, {}),
        (f"{name} · IBM Cloud only, standalone", [one for one in alone if one.domain == "cloud"], {}),
        (f"{name} · later turns after the user's turn before (`history: last`, the default)", later, {}),
        (f"{name} · IBM Cloud only, later turns (`history: last`)", [o for o in later if o.domain == "cloud"], {}),
        (f"{name} · later turns after all the user said before (`history: append`)", later, {"history": "append"}),
        (f"{name} · later turns asked alone (`history: ignore`)", later, {"history": "ignore"}),
    ]


def sections(page: Path) -> dict[str, str]:
    """The tables of a page that is there, by heading."""
    part = page.read_text("utf-8").split("## Retrieval\n", 1)[1].split("\n## ")[0]
    return {one.split("\n", 1)[0]: one.split("\n", 1)[1].strip("\n") for one in part.split("\n### ")[1:]}


async def retrieval(only: str | None, page: Path) -> list[str]:
    """The tables; with `only`, those whose heading does not hold it are kept from the page as they are."""
    head = "| | n | hit@1 | recall@5 | recall@10 | nDCG@10 | ms |\n|---|---|---|---|---|---|---|"
    kept = {} if only is None else sections(page)
    lines = []
    for name in sets.NAMES:
        for title, asked, changes in parts(name):
            lines += [f"### {title}", ""]
            if only is not None and only not in title:
                lines += [kept[title], ""]
                continue
            lines.append(head)
            for mode, settings in MODES.items():
                started = time.monotonic()
                found, ms = await ranked(name, asked, **settings, **changes)
                lines.append(row(mode, asked, found, ms))
                print(title, lines[-1], f"{time.monotonic() - started:.0f} s", flush=True)
            lines.append("")
    return lines


def abstention(data: dict[str, np.ndarray]) -> list[str]:
    """Answer rates on the groups that the fit did not see, at several thresholds."""
    beta = np.array([HOLDS_ANSWER["intercept"], *(HOLDS_ANSWER[name] for name in SIGNALS)])
    p = 1 / (1 + np.exp(-(np.hstack([np.ones((len(data["x"]), 1)), data["x"]]) @ beta)))

    def chosen(name: str, case: str) -> np.ndarray:
        return p[data["test"] & (data["set"] == name) & (data["case"] == case)]

    lines = ["| set | case | n | AUROC against answerable | share answered at the default |", "|---|---|---|---|---|"]
    for name in sets.NAMES:
        for case in fitting.CASES:
            scores = chosen(name, case)
            if not len(scores):
                continue
            auroc = "" if case == "answerable" else f"{fitting.auroc(chosen(name, 'answerable'), scores):.3f}"
            share = mean_interval([float(one >= ABSTAIN_BELOW) for one in scores], kind="rate")
            shown = f"{share.value:.3f} ({share.low:.3f}–{share.high:.3f})"
            lines.append(f"| {name} | {case} | {len(scores)} | {auroc} | {shown} |")
    lines += ["", "Mean over the sets of the share answered:", ""]
    lines.append("| `abstain_below` | " + " | ".join(fitting.CASES) + " |")
    lines.append("|---|---|---|---|---|")
    for threshold in (0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.4, 0.5, 0.6, 0.7):
        cells = []
        for case in fitting.CASES:
            held = [chosen(name, case) for name in sets.NAMES]
            cells.append(f"{np.mean([np.mean(one >= threshold) for one in held if len(one)]):.3f}")
        mark = " (default)" if threshold == ABSTAIN_BELOW else ""
        lines.append(f"| {threshold}{mark} | {' | '.join(cells)} |")
    return lines


async def quoting() -> list[str]:
    """Of SQuAD questions whose gold paragraph was retrieved: does what is quoted hold the gold answer?"""
    system = build(sets.settings("squad2_dev", k=5, candidates=20))
    asked = [one for one in sets.read("squad2_dev") if one.answerable and fitting.is_test(one.group)]
    asked.sort(key=lambda one: hashlib.sha256(one.question.id.encode()).digest())
    n_answered, n_held, n_cited, n_sentences = 0, 0, 0, []
    n_asked = 0
    for one in asked[:QUOTED_ANSWERS]:
        response = await system.respond(one.question)
        assert response.context is not None
        if not set(response.context.ids) & set(one.relevant):
            continue
        n_asked += 1
        if response.abstained:
            continue
        n_answered += 1
        answer = normalise(response.answer or "")
        n_held += any(normalise(gold) in answer for gold in one.answers)
        n_cited += bool(set(response.citations or ()) & set(one.relevant))
        n_sentences.append(answer.count("["))
    await system.aclose()
    return [
        f"Of {n_asked} held-out answerable SQuAD questions with the gold paragraph among the five, {n_answered} were",
        f"answered, with {statistics.mean(n_sentences):.1f} quotes on average; {n_held / n_answered:.3f} of them",
        f"hold a gold answer word for word, {n_cited / n_answered:.3f} cite the gold paragraph.",
    ]


async def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--features", type=Path, help="signals kept by fit_abstention.py")
    parser.add_argument("--only", help="measure only tables whose heading holds this text, keep the others as they are")
    arguments = parser.parse_args()
    path, page = arguments.features, Path(__file__).parent / "RESULTS.md"
    data = dict(np.load(path)) if path is not None and path.exists() else await fitting.features()
    found = await retrieval(arguments.only, page)
    text = PAGE.format(
        version=__version__,
        retrieval="\n".join(found),
        abstention="\n".join(abstention(data)),
        quoting="\n".join(await quoting()),
    )
    page.write_text(text, "utf-8")


if __name__ == "__main__":
    asyncio.run(main())
