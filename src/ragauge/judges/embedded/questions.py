# ruff: noqa: E501 (patterns)
"""Chunks seen from a question: is each useful, are they enough, does an answer address it?"""

from __future__ import annotations

import re
from collections.abc import Sequence

from ragauge.core.sample import RetrievedChunk, is_blank
from ragauge.core.verdict import Verdict
from ragauge.judges.embedded import features
from ragauge.judges.embedded.claims import split_claims
from ragauge.judges.embedded.evidence import Evidence, Statement, prepare, statement
from ragauge.judges.embedded.features import measure
from ragauge.judges.embedded.model import load
from ragauge.judges.embedded.support import THRESHOLD, judge_text

#: Features of a question against text: those of `features.measure` that make sense for one, and two of its own.
_SHARED = (
    "recall", "recall_soft", "best_sentence", "best_pair", "best_two", "pairs", "n_missing", "names_found",
    "n_names_missing", "numbers_found", "exclusive", "negation", "length",
)  # fmt: skip
NAMES = (*_SHARED, "type_near", "type_known", "rare_found")
_FROM_MEASURE = tuple(features.NAMES.index(name) for name in _SHARED)
_WHO = re.compile(
    r"\b(?:who|whom|whose|which (?:person|company|team|country|city)|where|what is the name)\b", re.IGNORECASE
)
_WHEN = re.compile(
    r"\b(?:when|what (?:year|date|day|month|time)|which (?:year|date|day|month)|how (?:long|old|often))\b",
    re.IGNORECASE,
)
_HOW_MANY = re.compile(
    r"\b(?:how (?:many|much|large|big|far|fast|high|deep|tall|long|old)|what (?:percentage|percent|number|size|limit|price|"
    r"version|port|amount|rate|temperature)|maximum|minimum|timeout|limit|cost)\b",
    re.IGNORECASE,
)  # fmt: skip
#: Words that ask and do not tell what is asked about.
_ASKING_WORDS = """
name many much long far old often kind type way happen mean tell explain describe list give show please define work
"""
_ASKING = frozenset(_ASKING_WORDS.split())


def asked(question: str) -> Statement:
    """What a question asks about."""
    return statement(question)


def question_vector(question: Statement, evidence: Evidence) -> tuple[float, ...]:
    """The features (`NAMES`) of a question against evidence.

    `type_near`: the best window has the type of thing asked for (a name, a date, an amount) beyond the question's own
    words; `type_known`: the question asks for such a type. `rare_found`: the most telling word is in the evidence.
    """
    signals = measure(question, evidence)
    base = [signals.vector[place] for place in _FROM_MEASURE]
    known, near = _type(question, signals.best)
    stems = [one for one in question.stems if one not in _ASKING]
    rare = max(stems, key=lambda one: (len(one), one), default="")
    return (*base, near, known, float(bool(rare) and evidence.knows(rare)))


def _type(question: Statement, window: Sequence[Statement]) -> tuple[float, float]:
    text = question.text
    if _HOW_MANY.search(text) or _WHEN.search(text):
        own = {q.text for q in question.quantities}
        return 1.0, float(any(q.text not in own for s in window for q in s.quantities))
    if _WHO.search(text):
        return 1.0, float(any(s.names - question.stem_set for s in window))
    return 0.0, 0.5


def judge_usefulness(question: str, chunks: Sequence[RetrievedChunk], reference: str | None) -> tuple[Verdict, ...]:
    """One verdict per chunk: useful when it bears on what is asked, or, with a reference, holds what the reference says.

    With a reference the probability is the greater of the two; a chunk that only shares the topic of the question but
    states none of a reference that other chunks do state is not lowered: usefulness is judged chunk by chunk.
    """
    wanted = [claim.text for claim in split_claims(reference)] if reference and not is_blank(reference) else []
    return tuple(_useful(asked(question), wanted, chunk) for chunk in chunks)


def _useful(question: Statement, wanted: Sequence[str], chunk: RetrievedChunk) -> Verdict:
    if is_blank(chunk.text):
        return Verdict(id=chunk.id, label="not_useful", reason="the chunk shows no text", probability=0.0)
    evidence = prepare((chunk.text,))
    signals = measure(question, evidence)
    probability = load("usefulness", NAMES).probability(question_vector(question, evidence))
    reason = f"{round(100 * signals.coverage)} % of what is asked about stands together in it"
    if wanted:
        found = [judge_text(text, (chunk.text,)) for text in wanted]
        stated = max(finding.probability for finding in found)
        n = sum(finding.label == "supported" for finding in found)
        probability = 0.3 * probability + 0.7 * stated
        reason += f"; it states {n} of {len(wanted)} claims of the reference"
    label = "useful" if probability >= THRESHOLD else "not_useful"
    best = signals.best[0] if signals.best else None
    quote = chunk.text[best.start : best.end] if best and signals.coverage > 0 else None
    return Verdict(
        id=chunk.id, label=label, evidence=chunk.id if quote else None, quote=quote, reason=reason,
        probability=round(probability, 4),
    )  # fmt: skip


def judge_sufficiency(question: str, chunks: Sequence[RetrievedChunk]) -> Verdict:
    """Do the chunks together hold enough to answer?"""
    shown = [chunk for chunk in chunks if not is_blank(chunk.text)]
    if not shown:
        return Verdict(id="context", label="insufficient", reason="there is no text", probability=0.0)
    evidence = prepare([chunk.text for chunk in shown])
    said = asked(question)
    probability = load("sufficiency", NAMES).probability(question_vector(said, evidence))
    signals = measure(said, evidence)
    best = signals.best[0] if signals.best else None
    reason = f"{round(100 * signals.coverage)} % of what is asked about stands together"
    if signals.missing:
        reason += f"; not found anywhere: {', '.join(signals.missing[:5])}"
    return Verdict(
        id="context",
        label="sufficient" if probability >= THRESHOLD else "insufficient",
        evidence=shown[best.chunk].id if best else None,
        quote=shown[best.chunk].text[best.start : best.end] if best else None,
        reason=reason,
        probability=round(probability, 4),
    )
