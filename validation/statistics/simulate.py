"""Do the statistics keep their promises? Simulates data whose truth is known and calls the shipped functions on it.

    python validation/statistics/simulate.py [--repetitions 4000] [--out validation/statistics/RESULTS.md]

Everything is seeded: the same command gives the same figures. A few minutes on one core.
"""

from __future__ import annotations

import argparse
import math
import time
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ragauge.analysis.difference import conclude, measure, pair
from ragauge.analysis.gate_settings import DropSettings
from ragauge.core.metric import MetricInfo
from ragauge.stats import intervals, noninferiority, paired, permutation, power

Array = NDArray[np.float64]
SEED = 20260131


# --- score distributions: a name, a sampler of the given shape, the true mean


def rate(p: float) -> tuple[str, Callable[[np.random.Generator, tuple[int, int]], Array], float]:
    return f"pass/fail, {p:g}", lambda rng, shape: (rng.random(shape) < p).astype(float), p


def beta(a: float, b: float) -> tuple[str, Callable[[np.random.Generator, tuple[int, int]], Array], float]:
    return f"graded, Beta({a:g}, {b:g})", lambda rng, shape: rng.beta(a, b, shape), a / (a + b)


def mostly_perfect(p: float) -> tuple[str, Callable[[np.random.Generator, tuple[int, int]], Array], float]:
    def draw(rng: np.random.Generator, shape: tuple[int, int]) -> Array:
        return np.where(rng.random(shape) < p, 1.0, rng.random(shape))

    return f"graded, {p:.0%} perfect, the rest uniform", draw, p + (1 - p) / 2


def fifths(p: float) -> tuple[str, Callable[[np.random.Generator, tuple[int, int]], Array], float]:
    return f"graded, 5 claims, {p:g} supported", lambda rng, shape: rng.binomial(5, p, shape) / 5.0, p


def two_humps() -> tuple[str, Callable[[np.random.Generator, tuple[int, int]], Array], float]:
    def draw(rng: np.random.Generator, shape: tuple[int, int]) -> Array:
        return np.where(rng.random(shape) < 0.7, rng.beta(20, 2, shape), rng.beta(2, 8, shape))

    return "graded, two humps", draw, 0.7 * 20 / 22 + 0.3 * 0.2


ONE_SYSTEM = [
    rate(0.7), rate(0.85), rate(0.9),
    beta(2, 2), beta(8, 2), beta(20, 1), two_humps(), fifths(0.85),
    mostly_perfect(0.6), mostly_perfect(0.8), mostly_perfect(0.95),
]  # fmt: skip


def covered(rows: Array, truth: float, interval: Callable[[Array], tuple[float, float]]) -> tuple[float, float]:
    ends = [interval(row) for row in rows]
    inside = [low - 1e-12 <= truth <= high + 1e-12 for low, high in ends]
    return float(np.mean(inside)), float(np.mean([high - low for low, high in ends]))


@cache
def _rate_ends(k: int, n: int) -> tuple[float, float]:
    estimate = intervals.mean_interval([1.0] * k + [0.0] * (n - k), kind="rate")
    assert estimate.low is not None
    assert estimate.high is not None
    return estimate.low, estimate.high


def one_mean(row: Array) -> tuple[float, float]:
    if np.all((row == 0) | (row == 1)):
        return _rate_ends(int(row.sum()), len(row))
    estimate = intervals.mean_interval(row.tolist())
    assert estimate.low is not None
    assert estimate.high is not None
    return estimate.low, estimate.high


def exactly(p: float, n: int) -> tuple[float, float]:
    """Coverage and mean width for pass/fail scores, by summing over all n + 1 outcomes."""
    chance = [math.comb(n, k) * p**k * (1 - p) ** (n - k) for k in range(n + 1)]
    ends = [_rate_ends(k, n) for k in range(n + 1)]
    inside = math.fsum(c for c, (low, high) in zip(chance, ends, strict=True) if low <= p <= high)
    return inside, math.fsum(c * (high - low) for c, (low, high) in zip(chance, ends, strict=True))


