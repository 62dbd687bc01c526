"""Where each passage that a question needs stands: retrieved, further down, cut, copied, or nowhere."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from ragauge.core.counterfactual import Counterfactual
from ragauge.core.run import Record
from ragauge.core.sample import EvidenceGroup, RetrievedChunk, Sample
from ragauge.diagnose.passages import covered, cut_off, holds, tokens
from ragauge.text.tokens import content_words

#: A chunk that is not labelled and holds this much of the gold quote nearly says it.
NEARLY = 0.6
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
class RunFacts:
    """What only all rows together show.

    `seen`: documents that any list of any row holds. `asked`: gold document → number of questions about it. `hubs`:
    chunks that come back for every fifth question and more, and are labelled for none.
    """

    n_questions: int
    seen: frozenset[str]
    asked: Mapping[str, int]
    hubs: frozenset[str]


@dataclass(frozen=True, eq=False)
class Part:
    """One needed passage, any of `ids` being enough, in what one row retrieved. Ranks count from 1; None: not there.

    What takes texts to find out is looked up when it is asked for: most rows have nothing to explain.
    """

    number: int
    ids: tuple[str, ...]
    documents: tuple[str, ...]
    evidence: Sequence[EvidenceGroup]
    rank: int | None
    document_rank: int | None
    sample: Sample
    run: RunFacts
    tried: Mapping[str, Counterfactual]

    def each(self) -> Iterator[Part]:
        """One part for each of its chunks, as if every one were needed."""
        ranks = {chunk.id: place for place, chunk in enumerate(_retrieved(self.sample), start=1)}
        for name in self.ids:
            yield replace(self, ids=(name,), rank=ranks.get(name))

    @cached_property
    def deeper(self) -> Mapping[str, int]:
        """List name → best rank in what the system considered (steps, a deeper search), where it was not retrieved."""
        found: dict[str, int] = {}
        if self.rank is not None:
            return found
        lists = [(step.name.partition(":")[0], step.chunks) for step in self.sample.response.steps]
        deeper = _deeper_chunks(self.tried)
        if deeper:
            lists.append(("more_k", deeper))
        for name, chunks in lists:
            for place, chunk in enumerate(chunks, start=1):
                if chunk.id in self.ids or (not self.ids and chunk.document in self.documents):
                    found[name] = min(place, found.get(name, place))
                    break
        return found

    @property
    def best_deeper(self) -> int | None:
        """The best rank in the last list that holds it: what a larger cut would have to reach."""
        for name in ("rerank", "fused", "more_k", "dense", "bm25"):
            if name in self.deeper:
                return self.deeper[name]
        return min(self.deeper.values(), default=None)

    @cached_property
    def held(self) -> float | None:
        """The share of the gold quote's words that the retrieved chunks of its documents hold together (None: no quote,
        or no such chunk).
        """
        texts = [chunk.text for chunk in self._own]
        if not texts:
            return None
        return min((max(covered(quote, texts) for quote in any_of) for any_of in self.quotes), default=None)

    @cached_property
    def whole(self) -> float | None:
        """The most of its words that any single labelled chunk holds, those of a deeper search included."""
        if not self._labelled:
            return None
        return min(
            (max(covered(quote, [text]) for quote in any_of for text in self._labelled) for any_of in self.quotes),
            default=None,
        )

    @cached_property
    def cut(self) -> float:
        """Of a passage that is not there, how much of a quote the edge of a retrieved chunk cuts off."""
        if self.rank is not None:
            return 0.0
        quotes = [quote for any_of in self.quotes for quote in any_of]
        return max((cut_off(quote, chunk.text) for chunk in self._own for quote in quotes), default=0.0)

    @cached_property
    def copies(self) -> tuple[Copy, ...]:
        """Retrieved chunks outside the labels that hold the quote, or all of a labelled chunk where no quote is known;
        of a passage that was retrieved, only where there is an answer that could rest on them.
        """
        if self.rank is not None and not self.sample.response.answer:
            return ()
        own = {id(chunk) for chunk in self._own}
        quotes = self.quotes or ([self._labelled] if self._labelled else [])
        return tuple(_copies(quotes, [chunk for chunk in _retrieved(self.sample) if id(chunk) not in own]))

    @cached_property
    def in_index(self) -> bool | None:
        """False where nothing brings its documents back: not their own words, or (where several questions are about
        them) no list of any question. None: not known.
        """
        found = self.tried.get("quote_query")
        if found is not None and self.number < len(found.found):
            return found.found[self.number]
        if self.documents and self.run.seen.isdisjoint(self.documents):
            asked = max(self.run.asked.get(name, 0) for name in self.documents)
            return False if self.run.n_questions >= 20 and asked >= 2 else None
        return None

    @cached_property
    def text(self) -> str | None:
        """What the passage says, its quotes and its chunks. None: not known."""
        return "\n".join([*(quote for any_of in self.quotes for quote in any_of), *self._labelled]) or None

    @cached_property
    def quotes(self) -> list[list[str]]:
        """For each piece of evidence, the quotes that are alternatives."""
        return [any_of for one in self.evidence if (any_of := [part.quote for part in one.any if part.quote])]

    @cached_property
    def _own(self) -> list[RetrievedChunk]:
        return [c for c in _retrieved(self.sample) if c.document in self.documents or c.id in self.ids]

    @cached_property
    def _labelled(self) -> list[str]:
        chunks = (*_retrieved(self.sample), *_deeper_chunks(self.tried))
        return [chunk.text for chunk in chunks if chunk.id in self.ids and chunk.text]


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


def needed_parts(sample: Sample, run: RunFacts, tried: Mapping[str, Counterfactual]) -> Iterable[Part]:
    """The passages that the question needs, in the order of its labels."""
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
    document_rank = next((place for place, name in enumerate(context.documents, start=1) if name in documents), None)
    rank = next((place for place, name in enumerate(context.ids, start=1) if name in ids), None)
    return Part(number, ids, documents, evidence, rank if ids else document_rank, document_rank, sample, run, tried)


def _retrieved(sample: Sample) -> tuple[RetrievedChunk, ...]:
    return sample.response.context.chunks if sample.response.context is not None else ()


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
    if not any(word in held for word in asked[:2]):
        return 0.0
    best = 0
    for start in range(len(held) - n + 1):
        if asked[0] == held[start] or (n > 1 and asked[1] == held[start + 1]):
            same = [a for a, b in zip(asked, held[start : start + n], strict=True) if a == b]
            if len(same) > best and len(content_words(" ".join(same))) >= 2:
                best = len(same)
    return best / n if n >= 3 and best >= n - 1 else 0.0
