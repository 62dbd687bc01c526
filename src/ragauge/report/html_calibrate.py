"""A calibration as a page shows it: figures against the bars, the confusion table, where judge and people differ."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ragauge.analysis.calibrate import RETUNE, TARGET, USABLE
from ragauge.analysis.calibration import Calibration, Disagreement, Slice, percent
from ragauge.core.run import Estimate
from ragauge.report.html_plots import Track, track
from ragauge.report.words import count, labels_to_certify, number

#: Disagreements and tags that are shown.
N_ROWS, N_TAGS = 200, 60
VERDICTS = {
    "reliable": ("usable unattended", "good"),
    "provisional": ("provisional", "below"),
    "retune": ("retune the judge", "broken"),
}


@dataclass(frozen=True)
class Figure:
    """One figure with its interval, in words and as a place on an axis from 0 to 1; `words` is what the axis shows."""

    name: str
    value: str
    interval: str
    n: str
    track: Track | None
    bars: bool
    words: str


@dataclass(frozen=True)
class CalibrationView:
    """One metric."""

    metric: str
    what: str
    sentence: str
    verdict: str
    tone: str
    certainty: str
    head: tuple[tuple[str, str], ...]
    agreement: tuple[Figure, ...]
    rates: tuple[Figure, ...]
    table: dict[str, int]
    dominant: str
    rows: tuple[Disagreement, ...]
    n_left_out: int
    tags: tuple[tuple[str, tuple[str, ...]], ...]
    bias: tuple[tuple[str, str, str], ...]
    more: tuple[str, ...]
    notes: tuple[str, ...]
    stale: tuple[str, ...]


def view(one: Calibration, stale: Sequence[str] = ()) -> CalibrationView:
    """Everything that is known of one metric's judge."""
    verdict, tone = VERDICTS[one.verdict]
    return CalibrationView(
        metric=one.metric,
        what="verdict" if one.by_target else "answer",
        sentence=one.sentence,
        verdict=verdict,
        tone=tone,
        certainty=_certainty(one),
        head=tuple(_head(one)),
        agreement=(
            _figure("Agreement", one.agreement, bars=True),
            _figure("Cohen’s kappa", one.kappa, low=-1.0),
            _figure("Sensitivity: failures that it finds (TPR)", one.sensitivity),
            _figure("Specificity: good ones that it lets pass (TNR)", one.specificity),
        ),
        rates=(
            _figure("Failure rate, corrected by people", one.corrected_rate),
            _figure("Failure rate, judge alone", one.raw_rate),
            _figure("Failure rate, labels alone", one.human_rate),
            *((_figure("Mean grade, corrected by people", one.graded_mean),) if one.graded_mean else ()),
        ),
        table=dict(one.table),
        dominant=one.dominant.said[:1].upper() + one.dominant.said[1:] + ".",
        rows=one.disagreements[:N_ROWS],
        n_left_out=max(0, len(one.disagreements) - N_ROWS),
        tags=tuple((name, _tag(part)) for name, part in list(one.tags.items())[:N_TAGS]),
        bias=tuple(_bias(one)),
        more=tuple(_more(one)),
        notes=one.notes,
        stale=tuple(stale),
    )


def _figure(name: str, estimate: Estimate | None, *, bars: bool = False, low: float = 0.0) -> Figure:
    if estimate is None:
        return Figure(name, "—", "—", "—", None, bars, f"{name}: not known")
    low_end, high_end = estimate.low, estimate.high
    inside = "no interval" if low_end is None or high_end is None else f"{low_end:z.3f} – {high_end:z.3f}"
    words = f"{name} {number(estimate.value)}, {inside}"
    if bars:
        words += f"; bars at {percent(USABLE)} (usable unattended) and {percent(RETUNE)} (retune below)"
    return Figure(name, f"{estimate.value:z.3f}", inside, str(estimate.n), track(estimate, low, 1.0), bars, words)