def nearby(p: float, n: int, within: float = 0.02) -> float:
    """Mean coverage for a pass rate that lies somewhere within ± `within` of `p`: what holds for a rate nobody picked.

    At one exact rate the coverage of any interval for a count jumps up and down with p and n, because a count is a
    whole number (Brown, Cai and DasGupta 2001, Statistical Science 16, 101–133, §2); no real system has such a rate.
    """
    rates = np.linspace(p - within, p + within, 41)
    return math.fsum(exactly(float(rate), n)[0] for rate in rates) / len(rates)


def coverage_of_means(repetitions: int) -> Iterator[str]:
    yield "## 95 % intervals of one run's mean"
    yield ""
    yield "Share of intervals that hold the true mean (mean width). Promise: 93–97 %."
    yield "Pass/fail is exact, the rest simulated."
    yield ""
    yield "| scores | n = 30 | n = 50 | n = 200 |"
    yield "|---|---|---|---|"
    rng = np.random.default_rng(SEED)
    outside, cells = [], 0
    for name, draw, truth in ONE_SYSTEM:
        cell = []
        for n in (30, 50, 200):
            if name.startswith("pass/fail"):
                share, width = exactly(truth, n)
            else:
                share, width = covered(draw(rng, (repetitions, n)), truth, one_mean)
            cell.append(f"{share:.1%} ({width:.3f})")
            cells += 1
            if not 0.93 <= share <= 0.97:
                outside.append(f"{name}, n = {n}: {share:.1%}")
        yield f"| {name} | {' | '.join(cell)} |"
    yield ""
    yield f"{cells - len(outside)} of {cells} cells lie inside 93–97 %."
    if outside:
        yield f"Outside: {'; '.join(outside)}."
        yield "At one exact rate a pass/fail interval's coverage jumps with p and n, as counts are whole numbers. For a"
        yield "rate that lies anywhere within ± .02 of the one named, which is what a real system has:"
        yield ""
        yield "| scores | n = 30 | n = 50 | n = 200 |"
        yield "|---|---|---|---|"
        for name, _, truth in ONE_SYSTEM:
            if name.startswith("pass/fail"):
                yield f"| {name} ± .02 | {' | '.join(f'{nearby(truth, n):.1%}' for n in (30, 50, 200))} |"
    yield ""


def coverage_of_clusters(repetitions: int) -> Iterator[str]:
    yield "## The same with questions clustered by document"
    yield ""
    yield "Each document has its own rate (Beta, mean .85, intra-class correlation .2) and 4 questions on average."
    yield ""
    yield "| documents | cluster-robust | ignoring clusters |"
    yield "|---|---|---|"
    rng = np.random.default_rng(SEED + 1)
    total = (1 - 0.2) / 0.2
    for n_clusters in (8, 15, 30, 60):
        robust = naive = 0
        for _ in range(repetitions):
            rates = rng.beta(0.85 * total, 0.15 * total, n_clusters)
            sizes = 1 + rng.poisson(3, n_clusters)
            values = [float(x) for r, size in zip(rates, sizes, strict=True) for x in rng.random(size) < r]
            names = [str(i) for i, size in enumerate(sizes) for _ in range(size)]
            for use in (True, False):
                e = intervals.mean_interval(values, clusters=names if use else None, kind="rate")
                assert e.low is not None
                assert e.high is not None
                inside = e.low <= 0.85 <= e.high
                robust, naive = (robust + inside, naive) if use else (robust, naive + inside)
        yield f"| {n_clusters} | {robust / repetitions:.1%} | {naive / repetitions:.1%} |"
    yield ""


def sparse(
    rng: np.random.Generator, shape: tuple[int, int], changed: float, up: float, size: str
) -> tuple[Array, float]:
    """Differences: a share `changed` is not 0, a share `up` of those positive; of size 1, or uniform in (0, 1)."""
    moved = rng.random(shape) < changed
    sign = np.where(rng.random(shape) < up, 1.0, -1.0)
    magnitude = np.ones(shape) if size == "1" else rng.random(shape)
    return moved * sign * magnitude, changed * (2 * up - 1) * (1.0 if size == "1" else 0.5)


