"""Review items and the state of a review queue for the terminal."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rich.console import Group
from rich.table import Table
from rich.text import Text

from ragauge.report.words import count, interval, number
from ragauge.text.normalise import display

#: What may be said of each metric; anything that `calibrate` reads is accepted.
MENUS = {
    "faithfulness": "faithful | unfaithful | unsure",
    "correctness": "correct | partial | wrong | unsure",
    "context_precision": "relevant | irrelevant | unsure",
    "context_sufficiency": "sufficient | insufficient | unsure",
    "golden": "promote | reject",
}
#: The question that a reviewer answers.
ASKED = {
    "faithfulness": "Is every claim of the answer supported by the passages?",
    "correctness": "Is the answer right, going by the reference?",
    "context_precision": "Is the passage useful for answering the question?",
    "context_sufficiency": "Do the passages together hold enough to answer?",
    "golden": "Does this question belong into the golden set?",
}


def lines_of(text: object) -> str:
    """Somebody's text with control characters visible, line ends kept."""
    return "\n".join(display(line) for line in str(text).split("\n"))


def item_report(shown: Mapping[str, Any], *, labelled: int, budget: int | None) -> Group:
    """One item to label: what is asked, why it is here, and everything needed to answer."""
    metric = str(shown["metric"]).partition("@")[0].partition(":")[0]
    parts = [
        Text(ASKED.get(metric, f"Does this answer pass {metric}?"), style="bold"),
        Text(f"{display(str(shown['item']))} · {display(str(shown['reason']))}", style="dim"),
        Text(),
    ]
    for name in ("question", "text", "answer", "reference"):
        if shown.get(name):
            parts += [Text(name.capitalize(), style="cyan"), Text(lines_of(shown[name])), Text()]
    for chunk in shown.get("contexts") or ():
        mark = "→ " if shown.get("target") == chunk.get("id") else ""
        parts.append(Text(f"{mark}Passage {chunk.get('rank')} · {display(str(chunk.get('id')))}", style="cyan"))
        parts += [Text(lines_of(chunk.get("text", ""))), Text()]
    if shown.get("verdict") is not None:
        parts += [Text("Judge", style="cyan"), Text(lines_of(verdict_lines(shown["verdict"]))), Text()]
    today = f"{labelled} of {budget} today" if budget is not None else f"{labelled} today"
    parts.append(Text(f"{MENUS.get(metric, 'pass | fail | unsure')}   ({shown['id']}; {today})", style="dim"))
    return Group(*parts)


def verdict_lines(verdict: Any) -> str:
    """What the judge said, a line for each claim."""
    if not isinstance(verdict, Mapping):
        return str(verdict)
    if "unscored" in verdict:
        return f"no verdict: {verdict['unscored']}"
    lines = [f"value {number(verdict.get('value'))}"]
    lines += [
        f"{one.get('label')}: {one.get('claim') or one.get('id')}"
        + (f" ({one['reason']})" if one.get("reason") else "")
        for one in verdict.get("verdicts") or ()
        if isinstance(one, Mapping)
    ]
    return "\n".join(lines)


def stats_report(stats: Any) -> Group:
    """The state of a queue."""
    head = [
        f"Queue      {stats.where}",
        f"Items      {stats.n_open} open, {stats.n_done} done, {stats.n_leased} being looked at",
        f"Labels     {stats.n_labels}",
    ]
    if stats.n_twice:
        alpha = f"; Krippendorff's alpha {number(stats.alpha)}" if stats.alpha is not None else ""
        said = f"{number(stats.agreement.value, 2)} ({interval(stats.agreement)})"
        head.append(f"Agreement  {said} on {count(stats.n_twice, 'item')} labelled by several{alpha}")
    parts: list[Text | Table] = [Text(lines_of("\n".join(head))), Text(), _sources(stats)]
    if stats.reviewers:
        table = _table("reviewer", "labels", "today")
        for name, row in stats.reviewers.items():
            table.add_row(Text(display(name)), str(row["labels"]), str(row["today"]))
        parts += [Text(), table]
    if stats.disputes:
        table = _table("item", "metric", "who says what")
        for one in stats.disputes:
            said = ", ".join(f"{name}: {label}" for name, label in one.labels.items())
            table.add_row(Text(display(one.item)), one.metric, Text(display(said)))
        parts += [Text(), Text("To be settled (`review label … --adjudicate`)", style="bold"), table]
    for name, items in stats.patterns.items():
        parts.append(Text(f"Systematic: {display(name)}: {count(len(items), 'item')}", style="yellow"))
    return Group(*parts)


def _sources(stats: Any) -> Table:
    table = _table("source", "open", "done")
    for source, states in stats.by_source.items():
        table.add_row(source.replace("_", " "), str(states.get("open", 0)), str(states.get("done", 0)))
    return table


def _table(*names: str) -> Table:
    table = Table(box=None, pad_edge=False, header_style="bold", padding=(0, 2, 0, 0))
    for place, name in enumerate(names):
        table.add_column(name, justify="right" if place and name not in ("metric", "who says what") else "left")
    return table
