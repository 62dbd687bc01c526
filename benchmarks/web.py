"""How quick the page is: every page over large runs, with several viewers at once, and how long it takes to start.

    python benchmarks/web.py [--rows 100000] [--viewers 5] [--rounds 20] [--think 0.5] [--json]

Two runs of `--rows` rows (3 chunks of 500 characters, 8 metrics, claims) are written, `ragauge serve` is started as a
process of its own, and the runs are read and compared once in the background (that time is told apart). Then every
viewer opens every kind of page `--rounds` times in an order of its own, with another filter, row or page each time, and
waits `--think` seconds between two pages. Reports p50, p95 and the largest milliseconds from request to the last byte.
"""

from __future__ import annotations

import argparse
import http.client
import json
import os
import random
import re
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlencode

from ragauge.core.run import Record
from ragauge.core.score import Scored
from ragauge.core.verdict import Verdict
from ragauge.testing.runs import a_metric, a_run
from ragauge.testing.samples import a_sample

RETRIEVAL = ("hit_rate@5", "recall@5", "ndcg@5", "reciprocal_rank")
JUDGED = ("faithfulness", "correctness", "answer_relevance", "context_precision")
TAGS = ("lookup", "numeric", "table", "multi_hop", "conflict", "ambiguous", "unanswerable", "long")
WORDS = [
    "agent", "buffer", "cluster", "disk", "edge", "flag", "gateway", "header", "index", "journal", "key", "limit",
    "metric", "node", "option", "port", "queue", "retry", "space", "token", "unit", "value", "window", "zone",
]  # fmt: skip


def write_run(base: Path, name: str, n: int, share_bad: float) -> str:
    metrics = [a_metric(key) for key in RETRIEVAL]
    metrics += [a_metric(key, half="generation", needs={"judge"}) for key in JUDGED]
    run = a_run(base, {}, name=name, metrics=metrics, created=f"2026-01-0{1 + (name == 'new')}T10:00:00+00:00")
    draw = random.Random(name)
    with run.rows.open("w", encoding="utf-8") as file:
        for place in range(n):
            file.write(_line(place, draw, share_bad) + "\n")
    return run.path.name


def _line(place: int, draw: random.Random, share_bad: float) -> str:
    bad = draw.random() < share_bad
    chunks = [(f"d{place % 400}#{at}", " ".join(draw.choices(WORDS, k=80)) + ".") for at in range(3)]
    claim = f"Option {place} has the value {place * 3} MB."
    verdicts = (
        Verdict(id="c1", claim=claim, label="contradicted" if bad else "supported", evidence=chunks[0][0],
                quote=chunks[0][1][:40], reason="the value is another one" if bad else "it stands there"),
    )  # fmt: skip
    sample = a_sample(
        chunks, gold=[chunks[0][0]], id=f"q{place}",
        question=f"What is the value of option {place} of the {draw.choice(WORDS)}?",
        answer=f"{claim} [1]", reference=f"{place * 3} MB", tags=tuple(draw.sample(TAGS, 2)), keywords=None,
        total_ms=draw.lognormvariate(6, 0.5), retrieval_ms=40.0,
    )  # fmt: skip
    scores = {key: Scored(value=float(draw.random() > share_bad / 2)) for key in RETRIEVAL}
    scores["faithfulness"] = Scored(value=0.0 if bad else 1.0, count=1, verdicts=verdicts)
    scores |= {key: Scored(value=round(draw.random() ** share_bad, 2)) for key in JUDGED[1:]}
    return Record(index=place, sample=sample, scores=scores).model_dump_json(exclude_none=True)


class Viewer:
    """One connection, kept alive, as a browser keeps it."""

    def __init__(self, port: int) -> None:
        self.connection = http.client.HTTPConnection("127.0.0.1", port, timeout=600)

    def get(self, path: str) -> tuple[int, float, int]:
        began = time.perf_counter()
        self.connection.request("GET", path, headers={"accept": "text/html"})
        answer = self.connection.getresponse()
        size = len(answer.read())
        return answer.status, 1000 * (time.perf_counter() - began), size


