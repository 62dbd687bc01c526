"""One row, one root cause: the first rule that its facts meet, in the order of cause and effect.

System, labels, retrieval, generation: a question whose evidence was never retrieved is not blamed on the prompt.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

from ragauge.analysis.rowcheck import check_row
from ragauge.core.model import Model
from ragauge.core.score import Kind, Unscored
from ragauge.diagnose.causes import CAUSES
from ragauge.diagnose.facts import Copy, Facts, Part
from ragauge.diagnose.passages import covered, holds, tokens
from ragauge.text.citations import strip_citations
from ragauge.text.normalise import normalise

Certainty = Literal["clear", "likely"]
#: Half of the first places and more are junk or copies: that is why the passage is not among them.
CROWDED = 0.5
#: A passage of which less than this was retrieved is not whole.
WHOLE, HALF = 0.9, 0.35
#: An answer that holds the reference, and hardly anything else, is the reference.
SAME_LENGTH = 0.7
#: A claim of this many words that stands in a chunk word for word does not stand there by chance.
MANY_WORDS = 6


class RowCause(Model):
    """Why one row failed. `problems`: what was seen; `evidence`: why it comes to this; `also`: what else is wrong."""

    id: str
    repeat: int = 0
    question: str
    cause: str
    half: str
    certainty: Certainty
    fix: str
    problems: tuple[str, ...]
    evidence: tuple[str, ...]
    also: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()


@dataclass(frozen=True)
class Why:
    """A cause and what shows it. `fix` None: the cause's own."""

    cause: str
    evidence: tuple[str, ...]
    certainty: Certainty = "clear"
    fix: str | None = None
    also: tuple[str, ...] = ()


def problems_of(facts: Facts) -> tuple[str, ...]:
    """What is wrong with a row, by its scores and its labels; empty: nothing. Errors of the judge are none of it."""
    check = check_row(facts.record, facts.thresholds)
    found = list(check.problems) if check.outcome == "bad" else []
    if facts.sample.item.answerable is not False and not facts.record.error:
        missing = _missing(facts)
        if missing and not any("not retrieved" in problem for problem in found):
            found.append(f"{len(missing)} of {len(facts.parts)} needed passages not retrieved")
        if facts.level == "doc" and not missing and facts.parts and facts.insufficient:
            found.append("the document was retrieved, the passage that answers was not")
        if facts.decision in ("answered", "partial"):
            for name in ("citation_accuracy", "completeness", "answer_relevance", "relevance_rubric"):
                if facts.low(name):
                    found.append(f"{name.replace('_', ' ')} {facts.value(name):.2f}")
        if facts.decision == "declined" and not any("declined" in problem for problem in found):
            found.append("declined an answerable question" if facts.sample.item.answerable else "declined")
        if facts.decision == "no_answer":
            found.append("the answer is blank")
    return tuple(found)


def judged(facts: Facts) -> bool:
    """Whether anything could be said about the row: False when every score is a failure of the judge."""
    scores = facts.record.scores.values()
    return bool(facts.record.error) or any(
        not (isinstance(score, Unscored) and score.kind is not Kind.NOT_APPLICABLE) for score in scores
    )


def root_cause(facts: Facts) -> RowCause | None:
    """The cause of a failing row; None for a row without problems."""
    problems = problems_of(facts)
    if not problems:
        return None
    why = next(found for rule in ORDER if (found := rule(facts)) is not None)
    cause = CAUSES[why.cause]
    item = facts.sample.item
    return RowCause(
        id=item.id,
        repeat=facts.sample.repeat,
        question=item.question,
        cause=cause.name,
        half=cause.half,
        certainty=why.certainty,
        fix=why.fix or cause.fix,
        problems=problems,
        evidence=why.evidence,
        also=tuple(name for name in dict.fromkeys((*why.also, *_also(facts, cause.name))) if name != cause.name),
        tags=item.tags,
    )


def _missing(facts: Facts) -> list[Part]:
    return [part for part in facts.parts if part.rank is None]


def _system(facts: Facts) -> Why | None:
    if facts.record.error:
        return Why("system_failed", (facts.record.error,))
    return None


def _unanswerable(facts: Facts) -> Why | None:
    if facts.sample.item.answerable is not False:
        return None
    if facts.decision in ("answered", "partial"):
        return Why("answered_unanswerable", ("the golden item says that the corpus does not answer this",))
    return Why("unexplained", ("an unanswerable question that was not answered",), "likely")


def _disagreement(facts: Facts) -> Why | None:
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


