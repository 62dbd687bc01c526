"""A run as a directory: manifest.json (what was run), rows.jsonl (what happened), summary.json (what it amounts to)."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ValidationError

from ragauge.core.run import FORMAT, Manifest, Record, Summary
from ragauge.errors import DiskFull, NewerVersion, StoreError
from ragauge.store.jsonl import _FULL, JsonlWriter, whole_lines
from ragauge.store.whole import replacing

MANIFEST, ROWS, SUMMARY = "manifest.json", "rows.jsonl", "summary.json"


@dataclass(frozen=True)
class RowIndex:
    """Where the row that counts for each (id, repeat) stands in rows.jsonl: its place in the input, its byte offset."""

    offsets: dict[tuple[str, int], tuple[int, int]]
    failed: frozenset[tuple[str, int]]
    n_lines: int

    @property
    def ordered(self) -> list[int]:
        """The byte offsets in input order, then by repeat."""
        order = sorted(self.offsets.items(), key=lambda entry: (entry[1][0], entry[0][1]))
        return [offset for _, (_, offset) in order]


@dataclass(frozen=True)
class RunDir:
    """One run directory, opened. Reading needs no key, model or plug-in; rows are streamed, never all held."""

    path: Path
    manifest: Manifest

    @staticmethod
    def create(base: Path, manifest: Manifest) -> RunDir:
        """Make `base/manifest.run` and write the manifest. Nothing is left behind when that fails."""
        path = base / manifest.run
        try:
            base.mkdir(parents=True, exist_ok=True)
            path.mkdir()
        except FileExistsError:
            raise StoreError(f"{path} exists already", hint="Name another --out, or --resume it.") from None
        except OSError as error:
            raise _cannot_write(path, error) from error
        try:
            write_json(path / MANIFEST, manifest)
        except BaseException:
            path.rmdir()
            raise
        return RunDir(path, manifest)

    @staticmethod
    def open(path: str | os.PathLike[str]) -> RunDir:
        """Open a run for reading. Raises `StoreError` if it is none, `NewerVersion` if we are too old for it."""
        folder = Path(path)
        file = folder / MANIFEST
        if not folder.is_dir():
            raise StoreError(
                f"no run directory at {folder}", hint="`ragauge show` without a name lists the runs in runs/."
            )
        if not file.is_file():
            raise StoreError(f"{folder} is not a run directory: it has no {MANIFEST}")
        data = _read_json(file)
        version = data.get("format") if isinstance(data, dict) else None
        if not isinstance(version, int):
            raise StoreError(f"{file} is not a ragauge manifest: it has no format number")
        if version > FORMAT:
            raise NewerVersion(
                f"{folder} was written by a newer ragauge (format {version}; this one reads up to {FORMAT})",
                hint=f"Upgrade ragauge: it was written by version {data.get('ragauge', 'unknown')}.",
            )
        try:
            return RunDir(folder, Manifest.model_validate(data))
        except ValidationError as error:
            raise StoreError(f"{file} is damaged: {_first_problem(error)}") from error

    @property
    def rows(self) -> Path:
        """The path of rows.jsonl."""
        return self.path / ROWS

    def writer(self) -> JsonlWriter:
        """The one writer of this run's rows; cuts off a row that a killed process left unfinished."""
        return JsonlWriter(self.rows)

    def index(self) -> RowIndex:
        """One pass over the rows: which are there, where, and which of them hold an error."""
        offsets: dict[tuple[str, int], tuple[int, int]] = {}
        failed: set[tuple[str, int]] = set()
        n_lines = 0
        if self.rows.exists():
            for number, offset, line in whole_lines(self.rows):
                row = _parse_row(self.rows, number, line)
                key = (row["sample"]["item"]["id"], row["sample"].get("repeat", 0))
                offsets[key] = (row["index"], offset)
                (failed.add if _has_error(row) else failed.discard)(key)
                n_lines += 1
        return RowIndex(offsets, frozenset(failed), n_lines)

    def records(self, index: RowIndex | None = None) -> Iterator[Record]:
        """Every row that counts, in input order (then by repeat), one at a time. `index`: of this file, if known."""
        found = index or self.index()
        if found.offsets:
            yield from self.records_at(found.ordered)

    def records_at(self, offsets: Iterable[int]) -> Iterator[Record]:
        """The rows that begin at these bytes of rows.jsonl."""
        with self.rows.open("rb") as file:
            for offset in offsets:
                file.seek(offset)
                try:
                    yield Record.model_validate_json(file.readline())
                except ValidationError as error:
                    raise StoreError(f"{self.rows}: a row is damaged: {_first_problem(error)}") from error

    def save_summary(self, summary: Summary) -> None:
        """Write summary.json, whole or not at all."""
        write_json(self.path / SUMMARY, summary)

    def saved_summary(self) -> Summary | None:
        """The summary as it was last written, if any. `analysis.summarise` rebuilds it from the rows."""
        file = self.path / SUMMARY
        if not file.is_file():
            return None
        try:
            return Summary.model_validate(_read_json(file))
        except ValidationError:
            return None  # of another version: it is derived, and rebuilt from the rows


