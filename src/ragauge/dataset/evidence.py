"""Gold evidence becomes labels: which chunks and documents of *this* corpus are relevant to an item.

**Overlap rule.** A piece of evidence is a stretch of characters in a document. A chunk of that document is relevant if
it covers at least half of the stretch, or if the stretch covers at least half of the chunk; if no chunk does, the chunk
with the largest overlap is (the first of equals). All chunks that one piece of evidence makes relevant are
alternatives: any one of them is enough.

- `{document, start, end}`: overlap of character offsets; the document's chunks must have offsets.
- `{document, quote}`: overlap of text, white space collapsed; if the quote does not stand there so, then without
  regard to case, punctuation and width (said in `notes`). A quote may straddle chunks: overlaps are then what runs over
  the edges of the chunks, and the quote counts as found when those pieces together make up 80 % of it.
- `{document}`: the whole document, so each of its chunks. A `document` that is a chunk's id means that chunk.
- document `*` (a gold text of which nobody says where it stands): looked for in every chunk.

**Without a corpus** (recorded outputs) the retrieved chunks stand in for it. Evidence that is in none of them was not
retrieved; it gets an id of its own (`evidence:1`) that is in no ranking, so that it counts as missed. Document labels
then come from what names documents (`sources`, `evidence`), never from chunks: whose document a missed chunk is, is
not known, and labels that exist only where retrieval succeeded would flatter it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import ClassVar

from ragauge.core.sample import Chunk, Evidence, GoldenItem, Labels, Level, Response
from ragauge.dataset.contexts import GENERATED
from ragauge.dataset.gold import ANY_DOCUMENT
from ragauge.dataset.quotes import Found, Scope, Texts, find_anywhere, find_quote
from ragauge.errors import InputError


@dataclass(frozen=True)
class CorpusIndex:
    """The chunks of a corpus, found by id, by document and by text."""

    chunks: tuple[Chunk, ...]
    by_id: Mapping[str, Chunk]
    by_document: Mapping[str, tuple[Chunk, ...]]
    texts: Texts = field(default_factory=Texts, repr=False, compare=False)
    resolved: dict[Evidence, Found] = field(default_factory=dict, repr=False, compare=False)

    @classmethod
    def from_chunks(cls, chunks: Iterable[Chunk]) -> CorpusIndex:
        """Index `chunks`. Two chunks with one id are an `InputError`. A chunk without document is its own document."""
        by_id: dict[str, Chunk] = {}
        by_document: dict[str, list[Chunk]] = {}
        for chunk in chunks:
            if chunk.id in by_id:
                raise InputError("two chunks of the corpus have one id", field="id", found=chunk.id)
            by_id[chunk.id] = chunk
            by_document.setdefault(chunk.document or chunk.id, []).append(chunk)
        return cls(tuple(by_id.values()), by_id, {name: tuple(group) for name, group in by_document.items()})

    def resolve(self, evidence: Evidence) -> Found:
        """The chunks that hold a piece of evidence, by the overlap rule. Each is looked for once."""
        if evidence not in self.resolved:
            self.resolved[evidence] = self._resolve(evidence)
        return self.resolved[evidence]

    def _resolve(self, evidence: Evidence) -> Found:
        name = evidence.document
        if name == ANY_DOCUMENT:
            return self._anywhere(evidence.quote or "")
        chunks = self.by_document.get(name)
        if chunks is None:
            chunk = self.by_id.get(name)
            if chunk is None:
                return Found((), problem=f"there is no document {name!r}")
            chunks = (chunk,)
        if evidence.quote is not None:
            return find_quote(evidence.quote, chunks, self.texts, self._scope)
        if evidence.start is None or evidence.end is None:
            return Found(tuple(chunk.id for chunk in chunks))
        return find_span(evidence.start, evidence.end, chunks)

    _scope: ClassVar[Scope] = "document"

    def _anywhere(self, quote: str) -> Found:
        return find_anywhere(quote, self.by_document, self.texts)

    def __len__(self) -> int:
        """How many chunks."""
        return len(self.chunks)


def find_span(start: int, end: int, chunks: Iterable[Chunk]) -> Found:
    """The chunks that the characters `start` to `end` make relevant, by the overlap rule.

    >>> parts = [Chunk(id="a", start=0, end=100), Chunk(id="b", start=80, end=200), Chunk(id="c", start=200, end=300)]
    >>> find_span(70, 100, parts).chunks
    ('a', 'b')
    """
    overlaps = []
    for chunk in chunks:
        if chunk.start is None or chunk.end is None:
            return Found((), problem="its chunks have no character offsets; give a quote instead of start and end")
        overlap = min(end, chunk.end) - max(start, chunk.start)
        overlaps.append((chunk.id, overlap, chunk.end - chunk.start))
    return by_overlap(overlaps, end - start, "no chunk covers these characters")


def by_overlap(overlaps: Iterable[tuple[str, int, int]], length: int, nothing: str) -> Found:
    """The overlap rule on (chunk id, overlap, chunk length)."""
    touching = [part for part in overlaps if part[1] > 0]
    if not touching:
        return Found((), problem=nothing)
    kept = [name for name, overlap, size in touching if 2 * overlap >= length or 2 * overlap >= size]
    return Found(tuple(kept) if kept else (max(touching, key=lambda part: part[1])[0],))


def resolve_labels(
    item: GoldenItem,
    corpus: CorpusIndex | None,
    response: Response | None = None,
    *,
    relevance_level: Level | None = None,
) -> Labels:
    """The labels of `item` for a corpus, or, without one, for what `response` retrieved.

    Ids in `sources` are documents, ids in `chunks` are chunks. An id in `relevance` is whatever the corpus knows it as
    (both, if both); without a corpus it is at `relevance_level`, else at document level if a retrieved document has
    that id, else at chunk level. Grades: `relevance` as given, everything else 1. Groups: one for each evidence group,
    and one for each relevant chunk outside them; None when there is no evidence, as then each chunk counts for itself.
    Ids and quotes that resolve to nothing are in `notes` (`check_labels` refuses them beforehand).
    """
    work = _Resolution(item, corpus, response, relevance_level)
    if item.answerable is False and not work.has_labels:
        return Labels()
    work.explicit()
    if item.evidence:
        work.evidence()
    work.documents_of_chunks()
    return work.labels()


class _Resolution:
    def __init__(
        self, item: GoldenItem, corpus: CorpusIndex | None, response: Response | None, relevance_level: Level | None
    ) -> None:
        self.item, self.corpus, self.level = item, corpus, relevance_level
        self.context = response.context if response is not None else None
        self.ids_are_positions = bool(response is not None and response.metadata.get(GENERATED))
        self.chunks: dict[str, int] = {}
        self.documents: dict[str, int] = {}
        self.groups: list[tuple[str, ...]] = []
        self.notes: list[str] = []
        self.has_labels = any((item.sources, item.chunks, item.relevance, item.evidence))

    def explicit(self) -> None:
        """Ids that the item names."""
        item = self.item
        for name in item.sources or ():
            self._document(name)
        for name in item.chunks or ():
            self._chunk(name, 1)
        for name, grade in (item.relevance or {}).items():
            levels = self._levels(name)
            if "doc" in levels:
                self.documents[name] = grade
            if "chunk" in levels:
                self._chunk(name, grade, overrule=True)

    def _document(self, name: str) -> None:
        if self.corpus is not None and name not in self.corpus.by_document:
            if name in self.corpus.by_id:
                self._chunk(name, 1)
                return
            self.notes.append(f"the source {name!r} is not in the corpus")
        self.documents.setdefault(name, 1)

    def _chunk(self, name: str, grade: int, overrule: bool = False) -> None:
        if self.ids_are_positions and self.corpus is None:
            self._note("the retrieved chunks have no ids, so labels that name chunk ids cannot be used")
            return
        if self.corpus is not None and name not in self.corpus.by_id:
            if name in self.corpus.by_document:
                self.documents.setdefault(name, grade)
                return
            self.notes.append(f"the chunk {name!r} is not in the corpus")
        self.chunks[name] = grade if overrule else max(grade, self.chunks.get(name, grade))

    def _levels(self, name: str) -> tuple[Level, ...]:
        if self.corpus is not None:
            known: list[Level] = []
            if name in self.corpus.by_document:
                known.append("doc")
            if name in self.corpus.by_id:
                known.append("chunk")
            return tuple(known) or ("chunk",)
        if self.level is not None:
            return (self.level,)
        retrieved = {chunk.document for chunk in self.context.chunks} if self.context is not None else set()
        return ("doc",) if name in retrieved else ("chunk",)

    def evidence(self) -> None:
        """Each group's alternatives, as chunk ids and as documents."""
        universe = self.corpus
        if universe is None or self.ids_are_positions:
            universe = self._retrieved()
        for number, group in enumerate(self.item.evidence or (), 1):
            names = [part.document for part in group.any if part.document != ANY_DOCUMENT]
            for name in names:
                self._evidence_document(name)
            if universe is None:
                continue
            found: dict[str, None] = {}
            problems: list[str] = []
            for part in group.any:
                place = universe.resolve(part)
                found.update(dict.fromkeys(place.chunks))
                (problems if place.problem else self.notes).extend(
                    f"evidence {number}: {text}" for text in (place.problem, place.note) if text
                )
            if not found:
                if self.corpus is None or self.ids_are_positions:
                    found = {f"evidence:{number}": None}
                    problems = [f"evidence {number} is in no retrieved chunk"]
                self.notes.extend(problems)
            for name in found:
                self.chunks.setdefault(name, 1)
            if found:
                self.groups.append(tuple(found))

    def _evidence_document(self, name: str) -> None:
        if self.corpus is not None and name not in self.corpus.by_document:
            chunk = self.corpus.by_id.get(name)
            if chunk is None:
                return  # resolving it says so
            name = chunk.document or chunk.id
        self.documents.setdefault(name, 1)

    def _retrieved(self) -> CorpusIndex | None:
        """What was retrieved, as a corpus; None when nothing is known of it, or no chunk shows its text."""
        if self.context is None:
            return None
        if self.context.chunks and not any(chunk.text.strip() for chunk in self.context.chunks):
            named = {part.document for group in self.item.evidence or () for part in group.any}
            if not named & set(self.context.ids) and any(
                part.quote or part.start is not None for group in self.item.evidence or () for part in group.any
            ):
                self._note("the retrieved chunks have no text, so evidence cannot be looked for in them")
                return None
        unique = {chunk.id: chunk for chunk in reversed(self.context.chunks)}
        anonymous = all(chunk.document is None for chunk in self.context.chunks)
        chunks = []
        for chunk in self.context.chunks:
            if unique.pop(chunk.id, None) is None:
                continue
            start, end = chunk.metadata.get("start"), chunk.metadata.get("end")
            spans = {"start": start, "end": end} if isinstance(start, int) and isinstance(end, int) else {}
            chunks.append(Chunk(id=chunk.id, document=chunk.document, text=chunk.text, **spans))
        index = CorpusIndex.from_chunks(chunks)
        return (_Anonymous if anonymous else _Retrieved)(index.chunks, index.by_id, index.by_document, index.texts)

    def documents_of_chunks(self) -> None:
        """With a corpus, the documents of relevant chunks are relevant."""
        if self.corpus is None:
            return
        for name, grade in self.chunks.items():
            chunk = self.corpus.by_id.get(name)
            if chunk is None or grade < 1:
                continue
            document = chunk.document or chunk.id
            if document not in (self.item.relevance or {}):
                self.documents[document] = max(grade, self.documents.get(document, 0))

    def labels(self) -> Labels:
        """Everything found. Levels of which nothing is known are None."""
        groups: list[tuple[str, ...]] = list(dict.fromkeys(self.groups))
        if groups:
            grouped = {name for group in groups for name in group}
            groups += [(name,) for name, grade in self.chunks.items() if grade > 0 and name not in grouped]
        return Labels(
            chunks=self.chunks or None,
            documents=self.documents or None,
            groups=tuple(groups) or None,
            notes=tuple(dict.fromkeys(self.notes)),
        )

    def _note(self, note: str) -> None:
        if note not in self.notes:
            self.notes.append(note)


class _Retrieved(CorpusIndex):
    """Retrieved chunks in the corpus's place."""

    _scope = "retrieved"

    def _anywhere(self, quote: str) -> Found:
        return find_quote(quote, self.chunks, self.texts, "retrieved")


class _Anonymous(_Retrieved):
    """Retrieved chunks that do not say which document they are from: a quote is looked for in all of them."""

    def _resolve(self, evidence: Evidence) -> Found:
        if evidence.quote is not None and evidence.document not in self.by_id:
            return self._anywhere(evidence.quote)
        return super()._resolve(evidence)
