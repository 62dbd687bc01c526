"""What to label next: a draw that shrinks the interval fastest and keeps the estimate unbiased.

Units are drawn at random within three bands of the judge's score, more where people's labels vary more (Neyman), never
fewer than a floor in each. Picking the most uncertain ones and averaging would be off by .25 to .32; here every unit of
a band had the same probability, which is stored with the draw.
"""

from __future__ import annotations

import math
import random
from collections.abc import Mapping
from dataclasses import dataclass

from ragauge.analysis.labels import UnitKey
from ragauge.analysis.units import BANDS, Band, Units, bands
from ragauge.core.model import Model
from ragauge.stats.sampling import neyman_allocation

FLOOR = 10

#: How often an answer of each band fails before any label says so: (imagined failures, imagined labels).
_PRIOR: dict[Band, tuple[float, float]] = {"pass": (0.3, 3.0), "unsure": (1.2, 3.0), "fail": (2.1, 3.0)}


class Draw(Model):
    """One drawn unit: which draw, which band, with what probability among those not drawn before, which seed."""

    item: str
    repeat: int = 0
    target: str | None = None
    metric: str
    design: str
    band: Band | None = None
    probability: float
    seed: int
    place: int

    @property
    def key(self) -> UnitKey:
        """What was drawn."""
        return self.item, self.repeat, self.target


@dataclass(frozen=True)
class Known:
    """What is drawn already, and what people said of it (unit → failing)."""

    drawn: frozenset[UnitKey] = frozenset()
    failing: Mapping[UnitKey, bool] | None = None


def draw_next(units: Units, n: int, seed: int, known: Known | None = None, *, by_bands: bool = True) -> list[Draw]:
    """`n` units to label next, in the order in which to label them; fewer when no more are left.

    `by_bands=False`: a simple random draw. The order mixes the bands, so that whoever stops early has a fair part of
    each. The same seed, units and labels give the same draw.
    """
    state = known or Known()
    of = bands(units)
    groups: dict[Band, list[UnitKey]] = {band: [] for band in BANDS}
    for unit in sorted(units.units, key=lambda unit: (unit.key[0], unit.key[1], unit.key[2] or "")):
        groups[of[unit.key]].append(unit.key)
    wave = f"{'bands' if by_bands else 'random'}-{len(state.drawn)}"
    rng = random.Random(f"{seed}:{wave}:{units.metric}")
    left = {band: [key for key in keys if key not in state.drawn] for band, keys in groups.items()}
    if not by_bands:
        pool = [key for band in BANDS for key in left[band]]
        picked = rng.sample(sorted(pool, key=_sortable), min(n, len(pool)))
        share = len(picked) / len(pool) if pool else 0.0
        return [_draw(units, key, wave, of[key], share, seed, place) for place, key in enumerate(picked)]
    counts = _allocation(groups, left, n, state)
    chosen: list[tuple[float, UnitKey, float]] = []
    for band in BANDS:
        picked = rng.sample(left[band], counts[band])
        share = counts[band] / len(left[band]) if left[band] else 0.0
        # Evenly spread: the i-th of k stands near (i + ½)/k of the way through the list.
        chosen += [((place + rng.random()) / len(picked), key, share) for place, key in enumerate(picked)]
    chosen.sort(key=lambda one: (one[0], _sortable(one[1])))
    return [_draw(units, key, wave, of[key], share, seed, place) for place, (_, key, share) in enumerate(chosen)]


def _allocation(
    groups: Mapping[Band, list[UnitKey]], left: Mapping[Band, list[UnitKey]], n: int, state: Known
) -> dict[Band, int]:
    """How many of each band: Neyman's shares of everything drawn so far and now, at least the floor."""
    total = sum(len(keys) for keys in groups.values())
    if not total:
        return dict.fromkeys(BANDS, 0)
    weights = [len(groups[band]) / total for band in BANDS]
    spread = [math.sqrt(p * (1.0 - p)) for p in (_guess(band, groups[band], state) for band in BANDS)]
    done = [len(groups[band]) - len(left[band]) for band in BANDS]
    wanted = neyman_allocation(sum(done) + n, weights, spread, [len(groups[band]) for band in BANDS], floor=FLOOR)
    missing = [max(0, want - have) for want, have in zip(wanted, done, strict=True)]
    over = sum(missing) - n
    while over > 0:  # a band that already has more than its share leaves less for the others
        most = max(range(len(BANDS)), key=lambda place: (missing[place], -place))
        missing[most] -= 1
        over -= 1
    for place, band in enumerate(BANDS):
        missing[place] = min(missing[place], len(left[band]))
    spare = n - sum(missing)
    for place in sorted(range(len(BANDS)), key=lambda place: -weights[place] * spread[place]):
        more = min(spare, len(left[BANDS[place]]) - missing[place])
        missing[place] += more
        spare -= more
    return dict(zip(BANDS, missing, strict=True))


def _guess(band: Band, keys: list[UnitKey], state: Known) -> float:
    failures, labels = _PRIOR[band]
    said = [state.failing[key] for key in keys if state.failing is not None and key in state.failing]
    return (sum(said) + failures) / (len(said) + labels)


def _draw(units: Units, key: UnitKey, design: str, band: Band, share: float, seed: int, place: int) -> Draw:
    return Draw(
        item=key[0],
        repeat=key[1],
        target=key[2],
        metric=units.metric,
        design=design,
        band=band,
        probability=share,
        seed=seed,
        place=place,
    )


def _sortable(key: UnitKey) -> tuple[str, int, str]:
    return key[0], key[1], key[2] or ""
