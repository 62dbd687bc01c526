"""Text files of other people: plain or gzip, read line by line, refused with a reason when they are no text.

Gzip is recognised by its first bytes, not by the name. UTF-8 with or without a byte order mark is read; UTF-16 and
Latin-1 are recognised and the error says how to convert them. A line may be `MAX_LINE_BYTES` long.
"""

from __future__ import annotations

import gzip
import os
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import IO, cast

from ragauge.errors import InputError, nearest

#: The longest line that is read: 64 MiB.
MAX_LINE_BYTES = 64 * 2**20
#: The largest file that is read as a whole (YAML, a JSON object): 512 MiB, after decompression.
MAX_WHOLE_BYTES = 512 * 2**20

_MAGIC = {
    b"PAR1": "a Parquet file: give it the suffix .parquet",
    b"PK\x03\x04": "a ZIP archive or Excel workbook: export the sheet as CSV (UTF-8), or unpack it",
    b"%PDF": "a PDF document",
    b"SQLite format 3": "an SQLite database",
    b"\x89PNG": "a PNG image",
    b"\xff\xd8\xff": "a JPEG image",
    b"BZh": "bzip2-compressed: unpack it, or compress it with gzip",
    b"\xfd7zXZ": "xz-compressed: unpack it, or compress it with gzip",
    b"(\xb5/\xfd": "Zstandard-compressed: unpack it, or compress it with gzip",
    b"ARROW1": "an Arrow file: save it as Parquet",
    b"\x80\x04\x95": "a Python pickle, which is never loaded: save it as JSONL",
    b"\x80\x05\x95": "a Python pickle, which is never loaded: save it as JSONL",
}
#: What reading raises when a file is cut off, damaged, or on a failing disk.
_DAMAGED = (EOFError, zlib.error, gzip.BadGzipFile, OSError)
_TEXT_CONTROLS = b"\t\n\r\x0b\x0c\x08\x1b\x85"


def existing_path(path: str | os.PathLike[str]) -> Path:
    """`path` as a Path; `InputError` with the nearest names of its folder when nothing stands there."""
    found = Path(path)
    if not os.fspath(path):
        raise InputError("the path is empty")
    try:
        os.stat(found)
        return found
    except FileNotFoundError:
        pass
    except (OSError, ValueError) as error:
        raise InputError(f"not a usable path: {error}", found=str(path)) from error
    folder = found.parent if found.parent.is_dir() else None
    names = [entry.name for entry in folder.iterdir()] if folder else []
    near = nearest(found.name, names)
    hint = f"Did you mean {', '.join(repr(str(found.parent / name)) for name in near)}?" if near else ""
    missing = "no such file or folder" if folder else f"no such file: the folder {str(found.parent)!r} does not exist"
    raise InputError(missing, file=str(path), hint=hint)


def open_bytes(path: Path) -> IO[bytes]:
    """The file's bytes, decompressed when it is gzip. Refuses empty files, folders and what is plainly no text."""
    name = str(path)
    if path.is_dir():
        raise InputError("this is a folder, not a file", file=name)
    try:
        with path.open("rb") as raw:
            packed = raw.read(2) == b"\x1f\x8b"
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror or error}", file=name) from error
    handle = cast("IO[bytes]", gzip.open(path, "rb") if packed else path.open("rb"))  # noqa: SIM115 (returned open)
    try:
        head = handle.read(4096)
        _refuse_no_text(head, name)
        handle.seek(0)
    except _DAMAGED as error:
        handle.close()
        raise _damaged(name, error) from error
    except BaseException:
        handle.close()
        raise
    return handle