def _label(facts: Facts) -> Why | None:
    """The answer is right and grounded, without the labelled passage: then it is the label that is too narrow."""
    missing = _missing(facts)
    if not missing or facts.correct is not True or facts.faithful is not True or facts.decision != "answered":
        return None
    copies = [copy for part in missing for copy in part.copies if copy.exact]
    shown = [f"{copy.id} holds the labelled quote word for word" for copy in copies[:2]]
    settled = facts.tried.get("gold_context")
    refuted = settled is not None and settled.value("correctness") == 0
    if refuted:
        shown.append("answered from the labelled passage alone, the answer is wrong")
    return Why(
        "wrong_label",
        ("the answer is right and every claim is supported, but no labelled passage was retrieved", *shown),
        "clear" if copies or refuted else "likely",
    )


def _retrieval(facts: Facts) -> Why | None:
    missing = [part for part in _missing(facts) if not any(copy.exact for copy in part.copies)]
    if not facts.parts:
        if facts.insufficient and facts.level is None and facts.decision is not None:
            return Why("not_retrieved", ("no labels; the judge finds too little in the context to answer",), "likely")
        return None
    if not missing:
        return _partly(facts)
    absent = [part for part in missing if part.in_index is False and not part.deeper]
    if absent:
        named = ", ".join(name for part in absent for name in part.documents[:2])
        asked = "quote_query" in facts.tried
        return Why(
            "not_in_index",
            (
                f"{named}: not even its own words bring it back"
                if asked
                else f"{named}: in no list of any question, though several are about it",
            ),
            "clear" if asked else "likely",
        )
    stale = [copy for part in missing for copy in part.copies]
    if stale:
        best = stale[0]
        return Why(
            "stale_duplicate",
            (f"{best.id} at rank {best.rank} holds {best.share:.0%} of the gold quote's words, but is not it",),
        )
    if facts.crowd >= CROWDED:
        return Why("crowded_out", (f"{facts.crowd:.0%} of the retrieved chunks are copies or have no content",))
    return _lost(facts, missing)


def _lost(facts: Facts, missing: Sequence[Part]) -> Why:
    """The passage is in the index and did not come back: how far away was it?"""
    k, n_parts = facts.k, len(facts.parts)
    ranks = [part.best_deeper for part in missing]
    near = all(rank is not None and rank <= max(2 * k, k + 5) for rank in ranks)
    seen = tuple(_place(part) for part in missing)
    document = [part for part in missing if part.document_rank is not None and part.ids]
    coarse = tuple(
        f"its document is at rank {part.document_rank}: a hit at document level that is none" for part in document
    )
    cut = [part for part in missing if part.held is not None and HALF <= part.held < WHOLE]
    split = [part for part in missing if part.whole is not None and part.whole < WHOLE]
    if split and len(split) == len(missing):
        return Why("answer_cut", (f"no chunk holds more than {_most(split):.0%} of the gold quote's words", *seen))
    if len(missing) < n_parts and not near:
        got = n_parts - len(missing)
        return Why("multi_hop_part_missing", (f"{got} of {n_parts} needed passages were retrieved", *seen))
    if cut and len(missing) == len(cut):
        return Why("answer_cut", (f"only {cut[0].held:.0%} of the gold quote's words were retrieved", *seen))
    if any(rank is not None for rank in ranks):
        also = ("chunk_missing",) if document else ()
        return Why("retrieved_low", (*seen, *coarse), fix="larger_k" if near else "rerank", also=also)
    if document:
        return Why("chunk_missing", (*coarse, *seen))
    return Why("not_retrieved", seen)


def _partly(facts: Facts) -> Why | None:
    """Everything labelled is there; is it whole, and does the label say enough?"""
    if facts.correct is True and facts.decision == "answered":
        return None
    cut = [part for part in facts.parts if part.whole is not None and part.whole < WHOLE]
    if cut:
        held = min(part.held if part.held is not None else 1.0 for part in cut)
        shown = (
            f"only {held:.0%} of the gold quote's words were retrieved"
            if held < WHOLE
            else f"its parts are in several chunks: none holds more than {_most(cut):.0%} of the gold quote's words"
        )
        return Why("answer_cut", (shown,), "clear" if held < 0.75 or facts.insufficient else "likely")
    if facts.level == "doc":
        absent = _words_absent(facts)
        if facts.insufficient or absent:
            reason = "the judge finds too little in its chunks to answer" if facts.insufficient else absent
            rank = facts.parts[0].document_rank
            return Why(
                "label_too_coarse",
                (f"the document is at rank {rank}, but {reason}",),
                "clear" if facts.insufficient else "likely",
            )
    return None


