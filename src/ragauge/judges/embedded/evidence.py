"""Chunks prepared for looking things up: their sentences, words, quantities and names, each computed once."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache

from ragauge.judges.embedded.lazy import lazy
from ragauge.judges.embedded.lexicon import NEGATIONS, PARTIAL, SYNONYMS, UNIVERSAL
from ragauge.judges.embedded.units import Unit, units_of
from ragauge.text.citations import strip_citations
from ragauge.text.numbers import Quantity, quantities
from ragauge.text.tokens import stem, stems, stopwords, words

_STOP = stopwords("en")
#: Quantities of one statement that are looked at.
_MOST = 300
#: Words after a negation that it can reach.
_SCOPE = 2
#: Words at which the reach of a negation ends, and signs that do the same (a negation before them does not reach on).
_BREAKS = frozenset({"and", "but", "because", "while", "whereas", "unless", "if", "so", "then", "although", "though"})
_BREAK_SIGNS = re.compile(r"[,;:.!?()|](?=\s|$)|[–—]")
#: A statement that says of another one that it is not so: what stands in either group is denied.
_UNTRUE_WORDS = frozenset({"false", "untrue", "incorrect", "wrong", "inaccurate", "myth", "misconception", "mistake"})
_UNTRUE = rf"(?:a )?(?:{'|'.join(sorted(_UNTRUE_WORDS))})"
_DENIED = re.compile(
    rf"\b(?:is|was|be|seems)(?: \w+ly)? {_UNTRUE}(?: to (?:say|claim|think|assume|believe))?,? that\b([^.;!?]*)"
    rf"|\bthe (?:claim|statement|idea|notion|assumption|belief) that\b([^.;!?]*?) (?:is|was)(?: \w+ly)? {_UNTRUE}\b",
    re.IGNORECASE,
)
_NAME = re.compile(
    r"(?<![\w.])(?:[A-Z][\w’'-]*[A-Za-z0-9]|[A-Z]{2,}\w*|\w+[_./:]\w[\w./:]*|--?[a-z][\w-]+|[a-z]+[A-Z]\w*)"
)
_DIGIT = re.compile(r"\d")


@dataclass(frozen=True)
class Statement:
    """A piece of text as sets of stems: what it says, in order, what it negates, names, quantities."""

    text: str

    @lazy
    def tokens(self) -> tuple[str, ...]:
        """All words, casefolded."""
        return tuple(words(self.text))

    @lazy
    def stems(self) -> tuple[str, ...]:
        """Stems of the content words, in order."""
        return tuple(stems(self.tokens))

    @lazy
    def stem_set(self) -> frozenset[str]:
        """The stems without order."""
        return frozenset(self.stems)

    @lazy
    def all_stems(self) -> frozenset[str]:
        """Stems of all words, stop words too."""
        return frozenset(stem(word) for word in self.tokens)

    @lazy
    def pairs(self) -> frozenset[tuple[str, str]]:
        """Neighbouring content stems."""
        return frozenset(zip(self.stems, self.stems[1:], strict=False))

    @lazy
    def negated(self) -> frozenset[str]:
        """Content stems that stand only where a negation reaches."""
        return self._reached[0] - self._reached[1]

    @lazy
    def reached(self) -> frozenset[str]:
        """Content stems that a negation reaches: up to two, to the end of the clause."""
        return self._reached[0]

    @lazy
    def _reached(self) -> tuple[frozenset[str], frozenset[str]]:
        """(content stems that a negation reaches, those that stand out of its reach)."""
        denied = _DENIED.search(self.text) if not _UNTRUE_WORDS.isdisjoint(self.tokens) else None
        if denied is None and NEGATIONS.isdisjoint(self.tokens) and "n't" not in self.text and "n’t" not in self.text:
            return frozenset(), self.stem_set
        if denied is not None:
            said = denied.group(1) or denied.group(2) or ""
            inside = frozenset(stems(words(said)))
            return inside, self.stem_set - inside
        found: set[str] = set()
        stated: set[str] = set()
        for clause in _BREAK_SIGNS.split(self.text):
            reach = 0
            for word in words(clause):
                if word in NEGATIONS or word.endswith("n't"):
                    reach = _SCOPE
                elif word in _BREAKS:
                    reach = 0
                elif reach and word not in _STOP:
                    found.add(stem(word))
                    reach -= 1
                elif word not in _STOP:
                    stated.add(stem(word))
        return frozenset(found), frozenset(stated)

    @lazy
    def elided(self) -> bool:
        """Whether a negation ends a clause, so that what it negates was said before ("the buffer is not")."""
        clauses = (words(clause) for clause in _BREAK_SIGNS.split(self.text))
        return any(clause and (clause[-1] in NEGATIONS or clause[-1].endswith("n't")) for clause in clauses)

    @lazy
    def line(self) -> str:
        """All words with a space around each, for finding one sequence of words in another."""
        return f" {' '.join(self.tokens)} "

    @lazy
    def quantities(self) -> list[Quantity]:
        """Quantities, ordinals left out; of a monstrous text the first 300."""
        return [q for q in quantities(self.text) if q.kind != "ordinal"][:_MOST]

    @lazy
    def names(self) -> frozenset[str]:
        """Stems of names and identifiers: capitalised words that do not open the sentence, flags, dotted names."""
        found: set[str] = set()
        for match in _NAME.finditer(self.text):
            word = match.group()
            opens = not self.text[: match.start()].strip(" \t\n\"'“(*_`-")
            plain = word[0].isupper() and word[1:].islower()
            if (opens or self.text[match.start() - 2 : match.start()] in (". ", ": ", "! ", "? ")) and plain:
                continue
            found.update(stem(w) for w in words(word) if w not in _STOP and not w.isdigit())
        return frozenset(found)

    @lazy
    def universal(self) -> bool:
        """Says "without exception"."""
        return not UNIVERSAL.isdisjoint(self.tokens)

    @lazy
    def partial(self) -> bool:
        """Says "with exceptions"."""
        return not PARTIAL.isdisjoint(self.tokens)


@dataclass(frozen=True)
class Sentence(Statement):
    """A unit of a chunk (a sentence, a row, a line of code), at `start:end` of the chunk's text."""

    chunk: int = 0
    start: int = 0
    end: int = 0
    under: str = ""
    cells: tuple[tuple[str, str], ...] = ()

    @lazy
    def held(self) -> frozenset[str]:
        """Its own stems and those of the heading or lead-in that it stands under."""
        return self.stem_set | statement(self.under).stem_set if self.under else self.stem_set


