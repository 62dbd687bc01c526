"""Golden sets written: our own YAML and JSON Lines, and the record shapes of other tools."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from ragauge.core.sample import Chunk, GoldenItem, Sample
from ragauge.dataset.gold import ANY_DOCUMENT
from ragauge.errors import InputError, StoreError
from ragauge.store.whole import replacing

#: Words that YAML 1.1 or 1.2 take for something else.
_WORDS = frozenset(("null", "true", "false", "yes", "no", "on", "off", "y", "n"))


def native_record(item: GoldenItem) -> dict[str, Any]:
    """An item as we write it: only the fields that it has; a group with one alternative as that alternative."""
    record: dict[str, Any] = item.model_dump(mode="json", exclude_none=True)
    record = {
        name: value for name, value in record.items() if value not in ([], {}) and (name, value) != ("verified", False)
    }
    if item.evidence:
        record["evidence"] = [group["any"][0] if len(group["any"]) == 1 else group for group in record["evidence"]]
    return record


def save_golden(items: Iterable[GoldenItem], path: str | os.PathLike[str]) -> None:
    """Write items as YAML (.yaml, .yml) or JSON Lines (.jsonl); `load_golden` reads back equal items.

    The file appears whole or not at all.
    """
    target = Path(path)
    records = [native_record(item) for item in items]
    if target.suffix in (".yaml", ".yml"):
        text = _yaml(records)
    elif target.suffix in (".jsonl", ".ndjson"):
        text = "".join(json.dumps(record, ensure_ascii=False, allow_nan=False) + "\n" for record in records)
    else:
        raise InputError(
            "golden sets are written as YAML or JSON Lines", file=str(target), accepted=".yaml | .yml | .jsonl"
        )
    _write(target, text)


def _yaml(records: list[dict[str, Any]]) -> str:
    import yaml

    class Dumper(yaml.SafeDumper):
        """Quotes every text that a reader of any YAML version could take for something else."""

        def ignore_aliases(self, data: Any) -> bool:
            return True

    def text(dumper: yaml.SafeDumper, value: str) -> yaml.ScalarNode:
        style = "|" if _block(value) else '"' if _odd(value) or _mistakable(value) else None
        return dumper.represent_scalar("tag:yaml.org,2002:str", value, style=style)

    Dumper.add_representer(str, text)
    dumped: str = yaml.dump(records, Dumper=Dumper, allow_unicode=True, sort_keys=False, width=110)
    return dumped


def _block(value: str) -> bool:
    """Whether a text can stand as a block without losing anything."""
    return (
        "\n" in value
        and not _unprintable(value)
        and value[0] not in " \t\n"
        and not any(line != line.rstrip() for line in value.split("\n"))
    )


def _mistakable(value: str) -> bool:
    """Whether some reader could take the text for a number, a date, a truth value or nothing."""
    return not value[:1].isalpha() or value.casefold() in _WORDS


def _odd(value: str) -> bool:
    return value != value.strip() or _unprintable(value)


def _unprintable(value: str) -> bool:
    """Line separators other than LF, and characters that YAML would escape."""
    return any(not c.isprintable() and c != "\n" for c in value)


def _write(target: Path, text: str) -> None:
    try:
        with replacing(target) as beside:
            beside.write_text(text, encoding="utf-8", newline="\n")
    except OSError as error:
        raise StoreError(f"{target}: cannot be written: {error.strerror or error}") from error


def _gold_texts(item: GoldenItem) -> list[str]:
    return [group.any[0].quote for group in item.evidence or () if group.any[0].quote]


def to_ragas(sample: Sample) -> dict[str, Any]:
    """A Ragas 0.4 single-turn record."""
    item, response = sample.item, sample.response
    record = {
        "user_input": item.question,
        "response": response.answer,
        "reference": item.answer,
        "retrieved_contexts": None if response.context is None else [chunk.text for chunk in response.context],
        "retrieved_context_ids": None if response.context is None else [chunk.id for chunk in response.context],
        "reference_contexts": _gold_texts(item) or None,
        "reference_context_ids": list(item.chunks) if item.chunks else None,
    }
    return {name: value for name, value in record.items() if value is not None}


def to_deepeval(sample: Sample) -> dict[str, Any]:
    """The keyword arguments of a DeepEval `LLMTestCase`."""
    item, response = sample.item, sample.response
    record = {
        "name": item.id,
        "input": item.question,
        "actual_output": response.answer,
        "expected_output": item.answer,
        "retrieval_context": None if response.context is None else [chunk.text for chunk in response.context],
        "context": _gold_texts(item) or None,
        "tags": list(item.tags) or None,
    }
    return {name: value for name, value in record.items() if value is not None}


def to_mlflow(item: GoldenItem) -> dict[str, Any]:
    """A record of an MLflow 3 evaluation data set."""
    expectations: dict[str, Any] = {}
    if item.answer is not None:
        expectations["expected_response"] = item.answer
    if item.claims:
        expectations["expected_facts"] = list(item.claims)
    sources = item.sources or tuple(
        group.any[0].document for group in item.evidence or () if group.any[0].document != ANY_DOCUMENT
    )
    if sources:
        expectations["expected_retrieved_context"] = [{"doc_uri": name} for name in dict.fromkeys(sources)]
    return {"inputs": {"question": item.question}, "expectations": expectations, "tags": {"ragauge.item_id": item.id}}


def to_langfuse(item: GoldenItem) -> dict[str, Any]:
    """A Langfuse data set item."""
    return {
        "id": item.id,
        "input": {"question": item.question},
        "expected_output": item.answer,
        "metadata": item.metadata,
    }


def to_beir(items: Iterable[GoldenItem], chunks: Iterable[Chunk] = ()) -> dict[str, list[dict[str, Any]]]:
    """The three tables of a BEIR set: `queries`, `corpus`, `qrels`, graded by `relevance`, `chunks` and `sources`."""
    queries, qrels = [], []
    for item in items:
        queries.append({"_id": item.id, "text": item.question})
        grades = dict.fromkeys((*(item.sources or ()), *(item.chunks or ())), 1) | (item.relevance or {})
        qrels += [{"query-id": item.id, "corpus-id": name, "score": grade} for name, grade in grades.items()]
    corpus = list(_beir_corpus(chunks))
    return {"queries": queries, "corpus": corpus, "qrels": qrels}


def _beir_corpus(chunks: Iterable[Chunk]) -> Iterator[dict[str, Any]]:
    for chunk in chunks:
        yield {"_id": chunk.id, "title": str(chunk.metadata.get("title", "")), "text": chunk.text}
