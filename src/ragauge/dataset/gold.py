"""What a record says of the right evidence: ids, grades, quotes, spans, alternatives, gold texts."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from typing import Any

from pydantic import ValidationError

from ragauge.core.sample import Evidence, EvidenceGroup, is_blank
from ragauge.dataset.contexts import chunk_fields
from ragauge.dataset.values import Values, Wrong, as_count, as_grade, as_list, as_text, listed_in_text
from ragauge.text.normalise import clean

#: In `Evidence.document`: the evidence is a text of which nobody says where it stands; it is looked for everywhere.
ANY_DOCUMENT = "*"

_EVIDENCE = "{document, quote} | {document, start, end} | {document} | {any: [alternatives]}"
_EVIDENCE_KEYS = {
    "document": ("document", "doc_id", "document_id", "source", "doc_uri", "doc"),
    "quote": ("quote", "text", "content", "page_content"),
    "start": ("start", "start_char", "start_index"),
    "end": ("end", "end_char", "end_index"),
}
#: What Ragas puts before each gold passage of a question about several; it stands in no corpus.
_HOP = re.compile(r"\A<\d+-hop>\s*")
_RAGET_DOCUMENT = re.compile(r"^Document [^\s:]{1,80}: ", re.MULTILINE)


def read_gold(values: Values) -> dict[str, Any]:
    """The label fields of a `GoldenItem`: sources, chunks, relevance, evidence; only those that are given."""
    gold: dict[str, Any] = {}
    groups: list[EvidenceGroup] = []
    gold["sources"] = values.texts("sources")
    chunks, quoted = _chunks(values)
    relevance = _relevance(values)
    if values.given("evidence") is not None:
        groups += values.read("evidence", _groups) or ()
    if values.given("document") is not None:
        flat = {part: values.given(part) for part in ("document", "quote", "start", "end")}
        groups += values.read("document", _groups, {k: v for k, v in flat.items() if v is not None}) or ()
    gold_sources, gold_groups = _gold_contexts(values)
    required = values.read("retrieval_gt", _required, values.row.cells)
    if required is not None:
        if all(len(alternatives) == 1 for alternatives in required):
            chunks += [alternatives[0] for alternatives in required]
        else:
            groups += [EvidenceGroup(any=tuple(Evidence(document=i) for i in ids)) for ids in required]
    groups += quoted + gold_groups
    if gold_sources:
        gold["sources"] = tuple(dict.fromkeys((*(gold["sources"] or ()), *gold_sources)))
    gold["chunks"] = tuple(dict.fromkeys(chunks)) or None
    gold["relevance"] = relevance or None
    gold["evidence"] = tuple(groups) or None
    return {name: value for name, value in gold.items() if value is not None}


def _chunks(values: Values) -> tuple[list[str], list[EvidenceGroup]]:
    """Chunk ids; objects with a text and no id (TruLens) are evidence instead."""
    raw = values.given("chunks")
    listed = listed_in_text(raw) if isinstance(raw, str) else raw
    if not (isinstance(listed, list | tuple) and any(isinstance(part, Mapping) for part in listed)):
        return list(values.texts("chunks") or ()), []
    ids: list[str] = []
    groups: list[EvidenceGroup] = []
    for part in listed:
        try:
            fields = chunk_fields(part)
        except Wrong as wrong:
            values.problem("chunks", wrong.problem, "chunk ids, or objects with an id or a text", wrong.found)
            continue
        if isinstance(part, Mapping) and part.get("expect_score") in (0, 0.0):
            values.warnings.add("expected chunks with `expect_score` 0 are not relevant; they are left out")
        elif not isinstance(part, Mapping):
            ids.append(fields["text"].strip())
        elif fields.get("id"):
            ids.append(fields["id"])
        elif not is_blank(fields.get("text")):
            text = _HOP.sub("", fields["text"], count=1)
            groups.append(_quote(fields.get("document") or ANY_DOCUMENT, text))
        else:
            values.problem("chunks", "a chunk without id and without text", "chunk ids, or {id} or {text}", part)
    return ids, groups


def _relevance(values: Values) -> dict[str, int]:
    grades = values.read("relevance", _grades, values.row.cells) or {}
    for name in values.texts("not_relevant") or ():
        if grades.get(name, 0) > 0:
            values.problem("not_relevant", f"{name!r} is both relevant and not relevant", "each id in one place")
        grades[name] = 0
    return {clean(name): grade for name, grade in grades.items()}


def _grades(value: Any, cells: bool) -> dict[str, int]:
    """id → grade, from an object, a list of ids (grade 1), a list of {id, grade}, or `id:2; id:1` in a table cell."""
    if isinstance(value, str) and value.lstrip()[:1] == "{":
        try:
            value = json.loads(value)
        except (ValueError, RecursionError) as error:
            raise Wrong(f"not readable as JSON: {error}", "id → grade") from error
    if isinstance(value, Mapping):
        return {as_text(key).strip(): as_grade(grade) for key, grade in value.items() if grade is not None}
    grades: dict[str, int] = {}
    for part in as_list(value, cells):
        name: Any = part
        grade: Any = 1
        if isinstance(part, Mapping):
            name = next(
                (part[key] for key in ("id", "chunk_id", "document_id", "doc_id", "docid") if key in part), None
            )
            keys = ("grade", "relevance", "query_relevance_label", "score", "rel")
            grade = next((part[key] for key in keys if key in part), 1)
            if name is None:
                raise Wrong("a grade without an id", "{id, grade}", found=part)
        elif cells and isinstance(part, str) and re.search(r"[:=]\s*-?[\d.]{1,6}\s*\Z", part[-20:]):
            cut = max(part.rfind(":"), part.rfind("="))
            name, grade = part[:cut], part[cut + 1 :]
        grades[as_text(name).strip()] = as_grade(grade)
    return grades


def _groups(value: Any, flat: Mapping[str, Any] | None = None) -> list[EvidenceGroup]:
    """Evidence: a list whose members are all needed; `{any: […]}` or an inner list holds alternatives."""
    value = flat if flat is not None else value
    if isinstance(value, str) and value.lstrip()[:1] in ("[", "{"):
        try:
            value = json.loads(value)
        except (ValueError, RecursionError) as error:
            raise Wrong(f"not readable as JSON: {error}", _EVIDENCE) from error
    members = value if isinstance(value, list | tuple) else [value]
    groups = []
    for member in members:
        alternatives = member.get("any") if isinstance(member, Mapping) and "any" in member else member
        if not isinstance(alternatives, list | tuple):
            alternatives = [alternatives]
        if not alternatives:
            raise Wrong("a group of evidence without alternatives", _EVIDENCE)
        groups.append(EvidenceGroup(any=tuple(_evidence(part) for part in alternatives)))
    return groups


def _evidence(part: Any) -> Evidence:
    if isinstance(part, str):
        return Evidence(document=str(part).strip())
    if not isinstance(part, Mapping):
        raise Wrong("evidence that is no object", _EVIDENCE, found=part)
    fields: dict[str, Any] = {}
    known: set[str] = set()
    for name, keys in _EVIDENCE_KEYS.items():
        known.update(keys)
        value = next((part[key] for key in keys if part.get(key) is not None), None)
        if value is not None:
            fields[name] = as_count(value) if name in ("start", "end") else clean(as_text(value))
    unknown = [str(key) for key in part if key not in known]
    if unknown:
        raise Wrong(f"evidence has the unknown key {unknown[0]!r}", _EVIDENCE)
    if not fields.get("document", "").strip():
        if "quote" not in fields:
            raise Wrong("evidence without a document", _EVIDENCE, found=dict(part))
        fields["document"] = ANY_DOCUMENT
    fields["document"] = fields["document"].strip()
    try:
        return Evidence(**fields)
    except ValidationError as error:
        raise Wrong(error.errors()[0]["msg"].removeprefix("Value error, "), _EVIDENCE, found=dict(part)) from error


def _gold_contexts(values: Values) -> tuple[list[str], list[EvidenceGroup]]:
    """Gold texts become evidence (all are needed); gold objects that name a document only become sources."""
    raw = values.given("gold_contexts")
    if raw is None:
        return [], []
    parts: Iterable[Any]
    if isinstance(raw, str):
        parts = listed_in_text(raw) or _raget(str(raw))
    else:
        parts = values.read("gold_contexts", as_list, False) or []
    sources: list[str] = []
    groups: list[EvidenceGroup] = []
    for part in parts:
        try:
            fields = chunk_fields(part)
        except Wrong as wrong:
            values.problem("gold_contexts", wrong.problem, "texts, or objects with a text or a document", wrong.found)
            continue
        if not is_blank(fields.get("text")):
            text = _HOP.sub("", fields["text"], count=1)
            groups.append(_quote(fields.get("document") or ANY_DOCUMENT, text))
        elif fields.get("document") or fields.get("id"):
            sources.append(fields.get("document") or fields["id"])
    return sources, groups


def _raget(text: str) -> list[str]:
    """One gold text, or the several that Giskard joins as `Document 3: …`."""
    starts = [match.span() for match in _RAGET_DOCUMENT.finditer(text)]
    if not starts or starts[0][0] != 0:
        return [text]
    ends = [*(start for start, _ in starts[1:]), len(text)]
    return [text[begin:end].strip() for (_, begin), end in zip(starts, ends, strict=True)]


def _quote(document: str, text: str) -> EvidenceGroup:
    return EvidenceGroup(any=(Evidence(document=clean(document), quote=clean(text)),))


def _required(value: Any, cells: bool) -> list[list[str]]:
    """AutoRAG's `retrieval_gt`: an AND of ORs; a flat list is one OR, a single id one requirement."""
    listed = as_list(value, cells)
    if not any(isinstance(part, list | tuple) or hasattr(part, "tolist") for part in listed):
        listed = [listed]
    groups = [[as_text(name).strip() for name in as_list(part, False) if name is not None] for part in listed]
    return [[name for name in group if name] for group in groups if any(group)]
