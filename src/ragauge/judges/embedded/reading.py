"""What the encoder reads: a claim beside the sentences that may hold it, as tokens, each token marked."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

from ragauge.embeddings.minilm import load_minilm
from ragauge.judges.embedded.evidence import Evidence, Statement
from ragauge.judges.embedded.features import Signals
from ragauge.text.tokens import stem, stopwords

#: Tokens of the claim, and of the evidence beside it, that are read. The encoder was trained with both.
CLAIM_TOKENS, EVIDENCE_TOKENS = 64, 120
#: Marks of tokens. Claim: a stop word or sign, a word that the sentences beside it hold, one that only other evidence
#: holds, one that none holds. Evidence: a word of the claim, any other.
SPECIAL, PLAIN, FOUND, ELSEWHERE, NOWHERE, SHARED, OTHER = range(7)
#: Sentences that share the most telling words with the claim, looked at beside the best window.
_SHARING = 8
#: Below this share of tokens the window is filled with sentences from the beginning.
_FULL = 0.7
#: Tokens of the shortest sentence that is still looked for.
_LEAST = 4
_STOP = stopwords("en")


@dataclass(frozen=True)
class Pair:
    """`[CLS] claim [SEP] evidence [SEP]` as token ids, and the mark of each token."""

    ids: tuple[int, ...]
    marks: tuple[int, ...]


def pair_of(said: Statement, signals: Signals, evidence: Evidence) -> Pair:
    """The claim beside the sentences of the evidence that are closest to it, in their order, as tokens."""
    tokenizer = load_minilm().tokenizer
    claim = _tokens(said.text)[:CLAIM_TOKENS]
    beside: list[tuple[int, str | None]] = []
    for place in window(said, signals, evidence):
        beside += _tokens(evidence.sentences[place].text)
    beside = beside[:EVIDENCE_TOKENS]
    here = {word for _, word in beside if word is not None}
    asked = {word for _, word in claim if word is not None}
    marks = [_mark(word, here, evidence) for _, word in claim]
    shared = [SHARED if word in asked else OTHER for _, word in beside]
    ids = [token for token, _ in claim], [token for token, _ in beside]
    return Pair(
        (tokenizer.cls, *ids[0], tokenizer.sep, *ids[1], tokenizer.sep), (SPECIAL, *marks, SPECIAL, *shared, SPECIAL)
    )


def _mark(word: str | None, here: set[str], evidence: Evidence) -> int:
    if word is None:
        return PLAIN
    if word in here:
        return FOUND
    return ELSEWHERE if word in evidence.index else NOWHERE


def window(said: Statement, signals: Signals, evidence: Evidence) -> list[int]:
    """Places of the sentences to read, in order: the best window, its neighbours, those that share telling words.

    What does not fit into `EVIDENCE_TOKENS` any more is passed over; the first is always taken.
    """
    sentences = evidence.sentences
    places = {id(sentence): place for place, sentence in enumerate(sentences)}
    best = [places[id(sentence)] for sentence in signals.best if id(sentence) in places]
    wanted = [*best, *(near for one in best[:1] for near in (one - 1, one + 1))]
    shared: dict[int, float] = {}
    for word in sorted(said.stem_set):
        for place in evidence.index.get(word, ()):
            shared[place] = shared.get(place, 0.0) + evidence.weight(word)
    wanted += sorted(shared, key=lambda place: (-shared[place], place))[:_SHARING]
    chosen: set[int] = set()
    free = EVIDENCE_TOKENS

    def take(order: range | list[int]) -> None:
        nonlocal free
        for place in order:
            if free < _LEAST:
                return
            if place in chosen or not 0 <= place < len(sentences):
                continue
            length = len(_tokens(sentences[place].text))
            if not chosen or length <= free:
                chosen.add(place)
                free -= length

    take(wanted)
    if free > (1 - _FULL) * EVIDENCE_TOKENS:
        take(range(len(sentences)))
    return sorted(chosen)


@lru_cache(maxsize=4096)
def _tokens(text: str) -> tuple[tuple[int, str | None], ...]:
    """Each token of a text with the stem of its word; None for stop words and signs."""
    tokenizer = load_minilm().tokenizer
    found: list[tuple[int, str | None]] = []
    for word in tokenizer.words(text):
        telling = stem(word) if word not in _STOP and any(map(str.isalnum, word)) else None
        found += [(token, telling) for token in tokenizer.pieces(word)]
    return tuple(found)
