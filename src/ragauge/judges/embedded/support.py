"""Is a claim supported by chunks? Probability, three-way label, evidence, quote and a reason in words."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ragauge.core.sample import RetrievedChunk, is_blank
from ragauge.core.verdict import Claim, Verdict
from ragauge.judges.embedded.evidence import prepare, statement
from ragauge.judges.embedded.features import NAMES, Signals, measure
from ragauge.judges.embedded.model import Logistic, load, logistic
from ragauge.text.normalise import normalise

if TYPE_CHECKING:  # numpy and the weights are loaded where there is an encoder
    from ragauge.judges.embedded.encoder import Encoder

SUPPORTED, CONTRADICTED, NOT_MENTIONED = "supported", "contradicted", "not_mentioned"
THRESHOLD = 0.5
#: A difference in a window that otherwise says the same: (base, share of the probability that is kept), all below the
#: threshold, so that claims with a difference keep their order. A number, cell, opposite or quantifier; a negation or a
#: name; an identifier that stands in no chunk, so that it was not taken from them.
_CONFLICT, _DOUBT, _UNKNOWN = (0.28, 0.04), (0.3, 0.19), (0.1, 0.3)
#: Where probabilities end that must stay below the threshold: from here on they are squeezed, so that they keep order.
_BELOW = 0.45
#: What stands there word for word is supported, whatever else differs.
_VERBATIM = 0.97
#: A window that covers less of a claim is about something else, so that nothing in it contradicts the claim.
_SAME_MATTER = 0.55
_QUOTE = 300


@dataclass(frozen=True)
class Finding:
    """What the engine found for one claim: `chunk` is the place of the evidence among the texts, None without any."""

    label: str
    probability: float
    chunk: int | None
    start: int
    end: int
    reason: str


def judge_claims(
    claims: Sequence[Claim], chunks: Sequence[RetrievedChunk], encoder: Encoder | None = None
) -> tuple[Verdict, ...]:
    """One verdict per claim, in order; `quote` is an exact substring of the evidence chunk's text."""
    shown = [chunk for chunk in chunks if not is_blank(chunk.text)]
    texts = [chunk.text for chunk in shown]
    headers = [header_of(chunk) for chunk in shown]
    places = tuple(dict.fromkeys(chunk.document for chunk in shown if chunk.document))
    verdicts = []
    for claim in claims:
        found = judge_text(claim.text, texts, headers if any(headers) else (), places, encoder)
        chunk = shown[found.chunk] if found.chunk is not None else None
        verdicts.append(
            Verdict(
                id=claim.id,
                claim=claim.text,
                label=found.label,
                evidence=chunk.id if chunk else None,
                quote=chunk.text[found.start : found.end] if chunk else None,
                reason=found.reason,
                probability=found.probability,
            )
        )
    return tuple(verdicts)


def header_of(chunk: RetrievedChunk) -> str:
    """The header row of a table that the chunk goes on with, where the one who cut it noted it down."""
    header = chunk.metadata.get("table_header")
    return header.split("\n", 1)[0] if isinstance(header, str) else ""


def judge_text(
    claim: str,
    texts: Sequence[str],
    headers: Sequence[str] = (),
    places: Sequence[str] = (),
    encoder: Encoder | None = None,
) -> Finding:
    """One statement against texts in their order.

    The probability is a logistic regression over `features.NAMES`, capped where a number, a cell, a negation, an
    opposite or a name differs in a window that otherwise says the same, and where an identifier stands in no text; what
    stands there word for word is supported. With an `encoder` it is then `combined` with what the encoder reads.
    Supported from 0.5; below it contradicted where such a difference was found, else not mentioned.
    """
    said = statement(claim)
    evidence = prepare(texts, headers, places)
    if not evidence.sentences:
        return Finding(NOT_MENTIONED, 0.0, None, 0, 0, "there is no text to look in")
    if not said.stems:
        return _signs(claim, texts)
    signals = measure(said, evidence)
    probability = probability_of(signals)
    read = None
    if encoder is not None and not signals.verbatim:
        read = encoder.read(said, signals, evidence)
        probability = combined(probability, read, signals)
    probability = round(probability, 4)
    best = signals.best[0] if signals.best else None
    conflict = _conflict(signals)
    if probability >= THRESHOLD:
        label = SUPPORTED
    elif conflict and signals.topic >= _SAME_MATTER:
        label = CONTRADICTED
    else:
        label = NOT_MENTIONED
    reason = _reason(label, signals, conflict)
    if read is not None:
        reason += f"; read beside it, {100 * logistic(read):.0f} % likely"
    if best is None or (label == NOT_MENTIONED and signals.coverage == 0.0):
        return Finding(label, probability, None, 0, 0, reason)
    end = min(best.end, best.start + _QUOTE)
    return Finding(label, probability, best.chunk, best.start, end, reason)


