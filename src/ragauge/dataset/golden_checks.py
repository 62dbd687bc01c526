"""Checks of single golden items, each naming what is wrong and what to do."""

from __future__ import annotations

import re
from collections.abc import Iterator

from ragauge.core.sample import GoldenItem, is_blank
from ragauge.dataset.complaints import Severity
from ragauge.dataset.quotes import folded
from ragauge.errors import nearest
from ragauge.text.refusals import is_refusal
from ragauge.text.tokens import content_words, stem, words

#: The kinds of questions that a set should have some of.
TAGS = ("lookup", "numeric", "table", "multi_hop", "conflict", "ambiguous", "unanswerable")
#: (kind, severity, field, message, fix)
Found = tuple[str, Severity, str, str, str]

_PLACEHOLDER = re.compile(
    r"\b(?:todo|tbd|fixme|lorem ipsum|xxx+)\b|<(?:answer|question|your|insert)[^>]{0,40}>"
    r"|\[(?:answer|question|insert)[^\]]{0,40}\]",
    re.IGNORECASE,
)
_HIDDEN = re.compile("[\x00-\x08\x0e-\x1f\x7f-\x9f\u200b\u200e\u200f\u202a-\u202e\u2060\u2066-\u2069\ufeff\ufffd]")
_SHORTEST_QUOTE = 12
_FEW_WORDS = 2


def item_faults(item: GoldenItem) -> Iterator[Found]:
    """Everything that is wrong with an item by itself."""
    yield from _question(item)
    yield from _answer(item)
    yield from _labels(item)
    yield from _keywords(item)
    yield from _tags(item)


def _question(item: GoldenItem) -> Iterator[Found]:
    if len(words(item.question)) <= _FEW_WORDS and not item.history:
        yield (
            "question_too_short", "warning", "question", f"the question has {len(words(item.question))} words",
            "Ask a whole question, as a user would.",
        )  # fmt: skip
    for name, text in (("question", item.question), ("answer", item.answer or "")):
        if _PLACEHOLDER.search(text):
            yield (
                "placeholder", "error", name, f"the {name} still holds a placeholder",
                f"Write the {name}, or take the item out.",
            )  # fmt: skip
        hidden = _HIDDEN.search(text)
        if hidden:
            yield (
                "hidden_character", "warning", name, f"the {name} holds the hidden character U+{ord(hidden[0]):04X}",
                "Delete it: it came in by copying, and matching by words stumbles over it.",
            )  # fmt: skip
    asked = folded(item.question)
    if item.answer and len(folded(item.answer)) >= _SHORTEST_QUOTE and folded(item.answer) in asked:
        yield (
            "answer_in_question", "error", "question", "the question contains its whole answer",
            "Ask without telling the answer.",
        )  # fmt: skip


def _answer(item: GoldenItem) -> Iterator[Found]:
    refuses = item.answer is not None and is_refusal(item.answer)
    if item.can_be_answered is None:
        yield (
            "answerable_unknown", "warning", "answerable", "it is not said whether the corpus can answer this",
            "Set `answerable: true` or `answerable: false`.",
        )  # fmt: skip
    elif item.can_be_answered:
        if is_blank(item.answer):
            yield (
                "no_reference", "warning", "answer", "answerable, but there is no reference answer",
                "Write the right answer: correctness, completeness and context recall need it.",
            )  # fmt: skip
        elif refuses:
            yield (
                "reference_refuses", "error", "answer", "marked answerable, but the reference answer declines",
                "Write the answer, or set `answerable: false`.",
            )  # fmt: skip
    elif not refuses and not is_blank(item.answer) and (item.claims or item.keywords):
        yield (
            "unanswerable_with_answer", "error", "answer", "marked unanswerable, but it has an answer to check",
            "Set `answerable: true`, or take answer, claims and keywords out.",
        )  # fmt: skip
    for number, claim in enumerate(item.claims or (), 1):
        if item.answer and _share(claim, f"{item.question} {item.answer}") < 0.5:
            yield (
                "claim_not_in_reference", "warning", "claims", f"claim {number} does not stand in the reference answer",
                "Split the reference answer anew, or delete `claims` and let the judge do it.",
            )  # fmt: skip


