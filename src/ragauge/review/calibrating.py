"""Calibrations on disk: beside the run that they are of, and for later runs of the same project.

```
runs/RUN/calibration/calibrations.json   the figures of this run, by metric
runs/RUN/calibration/labels.jsonl        the labels behind them, bound to the answers that were looked at
runs/RUN/calibration/draws.jsonl         what was drawn to be labelled, with probabilities and seeds
runs/calibration.json                    the newest calibration of each metric, for runs that have none of their own
```
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import asdict
from pathlib import Path

from pydantic import Field, ValidationError

from ragauge.analysis.calibrate import Drawn, calibrate
from ragauge.analysis.calibration import Calibration, Recheck, changes, percent
from ragauge.analysis.judge_checks import Family
from ragauge.analysis.label_next import Draw, Known, draw_next
from ragauge.analysis.labels import HumanLabel, settle
from ragauge.analysis.rates import raw_rate
from ragauge.analysis.units import Units, bands, units_of
from ragauge.core.metric import Need
from ragauge.core.model import Model
from ragauge.core.run import Estimate, Manifest
from ragauge.errors import NewerVersion, StoreError, UsageError
from ragauge.review.labels import label_record, read_labels, write_lines
from ragauge.stats.agreement import Table
from ragauge.stats.correction import Judged, lang_reiczigel
from ragauge.stats.paired import mcnemar_exact
from ragauge.store.jsonl import whole_lines
from ragauge.store.rundir import RunDir, write_json

FORMAT = 1
FOLDER, FIGURES, LABELS, DRAWS = "calibration", "calibrations.json", "labels.jsonl", "draws.jsonl"
NEWEST = "calibration.json"


class Calibrations(Model):
    """What a calibration file holds."""

    format: int = FORMAT
    calibrations: dict[str, Calibration] = Field(default_factory=dict)


def calibrate_run(
    run: RunDir,
    labels: Sequence[HumanLabel],
    metrics: Sequence[str],
    *,
    limits: dict[str, float] | None = None,
    family: Family | None = None,
    level: float = 0.95,
    store: bool = True,
) -> list[Calibration]:
    """Calibrate every one of `metrics` with `labels`, and keep the figures and the labels beside the run.

    Labels that name a chunk or claim (`target`) are about single verdicts, the others about whole answers; where a
    metric has both, the calibration is about whichever there are more of.
    """
    found: list[Calibration] = []
    bound: list[HumanLabel] = []
    for metric in metrics:
        mine = [label for label in labels if label.metric in (None, metric)]
        targeted = [label for label in mine if label.target is not None]
        by_target = 2 * len(targeted) > len(mine)
        units = units_of(run.manifest, run.records(), metric, by_target=by_target, limit=(limits or {}).get(metric))
        used = targeted if by_target else [label for label in mine if label.target is None]
        one = calibrate(run.manifest, units, used, drawn=draws_of(run, units), family=family, level=level)
        found.append(one.model_copy(update={"recheck": _recheck(run, one)}))
        bound += _bound(used, units)
    if store:
        _store(run, found, bound)
    return found


def judged_metrics(manifest: Manifest) -> list[str]:
    """The metrics of a run that a judge gave verdicts for."""
    return [
        spec.key
        for spec in manifest.metrics
        if (Need.JUDGE in spec.info.needs or Need.JUDGE in spec.info.uses) and spec.info.better != "none"
    ]


def labelled_metrics(manifest: Manifest, labels: Iterable[HumanLabel]) -> list[str]:
    """The metrics that the labels name, in the run's order; without names, faithfulness or the only judged one."""
    named = {label.metric for label in labels if label.metric is not None}
    known = [spec.key for spec in manifest.metrics]
    if named and (found := [key for key in known if key in named]):
        return found
    if named:
        raise UsageError(
            f"the labels are about {', '.join(sorted(named)[:5])}, which this run did not measure",
            hint=f"It measured {', '.join(known) or 'nothing'}.",
        )
    judged = judged_metrics(manifest)
    if "faithfulness" in judged:
        return ["faithfulness"]
    if len(judged) == 1:
        return judged
    raise UsageError(
        "the labels do not say which metric they are about", hint=f"--metric with one of: {', '.join(judged or known)}"
    )


