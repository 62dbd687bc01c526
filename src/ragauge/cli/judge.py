"""`ragauge judge check | bench`: does a judge judge at all, and how often does it agree with people?"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeVar

import click

from ragauge.cli.common import emit_json, json_option

F = TypeVar("F", bound=Callable[..., Any])
_OPTIONS = (
    click.option(
        "--judge", default="embedded", show_default=True, help="Who is tried: embedded[:encoder], openai:NAME, …"
    ),
    click.option("--cache", metavar="PATH|URL", help="Where replies of models are kept and looked up."),
    click.option("--budget-usd", type=click.FloatRange(0, min_open=True), help="End before more is spent."),
    click.option("--budget-calls", type=click.IntRange(1), help="End before more calls are made."),
    click.option("--concurrency", type=click.IntRange(1), default=8, show_default=True, help="Questions at once."),
    json_option,
)


def _options(command: F) -> F:
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


@click.group("judge")
def command() -> None:
    """Try a judge: known cases (check), or texts that people have labelled (bench)."""


@command.command("check")
@_options
def check(as_json: bool, **options: Any) -> int:
    """Run the judge over answers with known verdicts: right, invented, contradicted, declining, partly cited.

    Exits with 1 when a case fails.
    """
    from ragauge.judges.selfcheck import self_check
    from ragauge.report import judge as report
    from ragauge.report.terminal import stdout_console

    judge = _judge(options)
    found = asyncio.run(self_check(judge))
    name = judge.info().name
    if as_json:
        emit_json(report.check_document(name, found.results).model_dump(mode="json"))
    else:
        stdout_console().print(report.check_terminal(name, found.results))
    return 0 if found.passed else 1


@command.command("bench")
@click.argument("data", type=click.Path(path_type=Path, exists=True))
@click.option("--limit", type=click.IntRange(1), help="Only the first N rows of each set.")
@click.option("--task", "tasks", multiple=True, help="Only this task (repeat for more): grounding, correctness, …")
@click.option("--seed", type=int, default=0, show_default=True, help="Of the intervals.")
@_options
def bench(data: Path, limit: int | None, tasks: tuple[str, ...], seed: int, as_json: bool, **options: Any) -> int:
    """Agreement of the judge with people's labels in DATA.

    DATA is a .jsonl or .jsonl.gz file, or a folder of them, with a row per text: id, task (grounding, citation,
    correctness, relevance, abstention), text, label (0 or 1), and contexts, question, reference as the task needs.
    """
    from ragauge.engine.judge_bench import TASKS, read_labelled
    from ragauge.errors import UnknownName
    from ragauge.report import judge as report
    from ragauge.report.terminal import stdout_console

    for task in tasks:
        if task not in TASKS:
            raise UnknownName("task", task, TASKS)
    sets = {name: rows for name, rows in read_labelled(data).items() if not tasks or rows[0].task in tasks}
    judge = _judge(options)
    card = judge.info()
    lines = asyncio.run(_lines(judge, sets, limit, seed, options["concurrency"]))
    if as_json:
        emit_json(report.bench_document(card, lines).model_dump(mode="json"))
    else:
        stdout_console().print(report.bench_terminal(card, lines))
    return 0


async def _lines(judge: Any, sets: Mapping[str, Any], limit: int | None, seed: int, concurrency: int) -> list[Any]:
    from ragauge.analysis.agreement import agreement_of
    from ragauge.engine.judge_bench import bench as bench_
    from ragauge.report.judge import BenchLine
    from ragauge.report.terminal import stderr_console

    console = stderr_console()
    trained = _trained_on(judge)
    lines = []
    async for outcome in bench_(judge, sets, limit=limit, concurrency=concurrency):
        scored = outcome.scored
        found = None
        if scored:
            found = agreement_of(
                outcome.probabilities, [one.row.label for one in scored],
                [one.row.group for one in scored], seed=seed,
            )  # fmt: skip
        is_model = outcome.usage.calls + outcome.usage.cached_calls > 0
        lines.append(
            BenchLine(
                name=outcome.name, task=outcome.task, n_asked=len(outcome.asked), agreement=found,
                unscored=outcome.unscored, claims_per_s=None if is_model else outcome.claims_per_s,
                latency_s=outcome.median_latency_s if is_model else None,
                calls=outcome.usage.calls, cost_usd=outcome.usage.cost_usd, trained_on=outcome.name in trained,
            )
        )  # fmt: skip
        console.print(f"{outcome.name}: {len(scored)} of {len(outcome.asked)} rows judged")
    return lines


def _judge(options: Mapping[str, Any]) -> Any:
    from ragauge.judges.factory import make_judge
    from ragauge.judges.wrappers.budgeted import Budget

    limits = {"max_usd": options["budget_usd"], "max_calls": options["budget_calls"]}
    budget = Budget(**limits) if any(limits.values()) else None
    return make_judge(options["judge"], cache=options["cache"], budget=budget)


def _trained_on(judge: Any) -> frozenset[str]:
    """Sets that the embedded judge's weights were fitted on; empty for other judges."""
    if judge.info().kind != "embedded":
        return frozenset()
    from ragauge.judges.embedded.model import text_of

    models = json.loads(text_of("weights.json"))["models"]
    return frozenset(name for model in models.values() for name in model["trained_on"])
