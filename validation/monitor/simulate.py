"""How often do the default alert rules ring when nothing changed, and how soon when something did?

Each history is 28 days to learn from and 60 days that count, 2 000 queries a day (less on weekends in the weekly
worlds), 200 of them judged. Everything an owner would see is drawn anew for each history; the rules are the shipped
defaults. `python validation/monitor/simulate.py --histories 400` writes the tables of RESULTS.md to stdout.
"""

from __future__ import annotations

import argparse
import datetime as dt
import math
import os
import sys
import time
from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from ragauge.monitor.alerts import Watched, replay
from ragauge.monitor.days import Day, Figure, mean, rate
from ragauge.monitor.readings import frame, points, read, split
from ragauge.monitor.rules import DEFAULTS, NAIVE, Limit, Spike

LEARN, DAYS = 28, 60
METRICS = {
    "faithfulness": Watched(threshold=0.9),
    "context_sufficiency": Watched(threshold=0.6),
    "coverage": Watched(threshold=0.7),
    "answer_relevance": Watched(threshold=0.6),
}
LEVELS = {"faithfulness": 0.92, "context_sufficiency": 0.8, "coverage": 0.85, "answer_relevance": 0.88}
TOPICS = np.array([0.22, 0.18, 0.15, 0.12, 0.1, 0.08, 0.06, 0.04, 0.03, 0.02])


@dataclass(frozen=True)
class World:
    """`day_sd`: days differ in every rate by this much for no reason (on the logit scale for rates, relative for
    similarity and latency). `weekly`: weekends differ. `change`: what happens on day `LEARN + at`.
    """

    name: str
    day_sd: float = 0.0
    weekly: bool = False
    change: str = ""
    at: int = 10
    judged: int = 200
    queries: int = 2000


def logit(p: float, shift: float) -> float:
    """`p` moved by `shift` on the logit scale."""
    return 1 / (1 + math.exp(-(math.log(p / (1 - p)) + shift)))


def history(world: World, seed: int) -> list[Day]:
    """One simulated history."""
    rng = np.random.default_rng(seed)
    start = dt.date(2026, 1, 1) + dt.timedelta(int(rng.integers(7)))
    return [_day(world, i, start + dt.timedelta(i), rng) for i in range(LEARN + DAYS)]


def _day(world: World, i: int, day: dt.date, rng: np.random.Generator) -> Day:
    weekend = world.weekly and day.weekday() >= 5
    on = bool(world.change) and i >= LEARN + world.at

    def common() -> float:
        return float(rng.normal(0, world.day_sd)) if world.day_sd else 0.0

    n = int(rng.poisson(world.queries * (0.35 if weekend else 1)))
    side = -0.25 if weekend else 0.0
    similarity = 0.70 * (1 + 0.15 * common()) * (0.97 if weekend else 1)
    if on and world.change == "similarity":
        similarity *= 0.9
    zero = logit(0.02, common() - side)
    if on and world.change == "outage":
        zero = 0.6
    n_zero = int(rng.binomial(n, zero))
    n_found = max(2, n - n_zero)
    scores = rng.normal(similarity, 0.12, n_found)
    typical = 220 * math.exp(0.4 * common()) * (0.9 if weekend else 1)
    if on and world.change == "latency":
        typical *= 800 / 426.2  # p95 of this lognormal is 426 ms at a typical 220 ms
    latency = rng.lognormal(math.log(typical), 0.402, n)
    n_judged = min(world.judged, n)
    figures = {
        "top_similarity": mean(float(scores.mean()), float(scores.std(ddof=1)), n_found),
        "zero_results": rate(n_zero, n),
        "slow": rate(int((latency > 500).sum()), n),
        "abstention": rate(int(rng.binomial(n, logit(0.06, common() - side))), n),
        "question_drift": rate(int(rng.binomial(n_judged, logit(0.08, common() - side))), n_judged),
    }
    n_rated = int(rng.binomial(n, 0.06))
    if n_rated:
        figures["thumbs_down"] = rate(int(rng.binomial(n_rated, logit(0.2, common() - side))), n_rated)
    for name, level in LEVELS.items():
        p = logit(0.85 if on and world.change == "faithfulness" and name == "faithfulness" else level, common() + side)
        figures[name] = _judged(p, n_judged, rng)
    shares = TOPICS * np.exp(rng.normal(0, world.day_sd, len(TOPICS))) if world.day_sd else TOPICS.copy()
    if weekend:
        shares[0] *= 1.5
    counts = rng.multinomial(n_judged, shares / shares.sum())
    topics = {f"topic {k}": int(c) for k, c in enumerate(counts)}
    return Day(day=day.isoformat(), n_queries=n, figures=figures, topics=topics)


