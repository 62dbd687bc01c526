"""Finished segments become Parquet; days past their time are deleted. Both can be killed at any moment."""

from __future__ import annotations

import contextlib
import errno
import json
import os
import secrets
import shutil
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import date, timedelta
from pathlib import Path
from typing import Any

from ragauge.errors import DiskFull, StoreError
from ragauge.monitor.columns import literal, parts_sql, segments_sql
from ragauge.monitor.layout import (
    DAY,
    KINDS,
    PARTS_FILE,
    SEGMENT,
    DayFiles,
    Kind,
    Parts,
    day_folders,
    local_root,
    read_parts,
    sync_folder,
    write_whole,
)
from ragauge.monitor.store import connect, rows_sql
from ragauge.monitor.workspace import FOLDER, PARTS, spaces_in

try:
    import fcntl
except ImportError:
    fcntl = None  # type: ignore[assignment]

#: Rows that are compressed together: few enough that writing them needs little memory, whatever their texts.
_GROUP = 16_384
#: More parts than this in a day become one.
_PARTS = 8
_DAMAGED = "damaged"
_LEFTOVER_S = 3600.0


@dataclass
class Compacted:
    """What a compaction did: rows written, segments replaced, copies not counted, segments set aside."""

    days: int = 0
    segments: int = 0
    rows: int = 0
    repeated: int = 0
    growing: int = 0
    damaged: list[str] = field(default_factory=list)


def compact(place: str | Path, *, until: date | None = None, memory: str = "1GB", threads: int = 1) -> Compacted:
    """Turn the finished segments of every day up to `until` (None: all) into Parquet.

    Segments that a writer still has open are left. A segment with lines that are not ours is moved to `damaged/`
    after its good lines were taken over. Readers may read at the same time; two compactions may not (`StoreError`).
    """
    root = local_root(place)
    done = Compacted()
    with _alone(root), contextlib.closing(connect(memory=memory, threads=threads)) as connection:
        spill = root / f".spill-{os.getpid()}"
        connection.execute(f"SET temp_directory = {literal(str(spill))}")
        try:
            for kind in KINDS:
                for folder in day_folders(root, kind):
                    if until is None or date.fromisoformat(folder.name) <= until:
                        _compact_day(connection, kind, folder, done)
        except _troubles() as error:
            raise _not_compacted(root, error) from error
        finally:
            shutil.rmtree(spill, ignore_errors=True)
    return done


def _troubles() -> tuple[type[Exception], ...]:
    """What the disk and DuckDB raise."""
    import duckdb

    return OSError, duckdb.Error


def _not_compacted(root: Path, error: Exception) -> StoreError:
    full = isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT)
    said = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
    where = f" ({error.filename})" if isinstance(error, OSError) and error.filename else ""
    kind, hint = (DiskFull, "Free some space, then repeat.") if full else (StoreError, "Mend that, then repeat.")
    return kind(f"{root} was not compacted: {said}{where}; every query is kept", hint=hint)


def _compact_day(connection: Any, kind: Kind, folder: Path, done: Compacted) -> None:
    parts = read_parts(folder)
    _clear(folder, parts)
    with _finished(folder, parts) as (segments, n_growing):
        done.growing += n_growing
        if not segments and len(parts.parts) <= _PARTS:
            return
        old = {str(folder / name): rows for name, rows in parts.parts.items()}
        together = len(old) + 1 > _PARTS
        damaged = [segment for segment in segments if _is_damaged(connection, kind, segment)]
        name = f"part-{time.strftime('%H%M%S', time.gmtime())}-{secrets.token_hex(6)}.parquet"
        source = _source(connection, kind, folder, segments, list(old), together=together)
        rows = _write_part(connection, source, folder / name)
        n_lines = sum(_n_lines(connection, kind, segment) for segment in segments)
        kept = {} if together else dict(parts.parts)
        n_new = rows - (sum(old.values()) if together else 0)
        if rows:
            kept[name] = rows
        else:
            (folder / name).unlink()
        for segment in damaged:
            done.damaged.append(str(_set_aside(segment)))
        merged = Parts(kept, frozenset(segment.name for segment in segments))
        write_whole(folder / PARTS_FILE, merged.text())
        done.days += 1
        done.segments += len(segments)
        done.rows += n_new
        done.repeated += n_lines - n_new
        _clear(folder, merged)


