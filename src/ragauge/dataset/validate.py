"""What must hold before a run starts: every label points at something that is there."""

from __future__ import annotations

from collections.abc import Iterator

from ragauge.core.sample import GoldenItem
from ragauge.dataset.evidence import CorpusIndex
from ragauge.dataset.golden import GoldenSet
from ragauge.dataset.problems import MAX_PROBLEMS
from ragauge.errors import InputError, nearest

_RECHUNKED = (
    "Chunk ids change when the corpus is chunked anew; evidence as {document, quote} survives it. "
    "Is this the corpus that the labels were made for?"
)


def check_labels(golden: GoldenSet, corpus: CorpusIndex) -> None:
    """Raise one `InputError` that lists up to 20 labels which point at nothing in `corpus`.

    Checked are `sources`, `chunks`, `relevance` (also the ids judged not relevant) and evidence: its document and its
    quote or span. Of a group's alternatives each must be there.
    """
    problems: list[InputError] = []
    for item in golden:
        for problem in label_problems(item, corpus, golden):
            problems.append(problem)
            if len(problems) >= MAX_PROBLEMS:
                raise InputError.several(problems, unread=True)
    if problems:
        raise InputError.several(problems)


def label_problems(item: GoldenItem, corpus: CorpusIndex, golden: GoldenSet) -> Iterator[InputError]:
    """What is wrong with the labels of one item."""
    file = None if golden.path is None else str(golden.path)
    line = golden.lines.get(item.id)
    named = {
        "sources": list(item.sources or ()),
        "chunks": list(item.chunks or ()),
        "relevance": list(item.relevance or ()),
    }
    for field, names in named.items():
        for name in names:
            if name not in corpus.by_id and name not in corpus.by_document:
                what = "document" if field == "sources" else "chunk"
                yield InputError(
                    f"item {item.id!r} has a label for a {what} that is not there: the corpus has no such id",
                    file=file,
                    line=line,
                    field=field,
                    found=name,
                    hint=_nearest(name, corpus, documents_first=field == "sources"),
                )
    for number, group in enumerate(item.evidence or (), 1):
        for part in group.any:
            place = corpus.resolve(part)
            if place.problem:
                known = part.document in corpus.by_document or part.document in corpus.by_id or part.document == "*"
                yield InputError(
                    f"item {item.id!r}, evidence {number}: {place.problem}",
                    file=file,
                    line=line,
                    field="evidence",
                    hint="" if known else _nearest(part.document, corpus, documents_first=True),
                )


def _nearest(name: str, corpus: CorpusIndex, *, documents_first: bool) -> str:
    pools = [list(corpus.by_document), list(corpus.by_id)]
    for pool in pools if documents_first else pools[::-1]:
        near = nearest(name, pool[:20_000])
        if near:
            offered = ", ".join(repr(hit) for hit in near)
            return f"Nearest: {offered}. {_RECHUNKED if not documents_first else ''}".strip()
    return _RECHUNKED if not documents_first else "Documents are named as the corpus names them (Chunk.document)."
