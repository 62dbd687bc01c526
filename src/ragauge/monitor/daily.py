"""One day's figures in one pass over its narrow columns."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from datetime import date
from typing import Any

from ragauge.monitor.query import DailyLog, Quantile, Spread
from ragauge.stats.drift import quantile_ranks

_LATENCIES = ("total_ms", "retrieval_ms", "generation_ms")
_SPREADS = ("top_score", "mean_score", "outcome")
_COUNTS = {
    "n": "count(*)",
    "n_answered": "count(*) FILTER (WHERE answered)",
    "n_errors": "count(error)",
    "n_zero_results": "count(*) FILTER (WHERE n_chunks = 0)",
    "n_chunks_known": "count(n_chunks)",
    "n_abstained": "count(*) FILTER (WHERE abstained)",
    "n_abstained_known": "count(abstained)",
    "n_up": "count(*) FILTER (WHERE feedback = 'up')",
    "n_down": "count(*) FILTER (WHERE feedback = 'down')",
    "n_slow": "count(*) FILTER (WHERE total_ms > ?)",
    "n_latency_known": "count(total_ms)",
    "tokens_in": "coalesce(sum(tokens_in), 0)::BIGINT",
    "tokens_out": "coalesce(sum(tokens_out), 0)::BIGINT",
    "cost_usd": "sum(cost_usd)",
}


def daily_log(
    sql: Callable[..., list[tuple[Any, ...]]], day: date, *, project: str | None, slow_ms: float,
    quantiles: Sequence[float],
) -> DailyLog | None:  # fmt: skip
    """The day in figures; None when it has no queries. Quantiles are nearest-rank, as `stats.drift` has them."""
    where = "" if project is None else "WHERE project = ?"
    given = [] if project is None else [project]
    columns = list(_COUNTS.values())
    for name in _SPREADS:
        columns += [f"count({name})", f"avg({name})", f"stddev_samp({name})"]
    columns += [f"count({name})" for name in _LATENCIES]
    row = list(sql(f"SELECT {', '.join(columns)} FROM queries {where}", [slow_ms, *given], since=day, until=day)[0])
    if not row[0]:
        return None
    values: dict[str, Any] = dict(zip(_COUNTS, row, strict=False))
    at = len(_COUNTS)
    for name in _SPREADS:
        n, mean, sd = row[at : at + 3]
        values[name] = Spread(n=n, mean=mean, sd=sd) if n else None
        at += 3
    known = {name: int(n) for name, n in zip(_LATENCIES, row[at:], strict=True) if n}
    return DailyLog(day=day.isoformat(), **values, **_latencies(sql, day, where, given, known, quantiles))


def _latencies(
    sql: Callable[..., list[tuple[Any, ...]]], day: date, where: str, given: list[str], known: dict[str, int],
    quantiles: Sequence[float],
) -> dict[str, tuple[Quantile, ...]]:  # fmt: skip
    wanted: dict[str, list[int]] = {}
    for name, n in known.items():
        wanted[name] = []
        for q in quantiles:
            ranks = quantile_ranks(n, q)
            wanted[name] += [min(n, max(1, rank)) for rank in (ranks.low, _nearest(n, q), ranks.high)]
    if not known:
        return {}
    # The r-th smallest of n is the discrete quantile at (r − ½)/n.
    columns = [
        f"quantile_disc({name}, [{', '.join(repr((rank - 0.5) / known[name]) for rank in ranks)}])"
        for name, ranks in wanted.items()
    ]
    row = sql(f"SELECT {', '.join(columns)} FROM queries {where}", given, since=day, until=day, feedback=False)[0]
    found: dict[str, tuple[Quantile, ...]] = {}
    for (name, n), values in zip(known.items(), row, strict=True):
        found[name] = tuple(_quantile(n, q, values[3 * i : 3 * i + 3]) for i, q in enumerate(quantiles))
    return found


def _nearest(n: int, q: float) -> int:
    return max(1, math.ceil(q * n - 1e-9))


def _quantile(n: int, q: float, values: Sequence[float]) -> Quantile:
    ranks = quantile_ranks(n, q)
    low, value, high = values
    return Quantile(q=q, n=n, value=value, low=low if ranks.low >= 1 else None, high=high if ranks.high <= n else None)