def _source(connection: Any, kind: Kind, folder: Path, segments: list[Path], old: list[str], *, together: bool) -> str:
    """What the new part holds. Only when lines stand there twice are they compared: that needs every row at once."""
    names = [str(segment) for segment in segments]
    day = date.fromisoformat(folder.name)
    if not segments:
        return parts_sql(kind, old)
    if kind == "feedback" or _repeats(connection, kind, names, old):
        everything = rows_sql(kind, [DayFiles(day, tuple(old), tuple(names))])
        if together or not old:
            return everything
        known = f"SELECT * FROM ({parts_sql(kind, old)})"
        if kind == "queries":
            return f"SELECT a.* FROM ({everything}) a ANTI JOIN ({known}) k ON k.id = a.id"
        return rows_sql(kind, [DayFiles(day, (), tuple(names))])
    fresh = f"SELECT * FROM ({segments_sql(kind, names)})"
    return f"({parts_sql(kind, old)}) UNION ALL BY NAME ({fresh})" if together and old else fresh


def _repeats(connection: Any, kind: Kind, segments: list[str], old: list[str]) -> bool:
    ids = f"SELECT id FROM ({segments_sql(kind, segments)})"
    if old:
        ids += f" UNION ALL SELECT id FROM ({parts_sql(kind, old)})"
    return bool(connection.execute(f"SELECT count(*) > count(DISTINCT id) FROM ({ids})").fetchone()[0])


def _write_part(connection: Any, source: str, path: Path) -> int:
    import duckdb

    passing = path.with_name(f".{path.name}.tmp")
    try:
        connection.execute(
            f"COPY ({source}) TO {literal(str(passing))} (FORMAT parquet, COMPRESSION zstd, ROW_GROUP_SIZE {_GROUP})"
        )
        with passing.open("rb+") as file:
            os.fsync(file.fileno())
        row = connection.execute(f"SELECT count(*) FROM read_parquet({literal(str(passing))})").fetchone()
        passing.replace(path)
    except duckdb.Error as error:
        with contextlib.suppress(OSError):
            passing.unlink()
        raise StoreError(
            f"{path.parent} was not compacted: {error}", hint="Every query is kept; free space or memory, then repeat."
        ) from error
    sync_folder(path.parent)
    return int(row[0])


def _n_lines(connection: Any, kind: Kind, segment: Path) -> int:
    counted = connection.execute(f"SELECT count(*) FROM ({segments_sql(kind, [str(segment)])})")
    return int(counted.fetchone()[0])


def _is_damaged(connection: Any, kind: Kind, segment: Path) -> bool:
    """Whether a line that ends with its line end is none of ours (a torn last one is what a kill leaves)."""
    with segment.open("rb") as file:
        n_ended = sum(block.count(b"\n") for block in iter(lambda: file.read(1 << 20), b""))
    return _n_lines(connection, kind, segment) < n_ended


@contextlib.contextmanager
def _finished(folder: Path, parts: Parts) -> Iterator[tuple[list[Path], int]]:
    """The segments that nobody writes to; they stay locked while they are read."""
    found, held, growing = [], [], 0
    try:
        for name in sorted(os.listdir(folder)):
            if not SEGMENT.fullmatch(name) or name in parts.merged:
                continue
            fd = os.open(folder / name, os.O_RDWR)
            held.append(fd)
            if fcntl is not None:
                try:
                    fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
                except OSError:
                    growing += 1
                    continue
            found.append(folder / name)
        yield found, growing
    finally:
        for fd in held:
            os.close(fd)


def _clear(folder: Path, parts: Parts) -> None:
    """Delete what a finished compaction replaced and what a killed one left."""
    before = time.time() - _LEFTOVER_S
    for name in os.listdir(folder):
        path = folder / name
        replaced = name in parts.merged or (name.endswith(".parquet") and name not in parts.parts)
        with contextlib.suppress(FileNotFoundError):
            if replaced or (name.startswith(".") and path.stat().st_mtime < before):
                path.unlink()


