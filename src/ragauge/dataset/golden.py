"""Golden sets: questions with what a right answer and the right evidence are."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

from ragauge.core.run import DatasetInfo
from ragauge.core.sample import GoldenItem
from ragauge.dataset.fingerprint import item_fingerprint, set_fingerprint
from ragauge.dataset.records import RecordReader
from ragauge.dataset.sources import open_source
from ragauge.errors import InputError, UnknownName


@dataclass(frozen=True)
class GoldenSet:
    """The items of a golden set in file order. `notes` say what reading it took liberties with.

    `lines` is where each item stands in its file (the row number where a format has no lines).
    """

    name: str
    path: Path | None
    items: tuple[GoldenItem, ...]
    notes: tuple[str, ...] = ()
    lines: Mapping[str, int | None] = field(default_factory=dict)

    def __len__(self) -> int:
        """How many items."""
        return len(self.items)

    def __iter__(self) -> Iterator[GoldenItem]:
        """The items in order."""
        return iter(self.items)

    def __contains__(self, name: object) -> bool:
        """Whether there is an item with this id."""
        return name in self._by_id

    @cached_property
    def _by_id(self) -> dict[str, GoldenItem]:
        return {item.id: item for item in self.items}

    @cached_property
    def fingerprints(self) -> dict[str, str]:
        """Item id → content hash."""
        return {item.id: item_fingerprint(item) for item in self.items}

    @cached_property
    def fingerprint(self) -> str:
        """Content hash of the set; independent of order, format, name and place."""
        return set_fingerprint(self.fingerprints)

    @cached_property
    def fields(self) -> frozenset[str]:
        """The fields that at least one item has, by the names of `GoldenItem`."""
        return frozenset(
            name for item in self.items for name in item.model_fields_set if getattr(item, name) not in (None, (), {})
        )

    @property
    def n_unverified(self) -> int:
        """How many items no person has verified."""
        return sum(not item.verified for item in self.items)

    def by_id(self, name: str) -> GoldenItem:
        """The item with this id; `UnknownName` with the nearest ids."""
        try:
            return self._by_id[name]
        except KeyError:
            raise UnknownName("golden item", name, self._by_id) from None

    def filter(self, *, tags: Collection[str] = (), ids: Collection[str] = (), limit: int | None = None) -> GoldenSet:
        """The items that have any of `tags` and are among `ids` (each only if given), at most `limit` of them.

        A tag or id that no item has is an error, not an empty result.
        """
        known = {tag for item in self.items for tag in item.tags}
        for tag in tags:
            if tag not in known:
                raise UnknownName("tag", tag, known)
        for name in ids:
            self.by_id(name)
        if limit is not None and limit < 1:
            raise InputError("the limit must be at least 1", found=limit)
        wanted, names = set(tags), set(ids)
        kept = [
            item for item in self.items if (not wanted or wanted & set(item.tags)) and (not names or item.id in names)
        ]
        return self._only(kept[:limit])

    def split(self, part: Literal["dev", "test"], *, dev_share: float = 0.5) -> GoldenSet:
        """The items of one part. An id falls into the same part in every set, whatever stands around it.

        The part is decided by SHA-256 of the id: the first 8 bytes as a fraction of 2**64, below `dev_share` is dev.
        """
        if part not in ("dev", "test"):
            raise UnknownName("part of a split", part, ("dev", "test"))
        return self._only([item for item in self.items if part_of(item.id, dev_share) == part])

    def info(self) -> DatasetInfo:
        """The set's card, for manifests."""
        return DatasetInfo(
            name=self.name,
            path=None if self.path is None else str(self.path),
            fingerprint=self.fingerprint,
            n_items=len(self.items),
            n_verified=len(self.items) - self.n_unverified,
            items=self.fingerprints,
        )

    def _only(self, items: list[GoldenItem]) -> GoldenSet:
        return replace(self, items=tuple(items))


def part_of(name: str, dev_share: float = 0.5) -> Literal["dev", "test"]:
    """Which part of a dev/test split an id belongs to.

    >>> part_of("q1"), part_of("q1", 0.0), part_of("q1", 1.0)
    ('test', 'test', 'dev')
    """
    place = int.from_bytes(hashlib.sha256(name.encode("utf-8", "surrogatepass")).digest()[:8], "big") / 2**64
    return "dev" if place < dev_share else "test"


def load_golden(
    path: str | os.PathLike[str] | Any, *, field_map: Mapping[str, str] | None = None, name: str | None = None
) -> GoldenSet:
    """Read a golden set.

    `path`: YAML, JSON, JSON Lines, CSV, TSV (each plain or gzip) or Parquet; a BEIR folder, a saved Hugging Face data
    set, a folder of golden files; or in memory a list of dicts, a pandas DataFrame, a Hugging Face `Dataset`.
    `field_map` maps their field names to ours and goes before the aliases (`ragauge.dataset.aliases`). `answer` is the
    reference answer unless the record also has an explicit reference.

    Raises `InputError` that lists up to 20 problems, each with file, line, field, what was found and what is accepted.
    """
    source = open_source(path, name)
    reader = RecordReader.open("golden", source.where, field_map)
    items: list[GoldenItem] = []
    for row in source.read():
        if isinstance(row, InputError):
            reader.problems.add(row)
            continue
        read = reader.read(row)
        if read is not None:
            items.append(read.item)
    reader.finish()
    if not items:
        raise InputError("there are no items", file=source.where)
    lines = {item_id: line for (item_id, _), line in reader.lines.items()}
    return GoldenSet(source.name, source.path, tuple(items), reader.warnings.messages(), lines)
