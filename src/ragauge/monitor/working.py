"""The nightly work: draw a day's sample, look at its questions. What is there already is left as it is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import date
from typing import Any

import numpy as np

from ragauge.embeddings.base import Embedder
from ragauge.errors import StoreError
from ragauge.monitor.query import QueryLog
from ragauge.monitor.sampling import Asked, DaySample, draw, late_thumbs_down, size_of
from ragauge.monitor.topics import PER_DAY, GoldenVectors, QuestionDay, Topics, counted, look_at_day, make_topics
from ragauge.monitor.workspace import Workspace

#: Topics are made from at least this many questions; before, days have none.
FEWEST_QUESTIONS = 60
#: Vectors of so many questions are kept while days are gone through.
REMEMBERED = 20_000


@dataclass(frozen=True)
class Plan:
    """How many of a day are judged (`n`, or a `share`), and with which seed they are drawn."""

    n: int = 200
    share: float | None = None
    seed: int = 0
    project: str | None = None


@dataclass
class Questions:
    """What looking at questions needs: an embedder, and the golden set as vectors. Made once, used for every day."""

    embedder: Embedder
    golden: GoldenVectors
    topics: Topics | None = None
    _known: dict[str, Any] = field(default_factory=dict)

    def encode(self, texts: Sequence[str]) -> Any:
        """Vectors of questions; each text once, as long as it is remembered (people ask the same things)."""
        if len(self._known) > REMEMBERED:
            self._known.clear()
        new = [text for text in dict.fromkeys(texts) if text not in self._known]
        if new:
            self._known.update(zip(new, np.asarray(self.embedder.encode(new), np.float32), strict=True))
        return np.stack([self._known[text] for text in texts]) if texts else np.zeros((0, 1), np.float32)

    @staticmethod
    def of(embedder: Embedder, golden: Sequence[str]) -> Questions:
        """With the golden questions (none: no drift, no coverage)."""
        return Questions(embedder, GoldenVectors(golden, embedder.encode))

    def ready(self, log: QueryLog, space: Workspace, day: date, *, project: str | None = None) -> bool:
        """Read the topics, or make them from the draws of the last four weeks; False when there are too few questions.

        Topics that another embedder made are no use: `StoreError`.
        """
        kept = space.read(Topics, "topics.json")
        if kept is not None and kept.embedder != self.embedder.fingerprint:
            raise StoreError(
                "the topics in topics.json were made by another embedder",
                hint=f"Name that one, or delete {space.root / 'topics.json'}: topics are then made anew.",
            )
        if kept is None:
            asked = [text for _, text in _recent(log, day, project)]
            if len(asked) < FEWEST_QUESTIONS:
                return False
            kept = make_topics(asked, self.golden.questions, self.encode, self.embedder.fingerprint)
            kept = kept.model_copy(update={"made": day.isoformat()})
        elif kept.golden != self.golden.fingerprint:
            kept = counted(kept, self.golden.questions, self.golden.vectors)
        self.topics = kept
        space.write(kept, "topics.json")
        return True


def _recent(log: QueryLog, day: date, project: str | None, n_days: int = 28) -> list[tuple[str, str]]:
    days = [one for one in log.days() if one <= day][-n_days:]
    per_day = max(1, PER_DAY * 4 // max(1, len(days)))
    return [pair for one in days for pair in log.questions(one, project=project, limit=per_day)]


def sample_day(
    log: QueryLog, space: Workspace, day: date, plan: Plan, questions: Questions | None = None, *, again: bool = False
) -> DaySample:
    """The day's draw: the one that is there (late thumbs down added), or a new one. `again` draws anew.

    With `questions` the strata know topics, and the day's drift and topics are counted.
    """
    name = day.isoformat()
    before = None if again else space.sample(name)
    briefs = log.brief(day, project=plan.project)
    asked = [
        Asked(b.id, b.feedback, b.abstained, b.top_score, b.n_chunks) for b in briefs if b.answered and not b.error
    ]
    if questions is not None and questions.topics is not None:
        _look(log, space, day, plan, questions, again=again)
    if before is not None:
        sample = late_thumbs_down(before, [one.id for one in asked if one.feedback == "down"])
        if sample is not before:
            space.save_sample(sample)
        return sample
    wanted = size_of(len(asked), n=plan.n, share=plan.share)

    def topics(pool: Sequence[Asked]) -> Sequence[str | None]:
        return _topics_of(log, day, pool, questions)

    sample = draw(asked, name, wanted, seed=plan.seed, topics=topics if questions is not None else None)
    unanswered = len(briefs) - len(asked)
    if unanswered:
        note = f"{unanswered} queries failed or have no answer: they are counted in the log's figures, not judged"
        sample = sample.model_copy(update={"notes": (*sample.notes, note)})
    space.save_sample(sample)
    return sample


#: Topics are looked up for strata only on days with at most so many queries to embed.
MOST_EMBEDDED = 1_000


def _topics_of(log: QueryLog, day: date, pool: Sequence[Asked], questions: Questions | None) -> Sequence[str | None]:
    """A topic for each of the pool; none on a large day, where embedding all of it would take longer than judging."""
    if questions is None or questions.topics is None or len(pool) > MOST_EMBEDDED:
        return [None] * len(pool)
    texts = {query.id: query.question for query in log.queries(day, ids=[one.id for one in pool])}
    known = [one.id for one in pool if one.id in texts]
    vectors = questions.encode([texts[name] for name in known])
    named = dict(zip(known, questions.topics.assign(vectors), strict=True))
    return [named.get(one.id) for one in pool]


def _look(log: QueryLog, space: Workspace, day: date, plan: Plan, questions: Questions, *, again: bool) -> QuestionDay:
    assert questions.topics is not None
    name = day.isoformat()
    kept = None if again else space.read(QuestionDay, "questions", f"{name}.json")
    if kept is not None and (kept.topics_id, kept.golden) == (questions.topics.id, questions.golden.fingerprint):
        return kept
    asked = log.questions(day, project=plan.project, limit=PER_DAY)
    found = look_at_day(name, asked, questions.topics, questions.golden, questions.encode)
    space.write(found, "questions", f"{name}.json")
    return found
