"""How far a judge agrees with people, and whether that is enough.

`Table` counts "1" as the condition that matters (a failure, unless said otherwise): sensitivity is the share of human
failures that the judge finds.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from enum import StrEnum

from ragauge.core.run import Estimate
from ragauge.stats.intervals import proportion_interval
from ragauge.stats.quantiles import beta_cdf, beta_quantile, two_sided_z


@dataclass(frozen=True)
class Table:
    """A 2 × 2 table: `n11` both say 1, `n10` human 1 and judge 0, `n01` human 0 and judge 1, `n00` both 0."""

    n11: int
    n10: int
    n01: int
    n00: int

    @classmethod
    def of(cls, human: Sequence[int], judge: Sequence[int]) -> Table:
        """Count two equally long lists of 0/1.

        >>> Table.of([1, 1, 0], [1, 0, 0])
        Table(n11=1, n10=1, n01=0, n00=1)
        """
        pairs = list(zip(map(int, human), map(int, judge), strict=True))
        if any(value not in (0, 1) for pair in pairs for value in pair):
            raise ValueError("labels must be 0 or 1")
        return cls(*(pairs.count(cell) for cell in ((1, 1), (1, 0), (0, 1), (0, 0))))

    @property
    def n(self) -> int:
        """All pairs."""
        return self.n11 + self.n10 + self.n01 + self.n00


def agreement(table: Table, *, level: float = 0.95) -> Estimate:
    """Share of pairs in which judge and human agree, with Wilson's interval. Never enough alone: see `certify`."""
    return proportion_interval(table.n11 + table.n00, table.n, level=level)


def cohen_kappa(table: Table, *, level: float = 0.95) -> Estimate | None:
    """Cohen's kappa `(p_o − p_e)/(1 − p_e)` with the interval ± z SE of Fleiss, Cohen and Everitt 1969.

    Range [−1, 1]; 0 is agreement by chance; None when one rater never varies in the same way as the other
    (`p_e = 1`: everything is in one cell), where kappa is undefined.

    >>> k = cohen_kappa(Table(40, 6, 4, 50))
    >>> round(k.value, 3), round(k.low, 3), round(k.high, 3)
    (0.798, 0.679, 0.917)
    >>> cohen_kappa(Table(0, 0, 0, 20)) is None
    True
    """
    n = table.n
    if not n:
        return None
    se = cohen_kappa_standard_error(table)
    if se is None:
        return None
    value = _kappa(table)
    z = two_sided_z(level)
    return Estimate(
        value=value,
        low=max(-1.0, value - z * se),
        high=min(1.0, value + z * se),
        level=level,
        n=n,
        method="Cohen's kappa, Fleiss–Cohen–Everitt standard error",
    )


def _kappa(table: Table) -> float:
    n = table.n
    observed = (table.n11 + table.n00) / n
    expected = _by_chance(table)
    return (observed - expected) / (1.0 - expected)


def _by_chance(table: Table) -> float:
    n = table.n
    human, judge = (table.n11 + table.n10) / n, (table.n11 + table.n01) / n
    return human * judge + (1.0 - human) * (1.0 - judge)


def cohen_kappa_standard_error(table: Table) -> float | None:
    """The large-sample standard error of kappa (Fleiss, Cohen, Everitt 1969); None where kappa is undefined."""
    n = table.n
    expected = _by_chance(table)
    if expected >= 1.0:
        return None
    kappa = _kappa(table)
    human = ((table.n00 + table.n01) / n, (table.n11 + table.n10) / n)
    judge = ((table.n00 + table.n10) / n, (table.n11 + table.n01) / n)
    cells = ((table.n00 / n, table.n01 / n), (table.n10 / n, table.n11 / n))
    first = sum(cells[i][i] * (1.0 - (human[i] + judge[i]) * (1.0 - kappa)) ** 2 for i in (0, 1))
    second = (1.0 - kappa) ** 2 * sum(cells[i][1 - i] * (judge[i] + human[1 - i]) ** 2 for i in (0, 1))
    third = (kappa - expected * (1.0 - kappa)) ** 2
    return math.sqrt(max(0.0, first + second - third) / n) / (1.0 - expected)


