"""How many questions are enough: power, minimum detectable effect, sample sizes.

Two-sided tests at `alpha` 0.05 and 80 % power unless said. `p_discordant` (ψ) is the share of questions on which two
systems differ in a pass/fail metric; `sd` the standard deviation of the paired differences of a graded one.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

from ragauge.stats.quantiles import normal_quantile, t_quantile

#: What two configurations of one system usually look like, until a pilot says otherwise (STATISTICS.md §2.5).
USUAL_DISCORDANT = 0.15
USUAL_SD = 0.30


def _solve_increasing(function: Callable[[float], float], target: float, low: float, high: float) -> float:
    """The x in [low, high] at which an increasing function reaches `target`, by bisection."""
    for _ in range(200):
        middle = (low + high) / 2.0
        if function(middle) < target:
            low = middle
        else:
            high = middle
        if high - low <= 1e-11 * max(1.0, high):
            break
    return (low + high) / 2.0


def power_paired_t(n: float, delta: float, sd: float, *, alpha: float = 0.05) -> float:
    """Power of the two-sided paired t test to find a true mean difference `delta` (noncentral t).

    >>> round(power_paired_t(100, 0.1, 0.32), 3)
    0.872
    """
    from scipy.special import nctdtr

    if n < 2 or sd <= 0:
        raise ValueError("needs n of at least 2 and a positive standard deviation")
    t = t_quantile(1.0 - alpha / 2.0, n - 1.0)
    return float(1.0 - nctdtr(n - 1.0, abs(delta) / sd * math.sqrt(n), t))


def sample_size_paired_t(delta: float, sd: float, *, alpha: float = 0.05, power: float = 0.8) -> float:
    """Questions needed to find a mean difference `delta` with the paired t test (not rounded).

    >>> round(sample_size_paired_t(0.03, 0.32))
    895
    """
    if not delta:
        raise ValueError("no number of questions finds a difference of 0")
    guess = ((normal_quantile(1 - alpha / 2) + normal_quantile(power)) * sd / delta) ** 2
    return _solve_increasing(lambda n: power_paired_t(n, delta, sd, alpha=alpha), power, 2.0, 4.0 * guess + 20.0)


def mde_paired_t(n: float, sd: float, *, alpha: float = 0.05, power: float = 0.8) -> float:
    """The smallest mean difference that the paired t test finds with this power: about 2.80 · sd / √n.

    >>> round(mde_paired_t(100, 0.32), 4)
    0.0905
    """
    return _solve_increasing(
        lambda delta: power_paired_t(n, delta, sd, alpha=alpha), power, 0.0, 100.0 * sd / math.sqrt(n)
    )


def sample_size_mcnemar(p_discordant: float, delta: float, *, alpha: float = 0.05, power: float = 0.8) -> float:
    """Questions needed to find a difference `delta` of paired rates with ψ discordant (not rounded).

    `n = ((z_{1−α/2} √ψ + z_{power} √(ψ − δ²)) / δ)²`. ψ is at least |δ|. Source: Connor 1987.

    >>> round(sample_size_mcnemar(0.1, 0.05), 1)
    311.6
    """
    if not 0 < abs(delta) <= p_discordant <= 1:
        raise ValueError("the difference must not be 0 nor greater than the discordant share")
    za, zb = normal_quantile(1 - alpha / 2), normal_quantile(power)
    return ((za * math.sqrt(p_discordant) + zb * math.sqrt(p_discordant - delta * delta)) / delta) ** 2


def mde_mcnemar(n: int, p_discordant: float, *, alpha: float = 0.05, power: float = 0.8) -> float | None:
    """The smallest difference of paired rates found with this power; None when even δ = ψ is not.

    >>> round(mde_mcnemar(200, 0.1), 3)
    0.062
    >>> mde_mcnemar(50, 0.05) is None
    True
    """
    if sample_size_mcnemar(p_discordant, p_discordant, alpha=alpha, power=power) > n:
        return None
    return _solve_increasing(
        lambda delta: -sample_size_mcnemar(p_discordant, delta, alpha=alpha, power=power), -n, 1e-9, p_discordant
    )


def power_mcnemar_midp(n: int, p10: float, p01: float, *, alpha: float = 0.05) -> float:
    """Exact power of McNemar's mid-p test: the probability, over all tables, that p < alpha.

    `p10` and `p01` are the probabilities that only the second, or only the first, is right. Sums over the number of
    discordant pairs m ~ Bin(n, p10 + p01) and the split Bin(m, p10/(p10 + p01)).

    >>> round(power_mcnemar_midp(60, 0.14, 0.04), 4)
    0.434
    """
    import numpy as np
    from scipy.special import bdtr, gammaln

    psi = p10 + p01
    if not 0 < psi <= 1 or p10 < 0 or p01 < 0:
        raise ValueError("p10 and p01 must be probabilities with a positive sum of at most 1")
    m = np.arange(n + 1)
    with np.errstate(divide="ignore", invalid="ignore"):
        log_pmf = gammaln(n + 1) - gammaln(m + 1) - gammaln(n - m + 1) + m * math.log(psi)
        log_pmf = log_pmf + (0.0 if psi == 1 else (n - m) * math.log1p(-psi))
    weights = np.exp(log_pmf) if psi < 1 else (m == n).astype(float)
    share, total = p10 / psi, 0.0
    for count in range(1, n + 1):
        if weights[count] < 1e-15:
            continue
        k = np.arange((count + 1) // 2)
        pmf = np.exp(gammaln(count + 1) - gammaln(k + 1) - gammaln(count - k + 1) - count * math.log(2.0))
        midp = 2.0 * bdtr(k, count, 0.5) - pmf
        rejected = np.flatnonzero(midp < alpha)
        if not len(rejected):
            continue
        edge = int(rejected[-1])
        total += weights[count] * (_binomial_cdf(edge, count, share) + _binomial_cdf(edge, count, 1.0 - share))
    return float(total)


def _binomial_cdf(k: int, n: int, p: float) -> float:
    from scipy.special import bdtr

    return float(bdtr(k, n, min(1.0, max(0.0, p))))


def sample_size_noninferiority(
    p_discordant: float, margin: float, *, true_delta: float = 0.0, alpha: float = 0.05, power: float = 0.8
) -> float:
    """Questions needed to show that a pass/fail metric dropped by no more than `margin` (one-sided alpha).

    `n = (z_{1−α} + z_{power})² (ψ − δ²) / (δ + margin)²` for a true difference δ.

    >>> round(sample_size_noninferiority(0.1, 0.03))
    687
    """
    gap = true_delta + margin
    if gap <= 0:
        raise ValueError("a true drop as large as the margin can never be shown to be smaller")
    z = normal_quantile(1 - alpha) + normal_quantile(power)
    return z * z * (p_discordant - true_delta * true_delta) / (gap * gap)


def sample_size_noninferiority_graded(sd: float, margin: float, *, alpha: float = 0.05, power: float = 0.8) -> float:
    """The same for a graded metric whose paired differences have standard deviation `sd`: 6.18 (sd/margin)².

    >>> round(sample_size_noninferiority_graded(0.15, 0.03))
    155
    """
    if margin <= 0:
        raise ValueError("the margin must be positive")
    z = normal_quantile(1 - alpha) + normal_quantile(power)
    return (z * sd / margin) ** 2


def margin_supported(n: int, sd: float, *, alpha: float = 0.05, power: float = 0.8) -> float:
    """The smallest margin for which `n` questions pass an unchanged system with this power.

    For a pass/fail metric, `sd` is √ψ.

    >>> round(margin_supported(687, 0.1 ** 0.5), 3)
    0.03
    """
    return (normal_quantile(1 - alpha) + normal_quantile(power)) * sd / math.sqrt(n)


@dataclass(frozen=True)
class Plan:
    """What a question set of size n can and cannot tell about two systems. All at 80 % power.

    `smallest_rate` and `smallest_graded`: the smallest detectable difference of a pass/fail and of a graded metric
    (None: not even the largest possible). `gate_margin_*`: the margin that an unchanged system can be shown to keep.
    `half_width_90`: half the width of the interval of a rate of 90 %.
    """

    n: int
    p_discordant: float
    sd: float
    smallest_rate: float | None
    smallest_graded: float
    gate_margin_rate: float
    gate_margin_graded: float
    half_width_90: float


def plan(n: int, *, p_discordant: float = USUAL_DISCORDANT, sd: float = USUAL_SD) -> Plan:
    """What `n` questions can tell (for `golden validate` and before a run).

    >>> p = plan(100)
    >>> round(p.smallest_rate, 3), round(p.smallest_graded, 3), round(p.half_width_90, 2)
    (0.107, 0.085, 0.06)
    """
    from ragauge.stats.intervals import wilson_bounds
    from ragauge.stats.quantiles import two_sided_z

    if n < 2:
        raise ValueError("needs at least two questions")
    low, high = wilson_bounds(0.9, n, two_sided_z(0.95))
    return Plan(
        n=n,
        p_discordant=p_discordant,
        sd=sd,
        smallest_rate=mde_mcnemar(n, p_discordant),
        smallest_graded=mde_paired_t(n, sd),
        gate_margin_rate=margin_supported(n, math.sqrt(p_discordant)),
        gate_margin_graded=margin_supported(n, sd),
        half_width_90=(high - low) / 2.0,
    )
