"""Is an answer right, against a reference: numbers, names, yes or no, lists, and the words that are new in it."""

from __future__ import annotations

import re
from collections.abc import Sequence

from ragauge.core.sample import is_blank
from ragauge.core.verdict import Verdict
from ragauge.judges.embedded.claims import split_claims
from ragauge.judges.embedded.evidence import Statement, prepare, statement
from ragauge.judges.embedded.features import measure
from ragauge.judges.embedded.model import Logistic, load
from ragauge.judges.embedded.support import judge_text
from ragauge.text.normalise import normalise
from ragauge.text.numbers import Quantity, agree
from ragauge.text.refusals import is_refusal
from ragauge.text.tokens import stem, words

NAMES = (
    "new_recall", "recall", "soft_recall", "contained_back", "numbers_found", "number_wrong",
    "names_found", "polarity_wrong", "negation", "opposite", "declined", "length_ratio", "reference_length",
)  # fmt: skip
_YES = frozenset({"yes", "ja", "oui", "sí", "si", "sim", "tak", "да", "yep", "correct", "true"})
_NO = frozenset({"no", "nein", "non", "não", "nee", "nie", "нет", "nope", "incorrect", "false"})
_CORRECT = 0.5
_LEADS = re.compile(r"^\W*(?:the answer is|answer|it is|it's|that is|this is)\W+", re.IGNORECASE)


def judge_correctness(question: str, answer: str, reference: str, model: Logistic | None = None) -> Verdict:
    """correct, partial or wrong; `probability` is that of "correct".

    A refusal or a contrary yes/no is wrong. Partial: not all of the reference's claims are stated and none is denied.
    `model` None: the shipped weights.
    """
    if is_blank(answer):
        return Verdict(id="answer", label="wrong", reason="the answer is blank", probability=0.0)
    vector = correctness_vector(question, answer, reference)
    probability = (model or load("correctness", NAMES)).probability(vector)
    named = dict(zip(NAMES, vector, strict=True))
    if is_refusal(answer) and not is_refusal(reference):
        return Verdict(
            id="answer", label="wrong", reason="the answer declines", probability=round(min(probability, 0.05), 4)
        )
    if is_refusal(reference):
        declines = is_refusal(answer)
        reason = "both decline" if declines else "the reference declines, the answer does not"
        return Verdict(
            id="answer", label="correct" if declines else "wrong", reason=reason, probability=0.95 if declines else 0.05
        )
    if named["polarity_wrong"]:
        return Verdict(
            id="answer", label="wrong", reason="one says yes, the other no", probability=round(min(probability, 0.1), 4)
        )
    claims = [claim.text for claim in split_claims(reference)]
    read = [judge_text(claim, (answer,)) for claim in claims]
    found = read if len(claims) > 1 else []
    n_stated = sum(finding.label == "supported" for finding in found)
    n_denied = sum(finding.label == "contradicted" for finding in found)
    if len(read) == 1 and read[0].label == "contradicted" and (named["negation"] or named["opposite"]):
        n_denied = 1
    denied = n_denied == 1 and not found
    if (named["number_wrong"] and named["numbers_found"] < 1) or denied:
        probability = min(probability, 0.3)
    reason = _reason(named, n_stated, len(found))
    if probability >= _CORRECT:
        label = "partial" if found and (n_denied or 2 * n_stated < len(found)) else "correct"
    else:
        some = n_stated > 0 if found else named["new_recall"] >= _CORRECT
        label = "partial" if some and not named["number_wrong"] and not n_denied else "wrong"
    return Verdict(id="answer", label=label, reason=reason, probability=round(probability, 4))


def _reason(named: dict[str, float], n_stated: int, n_claims: int) -> str:
    parts = [f"{round(100 * named['new_recall'])} % of what the reference adds to the question is in the answer"]
    if n_claims:
        parts.append(f"{n_stated} of the reference's {n_claims} claims are stated")
    if named["number_wrong"]:
        parts.append("a number of the reference is missing and another stands in the answer")
    return "; ".join(parts)