def numbered_lines(
    path: Path, *, keep_ends: bool = False, max_bytes: int = MAX_LINE_BYTES
) -> Iterator[tuple[int, str]]:
    """(line number from 1, text) of every line, in bounded memory. Lines end with LF or CR LF only."""
    name = str(path)
    with open_bytes(path) as handle:
        number = 0
        while True:
            try:
                raw = handle.readline(max_bytes + 1)
            except _DAMAGED as error:
                raise _damaged(name, error, number + 1) from error
            if not raw:
                return
            number += 1
            if len(raw) > max_bytes:
                raise InputError(
                    f"the line is longer than {_size(max_bytes)}",
                    file=name,
                    line=number,
                    accepted=f"lines up to {_size(max_bytes)}",
                    hint="Split the record, or leave out fields that scoring does not need.",
                )
            if number == 1 and raw.startswith(b"\xef\xbb\xbf"):
                raw = raw[3:]
            text = _decoded(raw, name, number)
            yield number, text if keep_ends else text.rstrip("\r\n")


def read_text(path: Path, *, max_bytes: int = MAX_WHOLE_BYTES) -> str:
    """The whole file as text; refuses more than `max_bytes`."""
    name = str(path)
    with open_bytes(path) as handle:
        try:
            raw = handle.read(max_bytes + 1)
        except _DAMAGED as error:
            raise _damaged(name, error) from error
    if len(raw) > max_bytes:
        raise InputError(
            f"larger than {_size(max_bytes)}", file=name, hint="Write it as JSONL: that is read line by line."
        )
    return _decoded(raw.removeprefix(b"\xef\xbb\xbf"), name, 1)


def first_character(path: Path) -> str:
    """The first character of a text file that is no white space; "" when there is none in the first megabyte."""
    with open_bytes(path) as handle:
        try:
            head = handle.read(2**20).removeprefix(b"\xef\xbb\xbf").lstrip()
        except _DAMAGED as error:
            raise _damaged(str(path), error) from error
    return head[:1].decode("ascii", "replace")


def _size(n_bytes: int) -> str:
    return f"{n_bytes // 2**20} MiB" if n_bytes >= 2**20 else f"{n_bytes} bytes"


def _damaged(name: str, error: Exception, line: int | None = None) -> InputError:
    return InputError(f"cannot be read to its end: {error}", file=name, line=line, hint="Is the file cut off?")


def _refuse_no_text(head: bytes, name: str) -> None:
    if not head:
        raise InputError("the file is empty", file=name)
    for magic, what in _MAGIC.items():
        if head.startswith(magic):
            raise InputError(f"this is {what}", file=name, accepted="text in UTF-8")
    encoding = _utf16_or_32(head)
    if encoding:
        raise InputError(f"the text is encoded as {encoding}", file=name, accepted="UTF-8", hint=_convert(encoding))
    n_controls = len(head.translate(None, bytes(set(range(32, 256)) | set(_TEXT_CONTROLS))))
    if n_controls > max(8, 0.05 * len(head)):
        raise InputError("this is a binary file", file=name, accepted="text in UTF-8")


def _utf16_or_32(head: bytes) -> str | None:
    if head.startswith((b"\xff\xfe\x00\x00", b"\x00\x00\xfe\xff")):
        return "UTF-32"
    if head.startswith((b"\xff\xfe", b"\xfe\xff")):
        return "UTF-16"
    even, odd = head[0::2], head[1::2]
    for nulls, letters, name in ((odd, even, "UTF-16LE"), (even, odd, "UTF-16BE")):
        if len(head) >= 8 and nulls.count(0) > 0.6 * len(nulls) and letters.count(0) < 0.1 * len(letters):
            return name
    return None


def _convert(encoding: str) -> str:
    return f"Convert it: iconv -f {encoding} -t UTF-8 FILE > NEW"


def _decoded(raw: bytes, name: str, line: int) -> str:
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError as error:
        line += raw.count(b"\n", 0, error.start) if raw.count(b"\n") > 1 else 0
        raise InputError(
            "the text is not UTF-8; it looks like Windows-1252 or Latin-1",
            file=name,
            line=line,
            found=raw[max(0, error.start - 10) : error.start + 10],
            accepted="UTF-8",
            hint=_convert("WINDOWS-1252"),
        ) from error
