"""Samples in the shapes of other tools, and what those cannot hold."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import IO, Any

from ragauge.core.sample import Sample
from ragauge.dataset.writers import to_beir, to_deepeval, to_langfuse, to_mlflow, to_ragas
from ragauge.errors import MissingExtra, StoreError
from ragauge.store.tables import write_whole

_RAGAS = frozenset({"question", "reference", "chunks", "evidence quotes", "answer", "chunk texts", "chunk ids"})
#: What each format has a place for, by the names that `present` gives.
HOLDS: Mapping[str, frozenset[str]] = {
    "ragas": _RAGAS,
    "huggingface": _RAGAS,
    "deepeval": frozenset({"id", "question", "reference", "evidence quotes", "answer", "chunk texts", "tags"}),
    "mlflow": frozenset({"id", "question", "reference", "claims", "sources"}),
    "langfuse": frozenset({"id", "question", "reference", "metadata"}),
    "beir": frozenset({"id", "question", "sources", "chunks", "relevance", "chunk texts", "chunk ids"}),
    "trec": frozenset({"id", "question", "sources", "chunks", "relevance", "chunk ids", "chunk scores"}),
}
FORMATS = tuple(HOLDS)
_ITEM = (
    "sources", "chunks", "relevance", "keywords", "tags", "faithfulness_threshold", "verified", "language", "claims",
    "history", "metadata",
)  # fmt: skip
_LINES: Mapping[str, Callable[[Sample], dict[str, Any]]] = {
    "ragas": to_ragas, "huggingface": to_ragas, "deepeval": to_deepeval, "mlflow": lambda one: to_mlflow(one.item),
    "langfuse": lambda one: to_langfuse(one.item),
}  # fmt: skip


def present(sample: Sample) -> set[str]:
    """What a sample says, by names for people."""
    item, response = sample.item, sample.response
    found = {"id", "question"}
    found |= {name for name in _ITEM if getattr(item, name)}
    found |= {"reference"} if item.answer is not None else set()
    found |= {"answerable"} if item.answerable is not None else set()
    places = [group.any[0] for group in item.evidence or ()]
    found |= {"evidence quotes"} if any(one.quote for one in places) else set()
    found |= {"evidence spans"} if any(one.start is not None for one in places) else set()
    found |= {"evidence alternatives"} if any(len(group.any) > 1 for group in item.evidence or ()) else set()
    found |= {"answer"} if response.answer is not None else set()
    chunks = response.context.chunks if response.context is not None else ()
    found |= {"chunk ids"} if chunks else set()
    found |= {"chunk texts"} if any(one.text for one in chunks) else set()
    found |= {"chunk documents"} if any(one.document for one in chunks) else set()
    found |= {"chunk scores"} if any(one.score is not None for one in chunks) else set()
    for name in ("citations", "steps", "model", "abstained", "total_ms"):
        found |= {name} if getattr(response, name) not in (None, ()) else set()
    found |= {"tokens and cost"} if response.usage.tokens_in or response.usage.tokens_out else set()
    return found | ({"repeats"} if sample.repeat else set())


def cannot_hold(samples: Iterable[Sample], to: str) -> dict[str, int]:
    """What the format has no place for: name → in how many samples it stands."""
    left = Counter(name for sample in samples for name in present(sample) - HOLDS[to])
    return dict(sorted(left.items()))


def export_samples(samples: Sequence[Sample], to: str, out: Path) -> None:
    """Write `samples` for the tool `to`: JSON lines, or a new folder (huggingface, beir, trec)."""
    if to in ("beir", "trec", "huggingface"):
        try:
            out.mkdir(parents=True, exist_ok=False)
        except FileExistsError as error:
            raise StoreError(f"{out}: is there already", hint="Name a new folder with --out.") from error
    if to == "beir":
        _beir(samples, out)
    elif to == "trec":
        _trec(samples, out)
    elif to == "huggingface":
        try:
            from datasets import Dataset
        except ImportError as error:
            raise MissingExtra("datasets, which writes Hugging Face data sets,", "huggingface") from error
        records = [to_ragas(one) for one in samples]
        names = list(dict.fromkeys(name for one in records for name in one))
        Dataset.from_list([{name: one.get(name) for name in names} for one in records]).save_to_disk(str(out))
    else:
        _lines(out, map(_LINES[to], samples))


def _once(samples: Sequence[Sample]) -> list[Sample]:
    return list({one.id: one for one in reversed(samples)}.values())[::-1]


def _beir(samples: Sequence[Sample], out: Path) -> None:
    kept = _once(samples)
    chunks = {c.id: c for one in kept if one.response.context for c in one.response.context.chunks if c.text}
    tables = to_beir(one.item for one in kept)
    _lines(out / "queries.jsonl", tables["queries"])
    _lines(out / "corpus.jsonl", ({"_id": c.id, "title": "", "text": c.text} for c in chunks.values()))
    (out / "qrels").mkdir()
    rows = [f"{r['query-id']}\t{r['corpus-id']}\t{r['score']}" for r in tables["qrels"]]
    _text(out / "qrels" / "test.tsv", ["query-id\tcorpus-id\tscore", *rows])


def _trec(samples: Sequence[Sample], out: Path) -> None:
    kept = _once(samples)
    for one in kept:
        names = (one.id, *(one.response.context.ids if one.response.context else ()))
        bad = next((name for name in names if any(letter.isspace() for letter in name)), None)
        if bad is not None:
            raise StoreError(f"the id {bad!r} holds white space, which TREC files cannot hold")
    _text(out / "queries.tsv", [f"{one.id}\t{' '.join(one.item.question.split())}" for one in kept])
    qrels = to_beir(one.item for one in kept)["qrels"]
    _text(out / "qrels.txt", [f"{r['query-id']} 0 {r['corpus-id']} {r['score']}" for r in qrels])
    lines = []
    for one in kept:
        chunks = one.response.context.chunks if one.response.context else ()
        scores = [chunk.score for chunk in chunks]
        # a run is ordered by its scores: where ours are not, places stand in their stead
        known = [score for score in scores if score is not None]
        ordered = len(known) == len(scores) and all(a > b for a, b in pairwise(known))
        for chunk in chunks:
            score = chunk.score if ordered else float(len(chunks) - chunk.rank)
            lines.append(f"{one.id} Q0 {chunk.id} {chunk.rank} {score!r} ragauge")
    _text(out / "ragauge.run", lines)


def _lines(path: Path, records: Iterable[Mapping[str, Any]]) -> None:
    _text(path, [json.dumps(one, ensure_ascii=False, allow_nan=False) for one in records])


def _text(path: Path, lines: Sequence[str]) -> None:
    def write(handle: IO[bytes]) -> None:
        for line in lines:
            handle.write(line.encode("utf-8", "replace") + b"\n")

    write_whole(path, write)