def _most(parts: Sequence[Part]) -> float:
    return min(part.whole for part in parts if part.whole is not None)


def _words_absent(facts: Facts) -> str:
    """Where nobody judged the context: are the item's keywords in it at all?"""
    if facts.insufficient is not None or not facts.sample.item.keywords:
        return ""
    context = facts.sample.response.context
    text = normalise(" ".join(chunk.text for chunk in context or ()))
    absent = [word for word in facts.sample.item.keywords if normalise(word) not in text]
    return f"{', '.join(absent)} is in none of its chunks" if absent else ""


def _order(facts: Facts) -> Why | None:
    """Only what was tried can show these two."""
    now = facts.value("correctness")
    shuffled, alone = facts.tried.get("shuffled"), facts.tried.get("gold_context")
    if now is None or now == 1.0 or _missing(facts):
        return None
    if alone is not None and alone.value("correctness") == 1.0:
        on = _stale(facts)
        if on:
            return Why("stale_duplicate", (f"the answer rests on {on[0].id}, which nearly says the gold quote",))
        return Why("distracted", ("answered from the gold passages alone, the answer is right",))
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


def _declined(facts: Facts) -> Why | None:
    if facts.decision not in ("declined", "no_answer"):
        return None
    known = bool(facts.parts)
    shown = "every needed passage was retrieved" if known else "nothing says that the context is not enough"
    return Why("wrong_abstention", (shown,), "clear" if known else "likely")


def _label_against_evidence(facts: Facts) -> Why | None:
    """Grounded in the labelled passage, judged wrong, and the reference is not in that passage either."""
    if facts.value("correctness") != 0 or facts.faithful is not True or not facts.used & facts.gold_ids:
        return None
    recall = facts.value("context_recall")
    if recall is None or recall > 0:
        return None
    return Why(
        "wrong_label",
        ("every claim is supported by the labelled passage, which holds nothing of the reference",),
        "clear" if _still_wrong(facts) else "likely",
    )


def _still_wrong(facts: Facts) -> bool:
    tried = facts.tried.get("gold_context")
    return tried is not None and tried.value("correctness") == 0


def _unfaithful(facts: Facts) -> Why | None:
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


def _wrong(facts: Facts) -> Why | None:
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
    if facts.value("correctness") == 0.5 or facts.low("completeness"):
        return Why("incomplete", ("what it says is supported; the reference says more",))
    sure: Certainty = "clear" if facts.used and facts.parts else "likely"
    return Why("wrong_despite_evidence", ("every needed passage was retrieved, and the answer is wrong",), sure)


def _right(facts: Facts) -> Why | None:
    """Right and grounded: what is left are citations, completeness and relevance."""
    if facts.low("citation_accuracy"):
        return Why("miscited", (f"citation accuracy {facts.value('citation_accuracy'):.2f}",))
    if facts.low("completeness"):
        return Why("incomplete", (f"completeness {facts.value('completeness'):.2f}",))
    if facts.low("answer_relevance") or facts.low("relevance_rubric"):
        return Why("off_topic", ("it does not address the question",))
    return None


def _also(facts: Facts, cause: str) -> tuple[str, ...]:
    """What else is wrong with the row, whatever comes first."""
    found = []
    if CAUSES[cause].half != "generation" and facts.decision in ("answered", "partial") and facts.faithful is False:
        found.append("unsupported")
    if facts.low("citation_accuracy"):
        found.append("miscited")
    alone = facts.tried.get("gold_context")
    if CAUSES[cause].half == "retrieval" and alone is not None and alone.value("correctness") == 0:
        found.append("wrong_despite_evidence")
    return tuple(found)


def _place(part: Part) -> str:
    what = part.ids[0] if part.ids else part.documents[0] if part.documents else "the passage"
    more = f" or {len(part.ids) - 1} more" if len(part.ids) > 1 else ""
    if not part.deeper:
        return f"{what}{more} is in no list"
    where = ", ".join(f"{name} {rank}" for name, rank in part.deeper.items())
    return f"{what}{more} stands lower: {where}"


#: The rules in the order of cause and effect; the last one always applies.
ORDER: tuple[Callable[[Facts], Why | None], ...] = (
    _system, _unanswerable, _disagreement, _label, _retrieval, _order, _declined, _label_against_evidence,
    _unfaithful, _wrong, _right, lambda facts: Why("unexplained", ("no rule explains it",), "likely"),
)  # fmt: skip
