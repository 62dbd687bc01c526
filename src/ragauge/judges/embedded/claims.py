# ruff: noqa: E501 (patterns)
"""A text split into atomic claims by rules: sentences, list items, table rows, and clauses that stand on their own."""

from __future__ import annotations

import re
from collections.abc import Iterator

from ragauge.core.verdict import Claim
from ragauge.judges.embedded.lexicon import VERBS
from ragauge.judges.embedded.units import cells_of, is_header, linear
from ragauge.text.blocks import code_spans
from ragauge.text.citations import CitedSentence, parse_citations
from ragauge.text.normalise import clean
from ragauge.text.refusals import find_refusal
from ragauge.text.tokens import content_words

_META = re.compile(
    r"\W*(?:(?:hi|hello|hey|thanks|thank you|sure|certainly|of course|great question|good question|welcome|okay|ok|yes|no|"
    r"absolutely|definitely)\W*$"
    r"|(?:hi|hello|hey|thanks|thank you|great question|good question)\b[^.]{0,60}$"
    r"|(?:sure|certainly|of course|absolutely)[,!]?\s(?:here|i|let)\b"
    r"|(?:i|we)\s(?:hope|trust)\b|(?:please\s)?(?:let me know|feel free|don't hesitate)\b|if you (?:have|need|want|would like)\b[^.]*"
    r"\b(?:question|help|let me know|ask|more information|details|assist)"
    r"|(?:is there anything|would you like|do you want|happy to help|glad to help)\b"
    r"|(?:here(?:'s| is| are)|below (?:is|are)|the following (?:is|are))\b[^.]*:?\s*$"
    r"|(?:in summary|to summari[sz]e|in short|in conclusion|overall|note|example|for example|answer|sources?|references?)\W*$"
    r"|(?:for more|for further|for additional) (?:information|details)\b|(?:see|refer to|check|consult) (?:also )?"
    r"(?:the )?(?:\w+ ){0,3}(?:documentation|docs|manual|guide|sources?|links?|above|below)\W*$"
    r"|as an ai\b|based on (?:the )?(?:provided |given |retrieved )?(?:context|documents?|passages?|sources?)\W*$)",
    re.IGNORECASE,
)
_LEAD = re.compile(
    r"^(?:(?:according to|based on|as (?:stated|mentioned|described) in|as per) (?:the )?(?:provided |given |retrieved |above )?"
    r"(?:context|documents?|documentation|passages?|sources?|text|information|excerpts?)\s*,\s*"
    r"|(?:in summary|in short|overall|in conclusion|however|therefore|thus|moreover|furthermore|additionally|also|finally|"
    r"yes|no|so|in addition|note that|please note that|unfortunately|for example|for instance)\s*,\s*)",
    re.IGNORECASE,
)
_CLAUSES = re.compile(
    r"\s*;\s+|,\s+(?:and|but|while|whereas|although|though|yet|so)\s+|\s+(?:but|whereas|while)\s+(?=(?:the|it|they|he|she|a|an)\b)"
)
_PARTS = re.compile(r",\s+(?:and\s+)?|\s+and\s+(?:then\s+)?")
_DECORATION = re.compile(r"\*\*|(?<!\w)_{1,2}(?=\w)|(?<=\w)_{1,2}(?!\w)|(?<!\w)\*(?=\w)|(?<=\w)\*(?!\w)")
#: A part of a list of values: "Size: 5 GB", "Removed in: 5.0".
_VALUE = re.compile(r"[^:;]{1,60}:\s\S")
_SUBJECT_WORDS = 9
_SHORT_ITEM = 3


def split_claims(text: str) -> tuple[Claim, ...]:
    """The atomic claims of `text`, in order, ids c1, c2, …; `start` and `end` are offsets into `text`.

    Dropped: questions, greetings, headings, remarks about the answer itself, sentences that decline. Citation markers
    are taken out. A short list item is read with the line that introduces the list, a table row with the names of its
    columns. Clauses are split only where each has its own verb; a shared subject is repeated. Pronouns are left as they
    are: nothing is resolved that rules cannot resolve.

    >>> [claim.text for claim in split_claims("Hi! The pump weighs 14 kg, runs on 48 V and is rated IP67. [1] Is that all?")]
    ['The pump weighs 14 kg', 'The pump runs on 48 V', 'The pump is rated IP67.']
    """
    claims: list[Claim] = []
    for words, start, end in _statements(clean(text)):
        words = words.strip()
        if words:
            claims.append(Claim(id=f"c{len(claims) + 1}", text=words, start=start, end=end))
    return tuple(claims)


def _statements(text: str) -> Iterator[tuple[str, int, int]]:
    header: list[str] = []
    intro = ""
    sentences = parse_citations(text)
    for index, sentence in enumerate(sentences):
        kind = sentence.span.kind
        if kind == "row":
            following = sentences[index + 1].span if index + 1 < len(sentences) else None
            cells = cells_of(sentence.text)
            if is_header(text, sentence.span, following):
                header = cells
            elif any(cells):
                yield linear(cells, header)[0], sentence.span.start, sentence.span.end
            continue
        header = []
        if kind == "heading":
            intro = ""
            continue
        if kind == "code":
            yield from _code(sentence)
            continue
        plain = _undecorated(sentence.text).strip()
        if kind == "prose":
            intro = plain.rstrip(": ") if plain.endswith(":") else ""
        if not _is_statement(plain):
            continue
        if plain.endswith(":") and kind == "prose":
            continue
        if kind == "item" and intro and len(plain.split()) <= _SHORT_ITEM:
            yield f"{intro}: {plain}", sentence.span.start, sentence.span.end
            continue
        yield from _clauses(text, sentence, plain)


