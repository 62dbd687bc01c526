"""What is known of one row: where each needed passage stands, what was answered, what the judge said."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal

from ragauge.analysis.thresholds import Thresholds
from ragauge.core.counterfactual import Counterfactual
from ragauge.core.metric import parse_metric_key
from ragauge.core.run import Record
from ragauge.core.sample import EvidenceGroup, RetrievedChunk, Sample
from ragauge.core.score import Scored
from ragauge.diagnose.passages import copies_within, covered, holds, says_nothing, tokens
from ragauge.text.refusals import find_refusal
from ragauge.text.tokens import content_words

#: A chunk that is not labelled and holds this much of the gold quote nearly says it.
NEARLY = 0.6
#: A labelled chunk that holds this much of a supported claim supports it.
SAID = 0.8
#: Quotes with fewer words than this are short.
SHORT = 12


@dataclass(frozen=True)
class Copy:
    """A retrieved chunk outside the labels that holds the gold quote: word for word (`exact`), or nearly."""

    id: str
    rank: int
    share: float
    exact: bool


@dataclass(frozen=True)
class Part:
    """One needed passage, any of `ids` being enough. Ranks count from 1; None: not there.

    `deeper`: list name → best rank in what the system considered (steps, a deeper search). `held`: the share of the
    gold quote's words that the retrieved chunks of its documents hold together (None: no quote); `whole`: the most that
    any single one of them holds, those of a deeper search included.
    """

    ids: tuple[str, ...]
    documents: tuple[str, ...]
    rank: int | None
    document_rank: int | None
    deeper: Mapping[str, int] = field(default_factory=dict)
    held: float | None = None
    whole: float | None = None
    copies: tuple[Copy, ...] = ()
    in_index: bool | None = None

    @property
    def best_deeper(self) -> int | None:
        """The best rank in the last list that holds it: what a larger cut would have to reach."""
        for name in ("rerank", "fused", "more_k", "dense", "bm25"):
            if name in self.deeper:
                return self.deeper[name]
        return min(self.deeper.values(), default=None)


@dataclass(frozen=True)
class RunFacts:
    """What only all rows together show.

    `seen`: documents that any list of any row holds. `asked`: gold document → number of questions about it. `hubs`:
    chunks that come back for every fifth question and more, and are labelled for none.
    """

    n_questions: int
    seen: frozenset[str]
    asked: Mapping[str, int]
    hubs: frozenset[str]


@dataclass(frozen=True)
class Facts:
    """One row, read."""

    record: Record
    parts: tuple[Part, ...]
    level: Literal["chunk", "doc"] | None
    k: int
    hubs: frozenset[str]
    tried: Mapping[str, Counterfactual]
    thresholds: Thresholds

    @property
    def sample(self) -> Sample:
        """Item and response."""
        return self.record.sample

    def score(self, name: str) -> Scored | None:
        """The first score with this bare name, if there is a value."""
        for key, score in self.record.scores.items():
            if parse_metric_key(key)[0] == name and isinstance(score, Scored):
                return score
        return None

    def value(self, name: str) -> float | None:
        """Its value."""
        found = self.score(name)
        return None if found is None else found.value

    def low(self, name: str) -> bool:
        """Whether it was scored, and does not reach its threshold."""
        found, threshold = self.value(name), self.thresholds.of(name)
        return found is not None and threshold is not None and found < threshold.good

    @cached_property
    def decision(self) -> str | None:
        """answered, partial, declined, no_answer; None when the system gives no answers at all."""
        response = self.sample.response
        if response.abstained:
            return "declined"
        for name in ("abstention", "wrong_abstention", "hallucination_on_unanswerable", "answered_without_context"):
            found = self.score(name)
            if found is not None and isinstance(found.details.get("decision"), str):
                return str(found.details["decision"])
        if response.answer is None:
            return None
        if not response.answer.strip():
            return "no_answer"
        refusal = find_refusal(response.answer)
        if refusal is None or response.abstained is False:
            return "answered"
        return "partial" if refusal.partial else "declined"

    @cached_property
    def crowd(self) -> float:
        """The share of the retrieved places that copies, chunks without content, or hubs take."""
        context = self.sample.response.context
        return crowd(context.chunks if context is not None else (), self.hubs)

    @property
    def correct(self) -> bool | None:
        """Whether the answer is right; None when it was not judged."""
        found = self.value("correctness")
        if found is not None:
            return found == 1.0
        return False if self.value("exact_match") is None and self.value("keyword_hits") == 0 else None

    @property
    def faithful(self) -> bool | None:
        """Whether the answer's claims are supported, as far as this item or the profile asks."""
        found = self.score("faithfulness")
        if found is None:
            return None
        threshold = self.thresholds.of("faithfulness")
        own = self.sample.item.faithfulness_threshold
        limit = own if own is not None else threshold.good if threshold is not None else 1.0
        return found.value >= limit

    @property
    def insufficient(self) -> bool | None:
        """What a judge says of the context: not enough to answer. None: nobody said."""
        sufficiency, recall = self.value("context_sufficiency"), self.value("context_recall")
        if recall is not None:
            return recall < 0.5
        return None if sufficiency is None else sufficiency == 0

    @property
    def gold_ids(self) -> frozenset[str]:
        """Chunks that are labelled as holding the answer; at document level, those of the labelled documents."""
        labels = self.sample.labels
        if labels.chunks is not None:
            return frozenset(name for name, grade in labels.chunks.items() if grade > 0)
        documents = {name for name, grade in (labels.documents or {}).items() if grade > 0}
        context = self.sample.response.context
        return frozenset(chunk.id for chunk in context or () if chunk.document in documents)

    @cached_property
    def used(self) -> frozenset[str]:
        """Chunks that support a claim of the answer: those that the judge names, and labelled ones that say it, too.

        A judge names one chunk; of two that say the same, the labelled one is no less used.
        """
        found = self.score("faithfulness")
        supported = [
            verdict for verdict in (found.verdicts if found is not None else ()) if verdict.label == "supported"
        ]
        named = {verdict.evidence for verdict in supported if verdict.evidence is not None}
        context = self.sample.response.context
        for chunk in context or ():
            claims = [verdict.claim for verdict in supported if verdict.claim] if chunk.id in self.gold_ids else []
            if any(covered(claim, [chunk.text]) >= SAID for claim in claims):
                named.add(chunk.id)
        return frozenset(named)

    def claims(self, label: str) -> list[str]:
        """The answer's claims with this verdict."""
        found = self.score("faithfulness")
        return [v.claim or v.id for v in (found.verdicts if found is not None else ()) if v.label == label]


