"""What `evaluate` returns: one value per question and measure, their means, and what was odd about the input."""

from __future__ import annotations

import math
from array import array
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ragauge.errors import UnknownName
from ragauge.ranking.measures import parse_measure


@dataclass(frozen=True, eq=False)
class RankingResult:
    """Values per question, means, and diagnostics.

    - `questions`: the ids that were counted, in the order of the judgements; every mean divides by their number.
    - `values`: measure → one value per question, in that order (an `array` of doubles: `numpy.asarray` shares it).
    - `means`: measure → mean over `questions`.
    - `missing`: judged questions that the run leaves out (counted 0, or left out with `missing="skip"`).
    - `ignored`: questions of the run without judgements.
    - `without_relevant`: judged questions without any relevant document (counted 0, or left out).
    - `duplicates`: question → how many repeated ids were dropped from its list.
    """

    questions: tuple[str, ...]
    values: Mapping[str, array[float]]
    means: Mapping[str, float]
    missing: tuple[str, ...] = ()
    ignored: tuple[str, ...] = ()
    without_relevant: tuple[str, ...] = ()
    duplicates: Mapping[str, int] | None = None

    @property
    def n_questions(self) -> int:
        """How many questions were counted."""
        return len(self.questions)

    @property
    def n_duplicates(self) -> int:
        """How many repeated ids were dropped."""
        return sum(self.duplicates.values()) if self.duplicates else 0

    def __getitem__(self, metric: str) -> float:
        """The mean of one measure, by any of its names."""
        return self.means[self._key(metric)]

    def per_question(self, metric: str) -> dict[str, float]:
        """Question id → value of one measure."""
        return dict(zip(self.questions, self.values[self._key(metric)], strict=True))

    def describe(self, metric: str) -> dict[str, float]:
        """Mean, standard deviation (n - 1), minimum, quartiles (linear interpolation) and maximum of one measure.

        The standard deviation is left out for a single question.
        """
        key = self._key(metric)
        ordered = sorted(self.values[key])
        n, mean = len(ordered), self.means[key]
        summary = {"mean": mean}
        if n > 1:
            summary["std"] = math.sqrt(math.fsum((value - mean) ** 2 for value in ordered) / (n - 1))
        for name, share in (("min", 0.0), ("p25", 0.25), ("median", 0.5), ("p75", 0.75), ("max", 1.0)):
            place = share * (n - 1)
            low = math.floor(place)
            high = min(low + 1, n - 1)
            summary[name] = ordered[low] + (ordered[high] - ordered[low]) * (place - low)
        return summary

    def to_dict(self, *, per_question: bool = False) -> dict[str, Any]:
        """The result as plain data (`ragauge rank --json`)."""
        data: dict[str, Any] = {
            "metrics": dict(self.means),
            "n_questions": self.n_questions,
            "missing": list(self.missing),
            "ignored": list(self.ignored),
            "without_relevant": list(self.without_relevant),
            "duplicates": dict(self.duplicates or {}),
        }
        if per_question:
            columns = list(self.values.items())
            data["per_question"] = {
                question: {key: column[place] for key, column in columns}
                for place, question in enumerate(self.questions)
            }
        return data

    def _key(self, metric: str) -> str:
        key = parse_measure(metric).key
        if key not in self.means:
            raise UnknownName("measure of this result", metric, self.means)
        return key
