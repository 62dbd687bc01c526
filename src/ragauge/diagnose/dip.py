"""Hartigan's dip test: has a distribution one mode, or more?"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from itertools import pairwise
from typing import Any

import numpy as np


@dataclass(frozen=True)
class Dip:
    """`dip`: the largest distance between the sample's distribution and the nearest unimodal one (1 / 2n to 0.25).

    `p`: how often a sample of `n` values from the uniform distribution, the least favourable unimodal one, has a dip at
    least as large. Between 0.001 and 0.95, where the table ends.
    """

    dip: float
    p: float
    n: int


def dip_test(values: Sequence[float]) -> Dip | None:
    """The dip with its p-value; None for fewer than four values.

    p is read off a table of quantiles of √n · dip (`dip_quantiles.txt`, from validation/diagnosis/make_dip_table.py),
    linearly in p, and between two sizes linearly in √n. Source: as `dip_statistic`.

    >>> dip_test([0.1, 0.2, 0.3]) is None
    True
    """
    if len(values) < 4:
        return None
    dip = dip_statistic(values)
    return Dip(dip, p_value(dip, len(values)), len(values))


def dip_statistic(values: Sequence[float]) -> float:
    """Hartigan's dip (range 1 / 2n to 0.25; more means less unimodal). Needs at least one value.

    The greatest convex minorant and the least concave majorant of the empirical distribution are drawn over an interval
    that shrinks to the modal one; the dip is half the largest distance that is needed outside of it. Ties make a
    distribution less smooth: do not test scores that take few values (reciprocal rank fusion).
    Source: Hartigan & Hartigan (1985), Annals of Statistics 13, 70–84; P. M. Hartigan (1985), algorithm AS 217. Agrees
    with the `diptest` package, a translation of R's, on samples with and without ties.

    >>> dip_statistic([1, 2, 3, 4, 5]), round(dip_statistic([0, 0.1, 0.2, 9.8, 9.9, 10]), 4)
    (0.1, 0.2449)
    """
    n = len(values)
    if n == 0:
        raise ValueError("no values: there is no distribution")
    places, counts = np.unique(np.asarray(values, np.float64), return_counts=True)
    least = 1 / (2 * n)
    if len(places) < 2 or n < 4:
        return least
    after = np.cumsum(counts) / n
    before = after - counts / n
    low, high, dip = 0, len(places) - 1, 2 * least
    while high > low:
        x, left, right = places[low : high + 1], before[low : high + 1], after[low : high + 1]
        touch_low, touch_high = _tangents(x, left), [len(x) - 1 - i for i in _tangents(-x[::-1], -right[::-1])[::-1]]
        minorant, majorant = np.interp(x, x[touch_low], left[touch_low]), np.interp(x, x[touch_high], right[touch_high])
        gap = majorant - minorant
        at_low, at_high = gap[touch_low], gap[touch_high]
        if at_high.max() > at_low.max():
            new_high = touch_high[int(np.flatnonzero(at_high == at_high.max())[-1])]
            new_low = max(i for i in touch_low if i <= new_high)
            distance = float(at_high.max())
        else:
            new_low = touch_low[int(np.argmax(at_low))]
            new_high = min(i for i in touch_high if i >= new_low)
            distance = float(at_low.max())
        if distance <= dip + 1e-12:
            break
        # the ends themselves may carry any weight: a unimodal distribution may have an atom at its mode
        outside_low = float(np.max(right[:new_low] - minorant[:new_low], initial=0.0))
        outside_high = float(np.max(majorant[new_high + 1 :] - left[new_high + 1 :], initial=0.0))
        dip = max(dip, outside_low, outside_high)
        if (new_low, new_high) == (0, len(x) - 1):
            break
        low, high = low + new_low, low + new_high
    return dip / 2


def _tangents(x: Any, y: Any) -> list[int]:
    """The points where the greatest convex minorant of (x, y) touches it: the lower convex hull, left to right."""
    hull: list[int] = []
    for i in range(len(x)):
        while len(hull) > 1:
            a, b = hull[-2], hull[-1]
            if (y[b] - y[a]) * (x[i] - x[b]) < (y[i] - y[b]) * (x[b] - x[a]):
                break
            hull.pop()
        hull.append(i)
    return hull


def p_value(dip: float, n: int) -> float:
    """The share of uniform samples of size `n` with a dip of at least `dip` (0.001 to 0.95), from the table."""
    probabilities, table = quantiles()
    sizes = sorted(table)
    size = min(max(n, sizes[0]), sizes[-1])
    small, large = next((pair for pair in pairwise(sizes) if pair[0] <= size <= pair[1]), (size, size))
    share = 0.0 if small == large else (math.sqrt(size) - math.sqrt(small)) / (math.sqrt(large) - math.sqrt(small))
    row = [(1 - share) * a + share * b for a, b in zip(table[small], table[large], strict=True)]
    return float(1 - np.interp(math.sqrt(n) * dip, row, probabilities))


@cache
def quantiles() -> tuple[tuple[float, ...], dict[int, tuple[float, ...]]]:
    """The table: probabilities, and sample size → quantiles of √n · dip."""
    lines = files("ragauge.diagnose").joinpath("dip_quantiles.txt").read_text(encoding="utf-8").splitlines()
    rows = [line.split() for line in lines if line and not line.startswith("#")]
    probabilities = tuple(float(word) for word in rows[0][1:])
    return probabilities, {int(row[0]): tuple(float(word) for word in row[1:]) for row in rows[1:]}
