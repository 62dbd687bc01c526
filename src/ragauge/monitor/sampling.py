"""Which of a day's queries are judged: a draw with known probabilities, so that its figures are those of the day.

Every answer with a thumbs down is taken. The rest is divided by feedback, abstention, best score and topic; each part
gets its share and those drawn are the ones with the smallest hash of (seed, id), so that the same day drawn again
gives the same sample, and a larger sample holds the smaller one's strata in the same order.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from pydantic import Field

from ragauge.core.model import Model
from ragauge.stats.sampling import neyman_allocation
from ragauge.stats.survey import SurveyMean, SurveyStratum, survey_mean

#: Of a day with more queries, a random draw of this many (and every thumbs down) is divided into strata.
POOL = 5_000
#: A part of the day that would get fewer than this many is joined with its neighbours.
SMALLEST = 6
#: At least this share of the sample is for answers without a thumbs down, however many of those there are.
REST_SHARE = 0.5
#: Doubtful answers get this much more than their share.
DOUBTFUL = 1.4
DOWN = "thumbs down"


@dataclass(frozen=True)
class Asked:
    """What the draw looks at in a query. `topic` None: not known."""

    id: str
    feedback: Literal["up", "down"] | None = None
    abstained: bool | None = None
    top_score: float | None = None
    n_chunks: int | None = None
    topic: str | None = None


class Drawn(Model):
    """One query that is to be judged. `probability` None: added after the draw (a thumbs down that came late); it is
    shown, never used for an estimate.
    """

    id: str
    stratum: str
    probability: float | None = Field(default=None, gt=0, le=1)
    u: float


class DaySample(Model):
    """A day's draw. `strata`: name → (queries of the day in it, drawn). `pool`: (looked at, of) when not all were."""

    day: str
    n_queries: int
    seed: int
    wanted: int
    strata: dict[str, tuple[float, int]]
    drawn: tuple[Drawn, ...]
    pool: tuple[int, int] | None = None
    notes: tuple[str, ...] = ()

    def of(self, ids: Iterable[str]) -> list[Drawn]:
        """Those of `ids` that were drawn, in the order in which they are judged."""
        wanted = set(ids)
        return [one for one in self.drawn if one.id in wanted]


class SampledDay(DaySample):
    """A day's draw as it is printed: `n_drawn` instead of what was drawn."""

    drawn: tuple[Drawn, ...] = Field(default=(), exclude=True)
    n_drawn: int

    @classmethod
    def of_sample(cls, sample: DaySample) -> SampledDay:
        """The same draw, counted."""
        return cls(**dict(sample), n_drawn=len(sample.drawn))


class SampleDocument(Model):
    """What `ragauge monitor sample --json` prints, oldest day first; the schema in the documentation is this one."""

    days: tuple[SampledDay, ...]


def permanent_number(seed: int, name: str) -> float:
    """A uniform number in [0, 1) that belongs to an id: the same in every process.

    >>> 0 <= permanent_number(0, "q1") < 1
    True
    """
    return (
        int.from_bytes(hashlib.blake2b(f"{seed}:{name}".encode("utf-8", "surrogatepass"), digest_size=8).digest())
        / 2**64
    )


def size_of(n_queries: int, *, n: int | None = 200, share: float | None = None) -> int:
    """How many of a day's queries are judged: `n`, or a share of them (at least one)."""
    if share is not None:
        return min(n_queries, max(1, math.ceil(share * n_queries)))
    return min(n_queries, n or 0)


def draw(
    queries: Sequence[Asked],
    day: str,
    wanted: int,
    *,
    seed: int = 0,
    topics: Callable[[Sequence[Asked]], Sequence[str | None]] | None = None,
    spread: Mapping[str, float] | None = None,
) -> DaySample:
    """Draw `wanted` of a day's queries. `topics` names the topic of those it is given (at most `POOL`).

    `spread`: stratum → standard deviation of its scores so far (Neyman's allocation); without it, doubtful strata get
    1.4 times their share. More thumbs down than `wanted`: all of them come, and half of `wanted` of the rest.
    """
    down = [one for one in queries if one.feedback == "down"]
    rest = sorted((one for one in queries if one.feedback != "down"), key=lambda one: permanent_number(seed, one.id))
    pool = (POOL, len(rest)) if len(rest) > POOL else None
    looked_at = rest[:POOL]
    named = list(topics(looked_at)) if topics is not None else [one.topic for one in looked_at]
    n_rest = min(len(looked_at), max(wanted - len(down), math.ceil(REST_SHARE * wanted) if down else wanted))
    groups = _strata(looked_at, named, n_rest)
    strata: dict[str, tuple[float, int]] = {}
    drawn = [Drawn(id=one.id, stratum=DOWN, probability=1.0, u=permanent_number(seed, one.id)) for one in down]
    if down:
        strata[DOWN] = (len(down), len(down))
    weigh = len(rest) / len(looked_at) if looked_at else 1.0
    for name, members, n in _allocated(groups, n_rest, spread or {}):
        strata[name] = (len(members) * weigh, n)
        drawn += [
            Drawn(id=one.id, stratum=name, probability=n / (len(members) * weigh), u=permanent_number(seed, one.id))
            for one in members[:n]
        ]
    notes = []
    if len(down) + n_rest > wanted:
        notes.append(f"{len(down)} thumbs down alone are nearly all of the {wanted} wanted; {len(drawn)} are drawn")
    return DaySample(
        day=day, n_queries=len(queries), seed=seed, wanted=wanted, strata=strata,
        drawn=tuple(_in_turn(drawn)), pool=pool, notes=tuple(notes),
    )  # fmt: skip


