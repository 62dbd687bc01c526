"""What `ragauge monitor ingest`, `compact` and `prune` print with --json, as the schemas in the documentation say."""

from __future__ import annotations

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
