"""A metric over the runs as a small line with its interval as a band."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ragauge.diagnose.history import Moment, Trend
from ragauge.report.words import interval, number

#: Runs that a spark line shows.
N_RUNS = 30
WIDTH, HEIGHT = 100.0, 24.0


@dataclass(frozen=True)
class Dot:
    """One run's place on the line. `joined`: comparable with the newest run."""

    x: float
    y: float
    low: float | None
    high: float | None
    joined: bool
    run: str
    says: str


@dataclass(frozen=True)
class Spark:
    """The drawing: `line` and `band` are SVG point lists over the comparable runs; `goal` the threshold's height."""

    key: str
    half: str
    better: str
    dots: tuple[Dot, ...]
    line: str
    band: str
    goal: float | None
    now: str
    interval: str
    change: str
    kind: str
    words: str


def sparks(trends: Sequence[Trend]) -> tuple[Spark, ...]:
    """A drawing for every trend that has a value."""
    return tuple(found for found in map(spark, trends) if found is not None)


def spark(trend: Trend, n: int = N_RUNS) -> Spark | None:
    """The last `n` runs of a metric; None where none has a value."""
    moments = [moment for moment in trend.moments if moment.estimate is not None][-n:]
    if not moments:
        return None
    low, high = _range(moments)
    dots = tuple(_dot(place, moment, len(moments), low, high) for place, moment in enumerate(moments))
    joined = [dot for dot in dots if dot.joined]
    banded = [dot for dot in joined if dot.low is not None and dot.high is not None]
    edge = [(dot.x, dot.high) for dot in banded] + [(dot.x, dot.low) for dot in reversed(banded)]
    last = moments[-1]
    goal = None if last.threshold is None or not low <= last.threshold <= high else _y(last.threshold, low, high)
    change = trend.says
    if trend.change is not None:
        change += f" ({trend.change.value:+.3f})".replace("-", "−")
    return Spark(
        key=trend.key,
        half=trend.half,
        better=trend.better,
        dots=dots,
        line=_points([(dot.x, dot.y) for dot in joined]),
        band=_points(edge) if len(banded) > 1 else "",
        goal=goal,
        now=number(last.estimate.value if last.estimate else None),
        interval=interval(last.estimate),
        change=change,
        kind={"better": "good", "worse": "bad"}.get(trend.says, ""),
        words=f"{trend.key} over {len(moments)} runs: now {number(last.estimate.value if last.estimate else None)}, "
        f"{trend.says}",
    )


def _range(moments: Sequence[Moment]) -> tuple[float, float]:
    values: list[float] = []
    for moment in moments:
        if moment.estimate is not None:
            one = moment.estimate
            values += [value for value in (one.value, one.low, one.high) if value is not None]
    low, high = min(values), max(values)
    room = (high - low) * 0.08 or 0.05
    return low - room, high + room


def _dot(place: int, moment: Moment, n: int, low: float, high: float) -> Dot:
    assert moment.estimate is not None
    one = moment.estimate
    x = WIDTH / 2 if n == 1 else place * WIDTH / (n - 1)
    other = "" if moment.comparable else "; other questions, judge or metric: not comparable with the newest run"
    return Dot(
        x=round(x, 1),
        y=_y(one.value, low, high),
        low=None if one.low is None else _y(one.low, low, high),
        high=None if one.high is None else _y(one.high, low, high),
        joined=moment.comparable,
        run=moment.run,
        says=f"{moment.run}: {number(one.value)} ({interval(one)}){other}",
    )


def _y(value: float, low: float, high: float) -> float:
    return round(HEIGHT * (1 - (value - low) / (high - low)), 1)


def _points(places: Sequence[tuple[float, float | None]]) -> str:
    return " ".join(f"{x:g},{y:g}" for x, y in places if y is not None)
