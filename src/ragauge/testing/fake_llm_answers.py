"""What the fake language model says: it finds the ids in a prompt of ours and judges by plain word overlap.

No model and no wisdom: a statement is supported when one passage holds most of its words and all of its numbers. That
is enough for a whole run against it to come out with scores that follow from the data.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from ragauge.testing.fake_llm_system_answers import written

_PIECE = re.compile(r"<<([0-9a-f]{8}) ([a-z]+)(?: (\w+))?>>\n(.*?)\n<<\1>>", re.DOTALL)
_TASK = re.compile(r"^Task: (\w+)", re.MULTILINE)
_STATEMENT = re.compile(r"^(S\w+)(?: \[([\w ]*)\])?: (.*)$", re.MULTILINE)
_ITEM = re.compile(r"^Item: (\w+)", re.MULTILINE)
_COUNT = re.compile(r"^Number of questions: (\d+)", re.MULTILINE)
_WORD = re.compile(r"\w+")
_SENTENCE = re.compile(r"[^.!?\n]+[.!?]?")
_DECLINES = re.compile(
    r"\b(?:do not|don't|cannot|can't|could not|couldn't) (?:know|say|find|answer|determine)|no information", re.I
)
_SMALL = frozenset(
    re.findall(r"\w+", "the a an and or of to in on at is are was were be it its this that with for from by")
)


@dataclass
class Prompt:
    """A prompt of ours taken apart."""

    task: str
    item: str = ""
    count: int = 1
    passages: dict[str, str] = field(default_factory=dict)
    statements: dict[str, tuple[str, tuple[str, ...] | None]] = field(default_factory=dict)
    texts: dict[str, str] = field(default_factory=dict)


def understand(prompt: str) -> Prompt:
    """The parts of `prompt`; an unknown text gives a prompt without a task."""
    task, item, count = _TASK.search(prompt), _ITEM.search(prompt), _COUNT.search(prompt)
    found = Prompt(task[1] if task else "", item[1] if item else "", int(count[1]) if count else 1)
    for _, kind, name, text in _PIECE.findall(prompt):
        if kind == "passage":
            found.passages[name] = text
        elif kind == "statements":
            for key, cited, words in _STATEMENT.findall(text):
                found.statements[key] = (words, tuple(cited.split()) if cited else None)
        else:
            found.texts[kind] = text
    return found


def answer(prompt: str) -> dict[str, Any] | str:
    """What a well-behaved model would send back for one of our prompts: JSON, or plain text where that is asked for."""
    parts = understand(prompt)
    said: dict[str, Any] | str | None = written(parts.task, prompt, parts.texts, parts.passages, parts.item, overlap)
    if said is not None:
        return said
    make = _ANSWERS.get(parts.task)
    return make(parts) if make else {"reply": "I have nothing to say to that.", "id": parts.item}


def words(text: str) -> set[str]:
    """The words of `text` that carry meaning, casefolded."""
    return {word for word in _WORD.findall(text.casefold()) if word not in _SMALL}


def overlap(statement: str, text: str) -> float:
    """Share of the statement's words that stand in `text` (0 to 1)."""
    wanted = words(statement)
    return len(wanted & words(text)) / len(wanted) if wanted else 0.0


def _numbers(text: str) -> set[str]:
    return {word for word in _WORD.findall(text) if word[0].isdigit()}


def _support(statement: str, passages: dict[str, str]) -> tuple[str, str | None]:
    best = max(passages, key=lambda name: overlap(statement, passages[name]), default=None)
    if best is None or overlap(statement, passages[best]) < 0.6:
        return "not_mentioned", None
    return ("supported" if _numbers(statement) <= _numbers(passages[best]) else "contradicted"), best


def _supports(parts: Prompt) -> dict[str, Any]:
    verdicts = []
    for name, (statement, cited) in parts.statements.items():
        among = parts.passages if cited is None else {c: parts.passages[c] for c in cited if c in parts.passages}
        label, evidence = _support(statement, among)
        quote = among[evidence].strip().split("\n")[0][:80] if evidence else ""
        reason = "word overlap with the passage"
        verdicts.append({"id": name, "reason": reason, "evidence": evidence or "", "quote": quote, "label": label})
    return {"verdicts": verdicts}


