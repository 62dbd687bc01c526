"""From production onwards: samples for the review queue and the golden set, outcomes for the A/B test."""

from __future__ import annotations

import csv
import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import date
from pathlib import Path
from typing import Any

from ragauge.core.sample import Sample
from ragauge.monitor.judged import read_scores
from ragauge.monitor.query import LoggedQuery, QueryLog
from ragauge.monitor.sampling import permanent_number
from ragauge.monitor.workspace import Workspace

#: Of a day, every query with something wrong is read, and so many of the others.
ORDINARY = 300


def logged_samples(
    log: QueryLog, space: Workspace, days: Sequence[date], *, project: str | None = None, seed: int = 0
) -> Iterator[Sample]:
    """What `golden from-logs` chooses from: thumbs down, declined, nothing found, whatever was judged, and a draw of
    the rest. The thumb goes into the response's metadata, where `from_logs` looks for it.
    """
    for day in days:
        briefs = log.brief(day, project=project)
        marked = {b.id for b in briefs if b.feedback == "down" or b.abstained or b.n_chunks == 0}
        sample = space.sample(day.isoformat())
        marked |= {one.id for one in sample.drawn} if sample is not None else set()
        rest = sorted((b.id for b in briefs if b.id not in marked), key=lambda name: permanent_number(seed, name))
        for query in log.queries(day, project=project, ids=[*sorted(marked), *rest[:ORDINARY]]):
            yield _with_feedback(query)


def _with_feedback(query: LoggedQuery) -> Sample:
    sample = query.sample()
    if query.feedback is None:
        return sample
    response = sample.response.model_copy(update={"metadata": {**sample.response.metadata, "feedback": query.feedback}})
    return sample.model_copy(update={"response": response})


def low_scores(space: Workspace, days: Sequence[date], metric: str) -> dict[str, float]:
    """Query id → the judged value of `metric`, of those that were judged."""
    found: dict[str, float] = {}
    for day in days:
        sample = space.sample(day.isoformat())
        scores = read_scores(space, sample) if sample is not None else None
        if scores is not None:
            found |= scores.values.get(metric, {})
    return found


def outcome_rows(
    log: QueryLog, space: Workspace, days: Sequence[date], *, thumbs: bool = False, project: str | None = None
) -> Iterator[dict[str, Any]]:
    """One row for each query of a variant whose outcome (or thumb) is known: variant, outcome, session, judged scores.

    Queries without an outcome are left out: nothing is known of them. `session` is what was randomised, when people
    come back (`ragauge ab --unit session`).
    """
    wanted = "feedback" if thumbs else "outcome"
    where, given = "WHERE variant IS NOT NULL AND " + wanted + " IS NOT NULL", []
    if project is not None:
        where, given = f"{where} AND project = ?", [project]
    for day in days:
        sample = space.sample(day.isoformat())
        scores = read_scores(space, sample) if sample is not None else None
        values: Mapping[str, Mapping[str, float]] = scores.values if scores is not None else {}
        query = f"SELECT id, variant, {wanted}, session FROM queries {where} ORDER BY id"
        for name, variant, outcome, session in log.sql(query, given, since=day, until=day):
            row = {"id": name, "day": day.isoformat(), "variant": variant, "session": session or name}
            row["outcome"] = float(outcome == "up") if thumbs else float(outcome)
            yield row | {key: found[name] for key, found in values.items() if name in found}


def write_outcomes(target: Path, rows: Iterable[Mapping[str, Any]]) -> tuple[int, dict[str, int]]:
    """Write rows as CSV (`.csv`) or JSON lines. Returns how many there are, in all and of each variant.

    A text cell that a spreadsheet would take for a formula is written with a quote before it.
    """
    found = list(rows)
    names = list(dict.fromkeys(name for row in found for name in row)) or ["id", "day", "variant", "session", "outcome"]
    target.parent.mkdir(parents=True, exist_ok=True)
    with target.open("w", encoding="utf-8", newline="") as file:
        if target.suffix.lower() == ".csv":
            writer = csv.DictWriter(file, names, restval="")
            writer.writeheader()
            writer.writerows({key: _plain(value) for key, value in row.items()} for row in found)
        else:
            file.writelines(json.dumps(row, ensure_ascii=False) + "\n" for row in found)
    return len(found), dict(Counter(str(row["variant"]) for row in found))


def _plain(value: Any) -> Any:
    return "'" + value if isinstance(value, str) and value[:1] in "=+-@\t\r" and value else value
