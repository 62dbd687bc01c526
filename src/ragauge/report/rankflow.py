"""Two retrieved lists beside each other: which chunk went where, what came in and what dropped out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ragauge.core.run import Record

#: Places that are drawn; further ones are counted.
N_PLACES = 20
ROW, TOP = 26, 20


@dataclass(frozen=True)
class Place:
    """One chunk in one list. `moved`: up, down, same or alone (not in the other list)."""

    rank: int
    id: str
    label: str
    gold: bool
    moved: str
    y: float


@dataclass(frozen=True)
class Flow:
    """A line between the two places of a chunk."""

    y1: float
    y2: float
    moved: str
    gold: bool


@dataclass(frozen=True)
class RankFlow:
    """`words` says the same to those who do not see the drawing."""

    a: tuple[Place, ...]
    b: tuple[Place, ...]
    flows: tuple[Flow, ...]
    height: float
    left_out: int
    words: str


def rank_flow(a: Record, b: Record) -> RankFlow | None:
    """The retrieved lists of one question in two runs; None when one of them says nothing of them."""
    first, second = a.sample.response.context, b.sample.response.context
    if first is None or second is None:
        return None
    known = [record.sample.labels.chunks or {} for record in (a, b)]
    gold = {name for grades in known for name, grade in grades.items() if grade}
    ranks = [{name: place for place, name in enumerate(one.ids, start=1)} for one in (first, second)]
    left = _places(list(ranks[0])[:N_PLACES], ranks[1], gold, down=False)
    right = _places(list(ranks[1])[:N_PLACES], ranks[0], gold, down=True)
    at = {place.id: place for place in right}
    flows = tuple(Flow(p.y, at[p.id].y, p.moved, p.gold) for p in left if p.id in at)
    kept = [name for name in ranks[0] if name in ranks[1]]
    new_gold = [name for name in ranks[1] if name in gold and name not in ranks[0]]
    lost_gold = [name for name in ranks[0] if name in gold and name not in ranks[1]]
    gone, came = len(ranks[0]) - len(kept), len(ranks[1]) - len(kept)
    words = f"{len(kept)} chunks in both lists, {gone} only before, {came} only after"
    if new_gold or lost_gold:
        words += f"; gold chunks gained {len(new_gold)}, lost {len(lost_gold)}"
    return RankFlow(
        a=left,
        b=right,
        flows=flows,
        height=TOP + ROW * max(len(left), len(right), 1) + 6,
        left_out=sum(max(0, len(one) - N_PLACES) for one in ranks),
        words=words,
    )


def _places(names: Sequence[str], other: Mapping[str, int], gold: set[str], *, down: bool) -> tuple[Place, ...]:
    places = []
    for rank, name in enumerate(names, start=1):
        theirs = other.get(name)
        before, after = (theirs, rank) if down else (rank, theirs)
        moved = "alone"
        if before is not None and after is not None:
            moved = "same" if before == after else "up" if after < before else "down"
        label = " ".join(name.split())
        label = label if len(label) <= 34 else f"…{label[-33:]}"
        places.append(Place(rank, name, label, name in gold, moved, TOP + ROW * (rank - 1) + ROW / 2))
    return tuple(places)
