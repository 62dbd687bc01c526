"""Tables: CSV and Parquet, read as a stream with row numbers, written whole or not at all.

A CSV cell that a spreadsheet would run as a formula (it starts with `=`, `+`, `-`, `@`, a tab or a carriage return) is
written with an apostrophe before it; `read_csv_rows(..., unescape=True)` takes it away again.
"""

from __future__ import annotations

import csv
import errno
import json
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import IO, Any

from ragauge.errors import DiskFull, InputError, MissingExtra, StoreError
from ragauge.store.textfile import MAX_LINE_BYTES, existing_path, numbered_lines
from ragauge.store.whole import replacing

#: First characters that make a spreadsheet run a cell.
FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r")


def read_csv_rows(
    path: str | os.PathLike[str], *, delimiter: str | None = None, unescape: bool = False
) -> Iterator[tuple[int, dict[str, str | None] | InputError]]:
    """(line on which the row starts, column → cell) of every row; empty cells are None, empty lines are left out.

    The delimiter is a tab for `.tsv`, else whichever of `,` `;` and tab the header has most of. A row with more cells
    than the header comes as an `InputError` in the row's place, so that a reader can list all of them.
    """
    file = existing_path(path)
    name = str(file)
    csv.field_size_limit(max(csv.field_size_limit(), MAX_LINE_BYTES))
    lines = (text for _, text in numbered_lines(file, keep_ends=True))
    first = next((line for line in lines if line.strip()), None)
    if first is None:
        raise InputError("the file holds only white space", file=name)
    sep = delimiter or ("\t" if ".tsv" in file.suffixes else max(",;\t", key=first.count))
    skipped = _leading_blank_lines(file)
    if first.startswith("sep=") and len(first.strip()) == 5:  # Excel's note on the delimiter
        sep, skipped, first = first[4], skipped + 1, next(lines, "")
    reader = csv.reader(_chain(first, lines), delimiter=sep, strict=True)
    try:
        header = _header(next(reader), name, skipped + 1)
        start = reader.line_num
        for cells in reader:
            line, start = skipped + start + 1, reader.line_num
            if any(cells):
                yield line, _row(header, cells, name, line, unescape)
    except csv.Error as error:
        raise InputError(
            f"not readable as CSV: {error}",
            file=name,
            line=skipped + reader.line_num,
            hint="Is a quotation mark left open? Inside a quoted cell, write it twice.",
        ) from error


def read_parquet_rows(path: str | os.PathLike[str], *, batch_size: int = 256) -> Iterator[tuple[int, dict[str, Any]]]:
    """(row number from 1, column → value) of every row of a Parquet file, `batch_size` rows in memory at a time."""
    try:
        import pyarrow as pa
        import pyarrow.parquet as pq
    except ImportError as error:
        raise MissingExtra("pyarrow, which reads Parquet,", "parquet") from error
    file = existing_path(path)
    if file.stat().st_size == 0:
        raise InputError("the file is empty", file=str(file))
    number = 0
    try:
        with pq.ParquetFile(file) as table:
            for batch in table.iter_batches(batch_size=batch_size):
                for row in batch.to_pylist():
                    number += 1
                    yield number, row
    except (pa.ArrowInvalid, pa.ArrowException, OSError) as error:
        raise InputError(f"not readable as Parquet: {error}", file=str(file), line=number + 1) from error


def write_csv(
    path: str | os.PathLike[str], rows: Iterable[Mapping[str, Any]], columns: Sequence[str] | None = None
) -> int:
    """Write `rows` as CSV (UTF-8, LF) and return how many; the file appears whole or not at all.

    Columns are `columns`, or the keys of the first row; another key in a later row is an error, never lost. Lists and
    dicts are written as JSON, None as an empty cell, booleans as true and false. Numbers stay numbers (`-0.5`); text
    that a spreadsheet would run is neutralised.
    """
    n_rows = 0

    def write(handle: IO[bytes]) -> None:
        nonlocal n_rows
        names = list(columns) if columns is not None else None
        lines = _Encoded(handle)
        writer = csv.writer(lines, lineterminator=_ROW_END)
        if names is not None:
            writer.writerow([safe_cell(name) for name in names])
        for row in rows:
            if names is None:
                names = list(row)
                writer.writerow([safe_cell(name) for name in names])
            unknown = [key for key in row if key not in names]
            if unknown:
                raise StoreError(f"row {n_rows + 1} has columns that the table has not: {', '.join(unknown)}")
            writer.writerow([safe_cell(row.get(name)) for name in names])
            n_rows += 1

    write_whole(Path(path), write)
    return n_rows


