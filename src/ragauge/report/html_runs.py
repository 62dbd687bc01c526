"""The list of runs as a view model: one line for each, and every metric over them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ragauge.analysis.gate_result import GateResult
from ragauge.core.metric import base_name
from ragauge.core.run import Manifest, Summary
from ragauge.diagnose.history import History, history
from ragauge.report.html_trend import Spark, sparks
from ragauge.report.words import interval, number

#: Metrics that stand in the list, those with a threshold first.
N_KEYS = 3


@dataclass(frozen=True)
class RunLine:
    """One run. `scored`/`errors` count scores over all metrics. `gate`: pass, fail, inconclusive or nothing."""

    run: str
    created: str
    name: str
    dataset: str
    system: str
    judge: str
    n_rows: str
    complete: bool
    scored: int
    errors: int
    cost: str
    gate: str
    gate_why: str
    metrics: tuple[tuple[str, str, str], ...]
    problem: str = ""


@dataclass(frozen=True)
class Trends:
    """Metrics over the runs, and the one to work on."""

    sparks: tuple[Spark, ...]
    history: History


def run_line(
    manifest: Manifest, summary: Summary | None, gate: GateResult | None = None, keys: Sequence[str] = ()
) -> RunLine:
    """One run of the list; `keys`: the metrics whose values are shown."""
    results = summary.metrics if summary is not None else {}
    totals = (summary.usage, summary.system_usage) if summary is not None else ()
    spent = [one.cost_usd for one in totals if one.cost_usd is not None]
    failed = [check for check in gate.checks if check.verdict == gate.verdict] if gate else []
    judge = manifest.judge
    return RunLine(
        run=manifest.run,
        created=manifest.created[:16].replace("T", " "),
        name=manifest.run[20:].rpartition("-")[0] or manifest.run,
        dataset=manifest.dataset.name,
        system=manifest.system.name,
        judge=(judge.name + (f" ({judge.model})" if judge.model else "")) if judge else "none",
        n_rows=str(summary.n_rows) if summary is not None else "—",
        complete=summary.complete if summary is not None else False,
        scored=sum(result.n for result in results.values()),
        errors=sum(result.n_errors for result in results.values()),
        cost=f"${sum(spent):.4f}" if spent else "—",
        gate=gate.verdict if gate else "",
        gate_why="; ".join(check.name for check in failed[:4]) if gate and gate.verdict != "pass" else "",
        metrics=tuple(
            (key, number(results[key].value), interval(results[key].estimate)) if key in results else (key, "—", "")
            for key in keys
        ),
    )


def trends_of(runs: Sequence[tuple[Manifest, Summary]]) -> Trends:
    """`runs` oldest first."""
    found = history(runs)
    return Trends(sparks(found.trends), found)


def keys_of(summaries: Sequence[Summary], n: int = N_KEYS) -> tuple[str, ...]:
    """The metrics that most of these runs have, those with a threshold first."""
    counts: dict[str, tuple[int, int]] = {}
    for summary in summaries:
        for key, result in summary.metrics.items():
            limited, n_runs = counts.get(key, (0, 0))
            counts[key] = (limited + (result.threshold is not None), n_runs + 1)
    places = {key: place for place, key in enumerate(counts)}
    ranked = sorted(counts, key=lambda key: (-min(1, counts[key][0]), -counts[key][1], places[key]))
    first: dict[str, str] = {}  # of recall@5:chunk and recall@5:doc, one
    for key in ranked:
        first.setdefault(base_name(key), key)
    return tuple(first.values())[:n]
