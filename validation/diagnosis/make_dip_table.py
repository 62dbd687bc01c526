"""Make src/ragauge/diagnose/dip_quantiles.txt: quantiles of √n · dip of uniform samples, by simulation.

Needs the `diptest` package for speed (our own dip is compared with it in tests/diagnose/test_dip.py).
"""

from __future__ import annotations

import math
from pathlib import Path

import diptest
import numpy as np

SIZES = (4, 5, 6, 8, 10, 15, 20, 30, 50, 100, 200, 500, 1000, 2000, 5000)
PROBABILITIES = (0.05, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 0.98, 0.99, 0.995, 0.999)
N_SAMPLES = 20_000
TARGET = Path(__file__).parents[2] / "src" / "ragauge" / "diagnose" / "dip_quantiles.txt"


def main() -> None:
    rng = np.random.default_rng(20260131)
    lines = [
        f"# Quantiles of sqrt(n) * dip of {N_SAMPLES} uniform samples of each size; made by make_dip_table.py",
        "n " + " ".join(map(str, PROBABILITIES)),
    ]
    for n in SIZES:
        dips = [max(diptest.dipstat(np.sort(rng.random(n)), sort_x=False), 1 / (2 * n)) for _ in range(N_SAMPLES)]
        found = np.quantile(np.asarray(dips) * math.sqrt(n), PROBABILITIES)
        lines.append(f"{n} " + " ".join(f"{value:.5f}" for value in found))
    TARGET.write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
