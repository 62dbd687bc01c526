"""Scores of a whole run: their shape, what parts relevant from irrelevant, what re-ranking gains, what crowds."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from datetime import date

import numpy as np
from pydantic import Field

from ragauge.core.model import Model
from ragauge.core.run import Estimate, Record
from ragauge.core.sample import RetrievedChunk, Sample
from ragauge.diagnose.dip import dip_test
from ragauge.diagnose.passages import SAME, copies_within, covered, similarity
from ragauge.diagnose.separation import auroc, overlap
from ragauge.stats.drift import kolmogorov_smirnov
from ragauge.stats.intervals import proportion_interval
from ragauge.stats.paired import bounded_difference_interval

#: A re-ranker that gains less than this share of what was there before is hardly worth its time (D5).
SMALL_GAIN = 0.10
#: Fewer questions than this say little about drift, recency and edges.
FEW_QUESTIONS = 20
#: Metadata that say how old a chunk is, best first.
DATES = ("updated", "modified", "last_modified", "date", "published", "created")
_BINS = 24

Truncates = Callable[[Sequence[str]], list[bool]]


class Histogram(Model):
    """Counts between `edges` (one more than counts)."""

    edges: tuple[float, ...]
    counts: tuple[int, ...]


class ListScores(Model):
    """The scores of one list (dense, bm25, fused, rerank, retrieved) over all questions.

    `modes`: one, several, or unknown (too few values, or too few different ones for the dip test).
    """

    name: str
    n: int
    histogram: Histogram
    relevant: Histogram | None = None
    auroc: Estimate | None = None
    overlap: float | None = None
    dip: float | None = None
    dip_p: float | None = None
    modes: str = "unknown"
    statement: str = ""


class RerankGain(Model):
    """Reciprocal rank of the first relevant chunk, after minus before. `relative`: as a share of the mean before."""

    before: float
    after: float
    difference: Estimate
    relative: float | None
    small: bool
    helped: tuple[str, ...] = ()
    hurt: tuple[str, ...] = ()


class Check(Model):
    """One look over the questions: a share with its interval, or why it could not be taken."""

    name: str
    what: str
    share: Estimate | None = None
    questions: tuple[str, ...] = ()
    not_done: str = ""


class Distributions(Model):
    """All of it, for one run."""

    n_questions: int
    lists: tuple[ListScores, ...] = ()
    rerank: RerankGain | None = None
    checks: tuple[Check, ...] = ()
    notes: tuple[str, ...] = Field(default=())


class Drift(Model):
    """Whether the best score of each question is distributed as it was in another run (D5: semantic drift).

    Two-sample Kolmogorov–Smirnov; `drifted` at p < 0.001. Scores of different retrievers cannot be compared.
    """

    n: int
    n_before: int
    mean: float
    mean_before: float
    statistic: float
    p: float
    drifted: bool


def drift(records: Iterable[Record], earlier: Iterable[Record]) -> Drift | None:
    """The best retrieved score of each question, now against earlier; None where one run has no scores."""
    now, before = _top_scores(records), _top_scores(earlier)
    if not now or not before:
        return None
    test = kolmogorov_smirnov(now, before)
    return Drift(
        n=len(now),
        n_before=len(before),
        mean=sum(now) / len(now),
        mean_before=sum(before) / len(before),
        statistic=test.statistic if test.statistic is not None else 0.0,
        p=test.p,
        drifted=test.p < 0.001,
    )


def _top_scores(records: Iterable[Record]) -> list[float]:
    found = []
    for record in records:
        context = record.sample.response.context
        scores = [chunk.score for chunk in context or () if chunk.score is not None]
        if record.sample.repeat == 0 and scores:
            found.append(max(scores))
    return found


@dataclass
class _Pool:
    scores: list[float] = field(default_factory=list)
    relevant: list[bool] = field(default_factory=list)
    known: list[bool] = field(default_factory=list)
    questions: list[str] = field(default_factory=list)


@dataclass
class _Reading:
    """What one pass over the rows collects."""

    n: int = 0
    pools: dict[str, _Pool] = field(default_factory=dict)
    gains: list[tuple[str, float, float]] = field(default_factory=list)
    crowded: dict[str, bool] = field(default_factory=dict)
    cut: dict[str, bool] = field(default_factory=dict)
    older_first: dict[str, bool] = field(default_factory=dict)
    texts: dict[str, str] = field(default_factory=dict)
    asked_by: dict[str, str] = field(default_factory=dict)


def distributions(records: Iterable[Record], truncates: Truncates | None = None) -> Distributions:
    """One pass. `truncates`: texts → whether the embedder cuts each off (None: not known which embedder)."""
    reading = _Reading()
    for record in records:
        if record.sample.repeat == 0 and record.error is None and record.sample.response.context is not None:
            _read(reading, record.sample)
    notes = []
    if reading.n < FEW_QUESTIONS:
        notes.append(f"{reading.n} questions: look at 20 to 30 before believing these")
    return Distributions(
        n_questions=reading.n,
        lists=tuple(_scores(name, pool) for name, pool in reading.pools.items()),
        rerank=_gain(reading.gains),
        checks=tuple(_checks(reading, truncates)),
        notes=tuple(notes),
    )


def _read(reading: _Reading, sample: Sample) -> None:
    context = sample.response.context
    assert context is not None
    reading.n += 1
    item = sample.item.id
    lists = {step.name: step.chunks for step in sample.response.steps} | {"retrieved": context.chunks}
    for name, chunks in lists.items():
        pool = reading.pools.setdefault(name, _Pool())
        for chunk in chunks:
            if chunk.score is not None:
                grade = _grade(sample, chunk)
                pool.scores.append(chunk.score)
                pool.relevant.append(bool(grade))
                pool.known.append(grade is not None)
                pool.questions.append(item)
    before = next((lists[name] for name in ("fused", "dense", "bm25") if name in lists), None)
    if "rerank" in lists and before is not None and _grade_known(sample):
        first, second = (_reciprocal(sample, chunks) for chunks in (before, lists["rerank"]))
        reading.gains.append((item, first, second))
    texts = [chunk.text for chunk in context.chunks if chunk.text]
    if len(texts) > 1:
        reading.crowded[item] = bool(copies_within(texts))
    quotes = [part.quote for group in sample.item.evidence or () for part in group.any if part.quote]
    held = [covered(quote, [chunk.text]) for quote in quotes for chunk in context.chunks if _grade(sample, chunk)]
    if held:
        reading.cut[item] = max(held) < 0.9
    dated = _older_first(context.chunks)
    if dated is not None:
        reading.older_first[item] = dated
    for chunk in context.chunks:
        reading.texts.setdefault(chunk.id, chunk.text)
        reading.asked_by.setdefault(chunk.id, item)


def _grade_known(sample: Sample) -> bool:
    return any((grades or {}).values() for grades in (sample.labels.chunks, sample.labels.documents))


def _grade(sample: Sample, chunk: RetrievedChunk) -> int | None:
    """The chunk's grade by its own label, else by its document's; None when nothing is labelled."""
    if sample.labels.chunks is not None:
        return sample.labels.chunks.get(chunk.id, 0)
    if sample.labels.documents is not None:
        return sample.labels.documents.get(chunk.document or chunk.id, 0)
    return None


def _reciprocal(sample: Sample, chunks: Sequence[RetrievedChunk]) -> float:
    return next((1 / rank for rank, chunk in enumerate(chunks, start=1) if _grade(sample, chunk)), 0.0)


def _scores(name: str, pool: _Pool) -> ListScores:
    values = pool.scores
    if not values:
        return ListScores(name=name, n=0, histogram=Histogram(edges=(0.0, 1.0), counts=(0,)), statement="no scores")
    edges = np.histogram_bin_edges(np.asarray(values, np.float64), bins=_BINS)
    relevant = [score for score, good, known in zip(values, pool.relevant, pool.known, strict=True) if good and known]
    other = [score for score, good, known in zip(values, pool.relevant, pool.known, strict=True) if not good and known]
    kept = [place for place, known in enumerate(pool.known) if known]
    found = auroc([values[i] for i in kept], [pool.relevant[i] for i in kept], [pool.questions[i] for i in kept])
    distinct = len(set(values))
    dip = dip_test(values) if distinct >= 20 and distinct >= 0.5 * len(values) else None
    modes = "unknown" if dip is None else "several" if dip.p < 0.05 else "one"
    return ListScores(
        name=name,
        n=len(values),
        histogram=_histogram(values, edges),
        relevant=_histogram(relevant, edges) if relevant else None,
        auroc=found,
        overlap=overlap(relevant, other),
        dip=None if dip is None else dip.dip,
        dip_p=None if dip is None else dip.p,
        modes=modes,
        statement=_statement(modes, distinct, len(values), found),
    )


def _histogram(values: Sequence[float], edges: np.ndarray) -> Histogram:
    counts, _ = np.histogram(np.asarray(values, np.float64), edges)
    return Histogram(edges=tuple(float(edge) for edge in edges), counts=tuple(int(count) for count in counts))


def _statement(modes: str, distinct: int, n: int, found: Estimate | None) -> str:
    shape = {
        "one": "one mode: the scores do not fall into two groups",
        "several": "several modes: the scores fall into groups",
        "unknown": f"the dip test needs at least 20 different values and few ties ({distinct} different of {n})",
    }[modes]
    if found is None or found.low is None or found.high is None:
        return shape
    if found.low <= 0.5:
        return f"{shape}; relevant and irrelevant chunks are not told apart: no threshold on this score can work"
    if modes == "several" and found.low > 0.8:
        return f"{shape}, and relevant ones score higher: a threshold between them can be tried"
    return f"{shape}; relevant chunks score higher"


def _gain(gains: Sequence[tuple[str, float, float]]) -> RerankGain | None:
    if not gains:
        return None
    before = sum(first for _, first, _ in gains) / len(gains)
    after = sum(second for _, _, second in gains) / len(gains)
    relative = (after - before) / before if before else None
    return RerankGain(
        before=before,
        after=after,
        difference=bounded_difference_interval([second - first for _, first, second in gains]),
        relative=relative,
        small=relative is not None and relative < SMALL_GAIN,
        helped=tuple(item for item, first, second in gains if second > first),
        hurt=tuple(item for item, first, second in gains if second < first),
    )


def _older_first(chunks: Sequence[RetrievedChunk]) -> bool | None:
    """Whether an older chunk stands before a newer one that says nearly the same; None without dates."""
    dated = [(chunk, when) for chunk in chunks if (when := date_of(chunk)) is not None]
    if len(dated) < 2:
        return None
    return any(
        when < later and similarity(chunk.text, other.text) >= SAME / 2
        for place, (chunk, when) in enumerate(dated)
        for other, later in dated[place + 1 :]
    )


def date_of(chunk: RetrievedChunk) -> date | None:
    """The day that a chunk's metadata names (ISO 8601), if any."""
    for name in DATES:
        try:
            return date.fromisoformat(str(chunk.metadata[name])[:10])
        except (KeyError, ValueError):
            continue
    return None


