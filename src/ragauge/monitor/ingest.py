"""Logs in files taken over: JSON lines, JSON, Parquet, with anybody's names for the fields."""

from __future__ import annotations

import gzip
import json
import zlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import IO, Any

from ragauge.errors import InputError, MissingExtra
from ragauge.monitor.intake import Intake, NoRecord, Rejected
from ragauge.monitor.layout import Kind
from ragauge.monitor.sinks import FolderSink

_BATCH = 2_000
_KEPT = 1_000
#: A list, or one object, is read as a whole.
_WHOLE_BYTES = 1 << 30
#: Keys under which an object may hold its records.
_LISTS: dict[Kind, tuple[str, ...]] = {"queries": ("queries", "records", "rows"), "feedback": ("feedback", "records")}


@dataclass
class Ingested:
    """What came of a file. `rejected` has at most a thousand, with the line as their index (from 1)."""

    taken: int = 0
    n_rejected: int = 0
    rejected: list[Rejected] = field(default_factory=list)


def ingest(
    place: str | Path,
    file: Path,
    intake: Intake,
    kind: Kind = "queries",
    refused: Callable[[Rejected], None] | None = None,
) -> Ingested:
    """Append a file's records to the log. Records without an id get one from their content: repeating adds nothing.

    `refused` is told of every record that was not taken. Raises `InputError` for a file that is none of the formats.
    """
    sink = FolderSink(place)
    done = Ingested()
    try:
        records, names = _records(file, kind), _Names(kind, file)
        while batch := list(islice(records, _BATCH)):
            taken = intake.take(kind, [names.named(record) for _, record in batch])
            sink.write(taken.lines)
            done.taken += len(taken.lines)
            done.n_rejected += len(taken.rejected)
            for one in taken.rejected:
                found = Rejected(batch[one.index][0], one.reason, one.id)
                if refused is not None:
                    refused(found)
                if len(done.rejected) < _KEPT:
                    done.rejected.append(found)
    finally:
        sink.close()
    return done


class _Names:
    """Ids for records that have none: by their content, and the how-manieth of that content in the file it is."""

    def __init__(self, kind: Kind, file: Path) -> None:
        self.kind, self.file = kind, file
        self._seen: dict[str, int] = {}

    def named(self, record: Any) -> Any:
        """The record under our names, with an id and a time."""
        from ragauge.core.model import fingerprint
        from ragauge.monitor.intake import named
        from ragauge.monitor.lenient import plain

        if self.kind != "queries" or not isinstance(record, Mapping):
            return record
        fields = named(self.kind, record)
        if "id" not in fields:
            mark = fingerprint(plain(record))
            self._seen[mark] = n = self._seen.get(mark, 0) + 1
            fields["id"] = f"file:{mark}" if n == 1 else f"file:{mark}:{n}"
        if "at" not in fields:
            # The same file read on another day must give the same records.
            fields["at"] = self.file.stat().st_mtime
        return fields


def _records(file: Path, kind: Kind) -> Iterator[tuple[int, Any]]:
    """(line, or place in a list, from 1; record or `NoRecord`)."""
    try:
        with file.open("rb") as plain_file:
            start = plain_file.read(4)
            if start == b"PAR1":
                yield from enumerate(_parquet_rows(file), start=1)
                return
            if start[:2] in (b"\xff\xfe", b"\xfe\xff"):
                raise InputError("is UTF-16", file=str(file), hint="Save it as UTF-8.")
            plain_file.seek(0)
            opened: IO[bytes] = gzip.GzipFile(fileobj=plain_file) if start[:2] == b"\x1f\x8b" else plain_file  # type: ignore[assignment]
            if Path(file.name.lower().removesuffix(".gz")).suffix == ".json":
                whole = _whole(opened, file, kind)
                if whole is not None:
                    yield from enumerate(whole, start=1)
                    return
                opened.seek(0)
            for number, line in enumerate(opened, start=1):
                if line.strip():
                    yield number, _json_line(line)
    except (OSError, EOFError, zlib.error) as error:
        said = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        raise InputError(f"cannot be read: {said}", file=str(file)) from None


def _json_line(line: bytes) -> Any:
    try:
        return json.loads(line.decode("utf-8-sig"))
    except (ValueError, RecursionError) as error:
        return NoRecord(f"no JSON: {str(error)[:200]}")


def _whole(opened: IO[bytes], file: Path, kind: Kind) -> list[Any] | None:
    """The records of one JSON document; None where every line is one."""
    if isinstance(_json_line(opened.readline(_WHOLE_BYTES)), dict) and opened.readline(_WHOLE_BYTES).strip():
        return None
    opened.seek(0)
    text = opened.read(_WHOLE_BYTES).removeprefix(b"\xef\xbb\xbf")
    first = text.lstrip()[:1]
    if first not in (b"[", b"{"):
        return None
    try:
        found = json.loads(text)
    except (ValueError, RecursionError) as error:
        if first == b"{":
            return None
        raise InputError(f"no JSON: {str(error)[:200]}", file=str(file)) from None
    if isinstance(found, dict):
        held = [found[name] for name in _LISTS[kind] if isinstance(found.get(name), list)]
        return held[0] if len(found) == 1 and held else [found]
    return list(found)


def _parquet_rows(file: Path) -> Iterator[dict[str, Any]]:
    try:
        import pyarrow.parquet as parquet
    except ImportError:
        raise MissingExtra("pyarrow, which reads Parquet,", "monitor") from None
    try:
        opened = parquet.ParquetFile(file)
        for batch in opened.iter_batches(batch_size=_BATCH):
            yield from batch.to_pylist()
    except (OSError, ValueError) as error:
        raise InputError(f"cannot be read as Parquet: {error}", file=str(file)) from None
