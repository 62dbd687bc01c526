"""A comparison in a terminal and as Markdown."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from rich.console import Group
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from ragauge.analysis.compare import Comparison
from ragauge.analysis.difference import Difference
from ragauge.core.model import Model
from ragauge.report import markdown
from ragauge.report.words import count, number
from ragauge.stats.intervals import SAMPLING_ONLY
from ragauge.text.normalise import display

_STYLE = {"better": "green", "worse": "red", "no measurable difference": "", "too few questions to tell": "yellow"}
_MARK = {"better": "▲", "worse": "▼", "higher": "↑", "lower": "↓", "no measurable difference": "=",
         "too few questions to tell": "?"}  # fmt: skip

#: Flips shown for each metric each way in a terminal.
N_FLIPS = 5
#: With more metrics than this, undecided ones share a line, and flips are told question by question.
N_METRICS = 4
#: Questions told, and metrics named for each.
N_QUESTIONS, N_NAMED = 8, 3


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


def terminal(comparison: Comparison, details: bool = False) -> Group:
    """Head, table, flips, cost, warnings. `details`: a line and all flips for each metric, however many there are."""
    c = comparison
    head = Text(f"A  {display(c.a)}\nB  {display(c.b)}\n{c.n_shared} questions in both")
    parts: list[Text | Table | Padding] = [head]
    parts += [Padding(Text(display(line)), (0, 0, 0, 1)) for line in _changed(c)]
    parts += [Text(f"! {display(line)}", style="yellow") for line in c.warnings]
    parts += [Text(), Text(display(headline(c)[:1].upper() + headline(c)[1:]) + ".", style="bold"), Text(), _table(c)]
    parts += [Padding(Text(display(line), style="dim"), (0, 0, 0, 1)) for line in _under(c, details)]
    parts += list(_slices(c))
    moved = sum(bool(flips.better or flips.worse) for flips in c.flips.values())
    parts += list(_flips(c) if details or moved <= N_METRICS else _questions(c))
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


def _undecided(c: Comparison) -> str:
    """What the questions could have found, for all undecided metrics together."""
    few = [one for one in c.metrics.values() if one.verdict == "too few questions to tell"]
    least = min((one for one in few if one.smallest_detectable is not None), key=_detectable, default=None)
    found = (
        f"find differences from {_detectable(least):.3f} ({least.key}) at best" if least else "find nothing for certain"
    )
    asked, needed = sorted(one.n_pairs for one in few), sorted(one.n_needed for one in few)
    spread = f"{asked[0]} to {asked[-1]}" if asked[0] < asked[-1] else str(asked[0])
    return (
        f"{len(few)} metrics are undecided: their {spread} questions {found}; {needed[-1]} would find {c.smallest:g} "
        f"in each of them, {needed[0]} in {min(few, key=lambda one: one.n_needed).key} (--details: metric by metric)."
    )


def _detectable(one: Difference) -> float:
    return one.smallest_detectable if one.smallest_detectable is not None else float("inf")


def _under(c: Comparison, details: bool = True) -> Iterator[str]:
    together = not details and sum(one.verdict == "too few questions to tell" for one in c.metrics.values()) > N_METRICS
    if together:
        yield _undecided(c)
    for key, one in c.metrics.items():
        notes = [note for note in ("" if together else power_note(one, c.smallest), *one.notes) if note]
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


def _questions(c: Comparison) -> Iterator[Text | Padding]:
    """The questions that changed most, each once, with the metrics that changed: decided metrics before the others."""
    decided = sorted(c.flips, key=lambda key: c.metrics[key].verdict not in ("better", "worse"))
    worse: dict[str, list[str]] = {}
    better: dict[str, list[str]] = {}
    for key in decided:
        for side, ids in ((worse, c.flips[key].worse), (better, c.flips[key].better)):
            for item in ids:
                side.setdefault(item, []).append(key)
    both = len(worse.keys() & better.keys())
    yield Text()
    yield Text(
        f"Questions that changed: {len(worse)} worse, {len(better)} better"
        + (f" (of these {both} in some metrics each)" if both else ""),
        style="bold",
    )
    for mark, style, side in (("✗", "red", worse), ("✓", "green", better)):
        ranked = sorted(side, key=lambda item: (-len(side[item]), item))
        for item in ranked[:N_QUESTIONS]:
            yield Padding(_question(c, item, side[item], mark, style), (0, 0, 0, 1))
        if len(ranked) > N_QUESTIONS:
            more = f"{mark} and {len(ranked) - N_QUESTIONS} more (--details, --json)"
            yield Padding(Text(more, style="dim"), (0, 0, 0, 1))


def _question(c: Comparison, item: str, keys: Sequence[str], mark: str, style: str) -> Text:
    told = {key: c.reasons[key][item] for key in keys if item in c.reasons.get(key, {})}
    line = Text(f"{mark} ", style=style)
    line.append(display(item), style="bold")
    if told:
        line.append(f"  {_line(next(iter(told.values())).question, 90)}")
    named = [
        f"{key} {number(told[key].a)} → {number(told[key].b)}" if key in told else key for key in list(keys)[:N_NAMED]
    ]
    more = f" and {len(keys) - N_NAMED} more" if len(keys) > N_NAMED else ""
    line.append(f"\n    {', '.join(named)}{more}")
    why = next((reason.why for reason in told.values() if reason.why), "")
    if why:
        line.append(f"\n    in {'B' if mark == '✗' else 'A'}: {_line(why, 300)}", style="dim")
    return line


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


class Comparisons(Model):
    """Several runs, each compared with `base` (the name of the first one); `warnings`: those of all of them."""

    base: str
    comparisons: tuple[Comparison, ...]
    warnings: tuple[str, ...]


#: What `ragauge compare --json` prints for two runs and for more; the schema in the documentation is this one.
CompareDocument = Comparison | Comparisons


def document(comparisons: Sequence[Comparison]) -> dict[str, Any]:
    """`CompareDocument` as plain data."""
    whole = Comparisons(
        base=comparisons[0].a,
        comparisons=tuple(comparisons),
        warnings=tuple(sorted({w for c in comparisons for w in c.warnings})),
    )
    return (comparisons[0] if len(comparisons) == 1 else whole).model_dump(mode="json")