def pages(old: str, new: str, n: int, draw: random.Random) -> Iterator[tuple[str, str]]:
    """Every kind of page once, each time another one of its kind."""
    item, run = f"q{draw.randrange(n)}", f"/runs/{new}"

    def rows(**query: object) -> str:
        return f"{run}/rows?{urlencode(query)}"

    yield "overview", "/"
    yield "runs", "/runs"
    yield "run", run
    yield "rows", rows(page=draw.randrange(1, max(2, n // 50)))
    yield "rows, only failing", rows(outcome="bad", page=draw.randrange(1, 20))
    yield "rows, by tag", rows(tag=draw.choice(TAGS), page=draw.randrange(1, 20))
    yield "rows, text search", rows(q=f"value {draw.choice(WORDS)}")
    yield "rows, sorted", rows(sort=draw.choice(JUDGED), down=1, page=draw.randrange(1, max(2, n // 100)))
    yield "rows, sorted and filtered", rows(sort="ms", down=1, outcome="bad", tag=draw.choice(TAGS), q="option")
    yield "row", f"{run}/row?{urlencode({'id': item})}"
    yield "row of a filter", f"{run}/row?{urlencode({'id': item, 'outcome': 'bad', 'sort': 'ms', 'down': 1})}"
    yield "compare", f"/compare?a={old}&b={new}&metric={draw.choice(JUDGED)}&page={draw.randrange(1, 20)}"
    yield "side by side", f"/compare/row?{urlencode({'a': old, 'b': new, 'id': item})}"


def view(
    port: int, old: str, new: str, n: int, rounds: int, think: float, seed: int, out: dict[str, list[float]]
) -> None:
    draw, viewer = random.Random(seed), Viewer(port)
    for _ in range(rounds):
        todo = list(pages(old, new, n, draw))
        draw.shuffle(todo)
        for kind, path in todo:
            status, ms, _ = viewer.get(path)
            if status != 200:
                raise SystemExit(f"{path}: {status}")
            out.setdefault(kind, []).append(ms)
            time.sleep(think)


def started(folder: Path) -> tuple[subprocess.Popen[str], int, float]:
    began = time.perf_counter()
    command = [
        sys.executable,
        "-m",
        "ragauge",
        "serve",
        "--port",
        "0",
        "--runs",
        str(folder / "runs"),
        "--cache",
        "cache",
    ]
    process = subprocess.Popen(
        command, cwd=folder, stderr=subprocess.PIPE, text=True, env={**os.environ, "OPENBLAS_NUM_THREADS": "1"}
    )
    assert process.stderr is not None
    found = re.search(r":(\d+)/", process.stderr.readline())
    assert found is not None
    port = int(found.group(1))
    assert Viewer(port).get("/healthz")[0] == 200
    return process, port, time.perf_counter() - began


def wait_for(port: int, path: str) -> float:
    began, viewer = time.perf_counter(), Viewer(port)
    while (status := viewer.get(path)[0]) == 202:
        time.sleep(0.5)
    assert status == 200, (path, status)
    return time.perf_counter() - began


def percentile(values: list[float], share: float) -> float:
    ordered = sorted(values)
    return ordered[max(0, -(-round(share * 100) * len(ordered) // 100) - 1)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=100_000)
    parser.add_argument("--viewers", type=int, default=5)
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--think", type=float, default=0.5)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        old = write_run(folder / "runs", "old", options.rows, 0.1)
        new = write_run(folder / "runs", "new", options.rows, 0.12)
        size = (folder / "runs" / new / "rows.jsonl").stat().st_size
        starts = []
        for _ in range(3):
            process, _, seconds = started(folder)
            starts.append(seconds)
            process.terminate()
            process.wait(20)
        process, port, _ = started(folder)
        try:
            figures: dict[str, object] = {
                "rows": options.rows, "megabytes": round(size / 1e6), "start_s": round(min(starts), 2),
                "read_new_s": round(wait_for(port, f"/runs/{new}"), 1),
                "read_old_s": round(wait_for(port, f"/runs/{old}"), 1),
                "compare_s": round(wait_for(port, f"/compare?a={old}&b={new}"), 1),
            }  # fmt: skip
            view(port, old, new, options.rows, 1, 0.0, 99, {})  # what is read into memory once
            out: dict[str, list[float]] = {}
            threads = [
                threading.Thread(
                    target=view, args=(port, old, new, options.rows, options.rounds, options.think, seed, out)
                )
                for seed in range(options.viewers)
            ]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
        finally:
            process.terminate()
            process.wait(20)
            if process.stderr is not None:
                process.stderr.close()
    figures["pages"] = {
        kind: {
            "n": len(ms),
            "p50": round(percentile(ms, 0.5)),
            "p95": round(percentile(ms, 0.95)),
            "max": round(max(ms)),
        }
        for kind, ms in out.items()
    }
    if options.json:
        print(json.dumps(figures, indent=2))
        return
    for key, value in figures.items():
        if key != "pages":
            print(f"{key}: {value}")
    print(f"\n{options.viewers} viewers, {options.think} s between two pages; milliseconds\n")
    print("| page | n | p50 | p95 | max |\n|---|---|---|---|---|")
    for kind, found in figures["pages"].items():  # type: ignore[attr-defined]
        print(f"| {kind} | {found['n']} | {found['p50']} | {found['p95']} | {found['max']} |")


if __name__ == "__main__":
    main()
