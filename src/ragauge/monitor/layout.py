"""Where a log keeps what: one folder for a kind and a UTC day, holding finished parts and segments still growing.

    LOG/log.json                                    the format's version
    LOG/queries/2026-11-30/SEGMENT.jsonl            appended by one writer, synced in batches
    LOG/queries/2026-11-30/part-….parquet           what `compact` made of finished segments
    LOG/queries/2026-11-30/parts.json               which parts count, and which segments they replace
    LOG/feedback/…                                  likewise, by the day on which the feedback came

`parts.json` is replaced in one step. A part that it does not name was never finished, a segment that it names is only
not deleted yet: whenever a compaction is killed, every query is read exactly once.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
from dataclasses import dataclass, field
from datetime import date
from pathlib import Path
from typing import Literal

from ragauge.errors import NewerVersion, StoreError, UsageError
from ragauge.store.whole import replacing

Kind = Literal["queries", "feedback"]
KINDS: tuple[Kind, ...] = ("queries", "feedback")
FORMAT = 1
LOG_FILE = "log.json"
PARTS_FILE = "parts.json"
SEGMENT = re.compile(r"[\w.-]+\.jsonl")
DAY = re.compile(r"\d{4}-\d\d-\d\d")


@dataclass(frozen=True)
class Parts:
    """The content of `parts.json`: names of the parts that count → rows, and the segments that they replace."""

    parts: dict[str, int] = field(default_factory=dict)
    merged: frozenset[str] = frozenset()

    def text(self) -> str:
        """As it is written."""
        return json.dumps({"format": FORMAT, "parts": self.parts, "merged": sorted(self.merged)}, indent=1) + "\n"


@dataclass(frozen=True)
class DayFiles:
    """What is read for one day: whole paths or URLs."""

    day: date
    parts: tuple[str, ...] = ()
    segments: tuple[str, ...] = ()


def parse_parts(text: str, where: str) -> Parts:
    """`parts.json` read. Raises `StoreError` for one that cannot be what we wrote."""
    try:
        data = json.loads(text)
        if data["format"] > FORMAT:
            raise NewerVersion(f"{where} was written by a newer ragauge", hint="Update ragauge.")
        parts = {str(name): int(rows) for name, rows in data["parts"].items()}
        return Parts(parts, frozenset(str(name) for name in data["merged"]))
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise StoreError(
            f"{where} cannot be read: {error}", hint="Restore it from a backup; nothing was changed."
        ) from None


def read_parts(folder: Path) -> Parts:
    """The parts of a day's folder; none where it was never compacted."""
    path = folder / PARTS_FILE
    try:
        return parse_parts(path.read_text(encoding="utf-8"), str(path))
    except FileNotFoundError:
        return Parts()


def write_whole(path: Path, text: str) -> None:
    """Put `text` in the place of `path` in one step, on the disk before this returns."""
    with replacing(path) as beside, beside.open("w", encoding="utf-8") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    sync_folder(path.parent)


def sync_folder(folder: Path) -> None:
    """Put the folder's list of names on the disk (where the system can)."""
    with contextlib.suppress(OSError):
        fd = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(fd)
        finally:
            os.close(fd)


def files_of_day(day: str, names: list[str], parts: Parts, where: str) -> DayFiles:
    """Which of a folder's files are read."""
    there = set(names)
    lost = sorted(set(parts.parts) - there)
    if lost:
        raise FileNotFoundError(f"{where}/{lost[0]}")
    segments = sorted(name for name in there if SEGMENT.fullmatch(name) and name not in parts.merged)
    return DayFiles(
        date.fromisoformat(day),
        tuple(f"{where}/{name}" for name in sorted(parts.parts)),
        tuple(f"{where}/{name}" for name in segments),
    )


def day_folders(root: Path, kind: str) -> list[Path]:
    """The folders of a kind, oldest day first."""
    try:
        with os.scandir(root / kind) as entries:
            found = [entry.name for entry in entries if DAY.fullmatch(entry.name) and entry.is_dir()]
    except FileNotFoundError:
        return []
    return [root / kind / name for name in sorted(found) if _is_day(name)]


def is_remote(place: str) -> bool:
    """Whether `place` is a URL (s3://…) rather than a folder."""
    return re.match(r"[A-Za-z][A-Za-z0-9+.-]+://", place) is not None


def local_root(place: str | Path) -> Path:
    """A log's folder for writing. Raises `UsageError` for a URL."""
    if is_remote(str(place)):
        raise UsageError(
            f"a log at {place} can be read, not written",
            hint="Write to a folder and copy its finished days there, or send to an HTTP endpoint.",
        )
    return Path(place)


def check_format(root: Path) -> None:
    """Raises `NewerVersion` for a log of a newer ragauge, `StoreError` for a folder that is something else."""
    try:
        text = (root / LOG_FILE).read_text(encoding="utf-8")
    except FileNotFoundError:
        return
    try:
        found = int(json.loads(text)["format"])
    except (ValueError, KeyError, TypeError):
        raise StoreError(f"{root / LOG_FILE} is not the mark of a log of queries") from None
    if found > FORMAT:
        raise NewerVersion(f"{root} was written by a newer ragauge (format {found})", hint="Update ragauge.")


def make_root(root: Path) -> None:
    """Make the folder and its mark, unless they are there."""
    root.mkdir(parents=True, exist_ok=True)
    check_format(root)
    if not (root / LOG_FILE).exists():
        write_whole(root / LOG_FILE, json.dumps({"format": FORMAT}) + "\n")


def _is_day(name: str) -> bool:
    try:
        date.fromisoformat(name)
    except ValueError:
        return False
    return True
