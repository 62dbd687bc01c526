"""Many configurations on the same questions: which is best, is that more than luck, and what does it cost?"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from ragauge.analysis.columns import RunTable, tabulate
from ragauge.analysis.difference import SMALLEST, Difference, Measured, conclude_all, measure, pair
from ragauge.analysis.pairing import pair_items, warnings, why_not_comparable
from ragauge.analysis.summarise import summarise_table
from ragauge.analysis.sweep_choice import Choice
from ragauge.analysis.sweep_table import CellMetric, CellResult, SweepTable
from ragauge.core.metric import parse_metric_key
from ragauge.core.model import Model
from ragauge.core.run import Manifest, Record
from ragauge.core.sample import Usage
from ragauge.errors import RunError, UnknownName
from ragauge.stats.multiplicity import benjamini_hochberg
from ragauge.store.sweepdir import SweepManifest

#: What decides between cells when nobody says: the first of these that every cell has. Correctness first, because it
#: counts every question: a declined one is wrong there, where faithfulness and the composite have no value at all.
QUALITIES = ("correctness", "composite", "faithfulness", "ndcg", "recall", "hit_rate")
#: The columns of the table when nobody names metrics; `quality` comes first.
HEADLINE = (
    "correctness", "composite", "completeness", "faithfulness", "context_precision", "context_recall", "ndcg",
    "recall", "abstention",
)  # fmt: skip


#: Shares of scored questions that differ by more than this are told.
UNEQUAL = 0.05


@dataclass(frozen=True)
class CellRun:
    """A cell's run: its manifest, and how to read its rows."""

    path: str
    manifest: Manifest
    records: Callable[[], Iterable[Record]]


@dataclass(frozen=True)
class Options:
    """`smallest`: the difference worth telling, as a share of a metric's range; `alpha`: of the corrected tests."""

    alpha: float = 0.05
    smallest: float = SMALLEST
    seed: int = 0
    quality: str | None = None
    problems: Mapping[str, str] | None = None


def read_sweep(
    manifest: SweepManifest, runs: Mapping[str, CellRun], n_index_builds: int, options: Options | None = None
) -> SweepTable:
    """The table of a sweep from its runs: values with intervals, differences to the base, what to choose.

    p-values of the quality metric are Holm-corrected over all cells (for the winner) and Benjamini–Hochberg-corrected
    (for the shortlist); those of the other metrics are Holm-corrected over all cells and metrics together.
    Raises `RunError` while the base cell has no rows, `UnknownName` for a quality metric that is not there.
    """
    options = options or Options()
    tables = {name: tabulate(run.manifest, run.records()) for name, run in runs.items()}
    tables = {name: table for name, table in tables.items() if table.n_rows}
    if manifest.base not in tables:
        raise RunError(
            f"the base cell {manifest.base} has no rows yet" + _why(options, manifest.base),
            hint="Go on with `ragauge sweep --resume`.",
        )
    quality = _quality(manifest, tables, options.quality)
    keys = _keys(manifest, tables, quality)
    measured, refused, told = _measured(manifest, tables, keys, options)
    differences = _concluded(measured, quality, options)
    shortlist = _shortlist(measured, quality, options.alpha)
    cells = [
        _cell(manifest, name, runs.get(name), tables.get(name), keys, differences, refused, options)
        for name in (cell.id for cell in manifest.cells)
    ]
    better = tables[manifest.base].columns[quality].spec.info.better
    choice = Choice(manifest, cells, quality, better, measured, shortlist, options.alpha, options.smallest)
    told += list(_unequal(manifest, cells, quality))
    return choice.table(keys, n_index_builds, told, list(_notes(manifest, cells)))


def _why(options: Options, cell: str) -> str:
    problem = (options.problems or {}).get(cell)
    return f" ({problem})" if problem else ""


def _quality(manifest: SweepManifest, tables: Mapping[str, RunTable], asked: str | None) -> str:
    base = tables[manifest.base]
    asked = asked or manifest.quality
    if asked is not None:
        hits = matching(asked, base.columns)
        if not hits:
            raise UnknownName("metric in this sweep", asked, base.columns)
        if base.columns[hits[0]].spec.info.better == "none":
            raise RunError(f"{asked} has no better or worse: choose another metric with --quality")
        return hits[0]
    with_values = [
        key
        for key, column in base.columns.items()
        if column.spec.info.better != "none" and all(t.columns[key].values for t in tables.values() if key in t.columns)
    ]
    everywhere = [key for key in with_values if all(key in table.columns for table in tables.values())]
    for name in QUALITIES:
        hits = [key for key in everywhere if parse_metric_key(key)[0] == name]
        if hits:
            return hits[0]
    if not everywhere:
        raise RunError("no metric was scored in every cell: nothing tells the cells apart")
    return everywhere[0]


