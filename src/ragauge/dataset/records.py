"""From mapped fields to the vocabulary: `GoldenItem` and `Response`."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from pydantic import ValidationError

from ragauge.core.sample import (
    GoldenItem,
    Response,
    RetrievalStep,
    RetrievedContext,
    Sample,
    Usage,
    is_blank,
)
from ragauge.dataset.aliases import Role, field_of, near_miss, spellings
from ragauge.dataset.contexts import GENERATED, chunk_fields, read_contexts
from ragauge.dataset.gold import read_gold
from ragauge.dataset.mapping import Given, Mapper, what_is_there
from ragauge.dataset.messages import Conversation, as_history, is_conversation, read_conversation
from ragauge.dataset.problems import Problems, Warnings
from ragauge.dataset.rows import Row
from ragauge.dataset.values import Values, Wrong, as_count, as_flag, as_list, as_number, as_text, as_texts, plain

_MILLISECONDS = ("retrieval_ms", "generation_ms", "total_ms")


@dataclass
class RecordReader:
    """Reads the records of one file; remembers ids, so that repeats get an id or are refused.

    `known`: questions by the id of their golden item, for records that name only the id.
    """

    role: Role
    problems: Problems
    warnings: Warnings
    mapper: Mapper
    lines: dict[tuple[str, int], int | None] = field(default_factory=dict)
    made: dict[str, int] = field(default_factory=dict)
    fields: set[str] = field(default_factory=set)
    known: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def open(cls, role: Role, file: str | None, field_map: Mapping[str, str] | None) -> RecordReader:
        """A reader for one file."""
        warnings = Warnings()
        return cls(role, Problems(file), warnings, Mapper(role, field_map, warnings))

    def read(self, row: Row) -> Sample | None:
        """The sample of one row, labels not yet resolved; None when it has a problem, which is then noted."""
        if row.ready is not None:
            values = Values(row, {}, self.problems, self.warnings)
            if not self._first_of_its_id(row.ready.id, row.ready.repeat, values):
                return None
            self._note_fields(row.ready.item, row.ready.response)
            return row.ready
        before = len(self.problems.found)
        given, extra = self.mapper.map(row)
        values = Values(row, given, self.problems, self.warnings)
        conversation = self._conversation(values)
        question = self._question(values, conversation, row)
        if question is None:
            return None
        metadata = plain({**_metadata(values), **extra})
        response = self._response(values, conversation, metadata) if self.role == "recorded" else Response()
        item = self._item(values, question, conversation, metadata)
        if item is None or response is None or len(self.problems.found) > before:
            return None
        repeat = int(values.read("repeat", as_count) or 0)
        if not self._first_of_its_id(item.id, repeat, values):
            return None
        self._note_fields(item, response)
        return Sample(item=item, response=response, repeat=repeat)

    def finish(self) -> None:
        """After the last row: mapped names that never came are a mistake, not silence."""
        for theirs in self.mapper.unused():
            self.problems.add_if_room(f"no record has the mapped field {theirs!r}", what_is_there(self.mapper.seen))
        self.problems.raise_any()

    def _note_fields(self, item: GoldenItem, response: Response) -> None:
        self.fields |= item.model_fields_set - {"answer"}
        self.fields |= response.model_fields_set
        if item.answer is not None:
            self.fields.add("reference")
        chunks = response.context.chunks if response.context is not None else ()
        if "context_text" not in self.fields and any(chunk.text for chunk in chunks):
            self.fields.add("context_text")

    def _conversation(self, values: Values) -> Conversation | None:
        for name in ("question", "history"):
            value = values.given(name)
            if name == "question" and not is_conversation(value):
                continue
            if value is not None:
                read: Conversation | None = values.read(name, read_conversation)
                return read
        return None

    def _question(self, values: Values, conversation: Conversation | None, row: Row) -> str | None:
        raw = values.given("question")
        accepted = spellings("question")
        if is_conversation(raw) or (raw is None and conversation is not None):
            question = conversation.question if conversation else None
            if is_blank(question):
                values.problem(
                    "question" if raw is not None else "history", "the conversation has no user message", accepted
                )
                return None
            return values.clean(question, "question")
        if raw is None and "question" not in values.fields and (asked := self.known.get(values.text("id") or "")):
            return asked
        if raw is None:
            near = [name for name in row.data if (hit := _near(str(name))) == "question" and hit]
            hint = f"{near[0]!r} looks like it: --map {near[0]}=question" if near else "Name it: --map THEIRS=question"
            state = "the question is null" if "question" in values.fields else "no question"
            seen = what_is_there({str(n): str(n) for n in row.data})
            values.problem("question", state, accepted, hint=f"The record has: {seen}. {hint}")
            if row.cells and "question" not in values.fields:
                self.problems.raise_any()  # the column is missing: saying so for each row helps nobody
            return None
        question = values.read("question", _first_text)
        if question is None:
            return None
        if is_blank(question):
            values.problem("question", "the question is blank", "a text", found=question)
            return None
        return values.clean(question, "question")

    def _id(self, values: Values, question: str) -> str:
        """The id given, or one made of the question: the same in every file, numbered where a question stands again."""
        name = values.text("id")
        if name is not None and name.strip():
            return name.strip()
        digest = hashlib.sha256(question.strip().encode("utf-8")).hexdigest()[:12]
        if values.given("repeat") is not None:
            return f"q-{digest}"
        n_before = self.made.get(digest, 0)
        self.made[digest] = n_before + 1
        return f"q-{digest}" if n_before == 0 else f"q-{digest}-{n_before + 1}"

    def _item(
        self, values: Values, question: str, conversation: Conversation | None, metadata: dict[str, Any]
    ) -> GoldenItem | None:
        reference, others = _answers(values, "reference")
        meta = {**metadata, "other_references": others} if others else metadata
        fields: dict[str, Any] = {
            "id": self._id(values, question),
            "question": question,
            "answer": reference,
            "answerable": _answerable(values),
            "keywords": _keywords(values),
            "tags": _tags(values, meta),
            "faithfulness_threshold": values.read("faithfulness_threshold", as_number, 0.0, 1.0),
            "verified": values.read("verified", as_flag),
            "language": values.text("language"),
            "claims": values.read("claims", as_texts, values.row.cells) or None,
            "history": self._history(values, question, conversation),
            "metadata": meta if self.role == "golden" else {},
            **read_gold(values),
        }
        _asserted(values, fields)
        try:
            return GoldenItem(**{name: value for name, value in fields.items() if value not in (None, (), {})})
        except ValidationError as error:
            for detail in error.errors():
                values.problem(str(detail["loc"][0]), detail["msg"], found=detail.get("input"))
            return None

    def _history(self, values: Values, question: str, conversation: Conversation | None) -> Any:
        if conversation is not None and (is_conversation(values.given("question")) or values.given("question") is None):
            return conversation.history
        return values.read("history", as_history, question)

    def _response(self, values: Values, conversation: Conversation | None, metadata: dict[str, Any]) -> Response | None:
        context, generated = read_contexts(values)
        if context is None and conversation is not None and conversation.contexts is not None:
            context, generated = read_contexts(values, conversation.contexts)
        if generated:
            self.warnings.add(
                "contexts without chunk ids: they are numbered by position (ctx-1 …), so metrics by chunk id cannot "
                "use labels that name ids",
                values.row.line,
            )
        answer = _said(values, conversation)
        extra = {**metadata, GENERATED: True} if generated else metadata
        fields: dict[str, Any] = {
            "context": context,
            "answer": answer,
            "citations": values.read("citations", _citations, values.row.cells),
            "abstained": values.read("abstained", as_flag),
            "usage": _usage(values),
            "steps": values.read("steps", _steps, values),
            "model": values.text("model"),
            "metadata": extra,
        }
        for name in _MILLISECONDS:
            fields[name] = values.read(name, as_number, 0.0)
            seconds = values.read(name.replace("_ms", "_s"), as_number, 0.0)
            if fields[name] is None and seconds is not None:
                fields[name] = seconds * 1000.0
        return Response(**{name: value for name, value in fields.items() if value is not None})

    def _first_of_its_id(self, name: str, repeat: int, values: Values) -> bool:
        key = (name, repeat)
        if key not in self.lines:
            self.lines[key] = values.row.line
            return True
        first = self.lines[key]
        where = f"lines {first} and {values.row.line}" if first is not None else "two records"
        values.problem(
            "id", f"the id stands twice: {where}", "each id once", found=name,
            hint="Several answers to one question need a `repeat` number (0, 1, …)." if self.role == "recorded" else "",
        )  # fmt: skip
        return False


def _near(name: str) -> str | None:
    hit = near_miss(name)
    place = field_of(hit) if hit else None
    return place[0] if place else None


def _first_text(value: Any) -> str:
    if isinstance(value, list | tuple) and len(value) == 1:
        value = value[0]
    if isinstance(value, bool | int | float):
        raise Wrong("a number or truth value where the question belongs", "a text")
    return as_text(value)


def _answers(values: Values, name: str) -> tuple[str | None, list[str]]:
    """(the first answer, further ones) of a field that may hold one or several."""
    raw = values.given(name)
    if isinstance(raw, Mapping):
        raw = next((raw[key] for key in ("text", "content", "answer", "value", "output") if key in raw), raw)
        values = Values(values.row, {name: Given(raw, values.fields[name].name)}, values.problems, values.warnings)
    if values.row.cells and isinstance(raw, str) and raw[:1] == "[":
        listed = values.read(name, as_texts, True) or []
    elif isinstance(raw, list | tuple) or hasattr(raw, "tolist"):
        listed = values.read(name, as_texts) or []
    else:
        text = values.text(name)
        return text, []
    kept = [values.clean(text, name) for text in listed if not is_blank(text)]
    return (kept[0] if kept else None), kept[1:]


def _said(values: Values, conversation: Conversation | None) -> str | None:
    """What the system answered. "" stays "": it answered nothing, which is not the same as saying nothing of it."""
    raw = values.given("answer")
    if raw is None:
        return conversation.answer if conversation is not None else None
    if is_conversation(raw):
        read: Conversation | None = values.read("answer", _spoken)
        return values.clean(read.answer, "answer") if read and read.answer else None
    if isinstance(raw, str):
        return values.clean(str(raw), "answer")
    return _answers(values, "answer")[0]


def _spoken(value: Any) -> Conversation:
    return read_conversation([{"role": "user", "content": "-"}, *(value if isinstance(value, list) else [])])


def _metadata(values: Values) -> dict[str, Any]:
    raw = values.given("metadata")
    if raw is None:
        return {}
    if isinstance(raw, str):
        try:
            parsed = json.loads(raw)
        except (ValueError, RecursionError):
            parsed = None
        return parsed if isinstance(parsed, dict) else {"metadata": raw}
    return dict(raw) if isinstance(raw, Mapping) else {"metadata": raw}


def _answerable(values: Values) -> bool | None:
    said: bool | None = values.read("answerable", as_flag)
    denied: bool | None = values.read("unanswerable", as_flag)
    if said is not None and denied is not None and said == denied:
        values.problem("answerable", "`answerable` and its opposite contradict each other", "one of the two")
    return said if said is not None else None if denied is None else not denied


def _tags(values: Values, metadata: dict[str, Any]) -> tuple[str, ...] | None:
    """Tags. One text is split at commas, `;` and `|`; of an object simple values become `domain:cloud`, `alone`."""
    raw = values.given("tags")
    if isinstance(raw, str) and raw.lstrip()[:1] == "{":
        try:
            raw = json.loads(raw)
        except (ValueError, RecursionError):
            raw = values.given("tags")
    if isinstance(raw, str) and raw.lstrip()[:1] not in ("[", "{"):
        return tuple(dict.fromkeys(tag.strip() for tag in re.split("[,;|]", values.clean(raw, "tags")) if tag.strip()))
    if not isinstance(raw, Mapping):
        return values.texts("tags")
    tags = []
    for key, value in raw.items():
        if value is True:
            tags.append(str(key))
        elif isinstance(value, str) and 0 < len(value) <= 40:
            tags.append(f"{key}:{value}")
        elif value is not None and value is not False:
            metadata[str(key)] = plain(value)
    return tuple(tags)


def _keywords(values: Values) -> tuple[str, ...] | None:
    return values.texts("keywords")


def _asserted(values: Values, fields: dict[str, Any]) -> None:
    """promptfoo's assertions: what must be contained are keywords, what it must equal or mean is the reference."""
    raw = values.given("assert")
    keywords = list(fields.get("keywords") or ())
    for check in raw if isinstance(raw, list | tuple) else ():
        kind, wanted = (check.get("type"), check.get("value")) if isinstance(check, Mapping) else (None, None)
        if kind in ("contains", "icontains", "contains-all", "icontains-all") and wanted is not None:
            keywords += [str(word) for word in (wanted if isinstance(wanted, list) else [wanted])]
        elif kind in ("equals", "similar", "factuality", "model-graded-factuality") and isinstance(wanted, str):
            fields["answer"] = fields.get("answer") or wanted
        else:
            values.warnings.add(f"the assertion {kind!r} is not used")
    if keywords:
        fields["keywords"] = tuple(dict.fromkeys(keywords))


