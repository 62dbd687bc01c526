"""A/B: what people did with each variant, judged so that it may be looked at every day."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from pydantic import Field

from ragauge.analysis.ab_tally import Columns, Group, Tally, merged
from ragauge.core.model import Model
from ragauge.core.run import Estimate
from ragauge.errors import InputError
from ragauge.stats.sequential import confidence_sequence
from ragauge.stats.two_samples import (
    FEW,
    MISMATCH,
    Moments,
    Stratum,
    difference_sequence,
    mean_sequence,
    observations_needed,
    sample_ratio_test,
)

#: Names by which a control is known.
CONTROLS = ("control", "a", "baseline", "base", "old", "off", "0", "false")

Verdict = Literal["better", "worse", "no difference worth telling", "not settled yet", "not to be trusted"]


@dataclass(frozen=True)
class Options:
    """`ratio`: variant → its meant share (default: equal). `planned`: observations per variant that are expected.

    `smallest`: a difference below this (in the outcome's unit) is not worth telling; None: every one is.
    """

    alpha: float = 0.05
    control: str | None = None
    better: Literal["higher", "lower"] = "higher"
    kind: Literal["auto", "rate", "mean"] = "auto"
    planned: int = 1000
    smallest: float | None = None
    ratio: Mapping[str, float] = field(default_factory=dict)


class Arm(Model):
    """One variant: how many observations, their outcome, the offline scores beside it."""

    name: str
    n: int
    n_missing: int = 0
    expected_share: float
    share: float
    estimate: Estimate
    scores: dict[str, Estimate] = Field(default_factory=dict)


class StratumDifference(Model):
    """One stratum of a comparison, for looking; the verdict is of the whole."""

    stratum: str
    n_control: int
    n_variant: int
    control: float
    variant: float
    difference: float


class Effect(Model):
    """A variant against the control. `n_more`: further observations (both together) that settle a difference as large
    as the one seen, at the variance seen; None: nothing differs, or no number would do.
    """

    variant: str
    control: str
    estimate: Estimate
    relative: float | None
    verdict: Verdict
    n_more: int | None
    scores: dict[str, Estimate] = Field(default_factory=dict)
    strata: tuple[StratumDifference, ...] = ()
    notes: tuple[str, ...] = ()


class SampleRatio(Model):
    """Were the variants given to as many as was meant? `mismatch`: p < .001, something is wrong with the test."""

    chi2: float
    p: float
    mismatch: bool


class ABResult(Model):
    """The JSON of `ragauge ab`. Intervals hold at every look, all comparisons together (level 1 − alpha)."""

    outcome: str
    kind: Literal["rate", "mean"]
    better: Literal["higher", "lower"]
    control: str
    arms: tuple[Arm, ...]
    effects: tuple[Effect, ...]
    sample_ratio: SampleRatio
    stratum: str | None = None
    unit: str | None = None
    alpha: float = 0.05
    warnings: tuple[str, ...] = ()


def analyse(
    rows: Iterable[tuple[int | None, Mapping[str, Any] | InputError]],
    columns: Columns,
    file: str,
    options: Options | None = None,
) -> ABResult:
    """Read a table of variant and outcome once and judge it. Raises `InputError` for what cannot be read."""
    options = options or Options()
    tally = Tally(columns, file)
    for line, row in rows:
        tally.add(line, row)
    warnings = tally.finish()
    variants = [name for name in tally.variants if _moments(tally, name).n]
    if len(variants) < 2:
        raise InputError(
            f"an A/B test needs two variants with outcomes, found {len(variants)}",
            file=file,
            field=columns.variant,
            found=tally.variants,
        )
    control = _control(variants, options, file, columns.variant)
    rate = _is_rate(tally, options, file)
    expected = _expected(variants, options, file)
    ratio = _ratio({name: _moments(tally, name).n for name in variants}, expected)
    alpha = options.alpha / (len(variants) - 1)
    arms = tuple(_arm(tally, name, rate, alpha, expected, options) for name in [control, *_others(variants, control)])
    effects = tuple(_effect(tally, control, name, rate, alpha, ratio, options) for name in _others(variants, control))
    return ABResult(
        outcome=columns.outcome,
        kind="rate" if rate else "mean",
        better=options.better,
        control=control,
        arms=arms,
        effects=effects,
        sample_ratio=ratio,
        stratum=columns.stratum,
        unit=columns.unit,
        alpha=options.alpha,
        warnings=(*warnings, *_warnings(ratio, arms)),
    )


def _others(variants: Sequence[str], control: str) -> list[str]:
    return [name for name in variants if name != control]


def _moments(tally: Tally, variant: str, score: str | None = None) -> Moments:
    """All strata of a variant together."""
    parts = [
        group.outcome if score is None else group.scores.get(score, Moments())
        for (name, _), group in sorted(tally.groups.items())
        if name == variant
    ]
    return merged(parts)


def _control(variants: Sequence[str], options: Options, file: str, column: str) -> str:
    if options.control is not None:
        if options.control not in variants:
            raise InputError(
                "no row has this variant", file=file, field=column, found=options.control, accepted=", ".join(variants)
            )
        return options.control
    known = [name for usual in CONTROLS for name in variants if name.casefold() == usual]
    return known[0] if known else variants[0]


def _is_rate(tally: Tally, options: Options, file: str) -> bool:
    if options.kind == "rate" and not tally.is_binary:
        raise InputError("a rate needs outcomes that are 0 or 1", file=file, field=tally.columns.outcome)
    return tally.is_binary and options.kind != "mean"


def _expected(variants: Sequence[str], options: Options, file: str) -> dict[str, float]:
    if not options.ratio:
        return {name: 1.0 / len(variants) for name in variants}
    lacking = [name for name in variants if name not in options.ratio]
    if lacking:
        raise InputError(
            f"--ratio says nothing of {', '.join(lacking)}", file=file, accepted="a share for each variant"
        )
    whole = math.fsum(options.ratio[name] for name in variants)
    return {name: options.ratio[name] / whole for name in variants}


def _ratio(counts: Mapping[str, int], expected: Mapping[str, float]) -> SampleRatio:
    chi2, p = sample_ratio_test(counts, expected)
    return SampleRatio(chi2=chi2, p=p, mismatch=p < MISMATCH)


def _arm(tally: Tally, name: str, rate: bool, alpha: float, expected: Mapping[str, float], options: Options) -> Arm:
    outcome = _moments(tally, name)
    total = sum(group.outcome.n for group in tally.groups.values())
    if rate:
        estimate = confidence_sequence(round(outcome.n * outcome.mean), outcome.n, alpha=alpha, t_opt=options.planned)
    else:
        estimate = mean_sequence(outcome, alpha=alpha, n_opt=options.planned)
    scores = {
        score: mean_sequence(found, alpha=alpha, n_opt=options.planned)
        for score in tally.columns.scores
        if (found := _moments(tally, name, score)).n
    }
    return Arm(
        name=name,
        n=outcome.n,
        n_missing=tally.missing.get(name, 0),
        expected_share=expected[name],
        share=outcome.n / total,
        estimate=estimate,
        scores=scores,
    )


def _effect(
    tally: Tally, control: str, variant: str, rate: bool, alpha: float, ratio: SampleRatio, options: Options
) -> Effect:
    names = sorted({stratum for _, stratum in tally.groups})
    strata = [
        Stratum(tally.groups.get((control, name), Group()).outcome, tally.groups.get((variant, name), Group()).outcome)
        for name in names
    ]
    if not any(one.a.n > 1 and one.b.n > 1 for one in strata):
        strata = [Stratum(_moments(tally, control), _moments(tally, variant))]
    if min(strata[0].a.n, strata[0].b.n) < 2 and len(strata) == 1:
        raise InputError("a variant has a single outcome: there is nothing to compare", file=tally.file, found=variant)
    estimate, variance = difference_sequence(strata, rate=rate, alpha=alpha, n_opt=options.planned)
    enough = min(_moments(tally, name).n for name in (control, variant)) >= FEW  # for the variance to be known at all
    needed = observations_needed(estimate.value, variance, alpha=alpha, n_opt=options.planned) if enough else None
    base = _moments(tally, control).mean
    verdict = _verdict(estimate, ratio, options)
    scores = {}
    for score in tally.columns.scores:
        a, b = _moments(tally, control, score), _moments(tally, variant, score)
        if a.n > 1 and b.n > 1:
            scores[score] = difference_sequence([Stratum(a, b)], rate=False, alpha=alpha, n_opt=options.planned)[0]
    return Effect(
        variant=variant,
        control=control,
        estimate=estimate,
        relative=estimate.value / base if base else None,
        verdict=verdict,
        n_more=max(0, needed - estimate.n) if needed is not None and verdict == "not settled yet" else None,
        scores=scores,
        strata=tuple(_by_stratum(names, strata)) if tally.columns.stratum else (),
        notes=tuple(_left_out(names, strata)) if tally.columns.stratum else (),
    )


def _verdict(estimate: Estimate, ratio: SampleRatio, options: Options) -> Verdict:
    if ratio.mismatch:
        return "not to be trusted"
    low, high = estimate.low, estimate.high
    if low is None or high is None:
        return "not settled yet"
    if low > 0 or high < 0:
        return "better" if (low > 0) == (options.better == "higher") else "worse"
    if options.smallest is not None and -options.smallest < low and high < options.smallest:
        return "no difference worth telling"
    return "not settled yet"


def _by_stratum(names: Sequence[str], strata: Sequence[Stratum]) -> Iterator[StratumDifference]:
    for name, one in zip(names, strata, strict=False):
        if one.a.n and one.b.n:
            yield StratumDifference(
                stratum=name,
                n_control=one.a.n,
                n_variant=one.b.n,
                control=one.a.mean,
                variant=one.b.mean,
                difference=one.b.mean - one.a.mean,
            )


def _left_out(names: Sequence[str], strata: Sequence[Stratum]) -> Iterator[str]:
    lost = [name for name, one in zip(names, strata, strict=False) if min(one.a.n, one.b.n) < 2]
    if lost:
        some = ", ".join(lost[:5]) + (" …" if len(lost) > 5 else "")
        yield f"strata with fewer than two observations of a variant are left out: {some}"


def _warnings(ratio: SampleRatio, arms: Sequence[Arm]) -> Iterator[str]:
    if ratio.mismatch:
        seen = ", ".join(f"{arm.name} {arm.share:.1%} (meant {arm.expected_share:.1%})" for arm in arms)
        yield (
            f"Sample-ratio mismatch: {seen}, p = {ratio.p:.1e}. Something decides who is counted; find it before "
            "reading anything into the difference."
        )
    missing = [arm.n_missing / (arm.n + arm.n_missing) for arm in arms]
    if max(missing) - min(missing) > 0.01:
        shares = ", ".join(f"{arm.name} {share:.1%}" for arm, share in zip(arms, missing, strict=True))
        yield f"The variants differ in how many rows have no outcome ({shares}): the difference may come from that."