def _labels(item: GoldenItem) -> Iterator[Found]:
    positive = [name for name, grade in (item.relevance or {}).items() if grade > 0]
    labelled = bool(item.sources or item.chunks or positive or item.evidence)
    if item.answerable and not labelled:
        yield (
            "answerable_without_labels", "warning", "sources", "answerable, but nothing says where the answer stands",
            "Add `evidence: [{document, quote}]`, or at least `sources`.",
        )  # fmt: skip
    if item.answerable is False and labelled:
        yield (
            "unanswerable_with_labels", "error", "answerable", "marked unanswerable, but it has labels of the answer",
            "Set `answerable: true`, or take the labels out (ids judged not relevant have grade 0).",
        )  # fmt: skip
    both = set(item.sources or ()) | set(item.chunks or ())
    denied = sorted(name for name, grade in (item.relevance or {}).items() if grade == 0 and name in both)
    if denied:
        yield (
            "contradicting_labels", "error", "relevance", f"{denied[0]!r} is relevant and has grade 0",
            "Keep it in one of the two.",
        )  # fmt: skip
    for number, group in enumerate(item.evidence or (), 1):
        for part in group.any:
            if part.quote is not None and len(folded(part.quote)) < _SHORTEST_QUOTE:
                yield (
                    "quote_too_short", "warning", "evidence",
                    f"evidence {number} quotes only {part.quote!r}", "Quote the whole sentence that decides.",
                )  # fmt: skip
    named = {part.document for group in item.evidence or () for part in group.any} - {"*"}
    if item.sources and named and not named <= set(item.sources):
        extra = sorted(named - set(item.sources))
        yield (
            "evidence_outside_sources", "warning", "sources",
            f"evidence is quoted from {extra[0]!r}, which is not among the sources",
            f"Add {extra[0]!r} to `sources`, or correct the evidence.",
        )  # fmt: skip
    if item.faithfulness_threshold is not None and item.faithfulness_threshold < 0.5:
        yield (
            "threshold_too_low", "warning", "faithfulness_threshold",
            f"a faithfulness of {item.faithfulness_threshold:g} would pass", "Thresholds are usually .9 to 1.",
        )  # fmt: skip


def _keywords(item: GoldenItem) -> Iterator[Found]:
    if item.keywords and item.answer:
        text = f" {folded(item.answer)} "
        missing = [word for word in item.keywords if f" {folded(word)} " not in text]
        if missing:
            yield (
                "keyword_not_in_reference", "error", "keywords",
                f"the keyword {missing[0]!r} is not in the reference answer",
                "No right answer need contain it: spell it as the reference does, or take it out.",
            )  # fmt: skip
    blank = [word for word in item.keywords or () if not folded(word)]
    if blank:
        yield "blank_keyword", "warning", "keywords", "a keyword is blank", "Take it out."
    if item.answerable is False and item.keywords:
        yield (
            "unanswerable_with_keywords", "error", "keywords", "marked unanswerable, but keywords are required",
            "Take the keywords out, or set `answerable: true`.",
        )  # fmt: skip


def _tags(item: GoldenItem) -> Iterator[Found]:
    for tag in item.tags:
        plain = re.sub(r"[\s-]+", "_", tag.strip().casefold())
        near = [plain] if plain in TAGS else [hit for hit in nearest(plain, TAGS, 1) if _typo(plain, hit)]
        if tag not in TAGS and near:
            yield ("misspelt_tag", "warning", "tags", f"the tag {tag!r} looks like {near[0]!r}", f"Write {near[0]!r}.")
    tagged = "unanswerable" in item.tags
    if tagged and item.answerable:
        yield (
            "tag_contradicts",
            "error",
            "tags",
            "tagged unanswerable and marked answerable",
            "Correct one of the two.",
        )
    if item.answerable is False and item.tags and not tagged:
        yield ("tag_contradicts", "warning", "tags", "unanswerable, but not tagged so", "Add the tag `unanswerable`.")
    if "numeric" in item.tags and item.answer and item.answerable and not re.search(r"\d", item.answer):
        from ragauge.text.numbers import quantities

        if not quantities(item.answer):
            yield (
                "tag_contradicts", "warning", "tags", "tagged numeric, but there is no number in the reference answer",
                "Take the tag away, or name the number in the answer.",
            )  # fmt: skip
    parts = max(len(item.evidence or ()), len(item.chunks or ()), len(item.sources or ()))
    if "multi_hop" in item.tags and item.answerable and parts == 1:
        yield (
            "tag_contradicts", "warning", "tags", "tagged multi_hop, but one passage is enough",
            "Add the other passages as further `evidence`, or take the tag away.",
        )  # fmt: skip


def _typo(word: str, tag: str) -> bool:
    """Whether a tag is probably a misspelling of another, and not a word of its own."""
    return abs(len(word) - len(tag)) <= 2 and word.replace("_", "")[:3] == tag.replace("_", "")[:3]


def _share(part: str, whole: str) -> float:
    """Share of the content words of `part` that `whole` has, by stem."""
    wanted = {stem(word) for word in content_words(part)}
    return len(wanted & {stem(word) for word in words(whole)}) / len(wanted) if wanted else 1.0
