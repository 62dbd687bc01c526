"""Calibrations as JSON and for the terminal."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pydantic import Field
from rich.console import Group
from rich.table import Table
from rich.text import Text

from ragauge.analysis.calibration import Calibration, Disagreement, percent
from ragauge.core.model import Model
from ragauge.core.run import Estimate
from ragauge.report.words import count, labels_to_certify, number
from ragauge.text.normalise import display

_VERDICTS = {
    "reliable": ("usable unattended", "green"),
    "provisional": ("provisional", "yellow"),
    "retune": ("retune the judge", "red"),
}


class CalibratedMetric(Calibration):
    """One metric's figures as they are printed; all rates are failure rates.

    `stale`: the judge or the metric is not what it was when people labelled (`stale_because` says what changed).
    `labels_of`: the earlier run whose labels the rate leans on; there only where it does.
    """

    run: str = Field(default="", exclude=True)
    units: tuple[tuple[str, int, str | None, str, int, int], ...] = Field(default=(), exclude=True)
    stale: bool
    stale_because: tuple[str, ...]
    labels_of: str | None = None


class _OfRun(Model):
    run: str


class CalibrateDocument(CalibratedMetric, _OfRun):
    """What `ragauge calibrate --json` prints; the schema in the documentation is this one.

    `run`: the run's directory; then the figures of its first metric, and those of every metric under `metrics`.
    `runs`: where several runs were named, the document of each; the first one stands at the top as well.
    """

    run: str
    metrics: dict[str, CalibratedMetric]
    runs: tuple[CalibrateDocument, ...] = ()


def document(run: str, calibrations: Sequence[Calibration], stale: Sequence[str] = ()) -> dict[str, Any]:
    """`CalibrateDocument` of one run as plain data."""
    each = {
        one.metric: CalibratedMetric(**dict(one), stale=bool(stale), stale_because=tuple(stale)) for one in calibrations
    }
    return _dumped(run, each)


def transported_document(
    run: str, metric: str, rate: Estimate | None, raw: Estimate | None, earlier: Calibration
) -> dict[str, Any]:
    """The same for a rate that leans on the labels of an earlier run."""
    changed = {"raw_rate": raw, "corrected_rate": rate, "sentence": transported_sentence(rate, raw, earlier)}
    part = CalibratedMetric(**dict(earlier) | changed, stale=False, stale_because=(), labels_of=earlier.run)
    return _dumped(run, {metric: part})


def _dumped(run: str, each: dict[str, CalibratedMetric]) -> dict[str, Any]:
    first = next(iter(each.values()))
    whole = CalibrateDocument(**dict(first) | {"run": run}, metrics=each)
    if first.labels_of is not None:
        return whole.model_dump(mode="json", exclude={"runs"})
    absent: Any = {"runs": True, "labels_of": True, "metrics": {"__all__": {"labels_of"}}}
    return whole.model_dump(mode="json", exclude=absent)


def transported_sentence(rate: Estimate | None, raw: Estimate | None, earlier: Calibration) -> str:
    """What a rate from older labels amounts to."""
    said = f"the judge alone said {percent(raw.value)}" if raw else "nothing was judged"
    if rate is None or rate.low is None or rate.high is None:
        return f"No corrected rate: the {count(earlier.n_labels, 'label')} of {earlier.run} cannot carry one; {said}."
    low, high = percent(rate.low, rate.high), percent(rate.high, rate.low)
    as_before = f"if the judge errs as often as it did on {earlier.run}"
    return f"Between {low} and {high} fail {earlier.metric}, {as_before}; {said}."


def terminal(one: Calibration, *, n_rows: int = 10) -> Group:
    """One metric's calibration for people."""
    parts: list[Text | Table] = [Text(one.sentence, style="bold"), Text()]
    parts += [_head(one), Text(), _figures(one), _verdict(one), Text()]
    parts += [_confusion(one), Text(_sentence(one.dominant.said), style="dim"), Text()]
    parts += _rows(one.disagreements, n_rows)
    parts += _tags(one)
    parts += _bias(one)
    if one.recheck is not None:
        check = one.recheck
        parts.append(
            Text(
                f"Checked again: on {count(check.n_shared, 'answer')} shared with {check.earlier_run} the judge agreed "
                f"with people on {percent(check.earlier_agreement)} before and on {percent(check.agreement)} now "
                f"(p = {number(check.p)})."
            )
        )
    parts += [Text(note, style="yellow") for note in one.notes]
    return Group(*parts)


def _head(one: Calibration) -> Text:
    what = "verdict" if one.by_target else "answer"
    lines = [
        f"Metric   {one.metric}, failing: {one.rule}",
        f"Judge    {one.judge or 'none'}",
        f"Labels   {one.n_labels} of {count(one.n_units, 'judged ' + what)}"
        + (f"; {one.n_unscored} more could not be judged and are in none of these rates" if one.n_unscored else ""),
    ]
    lines += [f"         left out: {n} {why}" for why, n in one.excluded.items()]
    if one.between_people:
        alpha = one.between_people.get("alpha")
        lines.append(
            f"People   agree with each other on {percent(float(one.between_people['agreement']))} of "
            f"{one.between_people['n_twice']} labelled twice"
            + (f" (Krippendorff's alpha {number(float(alpha))})" if alpha is not None else "")
        )
    return Text("\n".join(display(line) for line in lines))


