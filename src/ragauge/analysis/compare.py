"""Two or more runs, question by question: is the change real or noise?"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass

from ragauge.analysis.columns import RunTable, tabulate
from ragauge.analysis.difference import SMALLEST, Difference, Measured, conclude_all, measure, pair
from ragauge.analysis.flips import FlipReason, Flips, explain_rows, flips_of, wanted
from ragauge.analysis.pairing import (
    Pairing,
    asks_a_judge,
    changed_settings,
    judge_change,
    pair_items,
    warnings,
    why_not_comparable,
)
from ragauge.analysis.slices import differences_by_tag, tags_of
from ragauge.core.metric import names_of
from ragauge.core.model import Model
from ragauge.core.run import Manifest, Record
from ragauge.core.score import Kind, kind_of

#: When more than this share of the shared questions could not be judged in one of the runs, it is said.
MANY_ERRORS = 0.05


@dataclass(frozen=True)
class Source:
    """A run to compare: its name, manifest, and how to read its rows (twice: for numbers, then for reasons)."""

    name: str
    manifest: Manifest
    records: Callable[[], Iterable[Record]]


class SideBySide(Model):
    """A cost, a count of tokens or a latency in both runs; None: not known."""

    a: float | None
    b: float | None


class Comparison(Model):
    """Run B against run A. JSON: see DESIGN §6; `not_compared` says why a metric is missing."""

    a: str
    b: str
    metrics: dict[str, Difference]
    flips: dict[str, Flips]
    reasons: dict[str, dict[str, FlipReason]]
    slices: dict[str, dict[str, Difference]]
    usage: dict[str, SideBySide]
    changed: tuple[str, ...]
    not_compared: dict[str, str]
    warnings: tuple[str, ...]
    n_shared: int
    changed_items: tuple[str, ...] = ()
    only_a: tuple[str, ...] = ()
    only_b: tuple[str, ...] = ()
    smallest: float = SMALLEST
    alpha: float = 0.05


@dataclass(frozen=True)
class Options:
    """`smallest`: the difference worth telling, as a share of a metric's range. `metrics`: only these (recall@5:doc,
    recall@5 or recall).

    `by_document`: the documents are a sample of many more, so questions about one document count as one cluster. By
    default the documents are the ones that the system serves, and questions are independent: design/paired-intervals.
    """

    level: float = 0.95
    alpha: float = 0.05
    smallest: float = SMALLEST
    seed: int = 0
    metrics: tuple[str, ...] = ()
    include_changed: bool = False
    by_document: bool = False


@dataclass
class _Part:
    table: RunTable
    pairing: Pairing
    measured: dict[str, Measured]
    not_compared: dict[str, str]
    notes: list[str]


def compare(base: Source, others: Iterable[Source], options: Options | None = None) -> list[Comparison]:
    """Compare each of `others` with `base`. p-values are Holm-corrected over all metrics and all runs together."""
    options = options or Options()
    table = tabulate(base.manifest, base.records())
    contenders = list(others)
    parts = [_measure(table, tabulate(other.manifest, other.records()), options) for other in contenders]
    together = [(place, key, one) for place, part in enumerate(parts) for key, one in part.measured.items()]
    concluded = conclude_all([(key, one) for _, key, one in together], alpha=options.alpha, smallest=options.smallest)
    found = {(place, key): one for (place, key, _), one in zip(together, concluded, strict=True)}
    return [
        _comparison(base, other, table, part, {key: found[place, key] for key in part.measured}, options)
        for place, (other, part) in enumerate(zip(contenders, parts, strict=True))
    ]


def _measure(a: RunTable, b: RunTable, options: Options) -> _Part:
    pairing = pair_items(_items(a), _items(b), include_changed=options.include_changed)
    part = _Part(b, pairing, {}, {}, list(warnings(a.manifest, b.manifest, pairing)))
    if options.include_changed and pairing.changed:
        part.notes.append("Changed questions are compared as if they were the same (--include-changed).")
    clusters = a.clusters if options.by_document else None
    for key in _keys(a, b, options, part):
        one, other = a.columns[key], b.columns[key]
        pairs = pair(one.values, other.values, pairing.shared, clusters)
        if not pairs.ids:
            part.not_compared[key] = "no question was scored in both runs"
            continue
        part.measured[key] = measure(
            pairs, one.spec.info, level=options.level, seed=options.seed, smallest=options.smallest
        )
        part.notes += _lost(key, a, b, pairing)
    return part


def _items(table: RunTable) -> dict[str, str]:
    """Id → content fingerprint, of the questions that have rows; the question's text where none is recorded."""
    known = table.manifest.dataset.items
    return {item: known.get(item, f"text:{table.questions[item]}") for item in table.ids}


