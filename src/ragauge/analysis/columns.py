"""One pass over the rows into columns of numbers: everything that reads a run starts here."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from ragauge.analysis.judge_votes import Votes
from ragauge.analysis.label_names import LabelNames
from ragauge.core.metric import MetricSpec
from ragauge.core.run import Manifest, Record
from ragauge.core.sample import Usage
from ragauge.core.score import Kind, Scored, Unscored, kind_of
from ragauge.errors import Reason, StoreError

#: Different messages of failed scores that are kept: judges that put ids into them must not fill the memory.
MAX_FAULTS = 500


@dataclass
class Column:
    """One metric over a run: a value for each scored item (mean over its repeats), a reason for each other one.

    `repeats` holds the single values where an item was judged more than once. `parts` are sums of the numeric details.
    `unsure`: the judge's band of uncertain probabilities, where it has one; verdicts inside of it are counted.
    """

    key: str
    spec: MetricSpec
    values: dict[str, float] = field(default_factory=dict)
    unscored: dict[str, Reason] = field(default_factory=dict)
    repeats: dict[str, list[float]] = field(default_factory=dict)
    parts: dict[str, list[float]] = field(default_factory=dict)
    unsure: tuple[float, float] | None = None
    n_verdicts: int = 0
    n_uncertain: int = 0

    def add(self, item_id: str, score: Scored | Unscored) -> None:
        """Count one score in."""
        if isinstance(score, Unscored):
            if item_id not in self.values:
                self.unscored[item_id] = score.reason
            return
        self.unscored.pop(item_id, None)
        values = self.repeats.setdefault(item_id, [])
        values.append(score.value)
        self.values[item_id] = sum(values) / len(values)
        for name, part in score.details.items():
            if isinstance(part, int | float) and not isinstance(part, bool):
                self.parts.setdefault(name, []).append(float(part))
        if self.unsure is not None:
            low, high = self.unsure
            given = [v.probability for v in score.verdicts if v.probability is not None]
            self.n_verdicts += len(given)
            self.n_uncertain += sum(low < probability < high for probability in given)

    @property
    def n_asked(self) -> int:
        """Items asked: scored and not."""
        return len(self.values) + len(self.unscored)


@dataclass
class RunTable:
    """A run as columns, without its texts. Lists and mappings are in input order."""

    manifest: Manifest
    columns: dict[str, Column]
    ids: list[str] = field(default_factory=list)
    questions: dict[str, str] = field(default_factory=dict)
    tags: dict[str, tuple[str, ...]] = field(default_factory=dict)
    clusters: dict[str, str] = field(default_factory=dict)
    verified: dict[str, bool] = field(default_factory=dict)
    errors: dict[str, str] = field(default_factory=dict)
    latencies: dict[str, list[float]] = field(default_factory=dict)
    judge_usage: Usage = field(default_factory=Usage)
    system_usage: Usage = field(default_factory=Usage)
    n_rows: int = 0
    n_warnings: int = 0
    usage: dict[str, Usage] = field(default_factory=dict)
    votes: Votes = field(default_factory=Votes)
    names: LabelNames = field(default_factory=LabelNames)
    n_faults: int = 0  # scores that failed in rows that did not
    faults: Counter[str] = field(default_factory=Counter)  # what they say, `MAX_FAULTS` different messages at most

    def clusters_of(self, column: Column) -> list[str]:
        """The cluster of each scored item, in the order of `column.values`."""
        return [self.clusters[item_id] for item_id in column.values]


def tabulate(manifest: Manifest, records: Iterable[Record]) -> RunTable:
    """Read the rows once and keep their numbers: bounded by questions × metrics, whatever the texts weigh."""
    unsure = manifest.judge.uncertain if manifest.judge is not None else None
    table = RunTable(manifest, {spec.key: Column(spec.key, spec, unsure=unsure) for spec in manifest.metrics})
    for record in records:
        _add(table, record)
    return table


def columns(manifest: Manifest, records: Iterable[Record]) -> dict[str, Column]:
    """Only the columns of `tabulate`."""
    return tabulate(manifest, records).columns


def _add(table: RunTable, record: Record) -> None:
    sample = record.sample
    item_id = sample.item.id
    table.n_rows += 1
    table.n_warnings += len(record.warnings)
    if item_id not in table.questions:
        table.ids.append(item_id)
        table.questions[item_id] = sample.item.question
        table.tags[item_id] = sample.item.tags
        table.clusters[item_id] = cluster_of(record)
        table.verified[item_id] = sample.item.verified
    if record.error:
        table.errors[item_id] = record.error
    table.names.add(record)
    for key, column in table.columns.items():
        score = record.scores.get(key)
        if score is not None:
            _check_range(table, column, item_id, score)
            if isinstance(score, Unscored) and not record.error and kind_of(score.reason) is Kind.ERROR:
                _count_fault(table, score)
            column.add(item_id, score)
    for key, used in record.used.items():
        table.judge_usage = table.judge_usage + used.usage
        table.usage[key] = table.usage.get(key, Usage()) + used.usage
    if table.manifest.judge is not None and table.manifest.judge.voters:
        table.votes.add(record, table.manifest.judge.voters)
    table.system_usage = table.system_usage + sample.response.usage
    for name in ("retrieval_ms", "generation_ms", "total_ms"):
        value = getattr(sample.response, name)
        if value is not None and not record.error:  # how long a failure took is no latency of answers
            table.latencies.setdefault(name, []).append(value)


def _count_fault(table: RunTable, score: Unscored) -> None:
    said = score.detail or score.reason.value.replace("_", " ")
    table.n_faults += 1
    if said in table.faults or len(table.faults) < MAX_FAULTS:
        table.faults[said] += 1


def _check_range(table: RunTable, column: Column, item_id: str, score: Scored | Unscored) -> None:
    info = column.spec.info
    if isinstance(score, Scored) and not info.low <= score.value <= info.high:
        raise StoreError(
            f"run {table.manifest.run}: the row of {item_id!r} says {column.key} = {score.value:g}, outside its range "
            f"{info.low:g} to {info.high:g}",
            hint="rows.jsonl was changed by hand or is damaged: take the line out, then --resume the run.",
        )


def cluster_of(record: Record) -> str:
    """What a question shares with others: its first gold document; without one, it stands alone."""
    item, labels = record.sample.item, record.sample.labels
    if item.sources:
        return item.sources[0]
    relevant = _relevant(labels.documents)
    return relevant if relevant is not None else f"question:{item.id}"


def _relevant(grades: Mapping[str, Any] | None) -> str | None:
    return next((document for document, grade in (grades or {}).items() if grade > 0), None)
