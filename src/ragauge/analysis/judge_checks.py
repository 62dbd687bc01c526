"""Known biases of judges, looked for where the labels let one look: length, position, own family."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from ragauge.analysis.units import Unit
from ragauge.core.model import Model
from ragauge.stats.judge_bias import length_bias, self_preference
from ragauge.stats.multiplicity import holm
from ragauge.stats.quantiles import normal_quantile

Family = Callable[[str], str | None]

#: Fewer labels than this show no bias.
FEW = 20


class BiasCheck(Model):
    """One check. `measurable` False: `why` says what is missing.

    `effect` with its interval is what the check measures (`unit` says in what); `p_adjusted` is Holm's over the checks
    that could be made.
    """

    name: str
    measurable: bool
    why: str = ""
    effect: float | None = None
    low: float | None = None
    high: float | None = None
    unit: str = ""
    p: float | None = None
    p_adjusted: float | None = None
    verdict: str = ""


def bias_checks(
    units: Sequence[Unit], human_failing: Sequence[bool], judge: str | None, family: Family | None
) -> tuple[BiasCheck, ...]:
    """Every check, with Holm's correction over those that could be made."""
    checks = [_length(units, human_failing), _position(units, human_failing)]
    checks.append(_own_family(units, human_failing, judge, family))
    made = [check.p for check in checks if check.p is not None]
    adjusted = iter(holm(made))
    return tuple(_said(check, next(adjusted)) if check.p is not None else check for check in checks)


def _said(check: BiasCheck, adjusted: float) -> BiasCheck:
    found = adjusted < 0.05
    direction = "" if check.effect is None else ("more" if check.effect > 0 else "less")
    what = {
        "length": f"the judge is {direction} lenient with longer answers than people are",
        "position": f"the judge is {direction} lenient with what stands further down",
        "own_family": f"the judge is {direction} lenient with answers of its own family than people are",
    }[check.name]
    return check.model_copy(update={"p_adjusted": adjusted, "verdict": what if found else "not shown"})


def _length(units: Sequence[Unit], human: Sequence[bool]) -> BiasCheck:
    lengths = [float(unit.n_words) for unit in units]
    if len(units) < FEW or len(set(lengths)) < 2:
        return BiasCheck(
            name="length", measurable=False, why=f"needs at least {FEW} labels on answers of several lengths"
        )
    lenience = [int(bad) - int(unit.failing) for unit, bad in zip(units, human, strict=True)]
    test = length_bias(lenience, lengths)
    if test is None:
        return BiasCheck(name="length", measurable=False, why="judge and people never disagree")
    slope = logistic_length_effect([not unit.failing for unit in units], [not bad for bad in human], lengths)
    low, high = (None, None) if slope is None else (slope[1], slope[2])
    return BiasCheck(
        name="length",
        measurable=True,
        effect=test.statistic if slope is None else slope[0],
        low=low,
        high=high,
        unit="Spearman's rho"
        if slope is None
        else "log odds of passing for each doubling of the length, human label fixed",
        p=test.p,
    )


def _position(units: Sequence[Unit], human: Sequence[bool]) -> BiasCheck:
    placed = [(unit, bad) for unit, bad in zip(units, human, strict=True) if unit.rank is not None]
    if len(placed) < FEW or len({unit.rank for unit, _ in placed}) < 2:
        return BiasCheck(
            name="position",
            measurable=False,
            why=f"needs at least {FEW} labels on chunks or claims that were judged together (labels with a `target`)",
        )
    lenience = [int(bad) - int(unit.failing) for unit, bad in placed]
    test = length_bias(lenience, [float(unit.rank or 0) for unit, _ in placed])
    if test is None:
        return BiasCheck(name="position", measurable=False, why="judge and people never disagree")
    return BiasCheck(
        name="position", measurable=True, effect=test.statistic, unit="Spearman's rho with the rank", p=test.p
    )


def _own_family(units: Sequence[Unit], human: Sequence[bool], judge: str | None, family: Family | None) -> BiasCheck:
    own = family(judge) if family is not None and judge else None
    if own is None or family is None:
        return BiasCheck(name="own_family", measurable=False, why="the judge's name tells no model family")
    groups: dict[bool, list[tuple[bool, bool]]] = {True: [], False: []}
    for unit, bad in zip(units, human, strict=True):
        of = family(unit.model) if unit.model else None
        if of is not None:
            groups[of == own].append((not unit.failing, not bad))
    if min(len(group) for group in groups.values()) < FEW // 2:
        return BiasCheck(
            name="own_family",
            measurable=False,
            why=f"needs at least {FEW // 2} labelled answers of {own} models and as many of others",
        )

    def passes(group: bool, who: int) -> tuple[int, int]:
        return sum(pair[who] for pair in groups[group]), len(groups[group])

    found = self_preference(passes(True, 0), passes(False, 0), passes(True, 1), passes(False, 1))
    half = normal_quantile(0.975) * found.standard_error
    return BiasCheck(
        name="own_family",
        measurable=True,
        effect=found.difference,
        low=found.difference - half,
        high=found.difference + half,
        unit="difference in differences of pass rates",
        p=found.p,
    )


def logistic_length_effect(
    judge_passes: Sequence[bool], human_passes: Sequence[bool], lengths: Sequence[float]
) -> tuple[float, float, float] | None:
    """(b, low, high): log odds that the judge passes, for each doubling of the length, at a given human label.

    Logistic regression of judge on human label and log2(1 + words), with Jeffreys' prior (Firth 1993), so that
    perfectly separated labels have a finite answer; 95 % Wald interval. None when it does not settle.

    >>> b = logistic_length_effect([n > 7 for n in range(16)], [True, False] * 8, [2.0 ** n for n in range(16)])
    >>> b[0] > 0
    True
    """
    import numpy as np

    x = np.column_stack(
        [np.ones(len(lengths)), np.asarray(human_passes, dtype=float), np.log2(1.0 + np.asarray(lengths, dtype=float))]
    )
    if np.ptp(x[:, 1]) == 0:
        x = np.delete(x, 1, axis=1)
    centre = x[:, -1].mean()
    x[:, -1] -= centre
    y = np.asarray(judge_passes, dtype=float)
    beta = np.zeros(x.shape[1])
    for _ in range(100):
        p = 1.0 / (1.0 + np.exp(-np.clip(x @ beta, -30, 30)))
        w = p * (1.0 - p)
        try:
            covariance = np.linalg.inv(x.T @ (x * w[:, None]))
        except np.linalg.LinAlgError:
            return None
        leverage = np.einsum("ij,jk,ik->i", x, covariance, x) * w
        step = covariance @ (x.T @ (y - p + leverage * (0.5 - p)))
        beta += np.clip(step, -1.0, 1.0)
        if float(np.abs(step).max()) < 1e-8:
            half = normal_quantile(0.975) * math.sqrt(float(covariance[-1, -1]))
            return float(beta[-1]), float(beta[-1]) - half, float(beta[-1]) + half
    return None
