"""`ragauge explain METRIC`: what a metric means, and a worked example; without a metric, the list of all."""

from __future__ import annotations

import dataclasses
import inspect
import textwrap
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import click

from ragauge.cli.common import emit_json, json_option, printable

if TYPE_CHECKING:
    from ragauge.report.worked import Explanation, Worked

_WIDTH = 100


@click.command("explain")
@click.argument("metrics", nargs=-1, metavar="[METRIC]...")
@click.option("--retrieved", metavar="IDS", help="Work it out on this list instead: B,A,D, best first.")
@click.option("--relevant", metavar="IDS", help="The relevant ids: A,C, or with grades A=2,C=1.")
@click.option("--gain", type=click.Choice(["linear", "exp", "binary"]), default="linear", help="Gain in nDCG.")
@json_option
def command(metrics: tuple[str, ...], retrieved: str | None, relevant: str | None, gain: str, as_json: bool) -> int:
    """Say what a metric measures: definition, formula, range, needs, source, and a worked example.

    METRIC may hold its cut-off: `ragauge explain ndcg@5 --retrieved B,A,D --relevant A,C`. Without METRIC, all metrics
    are listed.
    """
    from ragauge.errors import UsageError

    if not metrics:
        if retrieved is not None or relevant is not None:
            raise UsageError("which metric?", hint="For example: ragauge explain ndcg@5 --retrieved B,A --relevant A")
        return _list(as_json)
    case = _case(retrieved, relevant)
    found = [_explain(metric, case, gain) for metric in metrics]
    if as_json:
        from ragauge.report.worked import ExplainedMetrics

        documents = tuple(explanation.document() for explanation in found)
        made = documents[0] if len(documents) == 1 else ExplainedMetrics(metrics=documents)
        emit_json(made.model_dump(mode="json"))
        return 0
    for place, explanation in enumerate(found):
        if place:
            click.echo()
        for line in _lines(explanation):
            click.echo(printable(line))
    return 0


def _case(retrieved: str | None, relevant: str | None) -> tuple[list[str], dict[str, float]]:
    from ragauge.errors import UsageError
    from ragauge.report.worked import RELEVANT, RETRIEVED

    ids = list(RETRIEVED) if retrieved is None else _split(retrieved)
    if relevant is None:
        return ids, dict(RELEVANT)
    grades: dict[str, float] = {}
    for part in _split(relevant):
        id, equals, grade = part.rpartition("=")
        graded = bool(equals) and grade.isascii() and grade.isdigit()
        if equals and not graded and _is_number(grade):
            raise UsageError(
                f"--relevant: the grade of {id!r} is {grade!r}", hint="Grades are whole numbers from 0: A=2,C=1."
            )
        grades[id if graded else part] = int(grade) if graded else 1
    return ids, grades


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _split(text: str) -> list[str]:
    return [part.strip() for part in text.split(",") if part.strip()]


def _explain(key: str, case: tuple[list[str], dict[str, float]], gain: str) -> Explanation:
    from ragauge.registry import load
    from ragauge.report.worked import explain

    name, k, level = _parse(key)
    factory = load("metrics", name)
    fields = {field.name: field for field in dataclasses.fields(factory)} if dataclasses.is_dataclass(factory) else {}
    _check_parameters(key, name, fields, k, level)
    parameters = {name: field.default for name, field in fields.items() if field.default is not dataclasses.MISSING}
    chosen = {"k": k, "level": level, "gain": gain if "gain" in fields else None}
    parameters |= {field: value for field, value in chosen.items() if value is not None}
    return explain(
        name,
        factory,
        parameters=parameters,
        worked=_worked(name, k, "k" in fields, case, gain),
        scripted=_scripted(factory),
    )


def _parse(key: str) -> tuple[str, int | None, str | None]:
    """Name, k and granularity of a metric in our spelling, or in another tool's when it is one of the ranking's."""
    from ragauge.core.metric import parse_metric_key
    from ragauge.errors import UnknownName, UsageError
    from ragauge.ranking.measures import parse_measure
    from ragauge.registry import names

    try:
        name, k, level = parse_metric_key(key)
    except ValueError as error:
        raise UsageError(str(error)) from None
    known = names("metrics")
    if name in known:
        return name, k, level
    try:
        measure = parse_measure(key.partition(":")[0])
    except UnknownName:
        raise UnknownName("metric", name, known) from None
    if measure.name not in known:
        raise UnknownName("metric", name, known)
    return measure.name, measure.k, level


