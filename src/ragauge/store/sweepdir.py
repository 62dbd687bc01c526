"""A sweep as a directory: sweep.json (what is swept, written first), cells/ (ordinary runs), indexes/, tables."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from pydantic import Field, ValidationError

from ragauge.core.model import Model
from ragauge.errors import NewerVersion, StoreError
from ragauge.store.jsonl import JsonlWriter, whole_lines
from ragauge.store.rundir import RunDir, list_runs, write_json

FORMAT = 1
MANIFEST, BUILDS = "sweep.json", "builds.jsonl"
Part = Literal["dev", "test"]


class SweepCell(Model):
    """One cell: its id (c01 …), the knobs it sets by dotted key, its whole settings (secrets never resolved).

    `index`: the fingerprint of the vector index that it searches; None when it searches none that could be shared.
    """

    id: str
    label: str
    knobs: dict[str, Any] = Field(default_factory=dict)
    settings: dict[str, Any] = Field(default_factory=dict)
    index: str | None = None


class SweepManifest(Model):
    """What is swept. Written first; never changed. `goldens`: path of each golden set → fingerprint of what is asked.

    `part`: the half of the golden set that the cells are asked (None: all of it); the other half is for confirming.
    """

    format: int = FORMAT
    sweep: str
    created: str
    ragauge: str
    file: str | None = None
    knobs: tuple[str, ...]
    cells: tuple[SweepCell, ...]
    base: str
    quality: str | None = None
    metrics: tuple[str, ...] = ()
    part: Part | None = None
    goldens: dict[str, str] = Field(default_factory=dict)
    n_questions: int = 0
    notes: tuple[str, ...] = ()

    def cell(self, name: str) -> SweepCell:
        """The cell with this id."""
        return next(cell for cell in self.cells if cell.id == name)

    @property
    def n_indexes(self) -> int:
        """How many different vector indexes the cells need together."""
        return len({cell.index for cell in self.cells if cell.index is not None})


@dataclass(frozen=True)
class SweepDir:
    """One sweep directory, opened."""

    path: Path
    manifest: SweepManifest

    @staticmethod
    def create(base: Path, manifest: SweepManifest) -> SweepDir:
        """Make `base/manifest.sweep` and write the manifest. Nothing is left behind when that fails."""
        path = base / manifest.sweep
        try:
            base.mkdir(parents=True, exist_ok=True)
            path.mkdir()
        except OSError as error:
            raise StoreError(f"cannot make {path}: {error.strerror or error}", hint="Name another --out.") from error
        try:
            write_json(path / MANIFEST, manifest)
        except BaseException:
            path.rmdir()
            raise
        return SweepDir(path, manifest)

    @staticmethod
    def open(path: str | os.PathLike[str]) -> SweepDir:
        """Open a sweep. Raises `StoreError` if it is none, `NewerVersion` if we are too old for it."""
        file = Path(path) / MANIFEST
        try:
            data = json.loads(file.read_text(encoding="utf-8"))
        except FileNotFoundError:
            raise StoreError(f"{path} is no sweep directory: it has no {MANIFEST}") from None
        except (OSError, ValueError) as error:
            raise StoreError(f"{file} cannot be read: {error}") from error
        version = data.get("format") if isinstance(data, dict) else None
        if not isinstance(version, int):
            raise StoreError(f"{file} is not the manifest of a sweep: it has no format number")
        if version > FORMAT:
            raise NewerVersion(f"{path} was written by a newer ragauge (format {version})", hint="Upgrade ragauge.")
        try:
            return SweepDir(Path(path), SweepManifest.model_validate(data))
        except ValidationError as error:
            raise StoreError(f"{file} is damaged: {error.errors()[0]['msg']}") from error

    @property
    def cells(self) -> Path:
        """Where the cells' run directories are."""
        return self.path / "cells"

    @property
    def confirm(self) -> Path:
        """Where the runs on held-out questions are."""
        return self.path / "confirm"

    @property
    def indexes(self) -> Path:
        """Where the indexes are that cells share. May be deleted: what is missing is built again."""
        return self.path / "indexes"

    def runs(self, folder: Path | None = None) -> dict[str, RunDir]:
        """Cell id → its run. Of several runs of one cell, the one with the most rows, then the oldest."""
        found: dict[str, tuple[int, RunDir]] = {}
        for path in list_runs(folder or self.cells):
            run = RunDir.open(path)
            mark = run.manifest.settings.get("sweep")
            cell = mark.get("cell") if isinstance(mark, dict) else None
            if isinstance(cell, str):
                n_rows = len(run.index().offsets)
                if cell not in found or n_rows > found[cell][0]:
                    found[cell] = (n_rows, run)
        return {cell: run for cell, (_, run) in found.items()}

    def add_build(self, index: str, n_chunks: int, seconds: float) -> None:
        """Note that an index was built."""
        self.indexes.mkdir(exist_ok=True)
        with JsonlWriter(self.indexes / BUILDS) as writer:
            writer.append(json.dumps({"index": index, "n_chunks": n_chunks, "seconds": round(seconds, 3)}))

    def builds(self) -> Iterator[dict[str, Any]]:
        """Every index build of this sweep, killed and resumed parts together: {"index", "n_chunks", "seconds"}."""
        file = self.indexes / BUILDS
        if file.exists():
            for _, _, line in whole_lines(file):
                yield json.loads(line)


def find_sweep(reference: str, base: Path) -> SweepDir:
    """The sweep that `reference` names: a path, a name in `base`, or a unique part of one."""
    if (Path(reference) / MANIFEST).is_file():
        return SweepDir.open(reference)
    known = sorted(path.parent for path in base.glob(f"*/{MANIFEST}"))
    hits = [path for path in known if path.name == reference] or [path for path in known if reference in path.name]
    if len(hits) == 1:
        return SweepDir.open(hits[0])
    if hits:
        raise StoreError(f"{reference!r} fits {len(hits)} sweeps", hint="One of: " + ", ".join(p.name for p in hits))
    newest = f"Newest in {base}: {known[-1].name}" if known else f"There are no sweeps in {base}."
    raise StoreError(f"no sweep {reference!r}", hint=newest)


def short_names(knobs: Sequence[str]) -> dict[str, str]:
    """The shortest ends of dotted keys that tell them apart.

    >>> short_names(["system.reference.k", "judge"])
    {'system.reference.k': 'k', 'judge': 'judge'}
    """
    names = {}
    for key in knobs:
        parts = key.split(".")
        for n in range(1, len(parts) + 1):
            end = ".".join(parts[-n:])
            if sum(other == end or other.endswith(f".{end}") for other in knobs) == 1:
                break
        names[key] = end
    return names


def shown_value(value: Any) -> str:
    """A setting's value as it is written in a table.

    >>> shown_value(5), shown_value("dense"), shown_value(["a", 1])
    ('5', 'dense', '["a", 1]')
    """
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