def draw(run: RunDir, metric: str, n: int, seed: int, *, by_bands: bool = True, by_target: bool = False) -> list[Draw]:
    """Draw `n` units of `metric` to be labelled next, and note the draw beside the run before it is handed out."""
    units = units_of(run.manifest, run.records(), metric, by_target=by_target)
    before = [one for one in read_draws(run) if one.metric == metric]
    said = {
        key: one.value < 1.0
        for key, one in settle(label for label in read_stored_labels(run) if label.metric == metric).items()
        if one.value is not None
    }
    known = Known(frozenset(one.key for one in before), said)
    drawn = draw_next(units, n, seed, known, by_bands=by_bands)
    lines = [one.model_dump_json(exclude_none=True) for one in [*read_draws(run), *drawn]]
    write_lines(run.path / FOLDER / DRAWS, lines)
    return drawn


def draws_of(run: RunDir, units: Units) -> Drawn:
    """The draws of a metric so far."""
    mine = [one for one in read_draws(run) if one.metric == units.metric]
    stratified = any(one.design.startswith("bands") for one in mine)
    keys = frozenset(one.key for one in mine) & frozenset(unit.key for unit in units.units)
    return Drawn(keys, bands(units) if stratified else {}, stratified)


def read_draws(run: RunDir) -> list[Draw]:
    """Everything that was drawn from a run to be labelled."""
    path = run.path / FOLDER / DRAWS
    if not path.exists():
        return []
    try:
        return [Draw.model_validate_json(line) for _, _, line in whole_lines(path)]
    except ValidationError as error:
        raise StoreError(f"{path} is damaged: {error.errors()[0]['msg']}") from error


def read_stored_labels(run: RunDir) -> list[HumanLabel]:
    """The labels behind the stored calibrations of a run."""
    path = run.path / FOLDER / LABELS
    if not path.exists():
        return []
    lower = {spec.key for spec in run.manifest.metrics if spec.info.better == "lower"}
    return read_labels(path, lower_is_better=lower)


def stored(run: RunDir) -> dict[str, Calibration]:
    """The calibrations of this run."""
    return _read(run.path / FOLDER / FIGURES).calibrations


def newest(run: RunDir) -> dict[str, Calibration]:
    """The newest calibration of each metric in the folder of this run, of whichever run it is."""
    return _read(run.path.parent / NEWEST).calibrations


def transported(
    run: RunDir, metric: str, *, level: float = 0.95
) -> tuple[Estimate | None, Estimate | None, Calibration]:
    """(failure rate of this run, raw rate, the calibration of an earlier run that it leans on).

    Labels of an older run say how often the judge errs, which carries over only as long as the judge is the same:
    Rogan and Gladen's estimate with the interval of Lang and Reiczigel. None when the earlier labels lack a class.
    Raises `UsageError` when there is no such calibration, or the judge has changed since.
    """
    earlier = newest(run).get(metric)
    if earlier is None:
        raise UsageError(
            f"no labels, and {metric} was never calibrated in {run.path.parent}",
            hint=f"ragauge calibrate {run.manifest.run} --metric {metric} --next 50 says what to label.",
        )
    changed = changes(earlier.binding, run.manifest)
    if changed:
        raise UsageError(
            f"the calibration of {metric} is stale: {'; '.join(changed)}",
            hint=f"Check with a small fresh sample: ragauge calibrate {run.manifest.run} --metric {metric} --next 30",
        )
    units = units_of(run.manifest, run.records(), metric, by_target=earlier.by_target)
    cells = earlier.table
    table = Table(cells["both_fail"], cells["judge_lenient"], cells["judge_strict"], cells["both_pass"])
    if any(one.design.startswith("bands") for one in read_draws_at(run.path.parent / earlier.run)):
        raise UsageError(
            "the earlier labels were drawn by bands of the judge's score, which does not carry over to another run",
            hint=f"Label a few of this run: ragauge calibrate {run.manifest.run} --metric {metric} --next 30",
        )
    n_failing = sum(unit.failing for unit in units.units)
    rate = lang_reiczigel(Judged(table, n_failing, len(units.units)), level=level) if units.units else None
    return rate, raw_rate(units.units, level=level), earlier


