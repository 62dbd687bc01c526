"""The summary of a run: a pure function of its manifest and its rows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping

from ragauge.analysis.columns import Column, RunTable, tabulate
from ragauge.analysis.judge_votes import noise_note, noise_of, votes_note
from ragauge.analysis.thresholds import Threshold, Thresholds, judge_value
from ragauge.core.run import Estimate, Manifest, MetricResult, Record, Summary
from ragauge.core.sample import Usage
from ragauge.errors import NOTHING_RECORDED, Reason
from ragauge.stats.intervals import mean_interval

#: How many of the worst rows of a metric a summary names.
N_WORST = 5
#: How many different messages of failed rows a summary holds.
N_MESSAGES = 3


def summarise(manifest: Manifest, records: Iterable[Record]) -> Summary:
    """Every metric with its interval, what could not be scored and why, usage and latency."""
    return summarise_table(tabulate(manifest, records))


def summarise_table(table: RunTable) -> Summary:
    """The same, from a table that is there already."""
    manifest = table.manifest
    thresholds = Thresholds.model_validate(manifest.thresholds) if manifest.thresholds else Thresholds()
    n_expected = manifest.dataset.n_items
    n_verified = sum(table.verified.values())
    metrics = {key: _result(table, column, thresholds.of(key)) for key, column in table.columns.items()}
    judging = table.votes.overall()
    said = (
        _failed_note(table),
        _fault_note(table),
        table.names.note(),
        _blank_note(table),
        _unknown_note(table),
        votes_note(manifest.judge, judging),
        noise_note(manifest, metrics),
        _unsure_note(manifest, metrics),
    )
    return Summary(
        n_rows=table.n_rows,
        n_failed_rows=len(table.errors),
        metrics=metrics,
        usage=table.judge_usage,
        system_usage=table.system_usage,
        latency_ms=_latencies(table),
        share_unverified=1 - n_verified / len(table.ids)
        if table.ids and manifest.dataset.n_verified is not None
        else None,
        judging=judging,
        complete=n_expected is None or table.n_rows >= n_expected * manifest.repeats,
        notes=tuple(line for line in said if line is not None),
    )


def _failed_note(table: RunTable) -> str | None:
    """What the failed rows say, the most frequent first."""
    errors = [one for one in table.errors.values() if NOTHING_RECORDED not in one]
    if not errors:
        return None
    return f"{len(errors)} of {len(table.ids)} questions failed: {_most_common(Counter(errors))}"


def _fault_note(table: RunTable) -> str | None:
    """What scores that failed say, where the row itself did not fail: mostly the judge's words."""
    if not table.n_faults:
        return None
    missing = "1 score is" if table.n_faults == 1 else f"{table.n_faults} scores are"
    return f"{missing} missing because of errors: {_most_common(table.faults, table.n_faults)}"


def _most_common(messages: Counter[str], n_all: int | None = None) -> str:
    """The most frequent messages with their numbers. `n_all`: how many there were, where not all were kept."""
    cut: Counter[str] = Counter()
    for message, n in messages.items():
        cut[message if len(message) <= 200 else f"{message[:199]}…"] += n
    common = cut.most_common(N_MESSAGES)
    said = "; ".join(f"{message} ({n} times)" if n > 1 else message for message, n in common)
    least = "at least " if n_all is not None and n_all > sum(messages.values()) else ""
    return said + (f"; and {least}{len(cut) - len(common)} more" if len(cut) > len(common) else "")


def _blank_note(table: RunTable) -> str | None:
    """Blank answers are in no mean: the report says how many there are."""
    mixed = [column for column in table.columns.values() if column.values]
    n = max((Counter(column.unscored.values())[Reason.NO_ANSWER] for column in mixed), default=0)
    if not n:
        return None
    return f"{n} of {len(table.ids)} questions got a blank answer: no mean of an answer metric counts them"


def _unknown_note(table: RunTable) -> str | None:
    """Items that do not say whether they can be answered are in no abstention rate: the report says how many."""
    reasons = [Counter(column.unscored.values())[Reason.ANSWERABLE_UNKNOWN] for column in table.columns.values()]
    n = max(reasons, default=0)
    if not n:
        return None
    return (
        f"{n} of {len(table.ids)} questions do not say `answerable`: no rate of refusals or hallucinations counts them"
    )


def _unsure_note(manifest: Manifest, metrics: Mapping[str, MetricResult]) -> str | None:
    """Verdicts that are guesses count like the others: the report says how many there are, and what to do with them."""
    unsure = {key: one for key, one in metrics.items() if one.n_uncertain}
    if not unsure or manifest.judge is None or manifest.judge.uncertain is None:
        return None
    low, high = manifest.judge.uncertain
    each = ", ".join(f"{one.n_uncertain} of {one.n_verdicts} ({key})" for key, one in unsure.items())
    return (
        f"the judge is not sure of some verdicts (probability between {low:g} and {high:g}): {each}; "
        "`ragauge review add` puts them before people"
    )


def _result(table: RunTable, column: Column, threshold: Threshold | None) -> MetricResult:
    info = column.spec.info
    values = list(column.values.values())
    estimate = None
    notes: list[str] = []
    if values:
        # Clusters only where they repeat: questions about one document share its luck.
        clusters = table.clusters_of(column)
        shared = clusters if len(set(clusters)) < len(clusters) else None
        estimate = mean_interval(values, clusters=shared, kind=info.kind)
    value = estimate.value if estimate else None
    verdict = judge_value(value, threshold, info.better) if value is not None else "none"
    if verdict != "none" and threshold and estimate and _inside(threshold.good, estimate):
        notes.append(f"the interval holds the threshold {threshold.good:g}: more questions would settle it")
    return MetricResult(
        key=column.key,
        estimate=estimate,
        n_asked=column.n_asked,
        unscored=dict(sorted(Counter(column.unscored.values()).items())),
        parts={name: sum(parts) / len(parts) for name, parts in sorted(column.parts.items())},
        worst=_worst(column),
        better=info.better,
        half=info.half,
        threshold=threshold.good if threshold and info.better != "none" else None,
        verdict=verdict,
        usage=table.usage.get(column.key, Usage()),
        noise=noise_of(table.votes.rates(column.key), list(column.repeats.values()), table.manifest),
        n_verdicts=column.n_verdicts,
        n_uncertain=column.n_uncertain,
        notes=tuple(notes),
    )


def _inside(value: float, estimate: Estimate) -> bool:
    return estimate.low is not None and estimate.high is not None and estimate.low <= value <= estimate.high


def _worst(column: Column) -> tuple[str, ...]:
    info = column.spec.info
    if info.better == "none":
        return ()
    sign = 1.0 if info.better == "higher" else -1.0
    best = info.high if info.better == "higher" else info.low
    ranked = sorted(column.values.items(), key=lambda entry: (sign * entry[1], entry[0]))
    return tuple(item_id for item_id, value in ranked if value != best)[:N_WORST]


def _latencies(table: RunTable) -> dict[str, float]:
    """p50 and p95 of each latency in milliseconds (nearest rank)."""
    out: dict[str, float] = {}
    for name, values in table.latencies.items():
        ordered = sorted(values)
        for percent in (50, 95):
            rank = max(1, -(-percent * len(ordered) // 100))
            out[f"{name.removesuffix('_ms')}_p{percent}"] = ordered[rank - 1]
    return out
