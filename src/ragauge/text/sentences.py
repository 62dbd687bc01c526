"""Sentences with their offsets, by rules that were written for technical documentation and chat answers."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from ragauge.text.blocks import Block, Kind, blocks, code_spans, inside


@dataclass(frozen=True, slots=True)
class Span:
    """Characters `start` to `end` of a text (`text[start:end]`), and which kind of block they stand in."""

    start: int
    end: int
    text: str
    kind: Kind = "prose"


#: Never the end of a sentence: what follows belongs to it.
_TITLES_WORDS = """
dr mr mrs ms prof st gen col sgt rev hon pres gov capt lt mme mlle sra dra ing dipl hr fr e.g i.e eg ie cf vs
viz fig figs eq eqs sec secs no nos nr approx resp ref refs tab z.b d.h u.a z.t p.ex ca bzw vgl art págs pág núm
par
"""
_TITLES = frozenset(_TITLES_WORDS.split())
#: Ends a sentence only before a capital that is no number and no month's day.
_ABBREVIATIONS_WORDS = """
jr sr etc vol pp p ch al est dept inc ltd co corp llc univ jan feb mar apr jun jul aug sep sept oct nov dec mon
tue wed thu fri sat sun incl excl max min avg tel ext ave blvd rd v ver ft lb lbs oz misc temp assoc bldg intl
govt orig prev addr config ms hrs hr mins sec usw ggf evtl inkl abs bspw ggü gem env av sig sigg ecc pag tzn itd
itp np tj ul gosp т.е т.д т.п др им
"""
_ABBREVIATIONS = _TITLES | frozenset(_ABBREVIATIONS_WORDS.split())
_MONTHS_WORDS = """
jan feb mar apr jun jul aug sep sept oct nov dec
"""
_MONTHS = frozenset(_MONTHS_WORDS.split())
#: Abbreviations only before a number ("No. 5"), else words.
_COUNTERS = frozenset({"no", "nos", "art", "par"})
#: Short words that end a sentence even before a lower-case letter ("… applies it. kubectl waits.").
_SHORT_WORDS = """
it them him her us me you out up in on off so too now not yes no run set use way day one two all old new file is are
"""
_SHORT = frozenset(_SHORT_WORDS.split())
_STARTER = re.compile(
    r"(?:He|She|It|They|We|I|You|The|This|That|These|Those|There|In|On|At|As|To|For|If|When|But|And|So|However|Its|Their|"
    r"His|Her|Our|No|Not|A|An|Each|Every|All|Some|After|Before|By|With|From|Also|Then|Use|See|Run|Set)\b"
)
_MARK = (
    r"\[\^?\d{1,3}(?:[ \t]{0,2}[,;–-][ \t]{0,2}\^?\d{1,3}){0,20}\]|\[\^[^\]\s]{1,40}\]|[⁰¹²³⁴-⁹]{1,3}|【[^】\n]{1,40}】"
)
_ID_MARK = r"\[(?=[^\]\s]{0,80}[\d:/#_.-])[^\]\[\s]{1,80}\](?![(:])"
#: Citation markers that stand behind the end of a sentence and belong to it.
MARKERS = re.compile(rf"(?:[ \t]{{0,3}}(?:{_MARK}|{_ID_MARK}|(?<=[.!?])\(\d{{1,3}}\)))+(?!\()")
#: What a marker, a lone number in brackets or an emoji can begin with.
_MARK_SIGN = re.compile(r"[\[(【⁰¹²³⁴-⁹]")
_LONE_NUMBER = re.compile(r"[ \t]{0,3}(?:\(\d{1,3}\)[ \t]{0,3})+(?=\n|$)")
_EMOJI = re.compile("[ \t]?(?:[\U0001f000-\U0001faff\u2600-\u27bf\u2b50\u2b55][\ufe0f\u200d\U0001f3fb-\U0001f3ff]*)+")
_END = re.compile(r"(?P<p>[.!?…‥‽⁇⁈⁉]+|[。！？｡؟۔।॥።]+)(?P<c>[\"'”’»›)\]}*_`」』）】》〉]*)")
_NUMBERED = r"(?:\[\^?\d{1,3}(?:[ \t]{0,2}[,;–-][ \t]{0,2}\^?\d{1,3}){0,20}\]|【[^】\n]{1,40}】)"
#: The end of a sentence, or citation markers, which end one too where another begins behind them.
_STOP = re.compile(rf"{_END.pattern}|(?P<m>{_NUMBERED}(?:[ \t]{{0,3}}{_NUMBERED}){{0,30}})(?![(:\w])")
#: Where `_STOP` can match at all: one class of characters is looked for several times as fast.
_STOP_SIGN = re.compile(r"[.!?…‥‽⁇⁈⁉。！？｡؟۔।॥።\[【]")
#: Words that ask for what follows: a marker behind them is a part of the sentence ("as shown in [1]").
_ASKS = re.compile(
    r"(?:[,;:(–—/-]|\b(?:a|an|the|of|in|on|at|by|to|for|from|with|and|or|see|ref|than|per|via|is|are))[ \t]*$", re.I
)
_WIDE = re.compile("[\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff\uff01-\uff60\U00020000-\U0003134f]")
_WORD = re.compile(r"[^\W_]")
#: What a word cannot hold, for finding the last one before a full stop.
_WORD_BREAK = re.compile(r"[(\[{\"'“‘«„/]")
_DOTTED = re.compile(r"(?:[^\W\d_]\.)+[^\W\d_]$")


def split_sentences(text: str) -> list[Span]:
    """The sentences of `text`, in order, with offsets: `text[s.start:s.end] == s.text`.

    Markdown is respected: a heading, a list item's sentences, a table row and a whole fenced code block are spans of
    their own `kind`, without their markers. A trailing citation marker belongs to the sentence before it and is never a
    sentence of its own; neither are lone punctuation, rules, footnote definitions and lists of sources.
    Linear in the length of the text.

    >>> [s.text for s in split_sentences("Set it to 3.5 GB, e.g. for v8.1. [1] It restarts at 5 p.m. UTC.")]
    ['Set it to 3.5 GB, e.g. for v8.1. [1]', 'It restarts at 5 p.m. UTC.']
    """
    spans: list[Span] = []
    for block in blocks(text):
        if block.kind in ("code", "row"):
            spans.extend(_span(text, block.start, block.end, block.kind))
            continue
        first = len(spans)
        for start, end in _pieces(text, block):
            found = list(_span(text, start, end, block.kind))
            if found and _is_bare(found[0].text):
                _attach(text, spans, found[0], len(spans) > first)
            else:
                spans.extend(found)
    return spans


def _attach(text: str, spans: list[Span], bare: Span, same_block: bool) -> None:
    """A piece without words of its own belongs to the sentence before it, if there is one."""
    marked = _only_markers(bare.text)
    if spans and (same_block or (marked and spans[-1].kind != "code")):
        last = spans[-1]
        spans[-1] = Span(last.start, bare.end, text[last.start : bare.end], last.kind)


def _only_markers(piece: str) -> bool:
    return not _WORD.search(MARKERS.sub("", " " + piece))


def _is_bare(piece: str) -> bool:
    if not _WORD.search(piece):
        return True
    return len(piece) < 400 and bool(_MARK_SIGN.search(piece)) and _only_markers(piece)


def _span(text: str, start: int, end: int, kind: Kind) -> Iterator[Span]:
    while start < end and text[start].isspace():
        start += 1
    while end > start and text[end - 1].isspace():
        end -= 1
    if start < end:
        yield Span(start, end, text[start:end], kind)


def _pieces(text: str, block: Block) -> Iterator[tuple[int, int]]:
    code = code_spans(text, block.start, block.end)
    start = position = block.start
    while sign := _STOP_SIGN.search(text, position, block.end):
        match = _STOP.match(text, sign.start(), block.end)
        if match is None:
            position = sign.end()
            continue
        position = match.end()
        if code and inside(code, match.start()):
            continue
        if match["m"]:
            if _marker_ends(text, start, match, block.end):
                yield start, position
                start = position
            continue
        end = _with_markers(text, match.end(), block.end)
        if _is_boundary(text, start, match, end, block.end):
            yield start, end
            start = end
        position = max(position, end)
    if start < block.end:
        yield start, block.end


def _marker_ends(text: str, start: int, match: re.Match[str], limit: int) -> bool:
    """Whether markers without an end mark before them end a statement ("… 2.5 hours [2] Restoring runs at …")."""
    before = text[max(start, match.start() - 60) : match.start()]
    if len(before.split()) < 2 or _ASKS.search(before[-12:]):
        return False
    after = match.end()
    while after < limit and text[after].isspace():
        after += 1
    between = text[match.end() : after]
    if "\n" in between:
        return after < limit and not text[after].islower() and text[after] not in ",;:.)"
    return bool(between) and text[after : after + 1].isupper()


def _with_markers(text: str, end: int, limit: int) -> int:
    """Where the sentence ends when the markers and emoji behind it are counted in."""
    behind = text[end : end + 4].lstrip(" \t")
    if not behind or (behind[0].isascii() and behind[0] not in "[("):
        return end
    marks = MARKERS.match(text, end, limit)
    if marks:
        after = marks.end()
        following = text[after : after + 2].lstrip()
        is_subject = marks.group()[0] in " \t" and following[:1].islower()  # "… . [1] says that …"
        end = end if is_subject else after
        stop = re.compile(r"[.!?。]?").match(text, end, limit)
        if stop and stop.group() and marks and not is_subject:
            end = stop.end()
    lone = _LONE_NUMBER.match(text, end, limit)
    if lone:
        end = lone.end()
    emoji = _EMOJI.match(text, end, limit)
    return emoji.end() if emoji else end


def _is_boundary(text: str, start: int, match: re.Match[str], end: int, limit: int) -> bool:
    mark, closers = match["p"], match["c"]
    after = end
    while after < limit and text[after].isspace():
        after += 1
    if after >= limit:
        return True
    following = text[after]
    if mark[0] in "。！？｡؟۔।॥።":
        return not (closers and following in "とってはがをにの、，,")
    if after == end:  # nothing but a space, a marker or a wide character separates sentences
        return end > match.end() or (mark[0] != "." and bool(_WIDE.match(following)))
    is_lower = following.islower()
    if mark == ".":
        return _period_ends(
            text, start, match, text[after : min(limit, after + 40)], bool(closers) or end > match.end()
        )
    if mark.startswith((".", "…", "‥")):
        return not is_lower and following not in ",;:)"
    if is_lower:
        return mark[0] == "?" and not closers
    return following not in ",;:"


def _period_ends(text: str, start: int, match: re.Match[str], following: str, closed: bool) -> bool:
    head = following[0]
    word = _last_word(text, max(start, match.start() - 40), match.start())
    low = word.lower()
    if head in ",;:":
        return False
    if closed:
        return not head.islower()
    if low in _COUNTERS and not head.isdigit():
        return True
    if low in _TITLES:
        return False
    if word.isdigit() and _opens(text, max(start, match.start() - len(word) - 8), match.start() - len(word)):
        return False  # "1. Open the file. 2. Close it." in one line
    if head.islower():
        return word in _SHORT or (len(word) >= 4 and word.isalpha() and low not in _ABBREVIATIONS)
    if len(word) == 1 and word.isalpha() and word.isupper():
        return bool(_STARTER.match(following)) and _begins_phrase(text, start, match.start() - 1)
    if _DOTTED.match(word) and len(word) <= 9:
        return _after_dotted(low, following)
    if low in _ABBREVIATIONS:
        return head.isupper() and low not in _MONTHS and not (low in ("p", "pp", "v", "vol", "ch") and head.isdigit())
    return not (word in ("Ph.D", "M.Sc", "B.Sc", "M.A", "B.A") and not head.isupper())


def _last_word(text: str, start: int, end: int) -> str:
    """What stands between `start` and `end` behind the last space, bracket, quote or slash."""
    piece = text[start:end].removesuffix("\n")
    if not piece or piece[-1].isspace():
        return ""
    word = piece.rsplit(None, 1)[-1]
    return word if word.isalpha() else _WORD_BREAK.split(word)[-1]


def _opens(text: str, start: int, end: int) -> bool:
    """Whether a number that follows is the first thing said, so that it counts steps."""
    before = text[start:end].strip(" \t\n\"'(*_")
    return not before or before.endswith((":", ";"))


def _after_dotted(low: str, following: str) -> bool:
    """Whether a sentence ends after `U.S.`, `p.m.`, `J.K.` before `following`."""
    if low in ("p.m", "a.m"):
        zone = re.match(r"[A-Z]{2,5}\b", following)
        return following[0].isupper() and not zone
    return bool(_STARTER.match(following))


def _begins_phrase(text: str, start: int, letter: int) -> bool:
    """Whether the word before a lone capital is an ordinary one ("Plan B.", "vitamin C."): then it is no initial."""
    before = text[max(start, letter - 30) : letter].split()
    return bool(before) and before[-1].rstrip(",").isalpha()
