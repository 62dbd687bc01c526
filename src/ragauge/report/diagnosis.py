"""A diagnosis for a person and as JSON: causes, what to try first, each row's cause, clusters."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from rich.console import Group
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from ragauge.core.model import Model
from ragauge.core.run import Estimate, Finding
from ragauge.diagnose.clusters import Clusters
from ragauge.diagnose.diagnosis import Advice, Diagnosis
from ragauge.diagnose.distributions import Distributions, Drift
from ragauge.diagnose.rootcause import RowCause
from ragauge.report.words import count
from ragauge.text.normalise import display

_HALF = {"retrieval": "retrieval", "generation": "generation", "data": "data", "unknown": "cannot tell"}


class _OfRun(Model):
    run: str
    diagnosis: tuple[Finding, ...]


class DiagnoseDocument(Diagnosis, _OfRun):
    """What `ragauge diagnose --json` prints; the schema in the documentation is this one. `run`: its directory.

    `diagnosis`: what the metrics alone say, most important first. Beside it stands what the rows say: shares are of all
    rows that could be judged (`n_judged`). `clusters` with --clusters or --against, `distributions` with --scores or
    --svg, `drift` with --scores and --against; else null.
    """

    clusters: Clusters | None
    distributions: Distributions | None
    drift: Drift | None


def document(
    path: Path,
    found: Diagnosis,
    findings: Sequence[Finding],
    clusters: Clusters | None,
    scores: Distributions | None = None,
    drift: Drift | None = None,
) -> DiagnoseDocument:
    """One document: the diagnosis, the findings of the matrix, clusters, distributions."""
    return DiagnoseDocument(
        run=str(path), diagnosis=tuple(findings), **dict(found), clusters=clusters, distributions=scores, drift=drift
    )


def terminal(found: Diagnosis, findings: Sequence[Finding], *, rows: bool = False) -> Group:
    """The causes table, the list of what to try, notes; with `rows`, each failing row with its evidence."""
    parts: list[Any] = [_head(found), Text()]
    if found.causes:
        parts += [causes_table(found), Text(), Text("What to try, most helpful first", style="bold")]
        parts += [Padding(_advice(place, advice), (0, 0, 0, 1)) for place, advice in enumerate(found.advice, start=1)]
    parts += [Text(f"Note: {note}.", style="dim") for note in found.notes]
    if found.lists:
        parts.append(Text(_lists(found.lists), style="dim"))
    first = findings[0] if findings else None
    if first is not None:
        parts += [Text(), Text(f"By the metrics alone ({first.certainty}): {first.diagnosis}.", style="dim")]
    if rows and found.rows:
        parts += [Text(), *row_lines(found.rows)]
    return Group(*parts)


def causes_table(found: Diagnosis) -> Table:
    """One line per cause: rows, share with interval, how many are clear, which questions."""
    table = Table(box=None, pad_edge=False, header_style="bold", padding=(0, 2, 0, 0))
    table.add_column("cause", overflow="fold")
    table.add_column("half")
    table.add_column("rows", justify="right")
    table.add_column("share", justify="right", no_wrap=True)
    table.add_column("clear", justify="right")
    table.add_column("questions", overflow="fold")
    for cause in found.causes:
        shown = ", ".join(display(item) for item in cause.questions[:4])
        more = f" … {len(cause.questions) - 4} more" if len(cause.questions) > 4 else ""
        table.add_row(
            Text(f"{cause.title} ({cause.cause})"),
            Text(_HALF[cause.half]),
            Text(str(cause.n)),
            Text(share(cause.share)),
            Text(str(cause.n_clear)),
            Text(shown + more, style="dim"),
        )
    return table


def row_lines(rows: Iterable[RowCause]) -> Iterable[Text]:
    """Each failing row: what was seen, the cause, why."""
    for row in rows:
        text = Text("✗ ", style="red")
        text.append(display(row.id), style="bold")
        text.append(f"  {' '.join(display(row.question).split())[:100]}\n   ")
        text.append(f"{row.cause} ({row.certainty})", style="cyan")
        text.append(f": {'; '.join(display(line) for line in row.evidence)}")
        text.append(f"\n   seen: {'; '.join(display(problem) for problem in row.problems)}", style="dim")
        if row.also:
            text.append(f"\n   also: {', '.join(row.also)}", style="dim")
        yield text


def clusters_table(clusters: Clusters) -> Group:
    """Failures that belong together, largest first."""
    table = Table(box=None, pad_edge=False, header_style="bold", padding=(0, 2, 0, 0))
    for title in ("cluster", "n", "", "causes", "for example"):
        table.add_column(title, justify="right" if title == "n" else "left", overflow="fold")
    for one in (*clusters.clusters, *clusters.gone):
        was = f" (was {one.before})" if one.before is not None else ""
        table.add_row(
            Text(display(one.name)),
            Text(str(one.n)),
            Text(one.status + was),
            Text(", ".join(f"{cause} {n}" for cause, n in list(one.causes.items())[:3])),
            Text(", ".join(display(item) for item in one.representatives), style="dim"),
        )
    tail = f"{count(len(clusters.others), 'failure')} in no cluster. {clusters.method}."
    return Group(Text("Failures that belong together", style="bold"), table, Text(tail, style="dim"))


def share(estimate: Estimate) -> str:
    """`12 % (7–20)`."""
    low, high = estimate.low, estimate.high
    if low is None or high is None:
        return f"{estimate.value:.0%}"
    return f"{100 * estimate.value:.0f} % ({100 * low:.0f}–{100 * high:.0f})"


def _head(found: Diagnosis) -> Text:
    if found.failing is None:
        return Text("Nothing could be judged: there is nothing to diagnose.")
    if not found.n_failing:
        return Text(f"None of {count(found.n_judged, 'row')} fails.")
    halves = ", ".join(f"{_HALF[half]} {n}" for half, n in found.halves.items())
    text = Text(f"{found.n_failing} of {found.n_judged} rows fail: {share(found.failing)}. ", style="bold")
    text.append(f"At fault: {halves}.", style="")
    if found.conditions:
        tried = ", ".join(f"{condition.replace('_', ' ')} {n}" for condition, n in found.conditions.items())
        text.append(f" Tried: {tried}.", style="dim")
    return text


def _advice(place: int, advice: Advice) -> Text:
    text = Text(f"{place}. ", style="bold")
    text.append(f"[{advice.step}] ", style="cyan")
    text.append(f"{advice.do}. ", style="bold")
    text.append(f"For {count(advice.n, 'row')} ({share(advice.share)}), {advice.n_clear} of them clear: ")
    text.append(", ".join(f"{cause} {n}" for cause, n in advice.causes.items()) + ".")
    for reason in advice.because:
        text.append(f"\n   Because {reason}.")
    text.append(f"\n   Then: {advice.then}. Check: {advice.check}", style="dim")
    return text


def _lists(lists: dict[str, Estimate]) -> str:
    return "Questions with evidence among the first k: " + ", ".join(
        f"{name} {share(estimate)}" for name, estimate in lists.items()
    )
