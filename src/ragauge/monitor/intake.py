"""Records from outside, checked one by one: what is right is taken, what is wrong gets a reason."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

from pydantic import ValidationError

from ragauge.dataset.aliases import ALIASES, normal_name
from ragauge.monitor.layout import Kind
from ragauge.monitor.lenient import clean, quick_chunks
from ragauge.monitor.query import Feedback, LoggedQuery, new_id
from ragauge.monitor.redact import Redact, redact_feedback, redact_query

#: Our field → what others call it. Names are compared as the golden sets' loader compares them.
QUERY_ALIASES: dict[str, tuple[str, ...]] = {
    "id": (*ALIASES["id"], "trace_id"),
    "at": ("at", "timestamp", "time", "ts", "created_at", "created", "date", "start_time", "logged_at"),
    "question": ALIASES["question"],
    "answer": ALIASES["answer"],
    "chunks": ("chunks", *ALIASES["contexts"]),
    "project": ("project", "system", "app", "service", "application"),
    "retrieval_ms": ("retrieval_ms", "retrieval_latency_ms", "retrieval_time_ms"),
    "generation_ms": ("generation_ms", "generation_latency_ms", "llm_ms", "llm_latency_ms"),
    "total_ms": ("total_ms", "latency_ms", "duration_ms", "latency", "response_time_ms", "elapsed_ms"),
    "top_score": ("top_score", "top_similarity", "max_similarity", "top1_score", "max_score"),
    "mean_score": ("mean_score", "mean_similarity", "avg_similarity", "avg_score"),
    "n_chunks": ("n_chunks", "num_chunks", "chunk_count", "n_results", "num_results"),
    "abstained": ("abstained", "refused", "declined", "is_refusal"),
    "feedback": ("feedback", "thumb", "thumbs", "user_feedback", "rating"),
    "note": ("note", "comment", "feedback_comment", "feedback_text"),
    "outcome": ("outcome", "conversion", "resolved", "solved"),
    "variant": ("variant", "arm", "experiment", "bucket"),
    "session": ("session", "session_id", "conversation_id", "thread_id"),
    "model": ("model", "model_name", "llm"),
    "tokens_in": ("tokens_in", "prompt_tokens", "input_tokens", "usage.prompt_tokens", "usage.input_tokens"),
    "tokens_out": (
        "tokens_out", "completion_tokens", "output_tokens", "usage.completion_tokens", "usage.output_tokens",
    ),
    "cost_usd": ("cost_usd", "cost", "total_cost"),
    "error": ("error", "exception", "error_type"),
    "tags": ("tags", "labels"),
    "metadata": ("metadata", "meta", "extra"),
}  # fmt: skip
FEEDBACK_ALIASES: dict[str, tuple[str, ...]] = {
    "query_id": ("query_id", *ALIASES["id"], "trace_id"),
    "at": QUERY_ALIASES["at"],
    "feedback": (*QUERY_ALIASES["feedback"], "value", "score"),
    "note": QUERY_ALIASES["note"],
    "outcome": QUERY_ALIASES["outcome"],
}
_TABLES: dict[Kind, dict[str, tuple[str, ...]]] = {"queries": QUERY_ALIASES, "feedback": FEEDBACK_ALIASES}
#: Alias → (our field, its place among that field's aliases).
_LOOKUP: dict[Kind, dict[str, tuple[str, int]]] = {
    kind: {
        normal_name(alias): (name, place)
        for name, aliases in reversed(table.items())
        for place, alias in reversed(list(enumerate(aliases)))
    }
    for kind, table in _TABLES.items()
}
_FIELDS: dict[Kind, frozenset[str]] = {
    "queries": frozenset(LoggedQuery.model_fields),
    "feedback": frozenset(Feedback.model_fields),
}
_UP = {"up", "thumbs_up", "thumbsup", "positive", "good", "like", "liked", "👍", "true", "1"}
_DOWN = {"down", "thumbs_down", "thumbsdown", "negative", "bad", "dislike", "disliked", "👎", "false", "-1", "0"}
#: A clock may be ahead by so much.
_AHEAD = timedelta(days=1)


@dataclass(frozen=True)
class NoRecord:
    """What stands in a record's place: `reason` says what is wrong with it."""

    reason: str


@dataclass(frozen=True)
class Rejected:
    """One record that was not taken, by its place from 0."""

    index: int
    reason: str
    id: str | None = None
    too_large: bool = False

    def as_json(self) -> dict[str, Any]:
        """As the endpoint answers."""
        return {"index": self.index, "reason": self.reason} | ({"id": self.id} if self.id else {})


@dataclass
class Taken:
    """Lines to write, and what was refused."""

    lines: list[tuple[Kind, str, str]] = field(default_factory=list)
    ids: list[str] = field(default_factory=list)
    rejected: list[Rejected] = field(default_factory=list)


