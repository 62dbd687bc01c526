"""Two independent groups, looked at as often as one likes: always-valid differences, and whether the split is right."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ragauge.core.run import Estimate
from ragauge.stats.sequential import confidence_sequence, normal_mixture_boundary

#: Fewer observations than this in a group, or fewer successes or failures than `FEW_EVENTS`, are too few for the
#: normal approximation: rates then get an exact interval, means none.
FEW = 50
FEW_EVENTS = 10
#: A split is called wrong below this p-value: checks are made often, and a false alarm throws a test away.
MISMATCH = 0.001


@dataclass
class Moments:
    """Count, mean and variance of a stream of numbers, added one by one (Welford 1962)."""

    n: int = 0
    mean: float = 0.0
    _squares: float = 0.0

    def add(self, value: float) -> None:
        """Count one value in."""
        self.n += 1
        step = value - self.mean
        self.mean += step / self.n
        self._squares += step * (value - self.mean)

    @property
    def variance(self) -> float:
        """The sample variance (n − 1); 0 for fewer than two values.

        >>> m = Moments()
        >>> for x in (1.0, 2.0, 4.0):
        ...     m.add(x)
        >>> round(m.mean, 4), round(m.variance, 4)
        (2.3333, 2.3333)
        """
        return self._squares / (self.n - 1) if self.n > 1 else 0.0


def mean_sequence(group: Moments, *, alpha: float = 0.05, n_opt: int = 1000) -> Estimate:
    """A mean with an always-valid interval from its moments: `mean ± boundary(n s²)/n`, tightest at `n_opt` values.

    Asymptotic: none is given for fewer than 50 values, or when nothing varies. Unit and range: the values'.
    Source: Waudby-Smith et al. 2021 (asymptotic confidence sequences).

    >>> m = Moments()
    >>> for x in (0.0, 1.0) * 100:
    ...     m.add(x)
    >>> e = mean_sequence(m, n_opt=200)
    >>> round(e.low, 3), round(e.high, 3)
    (0.392, 0.608)
    """
    if group.n < FEW or group.variance <= 0.0:
        why = f"no interval: fewer than {FEW} values" if group.n < FEW else "no interval: nothing varies"
        return Estimate(value=group.mean, level=1.0 - alpha, n=max(1, group.n), method=why)
    half = _half(group.n, group.variance, alpha, n_opt)
    method = "always-valid normal mixture interval (asymptotic)"
    return Estimate(
        value=group.mean, low=group.mean - half, high=group.mean + half, level=1.0 - alpha, n=group.n, method=method
    )


def _half(n: float, variance: float, alpha: float, n_opt: float) -> float:
    return normal_mixture_boundary(n * variance, alpha=alpha, v_opt=n_opt * variance) / n


@dataclass(frozen=True)
class Stratum:
    """The two groups within one stratum; `a` is the control."""

    a: Moments
    b: Moments


def difference_sequence(
    strata: Sequence[Stratum], *, rate: bool, alpha: float = 0.05, n_opt: int = 1000
) -> tuple[Estimate, float]:
    """B minus A with an always-valid interval, and the variance that one further observation brings (0: unknown).

    `d = Σ w_h (mean_B,h − mean_A,h)` with `w_h` the share of stratum h in all N observations (one stratum: the plain
    difference), `var(d) = Σ w_h² (s²_A,h/n_A,h + s²_B,h/n_B,h)`, half-width `boundary(N σ²)/N` with `σ² = N var(d)`:
    d is the mean of N influence values of variance σ². Tightest when each group has `n_opt` observations. Strata in
    which a group has fewer than two observations are left out. Asymptotic; rates with few events (under 10 successes
    or failures, or 50 observations, in a group) get the difference of two exact sequences at α/2 each instead.
    Source: Waudby-Smith et al. 2021; Howard et al. 2021 for the exact one.
    """
    usable = [one for one in strata if one.a.n > 1 and one.b.n > 1]
    n = sum(one.a.n + one.b.n for one in usable)
    if not n:
        raise ValueError("each group needs at least two observations")
    weights = [(one.a.n + one.b.n) / n for one in usable]
    value = math.fsum(w * (one.b.mean - one.a.mean) for w, one in zip(weights, usable, strict=True))
    variance = math.fsum(
        w * w * (one.a.variance / one.a.n + one.b.variance / one.b.n) for w, one in zip(weights, usable, strict=True)
    )
    groups = (_together([one.a for one in usable]), _together([one.b for one in usable]))
    level = 1.0 - alpha
    if rate and any(_few_events(*group) for group in groups):
        low, high = _exact(groups, alpha, n_opt)
        if len(usable) > 1:  # the exact interval is of the plain difference
            value = groups[1][1] / groups[1][0] - groups[0][1] / groups[0][0]
        method = "difference of two exact always-valid intervals (few events)"
        return Estimate(value=value, low=low, high=high, level=level, n=n, method=method), n * variance
    if min(group[0] for group in groups) < FEW or variance <= 0.0:
        why = f"no interval: fewer than {FEW} values in a group" if variance > 0.0 else "no interval: nothing varies"
        return Estimate(value=value, level=level, n=n, method=why), n * variance
    half = _half(n, n * variance, alpha, 2 * n_opt)
    method = "always-valid normal mixture interval of a difference (asymptotic)"
    method += "" if len(usable) == 1 else f", {len(usable)} strata"
    return Estimate(value=value, low=value - half, high=value + half, level=level, n=n, method=method), n * variance


def observations_needed(
    difference: float, variance: float, *, alpha: float = 0.05, n_opt: int = 1000, most: int = 10**9
) -> int | None:
    """How many observations in both groups together make the interval of `difference_sequence` exclude 0.

    The smallest N with `boundary(N σ²)/N < |difference|`; None if that is more than `most`, or nothing differs.

    >>> observations_needed(0.05, 1.0)
    3738
    """
    size = abs(difference)
    if size <= 0.0 or variance <= 0.0 or _half(most, variance, alpha, 2 * n_opt) >= size:
        return None
    low, high = 1, most
    while low < high:
        middle = (low + high) // 2
        if _half(middle, variance, alpha, 2 * n_opt) < size:
            high = middle
        else:
            low = middle + 1
    return low


def sample_ratio_test(counts: Mapping[str, int], expected: Mapping[str, float]) -> tuple[float, float]:
    """(χ², p) of the groups' sizes against the shares that were meant; p below .001 is a sample-ratio mismatch.

    `Σ (n_g − N e_g)²/(N e_g)` with g − 1 degrees of freedom. Source: Pearson 1900; Fabijan et al. 2019.

    >>> chi2, p = sample_ratio_test({"A": 5000, "B": 5300}, {"A": 1, "B": 1})
    >>> round(chi2, 3), round(p, 5)
    (8.738, 0.00312)
    """
    from scipy.special import chdtrc

    total, whole = sum(counts.values()), sum(expected[name] for name in counts)
    if total < 1 or whole <= 0 or any(expected[name] <= 0 for name in counts):
        raise ValueError("every group needs a share above 0, and there must be observations")
    chi2 = 0.0
    for name, n in counts.items():
        meant = total * expected[name] / whole
        chi2 += (n - meant) ** 2 / meant
    return chi2, float(chdtrc(len(counts) - 1, chi2)) if len(counts) > 1 else 1.0


def _together(groups: Sequence[Moments]) -> tuple[int, float]:
    return sum(group.n for group in groups), math.fsum(group.n * group.mean for group in groups)


def _few_events(n: int, total: float) -> bool:
    return n < FEW or min(total, n - total) < FEW_EVENTS


def _exact(groups: Sequence[tuple[int, float]], alpha: float, n_opt: int) -> tuple[float, float]:
    (low_a, high_a), (low_b, high_b) = (_bounds(n, total, alpha / 2, n_opt) for n, total in groups)
    return low_b - high_a, high_b - low_a


def _bounds(n: int, total: float, alpha: float, n_opt: int) -> tuple[float, float]:
    found = confidence_sequence(round(total), n, alpha=alpha, t_opt=n_opt)
    return (0.0 if found.low is None else found.low), (1.0 if found.high is None else found.high)
