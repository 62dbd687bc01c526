"""What can be measured about one claim against evidence, without a model."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from ragauge.judges.embedded.differences import Differences, differences, same, substituted, unknown_identifiers
from ragauge.judges.embedded.evidence import Evidence, Sentence, Statement
from ragauge.judges.embedded.lexicon import NEGATIONS, SYNONYMS
from ragauge.text.tokens import stem, stopwords, words

#: Names of the features, in the order of the vector.
NAMES = (
    "recall", "recall_soft", "best_sentence", "best_pair", "best_two", "pairs", "order", "n_missing", "names_found",
    "n_names_missing", "numbers_found", "n_numbers_missing", "number_conflict", "negation", "exclusive", "quantifier",
    "substituted", "length", "evidence_length", "precision_best",
    "overlap", "in_order", "all_pairs", "best_chunk", "missing_run", "unknown_identifiers", "verbatim",
)  # fmt: skip
#: A sentence says the same thing apart from the detail in question when it covers this much of the claim's weight.
_SAME_TOPIC = 0.5
_QUANTITY_WEIGHT = 1.5
_STOP = stopwords("en")
#: Places at which a claim is looked for word for word, per chunk.
_OCCURRENCES = 20
_CONDITIONS = frozenset({"if", "unless", "until", "whether", "would"})
#: A further sentence belongs to the window when it adds this much coverage.
_ADDS = 0.1


@dataclass(frozen=True)
class Signals:
    """Features of one claim, and what explains them: the best sentences and the differences found there.

    `coverage` is that of the window, `topic` the same without quantities.
    """

    vector: tuple[float, ...]
    best: tuple[Sentence, ...]
    coverage: float
    topic: float
    missing: tuple[str, ...]
    wrong_numbers: tuple[tuple[str, str], ...]
    wrong_names: tuple[str, ...]
    negated: tuple[str, ...]
    opposites: tuple[tuple[str, str], ...]
    quantifier: bool
    cells: tuple[tuple[str, str], ...] = ()
    unknown: tuple[str, ...] = ()
    verbatim: bool = False
    roles: tuple[str, str] | None = None
    added: tuple[str, ...] = ()


_NOTHING = Signals(tuple(0.0 for _ in NAMES), (), 0.0, 0.0, (), (), (), (), (), False)


def measure(claim: Statement, evidence: Evidence) -> Signals:
    """The features (`NAMES`) of a claim against evidence.

    Coverage is the share of the claim's terms (content stems; a quantity is one term, found where an equal quantity
    stands), weighted by how telling each is, that a window holds. Windows are sentences, neighbouring sentences (also
    over a chunk's border), and the best window with the sentence that adds most to it.
    """
    places = _places(claim, evidence)
    if not places or not evidence.sentences:
        return replace(_NOTHING, missing=tuple(sorted(claim.stem_set)))
    weights = {one: evidence.weight(one) if not one.startswith("#") else _QUANTITY_WEIGHT for one in places}
    window = _window(claim, places, weights, evidence.sentences)
    near = [evidence.sentences[i] for i in window.near]
    best = evidence.sentences[window.best]
    missing = [one for one, held in places.items() if not held]
    total = sum(weights.values())
    soft = sum(weights[one] * _softly(one, held, evidence) for one, held in places.items()) / total
    topic = _topic(window.near, places, weights)
    verbatim = _verbatim(claim, evidence)
    found = (
        differences(claim, near, places, evidence.sentences)
        if topic >= _SAME_TOPIC and verbatim is None
        else Differences()
    )
    unknown = unknown_identifiers(claim, evidence) if verbatim is None else ()
    names_missing = [one for one in sorted(claim.names) if one not in evidence.index]
    asked = claim.quantities
    n_numbers_missing = sum(not places[f"#{q.text}"] for q in asked)
    n = len(places)
    vector = (
        1 - len(missing) / n,
        soft,
        window.single,
        window.pair,
        window.two,
        _pairs(claim, evidence),
        _order(claim.stems, best),
        min(len(missing), 8) / 8,
        1 - len(names_missing) / len(claim.names) if claim.names else 1.0,
        min(len(names_missing), 4) / 4,
        1 - n_numbers_missing / len(asked) if asked else 1.0,
        min(n_numbers_missing, 4) / 4,
        float(bool(found.numbers or found.cells)),
        float(bool(found.negated)),
        float(bool(found.opposites)),
        float(found.quantifier),
        min(len(substituted(claim, best)), 2) / 2,
        math.log1p(n) / 4,
        math.log1p(len(evidence.index)) / 8,
        len(best.stem_set & claim.stem_set) / max(len(best.stem_set), 1),
        _overlap(claim, evidence),
        _in_order(claim.tokens, best.tokens),
        _all_pairs(claim, evidence),
        _best_chunk(places, weights, evidence) / total,
        min(_missing_run(claim.stems, places), 5) / 5,
        min(len(unknown), 2) / 2,
        float(verbatim is not None),
    )
    if verbatim is not None:
        near = [verbatim, *(one for one in near if one is not verbatim)]
        best = near[0]
    said = tuple(one.removeprefix("#") for one in missing)
    return Signals(
        vector, (best, *(s for s in near if s is not best)), window.two, topic, said, found.numbers,
        found.names, found.negated, found.opposites, found.quantifier, found.cells, unknown, verbatim is not None,
        found.roles, found.added,
    )  # fmt: skip


def _topic(window: Sequence[int], places: Mapping[str, frozenset[int]], weights: Mapping[str, float]) -> float:
    """Coverage by the window of all terms but quantities: is it about the same matter? 1 for quantities alone."""
    named = {one: where for one, where in places.items() if not one.startswith("#")}
    total = sum(weights[one] for one in named)
    return _covered(window, named, weights) / total if named else 1.0


def _places(claim: Statement, evidence: Evidence) -> dict[str, frozenset[int]]:
    """Each term of the claim → the sentences that hold it, or a word that may stand for it.

    A quantity counts only in sentences that share a word with the claim (in any, when it has no other words).
    """
    spoken = {stem(word) for quantity in claim.quantities for word in words(quantity.text)}
    places: dict[str, frozenset[int]] = {}
    for one in claim.stems:
        if one in places or one in spoken:
            continue
        held = frozenset(evidence.index.get(one, ()))
        if not held and "." in one:
            held = _dotted(one, evidence)
        if not held:
            held = frozenset(place for other in SYNONYMS.get(one, ()) for place in evidence.index.get(other, ()))
        places[one] = held
    related = frozenset[int]().union(*places.values()) if places else frozenset(range(len(evidence.sentences)))
    for quantity in claim.quantities:
        places[f"#{quantity.text}"] = frozenset(
            place for place in related if any(same(quantity, other) for other in evidence.sentences[place].quantities)
        )
    return places


def _dotted(one: str, evidence: Evidence) -> frozenset[int]:
    """Where the last part of a dotted name stands in a chunk that holds all of its parts (nested settings)."""
    parts = [stem(part) for part in one.split(".") if part]
    if len(parts) < 2 or any(part not in evidence.index or part.isdigit() for part in parts):
        return frozenset()
    chunks = [{evidence.sentences[place].chunk for place in evidence.index[part]} for part in parts]
    common = set.intersection(*chunks)
    return frozenset(place for place in evidence.index[parts[-1]] if evidence.sentences[place].chunk in common)


@dataclass(frozen=True)
class _Window:
    best: int
    near: tuple[int, ...]
    single: float
    pair: float
    two: float


def _window(
    claim: Statement, places: Mapping[str, frozenset[int]], weights: Mapping[str, float], units: Sequence[Sentence]
) -> _Window:
    total = sum(weights.values())
    held: dict[int, float] = {}
    for one, where in places.items():
        for place in where:
            held[place] = held.get(place, 0.0) + weights[one] / total
    if not held:
        return _Window(0, (0,), 0.0, 0.0, 0.0)
    ranking = sorted(held, key=lambda place: (-round(held[place], 9), place))
    tied = [place for place in ranking[:8] if held[place] > held[ranking[0]] - 0.02]
    if len(tied) > 1:
        tied.sort(key=lambda place: (-_likeness(claim, units[place]), place))
        ranking = [*tied, *(place for place in ranking if place not in tied)]
    best = ranking[0]
    single = pair = held[best]
    near: tuple[int, ...] = (best,)
    for place in ranking[:4]:
        for other in (place - 1, place + 1):
            value = _covered((place, other), places, weights) / total if 0 <= other < len(units) else 0.0
            if value > pair + 1e-9:
                pair, near, best = value, (place, other), place
    two = pair
    for place in ranking[:12]:
        value = _covered((*near[:2], place), places, weights) / total
        if value > two + 1e-9:
            two, added = value, place
    if two > pair + _ADDS:
        near = (*near, added)
    return _Window(best, near, single, pair, two)


def _likeness(claim: Statement, unit: Sentence) -> float:
    """How alike two statements with the same words are: order, stop words, brevity."""
    return _in_order(claim.tokens, unit.tokens) - 0.002 * len(unit.tokens)


def _covered(window: Iterable[int], places: Mapping[str, frozenset[int]], weights: Mapping[str, float]) -> float:
    chosen = frozenset(window)
    return sum(weights[one] for one, where in places.items() if not chosen.isdisjoint(where))


def _softly(one: str, held: frozenset[int], evidence: Evidence) -> float:
    if held:
        return 1.0
    return 0.6 if len(one) >= 6 and one[:5] in evidence.heads else 0.0


def _order(stems: Sequence[str], best: Sentence) -> float:
    """Share of neighbouring shared stems that stand in the same order in the best sentence (1 when fewer than two)."""
    places = {one: place for place, one in reversed(list(enumerate(best.stems)))}
    found = [places[one] for one in stems if one in places]
    if len(found) < 2:
        return 1.0
    return sum(a < b for a, b in pairwise(found)) / (len(found) - 1)


def _pairs(claim: Statement, evidence: Evidence) -> float:
    """Share of the claim's neighbouring content stems that are neighbours in a sentence (0 when it has none)."""
    if not claim.pairs:
        return 0.0
    return sum(f" {a} {b} " in evidence.stem_lines for a, b in claim.pairs) / len(claim.pairs)


def _overlap(claim: Statement, evidence: Evidence) -> float:
    """Share of the claim's distinct content words, as written, that stand anywhere."""
    content = {word for word in claim.tokens if word not in _STOP}
    return len(content & evidence.tokens) / len(content) if content else 0.0


def _in_order(mine: Sequence[str], theirs: Sequence[str]) -> float:
    """Length of the longest common subsequence of words, as a share of the claim's (ROUGE-L recall, Lin 2004)."""
    mine, theirs = mine[:60], theirs[:120]
    if not mine or not theirs:
        return 0.0
    places: dict[str, int] = {}
    for place, word in enumerate(mine):
        places[word] = places.get(word, 0) | 1 << place
    # A row of the table as the bits of one number (Hyyrö 2004): bit i is 0 where the row rises at the claim's word i.
    whole = row = (1 << len(mine)) - 1
    for word in theirs:
        if word in places:
            matched = row & places[word]
            row = ((row + matched) | (row - matched)) & whole
    return (len(mine) - row.bit_count()) / len(mine)


def _all_pairs(claim: Statement, evidence: Evidence) -> float:
    """Share of the claim's neighbouring words, stop words too, that are neighbours in a chunk."""
    pairs = {f" {a} {b} " for a, b in pairwise(claim.tokens)}
    if not pairs:
        return 1.0
    return sum(pair in evidence.all_lines for pair in pairs) / len(pairs)


def _best_chunk(places: Mapping[str, frozenset[int]], weights: Mapping[str, float], evidence: Evidence) -> float:
    """Weight of the terms that one chunk holds, at most."""
    held: dict[int, float] = {}
    for one, where in places.items():
        for chunk in {evidence.sentences[place].chunk for place in where}:
            held[chunk] = held.get(chunk, 0.0) + weights[one]
    return max(held.values(), default=0.0)


def _missing_run(stems: Sequence[str], places: Mapping[str, frozenset[int]]) -> int:
    """The longest run of content stems in a row that stand nowhere."""
    longest = run = 0
    for one in stems:
        run = 0 if places.get(one, True) else run + 1
        longest = max(longest, run)
    return longest


def _verbatim(claim: Statement, evidence: Evidence) -> Sentence | None:
    """The unit in which the claim stands word for word, not right behind a negation or a condition; else None.

    A claim of fewer than three content words must be a whole unit or cell.
    """
    line = claim.line
    n_content = len(claim.stems)
    for number, text in enumerate(evidence.lines):
        place = text.find(line)
        for _ in range(_OCCURRENCES):
            if place < 0:
                break
            before = text[max(0, place - 40) : place].split()[-2:]
            if NEGATIONS.isdisjoint(before) and _CONDITIONS.isdisjoint(before):
                unit = _unit_of(claim, number, place, text, evidence)
                if (
                    unit is not None
                    and _states(claim, number, evidence)
                    and (n_content >= 3 or unit.line == line or _is_cell(claim, unit))
                ):
                    return unit
            place = text.find(line, place + 1)
    return None


def _states(claim: Statement, number: int, evidence: Evidence) -> bool:
    """Whether the chunk states the claim's quantities, units included: words are compared without signs like $."""
    held = [q for sentence in evidence.sentences if sentence.chunk == number for q in sentence.quantities]
    return all(any(same(quantity, other) for other in held) for quantity in claim.quantities)


def _unit_of(claim: Statement, number: int, place: int, text: str, evidence: Evidence) -> Sentence | None:
    """The unit of chunk `number` in which the word at `place` of its line stands."""
    index = text.count(" ", 0, place)
    for sentence in evidence.sentences:
        if sentence.chunk == number:
            if index < len(sentence.tokens):
                return sentence
            index -= len(sentence.tokens)
    return None


def _is_cell(claim: Statement, unit: Sentence) -> bool:
    return any(" ".join(words(f"{name} {value}")) == " ".join(claim.tokens) for name, value in unit.cells)
