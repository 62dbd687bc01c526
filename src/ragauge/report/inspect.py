"""One question's way through retrieval, for a person and as JSON."""

from __future__ import annotations

from typing import Any

from rich.console import Group
from rich.table import Table
from rich.text import Text

from ragauge.core.inspection import Inspection, RankedList
from ragauge.core.model import Model
from ragauge.diagnose.inspection import InspectionReport
from ragauge.text.normalise import display

#: How many ids of a list are written out.
N_LISTED = 50


class ListedList(RankedList):
    """One ranking, of which only the first 50 ids and scores are written out. `n`: how many it has."""

    n: int


class MeasuredInspection(Inspection):
    """What was measured, with the lists cut short."""

    lists: tuple[ListedList, ...]


class InspectDocument(Model):
    """What `ragauge inspect --json` prints; the schema in the documentation is this one.

    `inspection`: what was measured; `report`: what that amounts to.
    """

    inspection: MeasuredInspection
    report: InspectionReport


def document(inspection: Inspection, found: InspectionReport) -> InspectDocument:
    """What was measured and what it amounts to; of each list only the first 50 ids."""
    lists = tuple(
        ListedList(
            name=one.name, ids=one.ids[:N_LISTED], scores=one.scores[:N_LISTED], complete=one.complete, n=len(one.ids)
        )
        for one in inspection.lists
    )
    return InspectDocument(inspection=MeasuredInspection(**dict(inspection) | {"lists": lists}), report=found)


def terminal(inspection: Inspection, found: InspectionReport) -> Group:
    """Nearest chunks, where the gold chunks stand in each list, what would bring them in."""
    parts: list[Any] = [Text(display(inspection.question), style="bold")]
    knobs = {
        key: inspection.settings[key] for key in ("retrieval", "k", "rerank", "embedder") if key in inspection.settings
    }
    if knobs:
        parts.append(Text(", ".join(f"{key}={value}" for key, value in knobs.items()), style="dim"))
    parts += [Text(), _nearest(inspection, found)]
    if found.copies:
        parts.append(Text(f"Say the same as one before them: {', '.join(found.copies)}", style="yellow"))
    parts += [Text(), *_gold(found)]
    parts += [Text(f"Re-ranker, before → after: {found.rerank}."), Text(f"HyDE against the question: {found.hyde}.")]
    parts += [Text(f"Note: {display(note)}.", style="dim") for note in found.notes]
    return Group(*parts)


def _nearest(inspection: Inspection, found: InspectionReport) -> Table:
    gold = {chunk.id for chunk in inspection.gold}
    table = Table(box=None, pad_edge=False, header_style="bold", padding=(0, 2, 0, 0))
    table.add_column("rank", justify="right")
    table.add_column("score", justify="right")
    table.add_column("chunk", overflow="fold")
    table.add_column("flaws", overflow="fold")
    table.add_column("text", overflow="ellipsis", no_wrap=True, max_width=90)
    for chunk in inspection.nearest:
        if chunk.rank == inspection.k + 1:
            table.add_row("", "", Text(f"— below the cut (k = {inspection.k}) —", style="dim"), "", "")
        mark = "★ " if chunk.id in gold else ""
        table.add_row(
            Text(str(chunk.rank)),
            Text("—" if chunk.score is None else f"{chunk.score:.4f}"),
            Text(mark + display(chunk.id), style="green" if mark else ""),
            Text(", ".join(found.nearest_artefacts.get(chunk.id, ())), style="yellow"),
            Text(" ".join(display(chunk.text[:300]).split()), style="dim"),
        )
    return table


def _gold(found: InspectionReport) -> list[Any]:
    if not found.gold:
        return [Text("No gold chunk to look for: give --gold QUOTE or ID, or --run RUN --id ID.", style="yellow")]
    names = list(dict.fromkeys(name for one in found.gold for name in one.ranks))
    table = Table(box=None, pad_edge=False, header_style="bold", padding=(0, 2, 0, 0))
    for title in ("gold chunk ★", *names, "flaws"):
        table.add_column(title, justify="right" if title in names else "left", overflow="fold")
    for one in found.gold:
        ranks = [Text("—" if one.ranks[name] is None else str(one.ranks[name])) for name in names]
        table.add_row(Text(display(one.id)), *ranks, Text("; ".join(map(display, one.artefacts)), style="yellow"))
    parts: list[Any] = [table]
    for number, part in enumerate(found.parts, start=1):
        label = f"Passage {number}: " if len(found.parts) > 1 else ""
        parts.append(Text(label + display(part.verdict) + ".", style="green" if part.retrieved_at else "bold red"))
        for remedy in part.remedies:
            where = "in no place" if remedy.rank is None else f"rank {remedy.rank}"
            parts.append(Text(f"  {'✓' if remedy.works else '✗'} {remedy.what}: {where}", style="dim"))
    return parts
