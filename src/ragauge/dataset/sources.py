"""Whatever a user points at, as rows: files by suffix and by content, folders, tables, objects in memory.

A source can be read again and again; each reading starts from the beginning.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any

from ragauge.core.sample import Sample
from ragauge.dataset import beir, jsonrows, yamlrows
from ragauge.dataset.aliases import field_of, normal_name
from ragauge.dataset.rows import Row
from ragauge.errors import InputError
from ragauge.store.tables import read_csv_rows, read_parquet_rows
from ragauge.store.textfile import existing_path, first_character

Rows = Iterator[Row | InputError]

#: Under these keys other tools keep the list of records.
_LISTS = (
    "items", "examples", "data", "results", "records", "rows", "samples", "tests", "test_cases", "testcases", "goldens",
    "questions", "predictions",
)  # fmt: skip
_FORMATS = (
    ".yaml .yml .json .jsonl .ndjson .csv .tsv (each also .gz), .parquet; a BEIR folder; a saved Hugging Face data set"
)


@dataclass(frozen=True)
class Source:
    """Rows that can be read repeatedly. `path` is None for objects in memory."""

    name: str
    path: Path | None
    read: Callable[[], Rows]

    @property
    def where(self) -> str:
        """The file, or the name of what is in memory, for messages."""
        return str(self.path) if self.path else self.name


def open_source(data: Any, name: str | None = None) -> Source:
    """The source that `data` is: a path, a Hugging Face data set, a DataFrame, or an iterable of dicts."""
    if isinstance(data, str | os.PathLike):
        path = existing_path(data)
        stem = path.name.removesuffix(".gz")
        return Source(name or Path(stem).stem or stem, path, _of_path(path))
    module = type(data).__module__.partition(".")[0]
    if module == "datasets":
        return Source(name or "dataset", None, _of_dataset(data))
    if module == "pandas":
        return Source(name or "dataframe", None, lambda: _frame_rows(data))
    if isinstance(data, Mapping):
        return Source(name or "records", None, lambda: _of_value(dict(data), None))
    if isinstance(data, Iterable):
        records = data if hasattr(data, "__len__") else list(data)
        return Source(name or "records", None, lambda: _of_records(records))
    raise InputError(
        "nothing that records can be read from",
        found=type(data).__name__,
        accepted="a path, a list of dicts, a pandas DataFrame, a Hugging Face Dataset",
    )


def _of_path(path: Path) -> Callable[[], Rows]:
    if path.is_dir():
        return _of_folder(path)
    suffixes = [suffix.lower() for suffix in path.suffixes]
    suffix = next((suffix for suffix in reversed(suffixes) if suffix not in (".gz", ".gzip")), "")
    if suffix in (".yaml", ".yml"):
        return lambda: _of_documents(yamlrows.read_yaml(path), str(path))
    if suffix in (".json", ".jsonl", ".ndjson"):
        return lambda: _json_rows(path, lines=suffix != ".json")
    if suffix in (".csv", ".tsv"):
        return lambda: _cells(path)
    if suffix in (".parquet", ".pq"):
        return lambda: (Row(line=n, data=row, file=str(path)) for n, row in read_parquet_rows(path))
    first = first_character(path)
    if first in ("{", "["):
        return lambda: _json_rows(path, lines=first == "{")
    raise InputError(f"no format is known by the suffix {suffix!r}", file=str(path), accepted=_FORMATS)


def _of_folder(path: Path) -> Callable[[], Rows]:
    if beir.is_beir(path):
        return lambda: beir.read_questions(path)
    if any((path / marker).is_file() for marker in ("state.json", "dataset_dict.json")):
        from ragauge.errors import MissingExtra

        try:
            import datasets
        except ImportError as error:
            raise MissingExtra("datasets, which reads saved Hugging Face data sets,", "huggingface") from error
        try:
            return _of_dataset(datasets.load_from_disk(str(path)), str(path))
        except (OSError, ValueError, KeyError) as error:
            raise InputError(f"not readable as a saved data set: {error}", file=str(path)) from error
    files = sorted(
        entry
        for entry in path.iterdir()
        if entry.is_file() and entry.suffix.lower() in (".yaml", ".yml", ".json", ".jsonl", ".csv")
    )
    if files:
        return lambda: chain.from_iterable(_of_path(file)() for file in files)
    what = "the folder is empty" if not any(path.iterdir()) else "the folder holds nothing that can be read"
    raise InputError(what, file=str(path), accepted=_FORMATS)


def _json_rows(path: Path, *, lines: bool) -> Rows:
    if first_character(path) == "[":
        return jsonrows.json_array(path)
    if lines:
        return _lines_or_whole(path)
    value = jsonrows.whole_json(path)
    return value if isinstance(value, Iterator) else _of_value(value, str(path))


def _lines_or_whole(path: Path) -> Rows:
    """JSON lines; a file of that name whose first line is only the start of an object is one object over many lines."""
    from ragauge.store.textfile import numbered_lines

    first = next((text for _, text in numbered_lines(path) if text.strip()), "")
    if first.strip() in ("{", "{}") or (
        first.rstrip().endswith(("{", "[", ",")) and first.count("{") > first.count("}")
    ):
        value = jsonrows.whole_json(path)
        return value if isinstance(value, Iterator) else _of_value(value, str(path))
    return jsonrows.json_lines(path)


def _cells(path: Path) -> Rows:
    n_rows = 0
    for line, row in read_csv_rows(path):
        n_rows += 1
        yield row if isinstance(row, InputError) else Row(line=line, data=row, cells=True, file=str(path))
    if n_rows == 0:
        raise InputError("there is a header and no record", file=str(path))


def _of_documents(documents: list[Any], file: str) -> Rows:
    if len(documents) == 1:
        return _of_value(documents[0], file)
    return _of_value(documents, file)


def _of_value(value: Any, file: str | None) -> Rows:
    """The rows in a parsed value: a list, an object that holds one, columns, id → record, or one record."""
    if isinstance(value, list):
        return _of_list(value, {}, file)
    if not isinstance(value, Mapping):
        raise InputError("neither a list of records nor an object that holds one", file=file, found=value)
    if beir.is_embedding_pairs(value):
        return beir.embedding_pair_rows(value, file)
    for key in _LISTS:
        inner = value.get(key)
        if isinstance(inner, Mapping) and key == "results":  # promptfoo: results.results
            inner = inner.get("results")
        if isinstance(inner, list) and all(isinstance(part, Mapping) for part in inner):
            if not inner:
                raise InputError(f"the list {key!r} is empty", file=file)
            return _of_list(inner, value.get("defaults") or value.get("defaultTest") or {}, file)
    kinds = {name: found[0] for name in value if (found := field_of(normal_name(str(name)))) is not None}
    columns = [v for name, v in value.items() if isinstance(v, list)]
    if "question" in kinds.values() and columns and len(columns) == len(value):
        lengths = {name: len(column) for name, column in value.items()}
        if len(set(lengths.values())) == 1:
            return _of_list([dict(zip(value, row, strict=True)) for row in zip(*columns, strict=True)], {}, file)
        if len(kinds) > 1:
            raise InputError(f"columns of different lengths: {lengths}", file=file)
    if value and all(isinstance(child, Mapping) for child in value.values()) and "question" not in kinds.values():
        return _of_list([_with_id(key, child) for key, child in value.items()], {}, file)
    if "question" not in kinds.values():
        _refuse_unknown_list(value, file)
    return _of_list([value], {}, file)


def _refuse_unknown_list(value: Mapping[str, Any], file: str | None) -> None:
    for key, inner in value.items():
        if isinstance(inner, list) and inner and all(isinstance(part, Mapping) for part in inner):
            raise InputError(
                f"a list of records under the unknown key {str(key)!r}",
                file=file,
                line=getattr(value, "lines", {}).get(key),
                accepted=" | ".join(_LISTS[:6]),
            )


def _with_id(key: Any, child: Mapping[str, Any]) -> Mapping[str, Any]:
    if any((found := field_of(normal_name(str(name)))) and found[0] == "id" for name in child):
        return child
    merged = yamlrows.Lined({"id": str(key), **child})
    merged.line, merged.lines = getattr(child, "line", 0), getattr(child, "lines", {})
    return merged


def _of_list(records: list[Any], defaults: Mapping[str, Any], file: str | None) -> Rows:
    if not records:
        raise InputError("there are no records", file=file)
    if not isinstance(defaults, Mapping):
        raise InputError("`defaults` must be a mapping", file=file, found=defaults)
    for number, record in enumerate(records, 1):
        line = getattr(record, "line", None) or (number if not _has_lines(records) else None)
        if not isinstance(record, Mapping):
            yield InputError(
                f"record {number} is no object", file=file, line=line, found=record, accepted="{question: …}"
            )
            continue
        data = {**defaults, **record} if defaults else record
        yield Row(line=line, data=data, lines=getattr(record, "lines", {}), file=file)


def _has_lines(records: list[Any]) -> bool:
    return any(getattr(record, "line", None) for record in records[:1])


def _of_records(records: Iterable[Any]) -> Rows:
    n_records = 0
    for number, record in enumerate(records, 1):
        n_records = number
        if isinstance(record, Sample):
            yield Row(line=number, data={}, ready=record)
            continue
        if hasattr(record, "model_dump"):
            record = record.model_dump(exclude_none=True)
        elif not isinstance(record, Mapping) and hasattr(record, "__dict__"):
            record = {key: value for key, value in vars(record).items() if not key.startswith("_")}
        if isinstance(record, Mapping):
            yield Row(line=number, data=record)
        else:
            yield InputError(f"record {number} is no dict", line=number, found=record)
    if n_records == 0:
        raise InputError("there are no records")


def _of_dataset(data: Any, file: str | None = None) -> Callable[[], Rows]:
    """A Hugging Face data set; one with several splits must be narrowed to one."""
    if isinstance(data, Mapping):
        if len(data) != 1:
            raise InputError(
                f"the data set has {len(data)} splits: {', '.join(map(str, data))}",
                file=file,
                accepted="one split",
                hint='Pass one of them: dataset["test"], or the folder of that split.',
            )
        data = next(iter(data.values()))

    def rows() -> Rows:
        n_rows = 0
        for number, record in enumerate(data, 1):
            n_rows = number
            yield Row(line=number, data=record, file=file)
        if n_rows == 0:
            raise InputError("the data set has no rows", file=file)

    return rows


def _frame_rows(frame: Any) -> Rows:
    """A pandas DataFrame; NaN in a cell means that there is nothing."""
    if not hasattr(frame, "columns"):
        raise InputError("a pandas Series is no table", accepted="a DataFrame")
    if len(frame) == 0:
        raise InputError("the DataFrame has no rows")
    names = [str(column) for column in frame.columns]
    for number, cells in enumerate(frame.itertuples(index=False, name=None), 1):
        yield Row(line=number, data={name: _cell(value) for name, value in zip(names, cells, strict=True)})


def _cell(value: Any) -> Any:
    if isinstance(value, float) and value != value:
        return None
    if type(value).__name__ in ("NAType", "NaTType"):
        return None
    if hasattr(value, "tolist"):  # numpy scalars and arrays
        return value.tolist()
    return value
