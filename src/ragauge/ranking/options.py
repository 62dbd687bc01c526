"""Every switch of the ranking measures, checked once."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from ragauge.errors import SettingsError, nearest
from ragauge.ranking.measures import check_cutoff

Gain = Literal["linear", "exp", "binary"] | Mapping[float, float]

_CHOICES: dict[str, tuple[str, ...]] = {
    "missing": ("zero", "skip", "error"),
    "empty_relevant": ("zero", "skip", "error"),
    "extra": ("ignore", "error"),
    "duplicates": ("first", "error"),
    "denominator": ("k", "retrieved"),
    "score_dtype": ("float64", "float32"),
}


@dataclass(frozen=True)
class Options:
    """How rankings are read and counted. The defaults are trec_eval's with `-c`, on float64 scores.

    - `level`: a document is relevant if its grade is at least this. nDCG with graded gain ignores it, as in trec_eval.
    - `gain`: "linear" (the grade), "exp" (2^grade - 1), "binary" (1 if relevant), or {grade: gain}; grades that such a
      mapping leaves out keep their own value. Grades of 0 and below have gain 0.
    - `missing`: judged questions that the run leaves out count "zero", are left out ("skip": trec_eval without `-c`),
      or are an "error".
    - `empty_relevant`: the same for questions without any relevant document.
    - `extra`: questions of the run without judgements are reported and ignored, or an "error".
    - `duplicates`: an id that comes twice in a list counts at its "first" place, later ranks move up; or an "error".
    - `denominator`: precision@k and F1@k divide by "k", or by what came back ("retrieved").
    - `score_dtype`: "float32" makes ties where trec_eval 9 and pytrec_eval see them.
    - `judged_only`: unjudged documents are removed from the ranking first (trec_eval `-J`).
    - `depth`: only the first `depth` of each ranking are looked at (trec_eval `-M`).
    """

    level: float = 1
    gain: Gain = "linear"
    missing: Literal["zero", "skip", "error"] = "zero"
    empty_relevant: Literal["zero", "skip", "error"] = "zero"
    extra: Literal["ignore", "error"] = "ignore"
    duplicates: Literal["first", "error"] = "first"
    denominator: Literal["k", "retrieved"] = "k"
    score_dtype: Literal["float64", "float32"] = "float64"
    judged_only: bool = False
    depth: int | None = None

    def __post_init__(self) -> None:
        for field, accepted in _CHOICES.items():
            _check_choice(field, getattr(self, field), accepted)
        if not (isinstance(self.level, int | float) and 0 < self.level < math.inf):
            raise SettingsError(
                f"level must be a number above 0, not {self.level!r}",
                hint="Grades of 0 and below always mean 'not relevant'.",
            )
        check_cutoff(self.depth)
        if isinstance(self.gain, Mapping):
            for grade, gain in self.gain.items():
                if not (isinstance(gain, int | float) and 0 <= gain < math.inf):
                    raise SettingsError(f"the gain of grade {grade!r} must be a number from 0, not {gain!r}")
        else:
            _check_choice("gain", self.gain, ("linear", "exp", "binary"))

    def gain_of(self, grade: float) -> float:
        """The gain of one document in nDCG, at least 0.

        >>> Options(gain="exp").gain_of(3), Options().gain_of(-1), Options(gain={2: 9}).gain_of(2)
        (7.0, 0.0, 9.0)
        """
        if grade <= 0:
            return 0.0
        if self.gain == "linear":
            return float(grade)
        if self.gain == "exp":
            return math.pow(2.0, grade) - 1.0
        if self.gain == "binary":
            return 1.0 if grade >= self.level else 0.0
        assert isinstance(self.gain, Mapping)
        return float(self.gain.get(grade, grade))


def _check_choice(field: str, value: object, accepted: tuple[str, ...]) -> None:
    if value in accepted:
        return
    near = nearest(str(value), accepted)
    hint = f"Did you mean {near[0]!r}?" if near else f"Accepted: {', '.join(accepted)}."
    raise SettingsError(f"{field} cannot be {value!r}", hint=hint)