def _usage(values: Values) -> Usage | None:
    raw = values.given("usage")
    found: dict[str, Any] = {}
    if isinstance(raw, Mapping):
        for name, keys in {
            "calls": ("calls", "n_calls"),
            "cached_calls": ("cached_calls",),
            "tokens_in": ("tokens_in", "prompt_tokens", "input_tokens", "prompt", "input"),
            "tokens_out": ("tokens_out", "completion_tokens", "output_tokens", "completion", "output"),
            "cost_usd": ("cost_usd", "total_cost", "cost"),
        }.items():
            value = next((raw[key] for key in keys if raw.get(key) is not None), None)
            if value is not None:
                found[name] = value
    for name in ("tokens_in", "tokens_out", "cost_usd"):
        if values.given(name) is not None:
            found[name] = values.given(name)
    read: dict[str, Any] = {}
    for name, value in found.items():
        try:
            read[name] = as_number(value, 0.0) if name == "cost_usd" else as_count(value)
        except Wrong as wrong:
            values.problem("usage" if raw is not None else name, f"{name}: {wrong.problem}", wrong.accepted, value)
    return Usage(**read) if read else None


def _citations(value: Any, cells: bool) -> tuple[str, ...]:
    cited = []
    for part in as_list(value, cells):
        if isinstance(part, Mapping):
            fields = chunk_fields(part)
            part = fields.get("id") or fields.get("document")
        if part is not None and str(part).strip():
            cited.append(as_text(part).strip())
    return tuple(cited)


def _steps(value: Any, values: Values) -> tuple[RetrievalStep, ...]:
    if not isinstance(value, list | tuple):
        raise Wrong("no list of retrieval steps", "[{name, query, chunks, latency_ms}]")
    steps = []
    for index, step in enumerate(value):
        if not isinstance(step, Mapping):
            raise Wrong(f"step {index + 1} is no object", "{name, query, chunks, latency_ms}")
        raw: Any = next((step[key] for key in ("chunks", "contexts", "documents") if step.get(key) is not None), [])
        own = Values(values.row, {}, values.problems, values.warnings)
        context = read_contexts(own, raw)[0] or RetrievedContext()
        latency = step.get("latency_ms")
        steps.append(
            RetrievalStep(
                name=str(step.get("name") or f"step-{index + 1}"),
                query=None if step.get("query") is None else as_text(step["query"]),
                chunks=context.chunks,
                latency_ms=None if latency is None else as_number(latency, 0.0),
                metadata=plain(step.get("metadata") or {}),
            )
        )
    return tuple(steps)