def coverage_of_differences(repetitions: int) -> Iterator[str]:
    yield "## 95 % intervals of a paired difference"
    yield ""
    yield "A share of the questions changes; most of them for the worse in the second half of the table."
    yield ""
    yield "| change | changed | better:worse | n | shipped | paired t |"
    yield "|---|---|---|---|---|---|"
    rng = np.random.default_rng(SEED + 2)
    for size in ("1", "uniform"):
        for up, told in ((0.5, "1:1"), (0.1, "1:9")):
            for changed in (0.05, 0.1, 0.3):
                for n in (50, 100, 200):
                    rows, truth = sparse(rng, (repetitions, n), changed, up, size)
                    shipped, _ = covered(rows, truth, _difference_ends)
                    t, _ = covered(rows, truth, _t_ends)
                    kind = "pass/fail (Tango)" if size == "1" else "graded, uniform"
                    yield f"| {kind} | {changed:.0%} | {told} | {n} | {shipped:.1%} | {t:.1%} |"
    yield ""


def _difference_ends(row: Array) -> tuple[float, float]:
    if np.all(np.isin(row, (-1.0, 0.0, 1.0))):
        return paired.tango_bounds(int((row > 0).sum()), int((row < 0).sum()), len(row), 1.959963984540054)
    estimate = paired.bounded_difference_interval(row.tolist())
    assert estimate.low is not None
    assert estimate.high is not None
    return estimate.low, estimate.high


def _t_ends(row: Array) -> tuple[float, float]:
    estimate = paired.difference_interval(row.tolist())
    return (
        (estimate.value, estimate.value)
        if estimate.low is None or estimate.high is None
        else (estimate.low, estimate.high)
    )


# --- two runs of one system


INFO = MetricInfo(name="m", title="m", needs=frozenset(), half="both")


def noisy_pair(rng: np.random.Generator, n: int, flip: float, drop: float = 0.0) -> Iterator[tuple[str, Array, Array]]:
    """Twelve correlated metrics of two runs: eight pass/fail with a judge that flips, four graded with a noisy one."""
    quality = rng.beta(8, 2, n)
    for index in range(8):
        truth = rng.random(n) < quality
        lost = rng.random(n) < drop
        a = truth ^ (rng.random(n) < flip)
        b = (truth & ~lost) ^ (rng.random(n) < flip)
        yield f"rate{index}", a.astype(float), b.astype(float)
    for index in range(4):
        truth = np.clip(quality + rng.normal(0, 0.1, n), 0, 1)
        worse = np.where(rng.random(n) < drop, truth * 0.3, truth)
        a, b = (np.clip(x + rng.normal(0, flip, n), 0, 1) for x in (truth, worse))
        yield f"graded{index}", a, b


def _pairs(a: Array, b: Array) -> object:
    ids = [str(i) for i in range(len(a))]
    return pair(dict(zip(ids, a.tolist(), strict=True)), dict(zip(ids, b.tolist(), strict=True)), ids, None)


def false_alarms_of_compare(trials: int) -> Iterator[str]:
    yield "## Two runs of one system"
    yield ""
    yield "Twelve correlated metrics, nothing changed but the judge's noise. Share of comparisons in which any metric"
    yield "is called better or worse (promise: at most 5 %), and in which any raw p is below .05."
    yield ""
    yield "| n | judge flips | any verdict | any raw p < .05 |"
    yield "|---|---|---|---|"
    rng = np.random.default_rng(SEED + 3)
    for n in (50, 100, 200):
        for flip in (0.03, 0.1):
            called = raw = 0
            for _ in range(trials):
                measured = {key: measure(_pairs(a, b), INFO) for key, a, b in noisy_pair(rng, n, flip)}  # type: ignore[arg-type]
                found = conclude(measured)
                called += any(one.verdict in ("better", "worse") for one in found.values())
                raw += any(one.p < 0.05 for one in found.values())
            yield f"| {n} | {flip:.0%} | {called / trials:.1%} | {raw / trials:.0%} |"
    yield ""


