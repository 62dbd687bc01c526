"""One question's way through retrieval, as a page shows it: lists side by side, their scores, every chunk's text."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ragauge.core.inspection import Inspection, RankedList
from ragauge.core.sample import Chunk, RetrievedChunk
from ragauge.diagnose.artefacts import artefacts
from ragauge.diagnose.inspection import InspectionReport
from ragauge.report.svg import Plot, Point, Series
from ragauge.report.words import count, number

#: Places of a list that are shown, and points of a plot.
N_SHOWN, N_PLOTTED = 10, 50
#: Characters of a chunk that are shown.
N_CHARACTERS = 4_000
#: (name, title, what it is): the order in which lists stand beside each other.
LISTS = (
    ("dense", "Dense", "by meaning: nearness of vectors"),
    ("bm25", "BM25", "by words"),
    ("fused", "Fused", "dense and BM25 together"),
    ("rerank", "Re-ranked", "the candidates, read again by a re-ranker"),
    ("HyDE", "HyDE", "dense, with a made-up answer as the query"),
    ("retrieved", "Given to the model", "what the system itself returned"),
)
_SETTINGS = ("retrieval", "k", "rerank", "candidates", "embedder", "chunk_size", "chunk_overlap", "prefix", "expand")


@dataclass(frozen=True)
class Place:
    """One place of a list. `given`: the system gave this chunk to its model; `copy`: it repeats an earlier one."""

    rank: int
    id: str
    score: str
    gold: bool
    given: bool
    copy: bool
    flaws: tuple[str, ...]
    text: str
    anchor: str


@dataclass(frozen=True)
class Ranking:
    """One list: its first places; where each gold chunk stands that is not among them; its scores as a plot."""

    name: str
    title: str
    meaning: str
    size: str
    places: tuple[Place, ...]
    further: tuple[tuple[str, str], ...]
    plot: Plot | None


@dataclass(frozen=True)
class ChunkText:
    """One chunk to be read, with what cutting did to it."""

    id: str
    document: str | None
    anchor: str
    gold: bool
    given: bool
    flaws: tuple[str, ...]
    text: str
    n_hidden: int


@dataclass(frozen=True)
class InspectView:
    """Everything that the debugger shows of one question."""

    question: str
    k: int
    corpus: str
    settings: tuple[tuple[str, str], ...]
    rankings: tuple[Ranking, ...]
    ranks: tuple[tuple[str, tuple[str, ...]], ...]
    chunks: tuple[ChunkText, ...]
    report: InspectionReport
    expanded: str | None
    notes: tuple[str, ...]


@dataclass(frozen=True)
class _Known:
    """What is known of the chunks: ids of gold, given and repeated ones; flaws; texts; anchors."""

    gold: frozenset[str]
    given: frozenset[str]
    copies: frozenset[str]
    flaws: Mapping[str, tuple[str, ...]]
    chunks: Mapping[str, Chunk | RetrievedChunk]
    anchors: Mapping[str, str]


def view(inspection: Inspection, found: InspectionReport) -> InspectView:
    """Lists in the order of retrieval, of each its first 10 places (or k, up to 20)."""
    known = _known(inspection, found)
    by_name = {one.name: one for one in inspection.lists}
    titles = {name for name, _, _ in LISTS}
    more = [(name, name, "recorded by the system") for name in by_name if name not in titles]
    n = min(20, max(N_SHOWN, inspection.k))
    rankings = tuple(
        _ranking(by_name[name], title, meaning, known, n, inspection)
        for name, title, meaning in (*LISTS, *more)
        if name in by_name
    )
    return InspectView(
        question=inspection.question,
        k=inspection.k,
        corpus="" if inspection.n_chunks is None else count(inspection.n_chunks, "chunk"),
        settings=tuple((key, str(inspection.settings[key])) for key in _SETTINGS if key in inspection.settings),
        rankings=rankings,
        ranks=tuple((one.id, tuple(_where(one.ranks.get(ranking.name)) for ranking in rankings)) for one in found.gold),
        chunks=tuple(_chunk(chunk, known) for chunk in known.chunks.values()),
        report=found,
        expanded=_shared(by_name, inspection.k),
        notes=(*found.notes, *_no_scores(inspection.lists)),
    )


def _known(inspection: Inspection, found: InspectionReport) -> _Known:
    cut = set(inspection.truncated)
    chunks: dict[str, Chunk | RetrievedChunk] = {}
    known: list[Chunk | RetrievedChunk] = [*inspection.gold, *inspection.nearest, *inspection.others]
    for chunk in known:
        chunks.setdefault(chunk.id, chunk)
    own = next((one for one in inspection.lists if one.name == "retrieved"), None)
    return _Known(
        gold=frozenset(chunk.id for chunk in inspection.gold),
        given=frozenset(own.ids if own is not None else ()),
        copies=frozenset(found.copies),
        flaws={
            name: tuple(f"{flaw.name}: {flaw.detail}" for flaw in artefacts(c.text, c.metadata, truncated=name in cut))
            for name, c in chunks.items()
        },
        chunks=chunks,
        anchors={name: f"chunk-{place}" for place, name in enumerate(chunks, start=1)},
    )


def _ranking(one: RankedList, title: str, meaning: str, known: _Known, n: int, inspection: Inspection) -> Ranking:
    first = set(one.ids[:n])
    return Ranking(
        name=one.name,
        title=title,
        meaning=meaning,
        size=count(len(one.ids), "chunk"),
        places=tuple(_place(rank, one, known) for rank in range(1, min(n, len(one.ids)) + 1)),
        further=tuple((name, _where(one.rank(name))) for name in sorted(known.gold) if name not in first),
        plot=_plot(one, title, known, inspection.k),
    )


def _place(rank: int, one: RankedList, known: _Known) -> Place:
    name, score = one.ids[rank - 1], one.scores[rank - 1]
    chunk = known.chunks.get(name)
    return Place(
        rank=rank,
        id=name,
        score=number(score),
        gold=name in known.gold,
        given=name in known.given,
        copy=name in known.copies,
        flaws=tuple(flaw.partition(":")[0].replace("_", " ") for flaw in known.flaws.get(name, ())),
        text=" ".join(chunk.text[:400].split())[:160] if chunk is not None else "",
        anchor=known.anchors.get(name, ""),
    )


def _plot(one: RankedList, title: str, known: _Known, k: int) -> Plot | None:
    """Score over rank, gold chunks ringed; None for a list without scores."""
    points = [
        Point(rank, score, tooltip=f"rank {rank}: {number(score)} {name}", mark=name in known.gold)
        for rank, (name, score) in enumerate(zip(one.ids[:N_PLOTTED], one.scores, strict=False), start=1)
        if score is not None
    ]
    if len(points) < 2:
        return None
    return Plot(
        title=f"{title}: score by rank",
        note=f"The first {len(points)}; ringed: holds the answer; k = {k}",
        x_name="rank",
        y_name="score",
        series=(Series("score", tuple(points)),),
    )


def _chunk(chunk: Chunk | RetrievedChunk, known: _Known) -> ChunkText:
    return ChunkText(
        id=chunk.id,
        document=chunk.document,
        anchor=known.anchors[chunk.id],
        gold=chunk.id in known.gold,
        given=chunk.id in known.given,
        flaws=known.flaws[chunk.id],
        text=chunk.text[:N_CHARACTERS],
        n_hidden=max(0, len(chunk.text) - N_CHARACTERS),
    )


def _where(rank: int | None) -> str:
    return "not in it" if rank is None else str(rank)


def _shared(lists: Mapping[str, RankedList], k: int) -> str | None:
    """How much of the first k HyDE and the question itself have in common."""
    if "HyDE" not in lists or "dense" not in lists or not k:
        return None
    both = len(set(lists["HyDE"].ids[:k]) & set(lists["dense"].ids[:k]))
    return f"{both} of the first {k} chunks are the same with HyDE as with the question itself"


def _no_scores(lists: Sequence[RankedList]) -> tuple[str, ...]:
    names = [one.name for one in lists if one.ids and all(score is None for score in one.scores)]
    return (f"no scores are recorded for: {', '.join(names)}",) if names else ()
