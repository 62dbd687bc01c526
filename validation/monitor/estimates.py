"""Do estimates from a day's sample say what the whole day would have said?

300 days of each kind: every query of a day is judged (the truth), a sample is drawn as in production, and the estimate
of the sample is held against the truth. `python validation/monitor/estimates.py` writes the table of RESULTS.md.
"""

from __future__ import annotations

import argparse
import math
from dataclasses import dataclass, replace

import numpy as np

from ragauge.monitor.sampling import Asked, DaySample, draw, estimate, size_of


@dataclass(frozen=True)
class Kind:
    """A kind of day. `binary`: scores of 0 and 1, else graded. `down`: share with a thumbs down among bad answers."""

    name: str
    queries: int = 2000
    wanted: int = 200
    share: float | None = None
    binary: bool = False
    level: float = 2.2
    feedback: float = 0.06
    judged: float = 1.0


KINDS = (
    Kind("2 000 queries, graded, mean about .9"),
    Kind("2 000 queries, yes or no, mean about .9", binary=True),
    Kind("2 000 queries, yes or no, mean about .98", binary=True, level=4.5),
    Kind("2 000 queries, yes or no, mean about .6", binary=True, level=0.6),
    Kind("300 queries, yes or no", queries=300, binary=True),
    Kind("20 000 queries (a pool of 5 000), yes or no", queries=20_000, binary=True),
    Kind("20 000 queries, 1 %", queries=20_000, share=0.01, binary=True),
    Kind("2 000 queries, 60 judged", wanted=60, binary=True),
    Kind("much feedback: more thumbs down than wanted", feedback=0.9, wanted=120, binary=True),
    Kind("judging broken off after 70 %", judged=0.7, binary=True),
)


def day(kind: Kind, seed: int) -> tuple[list[Asked], dict[str, float]]:
    """A day's queries and what judging each of them would say: worse when declined, far off, on some topics."""
    rng = np.random.default_rng(seed)
    n = kind.queries
    topic = rng.choice(8, n, p=[0.3, 0.2, 0.15, 0.1, 0.1, 0.08, 0.05, 0.02])
    top = rng.beta(6, 3, n)
    declined = rng.random(n) < 0.06
    logit = kind.level + 3 * (top - 0.67) - 1.2 * declined - 0.9 * (topic == 3) - 1.5 * (topic == 7)
    p = 1 / (1 + np.exp(-(logit + rng.normal(0, 0.7, n))))
    values = (rng.random(n) < p).astype(float) if kind.binary else np.where(rng.random(n) < 2 * p - 1, 1, rng.random(n))
    rated = rng.random(n) < kind.feedback
    bad = rng.random(n) < 0.1 + 0.75 * (1 - values)
    asked = [
        Asked(
            f"{seed}-{i}", ("down" if bad[i] else "up") if rated[i] else None, bool(declined[i]), float(top[i]), 5,
            f"topic {topic[i]}",
        )
        for i in range(n)
    ]  # fmt: skip
    return asked, {one.id: float(v) for one, v in zip(asked, values, strict=True)}


def judged(sample: DaySample, truth: dict[str, float], share: float) -> dict[str, float]:
    """The values of the first `share` of the sample, in the order of judging."""
    ids = [one.id for one in sample.drawn]
    return {name: truth[name] for name in ids[: math.ceil(share * len(ids))]}


def line(kind: Kind, n_days: int) -> tuple[str, float]:
    """A line of the table, and the coverage."""
    inside, errors, widths, naive, sizes = 0, [], [], 0, []
    for seed in range(n_days):
        asked, truth = day(kind, seed)
        whole = sum(truth.values()) / len(truth)
        sample = draw(asked, "2026-01-31", size_of(len(asked), n=kind.wanted, share=kind.share), seed=seed)
        seen = judged(sample, truth, kind.judged)
        found = estimate(sample, seen).estimate
        assert found.low is not None
        assert found.high is not None
        inside += found.low - 1e-12 <= whole <= found.high + 1e-12
        errors.append(found.value - whole)
        widths.append(found.high - found.low)
        sizes.append(len(seen))
        naive += abs(sum(seen.values()) / len(seen) - whole) <= (found.high - found.low) / 2
    bias = float(np.mean(errors)) / (float(np.std(errors)) / math.sqrt(n_days) or 1.0)
    return (
        f"| {kind.name} | {np.mean(sizes):.0f} | {inside / n_days:.1%} | {np.mean(errors):+.4f} (z {bias:+.1f}) | "
        f"{np.mean(widths):.3f} | {naive / n_days:.0%} |"
    ), inside / n_days


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--days", type=int, default=300)
    args = parser.parse_args()
    print("| day | judged | truth inside the interval | mean error | mean width | plain mean of the sample inside |")
    print("|---|---|---|---|---|---|")
    for kind in KINDS:
        print(line(replace(kind), args.days)[0], flush=True)


if __name__ == "__main__":
    main()
