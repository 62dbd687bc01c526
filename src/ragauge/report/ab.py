"""An A/B test in a terminal, as Markdown and as JSON, with offline metrics beside it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from rich.console import Group
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from ragauge.analysis.ab import ABResult, Effect
from ragauge.analysis.compare import Comparison
from ragauge.analysis.difference import Difference
from ragauge.core.model import Model
from ragauge.core.run import Estimate, Summary
from ragauge.report import markdown
from ragauge.report.compare import difference_interval, p_value, signed
from ragauge.report.words import interval, number
from ragauge.text.normalise import display

_STYLE = {"better": "green", "worse": "red", "not to be trusted": "red", "not settled yet": "yellow"}


def sentence(result: ABResult, effect: Effect) -> str:
    """The verdict on one variant in plain words."""
    found = effect.estimate
    relative = ""
    if effect.relative is not None:
        percent = f"{100 * effect.relative:+.1f}".replace("-", "−")
        relative = f", {percent} % of {effect.control}'s"
    change = f"{result.outcome} {signed(found.value)}{relative}"
    head = f"{effect.variant} against {effect.control}: {effect.verdict}. {change}"
    span = f"; {1 - result.alpha:.0%} interval {between(found)}"
    if effect.verdict != "not settled yet":
        return f"{head}{span}."
    if effect.n_more is None:
        return f"{head}{span}. How many more are needed cannot be told yet."
    return f"{head}{span}. If it is as large as it looks, about {rounded(effect.n_more):,} more observations settle it."


def rounded(n: int) -> int:
    """A count to two significant digits: it is a forecast, not a promise.

    >>> rounded(53563), rounded(87)
    (54000, 87)
    """
    step = int(10 ** max(0, len(str(n)) - 2))
    return round(n / step) * step


def between(found: Estimate) -> str:
    """`−0.010 … +0.020`, or why there is none."""
    if found.low is None or found.high is None:
        return f"none ({found.method.removeprefix('no interval: ')})"
    return f"{signed(found.low)} … {signed(found.high)}"


def terminal(result: ABResult, runs: Mapping[str, Summary], comparisons: Mapping[str, Comparison]) -> Group:
    """Variants, verdicts, warnings, offline metrics."""
    parts: list[Text | Table | Padding] = [Text(f"! {display(line)}", style="yellow") for line in result.warnings]
    parts += [_arms(result), Text()]
    for effect in result.effects:
        parts.append(Text(display(sentence(result, effect)), style=_STYLE.get(effect.verdict, "bold")))
        parts += [Padding(Text(display(line), style="dim"), (0, 0, 0, 1)) for line in _details(effect)]
    if runs:
        parts += [Text(), Text("Offline, by the golden set", style="bold"), _offline(result, runs, comparisons)]
    parts += [Text(), *(Text(display(line), style="dim") for line in _under(result))]
    return Group(*parts)


def _arms(result: ABResult) -> Table:
    table = Table(box=None, pad_edge=False, header_style="bold", padding=(0, 2, 0, 0))
    scores = list(result.arms[0].scores)
    for title in ("variant", "n", "share", f"{result.outcome} ({result.kind})", "interval", *scores):
        table.add_column(display(title), justify="left" if title == "variant" else "right")
    for arm in result.arms:
        name = display(arm.name) + (" (control)" if arm.name == result.control else "")
        cells = [name, f"{arm.n:,}", f"{arm.share:.1%}", number(arm.estimate.value, 4), interval(arm.estimate)]
        cells += [_score(arm.scores.get(score)) for score in scores]
        table.add_row(*(Text(cell) for cell in cells))
    return table


def _score(found: Estimate | None) -> str:
    if found is None:
        return "—"
    return number(found.value) + ("" if found.low is None else f" [{found.low:.3f} {found.high:.3f}]")


def _details(effect: Effect) -> Iterator[str]:
    for name, found in effect.scores.items():
        yield f"offline score {name}: {signed(found.value)} ({between(found)})"
    for one in effect.strata:
        yield (
            f"{one.stratum}: {number(one.variant, 4)} against {number(one.control, 4)}, {signed(one.difference)} "
            f"(n = {one.n_variant} and {one.n_control})"
        )
    yield from effect.notes


def _offline(result: ABResult, runs: Mapping[str, Summary], comparisons: Mapping[str, Comparison]) -> Table:
    table = Table(box=None, pad_edge=False, header_style="bold", padding=(0, 2, 0, 0))
    names = [arm.name for arm in result.arms if arm.name in runs]
    table.add_column("metric", no_wrap=True)
    for name in names:
        table.add_column(display(name), justify="right")
    for name in comparisons:
        table.add_column(display(f"{name} − {result.control}"), justify="right")
    for line in offline_lines(result, runs, comparisons):
        table.add_row(*(Text(cell) for cell in line))
    return table


def offline_lines(
    result: ABResult, runs: Mapping[str, Summary], comparisons: Mapping[str, Comparison]
) -> Iterator[list[str]]:
    """Metric, its value in each variant's run, and the paired difference of each variant to the control."""
    names = [arm.name for arm in result.arms if arm.name in runs]
    for key in dict.fromkeys(key for name in names for key in runs[name].metrics):
        line = [key]
        for name in names:
            found = runs[name].metrics.get(key)
            line.append("—" if found is None else f"{number(found.value)} ({interval(found.estimate)})")
        for comparison in comparisons.values():
            one = comparison.metrics.get(key)
            line.append("—" if one is None else f"{signed(one.difference)} ({difference_interval(one)}) {one.verdict}")
        yield line


