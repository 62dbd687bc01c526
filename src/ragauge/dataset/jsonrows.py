"""JSON and JSON Lines as rows: strict about duplicate keys and infinities, streamed, with line numbers."""

from __future__ import annotations

import gzip
import json
import math
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ragauge.dataset.rows import Row
from ragauge.errors import InputError, shortened
from ragauge.store.textfile import MAX_LINE_BYTES, numbered_lines, open_bytes, read_text

_BLOCK = 2**20
_BLANK = " \t\n\r"


class BadValue(ValueError):
    """JSON that is well formed but not accepted."""


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        keys = [key for key, _ in pairs]
        twice = next(key for key in keys if keys.count(key) > 1)
        raise BadValue(f"the key {shortened(twice)} stands twice in one object")
    return found


def _constant(name: str) -> Any:
    """NaN is how tables write that there is nothing (pandas, and `json.dump` of its rows): null. No infinity is."""
    if name == "NaN":
        return None
    raise BadValue(f"{name} is not a value; write null where there is none")


def _finite(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise BadValue(f"{shortened(text)} is too large for a number")
    return number


_DECODER = json.JSONDecoder(object_pairs_hook=_unique, parse_constant=_constant, parse_float=_finite, strict=False)


def parse_json(text: str, file: str, line: int = 1) -> Any:
    """The value that `text` writes out; `InputError` with the line when it is none that we accept."""
    try:
        return _DECODER.decode(text)
    except json.JSONDecodeError as error:
        raise InputError(
            f"not readable as JSON: {error.msg}",
            file=file,
            line=line + error.lineno - 1,
            found=text[max(0, error.pos - 20) : error.pos + 20],
        ) from error
    except (BadValue, ValueError) as error:
        raise InputError(str(error), file=file, line=line) from error
    except RecursionError as error:
        raise InputError("nested too deeply", file=file, line=line) from error


def json_lines(path: Path) -> Iterator[Row | InputError]:
    """A row for each line that is not blank. A bad line comes as its error, so that reading can go on."""
    name = str(path)
    n_rows = 0
    for number, text in numbered_lines(path):
        if not text.strip():
            continue
        n_rows += 1
        try:
            value = parse_json(text, name, number)
        except InputError as error:
            yield error
            continue
        yield as_row(value, name, number)
    if n_rows == 0:
        raise InputError("the file holds no records", file=name)


def as_row(value: Any, file: str, line: int | None) -> Row | InputError:
    """`value` as a row, or what is wrong with it."""
    if isinstance(value, dict):
        return Row(line=line, data=value, file=file)
    return InputError("a record that is no object", file=file, line=line, found=value, accepted='{"question": …}')


def json_array(path: Path) -> Iterator[Row | InputError]:
    """The members of a JSON array, one at a time: the array is never held as a whole."""
    name = str(path)
    stream = _Stream(path)
    stream.skip(_BLANK)
    stream.position += 1  # the opening bracket, which the caller has seen
    first = True
    while True:
        stream.skip(_BLANK)
        character = stream.peek()
        if character == "]":
            break
        if not first:
            if character != ",":
                raise stream.error("expected ',' or ']' after a record" if character else "the array is not closed")
            stream.position += 1
            stream.skip(_BLANK)
            if stream.peek() == "]":
                raise stream.error("a comma before the closing ']'")
        if not stream.peek():
            raise stream.error("the array is not closed")
        first = False
        line = stream.line
        yield as_row(stream.value(), name, line)
    stream.position += 1
    stream.skip(_BLANK)
    if stream.peek():
        raise stream.error("something follows the closing ']'")
    if first:
        raise InputError("the file holds no records", file=name)


class _Stream:
    """Decoded text with a cursor; only what is not yet consumed is held."""

    def __init__(self, path: Path) -> None:
        self.name = str(path)
        self.blocks = _text_blocks(path)
        self.text, self.position, self.line_start, self.lines_before = "", 0, 0, 1
        self.ended = False

    @property
    def line(self) -> int:
        self.lines_before += self.text.count("\n", self.line_start, self.position)
        self.line_start = self.position
        return self.lines_before

    def error(self, problem: str) -> InputError:
        return InputError(
            f"not readable as JSON: {problem}",
            file=self.name,
            line=self.line,
            found=self.text[self.position : self.position + 30] or "the end of the file",
        )

    def more(self, at_least: int = 1) -> bool:
        if self.ended:
            return False
        _ = self.line
        self.text, self.position, self.line_start = self.text[self.position :], 0, 0
        parts, size = [self.text], 0
        while size < at_least:
            block = next(self.blocks, None)
            if block is None:
                self.ended = True
                break
            parts.append(block)
            size += len(block)
        self.text = "".join(parts)
        return size > 0

    def peek(self) -> str:
        if self.position >= len(self.text):
            self.more()
        return self.text[self.position : self.position + 1]

    def skip(self, characters: str) -> None:
        while (character := self.peek()) and character in characters:
            self.position += 1

    def value(self) -> Any:
        while True:
            try:
                value, end = _DECODER.raw_decode(self.text, self.position)
            except json.JSONDecodeError as error:
                length = len(self.text) - self.position
                cut_off = error.pos >= len(self.text) - 16 or error.msg.startswith("Unterminated string")
                if length > MAX_LINE_BYTES:
                    raise self.error(f"a record longer than {MAX_LINE_BYTES // 2**20} MiB") from error
                if cut_off and self.more(length):
                    continue
                self.position = error.pos
                raise self.error(error.msg) from error
            except RecursionError as error:
                raise self.error("nested too deeply") from error
            except ValueError as error:
                raise InputError(str(error), file=self.name, line=self.line) from error
            if end == len(self.text) and self.more():
                continue  # a number could go on in the next block
            if end - self.position > MAX_LINE_BYTES:
                raise self.error(f"a record longer than {MAX_LINE_BYTES // 2**20} MiB")
            self.position = end
            return value


def _text_blocks(path: Path) -> Iterator[str]:
    """Decoded blocks. Decoding errors are reported by reading line by line, which knows where they are."""
    import codecs

    decoder = codecs.getincrementaldecoder("utf-8-sig")()
    with open_bytes(path) as handle:
        try:
            while block := handle.read(_BLOCK):
                yield decoder.decode(block)
            yield decoder.decode(b"", final=True)
        except UnicodeDecodeError:
            for _ in numbered_lines(path):
                pass
            raise
        except (EOFError, zlib.error, gzip.BadGzipFile) as error:
            raise InputError(
                f"cannot be read to its end: {error}", file=str(path), hint="Is the file cut off?"
            ) from error


def whole_json(path: Path) -> Any:
    """The one value of a JSON file that is no array; a file of JSON lines is a list of rows."""
    text = read_text(path)
    name = str(path)
    try:
        return parse_json(text, name)
    except InputError as error:
        lines = text.split("\n", 1)
        if len(lines) == 2 and lines[1].strip() and _is_object(lines[0]):
            return json_lines(path)
        raise error


def _is_object(text: str) -> bool:
    try:
        return isinstance(_DECODER.decode(text), dict)
    except (ValueError, RecursionError):
        return False