def _checks(reading: _Reading, truncates: Truncates | None) -> Iterable[Check]:
    yield _check(
        "near_duplicates", "questions with near-duplicate chunks among the first k", reading.crowded,
        "no question has two retrieved chunks with text",
    )  # fmt: skip
    yield _check(
        "cut_evidence", "questions whose gold quote stands whole in no retrieved chunk", reading.cut,
        "no quoted evidence was retrieved",
    )  # fmt: skip
    yield _check(
        "older_first", "questions where an older chunk stands before a newer one that says nearly the same",
        reading.older_first, f"no chunk says how old it is (metadata {', '.join(DATES)})",
    )  # fmt: skip
    if truncates is None:
        yield Check(
            name="truncated",
            what="retrieved chunks longer than the embedder reads",
            not_done="which embedder is not known",
        )
        return
    names = list(reading.texts)
    cut = dict(zip(names, truncates([reading.texts[name] for name in names]), strict=True))
    yield _check("truncated", "retrieved chunks longer than the embedder reads", cut, "nothing was retrieved")


def _check(name: str, what: str, found: dict[str, bool], nothing: str) -> Check:
    if not found:
        return Check(name=name, what=what, not_done=nothing)
    hits = [item for item, bad in found.items() if bad]
    return Check(name=name, what=what, share=proportion_interval(len(hits), len(found)), questions=tuple(hits[:10]))
