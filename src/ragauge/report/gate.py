"""A gate's verdict: in a terminal, as Markdown for a pull request, as JSON."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from rich.console import Group
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from ragauge.analysis.drops import any_false_alarm
from ragauge.analysis.gate_result import Check, GateResult
from ragauge.core.model import Model
from ragauge.report import markdown
from ragauge.report.compare import signed
from ragauge.report.words import count, number
from ragauge.text.normalise import display

_STYLE = {"pass": "green", "fail": "red", "inconclusive": "yellow"}
_MARK = {"pass": "✓", "fail": "✗", "inconclusive": "?"}
_HEAD = {"pass": "PASS", "fail": "FAIL", "inconclusive": "COULD NOT BE JUDGED"}
_ALERT = {"pass": "[!NOTE]", "fail": "[!CAUTION]", "inconclusive": "[!WARNING]"}

#: Exit codes, by verdict.
EXIT = {"pass": 0, "fail": 1, "inconclusive": 3}


def headline(result: GateResult) -> str:
    """One line: the verdict and what decided it."""
    bad = [check for check in result.checks if check.verdict == "fail"]
    unknown = [check for check in result.checks if check.verdict == "inconclusive"]
    n_passed = len(result.checks) - len(bad) - len(unknown)
    parts = []
    if bad:
        parts.append(f"{count(len(bad), 'check')} failed ({_names(bad)})")
    if unknown:
        parts.append(f"{count(len(unknown), 'check')} could not be judged ({_names(unknown)})")
    parts.append(f"{n_passed} passed")
    return f"{_HEAD[result.verdict]}: {', '.join(parts)}"


def _names(checks: list[Check]) -> str:
    return ", ".join(check.name for check in checks[:5]) + (" …" if len(checks) > 5 else "")


def advice(result: GateResult) -> Iterator[str]:
    """What a reader should know beside the checks."""
    alarms = [check.false_alarm for check in result.checks if check.false_alarm is not None]
    if alarms:
        yield (
            f"The point rule on {count(len(alarms), 'metric')} fails up to {any_false_alarm(alarms):.0%} of the runs "
            "in which nothing changed; the confidence rule does not."
        )
    needed = [check.n_needed for check in result.checks if check.verdict == "inconclusive" and check.n_needed]
    if needed:
        yield (
            f"{result.n_questions} questions cannot decide every check; about {max(needed)} would. "
            "Add questions, repeat the run, or set a wider margin."
        )
    yield from result.warnings


def terminal(result: GateResult) -> Group:
    """Verdict, checks, the questions behind what failed."""
    table = Table(box=None, pad_edge=False, header_style="bold", padding=(0, 2, 0, 0))
    for name, justify in (
        ("check", "left"),
        ("observed", "right"),
        ("interval", "right"),
        ("limit", "right"),
        ("", "left"),
    ):
        table.add_column(name, justify=justify, no_wrap=bool(name))  # type: ignore[arg-type]
    for check in _ordered(result):
        mark = Text(f"{_MARK[check.verdict]} {display(check.name)}", style=_STYLE[check.verdict])
        table.add_row(mark, _observed(check), _interval(check), _limit(check), Text(display(check.reason)))
    parts: list[Text | Table | Padding] = [
        Text(display(headline(result)), style=f"bold {_STYLE[result.verdict]}"),
        Text(
            f"run {display(result.run)}" + (f" against baseline {display(result.baseline)}" if result.baseline else "")
        ),
        Text(),
        table,
    ]
    for check in _ordered(result):
        if check.questions:
            parts += [Text(), Text(display(check.name), style="bold")]
            parts += [Padding(_question(q.id, q.question, q.why), (0, 0, 0, 1)) for q in check.questions]
    notes = list(advice(result))
    return Group(*parts, *([Text()] if notes else []), *(Text(display(note), style="yellow") for note in notes))


def _question(item: str, question: str, why: str) -> Text:
    line = Text("✗ ", style="red")
    line.append(display(item), style="bold")
    line.append(f"  {' '.join(display(question).split())[:100]}")
    if why:
        line.append(f"\n    {' '.join(display(why).split())[:300]}", style="dim")
    return line


def _ordered(result: GateResult) -> list[Check]:
    order = {"fail": 0, "inconclusive": 1, "pass": 2}
    return sorted(result.checks, key=lambda check: order[check.verdict])


def _observed(check: Check) -> str:
    if check.observed is None:
        return "—"
    if check.kind == "drop":
        return signed(-check.observed)
    return f"{check.observed:g}" if check.kind in ("cost", "latency", "complete") else number(check.observed)


def _interval(check: Check) -> str:
    if check.low is None or check.high is None:
        return ""
    if check.kind == "drop":
        return f"{signed(-check.high)} … {signed(-check.low)}"
    return f"{check.low:.3f} – {check.high:.3f}"


def _limit(check: Check) -> str:
    if check.limit is None:
        return ""
    if check.kind == "drop":
        return f"≥ {signed(-check.limit)}"
    at_most = check.kind in ("errors", "cost", "latency") or check.name.startswith("ceiling")
    return f"{'≤' if at_most else '≥'} {check.limit:g}"


def as_markdown(result: GateResult, limit: int = markdown.COMMENT_LIMIT) -> str:
    """A comment for a pull request: marker, verdict, checks, questions folded; fits into `limit` characters."""
    t = markdown.text
    blocks: list[list[str]] = [
        [
            markdown.marker(result.suite),
            f"> {_ALERT[result.verdict]}",
            f"> **ragauge gate: {t(headline(result), 600)}**",
            "",
            f"Run {markdown.code(result.run)}"
            + (f" against baseline {markdown.code(result.baseline)}" if result.baseline else "")
            + f", {count(result.n_questions, 'question')}.",
            "",
            *(f"- {t(note, 400)}" for note in advice(result)),
            "",
        ]
    ]
    rows = [
        (
            f"{_MARK[check.verdict]} {markdown.code(check.name)}",
            _observed(check),
            _interval(check),
            _limit(check),
            t(check.reason, 300),
        )
        for check in _ordered(result)
    ]
    shown, folded = rows[:30], rows[30:]
    head = ("check", "observed", "interval", "limit", "why")
    blocks.append([*markdown.table(head, shown, right=(1, 2, 3)), ""])
    for check in _ordered(result):
        if check.questions:
            lines = [
                f"- **{t(q.id, 80)}** {t(q.question, 160)}" + (f"<br>{t(q.why, 300)}" if q.why else "")
                for q in check.questions
            ]
            blocks.append(markdown.details(f"{t(check.name)}: questions to look at", lines))
    if folded:
        blocks.append(markdown.details(f"{len(folded)} more checks", markdown.table(head, folded, right=(1, 2, 3))))
    return markdown.fitted(blocks, limit)


class _OfRun(Model):
    run_path: str


class GateDocument(GateResult, _OfRun):
    """What `ragauge gate --json` prints; the schema in the documentation is this one. `run_path`: the directory of the
    run that was judged. `fail` if any check fails, else `inconclusive` if any could not be judged, else `pass`.
    """


def document(result: GateResult, path: Path) -> GateDocument:
    """The verdict and its checks, with everything else that the gate knows."""
    return GateDocument(run_path=str(path), **dict(result))
