"""What is settled before any judge is asked: blank answers, refusals, nothing retrieved, nothing to compare with."""

from __future__ import annotations

from ragauge.core.sample import RetrievedChunk, Sample, is_blank
from ragauge.core.score import Unscored, unscored
from ragauge.errors import Reason, SettingsError
from ragauge.metrics.decision import decide
from ragauge.metrics.remembered import plain
from ragauge.text.normalise import clean


def answer_text(sample: Sample) -> str | Unscored:
    """The answer without its citation markers; `Unscored(no_answer)` where it is missing or shows nothing.

    Ids of retrieved chunks in brackets are markers too, so the context is read where it is there. NULs and lone
    surrogates, which no claim can hold, become U+FFFD here and in references.
    """
    answer = sample.response.answer
    if answer is None or is_blank(answer):
        return unscored(Reason.NO_ANSWER, "the system gave no answer" if answer is None else "the answer is blank")
    context = sample.response.context
    text = plain(answer, tuple(context.ids) if context is not None else ())
    if not text:
        return unscored(Reason.NO_ANSWER, "the answer has no words")
    return text


def claimed_text(sample: Sample) -> str | Unscored:
    """The answer as something that makes claims: as `answer_text`, and `Unscored(abstained)` for a refusal."""
    decision = decide(sample)
    if decision is not None and decision.kind == "declined":
        return unscored(Reason.ABSTAINED, decision.said())
    return answer_text(sample)


def reference_text(sample: Sample) -> str | Unscored:
    """The reference answer; `Unscored(no_reference)` where there is none."""
    reference = sample.item.answer
    if reference is None or is_blank(reference):
        return unscored(Reason.NO_REFERENCE, "the golden item has no reference answer")
    return clean(reference)


def retrieved(sample: Sample, k: int | None = None) -> tuple[RetrievedChunk, ...] | Unscored:
    """The first `k` retrieved chunks (all by default), each id once at its best rank, in the order given.

    Empty when nothing was retrieved; `Unscored(no_contexts)` when the system does not say what it retrieved.
    """
    context = sample.response.context
    if context is None:
        return unscored(Reason.NO_CONTEXTS, "the system does not say what it retrieved")
    first: dict[str, RetrievedChunk] = {}
    for chunk in context.chunks:
        first.setdefault(chunk.id, chunk)
    return tuple(first.values())[:k]


def readable(chunks: tuple[RetrievedChunk, ...]) -> tuple[RetrievedChunk, ...]:
    """The chunks that show any text: only they can hold evidence."""
    return tuple(chunk for chunk in chunks if not is_blank(chunk.text))


def check_k(k: int | None) -> None:
    """SettingsError for a `k` below 1."""
    if k is not None and k < 1:
        raise SettingsError(f"k must be a whole number from 1, not {k!r}")
