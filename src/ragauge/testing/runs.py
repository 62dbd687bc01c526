"""Whole runs on disk in one call, for tests of whatever reads runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ragauge.core.judge import JudgeInfo
from ragauge.core.metric import MetricInfo, MetricSpec
from ragauge.core.model import fingerprint
from ragauge.core.run import DatasetInfo, Manifest, Record
from ragauge.core.score import Scored, Unscored, unscored
from ragauge.core.system import SystemInfo
from ragauge.errors import Reason
from ragauge.store.rundir import RunDir, run_name
from ragauge.testing.samples import a_sample

Value = float | Reason | Scored | Unscored


def a_metric(key: str, **more: Any) -> MetricSpec:
    """A metric's entry in a manifest: a fraction, higher is better, no judge, unless `more` (fields of its card) says.

    >>> a_metric("faithfulness", needs={"judge"}, half="generation").key
    'faithfulness'
    """
    name = key.partition("@")[0].partition(":")[0]
    card: dict[str, Any] = {"name": name, "title": name, "needs": frozenset(), "half": "retrieval"}
    params = more.pop("params", {})
    return MetricSpec(key=key, info=MetricInfo(**(card | more)), params=params)


def a_run(
    base: Path,
    values: Mapping[str, Mapping[str, Value | Sequence[Value]]],
    *,
    name: str = "run",
    metrics: Sequence[MetricSpec] | None = None,
    items: Mapping[str, Mapping[str, Any]] | None = None,
    judge: str | None = "embedded",
    settings: Mapping[str, Any] | None = None,
    **manifest: Any,
) -> RunDir:
    """Write a run: question id → metric key → value (a number, a `Reason`, a whole score, or a list of repeats).

    `items`: question id → arguments of `a_sample`. `metrics`: the cards; default ones for every key that occurs.
    `manifest`: other fields of the manifest.
    """
    given = items or {}
    keys = list(dict.fromkeys(key for row in values.values() for key in row))
    specs = tuple(metrics) if metrics is not None else tuple(a_metric(key) for key in keys)
    records = [
        record for place, (item, row) in enumerate(values.items()) for record in _records(place, item, row, given)
    ]
    prints = {record.sample.item.id: record.sample.item.fingerprint() for record in records}
    repeats = max((record.sample.repeat + 1 for record in records), default=1)
    info = JudgeInfo(name=judge, kind="scripted", version="1", fingerprint=fingerprint(judge)) if judge else None
    fields: dict[str, Any] = {
        "command": "run",
        "created": "2026-01-31T10:12:03+00:00",
        "ragauge": "0.1.0",
        "python": "3.11",
        "platform": "test",
        "repeats": repeats,
        "dataset": DatasetInfo(
            name="golden", fingerprint=fingerprint(sorted(prints.items())), n_items=len(prints), items=prints
        ),
        "system": SystemInfo(
            name="test", kind="callable", settings=dict(settings or {}), fingerprint=fingerprint(dict(settings or {}))
        ),
        "judge": info,
        "metrics": specs,
    }
    fields |= manifest
    made = Manifest(run=run_name(fields["created"], name, fingerprint([name])[:4]), **fields)
    run = RunDir.create(base, made)
    with run.writer() as writer:
        for record in records:
            writer.append(record.model_dump_json(exclude_none=True))
    return run


def _records(
    place: int, item: str, row: Mapping[str, Value | Sequence[Value]], items: Mapping[str, Mapping[str, Any]]
) -> list[Record]:
    columns = {key: _repeats(value) for key, value in row.items()}
    n = max((len(column) for column in columns.values()), default=1)
    more = dict(items.get(item, {}))
    more.setdefault("question", f"What is {item}?")
    return [
        Record(
            index=place,
            sample=a_sample(id=item, repeat=repeat, **more),
            scores={key: _score(column[min(repeat, len(column) - 1)]) for key, column in columns.items()},
        )
        for repeat in range(n)
    ]


def _repeats(value: Value | Sequence[Value]) -> list[Value]:
    return [value] if isinstance(value, int | float | str | Scored | Unscored) else list(value)


def _score(value: Value) -> Scored | Unscored:
    if isinstance(value, Scored | Unscored):
        return value
    return unscored(value) if isinstance(value, Reason) else Scored(value=float(value))
