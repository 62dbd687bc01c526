"""Memory of `ragauge score` over many recorded samples: rows are streamed, so the peak must not grow with their number.

    python benchmarks/score_stream.py [--sizes 1000,10000] [--metrics …] [--json]

Each size is scored in a process of its own; the file has 5 contexts of 600 characters per sample. Reports wall and
processor seconds, peak resident memory, and what each further sample adds to the peak.
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import random
import subprocess
import sys
import tempfile
import time
from pathlib import Path

METRICS = "hit_rate@5,recall@5,ndcg@5,faithfulness,keyword_hits,token_f1,abstention,citation_recall"
WORDS = [
    "agent", "buffer", "cluster", "disk", "edge", "flag", "gateway", "header", "index", "journal", "key", "limit",
    "metric", "node", "option", "port", "queue", "retry", "space", "token", "unit", "value", "window", "zone",
]  # fmt: skip


def write_samples(path: Path, n: int) -> None:
    draw = random.Random(7)
    with path.open("w", encoding="utf-8") as file:
        for place in range(n):
            contexts = [" ".join(draw.choices(WORDS, k=100)) + "." for _ in range(5)]
            contexts[place % 5] += f" Option number {place} has the value {place * 3} MB."
            record = {
                "id": f"s{place}",
                "question": f"What is the value of option number {place}?",
                "answer": f"Option number {place} has the value {place * 3} MB [{place % 5 + 1}].",
                "reference": f"{place * 3} MB",
                "keywords": [str(place * 3)],
                "contexts": [
                    {"id": f"c{place}-{at}", "document": f"d{at}", "text": t} for at, t in enumerate(contexts)
                ],
                "chunks": [f"c{place}-{place % 5}"],
                "answerable": True,
            }
            file.write(json.dumps(record) + "\n")


def measure(n: int, metrics: str) -> dict[str, float]:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "samples.jsonl"
        write_samples(path, n)
        command = [sys.executable, "-m", "ragauge", "score", str(path), "--metrics", metrics, "--quiet", "--json"]
        started = time.perf_counter()
        process = subprocess.Popen([*command, "--out", folder], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        assert process.stdout is not None
        document = json.loads(process.stdout.read())
        _, status, used = os.wait4(process.pid, 0)
        wall = time.perf_counter() - started
        assert os.waitstatus_to_exitcode(status) == 0
        assert document["totals"]["n_rows"] == n
        return {
            "n": n,
            "file_mb": path.stat().st_size / 1e6,
            "wall_s": wall,
            "cpu_s": used.ru_utime + used.ru_stime,
            "peak_mb": used.ru_maxrss / 1024,
        }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sizes", default="1000,10000")
    parser.add_argument("--metrics", default=METRICS)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    figures = [measure(int(size), options.metrics) for size in options.sizes.split(",")]
    for before, after in itertools.pairwise(figures):
        after["kb_per_further_sample"] = (after["peak_mb"] - before["peak_mb"]) * 1024 / (after["n"] - before["n"])
    if options.json:
        print(json.dumps(figures, indent=2))
        return
    print("| samples | file MB | wall s | processor s | peak MB | KB per further sample |\n|---|---|---|---|---|---|")
    for row in figures:
        more = f"{row['kb_per_further_sample']:.1f}" if "kb_per_further_sample" in row else ""
        cells = [f"{row[name]:.0f}" for name in ("n", "file_mb", "wall_s", "cpu_s", "peak_mb")]
        print("| " + " | ".join([*cells, more]) + " |")


if __name__ == "__main__":
    main()
