"""What `ragauge rank` prints with --json: retrieval measures of runs, ids only."""

from __future__ import annotations

from collections.abc import Mapping

from pydantic import Field

from ragauge.core.model import Model
from ragauge.core.run import Estimate
from ragauge.ranking import RankingResult
from ragauge.stats.intervals import mean_interval


class MeanInterval(Model):
    """The interval of a mean over questions; `low`/`high` null: none can be given (one question)."""

    low: float | None
    high: float | None
    level: float
    method: str


class RankedRun(Model):
    """Means over the `n_questions` that were counted, and what was odd about the run.

    `missing`: judged questions that the run leaves out; `ignored`: questions of the run that are not judged;
    `without_relevant`: judged questions without any relevant document; `duplicates`: how many repeated ids were dropped
    of a question's ranking. `per_question` (question → measure → value) is there with --per-question only.
    """

    metrics: dict[str, float]
    n_questions: int
    missing: tuple[str, ...]
    ignored: tuple[str, ...]
    without_relevant: tuple[str, ...]
    duplicates: dict[str, int]
    per_question: dict[str, dict[str, float]] = Field(default_factory=dict)
    intervals: dict[str, MeanInterval]


class _OfRun(Model):
    run: str


class OneRanked(RankedRun, _OfRun):
    """Of one run. `run`: its file, as it was named."""


class ManyRanked(Model):
    """Of several runs: file → its figures."""

    runs: dict[str, RankedRun]


#: What `ragauge rank --json` prints; the schema in the documentation is this one.
RankDocument = OneRanked | ManyRanked


def estimates(result: RankingResult) -> dict[str, Estimate]:
    """Measure → its mean with an interval."""
    return {key: mean_interval(values) for key, values in result.values.items()}


def document(results: Mapping[str, RankingResult], *, per_question: bool = False) -> RankDocument:
    """The document for runs by name. Written with `exclude_unset`: what was not asked for is left out."""
    made = {
        name: result.to_dict(per_question=per_question)
        | {"intervals": {key: one.model_dump(exclude={"value", "n"}) for key, one in estimates(result).items()}}
        for name, result in results.items()
    }
    if len(made) == 1:
        ((name, figures),) = made.items()
        return OneRanked.model_validate({"run": name, **figures})
    return ManyRanked.model_validate({"runs": made})
