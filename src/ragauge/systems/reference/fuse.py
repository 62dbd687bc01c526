"""Several rankings made one."""

from __future__ import annotations

from collections.abc import Sequence


def reciprocal_rank_fusion(
    rankings: Sequence[Sequence[int]], keys: Sequence[str], n: int, k: int = 60
) -> list[tuple[int, float]]:
    """The best `n` (item, score) of several rankings: score = Σ 1 / (k + rank) over those that hold the item.

    Ties by `keys[item]`. Range 0 to len(rankings) / (k + 1). Source: Cormack, Clarke & Büttcher (2009), SIGIR.

    >>> [(item, round(score, 4)) for item, score in reciprocal_rank_fusion([[0, 1], [1, 2]], "abc", 3)]
    [(1, 0.0325), (0, 0.0164), (2, 0.0161)]
    """
    scores: dict[int, float] = {}
    for ranking in rankings:
        for rank, item in enumerate(ranking, start=1):
            scores[item] = scores.get(item, 0.0) + 1 / (k + rank)
    order = sorted(scores, key=lambda item: (-round(scores[item], 12), keys[item]))
    return [(item, scores[item]) for item in order[:n]]
