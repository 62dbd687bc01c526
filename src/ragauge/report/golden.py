"""What is said of golden sets: complaints, proposals, what was generated."""

from __future__ import annotations

from collections.abc import Mapping

from rich.console import Group
from rich.table import Table
from rich.text import Text

from ragauge.dataset.complaints import GoldenReport, ValidateDocument
from ragauge.dataset.golden_checks import TAGS
from ragauge.dataset.label_chunks import Labelling
from ragauge.report.words import count, number
from ragauge.text.normalise import display

_STYLE = {"error": "red", "warning": "yellow", "note": "dim"}


def document(report: GoldenReport) -> ValidateDocument:
    """All of it with the number of complaints, for `--json`."""
    return ValidateDocument(**dict(report), n_errors=report.n_errors, n_warnings=report.n_warnings)


def terminal(report: GoldenReport) -> Group:
    """Every complaint with its place and what to do; then what the set can tell."""
    parts: list[Text | Table] = []
    for one in report.complaints:
        where = ":".join(str(part) for part in (one.file or report.name, one.line) if part is not None)
        line = Text(f"{one.severity}: ", style=_STYLE[one.severity])
        line.append(f"{display(where)}: ", style="dim")
        line.append(display(one.message))
        line.append(f" [{one.kind}]", style="dim")
        line.append(f"\n    {display(one.fix)}")
        parts.append(line)
    if parts:
        parts.append(Text())
    lines = [f"{name:<13} {said}" for name, said in facts(report)]
    parts += [Text(line) for line in lines]
    parts += [Text(display(note), style="yellow") for note in report.notes]
    return Group(*parts)


def facts(report: GoldenReport) -> list[tuple[str, str]]:
    """What the set is and what it can tell: (name, sentence)."""
    unanswerable = report.n_unanswerable / report.n_items if report.n_items else 0.0
    tags = ", ".join(f"{tag} {report.tags.get(tag, 0)}" for tag in TAGS)
    others = ", ".join(f"{display(tag)} {n}" for tag, n in report.tags.items() if tag not in TAGS)
    return [
        ("Items", f"{report.n_items}, {report.n_verified} verified by a person, {unanswerable:.0%} unanswerable"),
        ("Tags", tags + (f"; {others}" if others else "")),
        ("Wording", _leakage(report)),
        ("Can tell", _power(report)),
        ("Complaints", f"{count(report.n_errors, 'error')}, {count(report.n_warnings, 'warning')}"),
    ]


def _leakage(report: GoldenReport) -> str:
    leak = report.leakage
    if leak.share is None:
        return "not measured: no gold passages are known (give --corpus)"
    return (
        f"{leak.share:.0%} of the questions' words stand in their gold passages; "
        f"{leak.n_copied} of {leak.n} copy a run of words"
    )


def _power(report: GoldenReport) -> str:
    power = report.power
    if power is None:
        return "nothing: too few questions"
    rate = (
        "no difference of rates" if power.smallest_rate is None else f"{100 * power.smallest_rate:.0f} points of a rate"
    )
    return (
        f"{rate}, {number(power.smallest_graded)} of a graded metric between two systems (80 % power); "
        f"a rate of 90 % to ± {100 * power.half_width_90:.0f} points"
    )


def labelling(found: Labelling, levels: Mapping[str, Mapping[str, float]] | None = None) -> Group:
    """Proposed chunk labels, and retrieval at both granularities."""
    table = _table("item", "share", "sure", "evidence", "chunks")
    for one in found.proposals:
        quote = " … ".join(part.quote or "" for group in one.evidence for part in group.any[:1])
        table.add_row(
            Text(display(one.item)),
            f"{one.share:.0%}",
            "yes" if one.sure else "look",
            Text(display(" ".join(quote.split()))[:90]),
            Text(display(", ".join(one.chunks))),
        )
    parts: list[Text | Table] = [table] if found.proposals else [Text("No item needs chunk labels.")]
    parts += [Text(f"not labelled: {display(one.item)}: {one.why}", style="yellow") for one in found.unlabelled]
    if levels is not None:
        rates = _table("retrieval", "document", "chunk")
        for name in levels["doc"]:
            rates.add_row(name, number(levels["doc"][name]), number(levels["chunk"][name]))
        parts += [
            Text(),
            rates,
            Text(f"over {count(int(levels['n']['questions']), 'question')} with both", style="dim"),
        ]
    return Group(*parts)


def _table(*names: str) -> Table:
    table = Table(box=None, pad_edge=False, header_style="bold", padding=(0, 2, 0, 0))
    for name in names:
        table.add_column(name, overflow="fold")
    return table