def _check_parameters(key: str, name: str, fields: Mapping[str, Any], k: int | None, level: str | None) -> None:
    from ragauge.errors import UsageError

    for given, field, what in ((k, "k", "cut-off"), (level, "level", "granularity")):
        if given is not None and field not in fields:
            raise UsageError(f"{key!r}: {name} has no {what}", hint=f"Write {name!r}.")


def _worked(
    name: str, k: int | None, cut: bool, case: tuple[list[str], dict[str, float]], gain: str
) -> Sequence[Worked]:
    from ragauge.report.worked import DEFAULT_K, work_out

    retrieved, relevant = case
    cutoffs: list[int | None] = [None]
    if k is not None:
        cutoffs = [k]
    elif cut and name not in ("reciprocal_rank", "average_precision", "coverage"):
        # Recall is where a cut-off matters most: shown at two.
        cutoffs = [DEFAULT_K, 3] if name == "recall" else [DEFAULT_K]
    examples = [work_out(name, cutoff, retrieved, relevant, gain=gain) for cutoff in cutoffs]
    return [example for example in examples if example is not None]


def _scripted(factory: Any) -> dict[str, Any] | None:
    """The score that the metric itself gives on the sample that its class offers, if it offers one."""
    if not hasattr(factory, "example"):
        return None
    import asyncio

    from ragauge.core.score import SCORE

    metric, sample = factory.example()
    score = metric.score(sample)
    if inspect.isawaitable(score):

        async def wait() -> Any:
            return await score

        score = asyncio.run(wait())
    return {
        "question": sample.item.question,
        "answer": sample.response.answer,
        "score": SCORE.dump_python(score, mode="json"),
    }


def _lines(explanation: Explanation) -> list[str]:
    info, sections = explanation.info, explanation.sections
    better = {"higher": "higher is better", "lower": "lower is better", "none": "neither direction is better"}
    facts = [
        ("range", f"{info.low:g} to {info.high:g}, {better[info.better]} ({info.kind})"),
        ("half", info.half),
        ("needs", ", ".join(sorted(info.needs)) or "nothing"),
        ("uses", ", ".join(sorted(info.uses))),
        ("parameters", ", ".join(f"{name}={value}" for name, value in explanation.parameters.items())),
        ("formula", sections.get("formula", "")),
        ("edge cases", sections.get("edge_cases", "")),
        ("cost", sections.get("cost", "")),
        ("source", sections.get("source") or info.source),
    ]
    lines = [f"{explanation.name}: {info.title}", "", *textwrap.wrap(explanation.definition, _WIDTH), ""]
    for name, text in facts:
        if text:
            lines += textwrap.wrap(text, _WIDTH, initial_indent=f"{name:<12}", subsequent_indent=" " * 12)
    for example in explanation.worked:
        lines += ["", *_worked_lines(example)]
    if explanation.scripted is not None:
        lines += ["", "Scored now:", *(f"  {key}: {value}" for key, value in explanation.scripted.items())]
    elif not explanation.worked and sections.get("example"):
        lines += ["", *textwrap.wrap(f"Example: {sections['example']}", _WIDTH)]
    return lines


def _worked_lines(example: Worked) -> list[str]:
    from ragauge.report.worked import shown

    relevant = ", ".join(id if grade == 1 else f"{id} (grade {shown(grade)})" for id, grade in example.relevant.items())
    return [
        f"Worked example: retrieved [{', '.join(example.retrieved)}], relevant {{{relevant}}}",
        *(f"  {step}" for step in example.steps),
        f"  {example.measure} = {shown(example.value)}",
    ]


def _list(as_json: bool) -> int:
    from ragauge.registry import load, names

    cards = [(name, load("metrics", name).info) for name in names("metrics")]
    if as_json:
        from ragauge.report.worked import MetricCard, MetricList

        made = MetricList(metrics=tuple(MetricCard(metric=name, **dict(info)) for name, info in cards))
        emit_json(made.model_dump(mode="json"))
        return 0
    from rich.table import Table
    from rich.text import Text

    from ragauge.report.terminal import stdout_console

    table = Table(box=None, pad_edge=False, header_style="bold", padding=(0, 2, 0, 0))
    for column in ("metric", "what", "half", "better", "needs"):
        table.add_column(column, no_wrap=column == "metric")
    halves = ("retrieval", "generation", "both")
    for name, info in sorted(cards, key=lambda card: (halves.index(card[1].half), card[0])):
        needs = ", ".join(sorted(info.needs)) or "other metrics"
        table.add_row(name, Text(info.title), info.half, info.better, needs)
    console = stdout_console()
    console.print(table)
    console.print(Text("`ragauge explain METRIC` says what one means, with a worked example.", style="dim"))
    return 0
