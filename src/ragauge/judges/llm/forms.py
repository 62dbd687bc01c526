"""The form of each task's reply: a Pydantic model to read it by, and a strict JSON schema to ask for it by.

Each is made once per task. The schema demands every field; the model also reads replies of servers that do not enforce
schemas, as long as what decides (ids, labels) is there.
"""

from __future__ import annotations

import hashlib
import json
from functools import lru_cache
from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, ConfigDict

from ragauge.core.judge import Task
from ragauge.core.provider import Shape

#: Tasks whose verdicts name the passage that decided and its words.
WITH_EVIDENCE = frozenset({"support", "citation_support"})

_STRING: dict[str, Any] = {"type": "string"}
_STRINGS: dict[str, Any] = {"type": "array", "items": _STRING}


class _Wire(BaseModel):
    """What a model sends; fields that nobody asked for are passed over."""

    model_config = ConfigDict(extra="ignore")


def _whole(value: Any) -> Any:
    """Text without lone surrogates, which a reply may hold as escapes and which nothing else takes."""
    return value.encode("utf-8", "replace").decode() if isinstance(value, str) else value


def _named(value: Any) -> Any:
    """Numbers where a name is expected (an id, a label "5") are read as text."""
    return str(value) if isinstance(value, int) and not isinstance(value, bool) else _whole(value)


Words = Annotated[str, BeforeValidator(_whole)]
Name = Annotated[str, BeforeValidator(_named)]


class Opinion(_Wire):
    """One verdict as a model sends it. `label` is checked against the task's menu where it is read."""

    id: Name
    reason: Words | None = ""
    evidence: Name | None = None
    quote: Words | None = None
    label: Name


class Opinions(_Wire):
    """Verdicts on several ids; each is read by itself, so that one bad one does not cost the others."""

    verdicts: list[Any]


class SplitText(_Wire):
    """Claims in order."""

    id: Name
    claims: list[Words]


class Guesses(_Wire):
    """Questions."""

    id: Name
    noncommittal: bool = False
    questions: list[Words]


class Probe(_Wire):
    """The reply to a question that only tests the endpoint."""

    id: Name


def label_of(said: str, menu: tuple[str, ...]) -> str | None:
    """The label of the menu that `said` spells, whatever its case, blanks and hyphens; None if it is not on the menu.

    >>> label_of(" Not mentioned", ("supported", "not_mentioned")), label_of("maybe", ("supported",))
    ('not_mentioned', None)
    """
    plain = said.strip().casefold().replace(" ", "_").replace("-", "_")
    return plain if plain in menu else None


@lru_cache(maxsize=64)
def shape_of(name: str, kind: str, menu: tuple[str, ...]) -> Shape:
    """The strict schema of a task's reply. `kind`: verdicts, verdict, claims, questions or probe."""
    # The label comes first: a small model that writes its reason first retells the passage and then agrees with it
    # (`validation/judges/real-model.md`).
    verdict: dict[str, Any] = {"id": _STRING, "label": {"type": "string", "enum": list(menu)}}
    if name in WITH_EVIDENCE:
        verdict |= {"evidence": _STRING, "quote": _STRING}
    verdict |= {"reason": _STRING}
    fields: dict[str, dict[str, Any]] = {
        "verdicts": {"verdicts": {"type": "array", "items": _closed(verdict)}},
        "verdict": verdict,
        "claims": {"id": _STRING, "claims": _STRINGS},
        "questions": {"id": _STRING, "noncommittal": {"type": "boolean"}, "questions": _STRINGS},
        "probe": {"id": _STRING},
    }
    schema = _closed(fields[kind])
    digest = hashlib.sha256(json.dumps(schema, sort_keys=True).encode()).hexdigest()
    return Shape(name, schema, digest)


def _closed(properties: dict[str, Any]) -> dict[str, Any]:
    """An object with these fields, all of them, and no other."""
    return {
        "type": "object", "properties": properties, "required": list(properties), "additionalProperties": False,
    }  # fmt: skip


def kind_of(task: Task[Any]) -> str:
    """Which kind of reply `task` has on the wire."""
    return {
        "VerdictsReply": "verdicts",
        "VerdictReply": "verdict",
        "ClaimsReply": "claims",
        "QuestionsReply": "questions",
    }[task.reply.__name__]