def _coverage(parts: Prompt) -> dict[str, Any]:
    text = {"text": parts.texts.get("text", "")}
    labels = {name: _support(statement, text)[0] for name, (statement, _) in parts.statements.items()}
    return {"verdicts": [{"id": n, "reason": "word overlap with the text", "label": v} for n, v in labels.items()]}


def _usefulness(parts: Prompt) -> dict[str, Any]:
    wanted = parts.texts.get("reference") or parts.texts.get("question", "")
    useful = {name: overlap(wanted, text) >= 0.4 for name, text in parts.passages.items()}
    return {
        "verdicts": [
            {"id": name, "reason": "word overlap", "label": "useful" if yes else "not_useful"}
            for name, yes in useful.items()
        ]
    }


def _needs_citation(parts: Prompt) -> dict[str, Any]:
    return {
        "verdicts": [
            {"id": name, "reason": "states a fact", "label": "needed" if len(words(text)) > 2 else "not_needed"}
            for name, (text, _) in parts.statements.items()
        ]
    }


def _single(label: Callable[[Prompt], str]) -> Callable[[Prompt], dict[str, Any]]:
    return lambda parts: {"id": parts.item, "reason": "word overlap", "label": label(parts)}


def _sufficiency(parts: Prompt) -> str:
    everything = " ".join(parts.passages.values())
    return "sufficient" if overlap(parts.texts.get("question", ""), everything) >= 0.5 else "insufficient"


def _abstention(parts: Prompt) -> str:
    said = parts.texts.get("answer", "")
    declines = _DECLINES.search(said)
    return "answered" if not declines else "declined" if len(words(said)) < 16 else "partial"


def _correctness(parts: Prompt) -> str:
    reference, said = parts.texts.get("reference", ""), parts.texts.get("answer", "")
    share = overlap(reference, said)
    return (
        "correct" if share >= 0.6 and _numbers(reference) <= _numbers(said) else "partial" if share > 0.3 else "wrong"
    )


def _relevance(parts: Prompt) -> str:
    share = overlap(parts.texts.get("question", ""), parts.texts.get("answer", ""))
    return str(1 + min(4, int(share * 8)))


def _claims(parts: Prompt) -> dict[str, Any]:
    sentences = [s.strip() for s in _SENTENCE.findall(parts.texts.get("text", ""))]
    return {"id": parts.item, "claims": [s for s in sentences if words(s)]}


def _questions(parts: Prompt) -> dict[str, Any]:
    said = parts.texts.get("answer", "")
    subject = " ".join(said.split()[:12])
    questions = [f"{start} {subject}?" for start in ("What about", "Is it true that", "Who says that", "Why", "When")]
    questions = [questions[i % len(questions)] for i in range(parts.count)]
    return {"id": parts.item, "noncommittal": bool(_DECLINES.search(said)), "questions": questions}


def _golden_question(parts: Prompt) -> dict[str, Any]:
    """A question about the first words of each passage, quoting its first sentence."""
    quotes = []
    for name, text in parts.passages.items():
        lines = [line.strip() for line in text.splitlines() if len(words(line)) > 3]
        if lines:
            quotes.append({"passage": name, "quote": lines[-1]})
    subject = " ".join(sorted({word for quote in quotes for word in words(quote["quote"])})[:8])
    return {
        "id": parts.item, "skip": not quotes, "question": f"What should one know about {subject}?",
        "answer": " ".join(quote["quote"] for quote in quotes), "keywords": [], "quotes": quotes,
    }  # fmt: skip


_ANSWERS: dict[str, Callable[[Prompt], dict[str, Any]]] = {
    "split_claims": _claims,
    "support": _supports,
    "citation_support": _supports,
    "coverage": _coverage,
    "usefulness": _usefulness,
    "needs_citation": _needs_citation,
    "sufficiency": _single(_sufficiency),
    "abstention": _single(_abstention),
    "correctness": _single(_correctness),
    "relevance": _single(_relevance),
    "reverse_questions": _questions,
    "golden_question": _golden_question,
}
