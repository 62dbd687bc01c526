"""From the names that a record uses to ours; what fits nowhere is kept as metadata, and said."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from ragauge.dataset.aliases import CONTAINERS, GOLDEN_FIELDS, Role, checked_map, field_of, near_miss, normal_name
from ragauge.dataset.problems import Warnings
from ragauge.dataset.rows import Row, Written
from ragauge.errors import shortened


@dataclass(frozen=True, slots=True)
class Given:
    """A value and the name under which it was found."""

    value: Any
    name: str


#: In a golden file these are the reference when nothing else is; other tools' "what the system said" never is.
_REFERENCE_IN_GOLDEN = ("answer", "answers", "output", "outputs")
_DOCUMENT_PART = re.compile(r"retrieval\.documents\.(\d{1,6})\.document\.(.+)\Z")


@dataclass
class Mapper:
    """Maps the records of one file. `field_map` (theirs → ours) goes before the table of aliases."""

    role: Role
    field_map: Mapping[str, str] | None
    warnings: Warnings
    used: set[str] = field(default_factory=set)
    seen: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.mapped = checked_map(self.field_map, self.role)

    def map(self, row: Row) -> tuple[dict[str, Given], dict[str, Any]]:
        """(our name → what was given, everything else by its own name)."""
        flat = _flatten(row, self.mapped)
        candidates: dict[str, list[tuple[bool, int, Given]]] = {}
        extra: dict[str, Any] = {}
        for path, given in flat.items():
            self.seen.setdefault(path, given.name)
            place = self._place(path, given, flat)
            if place is None:
                self._unknown(given, extra, row)
            else:
                candidates.setdefault(place[0], []).append((not _present(given), place[1], given))
        fields = {}
        for name, rivals in candidates.items():
            rivals.sort(key=lambda rival: rival[:2])
            fields[name] = rivals[0][2]
            for _, _, given in rivals[1:]:
                self._second(name, given, fields[name], extra, row)
        self._document(fields, extra)
        if self.role == "golden":
            self._golden(fields, extra, row)
        return fields, extra

    def _place(self, path: str, given: Given, flat: Mapping[str, Given]) -> tuple[str, int] | None:
        """(our name, preference) for a path; names that mean different things in different tools are told apart."""
        if path in self.mapped:
            self.used.add(path)
            return self.mapped[path], -1
        if path == "context" and (
            "retrieval_context" in flat
            or "actual_output" in flat
            or (self.role == "golden" and "input" in flat and "expected_output" in flat)
        ):
            return "gold_contexts", 0  # DeepEval: the ideal context
        if path == "example_id" and "id" not in self.mapped.values() and _is_experiment(flat):
            return "id", -1  # LangSmith: `id` is the answer's own there, and another in each experiment
        if path == "name" and "input" in flat and isinstance(given.value, str):
            return "id", 99  # DeepEval
        if path == "source" and isinstance(given.value, Mapping):
            return None  # MLflow: where the record comes from
        if path == "documents" and self.role == "golden":
            return "sources", 99
        if self.role == "recorded" and path.rpartition(".")[2] in ("chunks", "sources") and _holds_texts(given.value):
            return "contexts", 99  # many applications call what they retrieved so; ids alone are gold labels
        return field_of(path)

    def unused(self) -> list[str]:
        """Names in `field_map` that no record had, as they were given."""
        return [theirs for theirs in self.field_map or {} if normal_name(theirs) not in self.used]

    def _unknown(self, given: Given, extra: dict[str, Any], row: Row) -> None:
        if given.value is None:
            return
        extra[given.name] = given.value
        near = near_miss(given.name)
        if near:
            self.warnings.add(
                f"the field {given.name!r} is not known and is kept as metadata; did you mean {near!r}?", row.line
            )

    def _second(self, name: str, given: Given, winner: Given, extra: dict[str, Any], row: Row) -> None:
        if given.value is None or given.value == winner.value:
            return
        extra[given.name] = given.value
        self.warnings.add(
            f"both {winner.name!r} and {given.name!r} mean {name!r}; {winner.name!r} is used, "
            f"{given.name!r} is kept as metadata",
            row.line,
        )

    def _document(self, fields: dict[str, Given], extra: dict[str, Any]) -> None:
        """`document` beside a quote or a span is evidence; alone it is a gold source, or what ARES retrieved."""
        spans = [fields.get(part) for part in ("quote", "start", "end")]
        document = fields.get("document")
        if document is not None and any(span is not None and span.value is not None for span in spans):
            return
        for part, span in zip(("quote", "start", "end"), spans, strict=True):
            if span is not None:
                extra[span.name] = fields.pop(part).value
        if document is None:
            return
        del fields["document"]
        target = "sources" if self.role == "golden" else "contexts"
        if target in fields:
            extra[document.name] = document.value
        else:
            fields[target] = document

    def _golden(self, fields: dict[str, Given], extra: dict[str, Any], row: Row) -> None:
        said = fields.get("answer")
        if said is not None and said.value is not None:
            own = (
                normal_name(said.name).partition(".")[0] in _REFERENCE_IN_GOLDEN
                or normal_name(said.name) in self.mapped
            )
            reference = fields.get("reference")
            if (reference is None or reference.value is None) and own:
                fields["reference"] = said
            elif own and reference is not None:
                self.warnings.add(
                    f"{reference.name!r} is the reference; {said.name!r}, a recorded answer, is ignored", row.line
                )
            else:
                self.warnings.add(f"{said.name!r} is what a system said, not a reference; it is ignored", row.line)
        for name in [name for name in fields if name not in GOLDEN_FIELDS]:
            given = fields.pop(name)
            if name == "answer" or given.value is None:
                continue
            if name in ("model", "repeat", "total_ms", "total_s", "cost_usd"):
                extra[given.name] = given.value
            else:
                self.warnings.add(f"{given.name!r} describes a system's output; a golden set ignores it", row.line)


def _is_experiment(flat: Mapping[str, Given]) -> bool:
    """Whether the record is a row of a LangSmith experiment: timed, with what lay in `inputs` or `outputs`."""
    nested = ("inputs", "outputs")
    return "execution_time" in flat and any(normal_name(one.name).partition(".")[0] in nested for one in flat.values())


def _holds_texts(value: Any) -> bool:
    """Whether `value` is a list of objects, as passages come back from a retriever."""
    return isinstance(value, list | tuple) and bool(value) and all(isinstance(part, Mapping) for part in value)


def _present(given: Given) -> bool:
    value = given.value
    return value is not None and not (isinstance(value, str | list | tuple) and len(value) == 0)


def _flatten(row: Row, mapped: Mapping[str, str]) -> dict[str, Given]:
    flat: dict[str, Given] = {}
    documents: dict[int, dict[str, Any]] = {}
    for name, value in row.data.items():
        path = normal_name(name)
        part = _DOCUMENT_PART.match(path) if path.startswith("retrieval.documents.") else None
        if part:
            documents.setdefault(int(part[1]), {})[part[2]] = value
            continue
        inside = CONTAINERS.get(path)
        nested = _object(value) if inside is not None and path not in mapped else None
        if nested is None:
            flat[path] = Given(value, name)
            continue
        for key, child in nested.items():
            child_path = f"{path}.{normal_name(str(key))}"
            if (
                field_of(child_path) is None
                and child_path not in mapped
                and (general := normal_name(str(key))) not in flat
            ):
                child_path = general if field_of(general) else child_path
            flat[child_path] = Given(child, f"{name}.{key}")
    if documents:
        flat["retrieval.documents"] = Given([documents[n] for n in sorted(documents)], "retrieval.documents")
    return flat


def _object(value: Any) -> Mapping[str, Any] | None:
    """`value` as an object: one, or the JSON text of one. A text that merely looks like it stays text."""
    if isinstance(value, Mapping):
        return value
    if isinstance(value, str) and not isinstance(value, Written) and value.lstrip()[:1] == "{":
        try:
            parsed = json.loads(value)
        except (ValueError, RecursionError):
            return None
        known = isinstance(parsed, dict) and any(
            normal_name(key) in inside for inside in CONTAINERS.values() for key in parsed
        )
        return parsed if known else None
    return None


def what_is_there(seen: Mapping[str, str]) -> str:
    """The field names of a file, for messages."""
    return ", ".join(shortened(name, 40) for name in list(seen.values())[:20]) or "none"
