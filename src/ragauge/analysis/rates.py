"""The failure rate of a run from the judge's verdicts on all of it and people's labels on some of it."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from ragauge.analysis.labels import UnitKey
from ragauge.analysis.units import BANDS, Band, Unit, Units
from ragauge.core.run import Estimate
from ragauge.stats.agreement import Table
from ragauge.stats.correction import FEW_LABELS, Judged, corrected_rate, corrected_rate_stratified
from ragauge.stats.intervals import cluster_standard_error, mean_interval, standard_error
from ragauge.stats.prediction_powered import regression_mean
from ragauge.stats.quantiles import two_sided_z

if TYPE_CHECKING:
    from ragauge.analysis.calibrate import Drawn, Labelled

#: The half-width that a useful rate has: ± 5 points.
USEFUL_HALF = 0.05


def raw_rate(units: Sequence[Unit], *, level: float = 0.95) -> Estimate | None:
    """Share of the units that the judge fails; units of one question count together. None when there are none."""
    if not units:
        return None
    values = [float(unit.failing) for unit in units]
    items = [unit.key[0] for unit in units]
    return mean_interval(values, clusters=items if len(set(items)) < len(items) else None, kind="rate", level=level)


def corrected(
    units: Sequence[Unit], labelled: Sequence[Labelled], bands: Mapping[UnitKey, Band] | None, *, level: float = 0.95
) -> tuple[Estimate | None, str | None]:
    """(the corrected failure rate, None) or (None, why the labels cannot carry one).

    Post-stratified by the judge's verdict, MOVER interval; by bands of the judge's score as well where labels were
    drawn by bands. Where one question has several labelled units, both half-widths are widened by the square root of
    the design effect of the residuals.
    """
    n = len(labelled)
    if n < FEW_LABELS:
        return None, (f"{n} labels are too few to correct the judge: {FEW_LABELS - n} more are needed to begin with")
    taken = {one.unit.key for one in labelled}
    rest = [unit for unit in units if unit.key not in taken]
    if bands is None:
        estimate = corrected_rate(_judged(labelled, rest), level=level)
    else:
        strata, weights = [], []
        for band in BANDS:
            size = sum(bands.get(unit.key) == band for unit in units)
            if size:
                inside = [one for one in labelled if bands.get(one.unit.key) == band]
                strata.append(_judged(inside, [unit for unit in rest if bands.get(unit.key) == band]))
                weights.append(size / len(units))
        estimate = corrected_rate_stratified(strata, weights, level=level)
    return _widened(estimate, labelled), None


def _judged(labelled: Sequence[Labelled], rest: Sequence[Unit]) -> Judged:
    table = Table.of([int(one.failing) for one in labelled], [int(one.unit.failing) for one in labelled])
    return Judged(table, sum(unit.failing for unit in rest), len(rest))


def _widened(estimate: Estimate, labelled: Sequence[Labelled]) -> Estimate:
    """The interval with the labels of one question counted together."""
    items = [one.unit.key[0] for one in labelled]
    if len(set(items)) == len(items) or len(set(items)) < 2:
        return estimate
    shares: dict[bool, float] = {}
    for verdict in (True, False):
        part = [one.failing for one in labelled if one.unit.failing == verdict]
        shares[verdict] = sum(part) / len(part) if part else 0.5
    residuals = [float(one.failing) - shares[one.unit.failing] for one in labelled]
    plain = standard_error(residuals)
    if plain <= 0.0:
        return estimate
    factor = math.sqrt(max(1.0, (cluster_standard_error(residuals, items)[0] / plain) ** 2))
    if factor <= 1.0 or estimate.low is None or estimate.high is None:
        return estimate
    return estimate.model_copy(
        update={
            "low": max(0.0, estimate.value - factor * (estimate.value - estimate.low)),
            "high": min(1.0, estimate.value + factor * (estimate.high - estimate.value)),
            "method": f"{estimate.method}, widened {factor:.2f} × for several labels on one question",
        }
    )


def graded_mean(units: Units, labelled: Sequence[Labelled], *, level: float = 0.95) -> Estimate | None:
    """The mean grade (0 to 1, 1 good) that people would give all answers, from their grades on some of them.

    The regression estimator with t(n − 2). None when people only said good or bad, with fewer than `FEW_LABELS` labels,
    or where a question has several.
    """
    items = [one.unit.key[0] for one in labelled]
    graded = any(one.value not in (0.0, 1.0) for one in labelled)
    taken = {one.unit.key for one in labelled}
    rest = [_good(units, unit.value) for unit in units.units if unit.key not in taken]
    if not graded or len(labelled) < FEW_LABELS or len(rest) < 2 or len(set(items)) < len(items):
        return None
    found = regression_mean(
        [one.value for one in labelled], [_good(units, one.unit.value) for one in labelled], rest, level=level
    )
    low, high = found.low, found.high
    if low is None or high is None:
        return found
    return found.model_copy(update={"low": max(0.0, low), "high": min(1.0, high)})


def _good(units: Units, value: float) -> float:
    """A metric's value on the scale on which 1 is good and 0 bad."""
    info = units.spec.info
    share = (value - info.low) / (info.high - info.low)
    return share if info.better == "higher" else 1.0 - share


def weighted_table(labelled: Sequence[Labelled], units: Units, draw: Drawn) -> Table:
    """The 2 × 2 table that a simple random draw would be expected to give, scaled to the effective number of labels.

    Each label weighs N_band / n_band; `n_eff = (Σw)² / Σw²` (Kish). Cells are rounded by largest remainder.
    """
    sizes = {band: sum(draw.bands.get(unit.key) == band for unit in units.units) for band in BANDS}
    counts = {band: sum(one.band == band for one in labelled) for band in BANDS}
    weights = [sizes[one.band] / counts[one.band] if one.band else 1.0 for one in labelled]
    total = math.fsum(weights)
    n_eff = total * total / math.fsum(w * w for w in weights)
    cells = dict.fromkeys(((True, True), (True, False), (False, True), (False, False)), 0.0)
    for one, weight in zip(labelled, weights, strict=True):
        cells[one.failing, one.unit.failing] += weight / total * n_eff
    whole = {cell: math.floor(value) for cell, value in cells.items()}
    left = max(1, round(n_eff)) - sum(whole.values())
    for cell in sorted(cells, key=lambda cell: whole[cell] - cells[cell])[: max(0, left)]:
        whole[cell] += 1
    return Table(whole[True, True], whole[True, False], whole[False, True], whole[False, False])


def labels_missing(rate: Estimate | None, n: int, n_units: int, correlation: float) -> int:
    """How many more labels bring the corrected rate to ± 5 points (0: it is there); at least enough to correct at all.

    From `n_eff = n/(1 − ρ² N/(n + N))` labels' worth and the half-width `z √(p(1 − p)/n_eff)`.
    """
    if rate is None:
        return max(0, FEW_LABELS - n)
    if rate.low is None or rate.high is None or (rate.high - rate.low) / 2.0 <= USEFUL_HALF:
        return 0
    z = two_sided_z(0.95)
    p = min(0.95, max(0.05, rate.value))
    wanted = z * z * p * (1.0 - p) / USEFUL_HALF**2
    more = n
    while more < n_units:
        rest = max(0, n_units - more)
        if more / (1.0 - correlation**2 * rest / n_units) >= wanted:
            break
        more += 1
    return max(1, more - n)
