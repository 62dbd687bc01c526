"""Why a chunk was not found, and what would bring it in: computed from one question's lists."""

from __future__ import annotations

from collections.abc import Sequence

from ragauge.core.inspection import Inspection, RankedList
from ragauge.core.model import Model
from ragauge.diagnose.artefacts import artefacts
from ragauge.diagnose.passages import copies_within

#: A k beyond this is no answer: it only moves the needle into a larger haystack.
SENSIBLE_K = 20


class GoldRank(Model):
    """One gold chunk: its rank in each list (None: not in it), and its flaws."""

    id: str
    document: str | None
    ranks: dict[str, int | None]
    artefacts: tuple[str, ...] = ()
    text: str = ""


class Remedy(Model):
    """A change that would bring a needed passage among the first k, or that would not; `rank`: where it would stand."""

    what: str
    works: bool
    rank: int | None


class PartReport(Model):
    """One needed passage: where its best alternative stands now, and what would bring it in."""

    ids: tuple[str, ...]
    retrieved_at: int | None
    remedies: tuple[Remedy, ...]
    verdict: str


class InspectionReport(Model):
    """What the lists of one question amount to."""

    question: str
    k: int
    parts: tuple[PartReport, ...]
    gold: tuple[GoldRank, ...]
    nearest_artefacts: dict[str, tuple[str, ...]]
    copies: tuple[str, ...]
    rerank: str
    hyde: str
    notes: tuple[str, ...]


def report(inspection: Inspection) -> InspectionReport:
    """Read the lists: where each gold chunk stands, what is wrong with the chunks, what would help."""
    lists = {one.name: one for one in inspection.lists}
    cut = set(inspection.truncated)
    texts = [chunk.text for chunk in inspection.nearest]
    return InspectionReport(
        question=inspection.question,
        k=inspection.k,
        parts=tuple(_part(ids, lists, inspection.k) for ids in inspection.groups),
        gold=tuple(
            GoldRank(
                id=chunk.id,
                document=chunk.document,
                ranks={name: one.rank(chunk.id) for name, one in lists.items()},
                artefacts=tuple(
                    f"{flaw.name}: {flaw.detail}"
                    for flaw in artefacts(chunk.text, chunk.metadata, truncated=chunk.id in cut)
                ),
                text=chunk.text,
            )
            for chunk in inspection.gold
        ),
        nearest_artefacts={
            chunk.id: tuple(flaw.name for flaw in artefacts(chunk.text, chunk.metadata, truncated=chunk.id in cut))
            for chunk in inspection.nearest
        },
        copies=tuple(inspection.nearest[place].id for place in copies_within(texts)),
        rerank=_moved(inspection.groups, lists, "rerank"),
        hyde=inspection.not_done.get("HyDE") or _moved(inspection.groups, lists, "HyDE"),
        notes=(
            *inspection.gold_notes,
            *(f"{what}: {why}" for what, why in inspection.not_done.items() if what != "HyDE"),
        ),
    )


def _best(ids: Sequence[str], one: RankedList | None) -> int | None:
    ranks = [rank for name in ids if one is not None and (rank := one.rank(name)) is not None]
    return min(ranks, default=None)


def _part(ids: tuple[str, ...], lists: dict[str, RankedList], k: int) -> PartReport:
    now = _best(ids, lists.get("retrieved"))
    if now is not None:
        return PartReport(ids=ids, retrieved_at=now, remedies=(), verdict=f"retrieved at rank {now}")
    remedies = []
    for name, what in (
        ("dense", "dense search alone"),
        ("bm25", "BM25 alone"),
        ("fused", "hybrid search"),
        ("rerank", "re-ranking the candidates"),
        ("HyDE", "HyDE"),
    ):
        if name in lists:
            rank = _best(ids, lists[name])
            remedies.append(Remedy(what=f"{what} at k = {k}", works=rank is not None and rank <= k, rank=rank))
    ranks = [remedy.rank for remedy in remedies if remedy.rank is not None]
    working = [remedy for remedy in remedies if remedy.works]
    if ranks and not working:
        remedies.append(Remedy(what=f"k = {min(ranks)} in the best of these lists", works=True, rank=min(ranks)))
    return PartReport(ids=ids, retrieved_at=None, remedies=tuple(remedies), verdict=_verdict(working, ranks))


def _verdict(working: Sequence[Remedy], ranks: Sequence[int]) -> str:
    if working:
        best = min(working, key=lambda remedy: remedy.rank or 0)
        return f"not retrieved; {best.what} would bring it to rank {best.rank}"
    if ranks and min(ranks) <= SENSIBLE_K:
        return f"not retrieved; a k of {min(ranks)} would be enough in the best list"
    if ranks:
        return f"not retrieved; its best rank is {min(ranks)}: bridge the wording, or cut the chunk otherwise"
    return "not retrieved, and in no list that was looked at"


def _moved(groups: Sequence[tuple[str, ...]], lists: dict[str, RankedList], name: str) -> str:
    """How a list moved the gold chunks against the one before it."""
    before = next((lists[one] for one in ("fused", "dense", "bm25", "retrieved") if one in lists), None)
    if name not in lists:
        return "not done"
    if not groups or before is None:
        return "no gold chunk to follow: give --gold, or --run and --id"
    moves = []
    for ids in groups:
        old, new = _best(ids, before), _best(ids, lists[name])
        moves.append(f"{ids[0]}: {old or 'not in the list'} → {new or 'not among its candidates'}")
    return "; ".join(moves)
