"""What users ask about: topics, how much of it the golden set tests, and what is unlike anything it holds."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from pydantic import Field

from ragauge.core.model import Model, fingerprint
from ragauge.diagnose.clusters import cluster

Encode = Callable[[Sequence[str]], Any]

#: A question nearer to no topic than this (cosine) is "other"; so many topics at most; the least share of one.
NEAR, MOST_TOPICS, LEAST_SHARE = 0.35, 15, 0.02
#: Neighbours whose mean distance says how far a question is from the golden set, and the quantile that is far.
NEIGHBOURS, FAR = 5, 0.99
#: A golden set smaller than this says nothing of what is far.
SMALLEST_GOLDEN = 20
OTHER = "other"
#: Questions of a day that are looked at, and far ones that are kept by id.
PER_DAY, KEPT = 300, 25


class Topic(Model):
    """One topic. `n_golden`: golden questions that belong to it."""

    name: str
    terms: tuple[str, ...]
    centroid: tuple[float, ...]
    example: str
    n_golden: int = 0


class Topics(Model):
    """The topics that every day is counted by, made once; a new set makes earlier days incomparable (`id`).

    `made`: the newest day whose questions they were made from; their examples are kept as long as that day is.
    """

    id: str
    embedder: str
    golden: str = ""
    n_golden: int = 0
    topics: tuple[Topic, ...]
    made_from: int = Field(ge=0)
    made: str = ""

    def assign(self, vectors: Any) -> list[str]:
        """The nearest topic of each (length 1) vector, or "other"."""
        if not self.topics or not len(vectors):
            return [OTHER] * len(vectors)
        near = np.asarray(vectors, np.float32) @ np.asarray([t.centroid for t in self.topics], np.float32).T
        best = near.argmax(axis=1)
        return [
            self.topics[i].name if near[row, i] >= NEAR else OTHER for row, i in enumerate(best.tolist())
        ]  # fmt: skip


class QuestionDay(Model):
    """A random draw of a day's questions. `n_far` of `n_compared` are unlike the golden set; `far`: their ids, the
    farthest first.
    """

    day: str
    n: int
    topics_id: str
    topics: dict[str, int]
    golden: str = ""
    n_compared: int = 0
    n_far: int = 0
    far: tuple[str, ...] = ()


class GoldenVectors:
    """The golden questions as vectors, and the distance beyond which a question is unlike them."""

    def __init__(self, questions: Sequence[str], encode: Encode) -> None:
        self.questions = list(questions)
        self.fingerprint = fingerprint(sorted(questions)) if questions else ""
        self.vectors = np.asarray(encode(self.questions), np.float32) if questions else np.zeros((0, 1), np.float32)
        self.limit: float | None = None
        if len(self.questions) >= SMALLEST_GOLDEN:
            own = self._distances(self.vectors, itself=True)
            self.limit = float(np.quantile(own, FAR))

    def _distances(self, vectors: np.ndarray, *, itself: bool = False) -> np.ndarray:
        """Mean cosine distance to the nearest `NEIGHBOURS` golden questions (without the question itself)."""
        near = vectors @ self.vectors.T
        if itself:
            np.fill_diagonal(near, -2.0)
        k = min(NEIGHBOURS, near.shape[1] - itself)
        top = np.partition(near, -k, axis=1)[:, -k:]
        distances: np.ndarray = 1.0 - top.mean(axis=1)
        return distances

    def far(self, vectors: Any) -> tuple[np.ndarray, np.ndarray] | None:
        """(is far, distance) of each; None when the golden set is too small to say."""
        if self.limit is None:
            return None
        distances = self._distances(np.asarray(vectors, np.float32))
        return distances > self.limit, distances


def make_topics(asked: Sequence[str], golden: Sequence[str], encode: Encode, embedder: str) -> Topics:
    """Topics of what users asked (with the golden questions, so that both are counted by the same ones).

    Clusters as in `diagnose.clusters`: the largest `MOST_TOPICS` that hold at least 2 % of the questions.
    """
    from ragauge.diagnose.clusters import EXACT

    room = max(0, EXACT - len(golden))
    texts = [*golden, *asked[:room]]
    ids = [f"g{i:06d}" for i in range(len(golden))] + [f"q{i:06d}" for i in range(len(texts) - len(golden))]
    vectors = np.asarray(encode(texts), np.float32) if texts else np.zeros((0, 1), np.float32)
    found = cluster(ids, texts, vectors)
    text_of = dict(zip(ids, texts, strict=True))
    kept = [one for one in found.clusters if one.share >= LEAST_SHARE][:MOST_TOPICS]
    names: Counter[str] = Counter()
    topics = []
    for one in kept:
        names[one.name] += 1
        name = one.name if names[one.name] == 1 else f"{one.name} ({names[one.name]})"
        topics.append(Topic(name=name, terms=one.terms, centroid=one.centroid, example=text_of[one.representatives[0]]))
    mark = fingerprint([embedder, [topic.centroid for topic in topics]])
    made = Topics(id=mark, embedder=embedder, topics=tuple(topics), made_from=len(texts))
    return counted(made, golden, vectors[: len(golden)])


def counted(topics: Topics, golden: Sequence[str], vectors: Any) -> Topics:
    """The same topics with the golden questions of now counted in them."""
    counts = Counter(topics.assign(vectors))
    return topics.model_copy(
        update={
            "topics": tuple(t.model_copy(update={"n_golden": counts[t.name]}) for t in topics.topics),
            "n_golden": len(golden),
            "golden": fingerprint(sorted(golden)) if golden else "",
        }
    )


def look_at_day(
    day: str, asked: Sequence[tuple[str, str]], topics: Topics, golden: GoldenVectors, encode: Encode
) -> QuestionDay:
    """Count a day's draw of (id, question) by topic, and those that are far from the golden set."""
    vectors = np.asarray(encode([text for _, text in asked]), np.float32) if asked else np.zeros((0, 1), np.float32)
    counts = Counter(topics.assign(vectors))
    found = golden.far(vectors) if asked else None
    base = QuestionDay(
        day=day, n=len(asked), topics_id=topics.id, topics=dict(sorted(counts.items())), golden=golden.fingerprint
    )
    if found is None:
        return base
    is_far, distances = found
    order = sorted((i for i in range(len(asked)) if is_far[i]), key=lambda i: (-float(distances[i]), asked[i][0]))
    return base.model_copy(
        update={"n_compared": len(asked), "n_far": int(is_far.sum()), "far": tuple(asked[i][0] for i in order[:KEPT])}
    )


