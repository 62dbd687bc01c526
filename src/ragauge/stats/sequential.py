"""Look at any time: intervals and tests that stay valid however often one peeks.

Right for A/B tests and for stopping an evaluation early; wrong for detecting a change (a run-long average dilutes a
late drop): `charts` is for that.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from ragauge.core.run import Estimate


def mixture_width(v_opt: float, alpha: float = 0.05) -> float:
    """ρ of the normal mixture that makes the boundary tightest at intrinsic time `v_opt`.

    `ρ = v_opt / (2 ln(1/α) + ln(1 + 2 ln(1/α)))`. Source: Howard et al. 2021 (confseq).
    """
    log = 2.0 * math.log(1.0 / alpha)
    return v_opt / (log + math.log1p(log))


def normal_mixture_boundary(v: float, *, alpha: float = 0.05, v_opt: float = 100.0, two_sided: bool = True) -> float:
    """How far a sum with variance process `v` may stray from its mean, at all times at once, with probability 1 − α.

    Two-sided: `√((v + ρ)(ln((v + ρ)/ρ) + 2 ln(1/α)))`. One-sided: the same mixture over positive values only,
    solved numerically. `v` is the sum of (sub-Gaussian) variances. Source: Robbins 1970; Howard et al. 2021.

    >>> round(normal_mixture_boundary(100, v_opt=100), 4)
    30.3521
    """
    rho = mixture_width(v_opt, alpha if two_sided else 2 * alpha)
    if two_sided:
        return math.sqrt((v + rho) * (math.log((v + rho) / rho) + 2.0 * math.log(1.0 / alpha)))
    threshold = math.log(1.0 / alpha)

    def log_supermartingale(s: float) -> float:
        log_phi = math.log(0.5 * math.erfc(-s / math.sqrt(2.0 * (v + rho))))
        return 0.5 * math.log(4.0 * rho / (v + rho)) + s * s / (2.0 * (v + rho)) + log_phi

    low, high = 0.0, 1.0
    while log_supermartingale(high) < threshold:
        high *= 2.0
    for _ in range(200):
        middle = (low + high) / 2.0
        low, high = (middle, high) if log_supermartingale(middle) < threshold else (low, middle)
    return (low + high) / 2.0


def beta_binomial_log_e(successes: int, trials: int, p0: float, *, prior: tuple[float, float] = (1.0, 1.0)) -> float:
    """The log e-value against "the rate is `p0`": reject at any time when it reaches ln(1/α).

    `ln B(a + S, b + n − S) − ln B(a, b) − S ln p0 − (n − S) ln(1 − p0)`. Source: Robbins 1970; Grünwald et al. 2024.

    >>> round(beta_binomial_log_e(150, 200, 0.85), 4)
    4.1964
    """
    if not 0 < p0 < 1 or not 0 <= successes <= trials:
        raise ValueError("p0 must lie in (0, 1) and successes in [0, trials]")
    a, b = prior
    failures = trials - successes
    return (
        _log_beta(a + successes, b + failures) - _log_beta(a, b) - successes * math.log(p0) - failures * math.log1p(-p0)
    )


def _log_beta(a: float, b: float) -> float:
    return math.lgamma(a) + math.lgamma(b) - math.lgamma(a + b)


def bernoulli_log_e(successes: int, trials: int, p: float, *, alpha: float = 0.05, t_opt: int = 200) -> float:
    """The log e-value against "the rate is p" of the beta-binomial mixture that is centred on p and tuned for `t_opt`.

    The mixture is Beta(r/(1 − p), r/p) with `r = max(ρ − p(1 − p), p(1 − p)/1000)` and ρ as in `mixture_width`.
    Source: Howard et al. 2021, proposition 7 (the sub-Bernoulli mixture).
    """
    v = p * (1.0 - p)
    r = max(mixture_width(t_opt * v, alpha) - v, 1e-3 * v)
    a, b = r / (1.0 - p), r / p
    failures = trials - successes
    return (
        _log_beta(a + successes, b + failures) - _log_beta(a, b) - successes * math.log(p) - failures * math.log1p(-p)
    )


def confidence_sequence(successes: int, trials: int, *, alpha: float = 0.05, t_opt: int = 200) -> Estimate:
    """A rate with an interval that may be looked at after every question: it covers at all times at once.

    The rates p that the mixture of `bernoulli_log_e` does not reject. About 1.5 times as wide as Wilson's at `t_opt`
    questions, where it is tightest. Range [0, 1]. Source: Howard, Ramdas, McAuliffe, Sekhon 2021 (confseq).

    >>> e = confidence_sequence(170, 200)
    >>> round(e.low, 4), round(e.high, 4)
    (0.7643, 0.9169)
    """
    if trials < 1 or not 0 <= successes <= trials:
        raise ValueError(f"{successes} of {trials} is no proportion")
    threshold = math.log(1.0 / alpha)
    rate = successes / trials

    def edge(outside: float, inside: float) -> float:
        """Bisect between a rejected end and the observed rate; the end itself when it is not rejected."""
        for _ in range(100):
            middle = (outside + inside) / 2.0
            if not 0.0 < middle < 1.0:
                break
            if bernoulli_log_e(successes, trials, middle, alpha=alpha, t_opt=t_opt) >= threshold:
                outside = middle
            else:
                inside = middle
        return (outside + inside) / 2.0

    low = 0.0 if successes == 0 else edge(0.0, rate)
    high = 1.0 if successes == trials else edge(1.0, rate)
    return Estimate(
        value=rate, low=low, high=high, level=1.0 - alpha, n=trials, method="always-valid beta-binomial interval"
    )


def mean_confidence_sequence(
    values: Sequence[float], *, alpha: float = 0.05, n_opt: int = 200, scale: float | None = None
) -> Estimate:
    """A mean with an always-valid interval, `mean ± boundary(v)/n`.

    With `scale` (a bound on the standard deviation of the noise) the values are sub-Gaussian and v = n scale²; values
    in [0, 1] always satisfy `scale=0.5`. Without it the sample variance is used, which is valid asymptotically (from
    some 50 values). Source: Howard et al. 2021; Waudby-Smith et al. 2021 (asymptotic confidence sequences).

    >>> e = mean_confidence_sequence([0.0, 1.0] * 100, scale=0.5)
    >>> round(e.low, 3), round(e.high, 3)
    (0.393, 0.607)
    """
    n = len(values)
    if n < 2:
        raise ValueError("needs at least two values")
    mean = math.fsum(values) / n
    variance = scale * scale if scale is not None else math.fsum((x - mean) ** 2 for x in values) / (n - 1)
    method = "always-valid normal mixture interval" + ("" if scale is not None else " (asymptotic)")
    if variance <= 0.0:
        return Estimate(value=mean, level=1.0 - alpha, n=n, method="no interval: nothing varies")
    half = normal_mixture_boundary(n * variance, alpha=alpha, v_opt=n_opt * variance) / n
    return Estimate(value=mean, low=mean - half, high=mean + half, level=1.0 - alpha, n=n, method=method)
