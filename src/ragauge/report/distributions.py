"""Score distributions in a terminal and as SVG."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

from rich.console import Group
from rich.text import Text

from ragauge.diagnose.distributions import Distributions, Drift, Histogram, ListScores
from ragauge.report.diagnosis import share
from ragauge.report.svg import Plot, Point, Series, plot
from ragauge.report.words import interval
from ragauge.text.normalise import display

_BARS = " ▁▂▃▄▅▆▇█"


def sparkline(counts: Sequence[int]) -> str:
    """Counts as bars, the highest full; what is not 0 is seen.

    >>> sparkline([0, 1, 8])
    ' ▁█'
    """
    top = max(counts, default=0)
    return "".join(_BARS[0 if not n else max(1, round(n / top * (len(_BARS) - 1)))] for n in counts)


def terminal(found: Distributions) -> Group:
    """A line of bars per list, what it says, the re-ranker's gain, the checks."""
    parts: list[Any] = [Text("Scores", style="bold")]
    for one in found.lists:
        parts += _list(one)
    gain = found.rerank
    if gain is not None:
        relative = "" if gain.relative is None else f" ({gain.relative:+.0%})"
        flag = ": less than 10 %, hardly worth its time" if gain.small else ""
        parts.append(
            Text(
                f"Re-ranker: reciprocal rank {gain.before:.3f} → {gain.after:.3f}{relative}, "
                f"difference {interval(gain.difference)}{flag}; helped {len(gain.helped)}, hurt {len(gain.hurt)}.",
                style="yellow" if gain.small else "",
            )
        )
    for check in found.checks:
        if check.share is None:
            parts.append(Text(f"Not checked: {check.what}: {check.not_done}.", style="dim"))
        else:
            shown = ", ".join(display(item) for item in check.questions[:3])
            parts.append(Text(f"{check.what.capitalize()}: {share(check.share)}" + (f" ({shown})" if shown else "")))
    parts += [Text(f"Note: {note}.", style="dim") for note in found.notes]
    return Group(*parts)


def drift_line(found: Drift | None) -> Text:
    """Whether the best scores have moved since another run."""
    if found is None:
        return Text("Drift of the best scores: not checked, one of the runs has no scores.", style="dim")
    told = "they have moved" if found.drifted else "no drift to be seen"
    return Text(
        f"Best score of each question: mean {found.mean_before:.3f} before, {found.mean:.3f} now; {told} "
        f"(Kolmogorov–Smirnov p = {found.p:.4f}, alarm below 0.001).",
        style="yellow" if found.drifted else "",
    )


def _list(one: ListScores) -> list[Text]:
    low, high = one.histogram.edges[0], one.histogram.edges[-1]
    bars = sparkline(one.histogram.counts)
    lines = [Text(f" {display(one.name):<10} {low:.3f} {bars} {high:.3f}  n = {one.n}")]
    if one.relevant is not None:
        indent = " " * (len(f"{low:.3f}") + 3)
        lines.append(Text(f"   relevant{indent}{sparkline(one.relevant.counts)}", style="green"))
    told = one.statement
    if one.auroc is not None:
        told += f"; AUROC {one.auroc.value:.3f} ({interval(one.auroc)})"
    if one.overlap is not None:
        told += f", overlap {one.overlap:.0%}"
    if one.dip is not None and one.dip_p is not None:
        told += f"; dip {one.dip:.3f}, p {'<' if one.dip_p <= 0.001 else '='} {max(one.dip_p, 0.001):.3f}"
    lines.append(Text(f"   {told}", style="dim"))
    return lines


def svg(one: ListScores) -> str:
    """One list's scores, relevant ones beside all, as an SVG document."""
    series = [_series("all retrieved chunks", one.histogram)]
    if one.relevant is not None:
        series.append(_series("relevant ones", one.relevant))
    return plot(
        Plot(
            title=f"Scores of {one.name}",
            note=one.statement,
            x_name="score",
            y_name="chunks",
            series=tuple(series),
        )
    )


def _series(name: str, histogram: Histogram) -> Series:
    middles = [(a + b) / 2 for a, b in pairwise(histogram.edges)]
    points = tuple(
        Point(x=x, y=float(n), tooltip=f"{name}, score {x:.3f}: {n}")
        for x, n in zip(middles, histogram.counts, strict=True)
    )
    return Series(name=name, points=points)