def _keys(a: RunTable, b: RunTable, options: Options, part: _Part) -> Iterator[str]:
    for key in [*a.columns, *(key for key in b.columns if key not in a.columns)]:
        if options.metrics and not set(names_of(key)) & set(options.metrics):
            continue
        if key not in a.columns or key not in b.columns:
            part.not_compared[key] = f"only in the {'first' if key in a.columns else 'second'} run"
            continue
        problem = why_not_comparable(a.columns[key].spec, b.columns[key].spec)
        if problem:
            part.not_compared[key] = problem
        else:
            yield key
    for name in options.metrics:
        if not any(name in names_of(key) for key in (*a.columns, *b.columns)):
            part.not_compared[name] = "in neither run"


def _lost(key: str, a: RunTable, b: RunTable, pairing: Pairing) -> Iterator[str]:
    """Errors drop pairs, and not at random: say so when they are many."""
    for name, table in (("first", a), ("second", b)):
        reasons = [table.columns[key].unscored.get(item) for item in pairing.shared]
        n_errors = sum(reason is not None and kind_of(reason) is not Kind.NOT_APPLICABLE for reason in reasons)
        if pairing.shared and n_errors / len(pairing.shared) > MANY_ERRORS:
            yield f"{key}: {n_errors} of {len(pairing.shared)} questions could not be scored in the {name} run."


def _comparison(
    base: Source,
    other: Source,
    table: RunTable,
    part: _Part,
    metrics: Mapping[str, Difference],
    options: Options,
) -> Comparison:
    flips = {key: flips_of(one.pairs, one.info) for key, one in part.measured.items()}
    change = judge_change(base.manifest.judge, other.manifest.judge)
    judged = {key for key, one in table.columns.items() if asks_a_judge(one.spec)} if change else set()
    return Comparison(
        a=base.name,
        b=other.name,
        metrics={key: _annotated(found, table, part.table, part, key in judged) for key, found in metrics.items()},
        flips=flips,
        reasons=_reasons(base, other, flips, part.measured),
        slices=differences_by_tag(part.measured, tags_of(table, part.pairing.shared), smallest=options.smallest),
        usage=_usage(table, part.table),
        changed=tuple(changed_settings(base.manifest, other.manifest)),
        not_compared=part.not_compared,
        warnings=tuple(part.notes),
        n_shared=len(part.pairing.shared),
        changed_items=part.pairing.changed,
        only_a=part.pairing.only_a,
        only_b=part.pairing.only_b,
        smallest=options.smallest,
        alpha=options.alpha,
    )


def _annotated(found: Difference, a: RunTable, b: RunTable, part: _Part, judge_differs: bool) -> Difference:
    first, second = a.columns[found.key].values, b.columns[found.key].values
    notes = [*found.notes, *(["the judge differs"] if judge_differs else [])]
    return found.model_copy(
        update={
            "only_a": sum(item in first and item not in second for item in part.pairing.shared),
            "only_b": sum(item in second and item not in first for item in part.pairing.shared),
            "notes": tuple(notes),
        }
    )


def _reasons(
    base: Source, other: Source, flips: Mapping[str, Flips], measured: Mapping[str, Measured]
) -> dict[str, dict[str, FlipReason]]:
    from_a, from_b = wanted(flips)
    told = (explain_rows(base.records(), from_a) if from_a else {}) | (
        explain_rows(other.records(), from_b) if from_b else {}
    )
    out: dict[str, dict[str, FlipReason]] = {}
    for (key, item), (question, why) in told.items():
        pairs = measured[key].pairs
        place = pairs.ids.index(item)
        out.setdefault(key, {})[item] = FlipReason(question=question, a=pairs.a[place], b=pairs.b[place], why=why)
    return out


def _usage(a: RunTable, b: RunTable) -> dict[str, SideBySide]:
    sides = [_used(table) for table in (a, b)]
    names = [*sides[0], *(name for name in sides[1] if name not in sides[0])]
    return {name: SideBySide(a=sides[0].get(name), b=sides[1].get(name)) for name in names}


def _used(table: RunTable) -> dict[str, float | None]:
    rows = max(1, table.n_rows)
    out: dict[str, float | None] = {}
    for who, usage in (("system", table.system_usage), ("judge", table.judge_usage)):
        if usage.calls or usage.cached_calls or usage.tokens_in or usage.cost_usd is not None:
            out[f"{who}_cost_usd"] = usage.cost_usd
            out[f"{who}_calls_per_question"] = usage.calls / rows
            out[f"{who}_tokens_in_per_question"] = usage.tokens_in / rows
            out[f"{who}_tokens_out_per_question"] = usage.tokens_out / rows
    for name, values in table.latencies.items():
        ordered = sorted(values)
        for percent in (50, 95):
            rank = max(1, -(-percent * len(ordered) // 100))
            out[f"{name.removesuffix('_ms')}_p{percent}_ms"] = ordered[rank - 1]
    return out
