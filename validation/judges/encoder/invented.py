"""Claims made from passages, to learn from before any labelled one: answers said of a question, sentences and edits."""

from __future__ import annotations

import gzip
import json
import random
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ragauge.judges.embedded import features
from ragauge.judges.embedded.evidence import prepare, statement
from ragauge.judges.embedded.reading import Pair, pair_of
from ragauge.text.sentences import split_sentences
from ragauge.text.tokens import stopwords

SEED = 5
_STOP = stopwords("en")
_NAME = re.compile(r"\b(?:[A-Z][\w'’-]+(?:\s+[A-Z][\w'’-]+)*|\d[\d.,]*\d|\d)\b")
_WORD = re.compile(r"\b[a-z]{4,}\b")
_VERB = re.compile(r"\b(is|are|was|were|can|will|could|would|has been|have been|had been|did|does)\b( not)?")
#: Retrieval set → sentences that are taken of each passage.
SETS = {"squad2_dev": 4, "clapnq_dev": 6}


@dataclass(frozen=True)
class Invented:
    """A claim beside a passage. `kind`: `answer` (a question with an answer), `long` (a sentence of one), `edit`."""

    pair: Pair
    label: int
    kind: str


def invented(folder: Path) -> list[Invented]:
    """All of them, in an order drawn from the seed."""
    draw, found = random.Random(SEED), []
    for name, n_sentences in SETS.items():
        with gzip.open(folder / "retrieval" / name / "corpus.jsonl.gz", "rt", encoding="utf-8") as lines:
            corpus = {row["id"]: row["text"] for row in map(json.loads, lines)}
        lines_ = (folder / "retrieval" / name / "questions.jsonl").read_text(encoding="utf-8").splitlines()
        about: dict[str, list[Any]] = {}
        for question in map(json.loads, lines_):
            if question.get("answer") and question.get("answerable", True) and question["relevant_ids"]:
                about.setdefault(question["relevant_ids"][0], []).append(question)
        for id, questions in about.items():
            if id in corpus:
                say = _answers if name == "squad2_dev" else _long_answers
                found += [_made(*one, corpus[id]) for one in say(draw, questions, corpus[id])]
        for text in corpus.values():
            sentences = [span.text for span in split_sentences(text) if 40 < len(span.text) < 300]
            draw.shuffle(sentences)
            for sentence in sentences[:n_sentences]:
                if draw.random() < 0.5:
                    found.append(_made(_lessened(draw, sentence), 1, "edit", text))
                elif edited := _edited(draw, sentence, text):
                    found.append(_made(edited, 0, "edit", text))
    draw.shuffle(found)
    return found


def _made(claim: str, label: int, kind: str, passage: str) -> Invented:
    said, evidence = statement(claim), prepare((passage,))
    return Invented(pair_of(said, features.measure(said, evidence), evidence), label, kind)


def _first(answer: str | Sequence[str]) -> str:
    return answer if isinstance(answer, str) else answer[0]


def _answers(draw: random.Random, questions: Sequence[Any], passage: str) -> list[tuple[str, int, str]]:
    """Each question with its answer, and with what answers another one or stands elsewhere in the passage."""
    found = []
    for question in questions:
        answer, asked = _first(question["answer"]), question["question"].rstrip("? ")
        claim = f"{asked}: {answer}." if draw.random() < 0.5 else f"{answer}: {asked}."
        found.append((claim, 1, "answer"))
        others = [_first(other["answer"]) for other in questions if other is not question]
        names = [m.group() for m in _names(passage) if m.group()[0].isdigit() == answer[:1].isdigit()]
        wrong = [o for o in (others if draw.random() < 0.5 else names) if o not in answer and answer not in o]
        if wrong:
            found.append((claim.replace(answer, draw.choice(wrong)), 0, "answer"))
    return found


def _long_answers(draw: random.Random, questions: Sequence[Any], passage: str) -> list[tuple[str, int, str]]:
    found = []
    for question in questions:
        for span in split_sentences(_first(question["answer"])):
            if len(span.text) >= 25:
                found.append((span.text, 1, "long"))
                if edited := _edited(draw, span.text, passage):
                    found.append((edited, 0, "long"))
    return found


def _names(text: str) -> list[re.Match[str]]:
    return [m for m in _NAME.finditer(text) if m.group().lower() not in _STOP and m.start() > 0]


def _lessened(draw: random.Random, sentence: str) -> str:
    """A sentence without one of its clauses or its brackets: still true."""
    parts = sentence.split(", ")
    if len(parts) > 2 and draw.random() < 0.6:
        del parts[draw.randrange(1, len(parts) - 1)]
        return ", ".join(parts)
    if len(parts) == 2 and draw.random() < 0.5:
        return max(parts, key=len)
    return re.sub(r"\s*\([^)]*\)", "", sentence)


def _edited(draw: random.Random, sentence: str, passage: str) -> str | None:
    """A sentence with another name, number or word in it, two names exchanged, or a negation: no longer true."""
    which = draw.random()
    edits: list[Callable[[], str | None]] = []
    if which < 0.4:
        edits.append(lambda: _other_name(draw, sentence, passage))
    if which < 0.6:
        edits.append(lambda: _exchanged(draw, sentence))
    if which < 0.85:
        edits.append(lambda: _other_word(draw, sentence, passage))
    edits.append(lambda: _negated(sentence))
    for edit in edits:
        made = edit()
        if made is not None and made != sentence:
            return made
    return None


def _put(sentence: str, match: re.Match[str], by: str) -> str:
    return sentence[: match.start()] + by + sentence[match.end() :]


def _other_name(draw: random.Random, sentence: str, passage: str) -> str | None:
    names = _names(sentence)
    if not names:
        return None
    match = draw.choice(names)
    value = match.group()
    number = value[0].isdigit()
    others = [m.group() for m in _names(passage) if m.group()[0].isdigit() == number and m.group() not in sentence]
    if others:
        return _put(sentence, match, draw.choice(others))
    if not number:
        return None
    place = draw.choice([place for place, sign in enumerate(value) if sign.isdigit()])
    digit = (int(value[place]) + draw.randint(1, 8)) % 10
    return _put(sentence, match, f"{value[:place]}{digit}{value[place + 1 :]}")


def _exchanged(draw: random.Random, sentence: str) -> str | None:
    names = _names(sentence)
    if len(names) < 2:
        return None
    a, b = sorted(draw.sample(names, 2), key=lambda match: match.start())
    return sentence[: a.start()] + b.group() + sentence[a.end() : b.start()] + a.group() + sentence[b.end() :]


def _other_word(draw: random.Random, sentence: str, passage: str) -> str | None:
    words = [m for m in _WORD.finditer(sentence) if m.group() not in _STOP]
    if not words:
        return None
    match = draw.choice(words)
    ending = match.group()[-2:]
    others = [m.group() for m in _WORD.finditer(passage) if m.group() not in _STOP and m.group().endswith(ending)]
    others = [word for word in others if word not in sentence]
    return _put(sentence, match, draw.choice(others)) if others else None


def _negated(sentence: str) -> str | None:
    match = _VERB.search(sentence)
    return _put(sentence, match, match.group(1) + ("" if match.group(2) else " not")) if match else None