def pool(probabilities: Sequence[float]) -> float:
    """The probability that a text of several claims is supported: half the mean, half the least of its claims'.

    The mean alone forgives one invented claim among many, the least alone punishes long texts for one doubtful claim.
    """
    return 0.5 * sum(probabilities) / len(probabilities) + 0.5 * min(probabilities)


def probability_of(signals: Signals, model: Logistic | None = None) -> float:
    """Probability that the evidence supports the claim, after the caps; `model` None: the shipped weights."""
    probability = (model or load("support", NAMES)).probability(signals.vector)
    if signals.verbatim:
        return max(probability, _VERBATIM)
    if signals.unknown:
        probability = _lowered(probability, _UNKNOWN)
    if signals.topic < _SAME_MATTER:
        return probability
    if _contrary(signals):
        return _lowered(probability, _CONFLICT)
    wrong_names = signals.wrong_names and any(name in signals.missing for name in signals.wrong_names)
    return _lowered(probability, _DOUBT) if signals.negated or signals.added or wrong_names else probability


def _contrary(signals: Signals) -> bool:
    return bool(signals.wrong_numbers or signals.cells or signals.opposites or signals.quantifier or signals.roles)


def combined(probability: float, read: float, signals: Signals) -> float:
    """The probability by words and the log odds that the encoder read, as one: the mean of their log odds, words twice.

    Definition: 1 / (1 + exp(−(2 ln(p / (1 − p)) + r) / 3)), p kept within 0.0001 and 0.9999. What stands there word for
    word stays as it is. What the encoder may not overrule stays below the threshold: an identifier that stands in no
    text; a number, cell, opposite, quantifier, role, negation or item of a list that differs where the same matter is
    said. Another name it may: people write one name in many ways.
    """
    if signals.verbatim:
        return probability
    kept = min(max(probability, 1e-4), 1 - 1e-4)
    both = logistic((2 * math.log(kept / (1 - kept)) + read) / 3)
    differs = signals.topic >= _SAME_MATTER and (_contrary(signals) or signals.negated or signals.added)
    if both > _BELOW and (signals.unknown or differs):
        return _BELOW + (THRESHOLD - _BELOW) * 0.9 * (both - _BELOW) / (1 - _BELOW)
    return both


def _lowered(probability: float, cap: tuple[float, float]) -> float:
    base, share = cap
    return min(probability, base + share * probability)


def _signs(claim: str, texts: Sequence[str]) -> Finding:
    """A statement of stop words and signs only: supported when it stands there word for word."""
    wanted = normalise(claim)
    for place, text in enumerate(texts):
        if wanted and wanted in normalise(text):
            start = max(text.find(claim), 0)
            return Finding(
                SUPPORTED, 0.75, place, start, min(len(text), start + len(claim)), "it stands there word for word"
            )
    return Finding(NOT_MENTIONED, 0.25, None, 0, 0, "it holds no word that could be looked up")


def _conflict(signals: Signals) -> str:
    """What differs between claim and evidence, in words; empty when nothing does."""
    if signals.wrong_numbers or signals.cells:
        said, found = (*signals.wrong_numbers, *signals.cells)[0]
        return f"it says {said}, the evidence {found}"
    if signals.opposites:
        said, found = signals.opposites[0]
        return f"it says {said!r}, the evidence {found!r}"
    if signals.roles:
        return f"the roles of {signals.roles[0]!r} and {signals.roles[1]!r} are exchanged"
    if signals.negated:
        return f"one of the two negates {', '.join(repr(word) for word in signals.negated[:3])}"
    if signals.quantifier:
        return "it says so without exception, the evidence with exceptions"
    if signals.added:
        return f"the evidence does not list {', '.join(signals.added[:3])}"
    if signals.wrong_names:
        return f"the evidence has other names in place of {', '.join(repr(name) for name in signals.wrong_names[:3])}"
    return ""


def _reason(label: str, signals: Signals, conflict: str) -> str:
    if signals.verbatim:
        return "it stands there word for word"
    if signals.unknown and label == NOT_MENTIONED:
        return f"no chunk holds {', '.join(signals.unknown[:3])}" + (f"; {conflict}" if conflict else "")
    covered = f"{round(100 * signals.coverage)} % of its telling words stand together in the evidence"
    lacking = f"; not found: {', '.join(signals.missing[:5])}" if signals.missing else ""
    if label == SUPPORTED:
        return covered + lacking
    if label == CONTRADICTED:
        return f"{covered}, but {conflict}"
    return covered + (lacking or "; they do not say it together") + (f"; {conflict}" if conflict else "")
