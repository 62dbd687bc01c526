"""Do corrected failure rates cover the truth? On simulated judges, and on RAGTruth's human labels.

    python validation/calibration/judge_ragtruth.py ../shared/judgedata/ragtruth.jsonl.gz verdicts.jsonl
    python validation/calibration/simulate.py verdicts.jsonl > validation/calibration/RESULTS.md

The code that is tested is the code that is shipped: `ragauge.stats.correction`, `ragauge.analysis`.
"""

from __future__ import annotations

import json
import sys
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import numpy as np

from ragauge.analysis.calibrate import Labelled
from ragauge.analysis.label_next import Known, draw_next
from ragauge.analysis.rates import corrected
from ragauge.analysis.units import Unit, Units, bands
from ragauge.stats import correction
from ragauge.stats.agreement import Table
from ragauge.stats.correction import Judged, corrected_rate
from ragauge.stats.intervals import proportion_interval
from ragauge.testing.runs import a_metric

#: (sensitivity, specificity) of the judges; the last one guesses.
JUDGES = (
    (0.75, 0.75), (0.85, 0.85), (0.90, 0.90), (0.95, 0.95), (0.70, 0.95), (0.95, 0.70), (0.60, 0.90), (0.90, 0.60),
    (0.50, 0.50),
)  # fmt: skip
PREVALENCE = (0.05, 0.10, 0.20, 0.30, 0.40)
N_HUMAN = (50, 100, 200)
N_JUDGED = (200, 1000)
REPEATS = 2000
SEED = 20260131
DRAWS = 500

correction.jeffreys_bounds = lru_cache(maxsize=1 << 20)(correction.jeffreys_bounds)  # same numbers, asked once


@dataclass(frozen=True)
class Cell:
    judge: tuple[float, float]
    prevalence: float
    n: int
    big: int
    coverage: float
    width: float
    human_width: float
    raw_bias: float


def simulate() -> list[Cell]:
    rng = np.random.default_rng(SEED)
    cells = []
    wilson = lru_cache(maxsize=None)(lambda k, n: proportion_interval(k, n))
    for n in N_HUMAN:
        for big in N_JUDGED:
            for prevalence in PREVALENCE:
                for se, sp in JUDGES:
                    p = [prevalence * se, prevalence * (1 - se), (1 - prevalence) * (1 - sp), (1 - prevalence) * sp]
                    labelled = rng.multinomial(n, p, size=REPEATS)
                    failing = rng.binomial(big, p[0] + p[2], size=REPEATS)
                    hits, width, human = 0, 0.0, 0.0
                    for row, m in zip(labelled.tolist(), failing.tolist(), strict=True):
                        found = corrected_rate(Judged(Table(*row), m, big))
                        alone = wilson(row[0] + row[1], n)
                        hits += found.low <= prevalence <= found.high
                        width += found.high - found.low
                        human += alone.high - alone.low
                    bias = p[0] + p[2] - prevalence
                    cells.append(
                        Cell((se, sp), prevalence, n, big, hits / REPEATS, width / REPEATS, human / REPEATS, bias)
                    )
    return cells


def ragtruth(path: Path) -> dict[str, float]:
    rows = [json.loads(line) for line in path.read_text().splitlines()]
    judged = [row for row in rows if row["verdict"] is not None]
    answers = tuple(
        Unit(key=(row["id"], 0, None), value=row["value"], failing=bool(row["verdict"]), answer="") for row in judged
    )
    units = Units("faithfulness", a_metric("faithfulness"), 1.0, False, answers)
    truth = {row["id"]: bool(row["human"]) for row in judged}
    by_key = units.by_key
    of = bands(units)
    rate = sum(truth.values()) / len(truth)
    raw = sum(unit.failing for unit in units.units) / len(units.units)
    found: dict[str, float] = {"rows": len(rows), "judged": len(judged), "truth": rate, "raw": raw}
    found["agreement"] = sum(unit.failing == truth[unit.key[0]] for unit in units.units) / len(truth)
    for name, by_bands in (("random", False), ("bands", True)):
        hits, width, human, off = 0, 0.0, 0.0, 0.0
        for seed in range(DRAWS):
            drawn = draw_next(units, 100, seed, Known(), by_bands=by_bands)
            labelled = [
                Labelled(by_key[one.key], truth[one.item], float(not truth[one.item]), "", of[one.key]) for one in drawn
            ]
            estimate, refused = corrected(units.units, labelled, of if by_bands else None)
            assert estimate is not None, refused
            hits += estimate.low <= rate <= estimate.high
            width += estimate.high - estimate.low
            off += estimate.value - rate
            alone = proportion_interval(sum(one.failing for one in labelled), len(labelled))
            human += alone.high - alone.low
        found |= {
            f"{name}_coverage": hits / DRAWS,
            f"{name}_width": width / DRAWS,
            f"{name}_human_width": human / DRAWS,
            f"{name}_bias": off / DRAWS,
        }
    return found