def _under(result: ABResult) -> Iterator[str]:
    ratio = result.sample_ratio
    yield (
        f"Intervals hold however often you look, for all variants together. Sample-ratio check: p {p_value(ratio.p)}"
        f"{'' if ratio.mismatch else ', as meant'}."
    )
    if result.unit:
        yield f"Each {result.unit} counts once, with the mean of its outcomes."


def as_markdown(result: ABResult, runs: Mapping[str, Summary], comparisons: Mapping[str, Comparison]) -> str:
    """The same as Markdown."""
    t = markdown.text
    rows = [
        (t(arm.name), f"{arm.n:,}", f"{arm.share:.1%}", number(arm.estimate.value, 4), interval(arm.estimate))
        for arm in result.arms
    ]
    lines = [*(f"> ⚠️ {t(line, 400)}" for line in result.warnings), ""]
    lines += [*markdown.table(("variant", "n", "share", t(result.outcome), "interval"), rows, right=range(1, 5)), ""]
    lines += [f"- **{t(sentence(result, effect), 600)}**" for effect in result.effects]
    if runs:
        names = [arm.name for arm in result.arms if arm.name in runs]
        head = ["metric", *map(t, names), *(f"{t(name)} − {t(result.control)}" for name in comparisons)]
        body = [[f"`{line[0]}`", *line[1:]] for line in offline_lines(result, runs, comparisons)]
        lines += ["", *markdown.table(head, body, right=range(1, len(head)))]
    return "\n".join([*lines, "", *(t(line, 400) for line in _under(result))]) + "\n"


class OfflineMetric(Model):
    """One metric of a variant's offline run."""

    value: float | None
    low: float | None
    high: float | None
    n: int


class Offline(Model):
    """A variant's offline run: its metrics, and the paired differences to the control's run."""

    metrics: dict[str, OfflineMetric]
    differences: dict[str, Difference]


class ABDocument(ABResult):
    """The JSON document of `ragauge ab --json`: the result, the verdicts in words, the offline runs."""

    sentences: tuple[str, ...]
    offline: dict[str, Offline]


def document(result: ABResult, runs: Mapping[str, Summary], comparisons: Mapping[str, Comparison]) -> dict[str, Any]:
    """`ABDocument` as plain data."""
    offline = {
        name: Offline(
            metrics={
                key: OfflineMetric(value=one.value, low=one.low, high=one.high, n=one.n)
                for key, one in summary.metrics.items()
            },
            differences=comparisons[name].metrics if name in comparisons else {},
        )
        for name, summary in runs.items()
    }
    sentences = tuple(sentence(result, effect) for effect in result.effects)
    return ABDocument(**dict(result), sentences=sentences, offline=offline).model_dump(mode="json")
