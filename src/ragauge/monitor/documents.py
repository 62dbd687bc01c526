"""What verbs of `ragauge monitor` print with --json, as the schemas in the documentation say."""

from __future__ import annotations

from ragauge.core.forecast import ForecastFigures
from ragauge.core.model import Model


class Refusal(Model):
    """A record that was not taken. `line` counts from 1 (in a JSON list or Parquet: the record's place)."""

    file: str
    line: int
    reason: str
    id: str | None = None


class IngestDocument(Model):
    """`rejected` has at most a thousand of each file; `n_rejected_left_off` says how many it lacks."""

    log: str
    taken: int
    n_rejected: int
    rejected: tuple[Refusal, ...]
    n_rejected_left_off: int


class CompactDocument(Model):
    """Folders that changed, segments that became Parquet with so many rows, copies that were not counted again,
    segments that are still written to, and files with lines that are none of ours.
    """

    log: str
    days: int
    segments: int
    rows: int
    repeated: int
    growing: int
    damaged: tuple[str, ...]


class PruneDocument(Model):
    """What was deleted, or would be (`dry_run`)."""

    log: str
    keep_days: int
    dry_run: bool
    deleted: tuple[str, ...]


class JudgedDay(Model):
    """One sampled day: of `drawn` answers `left` are not judged yet; `runs`: directories of the runs just made."""

    day: str
    drawn: int
    left: int
    runs: tuple[str, ...]


class DayForecast(Model):
    """One sampled day on a dry run: what judging all that was drawn would cost."""

    day: str
    left: int
    drawn: int
    forecast: ForecastFigures


class JudgeDocument(Model):
    """Of `monitor judge`, oldest day first. `ended_early`: which budget ended it, or null. On a dry run days that are
    judged already are left out.
    """

    days: tuple[JudgedDay | DayForecast, ...]
    ended_early: str | None


class AcceptDocument(Model):
    """Of `monitor accept`: RULE/SERIES of each alert that was ended → the first day of the new normal."""

    accepted: dict[str, str]


class OutcomesDocument(Model):
    """Of `monitor outcomes`: the file that was written, its number of rows, in all and of each variant."""

    table: str
    rows: int
    variants: dict[str, int]