def weighted_kappa(
    human: Sequence[Hashable], judge: Sequence[Hashable], labels: Sequence[Hashable], *, weights: str = "linear"
) -> float | None:
    """Kappa for ordered labels: disagreements weigh |i − j| (`linear`) or (i − j)² (`quadratic`).

    `labels` gives the order. None when chance disagreement is 0. Source: Cohen 1968.

    >>> round(weighted_kappa([1, 2, 3, 3], [1, 2, 3, 2], [1, 2, 3]), 3)
    0.714
    """
    power = {"linear": 1, "quadratic": 2}.get(weights)
    if power is None:
        raise ValueError(f"weights must be 'linear' or 'quadratic', not {weights!r}")
    place = {label: index for index, label in enumerate(labels)}
    first, second = [place[x] for x in human], [place[x] for x in judge]
    n = len(first)
    observed = math.fsum(abs(i - j) ** power for i, j in zip(first, second, strict=True)) / n
    expected = math.fsum(
        first.count(i) * second.count(j) * abs(i - j) ** power for i in place.values() for j in place.values()
    ) / (n * n)
    return 1.0 - observed / expected if expected > 0 else None


def matthews_correlation(table: Table) -> float | None:
    """Matthews' correlation coefficient (phi), range [−1, 1]; None when a rater gives only one label.

    >>> round(matthews_correlation(Table(40, 6, 4, 50)), 4)
    0.7987
    """
    t = table
    product = (t.n11 + t.n10) * (t.n11 + t.n01) * (t.n00 + t.n10) * (t.n00 + t.n01)
    return (t.n11 * t.n00 - t.n10 * t.n01) / math.sqrt(product) if product else None


def gwet_ac1(table: Table) -> float | None:
    """Gwet's AC1, robust to rare labels; it hides a judge that always passes, so never quote it alone.

    `(p_o − p_e)/(1 − p_e)` with `p_e = 2π(1 − π)`, π the mean share of label 1. Source: Gwet 2008.

    >>> round(gwet_ac1(Table(40, 6, 4, 50)), 4)
    0.802
    """
    n = table.n
    if not n:
        return None
    pi = (2 * table.n11 + table.n10 + table.n01) / (2 * n)
    expected = 2.0 * pi * (1.0 - pi)
    return ((table.n11 + table.n00) / n - expected) / (1.0 - expected)


@dataclass(frozen=True)
class Accuracy:
    """What a judge finds and what its words are worth; each None when its denominator is 0."""

    sensitivity: Estimate | None
    specificity: Estimate | None
    positive_predictive: Estimate | None
    negative_predictive: Estimate | None


def accuracy(table: Table, *, level: float = 0.95) -> Accuracy:
    """Sensitivity, specificity and predictive values with Wilson's intervals.

    >>> a = accuracy(Table(40, 6, 4, 50))
    >>> round(a.sensitivity.value, 4), round(a.specificity.low, 4)
    (0.8696, 0.8245)
    """

    def share(k: int, n: int) -> Estimate | None:
        return proportion_interval(k, n, level=level) if n else None

    t = table
    return Accuracy(
        sensitivity=share(t.n11, t.n11 + t.n10),
        specificity=share(t.n00, t.n00 + t.n01),
        positive_predictive=share(t.n11, t.n11 + t.n01),
        negative_predictive=share(t.n00, t.n00 + t.n10),
    )


def krippendorff_alpha(ratings: Sequence[Sequence[float | None]], *, level: str = "nominal") -> float | None:
    """Krippendorff's alpha, `1 − D_o/D_e`, for any number of raters and missing ratings (None).

    `ratings` has one row for each rater. `level` is nominal, ordinal, interval or ratio. Range: at most 1, 0 at
    chance. None when no unit has two ratings or when everything has one value. Source: Krippendorff 2011.

    >>> round(krippendorff_alpha([[1, 2, 3, 3], [1, 2, 3, 2]]), 3)
    0.667
    """
    units: list[list[float]] = []
    for column in zip(*ratings, strict=True):
        seen = [float(value) for value in column if value is not None]
        if len(seen) > 1:
            units.append(seen)
    values = sorted({value for unit in units for value in unit})
    if len(values) < 2:
        return None
    totals = {value: float(sum(unit.count(value) for unit in units)) for value in values}
    n = sum(totals.values())
    distance = _distance(level, values, totals)
    observed = math.fsum(
        unit.count(a) * unit.count(b) * distance(a, b) / (len(unit) - 1)
        for unit in units
        for a in set(unit)
        for b in set(unit)
        if a != b
    )
    expected = math.fsum(totals[a] * totals[b] * distance(a, b) for a in values for b in values if a != b) / (n - 1)
    return 1.0 - observed / expected if expected > 0 else None


