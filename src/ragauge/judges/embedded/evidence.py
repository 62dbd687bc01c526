"""Chunks prepared for looking things up: their sentences, words, quantities and names, each computed once."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache

from ragauge.judges.embedded.lexicon import NEGATIONS, PARTIAL, SYNONYMS, UNIVERSAL
from ragauge.text.citations import strip_citations
from ragauge.text.numbers import Quantity, quantities
from ragauge.text.sentences import split_sentences
from ragauge.text.tokens import stem, stopwords, words

_STOP = stopwords("en")
#: Words after a negation that it can reach.
_SCOPE = 3
#: Longer sentences are cut, so that one huge line cannot pass for a sentence that says everything.
_MAX_SENTENCE = 600
_NAME = re.compile(
    r"(?<![\w.])(?:[A-Z][\w’'-]*[A-Za-z0-9]|[A-Z]{2,}\w*|\w+[_./:]\w[\w./:]*|--?[a-z][\w-]+|[a-z]+[A-Z]\w*)"
)
_DIGITLESS = re.compile(r"^[^\d]+$")


@dataclass(frozen=True)
class Statement:
    """A piece of text as sets of stems: what it says, in order, what it negates, names, quantities."""

    text: str

    @cached_property
    def tokens(self) -> list[str]:
        """All words, casefolded."""
        return words(self.text)

    @cached_property
    def stems(self) -> list[str]:
        """Stems of the content words, in order."""
        return [stem(word) for word in self.tokens if word not in _STOP]

    @cached_property
    def stem_set(self) -> frozenset[str]:
        """The stems without order."""
        return frozenset(self.stems)

    @cached_property
    def all_stems(self) -> frozenset[str]:
        """Stems of all words, stop words too."""
        return frozenset(stem(word) for word in self.tokens)

    @cached_property
    def pairs(self) -> frozenset[tuple[str, str]]:
        """Neighbouring content stems."""
        return frozenset(zip(self.stems, self.stems[1:], strict=False))

    @cached_property
    def negated(self) -> frozenset[str]:
        """Content stems that a negation reaches."""
        found: set[str] = set()
        reach = 0
        for word in self.tokens:
            if word in NEGATIONS or word.endswith("n't"):
                reach = _SCOPE
            elif reach and word not in _STOP:
                found.add(stem(word))
                reach -= 1
        return frozenset(found)

    @cached_property
    def quantities(self) -> list[Quantity]:
        """Quantities, ordinals left out."""
        return [q for q in quantities(self.text) if q.kind != "ordinal"]

    @cached_property
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

    @cached_property
    def universal(self) -> bool:
        """Says "without exception"."""
        return not UNIVERSAL.isdisjoint(self.tokens)

    @cached_property
    def partial(self) -> bool:
        """Says "with exceptions"."""
        return not PARTIAL.isdisjoint(self.tokens)


@dataclass(frozen=True)
class Sentence(Statement):
    """A sentence of a chunk, at `start:end` of the chunk's text."""

    chunk: int = 0
    start: int = 0
    end: int = 0


@dataclass(frozen=True)
class Evidence:
    """All sentences of the chunks, in order, with an index from stem to sentences."""

    sentences: tuple[Sentence, ...]
    index: dict[str, tuple[int, ...]] = field(repr=False)
    n_chunks: int

    @cached_property
    def pairs(self) -> frozenset[tuple[str, str]]:
        """Neighbouring content stems of any sentence."""
        return frozenset().union(*(sentence.pairs for sentence in self.sentences))

    @cached_property
    def quantities(self) -> list[Quantity]:
        """Every quantity."""
        return [quantity for sentence in self.sentences for quantity in sentence.quantities]

    @cached_property
    def heads(self) -> frozenset[str]:
        """First five letters of each longer stem: a rough net for related words."""
        return frozenset(one[:5] for one in self.index if len(one) >= 6)

    def weight(self, one: str) -> float:
        """How telling a stem is: rare in the evidence, with a digit, or long counts more. About 0.5 to 3."""
        df = len(self.index.get(one, ()))
        n = max(len(self.sentences), 1)
        return 0.5 + math.log((n + 1) / (df + 0.5)) / math.log(n + 2) + (0.5 if not _DIGITLESS.match(one) else 0.0)

    def knows(self, one: str) -> bool:
        """Whether the stem or one that may stand for it is in the evidence."""
        return one in self.index or any(other in self.index for other in SYNONYMS.get(one, ()))


@lru_cache(maxsize=2048)
def sentences_of(text: str) -> tuple[tuple[str, int, int], ...]:
    """(words, start, end) of the sentences of one chunk; very long ones in pieces."""
    found = []
    for span in split_sentences(text):
        start = span.start
        while span.end - start > _MAX_SENTENCE:
            cut = text.rfind(" ", start + _MAX_SENTENCE // 2, start + _MAX_SENTENCE)
            cut = cut if cut > 0 else start + _MAX_SENTENCE
            found.append((text[start:cut], start, cut))
            start = cut
        found.append((text[start : span.end], start, span.end))
    return tuple(found)


@lru_cache(maxsize=2048)
def _chunk(text: str, number: int) -> tuple[Sentence, ...]:
    return tuple(Sentence(piece, number, start, end) for piece, start, end in sentences_of(text) if piece.strip())


@lru_cache(maxsize=256)
def _prepared(texts: tuple[str, ...]) -> Evidence:
    sentences = tuple(sentence for number, text in enumerate(texts) for sentence in _chunk(text, number))
    index: dict[str, list[int]] = {}
    for place, sentence in enumerate(sentences):
        for one in sentence.stem_set:
            index.setdefault(one, []).append(place)
    return Evidence(sentences, {one: tuple(places) for one, places in index.items()}, len(texts))


def prepare(texts: Sequence[str]) -> Evidence:
    """The evidence that these texts hold, in their order; the last 256 sets are remembered."""
    return _prepared(tuple(texts))


@lru_cache(maxsize=4096)
def statement(text: str) -> Statement:
    """A claim, a question or an answer, prepared; citation markers are taken out."""
    return Statement(strip_citations(text))