def write_json(path: Path, value: BaseModel | dict[str, Any]) -> None:
    """Write `value` as indented JSON beside `path`, then move it there: readers see the old file or the new one."""
    text = (
        value.model_dump_json(indent=2, exclude_none=True)
        if isinstance(value, BaseModel)
        else json.dumps(value, indent=2, ensure_ascii=False, allow_nan=False)
    )
    try:
        with replacing(path) as beside, beside.open("w", encoding="utf-8", newline="\n") as file:
            file.write(text + "\n")
            file.flush()
            os.fsync(file.fileno())
    except OSError as error:
        raise _cannot_write(path, error) from error


def find_run(reference: str | None, base: Path) -> RunDir:
    """The run that `reference` names: a path, a name in `base` or a unique part of one, or the newest (None)."""
    if reference is not None and (Path(reference) / MANIFEST).is_file():
        return RunDir.open(reference)
    runs = list_runs(base)
    if reference is None:
        if not runs:
            raise StoreError(f"there are no runs in {base}", hint="Make one with `ragauge demo` or `ragauge run`.")
        return RunDir.open(runs[-1])
    named = re.compile(rf"[\dT-]{{19}}-{re.escape(reference)}-[0-9a-f]+")
    hits = (
        [run for run in runs if run.name == reference]
        or [run for run in runs if named.fullmatch(run.name)]
        or [run for run in runs if reference in run.name]
    )
    if len(hits) == 1:
        return RunDir.open(hits[0])
    if hits:
        raise StoreError(
            f"{reference!r} fits {len(hits)} runs", hint="One of: " + ", ".join(run.name for run in hits[-5:])
        )
    if Path(reference).exists():
        return RunDir.open(reference)  # says what is wrong with it
    newest = f"Newest in {base}: {runs[-1].name}" if runs else f"There are no runs in {base}."
    raise StoreError(f"no run {reference!r}", hint=newest)


def list_runs(base: Path) -> list[Path]:
    """The run directories in `base`, oldest first (their names begin with the time)."""
    return sorted(path.parent for path in base.glob(f"*/{MANIFEST}"))


def run_name(created: str, name: str, mark: str) -> str:
    """`2026-01-31T10-12-03-baseline-3f9c` from an ISO time, a name and a short hash."""
    safe = re.sub(r"[^A-Za-z0-9._]+", "-", name).strip("-.")[:40] or "run"
    return f"{created[:19].replace(':', '-')}-{safe}-{mark}"


def _has_error(row: dict[str, Any]) -> bool:
    from ragauge.core.score import Kind, kind_of
    from ragauge.errors import Reason

    if row.get("error"):
        return True
    reasons = (score["unscored"] for score in row["scores"].values() if "unscored" in score)
    return any(kind_of(Reason(reason)) is not Kind.NOT_APPLICABLE for reason in reasons)


def _parse_row(path: Path, number: int, line: bytes) -> dict[str, Any]:
    try:
        row = json.loads(line)
        row["sample"]["item"]["id"], row["index"], row["scores"]
    except (ValueError, KeyError, TypeError) as error:
        raise StoreError(
            f"{path}:{number}: the row is damaged ({error})", hint="Take the line out, then --resume."
        ) from error
    return row  # type: ignore[no-any-return]


def _read_json(path: Path) -> Any:
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise StoreError(f"{path} cannot be read: {error}") from error


def _cannot_write(path: Path, error: OSError) -> StoreError:
    if error.errno in _FULL:
        return DiskFull(
            f"no space left for {path}; nothing half-written was kept", hint="Free some space and try again."
        )
    return StoreError(f"cannot write {path}: {error.strerror or error}")


def _first_problem(error: ValidationError) -> str:
    problem = error.errors()[0]
    return f"{'.'.join(str(part) for part in problem['loc'])}: {problem['msg']}"
