"""Quantiles of the normal, t, beta and chi-square distributions, without importing `scipy.stats` (0.5 s and more).

`scipy.special` holds the same functions; it is imported on first use, and the normal quantile needs only the standard
library.
"""

from __future__ import annotations

from functools import lru_cache
from statistics import NormalDist

_NORMAL = NormalDist()


def check_level(level: float) -> None:
    """ValueError unless `level` is a confidence strictly between 0 and 1 (0.95, not 95)."""
    if not 0.0 < level < 1.0:
        hint = " (write 0.95 for 95 %)" if 1.0 <= level <= 100.0 else ""
        raise ValueError(f"the confidence level must lie between 0 and 1, not {level!r}{hint}")


@lru_cache(maxsize=64)
def normal_quantile(p: float) -> float:
    """The standard normal quantile.

    >>> round(normal_quantile(0.975), 6)
    1.959964
    """
    return _NORMAL.inv_cdf(p)


def normal_sf(z: float) -> float:
    """P(Z > z) for a standard normal Z, exact in the tail (erfc, so 1e-30 is not rounded to 0).

    >>> round(normal_sf(1.959964), 4)
    0.025
    """
    import math

    return 0.5 * math.erfc(z / math.sqrt(2.0))


def two_sided_z(level: float) -> float:
    """The z of a two-sided interval: 1.96 for 0.95."""
    check_level(level)
    return normal_quantile(0.5 + level / 2.0)


@lru_cache(maxsize=512)
def t_quantile(p: float, df: float) -> float:
    """Student's t quantile with `df` degrees of freedom.

    >>> round(t_quantile(0.975, 9), 4)
    2.2622
    """
    from scipy.special import stdtrit

    return float(stdtrit(df, p))


def t_sf(t: float, df: float) -> float:
    """P(T > t) for Student's t with `df` degrees of freedom."""
    from scipy.special import stdtr

    return float(stdtr(df, -t))


def beta_quantile(p: float, a: float, b: float) -> float:
    """The quantile of Beta(a, b).

    >>> round(beta_quantile(0.5, 2, 2), 6)
    0.5
    """
    from scipy.special import betaincinv

    return float(betaincinv(a, b, p))


def beta_cdf(x: float, a: float, b: float) -> float:
    """P(X <= x) for X ~ Beta(a, b)."""
    from scipy.special import betainc

    return float(betainc(a, b, x))


def chi_square_quantile(p: float, df: float) -> float:
    """The chi-square quantile with `df` degrees of freedom."""
    from scipy.special import chdtri

    return float(chdtri(df, 1.0 - p))
