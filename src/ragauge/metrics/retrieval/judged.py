"""What every retrieval metric starts from: the ranking and the grades of one sample, at one granularity."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ragauge.core.sample import Level, RetrievedContext, Sample
from ragauge.core.score import Scored, Unscored, unscored
from ragauge.errors import Reason
from ragauge.ranking.measures import Measure
from ragauge.ranking.options import Options
from ragauge.ranking.single import Hits, find_hits, value

#: How many missing ids `details` lists; the rest is counted.
_LISTED = 20


@dataclass(frozen=True)
class Judged:
    """One sample's ranking, best first and without repeats, and the grades that apply to it.

    `grades`: every relevant id counts. `needed`: what recall-like measures look for; of an evidence group, of which
    any one passage is enough, only the best-ranked retrieved one keeps its grade. `n_repeated`: ids that came again.
    """

    ranked: Sequence[str]
    grades: Mapping[str, int]
    needed: Mapping[str, int]
    n_repeated: int


def judged(sample: Sample, level: Level, *, chunk_positions: bool = False) -> Judged | Unscored:
    """The ranking and grades of `sample`, or why there is nothing to measure.

    At level "doc" chunks collapse to unique documents in order; with `chunk_positions` every chunk keeps its place and
    has the grade of its document (precision counts what fills the context).
    """
    if sample.item.answerable is False:
        return unscored(Reason.NO_RELEVANT, "the question is unanswerable: nothing is relevant")
    context = sample.response.context
    if context is None:
        return unscored(Reason.NOT_RETRIEVED, "the system does not say what it retrieved")
    grades = sample.labels.at(level)
    if grades is None:
        return unscored(Reason.NO_LABELS, f"no relevant {'chunks' if level == 'chunk' else 'documents'} are known")
    if not any(grade > 0 for grade in grades.values()):
        return unscored(Reason.NO_RELEVANT, "every judged id is not relevant")
    if level == "doc" and chunk_positions:
        of_chunk = {chunk.id: chunk.document or chunk.id for chunk in reversed(context.chunks)}
        by_chunk = {chunk: grades.get(document, 0) for chunk, document in of_chunk.items()}
        return Judged(context.ids, by_chunk, by_chunk, len(context) - len(context.ids))
    ranked = context.documents if level == "doc" else context.ids
    needed = one_of_each_group(ranked, grades, _groups(sample, level))
    return Judged(ranked, grades, needed, len(context) - len(context.ids))


def _groups(sample: Sample, level: Level) -> Sequence[Sequence[str]]:
    if level == "chunk":
        return sample.labels.groups or ()
    evidence = sample.item.evidence or ()
    return [[passage.document for passage in group.any] for group in evidence]


def one_of_each_group(
    ranked: Sequence[str], grades: Mapping[str, int], groups: Sequence[Sequence[str]]
) -> Mapping[str, int]:
    """`grades` with one id left of each evidence group: the best-ranked retrieved one, else the best-graded.

    An id that stands for one group keeps its grade in all of them; ids of no group are untouched.

    >>> one_of_each_group(["x", "b"], {"a": 1, "b": 1, "c": 1}, [["a", "b"]])
    {'a': 0, 'b': 1, 'c': 1}
    """
    place = {id: index for index, id in enumerate(ranked)}
    grouped: set[str] = set()
    kept: set[str] = set()
    for group in groups:
        relevant = {id for id in group if grades.get(id, 0) > 0}
        if relevant:
            grouped |= relevant
            kept.add(min(relevant, key=lambda id: (place.get(id, len(place)), -grades[id], id)))
    return {id: 0 if id in grouped and id not in kept else grade for id, grade in grades.items()}


def rank_score(name: str, sample: Sample, k: int | None, level: Level, **options: Any) -> Scored | Unscored:
    """A recall-like measure of `sample`: documents at level "doc", evidence groups counted once."""
    found = judged(sample, level)
    if isinstance(found, Unscored):
        return found
    chosen = Options(**options)
    hits = find_hits(found.ranked, found.needed, chosen)
    return Scored(value=value(Measure(name, k), hits, chosen), count=hits.n_relevant, details=explained(found, hits))


def position_score(name: str, sample: Sample, k: int | None, level: Level) -> Scored | Unscored:
    """A precision-like measure of `sample`: chunk positions, every relevant chunk counts.

    `count` is the number of positions that were looked at: k, or what came back.
    """
    found = judged(sample, level, chunk_positions=True)
    if isinstance(found, Unscored):
        return found
    hits = find_hits(found.ranked, found.grades)
    places = hits.n_retrieved if k is None or name != "precision" else k
    details = explained(found, hits)
    if level == "doc":
        details.pop("missing", None)  # chunks that were not retrieved are not known by document labels
    return Scored(value=value(Measure(name, k), hits), count=places, details=details)


def explained(found: Judged, hits: Hits) -> dict[str, Any]:
    """What explains a value: the ranks of the relevant ids, the relevant ids that never came, repeats."""
    ranks = {found.ranked[index]: index + 1 for index in hits.relevant}
    missing = sorted(id for id, grade in found.needed.items() if grade > 0 and id not in ranks)
    details: dict[str, Any] = {"ranks": ranks, "n_retrieved": hits.n_retrieved}
    if missing:
        details["missing"] = missing[:_LISTED]
        details["n_missing"] = len(missing)
    if found.n_repeated:
        details["n_repeated"] = found.n_repeated
    return details


def relevant_chunks(context: RetrievedContext, grades: Mapping[str, int], level: Level) -> dict[str, int]:
    """Chunk id → best rank of every retrieved chunk that is relevant, itself or by its document."""
    found: dict[str, int] = {}
    for chunk in context.chunks:
        key = chunk.id if level == "chunk" else chunk.document or chunk.id
        if grades.get(key, 0) > 0:
            found.setdefault(chunk.id, chunk.rank)
    return found
