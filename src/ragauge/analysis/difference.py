"""One metric, two sets of values over the same questions: how large the difference is and what may be said of it."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from ragauge.core.metric import MetricInfo
from ragauge.core.model import Model
from ragauge.core.run import Estimate
from ragauge.stats.intervals import FEW_CLUSTERS
from ragauge.stats.multiplicity import holm
from ragauge.stats.paired import (
    bounded_difference_interval,
    difference_interval,
    mcnemar_midp,
    tango_interval,
)
from ragauge.stats.permutation import Test, sign_flip_test
from ragauge.stats.power import mde_mcnemar, mde_paired_t, sample_size_mcnemar, sample_size_paired_t
from ragauge.stats.quantiles import two_sided_z

Verdict = Literal["better", "worse", "higher", "lower", "no measurable difference", "too few questions to tell"]

#: A difference smaller than this share of a metric's range is not worth telling, unless the user says otherwise.
SMALLEST = 0.10

#: Values closer than this are equal: rounding, not a change.
EQUAL = 1e-9


class Difference(Model):
    """One metric compared: B minus A over the questions that both scored.

    `p_adjusted` is Holm-corrected over everything compared at once. `n_better`/`n_worse` count questions (for
    metrics without a direction: higher and lower). `smallest_detectable` is what this many questions find with 80 %
    power; None: not even the largest possible difference. `n_needed` is how many would find `SMALLEST`.
    """

    key: str
    better: Literal["higher", "lower", "none"]
    half: Literal["retrieval", "generation", "both"]
    a: float
    b: float
    difference: float
    low: float | None
    high: float | None
    level: float
    p: float
    p_adjusted: float
    n_pairs: int
    verdict: Verdict
    n_better: int
    n_worse: int
    method: str
    test: str
    smallest_detectable: float | None
    n_needed: int
    only_a: int = 0
    only_b: int = 0
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class Pairs:
    """The values of one metric on the questions that both sides scored, in one order; `clusters` None: independent."""

    ids: tuple[str, ...]
    a: tuple[float, ...]
    b: tuple[float, ...]
    clusters: tuple[str, ...] | None
    notes: tuple[str, ...] = ()

    @property
    def differences(self) -> list[float]:
        """B minus A; rounding noise is 0."""
        return [0.0 if abs(y - x) <= EQUAL else y - x for x, y in zip(self.a, self.b, strict=True)]

    @property
    def is_rate(self) -> bool:
        """Whether every value is 0 or 1."""
        return all(x in (0.0, 1.0) for x in (*self.a, *self.b))


def pair(
    a: Mapping[str, float], b: Mapping[str, float], ids: Sequence[str], clusters: Mapping[str, str] | None
) -> Pairs:
    """Keep the `ids` that both have. Questions of one document count as a cluster where documents repeat.

    With fewer than ten clusters nothing can be said about documents: the questions are then taken as independent, and
    a note says so.
    """
    kept = tuple(item for item in ids if item in a and item in b)
    groups = tuple(clusters.get(item, f"question:{item}") for item in kept) if clusters is not None else None
    notes: tuple[str, ...] = ()
    if groups is not None:
        n_groups = len(set(groups))
        if n_groups == len(kept):
            groups = None
        elif n_groups < FEW_CLUSTERS:
            plural = "document" if n_groups == 1 else "documents"
            notes = (
                f"the questions come from {n_groups} {plural}: taken as independent, so the interval may be too narrow",
            )
            groups = None
    return Pairs(kept, tuple(a[item] for item in kept), tuple(b[item] for item in kept), groups, notes)


@dataclass(frozen=True)
class Measured:
    """A difference before it is corrected for the other metrics."""

    pairs: Pairs
    info: MetricInfo
    estimate: Estimate
    test: Test
    smallest_detectable: float | None
    n_needed: int


def span_of(info: MetricInfo, pairs: Pairs) -> float | None:
    """The width of the metric's range; None when it has none that its values keep to."""
    span = info.high - info.low
    values = (*pairs.a, *pairs.b)
    inside = all(info.low - EQUAL <= x <= info.high + EQUAL for x in values)
    return span if span > 0 and math.isfinite(span) and inside and info.kind != "number" else None