def read_draws_at(path: Path) -> list[Draw]:
    """The draws of the run in `path`; none when it is gone."""
    file = path / FOLDER / DRAWS
    return [Draw.model_validate_json(line) for _, _, line in whole_lines(file)] if file.exists() else []


def calibration_note(run_dir: str | Path) -> str | None:
    """One or two sentences for reports: how far people agree with this run's judge, and whether that still holds.

    None when no metric of the run was ever calibrated. Says STALE when the judge, a prompt or a metric has changed
    since. Never raises for a damaged calibration file: it says that it cannot be read.
    """
    run = RunDir.open(run_dir)
    try:
        own, others = stored(run), newest(run)
    except StoreError as problem:
        return f"Calibration: {problem.message}"
    said = [_own(one) for one in own.values()]
    keys = {spec.key for spec in run.manifest.metrics}
    for metric, one in others.items():
        if metric in own or metric not in keys:
            continue
        changed = changes(one.binding, run.manifest)
        if changed:
            said.append(
                f"STALE: {metric} was calibrated against people on {one.run}, but {'; '.join(changed)}: how far this "
                f"judge agrees with people is not known (ragauge calibrate {run.manifest.run} --next 30)."
            )
        else:
            said.append(
                f"{metric}: this judge agreed with people on {percent(one.agreement.value)} of {one.n_labels} answers "
                f"of {one.run}; verdict: {one.verdict}."
            )
    return " ".join(said) or None


def _own(one: Calibration) -> str:
    said = f"{one.metric}, {one.n_labels} human labels: agreement {percent(one.agreement.value)}, judge {one.verdict}."
    return f"{said} {one.sentence}"


def _recheck(run: RunDir, one: Calibration) -> Recheck | None:
    """Against the newest earlier calibration by another judge: the answers that both have labels for."""
    earlier = newest(run).get(one.metric)
    if earlier is None or earlier.binding == one.binding:
        return None
    before = {(item, target, answer): (human, judge) for item, _, target, answer, human, judge in earlier.units}
    pairs = []
    for item, _, target, answer, human, judge in one.units:
        old = before.get((item, target, answer))
        if old is not None:
            pairs.append((old[1] == old[0], judge == human))
    if not pairs:
        return None
    better = sum(new and not old for old, new in pairs)
    worse = sum(old and not new for old, new in pairs)
    return Recheck(
        earlier_run=earlier.run,
        n_shared=len(pairs),
        earlier_agreement=sum(old for old, _ in pairs) / len(pairs),
        agreement=sum(new for _, new in pairs) / len(pairs),
        p=mcnemar_exact(better, worse),
    )


def _bound(labels: Sequence[HumanLabel], units: Units) -> list[HumanLabel]:
    """Labels with the metric and the answer that they are about."""
    by_key = units.by_key
    bound = []
    for label in labels:
        unit = by_key.get(label.key)
        if unit is not None and label.answer in (None, unit.answer):
            fields = asdict(label) | {"metric": units.metric, "answer": unit.answer}
            bound.append(HumanLabel(**fields))
    return bound


def _store(run: RunDir, found: Sequence[Calibration], labels: Sequence[HumanLabel]) -> None:
    metrics = {one.metric for one in found}
    others = [label for label in read_stored_labels(run) if label.metric not in metrics]
    lower = {spec.key for spec in run.manifest.metrics if spec.info.better == "lower"}
    lines = [json.dumps(label_record(label, lower)) for label in [*others, *labels]]
    if lines:
        write_lines(run.path / FOLDER / LABELS, lines)
    for path in (run.path / FOLDER / FIGURES, run.path.parent / NEWEST):
        held = _read(path).calibrations | {one.metric: one for one in found}
        write_json(path, Calibrations(calibrations=held))


def _read(path: Path) -> Calibrations:
    if not path.is_file():
        return Calibrations()
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
        if isinstance(data, dict) and isinstance(data.get("format"), int) and data["format"] > FORMAT:
            raise NewerVersion(f"{path} was written by a newer ragauge (calibration format {data['format']})")
        return Calibrations.model_validate(data)
    except (OSError, ValueError) as problem:
        raise StoreError(f"{path} cannot be read as a calibration", hint="Delete it and calibrate again.") from problem