def _judged(p: float, n: int, rng: np.random.Generator) -> Figure:
    """A graded score as judges give it: mostly 1, else a share of the claims; the mean is p."""
    whole = rng.random(n) < max(0.0, 2 * p - 1)
    values = np.where(whole, 1.0, rng.random(n))
    return mean(float(values.mean()), float(values.std(ddof=1)), n)


def _raised(world: World, seed: int) -> list[tuple[int, str, str]]:
    """(day from the first that counts, rule, series) of each alert."""
    days = history(world, seed)
    place = {day.day: i - LEARN for i, day in enumerate(days)}
    found = replay(days, DEFAULTS, METRICS)
    return sorted((place[a.raised], a.rule, a.series) for a in found.alerts if place[a.raised] >= 0)


def quiet(world: World, n: int, pool: ProcessPoolExecutor) -> str:
    """A line of the table of false alarms."""
    histories = list(pool.map(partial(_raised, world), range(n), chunksize=8))
    total = sum(len(h) for h in histories)
    some = sum(bool(h) for h in histories)
    by_rule = Counter(rule for h in histories for _, rule, _ in h)
    per_90 = total / n * 90 / DAYS
    most = ", ".join(f"{rule} {count / n:.3f}" for rule, count in by_rule.most_common(4)) or "none"
    return f"| {world.name} | {n} | {per_90:.3f} | {some / n:.1%} | {most} |"


#: What an alert must be called to count as having caught the change.
CATCHES = {
    "similarity": ("top_similarity_drop",),
    "faithfulness": ("score_drop", "score_below_threshold"),
    "outage": ("zero_result_spike", "zero_results_high"),
    "latency": ("slow_p95",),
}


