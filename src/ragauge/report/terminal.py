"""What a person sees in a terminal. Texts of others are shown as text: never as markup, never as control codes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from rich.console import Console, Group
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from ragauge.analysis.rowcheck import RowCheck
from ragauge.core.run import Finding, Manifest, MetricResult, Record, Summary
from ragauge.core.sample import Usage
from ragauge.report.words import by_reason, count, counts, duration_ms, interval, number, threshold
from ragauge.stats.intervals import SAMPLING_ONLY
from ragauge.text.normalise import display

_STYLE = {"good": "green", "below": "yellow", "broken": "red", "none": ""}
_MARK = {"good": "✓", "below": "·", "broken": "✗", "none": ""}
_ROW_STYLE = {"good": "green", "bad": "red", "unknown": "yellow"}
_KNOBS = ("retrieval", "k", "chunk_size", "chunk_overlap", "embedder", "rerank", "generator")
#: Shown where they are not as here.
_MODEL_KNOBS = {"expand": "none", "prefix": "headings"}
_HALVES = (("retrieval", "Retrieval"), ("generation", "Generation"), ("both", "Both halves"))


def row_line(record: Record, check: RowCheck, width: int = 100) -> Text:
    """`✓ id question` or `✗ id question — what went wrong`, on one line."""
    item = record.sample.item
    repeat = f" (repeat {record.sample.repeat})" if record.sample.repeat else ""
    line = Text(f"{check.mark} ", style=_ROW_STYLE[check.outcome])
    line.append(f"{' '.join(display(item.id).split())}{repeat}  ", style="bold")
    problems = "; ".join(" ".join(display(problem).split()) for problem in check.problems)
    room = max(24, width - len(line.plain) - len(problems) - 3)
    question = " ".join(display(item.question).split())
    line.append(question if len(question) <= room else question[: room - 1] + "…")
    if problems:
        line.append(f" — {problems}", style=_ROW_STYLE[check.outcome])
    return line


def run_report(path: Path, manifest: Manifest, summary: Summary, findings: Sequence[Finding]) -> Group:
    """Head, table, what could not be computed, diagnosis."""
    parts: list[Text | Table | Padding] = [_head(manifest, summary), Text(), metric_table(summary)]
    parts += [Padding(line, (0, 0, 0, 1)) for line in _under_table(manifest, summary)]
    parts += [Text(), Text("Diagnosis", style="bold")]
    parts += [Padding(_finding(number_, finding), (0, 0, 0, 1)) for number_, finding in enumerate(findings, start=1)]
    return Group(*parts)


def metric_table(summary: Summary) -> Table:
    """One line per metric, retrieval first: value, interval, n, threshold, what could not be scored."""
    table = Table(box=None, pad_edge=False, header_style="bold", padding=(0, 2, 0, 0))
    table.add_column("metric", no_wrap=True)
    table.add_column("value", justify="right")
    table.add_column("95 % interval", justify="right", no_wrap=True)
    table.add_column("n", justify="right")
    table.add_column("threshold", no_wrap=True)
    used = any(result.usage.calls or result.usage.cached_calls for result in summary.metrics.values())
    if used:
        table.add_column("judge calls", justify="right", no_wrap=True)
    table.add_column("not scored", overflow="fold")
    for half, title in _HALVES:
        results = [result for result in summary.metrics.values() if result.half == half]
        if not results:
            continue
        table.add_row(Text(title, style="bold dim"))
        for result in results:
            cells = list(_cells(result))
            table.add_row(*cells[:5], *([Text(spent(result.usage), style="dim")] if used else []), cells[5])
    return table


def _cells(result: MetricResult) -> Iterable[Text]:
    style = _STYLE[result.verdict]
    arrow = " ↓" if result.better == "lower" else ""
    yield Text(f"  {result.key}{arrow}")
    yield Text(f"{_MARK[result.verdict]} {number(result.value)}".strip(), style=style)
    yield Text(interval(result.estimate))
    yield Text(str(result.n))
    yield Text(threshold(result), style=style)
    yield Text(counts(result.unscored), style="red" if result.n_errors else "dim")


def _head(manifest: Manifest, summary: Summary) -> Text:
    settings = ", ".join(_settings(manifest.system.settings))
    lines = [
        f"Run        {manifest.run}",
        f"Questions  {summary.n_rows} from {manifest.dataset.name}"
        + (f", {count(summary.n_failed_rows, 'failed row')}" if summary.n_failed_rows else "")
        + ("" if summary.complete else "  (not finished: --resume continues it)"),
        f"System     {manifest.system.name}" + (f" ({settings})" if settings else ""),
        f"Judge      {_judge(manifest)}",
    ]
    return Text("\n".join(display(line) for line in lines))


def _settings(settings: Mapping[str, Any]) -> list[str]:
    """The knobs that people turn, where a system has them; else all of its plain settings."""
    named = {key: value.get("name") if isinstance(value, Mapping) else value for key, value in settings.items()}
    plain = {key: value for key, value in named.items() if isinstance(value, str | int | float | bool)}
    shown = [key for key in _KNOBS if key in plain] or list(plain)
    shown += [key for key in _MODEL_KNOBS if plain.get(key, _MODEL_KNOBS[key]) != _MODEL_KNOBS[key]]
    return [f"{key}={plain[key]}" for key in shown]


def _judge(manifest: Manifest) -> str:
    judge = manifest.judge
    if judge is None:
        return "none: only metrics that need no judge"
    name = f"{judge.name} {judge.version}" + (f", model {judge.model}" if judge.model else "")
    return name if judge.kind != "embedded" else f"{name} (no key, no network)"


def _under_table(manifest: Manifest, summary: Summary) -> Iterable[Text]:
    yield Text()
    if any(result.better == "lower" for result in summary.metrics.values()):
        yield Text(
            "↓ lower is better. ✓ reaches its threshold, · below it, ✗ past the point where something is broken.",
            style="dim",
        )
    if manifest.judge is not None:
        agreement = manifest.judge.agreement or "Its agreement with people has not been measured."
        yield Text(f"Judge: {display(agreement)}", style="dim")
    if summary.share_unverified:
        yield Text(f"{summary.share_unverified:.0%} of the golden items are not verified by a person.", style="yellow")
    yield Text(SAMPLING_ONLY, style="dim")
    faithfulness = summary.metrics.get("faithfulness")
    if faithfulness is not None and faithfulness.parts:
        shares = ", ".join(
            f"{name.replace('_', ' ')} {number(faithfulness.parts[name])}"
            for name in ("contradicted", "not_mentioned")
            if name in faithfulness.parts
        )
        if shares:
            yield Text(f"Unfaithful claims, mean share per answer: {shares}.", style="dim")
    if summary.latency_ms:
        times = ", ".join(
            f"{name.replace('_', ' ')} {duration_ms(value)}" for name, value in summary.latency_ms.items()
        )
        yield Text(f"Latency: {times}.", style="dim")
    usage = summary.usage
    if usage.calls or usage.cached_calls:
        yield Text(f"Judge calls: {_totals(usage)}.", style="dim")
    usage = summary.system_usage
    if usage.calls or usage.cached_calls:
        price = "price unknown" if usage.cost_usd is None else f"${usage.cost_usd:.4f}"
        yield Text(
            f"System calls: {usage.calls} (+{usage.cached_calls} from the cache); when they were made, they took "
            f"{usage.tokens_in} + {usage.tokens_out} tokens, {price}.",
            style="dim",
        )
    for why, keys in by_reason(manifest.skipped_metrics).items():
        yield Text(f"Not computed: {', '.join(keys)}: {why}.", style="dim")
    for note in (*manifest.notes, *summary.notes):
        yield Text(display(note), style="yellow")


def _totals(usage: Usage) -> str:
    price = "price unknown" if usage.cost_usd is None else f"${usage.cost_usd:.4f}"
    return (
        f"{usage.calls} (+{usage.cached_calls} from the cache), {usage.tokens_in} + {usage.tokens_out} tokens, {price}"
    )


def spent(usage: Usage) -> str:
    """Calls, those from the cache after a +, and what they cost, if that is known and not nothing.

    >>> spent(Usage(calls=12, cached_calls=3, cost_usd=0.01234)), spent(Usage())
    ('12+3 $0.0123', '')
    """
    if not usage.calls and not usage.cached_calls:
        return ""
    cost = f" ${usage.cost_usd:.4f}" if usage.cost_usd else ""
    return f"{usage.calls}" + (f"+{usage.cached_calls}" if usage.cached_calls else "") + cost


def _finding(place: int, finding: Finding) -> Text:
    half = {"retrieval": "retrieval", "generation": "generation", "both": "both halves", "unknown": "cannot tell"}
    text = Text(f"{place}. ", style="bold")
    text.append(f"[{half[finding.half]}] ", style="cyan")
    text.append(f"{finding.diagnosis}. ", style="bold")
    text.append(f"{finding.cause}\n   Try first: {finding.try_first}\n   Check: {finding.check}")
    if finding.evidence:
        text.append(
            "\n   Because " + ", ".join(f"{key} = {number(value)}" for key, value in finding.evidence.items()), "dim"
        )
    if finding.questions:
        text.append("\n   Look at " + ", ".join(display(question) for question in finding.questions), "dim")
    return text


def stdout_console() -> Console:
    """The console for results. Wide when it is no terminal, so that nothing is cut off in a file."""
    console = Console(highlight=False, markup=False, emoji=False)
    return console if console.is_terminal else Console(highlight=False, markup=False, emoji=False, width=160)


def stderr_console() -> Console:
    """The console for progress and messages."""
    return Console(stderr=True, highlight=False, markup=False, emoji=False, soft_wrap=True)
