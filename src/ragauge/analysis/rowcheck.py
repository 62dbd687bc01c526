"""✓ or ✗: did one question go well, and if not, what went wrong, in a few words."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from ragauge.analysis.thresholds import Thresholds
from ragauge.core.metric import parse_metric_key
from ragauge.core.run import Record
from ragauge.core.sample import is_blank
from ragauge.core.score import Kind, Scored, Unscored
from ragauge.errors import Reason


@dataclass(frozen=True)
class RowCheck:
    """`outcome`: good, bad, or unknown (something could not be judged). `problems`: retrieval first."""

    outcome: Literal["good", "bad", "unknown"]
    problems: tuple[str, ...] = ()

    @property
    def mark(self) -> str:
        """✓, ✗ or ?."""
        return {"good": "✓", "bad": "✗", "unknown": "?"}[self.outcome]


def check_row(record: Record, thresholds: Thresholds) -> RowCheck:
    """Whether a row is fine: gold evidence retrieved, rightly answered or declined, right, grounded, keywords there."""
    if record.error:
        return RowCheck("bad", (f"system failed: {record.error}",))
    problems = tuple(_problems(record, thresholds))
    if problems:
        return RowCheck("bad", problems)
    broken = [
        f"{key} not scored: {score.reason.value}"
        for key, score in record.scores.items()
        if isinstance(score, Unscored) and score.kind is Kind.ERROR
    ]
    if broken:
        return RowCheck("unknown", tuple(broken))
    scored = any(isinstance(score, Scored) for score in record.scores.values())
    return RowCheck("good" if scored else "unknown", () if scored else ("nothing could be scored",))


def _problems(record: Record, thresholds: Thresholds) -> Iterator[str]:
    values = {parse_metric_key(key)[0]: score for key, score in record.scores.items() if isinstance(score, Scored)}
    hits = [
        (parse_metric_key(key), score.value)
        for key, score in record.scores.items()
        if isinstance(score, Scored) and parse_metric_key(key)[0] == "hit_rate"
    ]
    if is_blank(record.sample.response.answer) and _expects_answer(record):
        yield "no answer at all"
    missed = {level for (_, _, level), value in hits if value == 0}
    if "doc" in missed:
        yield "gold document not retrieved"
    elif missed:
        found = any(level == "doc" for (_, _, level), _ in hits)
        yield "gold chunk not retrieved" + (" (its document was)" if found else "")
    if "hallucination_on_unanswerable" in values and values["hallucination_on_unanswerable"].value == 1:
        yield "answered a question that the corpus cannot answer"
    if "wrong_abstention" in values and values["wrong_abstention"].value == 1:
        yield "declined an answerable question"
        return
    if record.sample.item.answerable is False:
        return
    yield from _answer_problems(record, values, thresholds)


def _expects_answer(record: Record) -> bool:
    """Whether a blank answer is a failure: the system gave a text, and answer metrics found nothing in it."""
    if record.sample.response.abstained:
        return False
    reasons = {score.reason for score in record.scores.values() if isinstance(score, Unscored)}
    return record.sample.response.answer is not None and Reason.NO_ANSWER in reasons


def _answer_problems(record: Record, values: dict[str, Scored], thresholds: Thresholds) -> Iterator[str]:
    faithfulness = values.get("faithfulness")
    if faithfulness is not None:
        threshold = thresholds.of("faithfulness")
        needed = record.sample.item.faithfulness_threshold
        limit = needed if needed is not None else (threshold.good if threshold else 1.0)
        if faithfulness.value < limit:
            lost = [verdict for verdict in faithfulness.verdicts if verdict.label != "supported"]
            yield f"{len(lost)} of {faithfulness.count} claims unsupported"
    correctness = values.get("correctness")
    if correctness is not None and correctness.value < 1:
        yield "wrong answer" if correctness.value == 0 else "partly right"
    keywords = values.get("keyword_hits")
    if keywords is not None and keywords.value < 1:
        missing = keywords.details.get("missing")
        named = ", ".join(str(word) for word in missing) if isinstance(missing, list | tuple) else "keywords"
        yield f"missing: {named}"
