"""Conversations: the user's last turn is the question, what came before is history, what came after the answer."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ragauge.core.sample import Message, is_blank
from ragauge.dataset.values import Wrong, listed_in_text
from ragauge.text.normalise import clean

_ROLES = {"human": "user", "ai": "assistant", "bot": "assistant", "model": "assistant", "agent": "assistant"}
_ACCEPTED = "a list of {role, content}"


@dataclass(frozen=True, slots=True)
class Conversation:
    """What a list of messages amounts to. `contexts` are those that the answering turn carries (DeepEval)."""

    history: tuple[Message, ...]
    question: str | None
    answer: str | None
    contexts: Any = None


def is_conversation(value: Any) -> bool:
    """Whether `value` is a list of messages: objects with a content, or the JSON text of such a list."""
    if isinstance(value, str) and value.lstrip()[:1] == "[":
        try:
            value = listed_in_text(value)
        except Wrong:
            return False
    return isinstance(value, list | tuple) and bool(value) and all(_is_message(turn) for turn in value)


def read_conversation(value: Any) -> Conversation:
    """The conversation that `value` (a list of messages, or its JSON text) is; `Wrong` when it is none."""
    if isinstance(value, str):
        value = listed_in_text(value)
    if hasattr(value, "tolist"):
        value = value.tolist()
    if isinstance(value, Mapping) and isinstance(value.get("messages"), list | tuple):
        value = value["messages"]
    if not isinstance(value, list | tuple):
        raise Wrong("not a list of messages", _ACCEPTED)
    turns: list[tuple[Message, Any]] = []
    for turn in value:
        turns.extend(_turns(turn))
    last = max((index for index, (message, _) in enumerate(turns) if message.role == "user"), default=None)
    if last is None:
        return Conversation(tuple(message for message, _ in turns), None, None)
    after = [(message, raw) for message, raw in turns[last + 1 :] if message.role == "assistant"]
    return Conversation(
        history=tuple(message for message, _ in turns[:last]),
        question=turns[last][0].content,
        answer=after[-1][0].content if after else None,
        contexts=next((raw["retrieval_context"] for _, raw in after[::-1] if raw.get("retrieval_context")), None),
    )


def as_history(value: Any, question: str) -> tuple[Message, ...]:
    """Earlier turns; when the list also holds the asked question, only what stands before it."""
    conversation = read_conversation(value)
    asked = conversation.question
    if asked is None or asked.strip() == question.strip():
        return conversation.history
    answer = (Message(role="assistant", content=conversation.answer),) if conversation.answer else ()
    return (*conversation.history, Message(role="user", content=asked), *answer)


def _is_message(turn: Any) -> bool:
    return (
        isinstance(turn, Mapping) and any(key in turn for key in ("content", "parts", "message.content", "message"))
    ) or (isinstance(turn, Mapping) and "input" in turn and "output" in turn)


def _turns(turn: Any) -> list[tuple[Message, Mapping[str, Any]]]:
    if not _is_message(turn):
        raise Wrong("a message without content", _ACCEPTED, found=turn)
    if "input" in turn and "output" in turn:  # promptfoo
        pair = [("user", turn["input"]), ("assistant", turn["output"])]
        return [(Message(role=role, content=clean(str(text))), {}) for role, text in pair]
    inner = turn["message"] if isinstance(turn.get("message"), Mapping) else turn
    content = inner.get("content", inner.get("parts", inner.get("message.content")))
    role = str(inner.get("role") or inner.get("message.role") or inner.get("type") or "user").casefold()
    text = _said(content)
    if is_blank(text) and role != "tool":
        return []
    return [(Message(role=_ROLES.get(role, role), content=clean(text)), turn)]


def _said(content: Any) -> str:
    """A content: text, or a list of parts of which the text ones count."""
    if content is None:
        return ""
    if isinstance(content, str):
        return str(content)
    if isinstance(content, list | tuple):
        parts = [part.get("text", part.get("content")) if isinstance(part, Mapping) else part for part in content]
        return "\n".join(str(part) for part in parts if isinstance(part, str))
    raise Wrong("a message whose content is no text", _ACCEPTED, found=content)