class TopicRow(Model):
    """A topic over a window: its share of the questions, how many golden questions test it, and whether that is a gap.

    `before`: its share in the days before the window (None: there were none).
    """

    name: str
    example: str
    n: int
    share: float
    low: float
    high: float
    n_golden: int
    golden_share: float | None
    before: float | None = None
    gap: bool = False


class NewCluster(Model):
    """Questions that are unlike the golden set and like one another: what users ask that is never tested."""

    name: str
    n: int
    examples: tuple[str, ...]
    ids: tuple[str, ...]


#: A topic is a gap when its share of the golden set is less than this part of its share of the questions.
GAP = 0.25


def topic_rows(topics: Topics, window: Sequence[QuestionDay], before: Sequence[QuestionDay]) -> tuple[TopicRow, ...]:
    """The topics of a window, the most asked first; days counted by other topics are left out."""
    from ragauge.monitor.days import rate

    now, earlier = _total(topics, window), _total(topics, before)
    n, m = sum(now.values()), sum(earlier.values())
    if n == 0:
        return ()
    known = {topic.name: topic for topic in topics.topics}
    rows = []
    for name, count in now.most_common():
        figure, topic = rate(count, n), known.get(name)
        n_golden = topic.n_golden if topic is not None else topics.n_golden - sum(t.n_golden for t in topics.topics)
        golden_share = n_golden / topics.n_golden if topics.n_golden else None
        assert figure.low is not None
        assert figure.high is not None
        gap = name != OTHER and golden_share is not None and golden_share < GAP * figure.low
        rows.append(
            TopicRow(
                name=name, example=topic.example if topic is not None else "", n=count, share=figure.value,
                low=figure.low, high=figure.high, n_golden=n_golden, golden_share=golden_share,
                before=earlier[name] / m if m else None, gap=gap,
            )
        )  # fmt: skip
    return tuple(rows)


def _total(topics: Topics, days: Sequence[QuestionDay]) -> Counter[str]:
    total: Counter[str] = Counter()
    for day in days:
        if day.topics_id == topics.id:
            total.update(day.topics)
    return total


def new_clusters(far: Sequence[tuple[str, str]], encode: Encode) -> tuple[NewCluster, ...]:
    """Groups among the (id, question) that are far from the golden set; single ones are left out."""
    if not far:
        return ()
    ids, texts = [name for name, _ in far], [text for _, text in far]
    text_of = dict(far)
    found = cluster(ids, texts, encode(texts))
    return tuple(
        NewCluster(
            name=one.name, n=one.n, ids=one.members, examples=tuple(text_of[i] for i in one.representatives)
        )
        for one in found.clusters
    )  # fmt: skip