def _set_aside(segment: Path) -> Path:
    folder = segment.parent.parent.parent / _DAMAGED
    folder.mkdir(exist_ok=True)
    target = folder / f"{segment.parent.parent.name}-{segment.parent.name}-{segment.name}"
    with contextlib.suppress(FileExistsError):  # an earlier compaction was killed here
        os.link(segment, target)
    return target


@contextlib.contextmanager
def _alone(root: Path) -> Iterator[None]:
    if not root.is_dir():
        raise StoreError(f"no such log: {root}")
    fd = os.open(root / ".compacting", os.O_RDWR | os.O_CREAT, 0o644)
    try:
        if fcntl is not None:
            try:
                fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                raise StoreError(f"{root} is being compacted by another process", hint="Wait for it.") from None
        yield
    finally:
        os.close(fd)


def prune(
    place: str | Path, *, keep_days: int, today: date, dry_run: bool = False, state: Path | None = None
) -> list[Path]:
    """Delete every day's folder (queries, feedback, and what was made of them) older than `keep_days` days.

    `keep_days` 1 keeps today and yesterday. `state`: where what was made of them is kept besides. Gives what was
    deleted, or would be. A folder vanishes in one step. Topics that were made of older days lose their examples.
    """
    root = local_root(place)
    before = today - timedelta(days=keep_days)
    spaces = [space for one in (root / FOLDER, state) if one is not None for space in spaces_in(one)]
    doomed = [folder for folder in _every_day(root, spaces) if date.fromisoformat(folder.name) < before]
    files = [*sorted((root / _DAMAGED).glob("*.jsonl"))]
    files += [path for space in spaces for part in PARTS for path in sorted((space / part).glob("????-??-??.json"))]
    aside = [path for path in files if _day_within(path.name, before)]
    if not dry_run:
        left = [path for folder in _day_holders(root, spaces) for path in folder.glob(".gone-*")]
        for path in [*doomed, *left]:
            _delete(path)
        for path in aside:
            path.unlink(missing_ok=True)
        for space in spaces:
            _forget_examples(space / "topics.json", before)
    return [*doomed, *aside]


def _forget_examples(path: Path, before: date) -> None:
    """A topic's example is somebody's question: it goes with its day, the topic stays."""
    try:
        topics = json.loads(path.read_bytes())
        is_old = topics.get("made", "") < before.isoformat()
        told = [topic for topic in topics["topics"] if topic.get("example")]
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return  # there are none, or whoever reads them is told what is wrong
    if is_old and told:
        for topic in told:
            topic["example"] = ""
        write_whole(path, json.dumps(topics, ensure_ascii=False, indent=2) + "\n")


def _delete(path: Path) -> None:
    """Delete a folder; somebody else may be at it as well. Raises `StoreError`."""
    gone = path if path.name.startswith(".gone-") else path.with_name(f".gone-{path.name}")
    try:
        if gone != path:
            shutil.rmtree(gone, ignore_errors=True)
            path.replace(gone)
        if gone.is_dir():
            shutil.rmtree(gone)
        else:
            gone.unlink()
    except FileNotFoundError:  # whoever else prunes was quicker
        return
    except OSError as error:
        raise StoreError(f"{path} could not be deleted: {error.strerror}", hint="Delete it by hand.") from error


def _every_day(root: Path, spaces: list[Path]) -> list[Path]:
    return [day for folder in _day_holders(root, spaces) for day in day_folders(folder.parent, folder.name)]


def _day_holders(root: Path, spaces: list[Path]) -> list[Path]:
    """Folders of ours with a folder for each day. A workspace may be a folder that holds other people's days too."""
    kinds = [path for path in sorted(root.glob("[!.]*")) if path.is_dir() and path.name != FOLDER]
    return [*kinds, *(space / part for space in spaces for part in PARTS if (space / part).is_dir())]


def _day_within(name: str, before: date) -> bool:
    found = DAY.search(name)
    return found is not None and date.fromisoformat(found.group()) < before
