"""The same numbers by tag: where it is good, and where it is not. For looking, not for deciding."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence

from ragauge.analysis.columns import Column, RunTable
from ragauge.analysis.difference import Difference, Measured, Pairs, conclude_all, measure
from ragauge.core.run import Estimate
from ragauge.stats.intervals import mean_interval

#: Slices smaller than this say nothing.
MIN_SLICE = 5


def tags_of(table: RunTable, ids: Iterable[str] | None = None) -> dict[str, list[str]]:
    """Tag → ids in input order, most frequent tag first."""
    wanted = set(ids) if ids is not None else None
    found: dict[str, list[str]] = {}
    for item in table.ids:
        if wanted is None or item in wanted:
            for tag in table.tags.get(item, ()):
                found.setdefault(tag, []).append(item)
    return dict(sorted(found.items(), key=lambda entry: (-len(entry[1]), entry[0])))


def by_tag(
    table: RunTable, *, min_n: int = MIN_SLICE, tags: Collection[str] | None = None
) -> dict[str, dict[str, Estimate]]:
    """Tag → metric → its mean with interval, for slices of at least `min_n` scored questions. `tags`: only these."""
    out: dict[str, dict[str, Estimate]] = {}
    for tag, ids in tags_of(table).items():
        if tags is not None and tag not in tags:
            continue
        found = {key: _estimate(column, ids) for key, column in table.columns.items() if _n(column, ids) >= min_n}
        if found:
            out[tag] = found
    return out


def _n(column: Column, ids: Sequence[str]) -> int:
    return sum(item in column.values for item in ids)


def _estimate(column: Column, ids: Sequence[str]) -> Estimate:
    info = column.spec.info
    values = [column.values[item] for item in ids if item in column.values]
    bounded = info.low == 0.0 and info.high == 1.0
    return mean_interval(values, kind=info.kind, bounded=bounded)


def differences_by_tag(
    measured: Mapping[str, Measured], tags: Mapping[str, Sequence[str]], *, smallest: float, min_n: int = MIN_SLICE
) -> dict[str, dict[str, Difference]]:
    """Tag → metric → difference within the slice. p-values are corrected over all slices and metrics together."""
    cells: list[tuple[str, str, Measured]] = []
    for tag, ids in tags.items():
        wanted = set(ids)
        for key, one in measured.items():
            part = _within(one.pairs, wanted)
            if len(part.ids) >= min_n:
                cells.append((tag, key, measure(part, one.info, level=one.estimate.level, smallest=smallest)))
    out: dict[str, dict[str, Difference]] = {}
    concluded = conclude_all([(key, one) for _, key, one in cells], smallest=smallest)
    for (tag, key, _), found in zip(cells, concluded, strict=True):
        out.setdefault(tag, {})[key] = found
    return out


def _within(pairs: Pairs, wanted: set[str]) -> Pairs:
    keep = [place for place, item in enumerate(pairs.ids) if item in wanted]
    return Pairs(
        ids=tuple(pairs.ids[i] for i in keep),
        a=tuple(pairs.a[i] for i in keep),
        b=tuple(pairs.b[i] for i in keep),
        clusters=None,
        notes=pairs.notes,
    )
