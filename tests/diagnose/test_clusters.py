from __future__ import annotations

import numpy as np
import pytest

from ragauge.diagnose import clusters as module
from ragauge.diagnose.clusters import cluster, distinctive, match
from ragauge.errors import MissingExtra

TOPICS = {
    "keys": ["How do I rotate an API key?", "Can a leaked API key be revoked?", "Where are API keys stored?"],
    "snapshots": ["How is a snapshot restored?", "Can I delete a snapshot?", "Who may share a snapshot?"],
}


def world(n_topics: int, each: int, dimension: int = 256, seed: int = 0) -> tuple[list[str], list[str], np.ndarray]:
    rng = np.random.default_rng(seed)
    centres = rng.normal(size=(n_topics, dimension))
    centres /= np.linalg.norm(centres, axis=1, keepdims=True)
    vectors = np.repeat(centres, each, axis=0) + rng.normal(0, 0.03, (n_topics * each, dimension))
    ids = [f"t{topic}-{number}" for topic in range(n_topics) for number in range(each)]
    texts = [f"question about topic{topic} number{number}" for topic in range(n_topics) for number in range(each)]
    return ids, texts, vectors


def test_topics_become_clusters_whatever_the_order_of_the_input() -> None:
    ids, texts, vectors = world(6, 12)
    found = cluster(ids, texts, vectors)
    assert sorted(one.n for one in found.clusters) == [12] * 6
    assert all(len({member.split("-")[0] for member in one.members}) == 1 for one in found.clusters)
    order = np.random.default_rng(1).permutation(len(ids))
    again = cluster([ids[i] for i in order], [texts[i] for i in order], vectors[order])
    assert again == found


def test_names_are_distinctive_terms_and_representatives_are_nearest_the_centre() -> None:
    texts = [text for group in TOPICS.values() for text in group]
    assert [terms[0] for terms in distinctive([TOPICS["keys"], TOPICS["snapshots"]], 2)][1] == "snapshot"
    assert (
        "key" in distinctive([TOPICS["keys"], TOPICS["snapshots"]], 2)[0]
        or "keys" in distinctive([TOPICS["keys"], TOPICS["snapshots"]], 2)[0]
    )
    vectors = np.asarray([[1, 0.1], [1, 0], [1, -0.1], [0, 1], [0.1, 1], [-0.1, 1]])
    found = cluster(list("abcdef"), texts, vectors, {"a": "not_retrieved", "b": "not_retrieved", "c": "miscited"})
    assert [one.representatives[0] for one in found.clusters] == ["b", "d"]
    assert found.clusters[0].causes == {"not_retrieved": 2, "miscited": 1}


def test_a_failure_like_no_other_is_in_no_cluster() -> None:
    found = cluster(["a", "b", "c"], ["x y", "x y", "z"], np.asarray([[1.0, 0], [1, 0.1], [0, 1]]))
    assert found.others == ("c",)
    assert cluster([], [], np.zeros((0, 3))).clusters == ()
    assert cluster(["a"], ["x"], np.ones((1, 3))).others == ("a",)


def test_ids_must_be_unique() -> None:
    with pytest.raises(ValueError, match="unique"):
        cluster(["a", "a"], ["x", "y"], np.ones((2, 2)))


def test_clusters_of_two_runs_are_matched_new_gone_and_grown() -> None:
    ids, texts, vectors = world(4, 10)
    before = cluster(ids[:30], texts[:30], vectors[:30])  # topics 0, 1, 2
    kept = [i for i, name in enumerate(ids) if not name.startswith("t0-")]
    kept = [i for i in kept if not (ids[i].startswith("t1-") and int(ids[i].split("-")[1]) > 3)]
    after = match(cluster([ids[i] for i in kept], [texts[i] for i in kept], vectors[kept]), before)
    status = {one.members[0].split("-")[0]: one.status for one in after.clusters}
    assert status == {"t1": "shrunk", "t2": "same", "t3": "new"}
    assert [one.members[0].split("-")[0] for one in after.gone] == ["t0"]
    assert next(one for one in after.clusters if one.status == "same").name in {one.name for one in before.clusters}
    grown = match(before, after)
    assert {one.status for one in grown.clusters} == {"new", "grown", "same"}


def test_many_failures_are_gathered_first_and_give_the_same_topics_each_time() -> None:
    pytest.importorskip("sklearn")
    ids, texts, vectors = world(8, 250)
    found = cluster(ids, texts, vectors)
    assert "k-means" in found.method
    assert [one.n for one in found.clusters] == [250] * 8
    assert cluster(ids, texts, vectors) == found


def test_without_scikit_learn_many_failures_name_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    import sys

    monkeypatch.setitem(sys.modules, "sklearn.cluster", None)
    monkeypatch.setattr(module, "EXACT", 3)
    ids, texts, vectors = world(2, 4)
    with pytest.raises(MissingExtra) as error:
        cluster(ids, texts, vectors)
    assert error.value.extra == "clusters"
