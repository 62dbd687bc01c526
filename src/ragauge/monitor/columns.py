"""The columns of a log's files, once for reading segments, writing parts and making records of rows."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from ragauge.monitor.layout import Kind
from ragauge.monitor.query import LoggedQuery

#: Column → DuckDB type. Those without texts first: they lie together in a file.
QUERY_COLUMNS: dict[str, str] = {
    "id": "VARCHAR", "at": "TIMESTAMP", "project": "VARCHAR", "n_chunks": "INTEGER", "top_score": "DOUBLE",
    "mean_score": "DOUBLE", "retrieval_ms": "DOUBLE", "generation_ms": "DOUBLE", "total_ms": "DOUBLE",
    "abstained": "BOOLEAN", "feedback": "VARCHAR", "outcome": "DOUBLE", "variant": "VARCHAR", "session": "VARCHAR",
    "model": "VARCHAR", "tags": "VARCHAR[]", "tokens_in": "BIGINT", "tokens_out": "BIGINT", "cost_usd": "DOUBLE",
    "redacted": "BOOLEAN", "source": "VARCHAR", "error": "VARCHAR", "question": "VARCHAR", "answer": "VARCHAR",
    "note": "VARCHAR",
    "chunks": "STRUCT(id VARCHAR, document VARCHAR, text VARCHAR, score DOUBLE, rank INTEGER)[]",
    "metadata": "JSON",
}  # fmt: skip
FEEDBACK_COLUMNS: dict[str, str] = {
    "query_id": "VARCHAR", "at": "TIMESTAMP", "feedback": "VARCHAR", "note": "VARCHAR", "outcome": "DOUBLE",
}  # fmt: skip
#: Told from others when a line is read, so that figures of a day read no text.
DERIVED: dict[str, tuple[str, str]] = {"answered": ("BOOLEAN", "answer IS NOT NULL")}
COLUMNS: dict[Kind, dict[str, str]] = {
    "queries": {"id": "VARCHAR", "answered": "BOOLEAN"} | QUERY_COLUMNS,
    "feedback": FEEDBACK_COLUMNS,
}
#: What makes two lines the same one: what is sent again after a lost answer is counted once.
SAME: dict[Kind, str] = {"queries": "id", "feedback": 'query_id, "at", feedback, note, outcome'}
#: A line that lacks these is none of ours.
_OURS: dict[Kind, str] = {
    "queries": 'id IS NOT NULL AND "at" IS NOT NULL AND question IS NOT NULL',
    "feedback": 'query_id IS NOT NULL AND "at" IS NOT NULL',
}
#: Longest line that is read from a segment.
LINE_BYTES = 64 << 20
#: What a line leaves out has the field's default.
_DEFAULTS = {"project": "'default'", "source": "'logger'", "tags": "[]::VARCHAR[]", "redacted": "false"}


def segments_sql(kind: Kind, files: Sequence[str]) -> str:
    """The whole lines of segments; torn and foreign ones are passed over."""
    written = {name: kind_ for name, kind_ in COLUMNS[kind].items() if name not in DERIVED}
    types = ", ".join(f"{quoted(name)}: {literal(kind_)}" for name, kind_ in written.items())
    columns = ", ".join(_read(name) for name in COLUMNS[kind])
    return (
        f"SELECT {columns} FROM read_json({listed(files)}, format = 'newline_delimited', columns = {{{types}}}, "
        f"ignore_errors = true, maximum_object_size = {LINE_BYTES}) WHERE {_OURS[kind]}"
    )


def _read(name: str) -> str:
    if name in DERIVED:
        return f"{DERIVED[name][1]} AS {quoted(name)}"
    if name in _DEFAULTS:
        return f"coalesce({quoted(name)}, {_DEFAULTS[name]}) AS {quoted(name)}"
    return quoted(name)


def empty_sql(kind: Kind) -> str:
    """No rows, with the right columns."""
    return "SELECT " + ", ".join(f"NULL::{t} AS {quoted(n)}" for n, t in COLUMNS[kind].items()) + " WHERE false"


def parts_sql(kind: Kind, files: Sequence[str]) -> str:
    """The rows of parts. A part of an older version lacks later columns: they are null."""
    columns = ", ".join(quoted(name) for name in COLUMNS[kind])
    return (
        f"SELECT {columns} FROM ({empty_sql(kind)} "
        f"UNION ALL BY NAME SELECT * FROM read_parquet({listed(files)}, union_by_name = true))"
    )


def query_of_row(names: Sequence[str], row: Sequence[Any]) -> LoggedQuery:
    """A row with QUERY_COLUMNS as the query that was logged."""
    values = {name: value for name, value in zip(names, row, strict=True) if value is not None}
    metadata = values.get("metadata")
    if isinstance(metadata, str):
        values["metadata"] = json.loads(metadata)
    return LoggedQuery.model_validate(values)


def quoted(name: str) -> str:
    """A name in SQL (`at` is a word of the language)."""
    return '"' + name.replace('"', '""') + '"'


def literal(text: str) -> str:
    """A text in SQL."""
    return "'" + text.replace("'", "''") + "'"


def listed(files: Sequence[str]) -> str:
    """A list of texts in SQL."""
    return "[" + ", ".join(literal(file) for file in files) + "]"
