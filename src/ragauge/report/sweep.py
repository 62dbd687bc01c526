"""A sweep in a terminal, as Markdown, as rows of a table, as JSON."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from rich.console import Group
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from ragauge.analysis.difference import Difference
from ragauge.analysis.sweep import Confirmation
from ragauge.analysis.sweep_table import CellMetric, CellResult, SweepTable
from ragauge.report import markdown
from ragauge.report.compare import difference_interval, p_value, signed
from ragauge.report.words import count, duration_ms, number
from ragauge.stats.intervals import SAMPLING_ONLY
from ragauge.store.sweepdir import short_names, shown_value
from ragauge.text.normalise import display

#: Metrics beside the quality that a terminal shows when nobody named any.
N_OTHERS = 3
#: Lines that a terminal shows; the files hold all of them.
N_LINES = 60
_MARK = {"better": "▲", "worse": "▼", "no measurable difference": "=", "too few questions to tell": "?"}


def recommendation(table: SweepTable, confirmation: Confirmation | None = None) -> list[str]:
    """What to do, in sentences: the choice, how sure it is, what luck alone would give, how to confirm it."""
    lines = [_choice(table)]
    n_others = sum(cell.id != table.base and cell.metrics != {} for cell in table.cells)
    if table.noise_bar is not None and n_others > 1 and table.best != table.base:
        lines.append(
            f"Luck alone makes the best of {n_others} equal cells look {table.noise_bar:.3f} better than the base."
        )
    if table.advice == "switch" and confirmation is None and table.winner is not None:
        if table.part is not None:
            other = "test" if table.part == "dev" else "dev"
            lines.append(
                f"It was chosen on the {table.part} half: confirm it with --resume and --confirm-split {other}."
            )
        else:
            lines.append("Confirm it on questions that did not choose it: sweep again with --confirm-split test.")
    if confirmation is not None:
        lines.append(_confirmed(confirmation))
    return lines


def _choice(table: SweepTable) -> str:
    base = table.cell(table.base)
    if table.advice == "nothing to choose" or table.best is None:
        return "There are not two finished cells to choose from."
    if table.advice == "switch" and table.winner is not None:
        cell = table.cell(table.winner)
        ahead = ""
        if table.best != table.winner:
            ahead = f" ({_named(table.cell(table.best))} looks better still, but not beyond luck.)"
        return f"Take {_named(cell)}: {_against(table, cell)}.{ahead}"
    if table.advice == "switch to the cheaper" and table.advised is not None:
        cell = table.cell(table.advised)
        return (
            f"Take {_named(cell)}: no measurable difference to the base ({_against(table, cell)}), and it needs "
            f"{_saving(cell, base)} per question."
        )
    if table.best == table.base:
        return f"Stay with the base, {_named(base)}: no cell has a better {table.quality}."
    best = table.cell(table.best)
    more = ""
    found = _difference(table, best)
    if found is not None and found.verdict == "no measurable difference":
        more = f" Differences of {table.smallest:g} or more are ruled out."
    elif found is not None and found.n_needed > found.n_pairs:
        more = f" {found.n_needed} questions would find a difference of {table.smallest:g}."
    return (
        f"Stay with the base, {_named(base)}: no cell is better beyond luck. The best-looking one is {_named(best)}: "
        f"{_against(table, best)}.{more}"
    )


def _named(cell: CellResult) -> str:
    return f"{cell.id} ({cell.label})"


def _difference(table: SweepTable, cell: CellResult) -> Difference | None:
    found = cell.metrics.get(table.quality)
    return found.difference if found is not None else None


def _against(table: SweepTable, cell: CellResult) -> str:
    one = _difference(table, cell)
    if one is None:
        return f"{table.quality} {number(table.value(cell))}"
    return (
        f"{table.quality} {number(one.b)} against {number(one.a)}, {signed(one.difference)} "
        f"({difference_interval(one)}), corrected p {p_value(one.p_adjusted)}"
    )


def _saving(cell: CellResult, base: CellResult) -> str:
    if cell.cost_usd is not None and base.cost_usd:
        return f"${cell.cost_usd:.4f} instead of ${base.cost_usd:.4f}"
    return f"{number(cell.tokens, 0)} tokens instead of {number(base.tokens, 0)}"


def _confirmed(one: Confirmation) -> str:
    found = one.difference
    return (
        f"Held-out questions ({one.n_questions} of the {one.part} half): {one.cell} against {one.base}, "
        f"{one.quality} {number(found.b)} against {number(found.a)}, {signed(found.difference)} "
        f"({difference_interval(found)}), p {p_value(found.p)}: {one.verdict}."
    )


def terminal(table: SweepTable, confirmation: Confirmation | None = None) -> Group:
    """Head, table, what the marks mean, what to do."""
    half = f", {table.part} half" if table.part else ""
    head = Text(
        f"{display(table.sweep)}\n{table.n_complete} of {count(len(table.cells), 'cell')} finished, "
        f"{count(table.n_questions, 'question')}{half}; {count(table.n_indexes, 'index', 'indexes')}, "
        f"{count(table.n_index_builds, 'build')}"
    )
    parts: list[Text | Table | Padding] = [head]
    parts += [Text(f"! {display(line)}", style="yellow") for line in table.warnings]
    parts += [Text(), _table(table)]
    parts += [Padding(Text(display(line), style="dim"), (0, 0, 0, 1)) for line in notes_under(table)]
    parts += [Text()]
    parts += [
        Text(display(line), style="bold" if place == 0 else "")
        for place, line in enumerate(recommendation(table, confirmation))
    ]
    return Group(*parts)


def ordered(table: SweepTable) -> list[CellResult]:
    """Best first; unfinished ones after them."""
    return sorted(table.cells, key=lambda cell: (cell.rank is None, cell.rank or 0, cell.id))


def _table(table: SweepTable) -> Table:
    out = Table(box=None, pad_edge=False, header_style="bold", padding=(0, 1, 0, 0))
    names = short_names(table.knobs)
    others = [key for key in table.metrics if key != table.quality][:N_OTHERS]
    out.add_column("cell", no_wrap=True)
    for name in names.values():
        out.add_column(display(name), overflow="fold")
    out.add_column(f"{table.quality}{_arrow(table)}", justify="right", no_wrap=True)
    out.add_column("to base", justify="right", no_wrap=True)
    out.add_column("p corr.", justify="right", no_wrap=True)
    for key in others:
        out.add_column(key, justify="right", no_wrap=True)
    has = _has(table)
    for title, there in (("p50/p95", has["latency"]), ("tokens", has["tokens"]), ("cost", has["cost"])):
        if there:
            out.add_column(title, justify="right", no_wrap=True)
    cells = ordered(table)
    for cell in cells[:N_LINES]:
        out.add_row(*_line(table, cell, list(names), others, has), style=_style(table, cell))
    if len(cells) > N_LINES:
        out.add_row(Text(f"and {len(cells) - N_LINES} more in table.md", style="dim"))
    return out


def _has(table: SweepTable) -> dict[str, bool]:
    return {
        "latency": any(cell.latency_p50_ms is not None for cell in table.cells),
        "tokens": any(cell.tokens is not None for cell in table.cells),
        "cost": any(cell.cost_usd is not None for cell in table.cells),
    }


def _style(table: SweepTable, cell: CellResult) -> str:
    if cell.id == table.winner:
        return "green"
    return "bold" if cell.id == table.base else ""


def _arrow(table: SweepTable) -> str:
    return " ↓" if table.better == "lower" else ""


def _line(
    table: SweepTable, cell: CellResult, knobs: Sequence[str], others: Sequence[str], has: dict[str, bool]
) -> Iterator[Text]:
    yield Text(cell.id + marks(table, cell))
    for key in knobs:
        yield Text(display(shown_value(cell.knobs.get(key))))
    if cell.state == "missing":
        yield Text("failed" if cell.problem else "not run", style="red" if cell.problem else "dim")
        return
    yield Text(measured(cell.metrics.get(table.quality)))
    one = _difference(table, cell)
    yield Text("base" if cell.id == table.base else signed(one.difference) if one is not None else "—")
    yield Text("" if one is None else f"{p_value(one.p_adjusted)} {_MARK.get(one.verdict, '')}")
    for key in others:
        yield Text(measured(cell.metrics.get(key)))
    if has["latency"]:
        yield Text(_latency(cell))
    if has["tokens"]:
        yield Text(number(cell.tokens, 0))
    if has["cost"]:
        yield Text("—" if cell.cost_usd is None else f"${cell.cost_usd:.4f}")


def _latency(cell: CellResult) -> str:
    if cell.latency_p50_ms is None or cell.latency_p95_ms is None:
        return "—"
    return f"{duration_ms(cell.latency_p50_ms)}/{duration_ms(cell.latency_p95_ms)}"


def marks(table: SweepTable, cell: CellResult) -> str:
    """★ on the Pareto front, + on the shortlist."""
    return ("★" if cell.is_on_front else "") + ("+" if cell.is_shortlisted else "")


def measured(one: CellMetric | None) -> str:
    """`0.812 [.74 .87]`."""
    if one is None or one.estimate is None:
        return "—"
    found = one.estimate
    if found.low is None or found.high is None:
        return number(found.value)
    return f"{number(found.value)} [{found.low:.2f} {found.high:.2f}]"


def notes_under(table: SweepTable) -> Iterator[str]:
    """What the marks mean, what went wrong, what the numbers leave out."""
    n = sum(cell.id != table.base and cell.state != "missing" for cell in table.cells)
    yield (
        f"[95 % interval]. p is corrected for {count(n, 'cell')} (Holm). ▲ better, ▼ worse than the base, "
        "= no measurable difference, ? too few questions to tell."
    )
    yield (
        f"★ no other cell beats it in {', '.join(table.front_by)} together. + shortlist: better with at most "
        f"{table.alpha:.0%} false finds (Benjamini–Hochberg). Latencies are those of cells that ran side by side."
    )
    for cell in table.cells:
        if cell.problem:
            yield f"{cell.id} could not be finished: {cell.problem}"
    yield from table.notes
    yield SAMPLING_ONLY


def as_markdown(table: SweepTable, confirmation: Confirmation | None = None, plots: Sequence[str] = ()) -> str:
    """The whole table as Markdown; `plots` are names of image files that lie beside it."""
    t = markdown.text
    sentences = recommendation(table, confirmation)
    blocks: list[list[str]] = [
        [f"## {t(table.sweep)}", "", f"**{t(sentences[0], 1000)}**", *(t(line, 600) for line in sentences[1:]), ""],
        [*(f"> ⚠️ {t(line, 600)}" for line in table.warnings), ""],
        [*_markdown_table(table), ""],
        [*(f"![{t(name)}]({name})" for name in plots), ""],
        [f"- {t(line, 600)}" for line in notes_under(table)],
    ]
    return "\n".join("\n".join(block) for block in blocks if any(block)) + "\n"


def _markdown_table(table: SweepTable) -> list[str]:
    has = _has(table)
    names = short_names(table.knobs)
    head = ["cell", *(markdown.text(name) for name in names.values())]
    head += [f"`{key}`{_arrow(table) if key == table.quality else ''}" for key in table.metrics]
    head += ["to base", "p corrected", "verdict"]
    head += [title for title, key in (("p50 / p95", "latency"), ("tokens", "tokens"), ("cost", "cost")) if has[key]]
    rows = []
    for cell in ordered(table):
        one = _difference(table, cell)
        row = [f"**{cell.id}**" if cell.id == table.base else cell.id]
        row[0] += marks(table, cell)
        row += [markdown.text(shown_value(cell.knobs.get(key)), 60) for key in names]
        row += [measured(cell.metrics.get(key)) for key in table.metrics]
        row += [
            "base" if cell.id == table.base else signed(one.difference) if one is not None else "—",
            "" if one is None else p_value(one.p_adjusted).replace("<", "&lt;"),
            cell.state if cell.state != "complete" else "" if one is None else one.verdict,
        ]
        row += [_latency(cell)] if has["latency"] else []
        row += [number(cell.tokens, 0)] if has["tokens"] else []
        row += ["—" if cell.cost_usd is None else f"${cell.cost_usd:.4f}"] if has["cost"] else []
        rows.append(row)
    first = 1 + len(names)
    return markdown.table(head, rows, right=range(first, len(head)))


def rows(table: SweepTable) -> list[dict[str, Any]]:
    """One flat row for each cell, with every metric: for CSV and data frames."""
    keys = list(dict.fromkeys(key for cell in table.cells for key in cell.metrics))
    return [_row(table, cell, keys) for cell in ordered(table)]


def _row(table: SweepTable, cell: CellResult, keys: Sequence[str]) -> dict[str, Any]:
    row: dict[str, Any] = {"cell": cell.id, "rank": cell.rank, "state": cell.state, "is_base": cell.id == table.base}
    row |= {key: cell.knobs.get(key) for key in table.knobs}
    for key in keys:
        one = cell.metrics.get(key) or CellMetric()
        estimate, found = one.estimate, one.difference
        row |= {
            key: estimate.value if estimate else None,
            f"{key}:low": estimate.low if estimate else None,
            f"{key}:high": estimate.high if estimate else None,
            f"{key}:n": estimate.n if estimate else 0,
            f"{key}:unscored": sum(one.unscored.values()),
        }
        if key in table.metrics:
            row |= {
                f"{key}:difference": found.difference if found else None,
                f"{key}:difference_low": found.low if found else None,
                f"{key}:difference_high": found.high if found else None,
                f"{key}:p_adjusted": found.p_adjusted if found else None,
                f"{key}:verdict": found.verdict if found else None,
            }
    return row | {
        "p_shortlist": cell.p_shortlist,
        "is_shortlisted": cell.is_shortlisted,
        "is_on_front": cell.is_on_front,
        "latency_p50_ms": cell.latency_p50_ms,
        "latency_p95_ms": cell.latency_p95_ms,
        "tokens": cell.tokens,
        "cost_usd": cell.cost_usd,
        "judge_cost_usd": cell.judge_cost_usd,
        "run": cell.run,
    }


class SweepDocument(SweepTable):
    """The JSON document of `ragauge sweep --json`: the table, where it is, what to do, and the confirmation if any."""

    path: str
    recommendation: tuple[str, ...]
    confirmation: Confirmation | None = None


def document(table: SweepTable, path: str, confirmation: Confirmation | None = None) -> dict[str, Any]:
    """`SweepDocument` as plain data."""
    whole = SweepDocument(
        **dict(table),
        path=path,
        recommendation=tuple(recommendation(table, confirmation)),
        confirmation=confirmation,
    )
    return {"path": path, **whole.model_dump(mode="json")}
