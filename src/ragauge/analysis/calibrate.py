"""How far people agree with a judge on one run, and the true failure rate that their labels stand behind.

1 means *failing* throughout, for the human and for the judge. Pure: units and labels in, numbers out.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from ragauge.analysis.calibration import (
    Calibration,
    Disagreement,
    Dominant,
    Slice,
    binding_of,
    corrected_sentence,
)
from ragauge.analysis.judge_checks import Family, bias_checks
from ragauge.analysis.labels import Chosen, HumanLabel, Settled, UnitKey, choose, settle
from ragauge.analysis.rates import corrected, graded_mean, labels_missing, raw_rate, weighted_table
from ragauge.analysis.units import Band, Unit, Units
from ragauge.core.run import Estimate, Manifest
from ragauge.errors import UsageError
from ragauge.stats.agreement import Table, accuracy, agreement, certify, cohen_kappa, krippendorff_alpha
from ragauge.stats.correction import FEW_LABELS, labels_worth
from ragauge.stats.intervals import proportion_interval
from ragauge.stats.paired import mcnemar_exact

TARGET = 0.90
USABLE = 0.88
RETUNE = 0.80


@dataclass(frozen=True)
class Labelled:
    """One unit with its label, ready to be counted."""

    unit: Unit
    failing: bool
    value: float
    note: str = ""
    band: Band | None = None


@dataclass(frozen=True)
class Drawn:
    """The draws from this run so far: what was drawn, each unit's band; `stratified` if any draw was by bands."""

    keys: frozenset[UnitKey] = frozenset()
    bands: Mapping[UnitKey, Band] = field(default_factory=dict)
    stratified: bool = False


def calibrate(
    manifest: Manifest,
    units: Units,
    labels: Sequence[HumanLabel],
    *,
    drawn: Drawn | None = None,
    family: Family | None = None,
    level: float = 0.95,
) -> Calibration:
    """Everything that `labels` say about the judge of `units` and about its rate.

    Labels of other metrics are left out. Labels on other answers than those of the run, on what was not judged, and
    those that were not drawn at random are counted in `excluded`, not used. Raises `UsageError` when no label is left.
    """
    draw = drawn or Drawn()
    mine = [label for label in labels if label.metric in (None, units.metric)]
    by_key = units.by_key
    excluded: Counter[str] = Counter()
    fitting: list[HumanLabel] = []
    for label in mine:
        unit = by_key.get(label.key)
        if unit is None:
            excluded["not judged in this run"] += 1
        elif label.answer is not None and label.answer != unit.answer:
            excluded["about another answer than this run's"] += 1
        else:
            fitting.append(label)
    settled = settle(fitting)
    chosen = choose(settled, draw.keys)
    excluded.update(chosen.excluded)
    labelled = [_labelled(by_key[key], one, units, draw) for key, one in chosen.usable.items()]
    if not labelled:
        said = "; ".join(f"{n} {why}" for why, n in excluded.items()) or "there are none"
        raise UsageError(
            f"{units.metric}: no label can be used ({said})",
            hint=f"Label a random draw: ragauge calibrate {manifest.run} --metric {units.metric} --next 50",
        )
    return _calibration(manifest, units, labelled, settled, chosen, dict(excluded), draw, family, level)


def _labelled(unit: Unit, one: Settled, units: Units, draw: Drawn) -> Labelled:
    assert one.value is not None
    # A person's grade passes where the judge's own value would; words are 1 or 0 (or ½ for "partial").
    info = units.spec.info
    if units.by_target:
        failing = one.value < 1.0
    elif info.better == "higher":
        failing = info.low + one.value * (info.high - info.low) < units.limit
    else:
        failing = 1.0 - one.value > units.limit
    band = draw.bands.get(unit.key) if draw.stratified else None
    return Labelled(unit, failing, one.value, one.note, band)


