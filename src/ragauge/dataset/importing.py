"""Another tool's files into ours: a golden set or recorded outputs, and what became of each field."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from ragauge.core.model import Model
from ragauge.core.sample import Sample
from ragauge.dataset.aliases import Role, normal_name
from ragauge.dataset.foreign import unwrap
from ragauge.dataset.problems import Warnings
from ragauge.dataset.records import RecordReader
from ragauge.dataset.rows import Row
from ragauge.dataset.writers import native_record, save_golden
from ragauge.errors import InputError, UsageError
from ragauge.store.tables import write_whole

#: Tools whose exported examples call the reference `output(s)`, as long as nothing says what was retrieved.
_EXAMPLES = ("langsmith", "phoenix")
#: What a DeepEval record of an answer has, and a golden has not.
_ANSWERED = frozenset({"actual_output", "retrieval_context", "turns"})


@dataclass(frozen=True)
class Imported:
    """What was read. `mapped`: (their field, ours, in how many records); `kept`: fields that became metadata."""

    tool: str
    why: str
    role: Role
    samples: tuple[Sample, ...]
    mapped: tuple[tuple[str, str, int], ...]
    kept: tuple[tuple[str, int], ...]
    lost: tuple[str, ...]
    notes: tuple[str, ...]


class Mapped(Model):
    """A field of theirs that is one of ours, in so many records."""

    theirs: str
    ours: str
    n: int


class KeptField(Model):
    """A field that was not understood and became metadata, in so many records."""

    field: str
    n: int


class ImportDocument(Model):
    """What `ragauge import --json` prints; the schema in the documentation is this. `sniffed`: told from the files."""

    tool: str
    sniffed: bool
    why: str
    kind: Role
    n: int
    mapped: tuple[Mapped, ...]
    kept_as_metadata: tuple[KeptField, ...]
    not_kept: tuple[str, ...]
    notes: tuple[str, ...]
    out: str | None


def import_document(found: Imported, sniffed: bool, out: Path | None) -> ImportDocument:
    """What became of every field, and where it was written."""
    return ImportDocument(
        tool=found.tool, sniffed=sniffed, why=found.why, kind=found.role, n=len(found.samples),
        mapped=tuple(Mapped(theirs=theirs, ours=ours, n=n) for theirs, ours, n in found.mapped),
        kept_as_metadata=tuple(KeptField(field=name, n=n) for name, n in found.kept),
        not_kept=found.lost, notes=found.notes, out=None if out is None else str(out),
    )  # fmt: skip


def read_foreign(
    files: Sequence[Path], tool: str | None = None, role: Role | None = None, field_map: Mapping[str, str] | None = None
) -> Imported:
    """Read all of `files`; `tool` and `role` None: told from the files. `InputError` lists up to 20 problems."""
    unwrapped = unwrap(files, tool)
    if not unwrapped.records:
        raise InputError("there are no records", file=str(files[0]))
    where = str(files[0])
    made = role or _role(unwrapped.tool, unwrapped.records, field_map)
    reader = RecordReader.open(made, where, field_map)
    samples, mapped, kept = [], Counter[tuple[str, str]](), Counter[str]()
    for number, record in enumerate(unwrapped.records, 1):
        row = Row(line=number, data=record, file=where, cells=files[0].suffix.lower() in (".csv", ".tsv"))
        fields, extra = RecordReader.open(made, where, field_map).mapper.map(row)
        mapped.update((given.name, name) for name, given in fields.items() if given.value is not None)
        kept.update(extra.keys())
        sample = reader.read(row)
        if sample is not None:
            samples.append(sample)
    reader.finish()
    return Imported(
        unwrapped.tool, unwrapped.why, made, tuple(samples),
        tuple((theirs, ours, n) for (theirs, ours), n in mapped.items()), tuple(kept.items()), unwrapped.lost,
        (*unwrapped.notes, *reader.warnings.messages()),
    )  # fmt: skip


def _role(tool: str, records: Sequence[Mapping[str, Any]], field_map: Mapping[str, str] | None) -> Role:
    """Recorded outputs where any record says what was answered or retrieved, else a golden set."""
    if tool == "deepeval" and not any(_ANSWERED & {normal_name(str(key)) for key in one} for one in records):
        return "golden"  # `context` is the ideal one there
    mapper = RecordReader.open("recorded", None, field_map).mapper
    mapper.warnings = Warnings()
    for number, record in enumerate(records, 1):
        fields, _ = mapper.map(Row(line=number, data=record))
        present = {name for name, given in fields.items() if given.value not in (None, "", [])}
        if present & {"contexts", "context_ids", "context_documents"}:
            return "recorded"
        if "answer" in present and not (tool in _EXAMPLES and "reference" not in present):
            return "recorded"
    return "golden"


def recorded_record(sample: Sample) -> dict[str, Any]:
    """A sample as a line of recorded outputs, which `read_samples` reads back equal."""
    record = native_record(sample.item)
    if "answer" in record:
        record["reference"] = record.pop("answer")
    item_metadata = record.pop("metadata", {})
    response = sample.response.model_dump(mode="json", exclude_none=True, exclude_defaults=True)
    context = response.pop("context", None)
    if context is not None or sample.response.context is not None:
        chunks = (context or {}).get("chunks", [])
        record["contexts"] = [{name: value for name, value in one.items() if name != "rank"} for one in chunks]
    metadata = {**item_metadata, **response.pop("metadata", {})}
    record |= response
    if metadata:
        record["metadata"] = metadata
    if sample.repeat:
        record["repeat"] = sample.repeat
    return record


def write_imported(found: Imported, out: Path) -> None:
    """Write what was read: a golden set as .yaml or .jsonl, recorded outputs as .jsonl. Whole or not at all."""
    if found.role == "golden":
        save_golden((sample.item for sample in found.samples), out)
        return
    if out.suffix not in (".jsonl", ".ndjson"):
        raise UsageError(f"recorded outputs are written as JSON lines, not {out.suffix!r}", hint="--out answers.jsonl")

    def write(handle: IO[bytes]) -> None:
        for sample in found.samples:
            line = json.dumps(recorded_record(sample), ensure_ascii=False, allow_nan=False)
            handle.write(line.encode("utf-8", "replace") + b"\n")

    write_whole(out, write)