def _figures(one: Calibration) -> Table:
    table = Table(box=None, pad_edge=False, header_style="bold", padding=(0, 2, 0, 0))
    for name in ("", "value", "95 % interval", "n"):
        table.add_column(name, justify="left" if not name else "right", no_wrap=True)
    rows = (
        ("failure rate, corrected by people", one.corrected_rate),
        ("failure rate, judge alone", one.raw_rate),
        ("failure rate, labels alone", one.human_rate),
        *((("mean grade, corrected by people", one.graded_mean),) if one.graded_mean else ()),
        ("agreement", one.agreement),
        ("Cohen's kappa", one.kappa),
        ("sensitivity (failures that it finds)", one.sensitivity),
        ("specificity (good ones that it lets pass)", one.specificity),
    )
    for name, estimate in rows:
        table.add_row(name, *_cells(estimate))
    return table


def _cells(estimate: Estimate | None) -> tuple[str, str, str]:
    if estimate is None:
        return "—", "—", "—"
    inside = "—" if estimate.low is None or estimate.high is None else f"{estimate.low:.3f} – {estimate.high:.3f}"
    return number(estimate.value), inside, str(estimate.n)


def _verdict(one: Calibration) -> Text:
    said, style = _VERDICTS[one.verdict]
    text = Text(f"Verdict: {said}", style=style)
    text.append(
        f" (at least {percent(one.agreement_at_least)} agreement with 95 % confidence; 88 % is usable unattended, 90 % "
        "the target, below 80 % retune)",
        "dim",
    )
    if one.verdict == "provisional" and one.n_more_to_certify:
        text.append(f"\n{labels_to_certify(one.n_more_to_certify)}")
    if one.n_more and one.corrected_rate is None:
        text.append(f"\n{count(one.n_more, 'more label')} are needed before the rate can be corrected at all.")
    elif one.n_more:
        text.append(f"\n{count(one.n_more, 'more label')} would bring the corrected rate to about ± 5 points.")
    if one.labels_worth is not None:
        text.append(f"\nWith the judge, {one.n_labels} labels are worth {one.labels_worth:.0f}.", "dim")
    return text


def _confusion(one: Calibration) -> Table:
    table = Table(box=None, pad_edge=False, header_style="bold", padding=(0, 2, 0, 0))
    for name in ("", "judge: fails", "judge: passes"):
        table.add_column(name, justify="left" if not name else "right")
    cells = one.table
    table.add_row("people: fails", str(cells["both_fail"]), str(cells["judge_lenient"]))
    table.add_row("people: passes", str(cells["judge_strict"]), str(cells["both_pass"]))
    return table


def _rows(rows: Sequence[Disagreement], n: int) -> list[Text | Table]:
    if not rows:
        return []
    table = Table(box=None, pad_edge=False, header_style="bold", padding=(0, 2, 0, 0))
    for name in ("row", "people", "judge", "question", "note"):
        table.add_column(
            name, overflow="ellipsis", no_wrap=name != "note", max_width=60 if name == "question" else None
        )
    for row in rows[:n]:
        place = row.item + (f" #{row.repeat}" if row.repeat else "") + (f" · {row.target}" if row.target else "")
        table.add_row(
            Text(display(place)),
            "fails" if row.kind == "judge_lenient" else "passes",
            number(row.judge, 2),
            Text(display(" ".join(row.question.split()))),
            Text(display(row.note)),
        )
    left = len(rows) - n
    more = [Text(f"… and {left} more; `--json` has all of them", style="dim")] if left > 0 else []
    return [Text("Where they disagree", style="bold"), table, *more, Text()]


def _tags(one: Calibration) -> list[Text | Table]:
    if not one.tags:
        return []
    table = Table(box=None, pad_edge=False, header_style="bold", padding=(0, 2, 0, 0))
    for name in ("tag", "labels", "agreement", "sensitivity", "specificity", "judge alone", "corrected"):
        table.add_column(name, justify="left" if name == "tag" else "right", no_wrap=True)
    for tag, part in one.tags.items():
        rate = part.corrected_rate
        said = "too few labels" if rate is None else f"{number(rate.low, 2)} – {number(rate.high, 2)}"
        table.add_row(
            Text(display(tag)),
            str(part.n_labels),
            number(part.agreement.value, 2),
            number(part.sensitivity.value if part.sensitivity else None, 2),
            number(part.specificity.value if part.specificity else None, 2),
            number(part.raw_rate.value if part.raw_rate else None, 2),
            said,
        )
    return [Text("By tag", style="bold"), table, Text()]


def _bias(one: Calibration) -> list[Text | Table]:
    lines: list[Text | Table] = [Text("Known biases of judges", style="bold")]
    for check in one.bias:
        name = check.name.replace("_", " ")
        if not check.measurable:
            lines.append(Text(f"  {name}: cannot be checked: {check.why}", style="dim"))
            continue
        inside = "" if check.low is None else f" ({number(check.low)} – {number(check.high)})"
        style = "" if check.verdict == "not shown" else "yellow"
        lines.append(
            Text(
                f"  {name}: {check.verdict}; {check.unit} {number(check.effect)}{inside}, "
                f"p = {number(check.p_adjusted)} (Holm)",
                style=style,
            )
        )
    return [*lines, Text()]


def _sentence(text: str) -> str:
    return text[:1].upper() + text[1:] + "."