def _calibration(
    manifest: Manifest,
    units: Units,
    labelled: list[Labelled],
    settled: Mapping[UnitKey, Settled],
    chosen: Chosen,
    excluded: dict[str, int],
    draw: Drawn,
    family: Family | None,
    level: float,
) -> Calibration:
    table = table_of(labelled)
    weighted = weighted_table(labelled, units, draw) if draw.stratified else table
    bands = draw.bands if draw.stratified else None
    rate, refused = corrected(units.units, labelled, bands, level=level)
    raw = raw_rate(units.units, level=level)
    human = None if draw.stratified else _human(table, level)
    judge = manifest.judge
    verdict = certify(weighted, reliable=USABLE, retune=RETUNE)
    found = accuracy(weighted, level=level)
    notes = [*_notes(units, labelled, chosen, weighted, draw)]
    return Calibration(
        metric=units.metric,
        run=manifest.run,
        judge=judge.name if judge else None,
        by_target=units.by_target,
        rule=units.rule,
        n_units=len(units.units),
        n_labels=table.n,
        n_unscored=sum(units.unscored.values()),
        excluded=excluded,
        table={"both_fail": table.n11, "judge_lenient": table.n10, "judge_strict": table.n01, "both_pass": table.n00},
        agreement=agreement(weighted, level=level),
        kappa=cohen_kappa(weighted, level=level),
        sensitivity=found.sensitivity,
        specificity=found.specificity,
        verdict=verdict.verdict.value,
        proven=verdict.proven,
        reaches_target=verdict.agreement >= TARGET,
        agreement_at_least=verdict.low,
        n_more_to_certify=verdict.n_more,
        raw_rate=raw,
        human_rate=human,
        corrected_rate=rate,
        refused=refused,
        graded_mean=None if draw.stratified else graded_mean(units, labelled, level=level),
        n_more=labels_missing(rate, table.n, len(units.units), _correlation(weighted)),
        labels_worth=_worth(weighted, len(units.units)),
        dominant=_dominant(labelled),
        disagreements=tuple(_disagreements(labelled)),
        bias=bias_checks(
            [one.unit for one in labelled],
            [one.failing for one in labelled],
            (judge.model or judge.name) if judge else None,
            family,
        ),
        tags=_by_tag(units, labelled, bands, level),
        between_people=_between_people(settled),
        units=tuple((*one.unit.key, one.unit.answer, int(one.failing), int(one.unit.failing)) for one in labelled),
        binding=binding_of(manifest, units),
        sentence=corrected_sentence(rate, raw, human, units.phrase, refused),
        notes=tuple(notes),
    )


def table_of(labelled: Sequence[Labelled]) -> Table:
    """Human against judge, 1 = failing."""
    return Table.of([int(one.failing) for one in labelled], [int(one.unit.failing) for one in labelled])


def _human(table: Table, level: float) -> Estimate:
    return proportion_interval(table.n11 + table.n10, table.n, "clopper-pearson", level=level)


def _correlation(table: Table) -> float:
    t = table
    product = (t.n11 + t.n10) * (t.n11 + t.n01) * (t.n00 + t.n10) * (t.n00 + t.n01)
    return (t.n11 * t.n00 - t.n10 * t.n01) / math.sqrt(product) if product else 0.0


def _worth(table: Table, n_units: int) -> float | None:
    if table.n < FEW_LABELS:
        return None
    return labels_worth(table.n, max(0, n_units - table.n), _correlation(table))


def _dominant(labelled: Sequence[Labelled]) -> Dominant:
    """Whether the judge's mistakes go one way: exact McNemar test of lenient against strict."""
    lenient = [one for one in labelled if one.failing and not one.unit.failing]
    strict = [one for one in labelled if one.unit.failing and not one.failing]
    p = mcnemar_exact(len(lenient), len(strict))
    worst = Counter(one.unit.worst for one in strict if one.unit.worst).most_common(1)
    if not lenient and not strict:
        kind, said = "none", "judge and people never disagree"
    elif p >= 0.05:
        kind, said = "balanced", "the disagreements go both ways about equally often"
    elif len(lenient) > len(strict):
        kind, said = "too_lenient", "the judge mostly lets failures pass"
    else:
        kind, said = "too_strict", "the judge mostly fails what people let pass"
    if worst and kind in ("too_strict", "balanced"):
        said += f"; where it is too strict it mostly says {worst[0][0]!r} ({worst[0][1]} of {len(strict)})"
    return Dominant(kind=kind, n_lenient=len(lenient), n_strict=len(strict), p=p, said=said)


def _disagreements(labelled: Sequence[Labelled]) -> list[Disagreement]:
    found = []
    for one in labelled:
        if one.failing == one.unit.failing:
            continue
        item, repeat, target = one.unit.key
        found.append(
            Disagreement(
                item=item,
                repeat=repeat,
                target=target,
                kind="judge_lenient" if one.failing else "judge_strict",
                human=one.value,
                judge=one.unit.value,
                note=one.note,
                question=one.unit.question[:300],
                text=one.unit.text[:600],
            )
        )
    return sorted(found, key=lambda row: (row.kind, row.item, row.repeat, row.target or ""))


