"""Which sentence cites which source: the marker styles that answers use, with offsets."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass

from ragauge.core.sample import RetrievedContext
from ragauge.text.blocks import code_spans, inside
from ragauge.text.sentences import Span, split_sentences


@dataclass(frozen=True)
class Citation:
    """One source that a sentence points at. `marker` is the text at `start:end`; one marker may hold several.

    `target` is a whole number from 1 (the place in the context) or the id that was written.
    """

    marker: str
    target: int | str
    start: int
    end: int


@dataclass(frozen=True)
class CitedSentence:
    """A sentence, the same without its markers, and what it cites (empty: nothing)."""

    span: Span
    text: str
    citations: tuple[Citation, ...]


_NUMBERS = r"\^?\d{1,4}(?:[ \t]{0,3}(?:[,;]|[-–—])[ \t]{0,3}\^?\d{1,4}){0,30}"
_SUPERSCRIPTS = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹", "0123456789")
_NAMED = r"(?:doc(?:ument)?|source|src|ref|chunk|passage|context|id|citation|cite)s?"
_MARKER = re.compile(
    rf"\[(?P<square>{_NUMBERS})\](?![(:])"
    r"|\[\^(?P<note>[^\]\[\s]{1,60})\](?!:)"
    rf"|【(?P<lens>{_NUMBERS})[^】\n]{{0,40}}】"
    rf"|(?P<round>\({_NUMBERS}\))"
    r"|(?P<raised>[⁰¹²³⁴-⁹]{1,3}(?:[,⁻][⁰¹²³⁴-⁹]{1,3}){0,20}(?![⁰¹²³⁴-⁹]))"
    rf"|\[(?P<word>{_NAMED}[ \t]{{0,3}}[:#]?[ \t]{{0,3}}[^\]\[\n]{{1,200}})\](?!\()"
    r"|\[(?P<id>[^\]\[\n]{1,200})\](?![(:])",
    re.IGNORECASE,
)
#: Every marker begins with one of these.
_OPENING = re.compile(r"[\[(【⁰¹²³⁴-⁹]")
_PREFIX = re.compile(rf"{_NAMED}[ \t]*[:#]?[ \t]*", re.IGNORECASE)
_LIST = re.compile(r"[ \t]*[,;][ \t]*")
_RANGE = re.compile(r"(\d{1,4})[ \t]*[-–—⁻][ \t]*(\d{1,4})$")
_INDEXED = re.compile(r"(?:\[\d{1,4}\]){0,9}[\w=(]")
_UNIT = re.compile(r"[0-9A-Za-z_⁰-⁹¹²³]")
_POWERS_WORDS = """
m cm mm km ft in s x y z r n i e k a b c d f t ° 10 2
"""
_POWERS = frozenset(_POWERS_WORDS.split())
#: More sources than this in one range is no citation.
_MAX_RANGE = 50


def parse_citations(answer: str, known_ids: Collection[str] = ()) -> list[CitedSentence]:
    """The sentences of `answer`, each with what it cites and without its markers.

    Read as markers: `[1]`, `[1][2]`, `[1, 2]`, `[1-3]`, `【1】`, footnotes `[^1]`, superscripts `¹²` behind a word,
    `(1)` at the end of a sentence or clause, `[doc: id]`, and `[id]` for an id in `known_ids`. Not read as markers:
    anything in code, Markdown links, definitions (`[^1]: …`, the list under "Sources:"), indices (`a[0]`), powers
    (`m²`).

    >>> found = parse_citations("It is on [1][2]. Set it, see [a/b].", {"a/b"})
    >>> [(sentence.text, [citation.target for citation in sentence.citations]) for sentence in found]
    [('It is on.', [1, 2]), ('Set it, see.', ['a/b'])]
    """
    known = _by_spelling(known_ids)
    sentences = []
    for span in split_sentences(answer):
        found = [] if span.kind == "code" else list(_citations(answer, span, known))
        sentences.append(CitedSentence(span, _without(answer, span, found), tuple(found)))
    return sentences


def resolve(citation: Citation, context: RetrievedContext) -> str | None:
    """The id of the chunk that a citation points at, or None: it points nowhere.

    A number is a place in the context as the generator saw it, from 1. A word is a chunk's id, else a document's (then
    that document's best chunk), compared exactly first and casefolded second.
    """
    if isinstance(citation.target, int):
        index = citation.target - 1
        return context.chunks[index].id if 0 <= index < len(context.chunks) else None
    wanted = citation.target
    names = [(chunk.id, chunk.id) for chunk in context.chunks]
    names += [(chunk.document, chunk.id) for chunk in context.chunks if chunk.document is not None]
    for name, chunk_id in names:
        if name == wanted:
            return chunk_id
    return next((chunk_id for name, chunk_id in names if name.casefold() == wanted.casefold()), None)


def strip_citations(answer: str, known_ids: Collection[str] = ()) -> str:
    """`answer` without its citation markers; everything else stays as it is.

    >>> strip_citations("Use port 80 [1], not 8080.[2]")
    'Use port 80, not 8080.'
    """
    if not _OPENING.search(answer):
        return answer
    known = _by_spelling(known_ids)
    parts, position = [], 0
    for span in split_sentences(answer):
        if span.kind == "code":
            continue
        for start, end in _marker_spans(_citations(answer, span, known)):
            while start > position and answer[start - 1] in " \t":
                start -= 1
            parts.append(answer[position:start])
            position = end
    parts.append(answer[position:])
    return "".join(parts)


def _marker_spans(citations: Iterator[Citation] | list[Citation]) -> list[tuple[int, int]]:
    return list(dict.fromkeys((c.start, c.end) for c in citations))


def _without(answer: str, span: Span, found: list[Citation]) -> str:
    parts, position = [], span.start
    for start, end in _marker_spans(found):
        while start > position and answer[start - 1].isspace():
            start -= 1
        parts.append(answer[position:start])
        position = end
    parts.append(answer[position : span.end])
    return "".join(parts).strip()


def _citations(answer: str, span: Span, known: Mapping[str, str]) -> Iterator[Citation]:
    code = code_spans(answer, span.start, span.end)
    for match in _MARKER.finditer(answer, span.start, span.end):
        if code and inside(code, match.start()):
            continue
        kind = match.lastgroup or ""
        body = match[kind]
        targets = _targets(kind, body, known)
        if targets and _plausible(kind, answer, match, span):
            for target in targets:
                yield Citation(match.group(), target, match.start(), match.end())


def _targets(kind: str, body: str, known: Mapping[str, str]) -> list[int | str]:
    if kind == "word":
        whole = _known(body, known)
        if whole:
            return [whole]
        rest = _PREFIX.sub("", body, count=1)
        if rest == body or not rest or (not re.match(r"\S+[:#]|\S+[ \t]+\d", body) and not _known(rest, known)):
            return []
        parts = [_PREFIX.sub("", part, count=1) for part in _LIST.split(rest)]
        return [_known(part, known) or (int(part) if _is_place(part) else part.strip()) for part in parts if part]
    if kind == "id":
        whole = _known(body, known)
        if whole:
            return [whole]
        ids = [_known(part, known) for part in _LIST.split(body)]
        return [part for part in ids if part] if all(ids) else []
    if kind == "note" and not body.isdigit():
        return [_known(body, known) or body]
    if _known(body, known) and kind == "square":
        return [body]
    return _numbers(body.translate(_SUPERSCRIPTS).strip("()"))


def _by_spelling(ids: Collection[str]) -> dict[str, str]:
    """Spelling → id: casefolded spellings first, so that an exact one wins."""
    return {i.casefold(): i for i in sorted(ids, reverse=True)} | {i: i for i in ids}


def _known(word: str, known: Mapping[str, str]) -> str | None:
    word = word.strip()
    return known.get(word) or known.get(word.casefold())


def _is_place(part: str) -> bool:
    return part.isascii() and part.isdigit() and len(part) <= 4


def _numbers(body: str) -> list[int | str]:
    targets: list[int | str] = []
    for part in _LIST.split(body.replace("^", "")):
        span = _RANGE.match(part)
        if span:
            low, high = int(span[1]), int(span[2])
            if not low <= high <= low + _MAX_RANGE:
                return []
            targets.extend(range(low, high + 1))
        elif _is_place(part):
            targets.append(int(part))
        else:
            return []
    return targets


def _plausible(kind: str, answer: str, match: re.Match[str], span: Span) -> bool:
    """Whether the place where a marker stands is one for a citation and not for an index, a power or a count."""
    start, end = match.start(), match.end()
    before = answer[start - 1] if start > span.start else ""
    if kind == "square":  # `array[0]` is an index; `port.[1]`, `word[1].` a citation
        attached = bool(before) and (before.isalnum() or before in "_)]")
        is_index = attached and _INDEXED.match(answer, end) is not None
        return match["square"] != "0" and not is_index
    if kind == "raised":
        word = re.search(r"\w+$", answer[max(span.start, start - 12) : start])
        text = word.group() if word else ""
        return bool(before) and not before.isspace() and not text[-1:].isdigit() and text.casefold() not in _POWERS
    if kind == "round":
        return _round_is_citation(answer, start, end, span)
    return True


def _round_is_citation(answer: str, start: int, end: int, span: Span) -> bool:
    """`(1)` cites where it ends a sentence or clause and no unit or call stands before it (`f(1)`, `error (5)`)."""
    if start == span.start or any(int(n) > 99 or int(n) == 0 for n in re.findall(r"\d+", answer[start:end])):
        return False
    before = answer[start - 1]
    if _UNIT.match(before):
        return False
    after = answer[end : end + 4].lstrip(" \t")[:1]
    word = re.search(r"(\w+)\s*$", answer[max(span.start, start - 30) : start])
    counts = word is not None and word[1].casefold() in _COUNTED
    at_end = end >= span.end or after in ("", ".", ",", ";", "!", "?", "\n", "(", "[")
    return at_end and not counts


_COUNTED_WORDS = """
error code status step option level stage phase version section chapter item number exit page figure table line
type class value to of is are equals one two three four five six seven eight nine ten true false enabled
disabled
"""
_COUNTED = frozenset(_COUNTED_WORDS.split())