@dataclass(frozen=True)
class Evidence:
    """All sentences of the chunks, in order, with an index from stem to sentences."""

    sentences: tuple[Sentence, ...]
    index: Mapping[str, Sequence[int]] = field(repr=False)
    texts: tuple[str, ...] = field(repr=False)
    places: tuple[str, ...] = ()

    @lazy
    def stem_lines(self) -> str:
        """A line for each sentence: its content stems with a space around each, for finding neighbours."""
        return "\n".join([f" {' '.join(sentence.stems)} " for sentence in self.sentences])

    @lazy
    def quantities(self) -> list[Quantity]:
        """Every quantity."""
        return [quantity for sentence in self.sentences for quantity in sentence.quantities]

    @lazy
    def lines(self) -> tuple[str, ...]:
        """For each chunk, the words of all of its units in order, with a space around each."""
        said: dict[int, list[str]] = {}
        for sentence in self.sentences:
            said.setdefault(sentence.chunk, []).extend(sentence.tokens)
        return tuple(f" {' '.join(said.get(number, ()))} " for number in range(len(self.texts)))

    @lazy
    def all_lines(self) -> str:
        """`lines`, one below the other."""
        return "\n".join(self.lines)

    @lazy
    def tokens(self) -> frozenset[str]:
        """Every word."""
        return frozenset().union(*(sentence.tokens for sentence in self.sentences))

    @lazy
    def raw(self) -> str:
        """All texts and where they stand, casefolded, for looking up identifiers."""
        return "\n".join((*self.texts, *self.places)).casefold()

    @lazy
    def heads(self) -> frozenset[str]:
        """First five letters of each longer stem: a rough net for related words."""
        return frozenset(one[:5] for one in self.index if len(one) >= 6)

    def weight(self, one: str) -> float:
        """How telling a stem is: rare in the evidence, with a digit, or long counts more. About 0.5 to 3."""
        df = len(self.index.get(one, ()))
        n = max(len(self.sentences), 1)
        return 0.5 + math.log((n + 1) / (df + 0.5)) / math.log(n + 2) + (0.5 if _DIGIT.search(one) else 0.0)

    def knows(self, one: str) -> bool:
        """Whether the stem or one that may stand for it is in the evidence."""
        return one in self.index or any(other in self.index for other in SYNONYMS.get(one, ()))


@lru_cache(maxsize=2048)
def _units(text: str, header: str) -> tuple[Unit, ...]:
    return tuple(units_of(text, header))


@lru_cache(maxsize=2048)
def _chunk(text: str, header: str, number: int) -> tuple[Sentence, ...]:
    return tuple(
        Sentence(unit.text, number, unit.start, unit.end, unit.under, unit.cells) for unit in _units(text, header)
    )


@lru_cache(maxsize=256)
def _prepared(texts: tuple[str, ...], headers: tuple[str, ...], places: tuple[str, ...]) -> Evidence:
    sentences = tuple(
        sentence
        for number, text in enumerate(texts)
        for sentence in _chunk(text, headers[number] if headers else "", number)
    )
    return Evidence(sentences, _index(sentences), texts, places)


def _index(sentences: Sequence[Sentence]) -> dict[str, Sequence[int]]:
    """Stem → the places of the sentences that hold it, in order."""
    index: dict[str, Sequence[int]] = {}
    for place, sentence in enumerate(sentences):
        only = (place,)  # most stems stand in one sentence and can share this
        for one in sentence.held:
            found = index.get(one)
            if found is None:
                index[one] = only
            elif isinstance(found, list):
                found.append(place)
            else:
                index[one] = [*found, place]
    return index


def prepare(texts: Sequence[str], headers: Sequence[str] = (), places: Sequence[str] = ()) -> Evidence:
    """The evidence that these texts hold, in their order; the last 256 sets are remembered.

    `headers`: for each text the header row of a table that it goes on with ("" for none). `places`: the documents that
    the texts are from, so that an answer may name them.
    """
    return _prepared(tuple(texts), tuple(headers), tuple(places))


def forget() -> None:
    """Drop every text that is remembered, for measuring speed; single words and their stems stay."""
    for cached in (_prepared, _chunk, _units, statement):
        cached.cache_clear()


@lru_cache(maxsize=4096)
def statement(text: str) -> Statement:
    """A claim, a question or an answer, prepared; citation markers are taken out."""
    return Statement(strip_citations(text))
