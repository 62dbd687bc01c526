"""Rules on one row: the judge against the text, the golden item against its own evidence."""

from __future__ import annotations

from ragauge.diagnose.facts import SAID, Facts
from ragauge.diagnose.passages import holds, tokens
from ragauge.diagnose.why import Why, missing_parts
from ragauge.text.normalise import normalise

#: An answer that holds the reference, and hardly anything else, is the reference.
SAME_LENGTH = 0.7
#: A claim of this many words that stands in a chunk word for word does not stand there by chance.
MANY_WORDS = 6


def disagreement(facts: Facts) -> Why | None:
    """Verdicts that the text itself refutes: a right answer judged wrong, unsupported claims that stand there."""
    unsupported = [*facts.claims("contradicted"), *facts.claims("not_mentioned")]
    shown = [chunk.text for chunk in facts.sample.response.context or ()]
    if unsupported and all(len(tokens(c)) >= MANY_WORDS and any(holds(c, t) for t in shown) for c in unsupported):
        return Why("judge_disagreement", (f"judged unsupported, but it stands in a retrieved chunk: {unsupported[0]}",))
    reference, answer = facts.sample.item.answer, facts.sample.response.answer
    if facts.value("correctness") != 0 or not reference or not answer or facts.decision != "answered":
        return None
    plain, said = normalise(reference), normalise(answer)
    same = len(plain) >= 12 and plain in said and len(plain) >= SAME_LENGTH * len(said)
    if facts.value("exact_match") == 1 or (same and not facts.claims("contradicted")):
        return Why("judge_disagreement", ("judged wrong, but the answer is the reference, word for word",))
    return None


def label(facts: Facts) -> Why | None:
    """The answer is right and grounded, without any labelled passage: then it is the label that is too narrow.

    Where some of the needed passages were retrieved, or the answer leaves something out, others are missing in earnest.
    """
    missing = missing_parts(facts)
    if not missing or facts.decision != "answered" or not facts.grounded:
        return None
    copies = [copy for part in missing for copy in part.copies if copy.exact]
    everywhere = all(any(copy.exact for copy in part.copies) for part in missing)
    if not everywhere and len(missing) < len(facts.parts):
        return None
    # A passage that says nothing of the reference cannot make an answer right; one that does was needed.
    says = facts.told([facts.sample.response.answer or ""])
    by_text = facts.apart is True and says is not None and says >= SAID
    if not by_text and (facts.correct is not True or facts.low("completeness")):
        return None
    shown = [f"{copy.id} holds the labelled quote word for word" for copy in copies[:2]]
    if by_text:
        shown.append("the reference is in the answer, and hardly a word of it in the labelled passage")
    settled = facts.tried.get("gold_context")
    refuted = settled is not None and settled.value("correctness") == 0
    if refuted:
        shown.append("answered from the labelled passage alone, the answer is wrong")
    return Why(
        "wrong_label",
        ("the answer is right and every claim is supported, but no labelled passage was retrieved", *shown),
        "clear" if copies or refuted or by_text else "likely",
    )


def label_against_evidence(facts: Facts) -> Why | None:
    """Grounded in the labelled passage, judged wrong, and the reference is not in that passage either."""
    if facts.value("correctness") != 0 or not facts.grounded or not facts.used & facts.gold_ids:
        return None
    if not facts.apart:
        return None
    return Why(
        "wrong_label",
        ("every claim is supported by the labelled passage, which holds nothing of the reference",),
        "clear" if _still_wrong(facts) else "likely",
    )


def _still_wrong(facts: Facts) -> bool:
    tried = facts.tried.get("gold_context")
    return tried is not None and tried.value("correctness") == 0