def write_parquet(
    path: str | os.PathLike[str],
    rows: Iterable[Mapping[str, Any]],
    *,
    types: Mapping[str, str] | None = None,
    batch_size: int = 1024,
) -> int:
    """Write `rows` as Parquet and return how many; the file appears whole or not at all.

    `types`: the columns, each "text", "number", "whole", "flag" or "texts" (a list). Without it, column types are those
    of the first `batch_size` rows; pass dicts whose keys differ between rows as JSON text.
    """
    try:
        import pyarrow as pa
        import pyarrow.parquet as pq
    except ImportError as error:
        raise MissingExtra("pyarrow, which writes Parquet,", "parquet") from error
    n_rows = 0
    arrow = {
        "text": pa.string(), "number": pa.float64(), "whole": pa.int64(), "flag": pa.bool_(),
        "texts": pa.list_(pa.string()),
    }  # fmt: skip
    schema = pa.schema([(name, arrow[kind]) for name, kind in types.items()]) if types is not None else None

    def write(handle: IO[bytes]) -> None:
        nonlocal n_rows
        writer = pq.ParquetWriter(handle, schema) if schema is not None else None
        for batch in _batches(rows, batch_size):
            table = pa.Table.from_pylist(batch, schema=writer.schema if writer else None)
            writer = writer or pq.ParquetWriter(handle, table.schema)
            writer.write_table(table)
            n_rows += len(batch)
        if writer is None:
            raise StoreError("there are no rows to write")
        writer.close()

    try:
        write_whole(Path(path), write)
    except pa.ArrowException as error:
        raise StoreError(f"{path}: the rows do not fit into one Parquet table: {error}") from error
    return n_rows


def safe_cell(value: Any) -> str:
    """`value` as the text of a CSV cell that no spreadsheet runs.

    >>> safe_cell("=1+1"), safe_cell(-0.5), safe_cell(["a"]), safe_cell(None), safe_cell(True)
    ("'=1+1", '-0.5', '["a"]', '', 'true')
    """
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        return repr(value)
    if isinstance(value, str):
        return "'" + value if value.startswith(FORMULA_STARTS) or plain_cell(value) != value else value
    return safe_cell(json.dumps(value, ensure_ascii=False, allow_nan=False))


def plain_cell(text: str) -> str:
    """What `safe_cell` was given, when it was text.

    >>> plain_cell("'=1+1"), plain_cell("it's")
    ('=1+1', "it's")
    """
    return text[1:] if text[:1] == "'" and text[1:2] in (*FORMULA_STARTS, "'") else text


_ROW_END = "\r\n"  # csv quotes cells that hold one of these characters, and no others


class _Encoded:
    """What `csv.writer` writes to: UTF-8 out, rows ending in LF, U+FFFD for lone surrogates."""

    def __init__(self, handle: IO[bytes]) -> None:
        self.handle = handle

    def write(self, text: str) -> None:
        text = text.removesuffix(_ROW_END) + "\n"
        try:
            self.handle.write(text.encode("utf-8"))
        except UnicodeEncodeError:
            self.handle.write(text.encode("utf-16", "surrogatepass").decode("utf-16", "replace").encode("utf-8"))


def write_whole(path: Path, write: Callable[[IO[bytes]], None]) -> None:
    """Write beside `path`, then move into its place; an interrupted write leaves what stood there before."""
    try:
        with replacing(path) as beside, beside.open("wb") as handle:
            write(handle)
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            raise DiskFull(
                f"{path}: the disk is full; nothing was written", hint="Free space, then try again."
            ) from error
        raise StoreError(f"{path}: cannot be written: {error.strerror or error}") from error


def _batches(rows: Iterable[Mapping[str, Any]], size: int) -> Iterator[list[dict[str, Any]]]:
    batch: list[dict[str, Any]] = []
    for row in rows:
        batch.append(dict(row))
        if len(batch) == size:
            yield batch
            batch = []
    if batch:
        yield batch


def _chain(first: str, rest: Iterator[str]) -> Iterator[str]:
    yield first
    yield from rest


def _leading_blank_lines(file: Path) -> int:
    for number, text in numbered_lines(file):
        if text.strip():
            return number - 1
    return 0


def _header(cells: list[str], name: str, line: int) -> list[str]:
    header = [cell.strip() for cell in cells]
    for index, column in enumerate(header):
        if not column and index == 0:  # the unnamed index column that pandas writes
            continue
        if not column:
            raise InputError(f"column {index + 1} has no name", file=name, line=line)
        if column in header[:index]:
            raise InputError(f"two columns are named {column!r}", file=name, line=line)
    return header


def _row(
    header: list[str], cells: list[str], name: str, line: int, unescape: bool
) -> dict[str, str | None] | InputError:
    if len(cells) > len(header):
        return InputError(
            f"the row has {len(cells)} cells, the header has {len(header)}",
            file=name,
            line=line,
            hint="Put cells that contain the delimiter between quotation marks.",
        )
    values: list[str | None] = [(plain_cell(cell) if unescape else cell) or None for cell in cells]
    values += [None] * (len(header) - len(cells))
    return {column: value for column, value in zip(header, values, strict=True) if column}
