"""Rules on one row: what the generator made of what was retrieved."""

from __future__ import annotations

from ragauge.diagnose.facts import APART, TOGETHER, Facts
from ragauge.diagnose.parts import Copy
from ragauge.diagnose.passages import covered, tokens, told
from ragauge.diagnose.why import Certainty, Why, missing_parts
from ragauge.text.citations import strip_citations


def order(facts: Facts) -> Why | None:
    """Only what was tried can show these two."""
    now = facts.value("correctness")
    shuffled, alone = facts.tried.get("shuffled"), facts.tried.get("gold_context")
    if now is None or now == 1.0 or missing_parts(facts):
        return None
    if alone is not None and alone.value("correctness") == 1.0:
        on = _stale(facts)
        if on:
            return Why("stale_duplicate", (f"the answer rests on {on[0].id}, which nearly says the gold quote",))
        sure: Certainty = "likely" if facts.level == "doc" and not facts.gold_retrieved else "clear"
        what = "labelled documents" if facts.level == "doc" else "gold passages"
        return Why("distracted", (f"answered from the {what} alone, the answer is right",), sure)
    if shuffled is not None and shuffled.value("correctness") == 1.0:
        return Why("order_sensitive", ("with the same chunks in another order, the answer is right",))
    return None


def _stale(facts: Facts) -> list[Copy]:
    """The outdated copies that the answer rests on: its words or numbers stand there, and not in the labelled chunks.

    Without the text of a labelled chunk to compare with, what the judge names as evidence counts.
    """
    answer, context = facts.sample.response.answer, facts.sample.response.context
    copies = {copy.id: copy for part in facts.parts for copy in part.copies if not copy.exact}
    if not copies or not answer or context is None:
        return []
    texts = {chunk.id: chunk.text for chunk in context.chunks}
    gold = [texts[name] for name in facts.gold_ids if texts.get(name)]
    if not gold:
        return [copy for name, copy in copies.items() if name in facts.used]
    said = strip_citations(answer, tuple(texts))
    new = {word for word in tokens(said) if any(c.isdigit() for c in word)} - {w for text in gold for w in tokens(text)}
    found = []
    for name, copy in copies.items():
        nearer = covered(said, [texts[name]]) > covered(said, gold) + 0.05
        if nearer or new & set(tokens(texts[name])):
            found.append(copy)
    return found


def declined(facts: Facts) -> Why | None:
    """It says nothing, and nothing says that it was given too little."""
    if facts.decision not in ("declined", "no_answer"):
        return None
    known = bool(facts.parts)
    shown = "every needed passage was retrieved" if known else "nothing says that the context is not enough"
    return Why("wrong_abstention", (shown,), "clear" if known else "likely")


def unfaithful(facts: Facts) -> Why | None:
    """Claims that no chunk supports: against the context, beside it, or beyond it."""
    if facts.faithful is not False:
        return None
    on = _stale(facts)
    if on and facts.correct is False:
        return Why("stale_duplicate", (f"the answer rests on {on[0].id}, which nearly says the gold quote",))
    supported, against, nowhere = (facts.claims(label) for label in ("supported", "contradicted", "not_mentioned"))
    sure: Certainty = "clear" if facts.parts else "likely"
    if against and len(against) >= len(nowhere):
        return Why("contradicted", tuple(f"contradicted: {claim}" for claim in against[:2]), sure)
    unused = not facts.used & facts.gold_ids if facts.parts and facts.used else not supported
    if not supported or (unused and facts.correct is False):
        return Why("retrieved_unused", tuple(f"in no chunk: {claim}" for claim in nowhere[:2]), sure)
    return Why("unsupported", tuple(f"in no chunk: {claim}" for claim in nowhere[:2]), sure)


def wrong(facts: Facts) -> Why | None:
    """Grounded, and wrong all the same."""
    if facts.correct is not False:
        return None
    on = _stale(facts)
    if on:
        return Why("stale_duplicate", (f"the answer rests on {on[0].id}, which nearly says the gold quote",))
    if facts.low("answer_relevance") or facts.low("relevance_rubric"):
        return Why("off_topic", ("the answer's claims are supported, and it does not address the question",))
    unused = bool(facts.parts) and bool(facts.used) and not facts.used & facts.gold_ids
    if unused:
        return Why("retrieved_unused", ("the answer rests on other chunks than the labelled ones",))
    if facts.value("correctness") == 0.5 or (facts.low("completeness") and facts.value("completeness")):
        return Why("incomplete", ("what it says is supported; the reference says more",))
    said, unsaid = _parts_said(facts)
    if said and unsaid:
        shown = f"it says what {said} of {said + unsaid} needed passages say, and nothing of the others"
        return Why("incomplete", (shown,), "likely")
    sure: Certainty = "clear" if facts.used and facts.parts else "likely"
    return Why("wrong_despite_evidence", ("every needed passage was retrieved, and the answer is wrong",), sure)


def _parts_said(facts: Facts) -> tuple[int, int]:
    """How many pieces of the labelled evidence the answer says, and of how many it says next to nothing."""
    question, answer = facts.sample.item.question, facts.sample.response.answer or ""
    shares = [
        max(share for part in group.any if part.quote and (share := told(part.quote, question, [answer])) is not None)
        for group in facts.sample.item.evidence or ()
        if any(part.quote and told(part.quote, question, [answer]) is not None for part in group.any)
    ]
    return sum(share >= TOGETHER for share in shares), sum(share < APART for share in shares)


def right(facts: Facts) -> Why | None:
    """Right and grounded: what is left are citations, completeness and relevance."""
    on = _stale(facts) if facts.low("completeness") else []
    if on:
        return Why("stale_duplicate", (f"the answer rests on {on[0].id}, which nearly says the gold quote",))
    if facts.low("citation_accuracy"):
        return Why("miscited", (f"citation accuracy {facts.value('citation_accuracy'):.2f}",))
    if facts.low("completeness"):
        return Why("incomplete", (f"completeness {facts.value('completeness'):.2f}",))
    if facts.low("answer_relevance") or facts.low("relevance_rubric"):
        return Why("off_topic", ("it does not address the question",))
    return None