def matching(name: str, keys: Iterable[str]) -> list[str]:
    """The keys that a name stands for: itself, or the same at both granularities.

    >>> matching("recall@5", ["recall@5:chunk", "recall@5:doc", "recall@10:doc"])
    ['recall@5:chunk', 'recall@5:doc']
    """
    asked = parse_metric_key(name)
    found = [key for key in keys if key == name]
    if found:
        return found
    return [
        key
        for key in keys
        if all(want is None or want == have for want, have in zip(asked, parse_metric_key(key), strict=True))
    ]


def _keys(manifest: SweepManifest, tables: Mapping[str, RunTable], quality: str) -> tuple[str, ...]:
    """The columns: what was named, else the headline metrics; the quality metric first."""
    there = list(dict.fromkeys(key for table in tables.values() for key in table.columns))
    if manifest.metrics:
        wanted = [key for name in manifest.metrics for key in matching(name, there)]
    else:
        wanted = [key for name in HEADLINE for key in there if parse_metric_key(key)[0] == name]
    return tuple(dict.fromkeys([quality, *wanted]))


_Cells = dict[tuple[str, str], Measured]


def _measured(
    manifest: SweepManifest, tables: Mapping[str, RunTable], keys: Sequence[str], options: Options
) -> tuple[_Cells, dict[tuple[str, str], str], list[str]]:
    """Every cell against the base: (cell, metric) → what was measured, or why it cannot be."""
    base = tables[manifest.base]
    measured: _Cells = {}
    refused: dict[tuple[str, str], str] = {}
    told: dict[str, list[str]] = {}
    for name, table in tables.items():
        if name == manifest.base:
            continue
        pairing = pair_items(_items(base), _items(table))
        for warning in warnings(base.manifest, table.manifest, pairing):
            told.setdefault(warning, []).append(name)
        for key in keys:
            problem = _problem(base, table, key)
            if problem is None:
                pairs = pair(base.columns[key].values, table.columns[key].values, pairing.shared, None)
                if pairs.ids:
                    info = base.columns[key].spec.info
                    measured[name, key] = measure(pairs, info, seed=options.seed, smallest=options.smallest)
                    continue
                problem = "no question was scored in both"
            refused[name, key] = problem
    return measured, refused, [f"{', '.join(cells)}: {warning}" for warning, cells in told.items()]


def _problem(base: RunTable, table: RunTable, key: str) -> str | None:
    if key not in base.columns or key not in table.columns:
        return "not computed in both"
    return why_not_comparable(base.columns[key].spec, table.columns[key].spec)


def _items(table: RunTable) -> dict[str, str]:
    known = table.manifest.dataset.items
    return {item: known.get(item, f"text:{table.questions[item]}") for item in table.ids}


def _concluded(measured: _Cells, quality: str, options: Options) -> dict[tuple[str, str], Difference]:
    """The quality metric is one family of tests, all the others another: what decides is not diluted by the rest."""
    found: dict[tuple[str, str], Difference] = {}
    for chosen in (True, False):
        family = [(place, one) for place, one in measured.items() if (place[1] == quality) is chosen]
        concluded = conclude_all(
            [(place[1], one) for place, one in family], alpha=options.alpha, smallest=options.smallest
        )
        found |= {place: one for (place, _), one in zip(family, concluded, strict=True)}
    return found


def _shortlist(measured: _Cells, quality: str, alpha: float) -> dict[str, tuple[float, bool]]:
    """Cell → Benjamini and Hochberg's p, and whether it is better than the base by it."""
    family = [(cell, one) for (cell, key), one in measured.items() if key == quality]
    adjusted = benjamini_hochberg([one.test.p for _, one in family])
    return {cell: (p, p < alpha and _signed(one) > 0) for (cell, one), p in zip(family, adjusted, strict=True)}


def _signed(one: Measured) -> float:
    """The difference, positive when it is an improvement."""
    return -one.estimate.value if one.info.better == "lower" else one.estimate.value


