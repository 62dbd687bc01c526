"""What a review queue holds, and how far its reviewers agree."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from itertools import combinations
from typing import Any

from ragauge.core.model import Model
from ragauge.core.run import Estimate
from ragauge.review.items import Label
from ragauge.review.queue import Queue
from ragauge.stats.agreement import Table as Cells
from ragauge.stats.agreement import krippendorff_alpha, matthews_correlation
from ragauge.stats.intervals import proportion_interval


class Dispute(Model):
    """An item on which reviewers differ and that nobody has settled."""

    item_id: str
    item: str
    metric: str
    labels: dict[str, str]
    notes: dict[str, str]


class Stats(Model):
    """Counts, agreement between people (`alpha`: Krippendorff's, nominal), open disputes, systematic patterns."""

    where: str
    n_items: int
    n_open: int
    n_done: int
    n_leased: int
    n_labels: int
    by_source: dict[str, dict[str, int]]
    reviewers: dict[str, dict[str, int]]
    n_twice: int
    agreement: Estimate | None
    alpha: float | None
    pairs: dict[str, dict[str, float | int]]
    disputes: tuple[Dispute, ...]
    patterns: dict[str, tuple[str, ...]]


def queue_stats(queue: Queue) -> Stats:
    """Everything at once, as it is now."""
    items = list(queue.items())
    labels = queue.labels()
    names = {item.id: item for item in items}
    by_item: dict[str, list[Label]] = defaultdict(list)
    for label in labels:
        by_item[label.item_id].append(label)
    sources: dict[str, Counter[str]] = defaultdict(Counter)
    for item in items:
        sources[item.source][item.state] += 1
    people = Counter(label.reviewer for label in labels)
    twice = {item_id: given for item_id, given in by_item.items() if len({one.reviewer for one in given}) > 1}
    same = sum(len({one.label for one in given if not one.adjudicated}) == 1 for given in twice.values())
    patterns: dict[str, list[str]] = defaultdict(list)
    for label in labels:
        if label.systematic:
            patterns[label.systematic].append(names[label.item_id].item)
    return Stats(
        where=queue.where,
        n_items=len(items),
        n_open=sum(item.state == "open" for item in items),
        n_done=sum(item.state == "done" for item in items),
        n_leased=queue.n_leased(),
        n_labels=len(labels),
        by_source={source: dict(counts) for source, counts in sorted(sources.items())},
        reviewers={name: {"labels": n, "today": queue.done_today(name)} for name, n in sorted(people.items())},
        n_twice=len(twice),
        agreement=proportion_interval(same, len(twice)) if twice else None,
        alpha=_alpha(list(twice.values())),
        pairs=_pairs(list(twice.values())),
        disputes=tuple(
            Dispute(
                item_id=item_id,
                item=names[item_id].item,
                metric=names[item_id].metric,
                labels={one.reviewer: one.label for one in given},
                notes={one.reviewer: one.note for one in given if one.note},
            )
            for item_id, given in twice.items()
            if len({one.label for one in given}) > 1 and not any(one.adjudicated for one in given)
        ),
        patterns={name: tuple(found) for name, found in sorted(patterns.items())},
    )


def _alpha(twice: Sequence[Sequence[Label]]) -> float | None:
    words = sorted({label.label for given in twice for label in given})
    names = sorted({label.reviewer for given in twice for label in given})
    code = {word: float(place) for place, word in enumerate(words)}
    votes = [{one.reviewer: code[one.label] for one in given if not one.adjudicated} for given in twice]
    return krippendorff_alpha([[vote.get(name) for vote in votes] for name in names]) if names else None


def _pairs(twice: Sequence[Sequence[Label]]) -> dict[str, dict[str, float | int]]:
    """For each pair of reviewers: how many items both labelled, agreement, and MCC where there are two labels."""
    both: dict[tuple[str, str], list[tuple[str, str]]] = defaultdict(list)
    for given in twice:
        said = {one.reviewer: one.label for one in given if not one.adjudicated}
        for a, b in combinations(sorted(said), 2):
            both[a, b].append((said[a], said[b]))
    found: dict[str, dict[str, float | int]] = {}
    for (a, b), pairs in sorted(both.items()):
        row: dict[str, float | int] = {"n": len(pairs), "agreement": sum(x == y for x, y in pairs) / len(pairs)}
        words = sorted({word for pair in pairs for word in pair})
        if len(words) == 2:
            cells: dict[Any, int] = Counter((x == words[1], y == words[1]) for x, y in pairs)
            table = Cells(cells[True, True], cells[True, False], cells[False, True], cells[False, False])
            correlation = matthews_correlation(table)
            if correlation is not None:
                row["correlation"] = correlation
        found[f"{a} · {b}"] = row
    return found