def _undecorated(text: str) -> str:
    """`text` without signs of emphasis; code keeps all of its signs."""
    parts, position = [], 0
    for start, end in code_spans(text, 0, len(text)):
        parts += [_DECORATION.sub("", text[position:start]), text[start:end]]
        position = end
    return "".join((*parts, _DECORATION.sub("", text[position:])))


def _code(sentence: CitedSentence) -> Iterator[tuple[str, int, int]]:
    """A code block claims what its lines say."""
    lines = sentence.span.text.splitlines()[1:]
    body = "\n".join(line for line in lines if not line.strip().startswith(("```", "~~~"))).strip()
    if content_words(body):
        yield body, sentence.span.start, sentence.span.end


def _is_statement(plain: str) -> bool:
    if plain.rstrip("\"'”’»)*_ ").endswith(("?", "？")) or _META.match(plain):
        return False
    if not content_words(_LEAD.sub("", plain)):
        return False
    refusal = find_refusal(plain)
    return refusal is None or refusal.partial


def _clauses(text: str, sentence: CitedSentence, plain: str) -> Iterator[tuple[str, int, int]]:
    span = sentence.span
    body = _LEAD.sub("", plain)
    if len(body) > 1000 or ("`" in body and body.count("`") % 2):
        yield body, span.start, span.end
        return
    cursor = span.start
    for piece in _split(body):
        start, end, cursor = _locate(text, piece, cursor, span.end)
        statement = piece[0] + piece[1]
        if find_refusal(statement) is None:
            yield statement[:1].upper() + statement[1:] if piece[0] else statement, start or span.start, end or span.end


def _locate(text: str, piece: tuple[str, str], cursor: int, limit: int) -> tuple[int | None, int | None, int]:
    """Where the words of a piece stand in the text; None where markers stand between them."""
    place = text.find(piece[1], cursor, limit)
    if place < 0:
        return None, None, cursor
    return place, place + len(piece[1]), place + len(piece[1])


def _split(body: str) -> list[tuple[str, str]]:
    """The statements of one sentence as (repeated subject, own words)."""
    clauses = _cut(body)
    return [piece for clause in clauses for piece in _share_subject(clause)]


def _cut(body: str) -> list[str]:
    """`body` cut at joints outside of brackets, quotes and code at which both sides stand alone."""
    if sum(bool(_VALUE.match(part.strip())) for part in body.split("; ")) >= 2:
        return [body]  # a row: its values say something only together
    depths = _depths(body)
    pieces, start = [], 0
    for match in _CLAUSES.finditer(body):
        left, right = body[start : match.start()], body[match.end() :]
        if depths[match.start()] == 0 and _stands_alone(left) and _stands_alone(right):
            pieces.append(left)
            start = match.end()
    pieces.append(body[start:])
    return pieces


def _depths(body: str) -> list[int]:
    depth, code, quoted = 0, False, False
    depths = []
    for letter in body:
        if letter == "`":
            code = not code
        elif letter == '"':
            quoted = not quoted
        elif letter in "([{“«":
            depth += 1
        elif letter in ")]}”»":
            depth = max(0, depth - 1)
        depths.append(depth + code + quoted)
    return depths


def _stands_alone(clause: str) -> bool:
    """Whether a clause has a subject and then a verb, or is an amount said on its own ("About 250 Wh/kg")."""
    words = clause.split()
    if not words or words[0].casefold() in _DEPENDENT:
        return False
    found = _first_verb(words)
    if found is not None:
        return 0 < found <= _SUBJECT_WORDS
    return len(words) <= 4 and any(letter.isdigit() for letter in clause)


_DEPENDENT = frozenset(
    {
        "which",
        "that",
        "who",
        "whose",
        "where",
        "when",
        "if",
        "because",
        "since",
        "unless",
        "until",
        "to",
        "as",
        "for",
        "than",
    }
)


def _first_verb(words: list[str]) -> int | None:
    return next((index for index, word in enumerate(words) if word.casefold().strip(",.;:") in VERBS), None)


def _share_subject(clause: str) -> list[tuple[str, str]]:
    """ "S v₁ a, v₂ b and v₃ c" as "S v₁ a", "S v₂ b", "S v₃ c": only where each part begins with a finite verb."""
    words = clause.split()
    verb = _first_verb(words)
    if verb is None or not 0 < verb <= _SUBJECT_WORDS or words[0].casefold() in _DEPENDENT:
        return [("", clause)]
    subject = " ".join(words[:verb])
    if "," in subject or any(word.casefold() in _DEPENDENT for word in words[:verb]):
        return [("", clause)]
    depths = _depths(clause)
    cuts = []
    for match in _PARTS.finditer(clause):
        rest = clause[match.end() :].split()
        if (
            depths[match.start()] == 0
            and rest
            and rest[0].casefold() in VERBS
            and match.start() > len(subject)
            and len(rest) > 1
        ):
            cuts.append((match.start(), match.end()))
    pieces, start = [], 0
    for cut_start, cut_end in cuts:
        pieces.append(clause[start:cut_start])
        start = cut_end
    pieces.append(clause[start:])
    return [("", pieces[0]), *((f"{subject} ", piece) for piece in pieces[1:])]