def power_of_compare(trials: int) -> Iterator[str]:
    yield "## A true drop of 0.10 at n = 100"
    yield ""
    yield "Power that the planner promises and share of simulated comparisons with p < .05 (promise: within 5 points)."
    yield ""
    yield "| metric | planner | found |"
    yield "|---|---|---|"
    rng = np.random.default_rng(SEED + 4)
    for psi in (0.12, 0.16, 0.2, 0.3):
        down, up = (psi + 0.1) / 2, (psi - 0.1) / 2
        promised = power.power_mcnemar_midp(100, up, down)
        counts = rng.multinomial(100, [up, down, 1 - psi], trials * 10)
        found = np.mean([paired.mcnemar_midp(int(b), int(c)) < 0.05 for b, c, _ in counts])
        yield f"| pass/fail, {psi:.0%} discordant | {promised:.1%} | {found:.1%} |"
    for sd in (0.2, 0.3, 0.4):
        promised = power.power_paired_t(100, 0.1, sd)
        hits = 0
        for _ in range(trials):
            hits += (
                permutation.sign_flip_test(rng.normal(-0.1, sd, 100), n_resamples=1999, seed=int(rng.integers(2**31))).p
                < 0.05
            )
        yield f"| graded, sd of differences {sd:g} | {promised:.1%} | {hits / trials:.1%} |"
    yield ""


def gate_errors(trials: int) -> Iterator[str]:
    yield "## The gate"
    yield ""
    yield "Twelve metrics, margin 0.03. Shares of runs. Promise: an unchanged run with a noisy judge fails at most 2 %."
    yield ""
    yield "| n | judge flips | system | fail | could not be judged | pass | point rule fails |"
    yield "|---|---|---|---|---|---|---|"
    rng = np.random.default_rng(SEED + 5)
    for n, flip, drop in (
        (64, 0.03, 0.0), (64, 0.1, 0.0), (200, 0.03, 0.0), (200, 0.1, 0.0), (1000, 0.03, 0.0),
        (64, 0.03, 0.15), (200, 0.03, 0.15), (64, 0.03, 0.3),
    ):  # fmt: skip
        counts = {"fail": 0, "inconclusive": 0, "pass": 0, "point": 0}
        for _ in range(trials):
            drops, point = [], False
            for _, a, b in noisy_pair(rng, n, flip, drop):
                d = b - a
                if np.all(np.isin(d, (-1.0, 0.0, 1.0))):
                    drops.append(noninferiority.drop_of_rates(int((d > 0).sum()), int((d < 0).sum()), n, 0.03))
                else:
                    drops.append(noninferiority.drop_of_means(d.tolist(), 0.03, seed=int(rng.integers(2**31))))
                point |= bool(d.mean() < -0.03)
            verdicts = set(noninferiority.decide(drops, alpha=DropSettings().fail_alpha))
            worst = next(v for v in ("fail", "inconclusive", "pass") if v in {x.value for x in verdicts})
            counts[worst] += 1
            counts["point"] += point
        told = "unchanged" if drop == 0 else f"{drop:.0%} of answers broken"
        cells = [f"{counts[name] / trials:.1%}" for name in ("fail", "inconclusive", "pass", "point")]
        yield f"| {n} | {flip:.0%} | {told} | {' | '.join(cells)} |"
    yield ""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repetitions", type=int, default=4000)
    parser.add_argument("--trials", type=int, default=300)
    parser.add_argument("--out", type=Path, default=Path(__file__).with_name("RESULTS.md"))
    options = parser.parse_args()
    started = time.process_time()
    lines = [
        "# Statistics: do they keep their promises?",
        "",
        f"`python validation/statistics/simulate.py --repetitions {options.repetitions} --trials {options.trials}` "
        f"(seed {SEED}). Every figure comes from the shipped functions, called on data whose truth is known.",
        f"Monte-Carlo error: ± {1.96 * math.sqrt(0.05 * 0.95 / options.repetitions):.1%} on a coverage, "
        f"± {1.96 * math.sqrt(0.05 * 0.95 / options.trials):.1%} on a 5 % error rate.",
        "",
    ]
    for section in (
        coverage_of_means(options.repetitions),
        coverage_of_clusters(max(200, options.repetitions // 4)),
        coverage_of_differences(options.repetitions // 2),
        false_alarms_of_compare(options.trials),
        power_of_compare(options.trials * 2),
        gate_errors(options.trials),
    ):
        for line in section:
            print(line, flush=True)
            lines.append(line)
    lines.append(f"CPU time: {time.process_time() - started:.0f} s.")
    options.out.write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
