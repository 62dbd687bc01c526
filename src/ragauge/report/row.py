"""One row in full: question, answer, chunks, every score with every verdict."""

from __future__ import annotations

from rich.console import Group
from rich.padding import Padding
from rich.text import Text

from ragauge.core.run import Record
from ragauge.core.score import Scored, Unscored
from ragauge.report.words import number
from ragauge.text.normalise import display

_LABEL_STYLE = {"supported": "green", "useful": "green", "contradicted": "red", "not_mentioned": "yellow"}


def row_report(record: Record) -> Group:
    """Everything that the row holds, for a person."""
    sample = record.sample
    parts: list[Text | Padding] = [Text(f"{display(sample.item.id)}", style="bold")]
    parts.append(_field("Question", sample.item.question))
    parts.append(_field("Answer", sample.response.answer if sample.response.answer is not None else "(none)"))
    if sample.item.answer is not None:
        parts.append(_field("Reference", sample.item.answer))
    if record.error:
        parts.append(_field("Error", record.error, "red"))
    parts += _chunks(record)
    parts.append(Text("Scores", style="bold"))
    for key, score in record.scores.items():
        parts += _score(key, score)
    parts += [Padding(Text(display(warning), style="yellow"), (0, 0, 0, 1)) for warning in record.warnings]
    return Group(*parts, Text())


def _field(name: str, text: str, style: str = "") -> Text:
    line = Text(f"{name}: ", style="bold")
    line.append("\n".join(display(part) for part in text.split("\n")), style=style)
    return line


def _chunks(record: Record) -> list[Text | Padding]:
    context = record.sample.response.context
    if context is None:
        return []
    grades = record.sample.labels.chunks or {}
    documents = record.sample.labels.documents or {}
    parts: list[Text | Padding] = [Text(f"Retrieved ({len(context)})", style="bold")]
    for chunk in context:
        gold = " ★" if grades.get(chunk.id, 0) > 0 else (" ☆" if documents.get(chunk.document or "", 0) > 0 else "")
        head = Text(f"[{chunk.rank}] {display(chunk.id)}{gold}", style="cyan")
        if chunk.score is not None:
            head.append(f"  score {number(chunk.score)}", style="dim")
        text = " ".join(display(chunk.text).split())
        parts += [
            Padding(head, (0, 0, 0, 1)),
            Padding(Text(text[:300] + ("…" if len(text) > 300 else "")), (0, 0, 0, 3)),
        ]
    if any("★" in part.plain for part in parts if isinstance(part, Text)) or grades or documents:
        parts.append(Padding(Text("★ gold chunk, ☆ from a gold document", style="dim"), (0, 0, 0, 1)))
    return parts


def _score(key: str, score: Scored | Unscored) -> list[Text | Padding]:
    if isinstance(score, Unscored):
        why = score.reason.value.replace("_", " ") + (f": {display(score.detail)}" if score.detail else "")
        return [Padding(Text(f"{key}: not scored ({why})", style="dim"), (0, 0, 0, 1))]
    parts: list[Text | Padding] = [Padding(Text(f"{key} = {number(score.value)}"), (0, 0, 0, 1))]
    for verdict in score.verdicts:
        line = Text(f"{verdict.label.replace('_', ' ')}: ", style=_LABEL_STYLE.get(verdict.label, "dim"))
        line.append(" ".join(display(verdict.claim or verdict.id).split()))
        if verdict.evidence:
            line.append(f"  ← {display(verdict.evidence)}", style="cyan")
        if verdict.reason:
            line.append(f"  ({display(verdict.reason)})", style="dim")
        parts.append(Padding(line, (0, 0, 0, 4)))
    return parts