def caught(world: World, n: int, pool: ProcessPoolExecutor) -> str:
    """A line of the table of detection. Day 1 is the first day of the change."""
    delays: list[int | None] = []
    early = 0
    for found in pool.map(partial(_raised, world), range(10_000, 10_000 + n), chunksize=8):
        hits = [d - world.at + 1 for d, rule, _ in found if d >= world.at and rule in CATCHES[world.change]]
        early += sum(d < world.at for d, _, _ in found)
        delays.append(min(hits) if hits else None)
    known = sorted(d for d in delays if d is not None)
    if not known:
        return f"| {world.name} | {n} | 0 % | | | |"
    within = [sum(d <= limit for d in known) / n for limit in (1, 3, 7)]
    shares = " | ".join(f"{share:.1%}" for share in within)
    median, late = known[len(known) // 2], known[int(0.95 * (len(known) - 1))]
    return f"| {world.name} | {n} | {len(known) / n:.1%} | {median} | {late} | {shares} |"


def naive_line(world: World, n: int) -> str:
    """The naive rules on faithfulness: measured, and what `monitor rules` would print beside them."""
    rings: Counter[str] = Counter()
    said: Counter[str] = Counter()
    rules = [rule.model_copy(update={"enabled": True, "series": "faithfulness"}) for rule in NAIVE]
    for seed in range(n):
        days = history(world, seed)
        found = replay(days, rules, METRICS)
        rings.update({a.rule for a in found.alerts if a.raised >= days[LEARN].day})
        for one in found.naive:
            said[one.rule] += one.per_60_days
    return "\n".join(
        f"| {rule.name} | {world.name} | {rings[rule.name] / n:.0%} | {said[rule.name] / n:.0%} |" for rule in rules
    )


def peeking(world: World, n: int) -> str:
    """Rings per 90 days of the rules of a single day, looked at 24 times a day as `check --today` does every hour."""
    rules = [rule for rule in DEFAULTS if isinstance(rule, Spike | Limit) and rule.series != "*"]
    rings: Counter[str] = Counter()
    n_days = 5
    for seed in range(n):
        rng = np.random.default_rng(50_000 + seed)
        days = history(world, 50_000 + seed)[:LEARN]
        for _ in range(n_days):
            after = dt.date.fromisoformat(days[-1].day) + dt.timedelta(1)
            whole = {name: days[-1].figures[name].value for name in ("zero_results", "slow")}
            whole = {name: logit(p, float(rng.normal(0, world.day_sd))) if p > 0 else p for name, p in whole.items()}
            rung: set[str] = set()
            so_far, k = 0, dict.fromkeys(whole, 0)
            for _hour in range(24):
                more = int(rng.poisson(world.queries / 24))
                so_far += more
                k = {name: k[name] + int(rng.binomial(more, p)) for name, p in whole.items()}
                if so_far == 0:
                    continue
                figures = {name: rate(k[name], so_far) for name in whole}
                today = Day(day=after.isoformat(), n_queries=so_far, figures=figures, complete=False)
                for rule in rules:
                    seen = [*days, today]
                    found = points(rule, seen, rule.series)
                    before, tested = split(rule, found, len(seen) - 1, frozenset())
                    base = frame(rule, before, tested[0].place if tested else 0, seen)
                    reading = read(rule, base, tested, seen, None) if base is not None else None
                    if reading is not None and reading.alarm and tested[-1].place == len(seen) - 1:
                        rung.add(rule.name)
            rings.update(rung)
    per_90 = {name: count / n / n_days * 90 for name, count in rings.items()}
    said = ", ".join(f"{name} {value:.3f}" for name, value in per_90.items()) or "none"
    return f"| {world.name} | {n * n_days} | {sum(per_90.values()):.3f} | {said} |"


QUIET = (
    World("nothing varies but chance"),
    World("ordinary variation between days", day_sd=0.15),
    World("weekends differ", weekly=True),
    World("weekends and ordinary variation", day_sd=0.15, weekly=True),
    World("200 queries a day, all judged", queries=200, day_sd=0.1),
    World("50 000 queries a day, ordinary variation", queries=50_000, day_sd=0.15),
)


def _head(*names: str) -> str:
    return f"\n| {' | '.join(names)} |\n|{'---|' * len(names)}"


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--histories", type=int, default=400)
    parser.add_argument("--only", choices=["quiet", "caught", "naive", "peeking"])
    args = parser.parse_args()
    started = time.time()
    with ProcessPoolExecutor(max_workers=max(1, (os.cpu_count() or 2) // 2)) as pool:
        if args.only in (None, "quiet"):
            print(
                _head(
                    "world",
                    "histories",
                    "false alarms in 90 days, all rules",
                    "60 days with any",
                    "per 60 days, by rule",
                )
            )
            for world in QUIET:
                print(quiet(world, args.histories if world.queries < 10_000 else args.histories // 4, pool), flush=True)
        if args.only in (None, "caught"):
            print(
                _head("change", "histories", "caught", "median day", "95 % by day", "on day 1", "within 3", "within 7")
            )
            for base in (QUIET[0], QUIET[3], QUIET[4]):
                for change in CATCHES:
                    world = replace(base, name=f"{change}; {base.name}", change=change)
                    print(caught(world, args.histories // 2, pool), flush=True)
        if args.only in (None, "naive"):
            print(_head("naive rule on faithfulness", "world", "rings within 60 days", "printed beside the rule"))
            for world in (QUIET[0], QUIET[1]):
                print(naive_line(world, min(100, args.histories)), flush=True)
    if args.only in (None, "peeking"):
        print(_head("world", "days", "false alarms in 90 days", "by rule"))
        for world in QUIET[:2]:
            print(peeking(world, args.histories), flush=True)
    print(f"\n{time.time() - started:.0f} s", file=sys.stderr)


if __name__ == "__main__":
    main()
