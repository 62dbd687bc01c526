"""A table of variant and outcome, added up row by row; what cannot be read is named, never guessed."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ragauge.errors import InputError
from ragauge.stats.two_samples import Moments

#: Column names that are taken without being named, most telling first.
VARIANT_COLUMNS = ("variant", "arm", "treatment", "experiment_group", "bucket", "group")
OUTCOME_COLUMNS = ("outcome", "converted", "conversion", "success", "resolved", "accepted", "thumbs_up", "clicked",
                   "value")  # fmt: skip
_TRUE, _FALSE = {"true", "yes", "y", "t", "1"}, {"false", "no", "n", "f", "0"}
#: Rows that cannot be read are listed up to this many.
MOST_PROBLEMS = 20


@dataclass(frozen=True)
class Columns:
    """Which column is what. `scores` are offline scores; `stratum` splits the comparison; `unit` was randomised."""

    variant: str
    outcome: str
    scores: tuple[str, ...] = ()
    stratum: str | None = None
    unit: str | None = None


def find_columns(names: Sequence[str], columns: Mapping[str, str | None], file: str) -> tuple[str, str]:
    """The variant and the outcome column: those that were named, else the one that has a usual name.

    Raises `InputError` with what is there.
    """
    folded = {name.strip().casefold(): name for name in names}
    found = []
    for role, usual in (("variant", VARIANT_COLUMNS), ("outcome", OUTCOME_COLUMNS)):
        named = columns.get(role)
        hit = folded.get(named.strip().casefold()) if named else next((folded[u] for u in usual if u in folded), None)
        if hit is None:
            raise InputError(
                f"there is no {role} column" if not named else f"there is no column {named!r}",
                file=file,
                accepted=f"one of {', '.join(usual)}, or another one named with --{role}",
                hint=f"The columns are {', '.join(names)}.",
            )
        found.append(hit)
    return found[0], found[1]


@dataclass
class Group:
    """One variant within one stratum."""

    outcome: Moments = field(default_factory=Moments)
    scores: dict[str, Moments] = field(default_factory=dict)


class Tally:
    """Adds a table up row by row: memory grows with variants, strata and units, not with rows."""

    def __init__(self, columns: Columns, file: str) -> None:
        self.columns, self.file = columns, file
        self.groups: dict[tuple[str, str], Group] = {}
        self.missing: dict[str, int] = {}
        self.is_binary = True
        self._units: dict[str, tuple[str, str, Moments, dict[str, Moments]]] = {}
        self._crossed: set[str] = set()
        self._problems: list[InputError] = []

    def add(self, line: int | None, row: Mapping[str, Any] | InputError) -> None:
        """Count one row in; what cannot be read is kept for `finish`."""
        if len(self._problems) >= MOST_PROBLEMS:
            return
        try:
            if isinstance(row, InputError):
                raise row
            self._add(line, row)
        except InputError as error:
            self._problems.append(error)

    def _add(self, line: int | None, row: Mapping[str, Any]) -> None:
        columns = self.columns
        variant = self._word(line, row, columns.variant)
        stratum = self._word(line, row, columns.stratum) if columns.stratum else ""
        scores = {name: self._number(line, row, name) for name in columns.scores}
        outcome = self._number(line, row, columns.outcome)
        if outcome is None:
            self.missing[variant] = self.missing.get(variant, 0) + 1
            return
        self.is_binary = self.is_binary and outcome in (0.0, 1.0)
        if columns.unit:
            self._add_to_unit(self._word(line, row, columns.unit), variant, stratum, outcome, scores)
            return
        self._count(variant, stratum, outcome, scores)

    def _add_to_unit(
        self, unit: str, variant: str, stratum: str, outcome: float, scores: Mapping[str, float | None]
    ) -> None:
        first = self._units.setdefault(unit, (variant, stratum, Moments(), {}))
        if first[0] != variant:
            self._crossed.add(unit)
            return
        first[2].add(outcome)
        for name, value in scores.items():
            if value is not None:
                first[3].setdefault(name, Moments()).add(value)

    def _count(self, variant: str, stratum: str, outcome: float, scores: Mapping[str, float | None]) -> None:
        group = self.groups.setdefault((variant, stratum), Group())
        group.outcome.add(outcome)
        for name, value in scores.items():
            if value is not None:
                group.scores.setdefault(name, Moments()).add(value)

    def _word(self, line: int | None, row: Mapping[str, Any], column: str) -> str:
        value = row.get(column)
        text = "" if value is None else str(value).strip()
        if not text or isinstance(value, list | dict):
            raise InputError("is empty" if not text else "is no name", file=self.file, line=line, field=column)
        return text

    def _number(self, line: int | None, row: Mapping[str, Any], column: str) -> float | None:
        value = row.get(column)
        if value is None or (isinstance(value, str) and not value.strip()):
            return None
        number = as_number(value)
        if number is None:
            raise InputError(
                "is no number",
                file=self.file,
                line=line,
                field=column,
                found=value,
                accepted="a number, or true/false, yes/no; empty where nothing was observed",
            )
        return number

    def finish(self) -> list[str]:
        """Close the units; what a reader must know. Raises one `InputError` that lists the rows that are unreadable."""
        if self._problems:
            raise InputError.several(self._problems, unread=len(self._problems) >= MOST_PROBLEMS)
        for unit, (variant, stratum, outcome, scores) in self._units.items():
            if unit not in self._crossed:
                self._count(variant, stratum, outcome.mean, {name: one.mean for name, one in scores.items()})
        self.is_binary = self.is_binary and all(outcome.mean in (0.0, 1.0) for _, _, outcome, _ in self._units.values())
        told = []
        if self._crossed:
            told.append(f"{len(self._crossed)} units were given more than one variant and are left out")
        if sum(self.missing.values()):
            told.append(f"{sum(self.missing.values())} rows have no outcome and are left out: see each variant")
        return told

    @property
    def variants(self) -> list[str]:
        """In alphabetical order."""
        return sorted({variant for variant, _ in self.groups} | set(self.missing))


def as_number(value: Any) -> float | None:
    """A number, a truth value, or a word for one; None for anything else.

    >>> as_number("0.5"), as_number(True), as_number("yes"), as_number("maybe"), as_number("nan")
    (0.5, 1.0, 1.0, None, None)
    """
    if isinstance(value, bool | int | float):
        number = float(value)
        return number if math.isfinite(number) else None
    text = str(value).strip().casefold()
    if text in _TRUE:
        return 1.0
    if text in _FALSE:
        return 0.0
    try:
        number = float(text)
    except ValueError:
        return None
    return number if math.isfinite(number) else None


def merged(parts: Iterable[Moments]) -> Moments:
    """The moments of all the values together (Chan et al. 1979)."""
    total = Moments()
    for part in parts:
        if part.n:
            n = total.n + part.n
            step = part.mean - total.mean
            squares = total.variance * max(0, total.n - 1) + part.variance * (part.n - 1)
            total = Moments(n, total.mean + step * part.n / n, squares + step * step * total.n * part.n / n)
    return total
