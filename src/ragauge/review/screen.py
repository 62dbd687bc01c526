"""One item as a reviewer's screen shows it, what may be said of it, and what was said, read from a form.

In blind mode nothing of the judge's verdict is in it but the words of the claims, which say nothing of who is right.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from ragauge.analysis.labels import ACCEPTED, label_value
from ragauge.errors import UsageError
from ragauge.report.html_marks import Kind, Mark, Passage, find_words, kind_of, passage
from ragauge.report.review import ASKED, MENUS, verdict_lines
from ragauge.review.items import ReviewItem
from ragauge.review.labels import CLAIM_LABELS
from ragauge.text.citations import parse_citations
from ragauge.text.normalise import clean, normalise

#: Characters of a passage and of an answer that are shown.
N_PASSAGE, N_ANSWER = 6_000, 40_000
#: The longest note, pattern, reference and question that are stored.
MAX_NOTE, MAX_PATTERN, MAX_TEXT = 4_000, 120, 20_000
_GOOD = frozenset(("faithful", "correct", "relevant", "sufficient", "pass", "promote", "supported"))
_BAD = frozenset(("unfaithful", "wrong", "irrelevant", "insufficient", "fail", "reject", "unsupported"))
_OF_CLAIMS = ("supported", "unsupported", "unsure")
_OF_PASSAGES = ("relevant", "irrelevant", "unsure")


@dataclass(frozen=True)
class Choice:
    """One thing to say: its key on the keyboard, the label, good or bad or neither."""

    key: str
    label: str
    tone: str


@dataclass(frozen=True)
class ClaimView:
    """One claim (or passage) to be labelled by itself. `judged`: the judge's word, "" in blind mode."""

    id: str
    name: str
    text: str
    judged: str
    kind: Kind
    reason: str


@dataclass(frozen=True)
class Retrieved:
    """One retrieved passage. `asked_about`: the item is about this one."""

    rank: Any
    id: str
    document: str
    body: Passage
    asked_about: bool


@dataclass(frozen=True)
class Screen:
    """Everything of one item."""

    id: str
    run: str
    item: str
    repeat: int
    metric: str
    asked: str
    why: str
    question: str
    answer: Passage | None
    about: str
    reference: str
    answerable: bool | None
    tags: tuple[str, ...]
    passages: tuple[Retrieved, ...]
    claims: tuple[ClaimView, ...]
    claim_choices: tuple[Choice, ...]
    choices: tuple[Choice, ...]
    judge: tuple[str, ...]
    blind: bool
    is_row: bool


def base_metric(metric: str) -> str:
    """`faithfulness` of `faithfulness@5:chunk`."""
    return metric.partition("@")[0].partition(":")[0]


def choices(metric: str) -> tuple[Choice, ...]:
    """What may be said of an item under a metric, with the keys 1 to 9.

    >>> [(one.key, one.label, one.tone) for one in choices("correctness")][:2]
    [('1', 'correct', 'good'), ('2', 'partial', '')]
    """
    menu = MENUS.get(base_metric(metric), "pass | fail | unsure")
    words = [word.strip() for word in menu.split("|")]
    return _keyed(words if "unsure" in words else [*words, "unsure"])


def _keyed(words: Any) -> tuple[Choice, ...]:
    return tuple(
        Choice(str(place), word, "good" if word in _GOOD else "bad" if word in _BAD else "")
        for place, word in enumerate(words, start=1)
    )


def screen(item: ReviewItem, *, blind: bool) -> Screen:
    """The item for one reviewer."""
    shown = item.shown(blind=blind)
    claims, of_passages = _claims(item, blind)
    return Screen(
        id=item.id,
        run=item.run,
        item=item.item,
        repeat=item.repeat,
        metric=item.metric,
        asked=ASKED.get(base_metric(item.metric), f"Does this answer pass {item.metric}?"),
        why=str(shown["reason"]),
        question=_text(shown.get("question")),
        answer=_answer(_text(shown.get("answer")), claims),
        about=_text(shown.get("text")),
        reference=_text(shown.get("reference")),
        answerable=shown.get("answerable") if isinstance(shown.get("answerable"), bool) else None,
        tags=tuple(str(tag) for tag in shown.get("tags") or ()),
        passages=tuple(_passages(shown, item, blind)),
        claims=claims,
        claim_choices=_keyed(_OF_PASSAGES if of_passages else _OF_CLAIMS),
        choices=choices(item.metric),
        judge=() if blind or shown.get("verdict") is None else tuple(verdict_lines(shown["verdict"]).split("\n")),
        blind=blind,
        is_row=item.metric != "golden",
    )


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""


def _verdicts(item: ReviewItem) -> list[Mapping[str, Any]]:
    verdict = item.payload.get("verdict")
    found = verdict.get("verdicts") if isinstance(verdict, Mapping) else None
    return [one for one in found or () if isinstance(one, Mapping) and one.get("id")]


