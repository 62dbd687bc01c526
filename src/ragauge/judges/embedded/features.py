"""What can be measured about one claim against evidence, without a model."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from ragauge.judges.embedded.evidence import Evidence, Sentence, Statement
from ragauge.judges.embedded.lexicon import EXCLUSIVE, SYNONYMS
from ragauge.text.numbers import Quantity, agree, dimension
from ragauge.text.tokens import stem, words

#: Names of the features, in the order of the vector.
NAMES = (
    "recall", "recall_soft", "best_sentence", "best_pair", "best_two", "pairs", "order", "n_missing", "names_found",
    "n_names_missing", "numbers_found", "n_numbers_missing", "number_conflict", "negation", "exclusive", "quantifier",
    "substituted", "length", "evidence_length", "precision_best",
)  # fmt: skip
#: A sentence says the same thing apart from the detail in question when it covers this much of the claim's weight.
_SAME_TOPIC = 0.5
_QUANTITY_WEIGHT = 1.5
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


def measure(claim: Statement, evidence: Evidence) -> Signals:
    """The features (`NAMES`) of a claim against evidence.

    Coverage is the share of the claim's terms (content stems; a quantity is one term, found where an equal quantity
    stands), weighted by how telling each is, that a window holds. Windows are sentences, neighbouring sentences (also
    over a chunk's border), and the best window with the sentence that adds most to it.
    """
    places = _places(claim, evidence)
    if not places or not evidence.sentences:
        return Signals(tuple(0.0 for _ in NAMES), (), 0.0, 0.0, tuple(claim.stem_set), (), (), (), (), False)
    weights = {one: evidence.weight(one) if not one.startswith("#") else _QUANTITY_WEIGHT for one in places}
    window = _window(places, weights, len(evidence.sentences))
    near = [evidence.sentences[i] for i in window.near]
    best = evidence.sentences[window.best]
    missing = [one for one, held in places.items() if not held]
    total = sum(weights.values())
    soft = sum(weights[one] * _softly(one, held, evidence) for one, held in places.items()) / total
    topic = _topic(window.near, places, weights)
    differences = _differences(claim, near, topic, places)
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
        len(claim.pairs & evidence.pairs) / len(claim.pairs) if claim.pairs else 0.0,
        _order(claim.stems, best),
        min(len(missing), 8) / 8,
        1 - len(names_missing) / len(claim.names) if claim.names else 1.0,
        min(len(names_missing), 4) / 4,
        1 - n_numbers_missing / len(asked) if asked else 1.0,
        min(n_numbers_missing, 4) / 4,
        float(bool(differences.numbers)),
        float(bool(differences.negated)),
        float(bool(differences.opposites)),
        float(differences.quantifier),
        min(len(_substituted(claim, best)), 2) / 2,
        math.log1p(n) / 4,
        math.log1p(len(evidence.index)) / 8,
        len(best.stem_set & claim.stem_set) / max(len(best.stem_set), 1),
    )
    said = tuple(one.removeprefix("#") for one in missing)
    return Signals(
        vector, (best, *(s for s in near if s is not best)), window.two, topic, said, differences.numbers,
        differences.names,
        differences.negated, differences.opposites, differences.quantifier,
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
        if not held:
            held = frozenset(place for other in SYNONYMS.get(one, ()) for place in evidence.index.get(other, ()))
        places[one] = held
    related = frozenset[int]().union(*places.values()) if places else frozenset(range(len(evidence.sentences)))
    for quantity in claim.quantities:
        places[f"#{quantity.text}"] = frozenset(
            place for place in related if any(_same(quantity, other) for other in evidence.sentences[place].quantities)
        )
    return places


@dataclass(frozen=True)
class _Window:
    best: int
    near: tuple[int, ...]
    single: float
    pair: float
    two: float


def _window(places: Mapping[str, frozenset[int]], weights: Mapping[str, float], n: int) -> _Window:
    total = sum(weights.values())
    held: dict[int, float] = {}
    for one, where in places.items():
        for place in where:
            held[place] = held.get(place, 0.0) + weights[one] / total
    if not held:
        return _Window(0, (0,), 0.0, 0.0, 0.0)
    ranking = sorted(held, key=lambda place: (-round(held[place], 9), place))
    best = ranking[0]
    single = pair = held[best]
    near: tuple[int, ...] = (best,)
    for place in ranking[:4]:
        for other in (place - 1, place + 1):
            value = _covered((place, other), places, weights) / total if 0 <= other < n else 0.0
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


@dataclass(frozen=True)
class _Differences:
    numbers: tuple[tuple[str, str], ...] = ()
    names: tuple[str, ...] = ()
    negated: tuple[str, ...] = ()
    opposites: tuple[tuple[str, str], ...] = ()
    quantifier: bool = False


def _differences(
    claim: Statement, near: Sequence[Sentence], topic: float, places: Mapping[str, frozenset[int]]
) -> _Differences:
    """What claim and window say differently, where the window is about the same matter."""
    if topic < _SAME_TOPIC:
        return _Differences()
    said = frozenset[str]().union(*(sentence.stem_set for sentence in near))
    return _Differences(
        _wrong_numbers(claim, near, places),
        _wrong_names(claim, near, said),
        _negations(claim, near),
        _opposites(claim, near),
        claim.universal and not any(s.universal for s in near) and any(s.partial for s in near),
    )


def _wrong_numbers(
    claim: Statement, near: Sequence[Sentence], places: Mapping[str, frozenset[int]]
) -> tuple[tuple[str, str], ...]:
    """(claim's, evidence's) quantity where the evidence nowhere has the claim's but the window another of its kind."""
    conflicts = []
    for quantity in claim.quantities:
        if places[f"#{quantity.text}"]:
            continue
        close = [other for sentence in near for other in sentence.quantities if _comparable(quantity, other)]
        rivals = [other for other in close if not any(_same(mine, other) for mine in claim.quantities)]
        if rivals:
            conflicts.append((quantity.text, rivals[0].text))
    return tuple(conflicts)


def _same(mine: Quantity, other: Quantity) -> bool:
    """Whether evidence states the claim's quantity; rounded to its two leading digits it still does for measures."""
    return agree(mine, other) or (mine.kind == other.kind == "measure" and agree(mine, other, relative=0.02))


def _comparable(mine: Quantity, other: Quantity) -> bool:
    if {"version", "date", "time", "money"} & {mine.kind, other.kind}:
        return mine.kind == other.kind
    return dimension(mine) == dimension(other)


def _negations(claim: Statement, near: Sequence[Sentence]) -> tuple[str, ...]:
    """Stems that one side negates and the other states, in a sentence that shares half of the claim's words.

    When both negate something that they share, no difference: where a negation's reach ends is a matter of wording.
    """
    found: set[str] = set()
    for sentence in near:
        shared = claim.stem_set & sentence.stem_set
        if 2 * len(shared) >= len(claim.stem_set) and not (claim.negated & sentence.negated):
            found.update((claim.negated ^ sentence.negated) & shared)
    return tuple(sorted(found))


def _opposites(claim: Statement, near: Sequence[Sentence]) -> tuple[tuple[str, str], ...]:
    """(claim's word, evidence's word) where the evidence has a word that excludes the claim's."""
    spoken = frozenset[str]().union(*(sentence.all_stems for sentence in near))
    found = []
    for one in sorted(claim.all_stems - spoken):
        rivals = sorted((EXCLUSIVE.get(one, frozenset()) & spoken) - claim.all_stems)
        if rivals:
            found.append((one, rivals[0]))
    return tuple(found)


def _substituted(claim: Statement, best: Sentence) -> tuple[tuple[str, str], ...]:
    """(claim's, evidence's) stem where one word stands for another between the same two neighbours."""
    frames = {(a, c): b for a, b, c in zip(best.stems, best.stems[1:], best.stems[2:], strict=False)}
    found = []
    for a, b, c in zip(claim.stems, claim.stems[1:], claim.stems[2:], strict=False):
        other = frames.get((a, c))
        if other is None or other == b or b in best.stem_set or other in claim.stem_set:
            continue
        if other not in SYNONYMS.get(b, ()) and b[:5] != other[:5]:
            found.append((b, other))
    return tuple(found)


def _wrong_names(claim: Statement, near: Sequence[Sentence], said: frozenset[str]) -> tuple[str, ...]:
    """Names of the claim that the window lacks while it has other names in their place."""
    lacking = sorted(one for one in claim.names if one not in said)
    theirs = frozenset[str]().union(*(sentence.names for sentence in near)) - claim.stem_set
    return tuple(lacking) if lacking and theirs else ()
