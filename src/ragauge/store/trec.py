"""TREC qrels and run files, plain or gzip, and the same as JSON.

qrels: `question iteration document grade`. Run: `question Q0 document rank score tag`; scores order, ranks are not
read. Fields are separated by spaces or tabs; lines that begin with `#` and blank lines are skipped; line ends may be
CRLF and the file may begin with a UTF-8 mark. `-` reads standard input.

JSON: `{question: {document: grade}}`, and for runs `{question: {document: score}}` or `{question: [documents]}`.
"""

from __future__ import annotations

import gzip
import io
import json
import math
import sys
import zlib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any, NoReturn, cast

from ragauge.errors import InputError

QRELS_COLUMNS = "4 columns: question, iteration, document, grade"
RUN_COLUMNS = "6 columns: question, Q0, document, rank, score, tag"

_BOM = b"\xef\xbb\xbf"
_GZIP = b"\x1f\x8b"


def read_qrels(path: str | Path) -> dict[str, dict[str, float]]:
    """Question → document → grade, from a TREC qrels file or JSON (told by the first character).

    Grades are whole numbers or decimals; below 1 means judged and not relevant. Raises `InputError` with file and line.
    """
    with _opened(path) as (stream, name):
        if _is_json(stream):
            return _json_qrels(_read_json(stream, name), name)
        return _parse_qrels(stream, name)


def read_run(path: str | Path) -> dict[str, dict[str, float]] | dict[str, list[str]]:
    """Question → document → score, from a TREC run file or JSON; JSON may hold ranked lists instead of scores.

    Raises `InputError` with file and line: wrong number of columns, a score that is no number, a document twice for one
    question (both lines are named), an empty or binary file.
    """
    with _opened(path) as (stream, name):
        if _is_json(stream):
            return _json_run(_read_json(stream, name), name)
        return _parse_run(stream, name)


def _parse_qrels(stream: IO[bytes], name: str) -> dict[str, dict[str, float]]:
    result: dict[str, dict[str, float]] = {}
    last, judged = b"", {}
    grades: dict[bytes, float] = {}
    for number, line in _lines(stream, name):
        try:
            question, _, document, grade = line.split()
        except ValueError:
            _wrong_columns(line, name, number, QRELS_COLUMNS)
        if question != last:
            judged = result.setdefault(_text(question, name, number, "question"), {})
            last = question
        if grade not in grades:
            grades[grade] = _grade(grade, name, number)
        id = _text(document, name, number, "document")
        if id in judged:
            _duplicate(stream, name, number, question, document)
        judged[id] = grades[grade]
    if not result:
        raise InputError("the file holds no judgements", file=name, accepted=QRELS_COLUMNS)
    return result


def _parse_run(stream: IO[bytes], name: str) -> dict[str, dict[str, float]]:
    result: dict[str, dict[str, float]] = {}
    last, scores = b"", {}
    for number, line in _lines(stream, name):
        try:
            question, _, document, _, written, _ = line.split()
        except ValueError:
            _wrong_columns(line, name, number, RUN_COLUMNS)
        if question != last:
            scores = result.setdefault(_text(question, name, number, "question"), {})
            last = question
        try:
            score = float(written)
            id = document.decode()
        except ValueError:
            _text(document, name, number, "document")
            _bad_number("score", written, name, number)
        if score != score:
            _bad_number("score", written, name, number)
        if id in scores:
            _duplicate(stream, name, number, question, document)
        scores[id] = score
    if not result:
        raise InputError("the file holds no ranking", file=name, accepted=RUN_COLUMNS)
    return result


@contextmanager
def _opened(path: str | Path) -> Iterator[tuple[IO[bytes], str]]:
    """A seekable stream of the file's (unpacked) bytes, and the name for messages."""
    name = "standard input" if str(path) == "-" else str(path)
    try:
        raw: IO[bytes] = io.BytesIO(sys.stdin.buffer.read()) if str(path) == "-" else open(path, "rb")  # noqa: SIM115
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror or error}", file=name) from error
    with raw:
        packed = raw.read(2) == _GZIP
        raw.seek(0)
        try:
            yield (cast(IO[bytes], gzip.GzipFile(fileobj=raw)) if packed else raw), name
        except (EOFError, zlib.error, gzip.BadGzipFile) as error:
            raise InputError(f"the gzip data is damaged: {error}", file=name) from error
        except OSError as error:
            raise InputError(f"cannot be read: {error.strerror or error}", file=name) from error


def _lines(stream: IO[bytes], name: str) -> Iterator[tuple[int, bytes]]:
    """Numbered lines (from 1) that hold something."""
    stream.seek(0)
    if stream.read(3) != _BOM:
        stream.seek(0)
    for number, line in enumerate(stream, start=1):
        start = line[:64].lstrip()[:1]
        if start == b"#":
            continue
        if b"\0" in line:
            raise InputError("this is no text file", file=name, line=number, found="a NUL byte")
        if not start and not line.strip():
            continue
        yield number, line


