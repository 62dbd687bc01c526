"""Runs over time: every metric with its interval, whether it moves, and which one is the bottleneck now."""

from __future__ import annotations

from collections.abc import Sequence

from ragauge.core.model import Model
from ragauge.core.run import Estimate, Manifest, MetricResult, Summary
from ragauge.diagnose.matrix import sureness

#: The order of cause and effect: of two metrics that are as far below, the earlier is the bottleneck.
CHAIN = ("retrieval", "generation", "both")


class Moment(Model):
    """One metric in one run. `comparable`: same golden set, same judge and same metric as in the newest run."""

    run: str
    created: str
    estimate: Estimate | None
    threshold: float | None
    comparable: bool


class Trend(Model):
    """One metric over the runs, oldest first.

    `change`: newest minus the oldest comparable run, with an interval for independent runs; `says`: better, worse, no
    measurable change, or too little to say.
    """

    key: str
    half: str
    better: str
    moments: tuple[Moment, ...]
    change: Estimate | None = None
    says: str = "too little to say"


class Bottleneck(Model):
    """The metric that is furthest below its threshold, retrieval before generation. `sure`: clear or likely."""

    key: str
    half: str
    value: float
    threshold: float
    sure: str
    why: str


class History(Model):
    """All runs that were given, oldest first. What `ragauge history --json` prints."""

    runs: tuple[str, ...]
    trends: tuple[Trend, ...]
    bottleneck: Bottleneck | None
    notes: tuple[str, ...] = ()


def history(runs: Sequence[tuple[Manifest, Summary]]) -> History:
    """The trend of every metric of the newest run. Runs are put in the order of their creation."""
    ordered = sorted(runs, key=lambda pair: (pair[0].created, pair[0].run))
    if not ordered:
        return History(runs=(), trends=(), bottleneck=None, notes=("there are no runs",))
    newest, summary = ordered[-1]
    trends = tuple(_trend(key, result, ordered) for key, result in summary.metrics.items())
    notes = []
    other = [manifest.run for manifest, _ in ordered if not _same_questions(manifest, newest)]
    if other:
        notes.append(f"{len(other)} of {len(ordered)} runs asked other questions: they are shown, not compared")
    return History(
        runs=tuple(manifest.run for manifest, _ in ordered),
        trends=trends,
        bottleneck=bottleneck(summary),
        notes=tuple(notes),
    )


def bottleneck(summary: Summary) -> Bottleneck | None:
    """The metric to work on: of those below their thresholds, retrieval first, then what is furthest below.

    Distance: |value - threshold| as a share of the way from the threshold to the worst value. Retrieval goes first when
    it is clearly low, because what was not retrieved cannot be answered; else the furthest, clear ones before likely.
    None when nothing is below its threshold, or everything that is could as well be above.
    """
    low = [
        result
        for result in summary.metrics.values()
        if result.verdict in ("below", "broken") and result.threshold is not None and result.value is not None
    ]
    ranked = sorted(
        (result for result in low if sureness(result) != "undecided"),
        key=lambda r: (
            not (r.half == "retrieval" and sureness(r) == "clear"),
            sureness(r) != "clear",
            -_distance(r),
            CHAIN.index(r.half),
            r.key,
        ),
    )
    if not ranked:
        return None
    worst = ranked[0]
    assert worst.value is not None
    assert worst.threshold is not None
    return Bottleneck(
        key=worst.key,
        half=worst.half,
        value=worst.value,
        threshold=worst.threshold,
        sure=sureness(worst),
        why="retrieval comes first: what was not retrieved cannot be answered"
        if worst.half == "retrieval"
        else "nothing in retrieval is clearly low, and this is furthest from its threshold",
    )


def _distance(result: MetricResult) -> float:
    assert result.value is not None
    assert result.threshold is not None
    room = result.threshold if result.better == "higher" else 1 - result.threshold
    return abs(result.value - result.threshold) / room if room > 0 else abs(result.value - result.threshold)


def _same_questions(a: Manifest, b: Manifest) -> bool:
    return a.dataset.fingerprint == b.dataset.fingerprint


def _comparable(a: Manifest, b: Manifest, key: str) -> bool:
    specs = [next((spec for spec in manifest.metrics if spec.key == key), None) for manifest in (a, b)]
    if specs[0] is None or specs[1] is None or specs[0].info.version != specs[1].info.version:
        return False
    judged = "judge" in specs[0].info.needs
    same_judge = (a.judge.fingerprint if a.judge else None) == (b.judge.fingerprint if b.judge else None)
    return _same_questions(a, b) and (same_judge or not judged)


def _trend(key: str, result: MetricResult, runs: Sequence[tuple[Manifest, Summary]]) -> Trend:
    newest = runs[-1][0]
    moments = [
        Moment(
            run=manifest.run,
            created=manifest.created,
            estimate=summary.metrics[key].estimate,
            threshold=summary.metrics[key].threshold,
            comparable=_comparable(manifest, newest, key),
        )
        for manifest, summary in runs
        if key in summary.metrics
    ]
    first = next((moment for moment in moments if moment.comparable and moment.estimate is not None), None)
    change = None
    if first is not None and first.run != newest.run and first.estimate is not None and result.estimate is not None:
        change = _change(first.estimate, result.estimate)
    return Trend(
        key=key,
        half=result.half,
        better=result.better,
        moments=tuple(moments),
        change=change,
        says=_says(change, result.better),
    )


def _change(old: Estimate, new: Estimate) -> Estimate | None:
    """Newest minus oldest. Interval: Newcombe's square-and-add, as if the runs were independent; the questions are the
    same, so it is wider than `ragauge compare`'s paired one, never narrower.
    """
    if None in (old.low, old.high, new.low, new.high):
        return None
    assert old.low is not None and old.high is not None and new.low is not None and new.high is not None  # noqa: PT018
    value = new.value - old.value
    below = ((new.value - new.low) ** 2 + (old.high - old.value) ** 2) ** 0.5
    above = ((new.high - new.value) ** 2 + (old.value - old.low) ** 2) ** 0.5
    return Estimate(
        value=value,
        low=value - below,
        high=value + above,
        level=new.level,
        n=min(old.n, new.n),
        method="square-and-add of two intervals (Newcombe), runs taken as independent",
    )


def _says(change: Estimate | None, better: str) -> str:
    if change is None or change.low is None or change.high is None:
        return "too little to say"
    if change.low <= 0 <= change.high:
        return "no measurable change"
    if better == "none":
        return "changed"
    return "better" if (change.value > 0) == (better == "higher") else "worse"
