"""From document labels to chunk labels: which chunks of the right documents hold the answer?

For every item that names documents (`sources`) and no passages, the chunks of these documents are scored by how much
of the reference answer stands in them: its content words weighted by rarity, its numbers, its keywords. The best is
proposed with the sentences that show it, as evidence `{document, quote}` that survives re-chunking.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from ragauge.core.model import Model
from ragauge.core.sample import Chunk, Evidence, EvidenceGroup, GoldenItem, RetrievedContext, is_blank
from ragauge.dataset.evidence import CorpusIndex
from ragauge.dataset.lexical import Lexical, stems
from ragauge.dataset.quotes import folded
from ragauge.ranking.single import score_one
from ragauge.text.numbers import quantities
from ragauge.text.sentences import split_sentences

#: Share of the answer's (weighted) words that a chunk must hold to be proposed, and to be proposed without a doubt.
POSSIBLE, SURE = 0.35, 0.6
#: A second chunk is an alternative when it holds at least this share of what the best one holds.
ALTERNATIVE = 0.95
_LONGEST_QUOTE = 400


class Proposal(Model):
    """Chunks that hold an item's answer. `share` of the answer's words in the best one (0 to 1), `sure` or not.

    `evidence`: one group for each source that has a part of the answer of its own. `why`: what was found, in words.
    """

    item: str
    chunks: tuple[str, ...]
    evidence: tuple[EvidenceGroup, ...]
    share: float
    sure: bool
    why: str


class Unlabelled(Model):
    """An item for which nothing can be proposed, and why."""

    item: str
    why: str


@dataclass(frozen=True)
class Labelling:
    """What is proposed for a golden set, and what could not be."""

    proposals: tuple[Proposal, ...]
    unlabelled: tuple[Unlabelled, ...]


def label_chunks(items: Iterable[GoldenItem], corpus: CorpusIndex) -> Labelling:
    """Propose chunks for every answerable item that has sources and neither chunks nor evidence with a passage."""
    lexical = Lexical(corpus.chunks)
    proposals: list[Proposal] = []
    left: list[Unlabelled] = []
    for item in items:
        if item.answerable is False or item.chunks or _has_passages(item) or not item.sources:
            continue
        found = _proposal(item, corpus, lexical)
        if isinstance(found, Proposal):
            proposals.append(found)
        else:
            left.append(Unlabelled(item=item.id, why=found))
    return Labelling(tuple(proposals), tuple(left))


def with_proposals(
    items: Iterable[GoldenItem], proposals: Iterable[Proposal], *, only_sure: bool = True
) -> list[GoldenItem]:
    """The items with the proposed evidence, no longer verified: a person has to look at the passages."""
    by_id = {one.item: one for one in proposals if one.sure or not only_sure}
    return [
        item.model_copy(
            update={
                "evidence": by_id[item.id].evidence,
                "verified": False,
                "metadata": {**item.metadata, "evidence_proposed": True},
            }
        )
        if item.id in by_id
        else item
        for item in items
    ]


def _has_passages(item: GoldenItem) -> bool:
    parts = [part for group in item.evidence or () for part in group.any]
    return any(part.quote is not None or part.start is not None for part in parts)


def _proposal(item: GoldenItem, corpus: CorpusIndex, lexical: Lexical) -> Proposal | str:
    if is_blank(item.answer):
        return "no reference answer to look for"
    assert item.answer is not None
    chunks = [chunk for name in item.sources or () for chunk in corpus.by_document.get(name, ())]
    if not chunks:
        return "none of its sources is in the corpus"
    wanted = _weights(item, lexical)
    if not wanted:
        return "the reference answer has no words to look for"
    scored = sorted(
        ((_held(chunk, item, wanted), place) for place, chunk in enumerate(chunks)), key=lambda e: (-e[0], e[1])
    )
    best, place = scored[0]
    if best < POSSIBLE:
        return f"no chunk of its sources holds more than {best:.0%} of the answer's words"
    same = [chunks[other] for score, other in scored if score >= ALTERNATIVE * best and score >= POSSIBLE]
    alternatives = [evidence for chunk in same if (evidence := _evidence(chunk, item, wanted)) is not None]
    if not alternatives:
        return "no sentence could be quoted"
    groups = [EvidenceGroup(any=tuple(dict.fromkeys(alternatives)))]
    second = _second_part(item, wanted, chunks[place], [chunks[other] for _, other in scored])
    if second is not None:
        groups.append(EvidenceGroup(any=(second,)))
    names = [name for group in groups for part in group.any for name in corpus.resolve(part).chunks]
    numbers = _numbers(item, chunks[place])
    return Proposal(
        item=item.id,
        chunks=tuple(dict.fromkeys(names)),
        evidence=tuple(groups),
        share=best,
        sure=best >= SURE and numbers is not False,
        why=f"{best:.0%} of the answer's words"
        + ("" if numbers is None else ", its numbers too" if numbers else ", but not its numbers")
        + (f"; {len(groups)} passages are needed" if len(groups) > 1 else "")
        + (f"; {len(same)} chunks hold it equally well" if len(same) > 1 else ""),
    )


def _weights(item: GoldenItem, lexical: Lexical) -> dict[str, float]:
    """Stem → weight: rarity in the corpus; words of the question count half, keywords double."""
    asked = set(stems(item.question))
    keys = {word for keyword in item.keywords or () for word in stems(keyword)}
    weights: dict[str, float] = {}
    for word in stems(item.answer or ""):
        weights[word] = lexical.weight(word) * (2.0 if word in keys else 0.5 if word in asked else 1.0)
    return weights


def _held(chunk: Chunk, item: GoldenItem, wanted: Mapping[str, float]) -> float:
    there = set(stems(chunk.text))
    share = sum(weight for word, weight in wanted.items() if word in there) / sum(wanted.values())
    return share * (0.8 if _numbers(item, chunk) is False else 1.0)


def _numbers(item: GoldenItem, chunk: Chunk) -> bool | None:
    """Whether every number of the answer stands in the chunk; None when it has none."""
    from ragauge.text.numbers import agree

    wanted = quantities(item.answer or "")
    if not wanted:
        return None
    there = quantities(chunk.text)
    return all(any(agree(one, other) for other in there) for one in wanted)


def _evidence(chunk: Chunk, item: GoldenItem, wanted: Mapping[str, float]) -> Evidence | None:
    """The sentence of a chunk that holds most of the answer, with the next when that adds something."""
    spans = [span for span in split_sentences(chunk.text) if folded(span.text)]
    if not spans:
        return None

    def score(text: str) -> float:
        there = set(stems(text))
        return sum(weight for word, weight in wanted.items() if word in there)

    best = max(range(len(spans)), key=lambda place: (score(spans[place].text), -place))
    if score(spans[best].text) <= 0:
        return None
    start, end = spans[best].start, spans[best].end
    for other in (best - 1, best + 1):
        if 0 <= other < len(spans):
            wide = (min(start, spans[other].start), max(end, spans[other].end))
            gain = score(chunk.text[wide[0] : wide[1]]) - score(chunk.text[start:end])
            if gain > 0.2 * sum(wanted.values()) and wide[1] - wide[0] <= _LONGEST_QUOTE:
                start, end = wide
    quote = chunk.text[start:end].strip()[:_LONGEST_QUOTE]
    return Evidence(document=chunk.document or chunk.id, quote=quote) if quote else None


def _second_part(
    item: GoldenItem, wanted: Mapping[str, float], best: Chunk, ranked: Sequence[Chunk]
) -> Evidence | None:
    """For questions over several documents: the passage of another source that holds what the best one lacks."""
    if len(item.sources or ()) < 2 or "multi_hop" not in item.tags:
        return None
    there = set(stems(best.text))
    missing = {word: weight for word, weight in wanted.items() if word not in there}
    if sum(missing.values()) < 0.15 * sum(wanted.values()):
        return None
    others = [chunk for chunk in ranked if (chunk.document or chunk.id) != (best.document or best.id)]
    for chunk in sorted(others, key=lambda chunk: -sum(missing.get(word, 0.0) for word in set(stems(chunk.text)))):
        held = sum(missing.get(word, 0.0) for word in set(stems(chunk.text)))
        return _evidence(chunk, item, missing) if held >= 0.5 * sum(missing.values()) else None
    return None


def both_levels(
    contexts: Mapping[str, RetrievedContext], labelled: Mapping[str, tuple[dict[str, int], dict[str, int]]], k: int = 5
) -> dict[str, dict[str, float]]:
    """Retrieval measures at document and at chunk level over the same questions: what the coarse labels hid.

    `labelled`: item id → (chunk grades, document grades). Means over the items that have both and were retrieved for;
    the number of them is under "n".
    """
    names = ("hit_rate", "recall", "reciprocal_rank", "ndcg")
    sums = {level: dict.fromkeys(names, 0.0) for level in ("doc", "chunk")}
    n = 0
    for item, (chunks, documents) in labelled.items():
        context = contexts.get(item)
        if context is None or not chunks or not documents:
            continue
        n += 1
        for name in names:
            cut = None if name == "reciprocal_rank" else k
            sums["doc"][name] += score_one(name, context.documents, documents, cut)
            sums["chunk"][name] += score_one(name, context.ids, chunks, cut)
    means = {level: {name: total / n if n else 0.0 for name, total in found.items()} for level, found in sums.items()}
    return means | {"n": {"questions": float(n)}}
