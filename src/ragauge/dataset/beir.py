"""Question sets with a corpus: BEIR folders (corpus, queries, qrels) and LlamaIndex's pairs for embedding models.

A folder is one when it holds `queries.jsonl` (or `questions.jsonl`), plain or gzip. Its labels come from
`qrels/test.tsv` (else `dev`, else `train`, else the only file), `qrels.tsv` or `qrels.txt`, in BEIR's three columns
`query-id corpus-id score` or TREC's four `qid 0 docid rel`; questions without a label line are left out, as BEIR does.
Without qrels every question is read as it stands.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from ragauge.core.sample import Chunk, is_blank
from ragauge.dataset import jsonrows
from ragauge.dataset.contexts import chunk_fields
from ragauge.dataset.rows import Row
from ragauge.dataset.values import Wrong, as_grade
from ragauge.errors import InputError
from ragauge.store.tables import read_csv_rows, read_parquet_rows
from ragauge.store.textfile import existing_path, numbered_lines

_QUERIES = ("queries.jsonl", "queries.jsonl.gz", "questions.jsonl", "questions.jsonl.gz")
_BELOW = re.compile(r"-\d+")
_CORPUS = ("corpus.jsonl", "corpus.jsonl.gz", "corpus.parquet")


def is_beir(folder: Path) -> bool:
    """Whether a folder holds queries and a corpus or qrels."""
    beside = (*_CORPUS, "qrels", "qrels.tsv", "qrels.txt")
    return _one_of(folder, _QUERIES) is not None and any((folder / name).exists() for name in beside)


def read_questions(folder: Path) -> Iterator[Row | InputError]:
    """The questions, each with its grades as `relevance`."""
    queries = _one_of(folder, _QUERIES)
    assert queries is not None
    qrels = qrels_file(folder)
    if qrels is None:
        yield from jsonrows.json_lines(queries)
        return
    grades = read_qrels(qrels)
    left = dict(grades)
    for row in jsonrows.json_lines(queries):
        if isinstance(row, InputError):
            yield row
            continue
        name = _name(row)
        judged = left.pop(name, None)
        if judged is not None:
            relevance = {one: max(0, grade) for one, grade in judged.items()}
            yield Row(line=row.line, data={**row.data, "relevance": relevance}, file=row.file)
    if left:
        first = ", ".join(list(left)[:5])
        yield InputError(f"{len(left)} question ids of the qrels are not in {queries.name}: {first}", file=str(qrels))


def _name(row: Row) -> str:
    return str(next((row.data[key] for key in ("_id", "id", "qid", "query_id") if row.data.get(key) is not None), ""))


def without_judgements(folder: Path) -> int:
    """How many queries of the folder are left out because its judgements do not name them (another split's)."""
    queries, qrels = _one_of(folder, _QUERIES), qrels_file(folder)
    if queries is None or qrels is None:
        return 0
    judged = read_qrels(qrels)
    return sum(isinstance(row, Row) and _name(row) not in judged for row in jsonrows.json_lines(queries))


def qrels_file(folder: Path) -> Path | None:
    """The file of relevance judgements that applies."""
    inside = folder / "qrels"
    if inside.is_dir():
        for split in ("test", "dev", "train"):
            found = _one_of(inside, (f"{split}.tsv", f"{split}.tsv.gz", f"{split}.txt"))
            if found:
                return found
        files = sorted(entry for entry in inside.iterdir() if entry.is_file())
        if len(files) == 1:
            return files[0]
        if files:
            names = ", ".join(file.name for file in files)
            raise InputError(
                "several files of judgements", file=str(inside), found=names, accepted="one of them as test.tsv"
            )
    return _one_of(folder, ("qrels.tsv", "qrels.tsv.gz", "qrels.txt", "qrels.txt.gz", "qrels"))


def read_qrels(path: Path) -> dict[str, dict[str, int]]:
    """question id → id → grade, from three columns (BEIR, with a header) or four (TREC).

    Grades below 0 (TREC's -1 and -2: not in the pool, junk) are given as they stand; none is relevant.
    """
    grades: dict[str, dict[str, int]] = {}
    for number, text in numbered_lines(path):
        parts = text.split("\t") if "\t" in text else text.split()
        parts = [part.strip() for part in parts]
        if not any(parts) or (number == 1 and parts[0].lower() in ("query-id", "query_id", "qid")):
            continue
        if len(parts) not in (3, 4):
            raise InputError(
                f"{len(parts)} columns",
                file=str(path),
                line=number,
                accepted="query-id corpus-id score, or qid 0 docid rel",
            )
        question, document, grade = parts[0], parts[-2], parts[-1]
        try:
            value = int(grade) if _BELOW.fullmatch(grade) else as_grade(grade)
        except Wrong as wrong:
            raise InputError(
                wrong.problem, file=str(path), line=number, field="score", found=grade, accepted=wrong.accepted
            ) from wrong
        known = grades.setdefault(question, {})
        if known.get(document, value) != value:
            raise InputError(f"{document!r} has two grades for {question!r}", file=str(path), line=number)
        known[document] = value
    if not grades:
        raise InputError("there are no judgements", file=str(path))
    return grades


def read_chunks(path: str | Path) -> Iterator[Chunk]:
    """The passages of a corpus file (JSON lines, CSV, Parquet) or of the corpus in a BEIR folder.

    Columns: `_id | id | chunk_id | doc_id`, `text | contents | content`, `title`, `document`, `start`/`end` or
    AutoRAG's `start_end_idx`. A title is kept as metadata. Raises `InputError` at the first bad passage.
    """
    file = existing_path(path)
    if file.is_dir():
        inside = _one_of(file, _CORPUS)
        if inside is None:
            raise InputError("no corpus in this folder", file=str(file), accepted=", ".join(_CORPUS))
        file = inside
    seen: set[str] = set()
    for line, data in _corpus_rows(file):
        chunk = _chunk(data, str(file), line)
        if chunk.id in seen:
            raise InputError("the chunk id stands twice", file=str(file), line=line, field="id", found=chunk.id)
        seen.add(chunk.id)
        yield chunk


def _corpus_rows(file: Path) -> Iterator[tuple[int | None, Mapping[str, Any]]]:
    suffixes = file.suffixes
    if ".parquet" in suffixes:
        yield from read_parquet_rows(file)
        return
    if ".csv" in suffixes or ".tsv" in suffixes:
        for line, row in read_csv_rows(file):
            if isinstance(row, InputError):
                raise row
            yield line, row
        return
    for found in jsonrows.json_lines(file):
        if isinstance(found, InputError):
            raise found
        yield found.line, found.data


def _chunk(data: Mapping[str, Any], file: str, line: int | None) -> Chunk:
    data = dict(data)
    span = data.pop("start_end_idx", None)
    start, end = (
        (span[0], span[1])
        if isinstance(span, list | tuple) and len(span) == 2
        else (data.pop("start", None), data.pop("end", None))
    )
    title = data.pop("title", None)
    try:
        fields = chunk_fields(data)
    except Wrong as wrong:
        raise InputError(wrong.problem, file=file, line=line, found=wrong.found) from wrong
    if is_blank(fields.get("id")):
        raise InputError("a passage without an id", file=file, line=line, accepted="_id | id | chunk_id | doc_id")
    fields.pop("score", None)
    if title:
        fields["metadata"] = {"title": str(title), **fields.get("metadata", {})}
    return Chunk(start=None if start is None else int(start), end=None if end is None else int(end), **fields)


def is_embedding_pairs(value: Mapping[str, Any]) -> bool:
    """LlamaIndex's EmbeddingQAFinetuneDataset: {queries: {id: text}, corpus: …, relevant_docs: {id: [ids]}}."""
    return all(isinstance(value.get(key), Mapping) for key in ("queries", "relevant_docs"))


def embedding_pair_rows(value: Mapping[str, Any], file: str | None) -> Iterator[Row | InputError]:
    """The questions of such a file with their relevant ids."""
    for number, (name, text) in enumerate(value["queries"].items(), 1):
        yield Row(
            line=number, data={"id": name, "question": text, "chunks": value["relevant_docs"].get(name)}, file=file
        )


def _one_of(folder: Path, names: tuple[str, ...]) -> Path | None:
    return next((folder / name for name in names if (folder / name).is_file()), None)
