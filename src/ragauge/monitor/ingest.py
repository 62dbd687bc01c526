"""Logs in files taken over: JSON lines, JSON, Parquet, with anybody's names for the fields."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any

from ragauge.errors import InputError, MissingExtra
from ragauge.monitor.intake import Intake, Rejected
from ragauge.monitor.layout import Kind
from ragauge.monitor.sinks import FolderSink

_BATCH = 2_000
_KEPT = 1_000


@dataclass
class Ingested:
    """What came of a file. `rejected` has at most a thousand, with the line as their index (from 1)."""

    taken: int = 0
    n_rejected: int = 0
    rejected: list[Rejected] = field(default_factory=list)


def ingest(place: str | Path, file: Path, intake: Intake, kind: Kind = "queries") -> Ingested:
    """Append a file's records to the log. Records without an id get one from their content: repeating adds nothing.

    Raises `InputError` for a file that is none of the formats.
    """
    sink = FolderSink(place)
    done = Ingested()
    try:
        records = enumerate(_records(file), start=1)
        while batch := list(islice(records, _BATCH)):
            taken = intake.take(kind, [_identified(kind, record, file) for _, record in batch])
            sink.write(taken.lines)
            done.taken += len(taken.lines)
            done.n_rejected += len(taken.rejected)
            for one in taken.rejected[: max(0, _KEPT - len(done.rejected))]:
                done.rejected.append(Rejected(batch[one.index][0], one.reason, one.id))
    finally:
        sink.close()
    return done


def _identified(kind: Kind, record: Any, file: Path) -> Any:
    from ragauge.core.model import fingerprint
    from ragauge.monitor.intake import named
    from ragauge.monitor.lenient import plain

    if kind != "queries" or not isinstance(record, Mapping):
        return record
    fields = named(kind, record)
    if "id" not in fields:
        fields["id"] = f"file:{fingerprint(plain(record))}"
    if "at" not in fields:
        # The same file read on another day must give the same records.
        fields["at"] = file.stat().st_mtime
    return fields


def _records(file: Path) -> Iterator[Any]:
    try:
        with file.open("rb") as opened:
            start = opened.read(4)
            if start == b"PAR1":
                yield from _parquet_rows(file)
                return
            opened.seek(0)
            if file.suffix.lower() == ".json" and start.lstrip()[:1] == b"[":
                yield from _json_list(opened.read(), file)
                return
            for line in opened:
                if line.strip():
                    yield _json_line(line)
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror}", file=str(file)) from None


def _json_line(line: bytes) -> Any:
    try:
        return json.loads(line)
    except (ValueError, RecursionError) as error:
        return f"no JSON: {error}"


def _json_list(text: bytes, file: Path) -> list[Any]:
    try:
        found = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise InputError(f"no JSON: {error}", file=str(file)) from None
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