def _cell(
    manifest: SweepManifest,
    name: str,
    run: CellRun | None,
    table: RunTable | None,
    keys: Sequence[str],
    differences: Mapping[tuple[str, str], Difference],
    refused: Mapping[tuple[str, str], str],
    options: Options,
) -> CellResult:
    cell = manifest.cell(name)
    problem = (options.problems or {}).get(name)
    common: dict[str, Any] = {"id": name, "label": cell.label, "knobs": cell.knobs, "index": cell.index}
    if table is None:
        return CellResult(**common, state="missing", problem=problem, run=run.path if run is not None else None)
    summary = summarise_table(table)
    metrics = {
        key: CellMetric(
            estimate=result.estimate,
            n_asked=result.n_asked,
            unscored=result.unscored,
            difference=differences.get((name, key)),
            why_not_compared=refused.get((name, key)),
        )
        for key, result in summary.metrics.items()
    }
    ordered = {key: metrics[key] for key in keys if key in metrics} | metrics
    return CellResult(
        **common,
        state="complete" if summary.complete else "partial",
        run=run.path if run is not None else None,
        problem=problem,
        n_rows=table.n_rows,
        metrics=ordered,
        latency_p50_ms=summary.latency_ms.get("total_p50"),
        latency_p95_ms=summary.latency_ms.get("total_p95"),
        **_spent(table),
    )


def _spent(table: RunTable) -> dict[str, float | None]:
    rows = max(1, table.n_rows)
    system, judge = table.system_usage, table.judge_usage
    tokens = system.tokens_in + system.tokens_out
    return {
        "tokens": tokens / rows if _told(system) else None,
        "cost_usd": system.cost_usd / rows if system.cost_usd is not None else None,
        "judge_cost_usd": judge.cost_usd if _told(judge) else None,
    }


def _told(usage: Usage) -> bool:
    return bool(usage.calls or usage.cached_calls or usage.tokens_in or usage.tokens_out)


def _unequal(manifest: SweepManifest, cells: Sequence[CellResult], quality: str) -> Iterator[str]:
    """A metric that has no value where a system declines compares cells on what each of them dared to answer."""
    scored = {
        cell.id: found.estimate.n / found.n_asked
        for cell in cells
        if (found := cell.metrics.get(quality)) is not None and found.estimate is not None and found.n_asked
    }
    base = scored.get(manifest.base)
    apart = [cell for cell, share in scored.items() if base is not None and abs(share - base) > UNEQUAL]
    if base is not None and apart:
        low, high = min(scored[cell] for cell in apart), max(scored[cell] for cell in apart)
        span = f"{low:.0%}" if high - low < 0.005 else f"{low:.0%} to {high:.0%}"
        yield (
            f"{quality} was scored on {base:.0%} of the questions in the base, and on {span} in {len(apart)} other "
            "cells: differences are of the questions that both scored, and say nothing of those that only one did"
        )


def _notes(manifest: SweepManifest, cells: Sequence[CellResult]) -> Iterator[str]:
    yield from manifest.notes
    n = sum(cell.state != "complete" for cell in cells)
    if n:
        yield f"{n} of {len(cells)} cells are not finished: `--resume` goes on with them"


class Confirmation(Model):
    """The chosen cell against the base on questions that did not choose it: one test, nothing to correct for."""

    cell: str
    base: str
    part: Literal["dev", "test"]
    quality: str
    n_questions: int
    difference: Difference
    verdict: Literal["confirmed", "not confirmed", "too few questions to tell"]


def confirm(
    manifest: SweepManifest,
    cell: str,
    runs: Mapping[str, CellRun],
    quality: str,
    part: Literal["dev", "test"],
    options: Options | None = None,
) -> Confirmation:
    """Compare the runs of the base and of `cell` on the held-out half.

    confirmed: better, p < alpha and the interval excludes 0. not confirmed: worse, or the interval rules out an
    improvement of `smallest` of the range. Otherwise the held-out questions are too few.
    """
    options = options or Options()
    base, other = (tabulate(runs[name].manifest, runs[name].records()) for name in (manifest.base, cell))
    pairing = pair_items(_items(base), _items(other))
    pairs = pair(base.columns[quality].values, other.columns[quality].values, pairing.shared, None)
    if not pairs.ids:
        raise RunError(f"no held-out question was scored on {quality} in both cells")
    one = measure(pairs, base.columns[quality].spec.info, seed=options.seed, smallest=options.smallest)
    (found,) = conclude_all([(quality, one)], alpha=options.alpha, smallest=options.smallest)
    verdict: Literal["confirmed", "not confirmed", "too few questions to tell"] = "too few questions to tell"
    if found.verdict == "better":
        verdict = "confirmed"
    elif found.verdict in ("worse", "no measurable difference"):
        verdict = "not confirmed"
    return Confirmation(
        cell=cell,
        base=manifest.base,
        part=part,
        quality=quality,
        n_questions=len(pairs.ids),
        difference=found,
        verdict=verdict,
    )