def _certainty(one: Calibration) -> str:
    said = (
        f"At least {percent(one.agreement_at_least)} agreement with 95 % confidence; {percent(USABLE)} is usable "
        f"unattended, {percent(TARGET)} the target, below {percent(RETUNE)} retune."
    )
    if one.verdict == "provisional" and one.n_more_to_certify:
        said += f" {labels_to_certify(one.n_more_to_certify)}"
    return said


def _head(one: Calibration) -> list[tuple[str, str]]:
    what = "verdict" if one.by_target else "answer"
    lines = [
        ("Failing", one.rule),
        ("Judge", one.judge or "none"),
        ("Labels", f"{one.n_labels} of {count(one.n_units, 'judged ' + what)}"),
    ]
    if one.n_unscored:
        lines.append(("Not judged", f"{one.n_unscored}, in none of these rates"))
    lines += [("Left out", f"{n} {why}") for why, n in one.excluded.items()]
    if one.between_people:
        alpha = one.between_people.get("alpha")
        said = f"agree on {percent(float(one.between_people['agreement']))} of {one.between_people['n_twice']}"
        said += " labelled twice" + (f" (Krippendorff’s alpha {number(float(alpha))})" if alpha is not None else "")
        lines.append(("People", said))
    if one.labels_worth is not None:
        lines.append(("With the judge", f"{one.n_labels} labels are worth {one.labels_worth:.0f}"))
    return lines


def _tag(part: Slice) -> tuple[str, ...]:
    """labels, agreement, sensitivity, specificity, judge alone, corrected."""
    rate = part.corrected_rate
    return (
        str(part.n_labels),
        number(part.agreement.value, 2),
        number(part.sensitivity.value if part.sensitivity else None, 2),
        number(part.specificity.value if part.specificity else None, 2),
        number(part.raw_rate.value if part.raw_rate else None, 2),
        "too few labels" if rate is None else f"{number(rate.low, 2)} – {number(rate.high, 2)}",
    )


def _bias(one: Calibration) -> list[tuple[str, str, str]]:
    """(name, what was found, tone)."""
    found = []
    for check in one.bias:
        name = check.name.replace("_", " ")
        if not check.measurable:
            found.append((name, f"cannot be checked: {check.why}", "dim"))
            continue
        inside = "" if check.low is None else f" ({number(check.low)} – {number(check.high)})"
        said = f"{check.verdict}; {check.unit} {number(check.effect)}{inside}, p = {number(check.p_adjusted)} (Holm)"
        found.append((name, said, "" if check.verdict == "not shown" else "below"))
    return found


def _more(one: Calibration) -> list[str]:
    said = []
    if one.n_more and one.corrected_rate is None:
        said.append(f"{count(one.n_more, 'more label')} are needed before the rate can be corrected at all.")
    elif one.n_more:
        said.append(f"{count(one.n_more, 'more label')} would bring the corrected rate to about ± 5 points.")
    if one.recheck is not None:
        check = one.recheck
        said.append(
            f"Checked again: on {count(check.n_shared, 'answer')} shared with {check.earlier_run} the judge agreed "
            f"with people on {percent(check.earlier_agreement)} before and on {percent(check.agreement)} now "
            f"(p = {number(check.p)})."
        )
    if one.by_target:
        said.append("Claims of one answer are not independent of each other: these intervals are a little too narrow.")
    return said


@dataclass(frozen=True)
class Line:
    """One calibration in the list of all: of which run, what it says."""

    run: str
    metric: str
    judge: str
    n_labels: int
    agreement: Figure
    kappa: str
    verdict: str
    tone: str
    stale: tuple[str, ...]


def line(one: Calibration, stale: Sequence[str]) -> Line:
    """One line of the list."""
    verdict, tone = VERDICTS[one.verdict]
    kappa = number(one.kappa.value) if one.kappa else "—"
    agreement = _figure("Agreement", one.agreement, bars=True)
    return Line(one.run, one.metric, one.judge or "none", one.n_labels, agreement, kappa, verdict, tone, tuple(stale))
