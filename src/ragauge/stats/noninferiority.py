"""The gate's question: has a metric dropped by more than it may? Three answers, never two."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from ragauge.stats.intervals import standard_error
from ragauge.stats.multiplicity import holm
from ragauge.stats.paired import (
    bounded_difference_interval,
    mcnemar_midp,
    tango_bounds,
    tango_statistic,
)
from ragauge.stats.permutation import Test, sign_flip_test
from ragauge.stats.power import sample_size_noninferiority, sample_size_noninferiority_graded
from ragauge.stats.quantiles import normal_quantile, normal_sf, t_quantile, t_sf


class Decision(StrEnum):
    """What a gate may say."""

    PASS = "pass"
    FAIL = "fail"
    INCONCLUSIVE = "inconclusive"


@dataclass(frozen=True)
class Drop:
    """One metric's paired difference (new minus old, higher is better) as the gate needs it.

    `low` and `high` are the one-sided confidence bounds at 1 − alpha; `p_worse` tests "is not worse" (small: worse);
    `n_needed` is how many questions would decide with 80 % power if nothing changed.
    """

    difference: float
    low: float
    high: float
    p_worse: float
    n: int
    margin: float
    n_needed: int
    method: str


def noninferiority_paired_t(differences: Sequence[float], margin: float, *, alpha: float = 0.05) -> tuple[Test, float]:
    """Test "the mean difference is ≤ −margin" (small p: shown to be no worse), and the one-sided lower bound.

    `t = (d̄ + margin)/SE` with n − 1 degrees of freedom. Assumes about normal mean differences; for pass/fail metrics
    use `noninferiority_tango`. Source: STATISTICS.md §2.5.

    >>> test, low = noninferiority_paired_t([0.0, 0.1, -0.1, 0.05, 0.0, 0.02], 0.1)
    >>> round(test.p, 4), round(low, 4)
    (0.0046, -0.043)
    """
    n = len(differences)
    if n < 2:
        raise ValueError("a paired t test needs at least two pairs")
    mean, se = math.fsum(differences) / n, standard_error(differences)
    low = mean - t_quantile(1.0 - alpha, n - 1) * se
    if se == 0.0:
        return Test(0.0 if mean > -margin else 1.0, None, "non-inferiority, paired t"), low
    t = (mean + margin) / se
    return Test(t_sf(t, n - 1), t, "non-inferiority, paired t"), low


def noninferiority_tango(b: int, c: int, n: int, margin: float) -> Test:
    """Test "new rate − old rate ≤ −margin" for paired pass/fail outcomes, Tango's score test.

    `b` new right and old wrong, `c` new wrong and old right. Small p: shown to be no worse than by `margin`.

    >>> round(noninferiority_tango(9, 2, 100, 0.03).p, 5)
    0.00271
    """
    z = tango_statistic(b, c, n, -margin)
    return Test(normal_sf(z), z, "non-inferiority, Tango score test")


def equivalence_paired_t(differences: Sequence[float], low: float, high: float) -> float:
    """Two one-sided t tests of "the mean difference lies outside [low, high]"; small p: equivalent.

    Source: Schuirmann 1987.
    """
    n = len(differences)
    mean, se = math.fsum(differences) / n, standard_error(differences)
    if se == 0.0:
        return 0.0 if low < mean < high else 1.0
    return max(t_sf((mean - low) / se, n - 1), t_sf((high - mean) / se, n - 1))


def drop_of_rates(b: int, c: int, n: int, margin: float, *, alpha: float = 0.05) -> Drop:
    """`Drop` of a pass/fail metric from its discordant counts (Tango).

    >>> drop_of_rates(2, 9, 100, 0.03).p_worse < 0.05
    True
    """
    low, high = tango_bounds(b, c, n, normal_quantile(1.0 - alpha))
    discordant = max((b + c) / n, 0.5 / n)
    return Drop(
        difference=(b - c) / n,
        low=low,
        high=high,
        p_worse=_one_sided(mcnemar_midp(b, c), b - c),
        n=n,
        margin=margin,
        n_needed=math.ceil(sample_size_noninferiority(discordant, margin, alpha=alpha)) if margin > 0 else 0,
        method="Tango score, one-sided",
    )


def drop_of_means(
    differences: Sequence[float],
    margin: float,
    *,
    clusters: Sequence[str] | None = None,
    alpha: float = 0.05,
    seed: int = 0,
) -> Drop:
    """`Drop` of a graded metric from its paired differences in [−1, 1], cluster-robust when clusters repeat.

    The bound is that of `paired.bounded_difference_interval`, the test the sign-flip permutation test. Fewer than two
    independent questions: ValueError.

    >>> drop_of_means([0.0, -0.1, 0.05, 0.0] * 50, 0.03).low > -0.03
    True
    """
    if (len(set(clusters)) if clusters is not None else len(differences)) < 2:
        raise ValueError("non-inferiority needs at least two independent questions")
    bounds = bounded_difference_interval(differences, level=1.0 - 2.0 * alpha, clusters=clusters)
    assert bounds.low is not None
    assert bounds.high is not None
    test = sign_flip_test(differences, clusters=clusters, seed=seed)
    n = len(differences)
    # the standard deviation behind the bound, so that clusters and pseudo-observations count in what is needed
    sd = (bounds.high - bounds.low) / 2.0 / normal_quantile(1.0 - alpha) * math.sqrt(n)
    return Drop(
        difference=bounds.value,
        low=bounds.low,
        high=bounds.high,
        p_worse=_one_sided(test.p, bounds.value),
        n=n,
        margin=margin,
        n_needed=math.ceil(sample_size_noninferiority_graded(sd, margin, alpha=alpha)) if margin > 0 else 0,
        method=f"{bounds.method}, one-sided",
    )


def _one_sided(p: float, difference: float) -> float:
    """The one-sided p of "worse" from a symmetric two-sided one."""
    return p / 2.0 if difference < 0 else 1.0 - p / 2.0


def decide(drops: Sequence[Drop], *, alpha: float = 0.05) -> list[Decision]:
    """One decision per metric.

    PASS: the one-sided lower bound is above −margin. FAIL: significantly worse (Holm over the metrics given) *and*
    the observed drop is greater than the margin. INCONCLUSIVE otherwise. All metrics must pass for the gate to pass:
    an intersection-union test, which needs no further correction. Source: STATISTICS.md §2.5.

    >>> decide([drop_of_rates(3, 3, 2000, 0.03), drop_of_rates(1, 20, 100, 0.03), drop_of_rates(5, 6, 60, 0.03)])
    [<Decision.PASS: 'pass'>, <Decision.FAIL: 'fail'>, <Decision.INCONCLUSIVE: 'inconclusive'>]
    """
    adjusted = holm([drop.p_worse for drop in drops])
    decisions = []
    for drop, p in zip(drops, adjusted, strict=True):
        if drop.low > -drop.margin:
            decisions.append(Decision.PASS)
        elif p < alpha and drop.difference < -drop.margin:
            decisions.append(Decision.FAIL)
        else:
            decisions.append(Decision.INCONCLUSIVE)
    return decisions


def false_alarm_of_point_rule(differences: Sequence[float], margin: float) -> float:
    """How often "fail if the observed drop exceeds `margin`" fails although nothing changed, for one metric.

    `P(N(0, SE²) < −margin)` with the SE of these differences. Printed beside every point rule.

    >>> round(false_alarm_of_point_rule([1, -1] * 5 + [0] * 90, 0.03), 2)
    0.17
    """
    se = standard_error(differences) if len(differences) > 1 else 0.0
    return normal_sf(margin / se) if se > 0.0 else 0.0