def _claims(item: ReviewItem, blind: bool) -> tuple[tuple[ClaimView, ...], bool]:
    """(what can be labelled by itself, whether those are passages)."""
    if item.target is not None:
        return (), False
    chunks = {str(one.get("id")): one for one in item.payload.get("contexts") or () if isinstance(one, Mapping)}
    verdicts = _verdicts(item)
    of_passages = bool(verdicts) and all(str(one["id"]) in chunks and not one.get("claim") for one in verdicts)
    found = []
    for place, one in enumerate(verdicts, start=1):
        name = str(one["id"])
        text = f"Passage {chunks[name].get('rank')}: {name}" if of_passages else _text(one.get("claim"))
        if text:
            label = str(one.get("label") or "")
            hidden = blind
            found.append(
                ClaimView(
                    id=name,
                    name=str(place),
                    text=text,
                    judged="" if hidden else label,
                    kind="seen" if hidden else kind_of(label) or "seen",
                    reason="" if hidden else _text(one.get("reason")),
                )
            )
    return tuple(found), of_passages


def _answer(text: str, claims: tuple[ClaimView, ...]) -> Passage | None:
    if not text:
        return None
    n_characters, text = len(text), text[:N_ANSWER]
    cited = [(c.start, c.end) for sentence in parse_citations(text) for c in sentence.citations]
    found = passage(text, find_words(text, [(one.text, one.kind, one.name) for one in claims], cited))
    return replace(found, n_characters=n_characters)


def _passages(shown: Mapping[str, Any], item: ReviewItem, blind: bool) -> list[Retrieved]:
    found = []
    for one in shown.get("contexts") or ():
        if not isinstance(one, Mapping):
            continue
        text, name = _text(one.get("text")), str(one.get("id"))
        marks: list[Mark] = []
        if not blind:
            quoted = [v for v in _verdicts(item) if v.get("quote") and v.get("evidence") in (None, name)]
            marks = find_words(
                text, [(str(v["quote"]), kind_of(str(v.get("label"))) or "seen", str(v["id"])) for v in quoted]
            )
        found.append(
            Retrieved(
                rank=one.get("rank"),
                id=name,
                document=str(one.get("document") or ""),
                body=passage(text, marks, N_PASSAGE),
                asked_about=item.target == name,
            )
        )
    return found


@dataclass(frozen=True)
class Said:
    """What a form says of an item, checked."""

    label: str
    note: str
    systematic: str | None
    edits: dict[str, Any] | None


def said(item: ReviewItem, form: Mapping[str, str]) -> Said:
    """Read a form: label, note, pattern, claim labels, proposed changes. `UsageError` says what is not right."""
    label = form.get("label", "").strip()
    allowed = {choice.label for choice in choices(item.metric)}
    if label not in allowed:
        _graded(label, item.metric)
    edits: dict[str, Any] = {}
    claims = _claim_labels(item, form)
    if claims:
        edits[CLAIM_LABELS] = claims
    for field, name in (("reference", "answer"), ("new_question", "question")):
        text = _bounded(form.get(field, ""), MAX_TEXT, name)
        if text and text != _text(item.payload.get("reference" if name == "answer" else "question")).strip():
            edits[name] = text
    if form.get("unanswerable"):
        edits["answerable"] = False
    quote = _bounded(form.get("quote", ""), MAX_TEXT, "the quoted evidence")
    if quote:
        edits["evidence"] = [{"any": [_evidence(item, quote)]}]
    tags = [tag.strip()[:80] for tag in form.get("tags", "").split(",") if tag.strip()]
    if tags:
        edits["tags"] = [*(item.payload.get("tags") or ()), *tags]
    return Said(
        label=label,
        note=_bounded(form.get("note", ""), MAX_NOTE, "the note"),
        systematic=_bounded(form.get("systematic", ""), MAX_PATTERN, "the pattern's name") or None,
        edits=edits or None,
    )


def _graded(label: str, metric: str) -> None:
    if metric == "golden":
        raise UsageError(f"{label[:40]!r} is not said of a question", hint="promote | reject | unsure")
    try:
        label_value(label)
    except ValueError as problem:
        raise UsageError(str(problem), hint=f"Accepted: {ACCEPTED}, or unsure.") from None
    if not label:
        raise UsageError("no label was chosen", hint=f"Accepted: {ACCEPTED}, or unsure.")


def _claim_labels(item: ReviewItem, form: Mapping[str, str]) -> dict[str, str]:
    claims, of_passages = _claims(item, blind=True)
    allowed = set(_OF_PASSAGES if of_passages else _OF_CLAIMS)
    given = {claim.id: form.get(f"claim-{claim.name}", "") for claim in claims}
    wrong = next((value for value in given.values() if value and value not in allowed), None)
    if wrong is not None:
        raise UsageError(f"{wrong[:40]!r} is not said of a claim", hint=" | ".join(sorted(allowed)))
    return {name: value for name, value in given.items() if value}


def _bounded(text: str, limit: int, what: str) -> str:
    found = clean(text.replace("\r\n", "\n")).strip()
    if len(found) > limit:
        raise UsageError(f"{what} has {len(found)} characters; at most {limit} are kept")
    return found


def _evidence(item: ReviewItem, quote: str) -> dict[str, str]:
    """The document that the words stand in, and the words; they must stand in a passage that is shown."""
    wanted = normalise(quote)
    for one in item.payload.get("contexts") or ():
        if isinstance(one, Mapping) and wanted and wanted in normalise(_text(one.get("text"))):
            return {"document": str(one.get("document") or one.get("id")), "quote": quote}
    raise UsageError("those words stand in none of the passages shown", hint="Copy them from a passage, word for word.")
