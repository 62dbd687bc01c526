"""Failures that belong together: clustered by meaning, named by their distinctive terms, matched between runs."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, Literal

import numpy as np
from pydantic import Field

from ragauge.core.model import Model
from ragauge.errors import MissingExtra
from ragauge.text.tokens import content_words, stem

#: Failures are merged while their mean cosine distance is at most this (average linkage).
DISTANCE = 0.7
#: Above this many, they are first gathered into small groups, and those are merged.
EXACT = 1500
#: … into at most this many.
MOST_GROUPS = 600
#: Groups smaller than this are no cluster: they are listed together as "others".
SMALLEST = 2
N_TERMS, N_REPRESENTATIVES = 4, 3
#: Clusters of two runs are the same when their centroids are at least this near, or share this much of their questions.
SAME_CENTROID, SAME_MEMBERS = 0.75, 0.5
#: Growth that is worth a word.
GROWN = 1.5


class Cluster(Model):
    """`name` from its distinctive terms; `representatives` nearest to its centre first; `members` by distance too.

    `causes`: root causes in it. `status` against another run: new, grown, shrunk, same; "" when there is none.
    `centroid` is what runs are compared by; it is not written out.
    """

    name: str
    n: int
    share: float
    terms: tuple[str, ...]
    representatives: tuple[str, ...]
    members: tuple[str, ...]
    causes: dict[str, int] = Field(default_factory=dict)
    centroid: tuple[float, ...] = Field(default=(), exclude=True)
    status: Literal["", "new", "grown", "shrunk", "same", "gone"] = ""
    before: int | None = None


class Clusters(Model):
    """All clusters, largest first; `others` belong to none. `gone`: clusters of the other run that are no more."""

    n: int
    clusters: tuple[Cluster, ...] = ()
    others: tuple[str, ...] = ()
    gone: tuple[Cluster, ...] = ()
    method: str = ""


def cluster(
    ids: Sequence[str], texts: Sequence[str], vectors: Any, causes: Mapping[str, str] | None = None, *, seed: int = 0
) -> Clusters:
    """Cluster failures by their vectors (one row each; scaled to length 1 here). Deterministic.

    Up to 1500: average linkage on cosine distance, cut at 0.7 (scipy). More: k-means into groups of about 25 first
    (scikit-learn's MiniBatchKMeans, extra `clusters`), whose centres are then linked. Order of the input has no
    influence up to 1500.
    """
    n = len(ids)
    if not len(texts) == len(vectors) == n or len(set(ids)) != n:
        raise ValueError("ids must be unique, and there must be one text and one vector for each")
    if n == 0:
        return Clusters(n=0, method="nothing failed")
    order = sorted(range(n), key=lambda place: ids[place])
    rows = np.asarray(vectors, np.float32)[order]
    rows = rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-12)
    names, said = [ids[place] for place in order], [texts[place] for place in order]
    if n <= EXACT:
        labels, method = _linked(rows), f"average linkage, cosine distance {DISTANCE:g}"
    else:
        labels, method = _gathered(rows, seed), f"k-means, then average linkage, cosine distance {DISTANCE:g}"
    return _described(names, said, rows, labels, causes or {}, method)


def _linked(rows: np.ndarray) -> np.ndarray:
    if len(rows) == 1:
        return np.zeros(1, np.int64)
    from scipy.cluster.hierarchy import fcluster, linkage
    from scipy.spatial.distance import squareform

    distances = np.clip(1 - rows.astype(np.float64) @ rows.T.astype(np.float64), 0, 2)
    np.fill_diagonal(distances, 0)
    tree = linkage(squareform(np.round((distances + distances.T) / 2, 9), checks=False), method="average")
    labels: np.ndarray = fcluster(tree, DISTANCE, criterion="distance")
    return labels


def _gathered(rows: np.ndarray, seed: int) -> np.ndarray:
    try:
        from sklearn.cluster import MiniBatchKMeans
    except ImportError:
        raise MissingExtra("scikit-learn", "clusters") from None
    from threadpoolctl import threadpool_limits

    n_groups = min(MOST_GROUPS, max(60, len(rows) // 25))
    model = MiniBatchKMeans(n_groups, init="random", random_state=seed, batch_size=4096, n_init=1, max_iter=5)
    with threadpool_limits(1):  # many small products: threads that wait for each other take longer than one
        groups = model.fit_predict(rows)
    used = np.unique(groups)
    centres = np.stack([rows[groups == group].mean(axis=0) for group in used])
    centres /= np.maximum(np.linalg.norm(centres, axis=1, keepdims=True), 1e-12)
    merged = dict(zip(used.tolist(), _linked(centres).tolist(), strict=True))
    return np.asarray([merged[group] for group in groups.tolist()])


def _described(
    names: Sequence[str],
    texts: Sequence[str],
    rows: np.ndarray,
    labels: np.ndarray,
    causes: Mapping[str, str],
    method: str,
) -> Clusters:
    groups: dict[int, list[int]] = {}
    for place, label in enumerate(labels.tolist()):
        groups.setdefault(label, []).append(place)
    large = sorted((g for g in groups.values() if len(g) >= SMALLEST), key=lambda g: (-len(g), names[g[0]]))
    others = sorted(names[g[0]] for g in groups.values() if len(g) < SMALLEST)
    terms = distinctive([[texts[place] for place in group] for group in large])
    found = []
    for group, words in zip(large, terms, strict=True):
        centre = rows[group].mean(axis=0)
        centre /= max(float(np.linalg.norm(centre)), 1e-12)
        near = rows[group] @ centre
        ranked = sorted(range(len(group)), key=lambda i: (-round(float(near[i]), 6), names[group[i]]))
        members = tuple(names[group[i]] for i in ranked)
        found.append(
            Cluster(
                name=" · ".join(words) or members[0],
                n=len(group),
                share=len(group) / len(names),
                terms=words,
                representatives=members[:N_REPRESENTATIVES],
                members=members,
                causes=dict(Counter(causes[name] for name in members if name in causes).most_common()),
                centroid=tuple(round(float(value), 5) for value in centre),
            )
        )
    return Clusters(n=len(names), clusters=tuple(found), others=tuple(others), method=method)


def distinctive(groups: Sequence[Sequence[str]], n_terms: int = N_TERMS) -> list[tuple[str, ...]]:
    """The most distinctive terms of each group of texts, by class-based TF-IDF, spelled as they most often are.

    Weight of term t in group c: share of t among the words of c × ln(1 + A / f(t)), A words per group on average, f(t)
    how often t stands in all groups. Source: Grootendorst (2022), BERTopic, arXiv:2203.05794.

    >>> distinctive([["rotate the key", "revoke a key"], ["restore a snapshot", "delete the snapshot"]], 1)
    [('key',), ('snapshot',)]
    """
    counts: list[Counter[str]] = []
    spelled: dict[str, Counter[str]] = {}
    for texts in groups:
        found: Counter[str] = Counter()
        for text in texts:
            for word in set(content_words(text[:4000])):
                if len(word) > 1:
                    found[stem(word)] += 1
                    spelled.setdefault(stem(word), Counter())[word] += 1
        counts.append(found)
    total: Counter[str] = Counter()
    for found in counts:
        total.update(found)
    average = sum(total.values()) / max(len(counts), 1)
    out = []
    for found in counts:
        size = sum(found.values()) or 1
        weight = {term: n / size * math.log(1 + average / total[term]) for term, n in found.items()}
        best = sorted(weight, key=lambda term: (-round(weight[term], 12), term))[:n_terms]
        out.append(tuple(min(spelled[term], key=lambda word: (-spelled[term][word], word)) for term in best))
    return out


def match(now: Clusters, earlier: Clusters) -> Clusters:
    """`now` with each cluster's status against `earlier`; what is matched keeps the earlier name.

    Pairs are assigned one to one so that the sum of likeness is greatest (Hungarian method); likeness is the greater of
    the centroids' cosine and the share of the smaller cluster's questions that both have, and counts from 0.75 and 0.5.
    """
    if not now.clusters or not earlier.clusters:
        fresh = tuple(one.model_copy(update={"status": "new"}) for one in now.clusters)
        return now.model_copy(update={"clusters": fresh, "gone": _gone(earlier.clusters)})
    from scipy.optimize import linear_sum_assignment

    likeness = np.zeros((len(now.clusters), len(earlier.clusters)))
    sets = [set(one.members) for one in earlier.clusters]
    for i, one in enumerate(now.clusters):
        mine = set(one.members)
        for j, other in enumerate(earlier.clusters):
            cosine = float(np.dot(one.centroid, other.centroid)) if len(one.centroid) == len(other.centroid) else 0.0
            shared = len(mine & sets[j]) / min(len(mine), len(sets[j]))
            if cosine >= SAME_CENTROID or shared >= SAME_MEMBERS:
                likeness[i, j] = max(cosine, shared)
    pairs = {int(i): int(j) for i, j in zip(*linear_sum_assignment(-likeness), strict=True) if likeness[i, j] > 0}
    placed = []
    for i, one in enumerate(now.clusters):
        if i not in pairs:
            placed.append(one.model_copy(update={"status": "new"}))
            continue
        other = earlier.clusters[pairs[i]]
        grown = one.n >= GROWN * other.n
        status = "grown" if grown else "shrunk" if other.n >= GROWN * one.n else "same"
        placed.append(one.model_copy(update={"status": status, "before": other.n, "name": other.name}))
    left = [other for j, other in enumerate(earlier.clusters) if j not in set(pairs.values())]
    return now.model_copy(update={"clusters": tuple(placed), "gone": _gone(left)})


def _gone(clusters: Sequence[Cluster]) -> tuple[Cluster, ...]:
    return tuple(one.model_copy(update={"status": "gone", "before": one.n, "n": 0}) for one in clusters)