def _in_turn(drawn: Sequence[Drawn]) -> list[Drawn]:
    """The order of judging: at random within each stratum, all strata side by side, so that whatever is judged of the
    sample when it stops is a smaller sample of the same kind.
    """
    members: dict[str, list[Drawn]] = {}
    for one in sorted(drawn, key=lambda one: one.u):
        members.setdefault(one.stratum, []).append(one)
    placed = [((i + 0.5) / len(group), one.u, one) for group in members.values() for i, one in enumerate(group)]
    return [one for _, _, one in sorted(placed, key=lambda entry: entry[:2])]


def late_thumbs_down(sample: DaySample, down: Iterable[str]) -> DaySample:
    """The sample with those that got a thumbs down after it was drawn: judged, but no part of any estimate."""
    have = {one.id for one in sample.drawn}
    late = [Drawn(id=name, stratum="late thumbs down", probability=None, u=permanent_number(sample.seed, name))
            for name in dict.fromkeys(down) if name not in have]  # fmt: skip
    return (
        sample.model_copy(update={"drawn": (*sample.drawn, *sorted(late, key=lambda one: one.u))}) if late else sample
    )


def _bands(queries: Sequence[Asked]) -> tuple[float, float] | None:
    """Tertiles of the best scores; None when too few have one or they hardly differ."""
    scores = sorted(one.top_score for one in queries if one.top_score is not None)
    if len(scores) < 30 or scores[0] == scores[-1]:
        return None
    return scores[len(scores) // 3], scores[2 * len(scores) // 3]


def _cell(one: Asked, bands: tuple[float, float] | None, topic: str | None) -> tuple[str, ...]:
    if one.n_chunks == 0:
        band = "nothing found"
    elif bands is None or one.top_score is None:
        band = "any score"
    else:
        band = "low score" if one.top_score < bands[0] else "middle score" if one.top_score < bands[1] else "high score"
    answered = "declined" if one.abstained else "answered"
    return (answered, "thumbs up" if one.feedback == "up" else "no feedback", band, topic or "any topic")


def _strata(queries: Sequence[Asked], topics: Sequence[str | None], n: int) -> dict[str, list[Asked]]:
    """Cells large enough to get `SMALLEST`; what is left is joined over topics, then scores, then feedback.

    Each keeps the order of `queries`: whoever comes first in it is drawn.
    """
    bands = _bands(queries)
    left = [(place, _cell(one, bands, topic)) for place, (one, topic) in enumerate(zip(queries, topics, strict=True))]
    smallest = SMALLEST * len(queries) / n if n else math.inf
    found: dict[str, list[Asked]] = {}
    for depth in (4, 3, 2, 1):
        cells: dict[tuple[str, ...], list[tuple[int, tuple[str, ...]]]] = {}
        for place, cell in sorted(left):
            cells.setdefault(cell[:depth], []).append((place, cell))
        left = []
        for name, members in sorted(cells.items()):
            if len(members) >= smallest:
                found[" · ".join((*name, "other") if depth < 4 else name)] = [queries[place] for place, _ in members]
            else:
                left += members
    if left:
        found["rest"] = [queries[place] for place, _ in sorted(left)]
    return found


def _allocated(
    groups: Mapping[str, list[Asked]], n: int, spread: Mapping[str, float]
) -> Iterable[tuple[str, list[Asked], int]]:
    if not groups or n <= 0:
        return []
    names = list(groups)
    total = sum(len(members) for members in groups.values())
    weights = [len(groups[name]) / total for name in names]
    doubtful = [name.startswith("declined") or "low score" in name or "nothing found" in name for name in names]
    sds = [spread.get(name, DOUBTFUL if odd else 1.0) for name, odd in zip(names, doubtful, strict=True)]
    counts = neyman_allocation(n, weights, sds, [len(groups[name]) for name in names], floor=4)
    return [(name, groups[name], count) for name, count in zip(names, counts, strict=True)]


def estimate(sample: DaySample, values: Mapping[str, float], *, level: float = 0.95) -> SurveyMean:
    """The day's mean from the values of those that were judged (id → value in [0, 1]).

    Answers that could not be judged count as missing at random within their stratum; a day whose judging was broken
    off is estimated from what was judged, because the order of judging is random. ValueError when nothing was judged.
    """
    by_stratum: dict[str, list[float]] = {name: [] for name in sample.strata}
    for one in sample.drawn:
        if one.probability is not None and one.id in values:
            by_stratum[one.stratum].append(values[one.id])
    strata = [SurveyStratum(size, by_stratum[name]) for name, (size, _) in sample.strata.items()]
    return survey_mean(strata, level=level, drawn_from=sample.pool)