def run_facts(records: Iterable[Record]) -> RunFacts:
    """One pass over all rows."""
    n = 0
    seen: set[str] = set()
    asked: Counter[str] = Counter()
    retrieved: Counter[str] = Counter()
    labelled: set[str] = set()
    for record in records:
        n += 1
        sample = record.sample
        context = sample.response.context
        for chunk in context or ():
            seen.add(chunk.document or chunk.id)
        for step in sample.response.steps:
            seen.update(chunk.document or chunk.id for chunk in step.chunks)
        retrieved.update(set(context.ids) if context is not None else ())
        asked.update(name for name, grade in (sample.labels.documents or {}).items() if grade > 0)
        labelled.update(name for name, grade in (sample.labels.chunks or {}).items() if grade > 0)
        documents = {name for name, grade in (sample.labels.documents or {}).items() if grade > 0}
        labelled.update(chunk.id for chunk in context or () if chunk.document in documents)
    hubs = frozenset(name for name, times in retrieved.items() if times >= max(5, 0.2 * n) and name not in labelled)
    return RunFacts(n, frozenset(seen), dict(asked), hubs)


def read_facts(
    record: Record, run: RunFacts, thresholds: Thresholds, tried: Mapping[str, Counterfactual] | None = None
) -> Facts:
    """Everything that the rules ask about one row."""
    sample, tried = record.sample, tried or {}
    context = sample.response.context
    level: Literal["chunk", "doc"] | None = (
        "chunk" if sample.labels.chunks is not None else "doc" if sample.labels.documents is not None else None
    )
    return Facts(
        record=record,
        parts=tuple(_parts(sample, run, tried)) if context is not None else (),
        level=level,
        k=max(len(context.ids), 1) if context is not None else 1,
        hubs=run.hubs,
        tried=tried,
        thresholds=thresholds,
    )


def crowd(chunks: Sequence[RetrievedChunk], hubs: frozenset[str] = frozenset()) -> float:
    """The share of the retrieved places that copies of other chunks, chunks without content, or hubs take."""
    shown = [chunk for chunk in chunks if chunk.text]
    if len(shown) < 2:
        return 0.0
    wasted = set(copies_within([chunk.text for chunk in shown]))
    wasted |= {place for place, chunk in enumerate(shown) if chunk.id in hubs or says_nothing(chunk.text)}
    return len(wasted) / len(shown)


def _parts(sample: Sample, run: RunFacts, tried: Mapping[str, Counterfactual]) -> Iterable[Part]:
    labels = sample.labels
    documents = tuple(name for name, grade in (labels.documents or {}).items() if grade > 0)
    groups: list[tuple[tuple[str, ...], tuple[str, ...], Sequence[EvidenceGroup]]] = []
    if labels.groups:
        for number, ids in enumerate(labels.groups):
            held = _evidence_of(number, ids, sample)
            named = dict.fromkeys(part.document for one in held for part in one.any)
            groups.append((ids, tuple(name for name in named if name in documents) or documents, held))
    elif labels.chunks is not None:
        ids = tuple(name for name, grade in labels.chunks.items() if grade > 0)
        several = "multi_hop" in sample.item.tags
        groups = [((name,), documents, ()) for name in ids] if several else [(ids, documents, ())] if ids else []
    elif documents:
        several = "multi_hop" in sample.item.tags
        groups = [((), (name,), ()) for name in documents] if several else [((), documents, ())]
    for number, (ids, documents, evidence) in enumerate(groups):
        yield _part(number, ids, documents, evidence, sample, run, tried)