def measure(
    pairs: Pairs, info: MetricInfo, *, level: float = 0.95, seed: int = 0, smallest: float = SMALLEST
) -> Measured:
    """Estimate, test and power of one metric.

    Independent pass/fail values: Tango's interval and McNemar's mid-p. Anything else with a range: the score interval
    at the effective sample size and the sign-flip permutation test, by cluster where documents repeat. No range:
    paired t interval and the permutation test. Needs at least one pair.
    """
    differences = pairs.differences
    n = len(differences)
    if not n:
        raise ValueError("no pairs: there is nothing to compare")
    span = span_of(info, pairs)
    if pairs.is_rate and pairs.clusters is None and span == 1.0:
        b, c = sum(d > 0 for d in differences), sum(d < 0 for d in differences)
        estimate = tango_interval(b, c, n, level=level)
        test = Test(mcnemar_midp(b, c), None, "McNemar mid-p")
        psi = max((b + c + 1.0) / (n + 2.0), smallest)
        needed = math.ceil(sample_size_mcnemar(psi, smallest))
        return Measured(pairs, info, estimate, test, mde_mcnemar(n, (b + c + 1.0) / (n + 2.0)), needed)
    test = sign_flip_test(differences, clusters=pairs.clusters, seed=seed)
    if span is None:
        estimate = difference_interval(differences, level=level, clusters=pairs.clusters)
    else:
        unit = bounded_difference_interval([d / span for d in differences], level=level, clusters=pairs.clusters)
        estimate = unit.model_copy(
            update={
                "value": unit.value * span,
                "low": None if unit.low is None else unit.low * span,
                "high": None if unit.high is None else unit.high * span,
            }
        )
    detectable, needed = _power(estimate, n, smallest * (span if span is not None else 1.0))
    return Measured(pairs, info, estimate, test, detectable, needed)


def _power(estimate: Estimate, n: int, smallest: float) -> tuple[float | None, int]:
    """Power from the interval's own width, so that clusters count in it."""
    if estimate.low is None or estimate.high is None or n < 2:
        return None, 0
    sd = (estimate.high - estimate.low) / 2.0 / two_sided_z(estimate.level) * math.sqrt(n)
    return mde_paired_t(n, sd), math.ceil(sample_size_paired_t(smallest, sd))


def conclude(
    measured: Mapping[str, Measured], *, alpha: float = 0.05, smallest: float = SMALLEST
) -> dict[str, Difference]:
    """`conclude_all` for one comparison: metric key → difference."""
    return {one.key: one for one in conclude_all(list(measured.items()), alpha=alpha, smallest=smallest)}


def conclude_all(
    measured: Sequence[tuple[str, Measured]], *, alpha: float = 0.05, smallest: float = SMALLEST
) -> list[Difference]:
    """Correct the p-values of everything that is compared at once (Holm), and say what follows.

    better / worse: the corrected p is below alpha and the interval excludes 0. no measurable difference: the interval
    rules out differences beyond `smallest` of the range. too few questions to tell: neither.
    """
    adjusted = holm([one.test.p for _, one in measured])
    return [_difference(key, one, p, alpha, smallest) for (key, one), p in zip(measured, adjusted, strict=True)]


def _difference(key: str, one: Measured, p_adjusted: float, alpha: float, smallest: float) -> Difference:
    pairs, info, estimate = one.pairs, one.info, one.estimate
    n = len(pairs.ids)
    up = sum(d > 0 for d in pairs.differences)
    down = sum(d < 0 for d in pairs.differences)
    return Difference(
        key=key,
        better=info.better,
        half=info.half,
        a=math.fsum(pairs.a) / n,
        b=math.fsum(pairs.b) / n,
        difference=estimate.value,
        low=estimate.low,
        high=estimate.high,
        level=estimate.level,
        p=one.test.p,
        p_adjusted=p_adjusted,
        n_pairs=n,
        verdict=_verdict(one, p_adjusted, alpha, smallest),
        n_better=down if info.better == "lower" else up,
        n_worse=up if info.better == "lower" else down,
        method=estimate.method,
        test=one.test.method,
        smallest_detectable=one.smallest_detectable,
        n_needed=one.n_needed,
        notes=pairs.notes,
    )


def _verdict(one: Measured, p_adjusted: float, alpha: float, smallest: float) -> Verdict:
    low, high, value = one.estimate.low, one.estimate.high, one.estimate.value
    excludes_zero = low is not None and high is not None and (low > 0.0 or high < 0.0)
    if p_adjusted < alpha and excludes_zero:
        if one.info.better == "none":
            return "higher" if value > 0 else "lower"
        return "better" if (value > 0) == (one.info.better == "higher") else "worse"
    span = span_of(one.info, one.pairs)
    if low is not None and high is not None and span is not None and -smallest * span < low <= high < smallest * span:
        return "no measurable difference"
    return "too few questions to tell"