@dataclass(frozen=True)
class Intake:
    """The rules by which records are taken. `max_age` None: any day."""

    redact: Redact | None = None
    max_record: int = 1 << 20
    max_age: timedelta | None = None
    source: str = "http"
    project: str | None = None

    def take(self, kind: Kind, records: Sequence[Any]) -> Taken:
        """Check every record."""
        taken = Taken()
        now = datetime.now(UTC)
        for index, record in enumerate(records):
            try:
                found_id, day, text = self._one(kind, record, now)
            except ValidationError as error:
                taken.rejected.append(Rejected(index, reasons(error), _id_of(record)))
            except ValueError as error:
                taken.rejected.append(Rejected(index, str(error), _id_of(record), isinstance(error, _TooLarge)))
            else:
                taken.lines.append((kind, day, text))
                taken.ids.append(found_id)
        return taken

    def _one(self, kind: Kind, record: Any, now: datetime) -> tuple[str, str, str]:
        if isinstance(record, NoRecord):
            raise ValueError(record.reason)
        if not isinstance(record, Mapping):
            raise ValueError(f"a record is an object, found {type(record).__name__}")
        fields = named(kind, record)
        fields.setdefault("at", now)
        model: LoggedQuery | Feedback
        if kind == "queries":
            fields.setdefault("id", new_id(now.timestamp()))
            fields.setdefault("source", self.source)
            if self.project is not None:
                fields.setdefault("project", self.project)
            if fields.get("chunks") is not None:
                fields["chunks"] = quick_chunks(fields["chunks"])
            model = LoggedQuery.model_validate(fields)
            model = redact_query(model, self.redact) if self.redact else model
        else:
            model = Feedback.model_validate(fields)
            model = redact_feedback(model, self.redact) if self.redact else model
        self._check_time(model.at, now)
        text = model.model_dump_json(exclude_defaults=True)
        if len(text) > self.max_record:
            raise _TooLarge(f"the record has {len(text)} characters, more than {self.max_record}")
        found_id = model.id if isinstance(model, LoggedQuery) else model.query_id
        return found_id, model.at.date().isoformat(), text

    def _check_time(self, at: datetime, now: datetime) -> None:
        if at > now + _AHEAD:
            raise ValueError(f"at: {at.isoformat()} lies in the future")
        if self.max_age is not None and at < now - self.max_age:
            raise ValueError(f"at: {at.isoformat()} is more than {self.max_age.days} days ago")


class _TooLarge(ValueError):
    pass


def named(kind: Kind, record: Mapping[str, Any]) -> dict[str, Any]:
    """The record under our names. What has no name of ours goes into the metadata; what is null is left out."""
    if record.keys() <= _FIELDS[kind]:
        fields = {name: value for name, value in record.items() if value is not None}
    else:
        fields, extra = _by_alias(kind, record)
        if extra and kind == "queries":
            given = fields.get("metadata")
            fields["metadata"] = extra | (dict(given) if isinstance(given, Mapping) else {})
    if "feedback" in fields:
        fields["feedback"] = thumb(fields["feedback"])
        if fields["feedback"] is None:
            del fields["feedback"]
    for name in ("id", "query_id", "session"):
        if isinstance(fields.get(name), int) and not isinstance(fields[name], bool):
            fields[name] = str(fields[name])
    return fields


def _by_alias(kind: Kind, record: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    best: dict[str, tuple[int, Any]] = {}
    extra: dict[str, Any] = {}
    for key, value in record.items():
        found = (key, -1) if key in _FIELDS[kind] else _LOOKUP[kind].get(normal_name(str(key)))
        if value is None:
            continue
        if found is None:
            extra[str(key)] = value
        elif found[0] not in best or found[1] < best[found[0]][0]:
            best[found[0]] = (found[1], value)
    return {name: value for name, (_, value) in best.items()}, extra


def thumb(value: Any) -> Any:
    """`up`, `down`, or None (no feedback) from the usual spellings; others as they are, to be refused."""
    if value in ("", "none", "null"):
        return None
    text = str(value).strip().lower()
    if text.endswith(".0"):
        text = text[:-2]
    return "up" if text in _UP else "down" if text in _DOWN else value


def reasons(error: ValidationError) -> str:
    """What is wrong, without what was given: it may hold what nobody should see again."""
    found = [f"{'.'.join(map(str, p['loc'])) or 'record'}: {p['msg']}" for p in error.errors(include_input=False)[:5]]
    more = error.error_count() - len(found)
    return "; ".join(found) + (f"; and {more} more" if more > 0 else "")


def _id_of(record: Any) -> str | None:
    value = record.get("id", record.get("query_id")) if isinstance(record, Mapping) else None
    return clean(value[:200]) if isinstance(value, str) else None
