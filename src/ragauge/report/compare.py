"""A comparison in a terminal and as Markdown."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rich.console import Group
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from ragauge.analysis.compare import Comparison
from ragauge.analysis.difference import Difference
from ragauge.report import markdown
from ragauge.report.words import count, number
from ragauge.stats.intervals import SAMPLING_ONLY
from ragauge.text.normalise import display

_STYLE = {"better": "green", "worse": "red", "no measurable difference": "", "too few questions to tell": "yellow"}
_MARK = {"better": "▲", "worse": "▼", "higher": "↑", "lower": "↓", "no measurable difference": "=",
         "too few questions to tell": "?"}  # fmt: skip

#: Flips shown for each metric each way in a terminal.
N_FLIPS = 5


def signed(value: float | None) -> str:
    """`+0.042`, `−0.042`, `0.000`; an em dash for nothing.

    >>> signed(-0.0421), signed(0.0), signed(None)
    ('−0.042', '0.000', '—')
    """
    if value is None:
        return "—"
    body = f"{abs(value):.3f}"
    if float(body) == 0:
        return body
    return f"{'+' if value > 0 else '−'}{body}"


def difference_interval(one: Difference) -> str:
    """`−0.03 … +0.11`."""
    return "none" if one.low is None or one.high is None else f"{signed(one.low)} … {signed(one.high)}"


def p_value(p: float) -> str:
    """`0.021`, `< 0.001`."""
    return "< 0.001" if p < 0.001 else f"{p:.3f}"


def power_note(one: Difference, smallest: float) -> str:
    """What the questions could have found, where they could not tell."""
    if one.verdict != "too few questions to tell":
        return ""
    found = (
        f"{one.n_pairs} questions find differences from {one.smallest_detectable:.3f}"
        if one.smallest_detectable is not None
        else f"{one.n_pairs} questions find nothing for certain"
    )
    needed = f"; {one.n_needed} would find {smallest:g}" if one.n_needed > one.n_pairs else ""
    return found + needed


def headline(comparison: Comparison) -> str:
    """One sentence: what got better, what got worse, what cannot be told."""
    groups: dict[str, list[str]] = {}
    for key, one in comparison.metrics.items():
        groups.setdefault(one.verdict, []).append(key)
    parts = [
        f"{verdict}: {', '.join(groups[verdict])}"
        for verdict in ("worse", "better", "higher", "lower")
        if verdict in groups
    ]
    rest = [
        f"{verdict} in {count(len(groups[verdict]), 'metric')}"
        for verdict in ("no measurable difference", "too few questions to tell")
        if verdict in groups
    ]
    return "; ".join(parts + rest) or "nothing could be compared"


def terminal(comparison: Comparison) -> Group:
    """Head, table, flips, cost, warnings."""
    c = comparison
    head = Text(f"A  {display(c.a)}\nB  {display(c.b)}\n{c.n_shared} questions in both")
    parts: list[Text | Table | Padding] = [head]
    parts += [Padding(Text(display(line)), (0, 0, 0, 1)) for line in _changed(c)]
    parts += [Text(f"! {display(line)}", style="yellow") for line in c.warnings]
    parts += [Text(), Text(display(headline(c)[:1].upper() + headline(c)[1:]) + ".", style="bold"), Text(), _table(c)]
    parts += [Padding(Text(display(line), style="dim"), (0, 0, 0, 1)) for line in _under(c)]
    parts += list(_slices(c))
    parts += list(_flips(c))
    if c.usage:
        parts += [Text(), Text("Cost, tokens, latency", style="bold"), _usage(c)]
    return Group(*parts)


def _table(c: Comparison) -> Table:
    table = Table(box=None, pad_edge=False, header_style="bold", padding=(0, 2, 0, 0))
    for name, justify in (
        ("metric", "left"), ("A", "right"), ("B", "right"), ("B − A", "right"), ("95 % interval", "right"),
        ("p corrected", "right"), ("n", "right"), ("+/−", "right"), ("verdict", "left"),
    ):  # fmt: skip
        table.add_column(name, justify=justify, no_wrap=name != "verdict")  # type: ignore[arg-type]
    for key, one in c.metrics.items():
        arrow = " ↓" if one.better == "lower" else ""
        verdict = Text(f"{_MARK[one.verdict]} {one.verdict}", style=_STYLE.get(one.verdict, ""))
        table.add_row(
            Text(key + arrow), number(one.a), number(one.b), signed(one.difference), difference_interval(one),
            p_value(one.p_adjusted), str(one.n_pairs), f"{one.n_better}/{one.n_worse}", verdict,
        )  # fmt: skip
    return table


def _changed(c: Comparison) -> Iterator[str]:
    if c.changed:
        yield "What changed: " + "; ".join(c.changed)


def _under(c: Comparison) -> Iterator[str]:
    for key, one in c.metrics.items():
        notes = [note for note in (power_note(one, c.smallest), *one.notes) if note]
        if one.only_a or one.only_b:
            notes.append(f"scored only in A: {one.only_a}, only in B: {one.only_b}")
        if notes:
            yield f"{key}: {'; '.join(notes)}."
    reasons: dict[str, list[str]] = {}
    for key, why in c.not_compared.items():
        reasons.setdefault(why, []).append(key)
    for why, keys in reasons.items():
        yield f"Not compared ({why}): {', '.join(keys)}."
    bare = [
        {key.partition("@")[0] for key in reasons.get(f"only in the {side} run", ())} for side in ("first", "second")
    ]
    if bare[0] & bare[1]:
        yield "The runs measure at different k: name the metrics (metrics: [recall@5, …]) to compare at the same one."
    yield "↓ lower is better. p is corrected for all comparisons (Holm). +/−: questions that got better and worse."
    yield SAMPLING_ONLY


def slice_lines(c: Comparison, n: int = 3) -> Iterator[str]:
    """Each tag with its largest changes: for looking, not for deciding."""
    for tag, cells in c.slices.items():
        moved = sorted(
            (one for one in cells.values() if one.n_better or one.n_worse), key=lambda one: -abs(one.difference)
        )
        told = [
            f"{one.key} {signed(one.difference)} ({one.n_better}/{one.n_worse} of {one.n_pairs}"
            + (f", {one.verdict})" if one.verdict in ("better", "worse") else ")")
            for one in moved[:n]
        ]
        yield f"{tag}: {', '.join(told) if told else 'nothing changed'}"


def _slices(c: Comparison) -> Iterator[Text | Padding]:
    if c.slices:
        yield Text()
        yield Text("By tag (the largest changes, better/worse of n; for looking, not for deciding)", style="bold")
        for line in slice_lines(c):
            yield Padding(Text(display(line)), (0, 0, 0, 1))


def _flips(c: Comparison) -> Iterator[Text | Padding]:
    for key, flips in c.flips.items():
        if not (flips.better or flips.worse):
            continue
        yield Text()
        yield Text(f"{key}: {len(flips.worse)} got worse, {len(flips.better)} got better", style="bold")
        for mark, style, ids in (("✗", "red", flips.worse), ("✓", "green", flips.better)):
            for item in ids[:N_FLIPS]:
                yield Padding(_flip(c, key, item, mark, style), (0, 0, 0, 1))
            if len(ids) > N_FLIPS:
                yield Padding(
                    Text(f"{mark} and {len(ids) - N_FLIPS} more (--json names them all)", style="dim"), (0, 0, 0, 1)
                )


def _flip(c: Comparison, key: str, item: str, mark: str, style: str) -> Text:
    line = Text(f"{mark} ", style=style)
    line.append(display(item), style="bold")
    reason = c.reasons.get(key, {}).get(item)
    if reason is not None:
        line.append(f"  {number(reason.a)} → {number(reason.b)}  {_line(reason.question, 90)}")
        if reason.why:
            side = "B" if mark == "✗" else "A"
            line.append(f"\n    in {side}: {_line(reason.why, 300)}", style="dim")
    return line


def _line(text: str, limit: int) -> str:
    line = " ".join(display(text).split())
    return line if len(line) <= limit else line[: limit - 1] + "…"


def _usage(c: Comparison) -> Table:
    table = Table(box=None, pad_edge=False, header_style="bold", padding=(0, 2, 0, 0))
    for name, justify in (("", "left"), ("A", "right"), ("B", "right")):
        table.add_column(name, justify=justify)  # type: ignore[arg-type]
    for name, sides in c.usage.items():
        table.add_row(name.replace("_", " "), _amount(name, sides.a), _amount(name, sides.b))
    return table


def _amount(name: str, value: float | None) -> str:
    if value is None:
        return "unknown"
    return f"${value:.4f}" if name.endswith("_usd") else f"{value:.1f}"


def as_markdown(comparisons: Sequence[Comparison], limit: int = markdown.COMMENT_LIMIT) -> str:
    """All comparisons as Markdown for a pull request; fits into a comment."""
    blocks: list[list[str]] = [[markdown.marker("compare")]]
    for c in comparisons:
        blocks += _blocks(c)
    blocks.append([f"_{SAMPLING_ONLY}_"])
    return markdown.fitted(blocks, limit)


def _blocks(c: Comparison) -> Iterator[list[str]]:
    t = markdown.text
    yield [
        f"### {t(c.b)} against {t(c.a)}",
        "",
        f"**{t(headline(c), 600)}.** {c.n_shared} questions in both.",
        *([f"What changed: {t('; '.join(c.changed), 1000)}"] if c.changed else []),
        "",
        *(f"> ⚠️ {t(line, 400)}" for line in c.warnings),
        "",
    ]
    rows = [
        (
            markdown.code(key) + (" ↓" if one.better == "lower" else ""),
            number(one.a), number(one.b), signed(one.difference),
            difference_interval(one), p_value(one.p_adjusted).replace("<", "&lt;"), str(one.n_pairs),
            f"{one.n_better}/{one.n_worse}", f"{_MARK[one.verdict]} {one.verdict}",
        )
        for key, one in c.metrics.items()
    ]  # fmt: skip
    head = ("metric", "A", "B", "B − A", "95 % interval", "p corrected", "n", "better/worse", "verdict")
    yield [*markdown.table(head, rows, right=range(1, 8)), ""]
    yield [*[f"- {t(line, 400)}" for line in _under(c)][:-2], ""]
    for key, flips in c.flips.items():
        lines = [
            line
            for mark, ids in (("✗", flips.worse), ("✓", flips.better))
            for line in _markdown_flips(c, key, mark, ids)
        ]
        if lines:
            yield markdown.details(f"<code>{key}</code>: {len(flips.worse)} worse, {len(flips.better)} better", lines)
    if c.slices:
        yield markdown.details("By tag", [f"- {t(line, 300)}" for line in slice_lines(c)])
    if c.usage:
        usage = [(n.replace("_", " "), _amount(n, s.a), _amount(n, s.b)) for n, s in c.usage.items()]
        yield markdown.details("Cost, tokens, latency", markdown.table(("", "A", "B"), usage, right=(1, 2)))


def _markdown_flips(c: Comparison, key: str, mark: str, ids: Sequence[str]) -> Iterator[str]:
    for item in ids[:20]:
        reason = c.reasons.get(key, {}).get(item)
        told = f": {number(reason.a)} → {number(reason.b)}, {markdown.text(reason.question, 120)}" if reason else ""
        why = f"<br>{markdown.text(reason.why, 300)}" if reason and reason.why else ""
        yield f"- {mark} **{markdown.text(item, 80)}**{told}{why}"
    if len(ids) > 20:
        yield f"- {mark} and {len(ids) - 20} more"


def document(comparisons: Sequence[Comparison]) -> dict[str, object]:
    """The JSON document: the shape of DESIGN §6 for two runs, `{"base", "comparisons": […]}` for more."""
    each = [c.model_dump(mode="json") for c in comparisons]
    if len(each) == 1:
        return each[0]
    return {
        "base": comparisons[0].a,
        "comparisons": each,
        "warnings": sorted({w for c in comparisons for w in c.warnings}),
    }
