# ruff: noqa: E501 (patterns)
"""An answer on its own: does it decline, does it address the question, what in it needs a source?"""

from __future__ import annotations

import re
from collections.abc import Sequence

from ragauge.core.sample import is_blank
from ragauge.core.verdict import Claim, Verdict
from ragauge.judges.embedded.claims import split_claims
from ragauge.judges.embedded.evidence import prepare, statement
from ragauge.judges.embedded.features import measure
from ragauge.judges.embedded.questions import _type, asked
from ragauge.text.refusals import find_refusal
from ragauge.text.tokens import content_words

_ADVICE = re.compile(
    r"^\W*(?:you (?:can|could|may|might|should) (?:also )?(?:check|consult|contact|ask|try|visit|look|refer|see)|please|"
    r"i (?:recommend|suggest|hope|think|believe)|feel free|let me know|see (?:also|below|above)|for example\W*$)",
    re.IGNORECASE,
)


def judge_abstention(question: str, answer: str, phrases: Sequence[str] = ()) -> Verdict:
    """declined, partial or answered, by the refusal phrases of `ragauge.text.refusals`; a blank answer declines."""
    if is_blank(answer):
        return Verdict(id="answer", label="declined", reason="the answer is blank", probability=1.0)
    refusal = find_refusal(answer, phrases)
    if refusal is None:
        reason = "no words of refusal were found"
        return Verdict(id="answer", label="answered", reason=reason, probability=0.02)
    label = "partial" if refusal.partial else "declined"
    reason = f"it says {refusal.phrase[:80]!r}" + (" and also states something" if refusal.partial else "")
    return Verdict(
        id="answer", label=label, quote=refusal.phrase, reason=reason, probability=0.4 if refusal.partial else 0.98
    )


def judge_relevance(question: str, answer: str) -> Verdict:
    """Rubric 1 to 5, coarse: how much of what is asked about the answer takes up, and whether it has the type asked for.

    A refusal gets 1, an answer that declines a part at most 3. A short answer ("5 GB") of the type that the question
    asks for gets 4, because it need not repeat the question. Wording apart from the question's is rated too low.
    """
    if is_blank(answer):
        return Verdict(id="answer", label="1", reason="the answer is blank", probability=0.0)
    refusal = find_refusal(answer)
    if refusal is not None and not refusal.partial:
        return Verdict(id="answer", label="1", reason="the answer declines", probability=0.0)
    said = asked(question)
    signals = measure(said, prepare((answer,)))
    known, fits = _type(said, [statement(answer)])
    is_short = len(content_words(answer)) <= 6
    score = 0.75 * max(signals.vector[1], signals.coverage) + 0.25 * fits
    if is_short and known and fits:
        score = max(score, 0.65)
    grade = 1 + sum(score >= limit for limit in (0.15, 0.35, 0.6, 0.8))
    reason = f"the answer takes up {round(100 * signals.vector[0])} % of what is asked about"
    if known:
        reason += ", and holds the type of thing asked for" if fits else ", but not the type of thing asked for"
    if refusal is not None:
        grade, reason = min(grade, 3), reason + "; it declines a part"
    return Verdict(id="answer", label=str(grade), reason=reason, probability=round(min(score, 1.0), 4))


def judge_needs(claims: Sequence[Claim]) -> tuple[Verdict, ...]:
    """Does each sentence state something about the world that needs a source?

    Not: questions, greetings, remarks about the answer, advice where to look, refusals, sentences without content words.
    """
    return tuple(_needs(claim) for claim in claims)


def _needs(claim: Claim) -> Verdict:
    if _ADVICE.match(claim.text):
        label, reason = "not_needed", "it advises or addresses the reader"
    elif not split_claims(claim.text):
        label, reason = "not_needed", "it states nothing about the world"
    else:
        label, reason = "needed", "it states something that a source can hold"
    return Verdict(
        id=claim.id, claim=claim.text, label=label, reason=reason, probability=0.9 if label == "needed" else 0.1
    )
