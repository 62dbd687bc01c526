"""Rules on one row: what retrieval lost, and how."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from ragauge.diagnose.facts import Facts
from ragauge.diagnose.parts import Part
from ragauge.diagnose.why import Certainty, Why, missing_parts
from ragauge.text.normalise import normalise

#: Half of the first places and more are junk or copies: that is why the passage is not among them.
CROWDED = 0.5
#: A passage of which less than this was retrieved is not whole.
WHOLE = 0.9
#: Chunks that answer hold this much, at least, of what the reference says beyond the question.
MOST_SAID = 0.75


def retrieval(facts: Facts) -> Why | None:
    """What is missing, and why: not there at all, a copy or junk in its place, cut in two, too far down."""
    missing = _without_copy(facts)
    if not facts.parts:
        if facts.insufficient and facts.level is None and facts.decision is not None:
            return Why("not_retrieved", ("no labels; the judge finds too little in the context to answer",), "likely")
        return None
    if not missing:
        return _listed(facts) or _partly(facts)
    return _gone(facts, missing)


def _without_copy(facts: Facts) -> list[Part]:
    """The needed passages that are missing word for word: a copy outside the labels says the same."""
    return [part for part in missing_parts(facts) if not any(copy.exact for copy in part.copies)]


def _listed(facts: Facts) -> Why | None:
    """A list of chunks does not say whether each is needed. Of an answer that is right in part, or right once it has
    them all, those that were not retrieved are (or it was distracted, in the second case).
    """
    alone = facts.tried.get("gold_context")
    part_right = facts.value("correctness") == 0.5 or (facts.low("completeness") and facts.value("completeness"))
    mended = facts.correct is False and alone is not None and alone.value("correctness") == 1.0
    if facts.level != "chunk" or facts.sample.labels.groups or not (part_right or mended):
        return None
    apart = replace(facts, parts=tuple(one for part in facts.parts for one in part.each()))
    missing = _without_copy(apart)
    if not missing:
        return None
    why = _gone(apart, missing)
    return replace(why, certainty="likely", also=(*why.also, "distracted") if mended else why.also)


def _gone(facts: Facts, missing: Sequence[Part]) -> Why:
    """Why needed passages were not retrieved."""
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
    cut = [part for part in missing if part.cut]
    split = [part for part in missing if part.whole is not None and part.whole < WHOLE]
    if split and len(split) == len(missing):
        return Why("answer_cut", (f"no chunk holds more than {_most(split):.0%} of the gold quote's words", *seen))
    if cut and len(missing) == len(cut):
        return Why(
            "answer_cut", (f"a chunk ends in the gold quote, or begins in it: {_cut(cut):.0%} of its words", *seen)
        )
    if len(missing) < n_parts and not near:
        got = n_parts - len(missing)
        return Why("multi_hop_part_missing", (f"{got} of {n_parts} needed passages were retrieved", *seen))
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
    return _coarse(facts) if facts.level == "doc" else None


def _coarse(facts: Facts) -> Why | None:
    """Only the document is labelled: does what was retrieved of it answer?

    An answer from the whole document settles it; of a wrong answer, as far as the reference is not in the chunks that
    were retrieved, for it may have been distracted from them. Else a system that declined is believed where anything
    agrees with it: a judge, or that words of the reference are nowhere in what was retrieved.
    """
    silent = facts.decision in ("declined", "no_answer")
    rank = facts.parts[0].document_rank
    whole = facts.tried.get("gold_context")
    if whole is not None and whole.value("correctness") == 1.0 and (silent or facts.correct is False):
        if facts.gold_retrieved or not (silent or _lacking(facts)):
            return None  # what it was given more of was in the way
        shown = f"the document is at rank {rank}; answered from all of it, the answer is right"
        return (
            Why("label_too_coarse", (shown,))
            if silent
            else Why("label_too_coarse", (shown,), "likely", also=("distracted",))
        )
    if whole is not None and silent and whole.declined:
        return None
    reasons = _doubts(facts, silent)
    if not reasons:
        return None
    sure: Certainty = "clear" if len(reasons) > 1 or facts.insufficient else "likely"
    return Why("label_too_coarse", (f"the document is at rank {rank}, but {'; '.join(reasons)}",), sure)


def _lacking(facts: Facts) -> bool:
    """Whether what the reference says is not, or not known to be, in the retrieved chunks of the labelled documents."""
    share = facts.told([chunk.text for chunk in facts.sample.response.context or () if chunk.id in facts.gold_ids])
    if share is None:
        return facts.insufficient is not False
    return share < MOST_SAID


def _doubts(facts: Facts, silent: bool) -> list[str]:
    """What speaks against the context, where only the document is labelled."""
    found = []
    if facts.insufficient or (silent and facts.value("context_sufficiency") == 0):
        found.append("the judge finds too little in its chunks to answer")
    absent = _words_absent(facts)
    if absent:
        found.append(absent)
    chunks = [chunk.text for chunk in facts.sample.response.context or () if chunk.id in facts.gold_ids]
    share = facts.told(chunks)
    if silent and share is not None and share < MOST_SAID and any(chunks):
        found.append(f"its chunks hold {share:.0%} of what the reference says beyond the question")
    return found


def _cut(parts: Sequence[Part]) -> float:
    return min(part.cut for part in parts)


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


def _place(part: Part) -> str:
    what = part.ids[0] if part.ids else part.documents[0] if part.documents else "the passage"
    more = f" or {len(part.ids) - 1} more" if len(part.ids) > 1 else ""
    if not part.deeper:
        return f"{what}{more} is in no list"
    where = ", ".join(f"{name} {rank}" for name, rank in part.deeper.items())
    return f"{what}{more} stands lower: {where}"
