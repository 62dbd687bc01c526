"""Recorded outputs as the system under test: nothing is asked, what was recorded is given back."""

from __future__ import annotations

import gzip
import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from ragauge.core.model import fingerprint
from ragauge.core.sample import Question, Response, RetrievedContext
from ragauge.core.system import SystemInfo
from ragauge.errors import InputError, SettingsError, SystemFailed, nearest, shortened
from ragauge.systems.coerce import as_response
from ragauge.text.normalise import normalise

_KEYS = ("path",)
_ID = ("id", "question_id", "qid", "query_id", "sample_id")
_QUESTION = ("question", "query", "user_input", "input", "prompt")
_ACCEPTED = "JSONL (one object a line) or a JSON list, each with an id or a question, an answer and contexts"


def build(settings: Mapping[str, Any]) -> ReplaySystem:
    """The recorded outputs in `settings["path"]`: JSONL or a JSON list (also .gz), or an earlier run's directory."""
    for key in settings:
        if key not in _KEYS:
            near = nearest(str(key), _KEYS)
            hint = f"Did you mean {near[0]!r}?" if near else f"Known: {', '.join(_KEYS)}."
            raise SettingsError(f"a replay system has no setting {key!r}", hint=hint)
    path = settings.get("path")
    if not isinstance(path, (str, Path)) or not str(path).strip():
        raise SettingsError("a replay system needs `path`", hint="Give the file of recorded outputs.")
    file = Path(path)
    file = file / "rows.jsonl" if (file / "rows.jsonl").is_file() else file
    return ReplaySystem(_read(file), source=str(file))


def from_records(records: Iterable[Mapping[str, Any]], *, source: str = "records") -> ReplaySystem:
    """Recorded outputs that are in memory already."""
    return ReplaySystem(enumerate(records, start=1), source=source)


class ReplaySystem:
    """Gives back what was recorded for a question: by its id, else by its text (case and white space aside).

    A question that was not recorded, or whose record is no response, raises `SystemFailed` with the question's id.
    Of two records with the same id the later one counts (retried rows of a run). The same text under two ids is only
    found by id.
    """

    def __init__(self, records: Iterable[tuple[int, Mapping[str, Any]]], *, source: str) -> None:
        self._source = source
        self._by_id: dict[str, tuple[int, Mapping[str, Any]]] = {}
        self._by_text: dict[str, tuple[int, Mapping[str, Any]] | None] = {}
        digest = hashlib.sha256()
        n_records = 0
        for line, record in records:
            n_records += 1
            identity, text = _names(record)
            if identity is None and text is None:
                raise InputError(
                    "has neither an id nor a question", file=source, line=line, found=list(record),
                    accepted=", ".join(_ID + _QUESTION),
                )  # fmt: skip
            if identity is not None:
                self._by_id[identity] = (line, record)
            if text is not None:
                key = normalise(text)
                other = self._by_text.get(key)
                same = key not in self._by_text or (other is not None and _names(other[1])[0] == identity)
                self._by_text[key] = (line, record) if same else None
            digest.update(json.dumps(record, sort_keys=True, default=str).encode("utf-8", "surrogatepass") + b"\n")
        if not n_records:
            raise InputError("holds no recorded output", file=source, accepted=_ACCEPTED)
        self._info = SystemInfo(
            name="replay",
            kind="replay",
            settings={"path": source, "n_records": n_records},
            fingerprint=fingerprint({"replay": digest.hexdigest()}),
        )

    def info(self) -> SystemInfo:
        """The file; the fingerprint is that of its content."""
        return self._info

    async def respond(self, question: Question, /, *, context: RetrievedContext | None = None) -> Response:
        """The recorded response. With `context` given there is none: what was recorded was answered from another."""
        if context is not None:
            raise SystemFailed(
                f"question {question.id!r} cannot be answered from another context: its outputs are recorded"
            )
        held = self._by_id.get(question.id)
        if held is None:
            key = normalise(question.text)
            held = self._by_text.get(key)
            if held is None and key in self._by_text:
                raise SystemFailed(
                    f"question {question.id!r} is recorded more than once in {self._source} under other ids",
                    hint="Give the recorded outputs the ids of the golden set.",
                )
        if held is None:
            raise SystemFailed(
                f"question {question.id!r} is not recorded in {self._source}",
                hint="Record an output with that id, or with the same question.",
            )
        line, record = held
        where = f"{self._source}:{line}"
        sample = record.get("sample")
        if isinstance(sample, Mapping):
            if record.get("error"):
                raise SystemFailed(str(record["error"]))
            try:
                return Response.model_validate(sample.get("response"))
            except ValidationError as error:
                raise SystemFailed(f"{where} holds no response: {error.errors()[0]['msg']}") from error
        return as_response({key: value for key, value in record.items() if key not in _QUESTION}, source=where)


def _names(record: Mapping[str, Any]) -> tuple[str | None, str | None]:
    """Id and question of a record, or of the item in a run's row."""
    sample = record.get("sample")
    fields = sample.get("item") if isinstance(sample, Mapping) else record
    if not isinstance(fields, Mapping):
        return None, None
    identity = next((fields[name] for name in _ID if fields.get(name) not in (None, "")), None)
    text = next(
        (fields[name] for name in _QUESTION if isinstance(fields.get(name), str) and fields[name].strip()), None
    )
    return None if identity is None else str(identity), text


def _read(file: Path) -> Iterator[tuple[int, Mapping[str, Any]]]:
    try:
        data = file.read_bytes()
        if file.name.endswith(".gz"):
            data = gzip.decompress(data)
    except (OSError, EOFError) as error:
        raise InputError(f"cannot be read ({error})", file=str(file), accepted=_ACCEPTED) from error
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise InputError("is not valid UTF-8", file=str(file), line=line, accepted=_ACCEPTED) from error
    if text.lstrip().startswith("["):
        yield from enumerate(_listed(text, file), start=1)
        return
    for number, line_text in enumerate(text.split("\n"), start=1):
        if line_text.strip():
            yield number, _object(line_text, file, number)


def _listed(text: str, file: Path) -> Iterator[Mapping[str, Any]]:
    try:
        rows = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise InputError(f"is not JSON ({error})", file=str(file), accepted=_ACCEPTED) from error
    for row in rows:
        if not isinstance(row, Mapping):
            raise InputError("holds an entry that is no object", file=str(file), found=row, accepted=_ACCEPTED)
        yield row


def _object(text: str, file: Path, line: int) -> Mapping[str, Any]:
    try:
        row = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise InputError(f"is not JSON ({error})", file=str(file), line=line, accepted=_ACCEPTED) from error
    if not isinstance(row, Mapping):
        raise InputError(f"is no JSON object but {shortened(row)}", file=str(file), line=line, accepted=_ACCEPTED)
    return row