def _distance(level: str, values: list[float], totals: dict[float, float]) -> Callable[[float, float], float]:
    if level == "nominal":
        return lambda a, b: 1.0
    if level == "interval":
        return lambda a, b: (a - b) ** 2
    if level == "ratio":
        return lambda a, b: ((a - b) / (a + b)) ** 2 if a + b else 0.0
    if level != "ordinal":
        raise ValueError(f"level must be nominal, ordinal, interval or ratio, not {level!r}")

    def ordinal(a: float, b: float) -> float:
        low, high = min(a, b), max(a, b)
        between = math.fsum(totals[v] for v in values if low <= v <= high)
        return (between - (totals[a] + totals[b]) / 2.0) ** 2

    return ordinal


class Certificate(StrEnum):
    """What may be said of a judge."""

    RELIABLE = "reliable"
    PROVISIONAL = "provisional"
    RETUNE = "retune"


@dataclass(frozen=True)
class Certification:
    """A judge's certificate. Bounds are one-sided 95 % Clopper–Pearson.

    `proven` says whether the bound (and not only the point) supports the word; `n_more` how many more labels with the
    same agreement would make a provisional judge reliable (None: never, or nothing is missing).
    """

    verdict: Certificate
    proven: bool
    agreement: float
    low: float
    high: float
    sensitivity_low: float | None
    n_more: int | None


def one_sided_bounds(k: int, n: int, *, confidence: float = 0.95) -> tuple[float, float]:
    """One-sided Clopper–Pearson lower and upper bounds of k/n.

    >>> [round(x, 4) for x in one_sided_bounds(92, 100)]
    [0.8603, 0.9596]
    """
    low = 0.0 if k == 0 else beta_quantile(1.0 - confidence, k, n - k + 1)
    high = 1.0 if k == n else beta_quantile(confidence, k + 1, n - k)
    return low, high


def certify(
    table: Table, *, reliable: float = 0.88, retune: float = 0.80, sensitivity_floor: float = 0.60
) -> Certification:
    """Act on points, claim on bounds.

    RELIABLE: the one-sided 95 % lower bound of agreement reaches `reliable` *and* that of the sensitivity reaches
    `sensitivity_floor` (a judge that always passes has high agreement and finds nothing). RETUNE: agreement below
    `retune` (proven when the upper bound is below it too). PROVISIONAL otherwise. Source: STATISTICS.md §4.

    >>> certify(Table(20, 2, 3, 75)).verdict.value
    'reliable'
    >>> certify(Table(0, 10, 0, 90)).verdict.value
    'provisional'
    """
    k, n = table.n11 + table.n00, table.n
    if not n:
        raise ValueError("no labels: nothing can be certified")
    low, high = one_sided_bounds(k, n)
    positives = table.n11 + table.n10
    sensitivity_low = one_sided_bounds(table.n11, positives)[0] if positives else None
    point = k / n
    if point < retune:
        return Certification(Certificate.RETUNE, high < retune, point, low, high, sensitivity_low, None)
    if low >= reliable and sensitivity_low is not None and sensitivity_low >= sensitivity_floor:
        return Certification(Certificate.RELIABLE, True, point, low, high, sensitivity_low, None)
    more = labels_to_certify(point, reliable)
    missing = max(1, more - n) if more is not None and low < reliable else None
    return Certification(Certificate.PROVISIONAL, False, point, low, high, sensitivity_low, missing)


def min_agreements_to_certify(n: int, threshold: float = 0.88, *, confidence: float = 0.95) -> int | None:
    """The smallest number of agreements in n labels whose one-sided lower bound reaches `threshold`; None: none.

    >>> min_agreements_to_certify(100)
    94
    """
    low, high = 0, n + 1
    while low < high:
        middle = (low + high) // 2
        if one_sided_bounds(min(middle, n), n, confidence=confidence)[0] >= threshold:
            high = middle
        else:
            low = middle + 1
    return low if low <= n else None


def labels_to_certify(agreement_rate: float, threshold: float = 0.88) -> int | None:
    """How many labels a judge with this agreement needs to be certified; None when it lies at or below the threshold.

    >>> labels_to_certify(0.94)
    96
    """
    if agreement_rate <= threshold:
        return None
    n = 20
    while n <= 100_000:
        needed = min_agreements_to_certify(n, threshold)
        if needed is not None and needed <= agreement_rate * n + 1e-9:
            return n
        n += max(1, n // 50)
    return None


def posterior_at_least(k: int, n: int, threshold: float) -> float:
    """P(true agreement ≥ threshold | k of n agree) with a uniform prior.

    >>> round(posterior_at_least(92, 100, 0.88), 4)
    0.8689
    """
    return 1.0 - beta_cdf(threshold, k + 1, n - k + 1)
