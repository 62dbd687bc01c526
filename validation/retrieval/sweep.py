"""A sweep of 36 cells over a public retrieval set, by `ragauge sweep`. Writes RESULTS-sweep.md beside this file.

    python validation/retrieval/sweep.py [--limit 100] [--workers 1] [--out FOLDER]

{dense, BM25, hybrid} × {re-rank on, off} × {pseudo-document on, off} × {three chunk sizes} on the standalone
answerable questions of `mtrag_passages`. Needs ../shared/judgedata/retrieval beside the checkout; some twenty minutes
on one core, most of it embedding and re-ranking. A killed sweep goes on when it is started again with the same --out.

    python validation/retrieval/sweep.py --hyde compatible:NAME@http://127.0.0.1:PORT/v1 [--said "who that is"]

The same with HyDE by a real model in place of the pseudo-document, for dense and hybrid (HyDE searches by meaning).
Writes RESULTS-sweep-hyde.md.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import sets
import yaml

from ragauge import __version__

NAME = "mtrag_passages"
SIZES = (400, 800, 1600)
GRID: dict[str, list[Any]] = {
    "system.reference.retrieval": ["bm25", "dense", "hybrid"],
    "system.reference.rerank": ["none", "minilm"],
    "system.reference.expand": ["none", "feedback"],
    "system.reference.chunk_size": list(SIZES),
}
BASE = {"retrieval": "hybrid", "rerank": "none", "expand": "none", "chunk_size": 800}
QUALITY = "ndcg@10:doc"
COLUMNS = ("ndcg@10:doc", "recall@5:doc", "hit_rate@1:doc")
_FEEDBACK = """\
**What "HyDE" is here.** HyDE needs a language model that makes a passage up: `--hyde` takes one.
The column *pseudo-document* is `expand: feedback`: the sentences that match the question best in what a
first search finds, joined to the question (pseudo-relevance feedback). It has HyDE's place in the pipeline and is **no
evidence for or against HyDE**: `RESULTS-sweep-hyde.md` has the sweep with HyDE by a small model."""
_HYDE = """\
**HyDE** is `expand: hyde` with {said}: it makes up a passage, and what lies near to that is searched.
BM25 alone has no such cells: BM25 looks for the question's own words with or without HyDE, so they would equal the
cells without it, which stand in `RESULTS-sweep.md`; the settings refuse the pair."""
PAGE = """\
# Sweep over the retrieval knobs of the reference pipeline

Written by `validation/retrieval/sweep.py` with ragauge {version}: `ragauge sweep`, {n_cells} cells, {n} questions
(standalone, answerable, a fixed random choice of `{name}`), ten chunks for each, 30 candidates where there is fusion or
re-ranking, metrics at document level (a document is a passage of the set, cut at up to the size given, overlap 50
characters), 95 % intervals over questions. {built} vector indexes were built for the {n_cells}
cells, one cell at a time{took}.

{expansion}

*to base*: paired difference in nDCG@10 to the base (hybrid, no re-ranking, no {column}, 800 characters), with
its 95 % interval and the p value corrected for {n_other} comparisons (Holm). ms: median and 95th percentile of a
retrieval on a busy machine with the vectors of passages met for the first time inside: read them as an upper bound.

| retrieval | re-rank | {column} | size | nDCG@10 | recall@5 | hit@1 | to base | p corr. | ms |
|---|---|---|---|---|---|---|---|---|---|
{rows}

{reading}
"""


def golden(folder: Path, limit: int) -> Path:
    """The questions as a golden file; the same ones whatever the order of the file."""
    asked = [one for one in sets.read(NAME) if one.answerable and one.standalone]
    asked.sort(key=lambda one: hashlib.sha256(one.question.id.encode()).digest())
    items = [
        {"id": one.question.id, "question": one.question.text, "sources": list(one.relevant), "answerable": True}
        for one in asked[:limit]
    ]
    path = folder / "golden.jsonl"
    path.write_text("".join(json.dumps(item) + "\n" for item in items), "utf-8")
    return path


def settings(folder: Path, limit: int, workers: int, hyde: str | None) -> Path:
    """The sweep's settings file."""
    reference = {
        **sets.settings(NAME), "splitter": "markdown", "k": 10, "candidates": 30, "generator": "none", **BASE,
    }  # fmt: skip
    reference["chunk_overlap"] = 50
    if hyde is not None:
        reference["model"] = {"name": hyde, "max_tokens": 600, "timeout_s": 300, "concurrency": 1}
    document = {
        "golden": str(golden(folder, limit)),
        "judge": "none",
        "metrics": [metric.partition(":")[0] for metric in COLUMNS],
        "system": {"reference": reference},
        "sweep": {"grid": GRID, "quality": QUALITY, "workers": workers},
    }
    path = folder / "sweep.yaml"
    path.write_text(yaml.safe_dump(document, sort_keys=False), "utf-8")
    return path


