"""Several retrieval steps per question (rewrites, hops, routes): each by itself, and what they find together.

A table for looking at a way of retrieving: which step finds what, which adds nothing, where something is lost again.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Literal

from ragauge.core.model import Model
from ragauge.core.run import Estimate, Record
from ragauge.core.sample import Labels, Level, RetrievedChunk, Sample
from ragauge.stats.intervals import mean_interval

Kind = Literal["step", "union", "context"]
#: What all steps found together, and what of it reached the generator.
UNION, CONTEXT = "all steps together", "the context"


@dataclass
class _Sums:
    """One line of the table while it is counted."""

    recalls: list[float] = field(default_factory=list)
    alone: list[float] = field(default_factory=list)
    n: int = 0
    n_chunks: int = 0
    latencies: list[float] = field(default_factory=list)


class StepResult(Model):
    """One step over all questions in which it ran.

    `recall`: share of what is needed that stands anywhere in the step's list (fraction, 0 to 1; of an evidence group
    any one passage is enough), mean over the `n_labelled` questions with labels. `hit_rate`: share of those questions
    with at least one. `only_here`: share of what is needed that no other step of the question found.
    """

    name: str
    kind: Kind
    n: int
    n_labelled: int
    recall: Estimate | None
    hit_rate: float | None
    only_here: float | None
    mean_chunks: float
    mean_ms: float | None


class Steps(Model):
    """The table. `level`: what was counted, chunks or documents. `n`: questions that recorded any step."""

    n: int
    n_rows: int
    level: Level | None
    steps: tuple[StepResult, ...]


class StepsDocument(Steps):
    """What `ragauge show --steps --json` prints; the schema in the documentation is this one. `run`: its directory."""

    run: str


def score_steps(records: Iterable[Record]) -> Steps:
    """Every step of every question; of a name that comes twice in a question, the second time is a line of its own.

    Rows that recorded no step are counted in `n_rows` only; failed rows and repeats of a question not at all. Chunk
    labels are used where all labelled rows have them, else document labels.
    """
    rows = [record.sample for record in records if record.error is None and record.sample.repeat == 0]
    with_steps = [sample for sample in rows if sample.response.steps]
    level = _level(with_steps)
    sums: dict[tuple[str, Kind], _Sums] = {}
    for sample in with_steps:
        _count(sample, level, sums)
    order = {"step": 0, "union": 1, "context": 2}
    lines = sorted(sums.items(), key=lambda entry: order[entry[0][1]])
    found = tuple(_result(name, kind, one) for (name, kind), one in lines)
    return Steps(n=len(with_steps), n_rows=len(rows), level=level, steps=found)


def needed(labels: Labels, sample: Sample, level: Level) -> list[frozenset[str]]:
    """What has to be found: each entry is a set of ids of which any one is enough."""
    grades = {id for id, grade in (labels.at(level) or {}).items() if grade > 0}
    if level == "chunk":
        groups = [frozenset(group) & grades for group in labels.groups or ()]
    else:
        groups = [frozenset(one.document for one in group.any) & grades for group in sample.item.evidence or ()]
    groups = [group for group in groups if group]
    grouped = {id for group in groups for id in group}
    return groups + [frozenset((id,)) for id in sorted(grades - grouped)]


def _level(samples: Sequence[Sample]) -> Level | None:
    labelled = [one.labels for one in samples if one.labels.chunks is not None or one.labels.documents is not None]
    if not labelled:
        return None
    return "chunk" if all(one.chunks is not None for one in labelled) else "doc"


def _count(sample: Sample, level: Level | None, sums: dict[tuple[str, Kind], _Sums]) -> None:
    wanted = [] if level is None or sample.item.answerable is False else needed(sample.labels, sample, level)
    found = [_ids(step.chunks, level) for step in sample.response.steps]
    times: dict[str, int] = {}
    for place, step in enumerate(sample.response.steps):
        times[step.name] = times.get(step.name, 0) + 1
        name = step.name if times[step.name] == 1 else f"{step.name} ({times[step.name]})"
        line = sums.setdefault((name, "step"), _Sums())
        others = set().union(*(ids for other, ids in enumerate(found) if other != place))
        _add(line, wanted, found[place], len(step.chunks), others)
        if step.latency_ms is not None:
            line.latencies.append(step.latency_ms)
    together = set().union(*found)
    _add(sums.setdefault((UNION, "union"), _Sums()), wanted, together, len(together), None)
    context = sample.response.context
    if context is not None:
        line = sums.setdefault((CONTEXT, "context"), _Sums())
        _add(line, wanted, _ids(context.chunks, level), len(context), None)


def _add(line: _Sums, wanted: Sequence[frozenset[str]], ids: set[str], n_chunks: int, others: set[str] | None) -> None:
    line.n += 1
    line.n_chunks += n_chunks
    if wanted:
        line.recalls.append(sum(bool(group & ids) for group in wanted) / len(wanted))
        if others is not None:
            only = sum(bool(group & ids) and not group & others for group in wanted)
            line.alone.append(only / len(wanted))


def _ids(chunks: Sequence[RetrievedChunk], level: Level | None) -> set[str]:
    return {chunk.document or chunk.id for chunk in chunks} if level == "doc" else {chunk.id for chunk in chunks}


def _result(name: str, kind: Kind, line: _Sums) -> StepResult:
    recalls = line.recalls
    return StepResult(
        name=name, kind=kind, n=line.n, n_labelled=len(recalls),
        recall=mean_interval(recalls) if recalls else None,
        hit_rate=sum(value > 0 for value in recalls) / len(recalls) if recalls else None,
        only_here=sum(line.alone) / len(line.alone) if line.alone else None,
        mean_chunks=line.n_chunks / line.n,
        mean_ms=sum(line.latencies) / len(line.latencies) if line.latencies else None,
    )  # fmt: skip
