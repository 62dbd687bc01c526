"""From chunks to documents: a chunk ranking becomes a ranking of the documents that the chunks belong to."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Literal

from ragauge.errors import InputError
from ragauge.ranking.measures import check_cutoff

#: Chunk id → document id: a mapping, a function, or the separator after which a chunk id holds only the chunk's part.
DocumentOf = Mapping[str, str] | Callable[[str], str] | str


def collapse_to_documents(
    chunks: Iterable[str],
    document_of: DocumentOf,
    *,
    k: int | None = None,
    cut: Literal["documents", "chunks"] = "documents",
) -> list[str]:
    """Unique documents in the order of their best chunk.

    With `k`, the list is cut: after collapsing at k documents (`cut="documents"`, trec_eval on a document run), or
    before collapsing at k chunks (`cut="chunks"`: what fits into a context of k chunks).

    >>> collapse_to_documents(["d1#3", "d2#0", "d1#1", "d3#2"], "#", k=3)
    ['d1', 'd2', 'd3']
    >>> collapse_to_documents(["d1#3", "d2#0", "d1#1", "d3#2"], "#", k=3, cut="chunks")
    ['d1', 'd2']
    """
    check_cutoff(k)
    lookup = _lookup(document_of)
    ids = list(chunks)
    if k is not None and cut == "chunks":
        ids = ids[:k]
    documents = list(dict.fromkeys(lookup(id) for id in ids))
    return documents[:k] if cut == "documents" else documents


def collapse_run(
    run: Mapping[str, Mapping[str, float] | Sequence[str]], document_of: DocumentOf
) -> dict[str, dict[str, float] | list[str]]:
    """A run over chunks as a run over documents: lists collapse in order, scores to the document's best (MaxP).

    >>> collapse_run({"q": {"d1#0": 0.2, "d1#1": 0.9, "d2#0": 0.5}}, "#")
    {'q': {'d1': 0.9, 'd2': 0.5}}
    """
    lookup = _lookup(document_of)
    result: dict[str, dict[str, float] | list[str]] = {}
    for question, ranking in run.items():
        if not isinstance(ranking, Mapping):
            result[question] = collapse_to_documents(ranking, lookup)
            continue
        best: dict[str, float] = {}
        for id, score in ranking.items():
            document = lookup(id)
            # A NaN stays what it is, whatever other chunks score: it is refused where scores are read.
            if document not in best or score > best[document] or score != score:
                best[document] = score
        result[question] = best
    return result


def _lookup(document_of: DocumentOf) -> Callable[[str], str]:
    if isinstance(document_of, str):
        separator = document_of
        if not separator:
            raise InputError("the separator between document and chunk is empty", accepted="for example '#'")
        return lambda id: str(id).rpartition(separator)[0] or str(id)
    if isinstance(document_of, Mapping):
        mapping = document_of

        def of(id: str) -> str:
            try:
                return mapping[id]
            except KeyError:
                raise InputError(f"no document is known for chunk {id!r}", hint="Add it to the mapping.") from None

        return of
    return document_of