def _text(field: bytes, name: str, number: int, column: str) -> str:
    try:
        return field.decode()
    except UnicodeDecodeError:
        raise InputError(
            "the file is not UTF-8", file=name, line=number, field=column, found=field[:60], accepted="UTF-8 text"
        ) from None


def _grade(written: bytes, name: str, number: int) -> float:
    try:
        return int(written) if written.lstrip(b"+-").isdigit() else _finite(float(written))
    except ValueError:
        _bad_number("grade", written, name, number)


def _finite(value: float) -> float:
    if not math.isfinite(value):
        raise ValueError(value)
    return value


def _bad_number(column: str, written: bytes, name: str, number: int) -> NoReturn:
    accepted = "a whole number such as 0, 1, 2" if column == "grade" else "a number; NaN is none"
    raise InputError(
        f"the {column} is no number",
        file=name, line=number, field=column, found=written.decode(errors="replace"), accepted=accepted,
    )  # fmt: skip


def _wrong_columns(line: bytes, name: str, number: int, accepted: str) -> NoReturn:
    columns = len(line.split())
    shown = line[:120].decode(errors="replace").strip()
    hint = ""
    if columns == 6 and accepted is QRELS_COLUMNS:
        hint = "This looks like a run file; qrels come first."
    elif columns == 4 and accepted is RUN_COLUMNS:
        hint = "This looks like a qrels file; the run comes second."
    raise InputError(f"{columns} columns", file=name, line=number, found=shown, accepted=accepted, hint=hint)


def _duplicate(stream: IO[bytes], name: str, number: int, question: bytes, document: bytes) -> NoReturn:
    """Raise for a document that comes twice; the file is read again to name the first line."""
    places = ((place, line.split()) for place, line in _lines(stream, name))
    first = next(place for place, fields in places if fields[0] == question and fields[2] == document)
    raise InputError(
        f"document {document.decode()!r} comes twice for question {question.decode()!r}, first in line {first}",
        file=name,
        line=number,
        hint="Keep one of the two lines.",
    )


def _is_json(stream: IO[bytes]) -> bool:
    start = stream.read(4096)
    stream.seek(0)
    return start.removeprefix(_BOM).lstrip()[:1] in (b"{", b"[")


def _read_json(stream: IO[bytes], name: str) -> Any:
    def no_duplicates(pairs: Iterable[tuple[str, Any]]) -> dict[str, Any]:
        found: dict[str, Any] = {}
        for key, value in pairs:
            if key in found:
                raise InputError(f"the key {key!r} comes twice in one object", file=name)
            found[key] = value
        return found

    def no_constant(constant: str) -> NoReturn:
        raise InputError("a number that JSON does not have", file=name, found=constant, accepted="a finite number")

    try:
        text = stream.read().removeprefix(_BOM).decode()
        return json.loads(text, object_pairs_hook=no_duplicates, parse_constant=no_constant)
    except UnicodeDecodeError as error:
        raise InputError(f"the file is not UTF-8 (byte {error.start})", file=name) from None
    except json.JSONDecodeError as error:
        raise InputError(f"broken JSON: {error.msg}", file=name, line=error.lineno) from None
    except RecursionError:
        raise InputError("JSON nested too deeply", file=name) from None


def _json_qrels(data: Any, name: str) -> dict[str, dict[str, float]]:
    return {question: _json_numbers(judged, name, question, "grade") for question, judged in _questions(data, name)}


def _json_run(data: Any, name: str) -> dict[str, Any]:
    result: dict[str, Any] = {}
    for question, ranking in _questions(data, name):
        if isinstance(ranking, list):
            for id in ranking:
                if isinstance(id, bool) or not isinstance(id, str | int):
                    raise InputError(
                        f"in the ranking, {json.dumps(id)[:80]} is no document id",
                        file=name, field=question, accepted="text",
                    )  # fmt: skip
            result[question] = [str(id) for id in ranking]
        else:
            result[question] = _json_numbers(ranking, name, question, "score")
    return result


def _questions(data: Any, name: str) -> Iterable[tuple[str, Any]]:
    if not isinstance(data, dict) or not data:
        raise InputError("the file holds no questions", file=name, accepted="{question: {document: number}}")
    return data.items()


def _json_numbers(numbers: Any, name: str, question: str, what: str) -> dict[str, float]:
    if isinstance(numbers, list) and what == "grade":
        numbers = dict.fromkeys(map(str, numbers), 1)
    if not isinstance(numbers, dict):
        raise InputError(
            "cannot be read",
            file=name,
            field=question,
            found=numbers,
            accepted=f"{{document: {what}}} or a list of ids",
        )
    for document, number in numbers.items():
        if not isinstance(number, int | float) or (what == "score" and isinstance(number, bool)):
            raise InputError(
                f"the {what} of document {document!r} is no number", file=name, field=question, found=number,
                accepted="a number",
            )  # fmt: skip
    return numbers
