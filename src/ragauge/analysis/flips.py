"""The questions that changed between two runs, both ways, and why."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from ragauge.analysis.difference import EQUAL, Pairs
from ragauge.core.metric import MetricInfo, parse_metric_key
from ragauge.core.model import Model
from ragauge.core.run import Record
from ragauge.core.sample import Level
from ragauge.core.score import Scored, Unscored
from ragauge.core.tasks import TASKS

#: A graded score must move by this share of its range to count as a flip.
MIN_MOVE = 0.10

#: Reasons are looked up for this many flips each way.
N_REASONS = 20

_GOOD = {task.labels[0] for task in TASKS.values() if task.labels}


class Flips(Model):
    """Ids that got better and worse, the largest change first."""

    better: tuple[str, ...] = ()
    worse: tuple[str, ...] = ()


class FlipReason(Model):
    """One flipped question: its value in both runs and why the bad one is bad, in words."""

    question: str
    a: float
    b: float
    why: str


def flips_of(pairs: Pairs, info: MetricInfo) -> Flips:
    """Pass/fail: every change. Graded: changes of at least a tenth of the range."""
    least = EQUAL if pairs.is_rate else MIN_MOVE * (info.high - info.low) - EQUAL
    sign = -1.0 if info.better == "lower" else 1.0
    moved = [(sign * d, item) for item, d in zip(pairs.ids, pairs.differences, strict=True) if abs(d) > least]
    return Flips(
        better=tuple(item for _, item in sorted((m for m in moved if m[0] > 0), key=lambda m: (-m[0], m[1]))),
        worse=tuple(item for _, item in sorted((m for m in moved if m[0] < 0), key=lambda m: (m[0], m[1]))),
    )


def wanted(flips: Mapping[str, Flips], n: int = N_REASONS) -> tuple[dict[str, set[str]], dict[str, set[str]]]:
    """Which metrics of which ids to explain from the first run's rows (what got better) and the second's (worse)."""
    from_a: dict[str, set[str]] = {}
    from_b: dict[str, set[str]] = {}
    for key, found in flips.items():
        for item in found.better[:n]:
            from_a.setdefault(item, set()).add(key)
        for item in found.worse[:n]:
            from_b.setdefault(item, set()).add(key)
    return from_a, from_b


def explain_rows(records: Iterable[Record], keys: Mapping[str, set[str]]) -> dict[tuple[str, str], tuple[str, str]]:
    """(metric, id) → (question, why its score is what it is). The first repeat that says something counts."""
    found: dict[tuple[str, str], tuple[str, str]] = {}
    for record in records:
        item = record.sample.item
        for key in sorted(keys.get(item.id, ())):
            if not found.get((key, item.id), ("", ""))[1]:
                found[key, item.id] = (item.question, explain(record, key))
    return found


def explain(record: Record, key: str) -> str:
    """Why a score is low, in one line: failed claims with the judge's reason, or what was not retrieved."""
    if record.error:
        return f"the system failed: {record.error}"
    score = record.scores.get(key)
    if score is None:
        return ""
    if isinstance(score, Unscored):
        detail = f": {score.detail}" if score.detail else ""
        return f"not scored ({score.reason.value.replace('_', ' ')}{detail})"
    return _verdicts(score) or _retrieval(record, key) or _answer(record)


def _verdicts(score: Scored) -> str:
    bad = [verdict for verdict in score.verdicts if verdict.label not in _GOOD]
    parts = []
    for verdict in bad[:2]:
        words = verdict.claim or verdict.id
        reason = f" ({verdict.reason})" if verdict.reason else ""
        parts.append(f"{verdict.label.replace('_', ' ')}: {_short(words)}{_short(reason, 120)}")
    more = f" … and {len(bad) - 2} more" if len(bad) > 2 else ""
    return "; ".join(parts) + more


def _retrieval(record: Record, key: str) -> str:
    name, k, level = parse_metric_key(key)
    labels, context = record.sample.labels, record.sample.response.context
    at: Level = "doc" if level == "doc" else "chunk"
    grades = labels.at(at)
    if grades is None or context is None or name.startswith(("answer", "faithful", "correct", "complete", "citation")):
        return ""
    listed = context.documents if at == "doc" else context.ids
    ranks = {item: listed.index(item) + 1 for item, grade in grades.items() if grade > 0 and item in listed}
    missing = [item for item, grade in grades.items() if grade > 0 and item not in ranks]
    late = [f"{item} only at rank {rank}" for item, rank in ranks.items() if k is not None and rank > k]
    if missing or late:
        return "; ".join([f"not retrieved: {', '.join(missing[:3])}"] * bool(missing) + late[:3])
    best = min(ranks.values(), default=None)
    return f"best gold {'document' if at == 'doc' else 'chunk'} at rank {best}" if best and best > 1 else ""


def _answer(record: Record) -> str:
    answer = record.sample.response.answer
    return f"answered: {_short(answer)}" if answer and answer.strip() else "no answer"


def _short(text: str, limit: int = 160) -> str:
    line = " ".join(text.split())
    line = f" {line}" if text.startswith(" ") else line
    return line if len(line) <= limit else line[: limit - 1] + "…"