def table(cells: list[Cell]) -> list[str]:
    lines = [
        "| n labels | mean coverage | least | most | in 93–97 % | above | width ÷ labels alone |",
        "|---|---|---|---|---|---|---|",
    ]
    for n in N_HUMAN:
        part = [cell for cell in cells if cell.n == n]
        inside = sum(0.93 <= cell.coverage <= 0.97 for cell in part)
        above = sum(cell.coverage > 0.97 for cell in part)
        ratio = np.mean([cell.width / cell.human_width for cell in part])
        lines.append(
            f"| {n} | {np.mean([c.coverage for c in part]):.3f} | {min(c.coverage for c in part):.3f} | "
            f"{max(c.coverage for c in part):.3f} | {inside} of {len(part)} | {above} | {ratio:.2f} |"
        )
    return lines


def by_judge(cells: list[Cell]) -> list[str]:
    lines = [
        "| judge (sensitivity, specificity) | coverage, n 50 | n 100 | n 200 | width ÷ labels alone, n 100 "
        "| bias of the judge alone |",
        "|---|---|---|---|---|---|",
    ]
    for judge in JUDGES:
        part = [cell for cell in cells if cell.judge == judge]
        rates = [f"{np.mean([c.coverage for c in part if c.n == n]):.3f}" for n in N_HUMAN]
        ratio = np.mean([c.width / c.human_width for c in part if c.n == 100])
        low, high = min(c.raw_bias for c in part), max(c.raw_bias for c in part)
        lines.append(
            f"| {judge[0]:.2f}, {judge[1]:.2f} | {' | '.join(rates)} | {ratio:.2f} | {low:+.2f} to {high:+.2f} |"
        )
    return lines


def main(path: Path) -> None:
    cells = simulate()
    real = ragtruth(path)
    short = [cell for cell in cells if cell.coverage < 0.93]
    long = [cell for cell in cells if cell.coverage > 0.97]
    print(__doc__.split("\n")[0].join(("# ", "\n")))
    print("Written by `simulate.py` (commands in its docstring); do not edit.\n")
    print("## Simulated judges\n")
    print(
        f"{len(cells)} cells: {len(JUDGES)} judges × prevalence {', '.join(map(str, PREVALENCE))} × n labels "
        f"{', '.join(map(str, N_HUMAN))} × N judged {', '.join(map(str, N_JUDGED))}; {REPEATS} draws each (standard "
        "error of a coverage of 95 %: 0.5 points), nominal 95 %. *Labels alone*: Wilson's interval on them.\n"
    )
    print("\n".join(table(cells)) + "\n")
    print("\n".join(by_judge(cells)) + "\n")
    print(
        f"Below 93 %: {len(short)} cells. Above 97 % (too careful, never misleading): {len(long)} cells, of which "
        f"{sum(c.prevalence * c.n <= 5 for c in long)} expect five failing labels or fewer.\n"
    )
    print("## RAGTruth\n")
    print(
        f"{real['judged']:.0f} of {real['rows']:.0f} answers judged by the embedded judge (the others are refusals). "
        f"People find a hallucination in {real['truth']:.1%}; the judge alone says {real['raw']:.1%}; they agree "
        f"on {real['agreement']:.1%}. {DRAWS} draws of 100 labels each:\n"
    )
    print("| draw | coverage of the corrected rate | mean width | labels alone | bias |\n|---|---|---|---|---|")
    for name in ("random", "bands"):
        print(
            f"| {name} | {real[f'{name}_coverage']:.1%} | {real[f'{name}_width']:.3f} | "
            f"{real[f'{name}_human_width']:.3f} | {real[f'{name}_bias']:+.4f} |"
        )
    print(
        "\n*bands*: drawn by three bands of the judge's score (`ragauge calibrate --next`); the labels alone of such a "
        "draw are no random sample, and their interval is shown for its width only.\n"
        "\nA judge this strict shifts its own rate by tens of points; the corrected rate does not care. What a weak "
        "judge costs is width."
    )


if __name__ == "__main__":
    main(Path(sys.argv[1]))
