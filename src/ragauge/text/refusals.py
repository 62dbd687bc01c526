"""Does a text decline to answer, and does it do so as a whole?"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache

from ragauge.text.citations import strip_citations
from ragauge.text.refusal_phrases import PHRASES
from ragauge.text.sentences import Span, split_sentences
from ragauge.text.tokens import content_words


@dataclass(frozen=True)
class Refusal:
    """The words by which a text declines, their place and language ("custom" for a caller's own phrase).

    `partial`: the text also answers something.
    """

    phrase: str
    language: str
    start: int
    end: int
    partial: bool


_STRAIGHT = str.maketrans({"’": "'", "‘": "'", "ʼ": "'", "\u00a0": " ", "\u202f": " ", "\n": " ", "\t": " ", "\r": " "})
_QUOTED = re.compile(
    r'`[^`\n]{1,400}`|"[^"\n]{1,400}"|“[^”\n]{1,400}”|«[^»\n]{1,400}»|「[^」\n]{1,400}」|„[^“”\n]{1,400}[“”]'
)
_SINGLE_QUOTED = re.compile(r"(?<![\w'])'[^'\n]{0,60}(?:n't[^'\n]{0,200}|'m[^'\n]{0,200})?'(?![\w'])")
_OUTER = re.compile(r"""\s*["'“”‘’«»„「」`*_]*""")
_REPORTED = re.compile(
    r"\b(?:says?|said|saying|returns?|replies|reply|replied|responds?|answers|answering|prints?|shows?|displays?|messages?|errors?|output|reads|states?|"
    r"such as|phrase|respond with|something like)\W{0,3}(?:(?:that|with|like)\W{1,3})?$|"
    r"\b(?:if|when|whenever|unless|whether|why|how|where|once|because|in case)\s(?:\w+\s){0,1}$",
    re.IGNORECASE,
)
_ANSWERS_IT = 2


def find_refusal(text: str, phrases: Sequence[str] = ()) -> Refusal | None:
    """The first refusal in `text`, or None. `phrases` are further fixed phrases of the system under test.

    Words in quotation marks or code, reported speech and conditions ("it says I don't know", "if we cannot find …") are
    no refusals. `partial` is True when other sentences, or another clause of the same sentence, state something.

    >>> find_refusal("The warranty is two years. I could not find whether water damage is covered.").partial
    True
    >>> find_refusal("The server returns 'I don't know' when the key is missing.") is None
    True
    """
    plain = text.translate(_STRAIGHT)
    masked = _mask(plain)
    found: Refusal | None = None
    substance = False
    for span in split_sentences(text):
        if span.kind == "code":
            substance = True
            continue
        hit = _custom(plain, span, phrases) or _decline(masked, span)
        if hit is None:
            substance = substance or _states_something(plain, span)
            continue
        found = found or hit
        substance = substance or _clause_answers(plain, span, hit)
    if found is None:
        return None
    return Refusal(text[found.start : found.end], found.language, found.start, found.end, substance)


def is_refusal(text: str, phrases: Sequence[str] = ()) -> bool:
    """Whether `text` as a whole declines to answer; a partial answer is not a refusal, a blank text neither.

    >>> is_refusal("I'm sorry, but the provided documents do not mention this."), is_refusal("Use port 80.")
    (True, False)
    """
    refusal = find_refusal(text, phrases)
    return refusal is not None and not refusal.partial


def _mask(plain: str) -> str:
    """`plain` with what is quoted blanked out; quotation marks around the whole text are only taken off."""
    lead = _OUTER.match(plain)
    start = lead.end() if lead else 0
    end = len(plain.rstrip(" \"'“”‘’«»「」`*_."))
    body = plain[start:end]
    for pattern in (_QUOTED, _SINGLE_QUOTED):
        body = pattern.sub(lambda m: "\x1a" * len(m.group()), body)
    return " " * start + body + plain[end:]


@cache
def _compiled(part: str) -> tuple[tuple[str, re.Pattern[str]], ...]:
    return tuple(
        (language, re.compile(r"|".join(f"(?:{pattern})" for pattern in table[part]), re.IGNORECASE))
        for language, table in PHRASES.items()
    )


def _decline(masked: str, span: Span) -> Refusal | None:
    sentence = masked[span.start : span.end]
    if len(sentence) > 2000:
        sentence = sentence[:2000]
    for language, pattern in _compiled("declines"):
        for match in pattern.finditer(sentence):
            if "\x1a" in match.group() or _REPORTED.search(sentence[max(0, match.start() - 40) : match.start()]):
                continue
            lead = len(match.group()) - len(match.group().lstrip())
            return Refusal("", language, span.start + match.start() + lead, span.start + match.end(), False)
    return None


def _custom(plain: str, span: Span, phrases: Sequence[str]) -> Refusal | None:
    for phrase in phrases:
        pieces = phrase.translate(_STRAIGHT).strip(" .!。").split()
        if not pieces:
            continue
        pattern = re.compile(r"\s{1,10}".join(map(re.escape, pieces)), re.IGNORECASE)
        match = pattern.search(plain, span.start, span.end)
        if match:
            return Refusal("", "custom", match.start(), match.end(), False)
    return None


def _states_something(plain: str, span: Span) -> bool:
    sentence = plain[span.start : span.end]
    if span.kind == "heading" or sentence.rstrip(" \"'*_").endswith(("?", "？")):
        return False
    if any(pattern.search(sentence[:2000]) for _, pattern in _compiled("meta")):
        return False
    return _n_content(sentence) >= 1


def _clause_answers(plain: str, span: Span, hit: Refusal) -> bool:
    """Whether the sentence of a refusal also states something in another clause.

    Only what a "but", a semicolon or their like sets apart counts: "Two years, but I do not know …".
    """
    joins = next((p for language, p in _compiled("joins") if language == hit.language), None)
    if joins is None:
        joins = _compiled("joins")[0][1]
    for clause_start, clause_end in _clauses(plain, span, joins):
        if clause_start < hit.end and hit.start < clause_end:
            continue
        clause = plain[clause_start:clause_end]
        is_meta = any(pattern.search(clause.lstrip(" ,;:")[:2000]) for _, pattern in _compiled("meta"))
        declines = _decline(plain, Span(clause_start, clause_end, clause))
        if not is_meta and declines is None and _n_content(clause) >= _ANSWERS_IT:
            before = clause_end <= hit.start
            if before or re.match(
                r"\W*(?:but|however|although|though|yet|;)", plain[clause_start:clause_end].lstrip(), re.I
            ):
                return True
            if hit.language != "en":
                return True
    return False


def _clauses(plain: str, span: Span, joins: re.Pattern[str]) -> Iterator[tuple[int, int]]:
    start = span.start
    for match in joins.finditer(plain, span.start, span.end):
        if match.start() > start:
            yield start, match.start()
        start = match.start()
    yield start, span.end


def _n_content(sentence: str) -> int:
    return len(set(content_words(strip_citations(sentence))) - _EMPTY)


_EMPTY_WORDS = "sorry however unfortunately yes no answer question hello hi okay ok sure"
_EMPTY = frozenset(_EMPTY_WORDS.split())
