"""A folder or file of documentation, read into documents."""

from __future__ import annotations

import gzip
import hashlib
import json
import os
import zlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from ragauge.errors import InputError
from ragauge.systems.reference.html_text import html_to_text
from ragauge.text.normalise import clean

TEXT_SUFFIXES = (".md", ".markdown", ".txt", ".rst", ".html", ".htm")
RECORD_SUFFIXES = (".jsonl", ".ndjson")
_ACCEPTED = "folders and files of .md, .txt, .rst, .html, or .jsonl with id, title and text; each may end in .gz"


@dataclass(frozen=True)
class Document:
    """One document. `id` is its path from the corpus folder with `/`, or the `id` of its JSONL record.

    `text` has `\\n` newlines, whatever the file has; offsets count its characters.
    """

    id: str
    text: str
    title: str = ""


@dataclass(frozen=True)
class Corpus:
    """Documents in a stable order (files by path, records as they stand), with a content hash.

    `skipped` are files of kinds that are not read, `blank` ids of documents that hold nothing.
    """

    path: str
    documents: tuple[Document, ...]
    skipped: tuple[str, ...] = ()
    blank: tuple[str, ...] = ()
    fingerprint: str = field(default="")

    def __post_init__(self) -> None:
        object.__setattr__(self, "fingerprint", _content_hash(self.documents))


def load_corpus(path: str | Path) -> Corpus:
    """Read a folder (recursively; hidden files left out) or one file. `InputError` says what cannot be read.

    HTML is reduced to its text in Markdown's shape (headings, lists, tables, code); offsets count that text.
    """
    root = Path(path)
    if not root.exists():
        raise InputError("there is no such corpus", file=str(path), accepted=_ACCEPTED)
    files, skipped = _files(root)
    if not files:
        found = f" among {len(skipped)} others, e.g. {', '.join(skipped[:3])}" if skipped else ": the folder is empty"
        raise InputError(f"no document to read{found}", file=str(path), accepted=_ACCEPTED)
    where: dict[str, str] = {}
    documents: list[Document] = []
    for file in files:
        for document, line in _documents(file, root if root.is_dir() else root.parent):
            place = str(file) if line is None else f"{file}:{line}"
            if document.id in where:
                raise InputError(
                    f"document id {document.id!r} is already that of {where[document.id]}", file=str(file), line=line
                )
            where[document.id] = place
            documents.append(document)
    blank = tuple(document.id for document in documents if not document.text.strip())
    if len(blank) == len(documents):
        raise InputError("every document is blank", file=str(path))
    return Corpus(str(path), tuple(documents), tuple(skipped), blank)


def corpus_of(documents: Iterable[Document], path: str = "") -> Corpus:
    """A corpus of documents that are already in memory. `InputError` for a duplicate id."""
    held = tuple(documents)
    seen: set[str] = set()
    for document in held:
        if document.id in seen:
            raise InputError(f"document id {document.id!r} is there twice")
        seen.add(document.id)
    return Corpus(path, held, (), tuple(document.id for document in held if not document.text.strip()))


def _files(root: Path) -> tuple[list[Path], list[str]]:
    if root.is_file():
        if _suffix(root) in TEXT_SUFFIXES + RECORD_SUFFIXES:
            return [root], []
        raise InputError(f"cannot read {root.suffix or 'such'} files", file=str(root), accepted=_ACCEPTED)
    found: list[tuple[str, Path]] = []
    skipped: list[str] = []
    for folder, folders, names in os.walk(root):
        folders[:] = [name for name in folders if not name.startswith(".")]
        for name in names:
            if name.startswith("."):
                continue
            file = Path(folder, name)
            relative = file.relative_to(root).as_posix()
            if _suffix(file) in TEXT_SUFFIXES + RECORD_SUFFIXES:
                found.append((relative, file))
            else:
                skipped.append(relative)
    return [file for _, file in sorted(found)], sorted(skipped)


def _suffix(file: Path) -> str:
    name = file.name.lower().removesuffix(".gz")
    return os.path.splitext(name)[1]


def _documents(file: Path, root: Path) -> Iterator[tuple[Document, int | None]]:
    data = _bytes(file)
    if _suffix(file) in RECORD_SUFFIXES:
        yield from _records(file, _decoded(file, data))
        return
    text = clean(_decoded(file, data))
    if _suffix(file) in (".html", ".htm"):
        title, text = html_to_text(text)
    else:
        title = ""
    identity = clean(file.relative_to(root).as_posix())
    yield Document(identity, text, title), None


def _bytes(file: Path) -> bytes:
    try:
        data = file.read_bytes()
        return gzip.decompress(data) if file.name.lower().endswith(".gz") else data
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise InputError(f"is not a whole gzip file ({error})", file=str(file)) from error
    except OSError as error:
        raise InputError(f"cannot be read ({error.strerror or error})", file=str(file)) from error


def _decoded(file: Path, data: bytes) -> str:
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        encoding = "utf-16"
    elif b"\x00" in data[:8192]:
        raise InputError("is a binary file, not text", file=str(file), accepted=_ACCEPTED)
    else:
        encoding = "utf-8-sig"
    try:
        text = data.decode(encoding)
    except UnicodeDecodeError as error:
        raise InputError(
            f"is not valid UTF-8: byte 0x{data[error.start]:02x} at offset {error.start}",
            file=str(file),
            line=data.count(b"\n", 0, error.start) + 1,
            hint=f"Convert it, e.g. iconv -f WINDOWS-1252 -t UTF-8 {file.name} > utf8.txt",
        ) from error
    return text.replace("\r\n", "\n").replace("\r", "\n")


def _records(file: Path, text: str) -> Iterator[tuple[Document, int]]:
    for number, line in enumerate(text.split("\n"), start=1):
        if not line.strip():
            continue
        try:
            record = json.loads(line)
        except (ValueError, RecursionError) as error:
            raise InputError(f"is not a JSON object ({error})", file=str(file), line=number, found=line) from error
        if not isinstance(record, dict):
            raise InputError("is not a JSON object", file=str(file), line=number, found=record, accepted="an object")
        values: dict[str, str] = {}
        for name, needed in (("id", True), ("text", True), ("title", False)):
            value = record.get(name)
            if name == "id" and isinstance(value, int) and not isinstance(value, bool):
                value = str(value)
            if value is None and not needed:
                value = ""
            if not isinstance(value, str) or (name == "id" and not value.strip()):
                raise InputError(
                    "has no such text" if value is None else "is not text",
                    file=str(file), line=number, field=name, found=value,
                    accepted=f'{{"id": …, "title": …, "text": …}}; here are {", ".join(map(repr, list(record)[:8]))}',
                )  # fmt: skip
            values[name] = clean(value)
        yield Document(values["id"], values["text"], values["title"]), number


def _content_hash(documents: Iterable[Document]) -> str:
    digest = hashlib.sha256()
    for document in documents:
        for part in (document.id, document.title, document.text):
            data = part.encode("utf-8", "surrogatepass")
            digest.update(len(data).to_bytes(8, "big") + data)
    return digest.hexdigest()[:16]