def _by_tag(
    units: Units, labelled: Sequence[Labelled], bands: Mapping[UnitKey, Band] | None, level: float
) -> dict[str, Slice]:
    found: dict[str, Slice] = {}
    for tag in sorted({tag for one in labelled for tag in one.unit.tags}):
        part = [one for one in labelled if tag in one.unit.tags]
        whole = [unit for unit in units.units if tag in unit.tags]
        table = table_of(part)
        rates = accuracy(table, level=level)
        rate, refused = corrected(whole, part, bands, level=level)
        found[tag] = Slice(
            n_labels=table.n,
            n_units=len(whole),
            agreement=agreement(table, level=level),
            kappa=cohen_kappa(table, level=level),
            sensitivity=rates.sensitivity,
            specificity=rates.specificity,
            raw_rate=raw_rate(whole, level=level),
            corrected_rate=rate,
            refused=refused,
        )
    return found


def _between_people(settled: Mapping[UnitKey, Settled]) -> dict[str, float | int] | None:
    """How far people agree with each other: the ceiling for any judge. None without units labelled twice."""
    twice = [one for one in settled.values() if len({label.reviewer for label in one.labels}) > 1]
    if not twice:
        return None
    names = sorted({label.reviewer for one in twice for label in one.labels})
    votes = [{label.reviewer: label.value for label in one.labels if not label.adjudicated} for one in twice]
    ratings = [[vote.get(name) for vote in votes] for name in names]
    same = sum(len(set(vote.values())) == 1 for vote in votes)
    alpha = krippendorff_alpha(ratings)
    result: dict[str, float | int] = {"n_twice": len(twice), "agreement": same / len(twice)}
    return result if alpha is None else result | {"alpha": alpha}


def _notes(units: Units, labelled: Sequence[Labelled], chosen: Chosen, table: Table, draw: Drawn) -> list[str]:
    notes = []
    if not chosen.said:
        notes.append(
            "Nobody says how these answers were chosen for labelling: the rates hold only if they are a random draw "
            "from this run (`--next` makes one)."
        )
        odd = _odd_choice(units, labelled)
        if odd is not None:
            notes.append(odd)
    n_bad, n = sum(one.failing for one in labelled), len(labelled)
    if n_bad == 0:
        upper = proportion_interval(0, n, "clopper-pearson", level=0.90).high or 1.0
        notes.append(
            f"People found no failure in {n} labels: with 95 % confidence at most {upper:.1%} fail; whether the judge "
            "would find one is not known."
        )
    elif n_bad < 10:
        notes.append(f"Only {n_bad} failing answers are labelled: the sensitivity is known roughly at best.")
    if n >= FEW_LABELS and 0 < abs(_correlation(table)) < 1.0 / math.sqrt(n - 2):
        notes.append("The judge is hardly better than chance here: correcting it gains nothing over the labels alone.")
    if draw.keys and any("not a random draw" in why for why in chosen.excluded):
        notes.append(
            "Draws are recorded for this run, so labels of other answers are left out. If those are a random draw of "
            "their own, say so: a column `for_estimation` with `true`."
        )
    if draw.stratified:
        notes.append(
            "Labels were drawn by bands of the judge's score; every figure weighs them by their probabilities, and its "
            "n is how many labels of a plain random draw they are worth."
        )
    return notes


def _odd_choice(units: Units, labelled: Sequence[Labelled]) -> str | None:
    """Labels that hold far more (or fewer) judged failures than the rest were hardly drawn at random."""
    from scipy.stats import hypergeom

    n, big = len(labelled), len(units.units)
    k, total = sum(one.unit.failing for one in labelled), sum(unit.failing for unit in units.units)
    if not 0 < n < big:
        return None
    expected = n * total / big
    tail = hypergeom.cdf(k, big, total, n) if k < expected else hypergeom.sf(k - 1, big, total, n)
    if float(tail) * 2 >= 0.001:
        return None
    return (
        f"They do not look like one: the judge fails {k / n:.0%} of the labelled answers and {total / big:.0%} of all. "
        "Correcting by the judge's verdict makes up for that only if nothing else guided the choice."
    )
