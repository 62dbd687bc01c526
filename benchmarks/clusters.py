"""Clustering failures: seconds and peak memory for 5 to 50 000 of them, vectors given; and from their texts.

    python benchmarks/clusters.py              # all sizes, one process each
    python benchmarks/clusters.py 50000        # one size, in this process

Vectors are made: 384 dimensions, 60 subjects of unequal size and one failure in five like no other. `from_texts_s` is
what `ragauge diagnose --clusters` does with that many questions: their words' vectors, then clusters. Exits with 1 when
50 000 take 60 s or 2 GB and more.
"""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import time

import numpy as np

SIZES = (5, 100, 1_500, 5_000, 50_000)
MAX_SECONDS, MAX_MB = 60.0, 2048.0


def failures(n: int) -> tuple[list[str], list[str], np.ndarray]:
    rng = np.random.default_rng(n)
    centres = rng.normal(size=(60, 384)).astype(np.float32)
    subject = np.minimum(rng.zipf(1.4, n) - 1, 59)
    vectors = centres[subject] + rng.normal(0, 0.5, (n, 384)).astype(np.float32)
    lonely = rng.random(n) < 0.2
    vectors[lonely] = rng.normal(size=(int(lonely.sum()), 384)).astype(np.float32)
    texts = [f"How does subject{number} behave in case {place}?" for place, number in enumerate(subject.tolist())]
    return [f"q{place:06d}" for place in range(n)], texts, vectors


def measure(n: int) -> dict[str, float]:
    from ragauge.diagnose.clusters import cluster
    from ragauge.embeddings.minilm import load_minilm

    ids, texts, vectors = failures(n)
    started = time.perf_counter()
    found = cluster(ids, texts, vectors)
    seconds = time.perf_counter() - started
    del vectors
    started = time.perf_counter()
    cluster(ids, texts, load_minilm().word_vectors(texts))
    from_texts = time.perf_counter() - started
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return {
        "n": n,
        "seconds": round(seconds, 2),
        "from_texts_s": round(from_texts, 2),
        "peak_mb": round(peak),
        "clusters": len(found.clusters),
    }


def main(arguments: list[str]) -> int:
    if arguments:
        print(json.dumps(measure(int(arguments[0]))))
        return 0
    bad = False
    print(f"{'failures':>9} {'seconds':>8} {'from texts':>11} {'peak MB':>8} {'clusters':>9}")
    for n in SIZES:
        made = subprocess.run([sys.executable, __file__, str(n)], check=True, capture_output=True, text=True)
        row = json.loads(made.stdout)
        bad = bad or max(row["seconds"], row["from_texts_s"]) >= MAX_SECONDS or row["peak_mb"] >= MAX_MB
        print(
            f"{n:>9} {row['seconds']:>8} {row['from_texts_s']:>11} {row['peak_mb']:>8} {row['clusters']:>9}", flush=True
        )
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
