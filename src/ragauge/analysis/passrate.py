"""Per-question checks: enough gold evidence retrieved, faithful enough, the required strings there."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Literal

from ragauge.analysis.columns import Column, RunTable, tabulate
from ragauge.analysis.gate_settings import PassRateSettings
from ragauge.analysis.thresholds import Thresholds
from ragauge.core.metric import parse_metric_key
from ragauge.core.run import Manifest, Record
from ragauge.core.score import Kind, kind_of

_SLACK = 1e-9


@dataclass(frozen=True)
class QuestionCheck:
    """One question: passed, failed, or unknown (something that should have been judged was not)."""

    id: str
    question: str
    outcome: Literal["passed", "failed", "unknown"]
    problems: tuple[str, ...] = ()


@dataclass(frozen=True)
class Rule:
    """One check of a question: the column it reads and the least value."""

    name: str
    column: Column
    limit: float
    own: bool = False  # whether a golden item's own threshold wins


def read_run(manifest: Manifest, records: Iterable[Record]) -> tuple[RunTable, dict[str, float]]:
    """The table of a run, and the faithfulness thresholds that golden items carry, in one pass."""
    own: dict[str, float] = {}

    def noted() -> Iterator[Record]:
        for record in records:
            item = record.sample.item
            if item.faithfulness_threshold is not None:
                own[item.id] = item.faithfulness_threshold
            yield record

    return tabulate(manifest, noted()), own


def rules_of(table: RunTable, settings: PassRateSettings) -> list[Rule]:
    """The checks that this run's metrics allow."""
    thresholds = Thresholds.model_validate(table.manifest.thresholds or {})
    rules = []
    recall = _recall(table, settings.recall_metric)
    if recall is not None:
        known = thresholds.of(recall.key)
        limit = settings.recall if settings.recall is not None else (known.good if known else 1.0)
        rules.append(Rule("recall", recall, limit))
    if (faithfulness := table.columns.get("faithfulness")) is not None:
        known = thresholds.of("faithfulness")
        limit = settings.faithfulness if settings.faithfulness is not None else (known.good if known else 1.0)
        rules.append(Rule("faithfulness", faithfulness, limit, own=True))
    if settings.keywords and (keywords := table.columns.get("keyword_hits")) is not None:
        rules.append(Rule("required strings", keywords, 1.0))
    return rules


def _recall(table: RunTable, named: str | None) -> Column | None:
    """The named column; else recall at the largest k, chunks before documents; else hit rate."""
    if named is not None:
        return table.columns.get(named)
    for name in ("recall", "context_recall_ids", "hit_rate"):
        keys = [key for key in table.columns if parse_metric_key(key)[0] == name]
        if keys:
            return table.columns[max(keys, key=_size)]
    return None


def _size(key: str) -> tuple[int, bool, str]:
    _, k, level = parse_metric_key(key)
    return k or 0, level != "doc", key


def check_questions(table: RunTable, own: dict[str, float], settings: PassRateSettings) -> list[QuestionCheck]:
    """Every question that any check applies to, in input order."""
    rules = rules_of(table, settings)
    checks = []
    for item in table.ids:
        check = _check(table, item, rules, own.get(item))
        if check is not None:
            checks.append(check)
    return checks


def _check(table: RunTable, item: str, rules: list[Rule], own: float | None) -> QuestionCheck | None:
    question = table.questions[item]
    if item in table.errors:
        return QuestionCheck(item, question, "unknown", (f"the system failed: {table.errors[item]}",))
    failed: list[str] = []
    unknown: list[str] = []
    applies = False
    for rule in rules:
        value, reason = rule.column.values.get(item), rule.column.unscored.get(item)
        limit = own if rule.own and own is not None else rule.limit
        if value is not None:
            applies = True
            if value < limit - _SLACK:
                failed.append(f"{rule.name} {value:.2f} < {limit:g}")
        elif reason is None or kind_of(reason) is not Kind.NOT_APPLICABLE:
            applies = True
            unknown.append(f"{rule.name} not scored" + (f" ({reason.value.replace('_', ' ')})" if reason else ""))
    if not applies:
        return None
    if failed:
        return QuestionCheck(item, question, "failed", tuple(failed))
    return QuestionCheck(item, question, "unknown" if unknown else "passed", tuple(unknown))