def run(folder: Path, file: Path) -> tuple[dict[str, Any], float]:
    """The sweep's document, and how long it took."""
    started = time.monotonic()
    known = sorted((folder / "runs").glob("*sweep*")) if (folder / "runs").exists() else []
    what = ["--resume", known[-1].name] if known else [str(file)]
    command = [sys.executable, "-m", "ragauge", "sweep", *what, "--out", str(folder / "runs"), "--json"]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"ragauge sweep ended with {done.returncode}")
    return json.loads(done.stdout), time.monotonic() - started


def page(document: dict[str, Any], took: str, said: str | None) -> str:
    """The sweep's document as the page."""
    cells = sorted(document["cells"], key=lambda cell: [str(cell["knobs"][knob]).zfill(8) for knob in GRID])
    best = {cell["id"]: cell for cell in cells}[document["best"]]
    reading = "\n".join(
        (
            *document["recommendation"],
            *_unscored(cells, document),
            *_effects(cells),
            f"Best-looking cell: {best['label']}.",
        )
    )
    return PAGE.format(
        version=__version__, name=NAME, n_cells=len(cells), n=document["n_questions"], built=document["n_index_builds"],
        n_other=len(cells) - 1, rows="\n".join(map(_row, cells)), reading=reading, took=took,
        expansion=_FEEDBACK if said is None else _HYDE.format(said=said),
        column="pseudo-document" if said is None else "HyDE",
    )  # fmt: skip


def _row(cell: dict[str, Any]) -> str:
    knobs = [cell["knobs"][knob] for knob in GRID]
    shown = [knobs[0], *("off" if one == "none" else "on" for one in knobs[1:3]), str(knobs[3])]
    for column in COLUMNS:
        estimate = cell["metrics"][column]["estimate"]
        shown.append(f"{estimate['value']:.3f} ({estimate['low']:.3f}–{estimate['high']:.3f})")
    difference = cell["metrics"][QUALITY]["difference"]
    if difference is None:
        shown += ["base", ""]
    else:
        span = f"{difference['low']:+.3f} … {difference['high']:+.3f}"
        shown += [f"{difference['difference']:+.3f} ({span})", f"{difference['p_adjusted']:.3f}"]
    shown.append(f"{cell['latency_p50_ms']:.0f} / {cell['latency_p95_ms']:.0f}")
    return f"| {' | '.join(shown)} |"


def _unscored(cells: list[dict[str, Any]], document: dict[str, Any]) -> list[str]:
    """Which cells could not score every question: a row that failed is left out there, and said to be."""
    asked = document["n_questions"]
    lacking = [(cell["label"], cell["metrics"][QUALITY]["estimate"]["n"]) for cell in cells]
    said = [f"- {label}: {n} of {asked}" for label, n in lacking if n < asked]
    if not said:
        return []
    return [
        "",
        "Questions scored, where it is not all of them (a reply of the model that was cut is a failed row):",
        "",
        *said,
    ]


def _effects(cells: list[dict[str, Any]]) -> list[str]:
    """The mean nDCG@10 of all cells with each value of each knob."""
    found = ["", "Mean nDCG@10 over the cells that share a value (no intervals: the cells share their questions):", ""]
    for knob, values in GRID.items():
        means = []
        for value in values:
            held = [c["metrics"][QUALITY]["estimate"]["value"] for c in cells if c["knobs"][knob] == value]
            means.append(f"{value} {sum(held) / len(held):.3f}")
        found.append(f"- {knob.rpartition('.')[2]}: {', '.join(means)}")
    return [*found, ""]


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--limit", type=int, default=100)
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--out", type=Path)
    parser.add_argument("--from", dest="stored", type=Path, help="only write the page, from the stored document")
    parser.add_argument("--took", default="", help="a remark on the time, for the page")
    parser.add_argument("--hyde", help="a language model for HyDE")
    parser.add_argument("--said", default="", help="what model that is, for the page")
    arguments = parser.parse_args()
    if arguments.hyde:
        GRID["system.reference.retrieval"].remove("bm25")
        GRID["system.reference.expand"] = ["none", "hyde"]
    took = arguments.took
    if arguments.stored is None:
        where = arguments.out or Path(tempfile.mkdtemp(prefix="ragauge-sweep-"))
        where.mkdir(parents=True, exist_ok=True)
        document, seconds = run(where, settings(where, arguments.limit, arguments.workers, arguments.hyde))
        (where / "document.json").write_text(json.dumps(document, indent=1), "utf-8")
        took = took or f", in {seconds:.0f} s"
    else:
        document = json.loads(arguments.stored.read_text("utf-8"))
    said = (arguments.said or arguments.hyde) if arguments.hyde else None
    name = "RESULTS-sweep-hyde.md" if said else "RESULTS-sweep.md"
    (Path(__file__).parent / name).write_text(page(document, took, said), "utf-8")
