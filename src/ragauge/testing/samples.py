"""Samples in one line."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from ragauge.core.sample import GoldenItem, Labels, Response, RetrievedChunk, RetrievedContext, Sample

_UNSET: Final[Any] = object()
_RESPONSE_FIELDS = frozenset(Response.model_fields) - {"context", "answer"}


def a_sample(
    retrieved: str | Sequence[str | tuple[str, str]] | None = "a b c",
    gold: str | Iterable[str] | None = _UNSET,
    *,
    grades: Mapping[str, int] | None = None,
    documents: Mapping[str, str] | None = None,
    groups: Sequence[Sequence[str]] | None = None,
    question: str = "Which port does the agent listen on?",
    answer: str | None = "The agent listens on port 8125 [1].",
    reference: str | None = _UNSET,
    answerable: bool | None = True,
    keywords: Sequence[str] | None = _UNSET,
    scores: Sequence[float] | None = None,
    id: str = "q1",
    repeat: int = 0,
    **more: Any,
) -> Sample:
    """A whole sample; every part can be said in a few letters or left out.

    `retrieved`: ids best first ("a b c"), or (id, text) pairs; "" retrieved nothing, None says nothing of it. `gold`:
    relevant ids ("a b", default "a"); "" no labels are known. `grades`: id → 0 to 3 instead. `documents`: chunk id →
    document id; document labels follow from the chunk labels. `groups`: evidence groups of chunk ids. With
    `answerable=False` there are no labels, reference or keywords unless given. `more` goes to the response
    (`abstained`, `citations`, `retrieval_ms` …) or else to the golden item (`claims`, `tags` …).

    >>> sample = a_sample("x a", gold="a", answer="Port 8125.")
    >>> sample.response.context.ids, sample.labels.chunks
    (['x', 'a'], {'a': 1})
    """
    place = documents or {}
    given = gold if gold is not _UNSET else ("" if answerable is False else "a")
    ids = given.split() if isinstance(given, str) else list(given or ())
    chunk_grades = dict(grades) if grades is not None else dict.fromkeys(ids, 1)
    document_grades: dict[str, int] = {}
    for chunk, grade in chunk_grades.items():
        if chunk in place:
            document_grades[place[chunk]] = max(grade, document_grades.get(place[chunk], 0))
    known = answerable is not False
    words = keywords if keywords is not _UNSET else (("8125",) if known else None)
    item = GoldenItem(
        id=id,
        question=question,
        answer=reference if reference is not _UNSET else ("The agent listens on port 8125." if known else None),
        answerable=answerable,
        keywords=tuple(words) if words is not None else None,
        **{name: value for name, value in more.items() if name not in _RESPONSE_FIELDS},
    )
    return Sample(
        item=item,
        response=Response(
            context=_context(retrieved, place, scores),
            answer=answer,
            **{name: value for name, value in more.items() if name in _RESPONSE_FIELDS},
        ),
        labels=Labels(
            chunks=chunk_grades or None,
            documents=document_grades or None,
            groups=tuple(tuple(group) for group in groups) if groups is not None else None,
        ),
        repeat=repeat,
    )


def _context(
    retrieved: str | Sequence[str | tuple[str, str]] | None, place: Mapping[str, str], scores: Sequence[float] | None
) -> RetrievedContext | None:
    if retrieved is None:
        return None
    pairs = retrieved.split() if isinstance(retrieved, str) else retrieved
    chunks = []
    for index, pair in enumerate(pairs):
        id, text = pair if isinstance(pair, tuple) else (pair, f"Passage {pair}: the agent listens on port 8125.")
        score = scores[index] if scores is not None else None
        chunks.append(RetrievedChunk(id=id, document=place.get(id), text=text, rank=index + 1, score=score))
    return RetrievedContext(chunks=tuple(chunks))