def _evidence_of(number: int, ids: tuple[str, ...], sample: Sample) -> Sequence[EvidenceGroup]:
    """The item's evidence behind a group of chunk ids. Pieces of evidence in one chunk are one group."""
    evidence, groups = sample.item.evidence or (), sample.labels.groups or ()
    if len(groups) >= len(evidence):
        return evidence[number : number + 1]
    if len(groups) == 1:
        return evidence
    texts = [chunk.text for chunk in sample.response.context or () if chunk.id in ids and chunk.text]
    return [one for one in evidence if any(part.quote and covered(part.quote, texts) >= 0.5 for part in one.any)]


def _part(
    number: int,
    ids: tuple[str, ...],
    documents: tuple[str, ...],
    evidence: Sequence[EvidenceGroup],
    sample: Sample,
    run: RunFacts,
    tried: Mapping[str, Counterfactual],
) -> Part:
    context = sample.response.context
    assert context is not None  # a system that does not say what it retrieved has no parts
    ranks = {name: place for place, name in enumerate(context.ids, start=1)}
    document_ranks = {name: place for place, name in enumerate(context.documents, start=1)}
    document_rank = min((document_ranks[name] for name in documents if name in document_ranks), default=None)
    rank = min((ranks[name] for name in ids if name in ranks), default=None) if ids else document_rank
    quotes = [any_of for one in evidence if (any_of := [part.quote for part in one.any if part.quote])]
    own = [chunk for chunk in context.chunks if chunk.document in documents or chunk.id in ids]
    others = [chunk for chunk in context.chunks if chunk not in own]
    held = min(
        (max(covered(quote, [chunk.text for chunk in own]) for quote in any_of) for any_of in quotes), default=None
    )
    labelled = [chunk.text for chunk in (*context.chunks, *_deeper_chunks(tried)) if chunk.id in ids and chunk.text]
    whole = min(
        (max(covered(quote, [text]) for quote in any_of for text in labelled) for any_of in quotes if labelled),
        default=None,
    )
    found = tried.get("quote_query")
    in_index = found.found[number] if found is not None and number < len(found.found) else None
    if in_index is None and documents and not run.seen & set(documents):
        enough = run.n_questions >= 20 and max(run.asked.get(name, 0) for name in documents) >= 2
        in_index = False if enough else None
    return Part(
        ids=ids,
        documents=documents,
        rank=rank,
        document_rank=document_rank,
        deeper=_deeper(ids, documents, sample, tried) if rank is None else {},
        held=held if own else None,
        whole=whole,
        copies=tuple(_copies(quotes, others)) if rank is None or sample.response.answer else (),
        in_index=in_index,
    )


def _deeper(
    ids: tuple[str, ...], documents: tuple[str, ...], sample: Sample, tried: Mapping[str, Counterfactual]
) -> dict[str, int]:
    found: dict[str, int] = {}
    lists = [(step.name.partition(":")[0], step.chunks) for step in sample.response.steps]
    deeper = _deeper_chunks(tried)
    if deeper:
        lists.append(("more_k", deeper))
    for name, chunks in lists:
        for place, chunk in enumerate(chunks, start=1):
            if chunk.id in ids or (not ids and chunk.document in documents):
                found[name] = min(place, found.get(name, place))
                break
    return found


def _deeper_chunks(tried: Mapping[str, Counterfactual]) -> tuple[RetrievedChunk, ...]:
    found = tried.get("more_k")
    return found.response.context.chunks if found is not None and found.response.context is not None else ()


def _copies(quotes: Sequence[Sequence[str]], chunks: Sequence[RetrievedChunk]) -> Iterable[Copy]:
    for chunk in chunks:
        if not chunk.text:
            continue
        share = max((_nearly(quote, chunk.text) for any_of in quotes for quote in any_of), default=0.0)
        exact = all(any(holds(quote, chunk.text) for quote in any_of) for any_of in quotes) and bool(quotes)
        if share or exact:
            yield Copy(chunk.id, chunk.rank, share, exact)


def _nearly(quote: str, text: str) -> float:
    """How much of a quote a text holds, where that is enough to say that it nearly says it; else 0.

    A short quote must stand there word by word with at most one word replaced, two content words among what is the
    same: that is how an outdated number looks.
    """
    asked = tokens(quote)
    n = len(asked)
    if n >= SHORT:
        share = covered(quote, [text])
        return share if share >= NEARLY else 0.0
    held = tokens(text)
    best = 0
    for start in range(len(held) - n + 1):
        if asked[0] == held[start] or (n > 1 and asked[1] == held[start + 1]):
            same = [a for a, b in zip(asked, held[start : start + n], strict=True) if a == b]
            if len(same) > best and len(content_words(" ".join(same))) >= 2:
                best = len(same)
    return best / n if n >= 3 and best >= n - 1 else 0.0