def correctness_vector(question: str, answer: str, reference: str) -> tuple[float, ...]:
    """The features (`NAMES`) of an answer against a reference, given the question.

    `new_recall`: share of the reference's content stems that the question does not hold which the answer has.
    """
    said, gold, topic = statement(answer), statement(_LEADS.sub("", reference)), statement(question)
    golds = list(dict.fromkeys(gold.stems)) or gold.tokens
    new = [one for one in golds if one not in topic.stem_set] or golds
    mine = said.stem_set | set(said.tokens) | _agreed(gold, said)
    evidence = prepare((answer,))
    signals = measure(gold, evidence)
    found, wrong = _number_match(gold, said, topic)
    shorter, longer = normalise(reference).strip(" .\"'"), normalise(answer)
    return (
        _share(new, mine),
        _share(golds, mine),
        sum(_near(one, mine) for one in new) / len(new) if new else 0.0,
        float(bool(longer.strip(" .")) and _holds(shorter, longer.strip(" .\"'"))),
        found,
        wrong,
        1 - sum(one not in mine for one in gold.names) / len(gold.names) if gold.names else 1.0,
        float(_polarity(reference) * _polarity(answer) < 0),
        float(bool(signals.negated)),
        float(bool(signals.opposites)),
        float(is_refusal(answer)),
        min(len(said.tokens) / max(len(gold.tokens), 1), 10) / 10,
        min(len(golds), 30) / 30,
    )


def _agreed(gold: Statement, said: Statement) -> set[str]:
    """Stems of the reference's quantities that the answer states in whatever spelling and unit."""
    stated = [q for q in gold.quantities if any(_same(q, other) for other in said.quantities)]
    return {stem(word) for quantity in stated for word in words(quantity.text)}


def _same(one: Quantity, other: Quantity) -> bool:
    """Whether two quantities agree; `v4` is the name of a version, not the number 4."""
    named = [quantity.kind == "version" and "." not in quantity.text for quantity in (one, other)]
    return named[0] == named[1] and agree(one, other)


def _share(wanted: Sequence[str], held: set[str] | frozenset[str]) -> float:
    return sum(one in held for one in wanted) / len(wanted) if wanted else 0.0


def _holds(longer: str, shorter: str) -> bool:
    return f" {' '.join(words(shorter))} " in f" {' '.join(words(longer))} " if words(shorter) else False


def _near(one: str, held: set[str] | frozenset[str]) -> float:
    """1 for a word that is there, less for one that begins alike or differs in one letter."""
    if one in held:
        return 1.0
    if len(one) < 5:
        return 0.0
    if any(other[:5] == one[:5] and abs(len(other) - len(one)) <= 3 for other in held):
        return 0.8
    return (
        0.8
        if any(abs(len(other) - len(one)) <= 1 and _one_apart(one, other) for other in held if len(other) >= 5)
        else 0.0
    )


def _one_apart(a: str, b: str) -> bool:
    """Whether two words differ in one letter (changed, added or left out)."""
    if len(a) > len(b):
        a, b = b, a
    place = next((i for i, (x, y) in enumerate(zip(a, b, strict=False)) if x != y), len(a))
    return a[place + (len(a) == len(b)) :] == b[place + 1 :]


def _number_match(gold: Statement, said: Statement, topic: Statement) -> tuple[float, float]:
    """(share of the reference's new numbers that the answer has, 1.0 when one is missing and another stands there)."""
    wanted = [q for q in gold.quantities if not any(_same(q, o) for o in topic.quantities)] or gold.quantities
    if not wanted:
        return 1.0, 0.0
    missing = [q for q in wanted if not any(_same(q, o) for o in said.quantities)]
    others = [o for o in said.quantities if not any(_same(o, q) for q in gold.quantities + topic.quantities)]
    return 1 - len(missing) / len(wanted), float(bool(missing) and bool(others))


def _polarity(text: str) -> int:
    """1 for a text that begins with yes, -1 for one that begins with no, else 0."""
    first = next(iter(words(text[:40])), "")
    return 1 if first in _YES else -1 if first in _NO else 0
