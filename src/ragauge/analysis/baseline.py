"""A baseline: what a run scored on every question, small enough to be reviewed and kept in git."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from pydantic import Field, ValidationError

from ragauge.analysis.columns import RunTable, tabulate
from ragauge.core.judge import JudgeInfo
from ragauge.core.metric import MetricSpec
from ragauge.core.model import Model
from ragauge.core.run import Manifest, Record
from ragauge.errors import InputError, NewerVersion, StoreError
from ragauge.store.whole import replacing

FORMAT = 1

#: Values are kept to this many decimals: a diff shows changes, not the last bits of a float.
DECIMALS = 6


class BaselineItem(Model):
    """One question: the fingerprint of its golden item, and what each metric scored (only what was scored)."""

    fingerprint: str
    values: dict[str, float] = Field(default_factory=dict)


class Baseline(Model):
    """`metrics` are the cards that the values were made by; a gate refuses values whose card has changed."""

    ragauge_baseline: int = FORMAT
    run: str
    created: str
    ragauge: str
    dataset: str
    dataset_fingerprint: str
    repeats: int = 1
    judge: JudgeInfo | None = None
    metrics: dict[str, MetricSpec]
    items: dict[str, BaselineItem]

    def values_of(self, key: str) -> dict[str, float]:
        """One metric's values, by question."""
        return {item: entry.values[key] for item, entry in self.items.items() if key in entry.values}


class BaselineDocument(Model):
    """What `ragauge baseline --json` prints; the schema in the documentation is this one.

    `baseline`: the file that was written; `run`: the name of the run it is from; `metrics`: the keys that it holds.
    """

    baseline: str
    run: str
    n_questions: int
    metrics: tuple[str, ...]


def make_baseline(manifest: Manifest, records: Iterable[Record], metrics: Iterable[str] = ()) -> Baseline:
    """The baseline that a run would be; `metrics`: only these keys (default all)."""
    return from_table(tabulate(manifest, records), metrics)


def from_table(table: RunTable, metrics: Iterable[str] = ()) -> Baseline:
    """The same, from a table that is there already."""
    manifest = table.manifest
    wanted = set(metrics) or set(table.columns)
    columns = {key: column for key, column in sorted(table.columns.items()) if key in wanted}
    return Baseline(
        run=manifest.run,
        created=manifest.created,
        ragauge=manifest.ragauge,
        dataset=manifest.dataset.name,
        dataset_fingerprint=manifest.dataset.fingerprint,
        repeats=manifest.repeats,
        judge=manifest.judge,
        metrics={key: column.spec for key, column in columns.items()},
        items={
            item: BaselineItem(
                fingerprint=fingerprint_of(table, item),
                values={
                    key: round(column.values[item], DECIMALS)
                    for key, column in columns.items()
                    if item in column.values
                },
            )
            for item in sorted(table.ids)
        },
    )


def fingerprint_of(table: RunTable, item: str) -> str:
    """The recorded fingerprint of a golden item; its question's text where none was recorded."""
    return table.manifest.dataset.items.get(item, f"text:{table.questions[item]}")


def dumps(baseline: Baseline) -> str:
    """JSON with one line for each question and each metric, in a stable order, so that a diff reads well."""
    data = baseline.model_dump(mode="json", exclude_none=True, exclude={"metrics", "items"})
    head = json.dumps(data, indent=2, ensure_ascii=False, sort_keys=True, allow_nan=False)
    parts = [head[: head.rindex("\n}")]]
    for name, entries in (("metrics", baseline.metrics), ("items", baseline.items)):
        lines = ",\n".join(
            f"    {_compact(key)}: {_compact(entry.model_dump(mode='json', exclude_none=True))}"
            for key, entry in sorted(entries.items())
        )
        parts.append(f'  "{name}": {{\n{lines}\n  }}' if lines else f'  "{name}": {{}}')
    return ",\n".join(parts) + "\n}\n"


def _compact(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, sort_keys=True, allow_nan=False)


def write_baseline(path: Path, baseline: Baseline) -> None:
    """Write it whole or not at all."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with replacing(path) as beside:
            beside.write_text(dumps(baseline), encoding="utf-8", newline="\n")
    except OSError as error:
        raise StoreError(f"cannot write {path}: {error.strerror or error}") from error


def read_baseline(path: Path) -> Baseline:
    """Read a baseline file. Raises `InputError` for what is none, `NewerVersion` for a later format."""
    try:
        data = json.loads(path.read_text(encoding="utf-8-sig"))
    except FileNotFoundError:
        raise InputError(
            "no such baseline file", file=str(path), hint="Write one with `ragauge baseline RUN --out FILE`."
        ) from None
    except (OSError, ValueError) as error:
        raise InputError(f"cannot be read as JSON: {error}", file=str(path)) from None
    version = data.get("ragauge_baseline") if isinstance(data, dict) else None
    if not isinstance(version, int):
        raise InputError(
            "this is no ragauge baseline",
            file=str(path),
            field="ragauge_baseline",
            accepted=f"the format number, {FORMAT}",
            hint="Write one with `ragauge baseline RUN --out FILE`.",
        )
    if version > FORMAT:
        raise NewerVersion(f"{path} was written by a newer ragauge (format {version})", hint="Upgrade ragauge.")
    try:
        return Baseline.model_validate(data)
    except ValidationError as error:
        problem = error.errors()[0]
        where = ".".join(str(part) for part in problem["loc"])
        raise InputError(f"the baseline is damaged: {problem['msg']}", file=str(path), field=where) from None
