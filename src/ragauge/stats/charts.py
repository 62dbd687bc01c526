"""Control charts: has a daily rate changed? One-sided: a fall is what alarms.

`z = (day − baseline)/(σ_binomial · σ_z)`, where Laney's σ_z ≥ 1 absorbs the ordinary day-to-day variation.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise


@dataclass(frozen=True)
class Chart:
    """The statistic after each day, the limit on each day, and the index (from 0) of the first alarm or None."""

    statistic: tuple[float, ...]
    limit: tuple[float, ...]
    first_alarm: int | None


def z_scores(
    successes: Sequence[int], n: Sequence[int], baseline: float, *, sigma_z: float = 1.0
) -> list[float | None]:
    """Daily z against the baseline rate; None for a day without questions. `baseline` must lie inside (0, 1).

    >>> [round(z, 4) for z in z_scores([177], [200], 0.85)]
    [1.3862]
    """
    if not 0.0 < baseline < 1.0:
        raise ValueError("a chart needs a baseline rate inside (0, 1); use e_cusum or a count test otherwise")
    scale = math.sqrt(baseline * (1.0 - baseline)) * sigma_z
    return [
        (k / size - baseline) / (scale / math.sqrt(size)) if size else None
        for k, size in zip(successes, n, strict=True)
    ]


def laney_sigma(successes: Sequence[int], n: Sequence[int]) -> float:
    """Laney's σ_z from a baseline period: `max(1, mean moving range of z / 1.128)`. 1 with fewer than three days.

    Source: Laney 2002.

    >>> laney_sigma([170, 171, 169], [200, 200, 200])
    1.0
    """
    total, k = sum(n), sum(successes)
    if not 0 < k < total:
        return 1.0
    z = [value for value in z_scores(successes, n, k / total) if value is not None]
    if len(z) < 3:
        return 1.0
    ranges = [abs(b - a) for a, b in pairwise(z)]
    return max(1.0, math.fsum(ranges) / len(ranges) / 1.128)


def cusum(z: Sequence[float | None], *, k: float = 0.5, h: float = 6.0) -> Chart:
    """One-sided lower CUSUM: `S = max(0, S − z − k)`, alarm when S > h. A day without data changes nothing.

    Source: Page 1954. Defaults: STATISTICS.md §7.3.

    >>> cusum([-2.0, -2.0, -2.0, -2.0, -2.0]).first_alarm
    4
    """
    s, path = 0.0, []
    for value in z:
        if value is not None:
            s = max(0.0, s - value - k)
        path.append(s)
    return Chart(tuple(path), (h,) * len(path), _first(x > h for x in path))


def ewma(z: Sequence[float | None], *, lam: float = 0.2, limit: float = 3.2) -> Chart:
    """Exponentially weighted moving average with its exact lower limit `−L √(λ/(2 − λ) (1 − (1 − λ)^2t))`.

    Source: Roberts 1959; Lucas and Saccucci 1990.
    """
    e, t, path, limits = 0.0, 0, [], []
    for value in z:
        if value is not None:
            e = lam * value + (1.0 - lam) * e
            t += 1
        path.append(e)
        limits.append(-limit * math.sqrt(lam / (2.0 - lam) * (1.0 - (1.0 - lam) ** (2 * max(t, 1)))))
    return Chart(tuple(path), tuple(limits), _first(x < low for x, low in zip(path, limits, strict=True)))


def e_cusum(successes: Sequence[int], n: Sequence[int], p_null: float, p_alt: float, *, arl: float = 1000.0) -> Chart:
    """The e-CUSUM of a rate: `S = max(0, S) + Σ log LR(p_alt : p_null)`, alarm at ln(arl). For paging people.

    The mean time to a false alarm is at least `arl` days whenever the true rate is at least `p_null`. Use
    `p_null = baseline − 0.01` and `p_alt = baseline − 0.06`. Source: Shin, Ramdas, Rinaldo 2022.

    >>> e_cusum([150, 140], [200, 200], 0.84, 0.79).first_alarm
    1
    """
    if not 0.0 < p_alt < p_null < 1.0:
        raise ValueError("needs 0 < p_alt < p_null < 1")
    good, bad = math.log(p_alt / p_null), math.log((1.0 - p_alt) / (1.0 - p_null))
    s, path, threshold = 0.0, [], math.log(arl)
    for k, size in zip(successes, n, strict=True):
        s = max(0.0, s) + k * good + (size - k) * bad
        path.append(s)
    return Chart(tuple(path), (threshold,) * len(path), _first(x >= threshold for x in path))


def _first(alarms: Iterable[bool]) -> int | None:
    return next((index for index, alarm in enumerate(alarms) if alarm), None)


def cusum_run_length(k: float, h: float) -> float:
    """Mean days to a false alarm of the one-sided CUSUM on normal z (Siegmund's approximation).

    `(exp(2kb) − 2kb − 1)/(2k²)` with `b = h + 1.166`. Source: Siegmund 1985.

    >>> round(cusum_run_length(0.5, 5))
    938
    """
    b = h + 1.166
    return (math.exp(2.0 * k * b) - 2.0 * k * b - 1.0) / (2.0 * k * k)
