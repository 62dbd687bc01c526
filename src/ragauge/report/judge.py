"""What `ragauge judge` prints: the self-test, and agreement with people's labels."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from rich.console import Group
from rich.table import Table
from rich.text import Text

from ragauge.analysis.agreement import Agreement
from ragauge.core.judge import JudgeInfo
from ragauge.core.model import Model
from ragauge.core.run import Estimate
from ragauge.core.selfcheck import CaseResult
from ragauge.text.normalise import display

_FIGURES = ("auroc", "balanced_accuracy", "f1", "kappa", "calibration_error")


@dataclass(frozen=True)
class BenchLine:
    """One set: agreement (None when nothing could be judged), speed, cost, what could not be judged."""

    name: str
    task: str
    n_asked: int
    agreement: Agreement | None
    unscored: Mapping[str, int]
    claims_per_s: float | None
    latency_s: float | None
    calls: int
    cost_usd: float | None
    trained_on: bool


class Bounds(Model):
    """The 95 % interval of a figure; null where none can be given."""

    low: float | None
    high: float | None


class BenchSet(Model):
    """One labelled set: `n` of `n_asked` rows were judged (`unscored` says why the others were not), `n_positive` of
    them have label 1. A figure is null where it is undefined (one label is missing, nothing was judged).

    `low`/`high` are those of `auroc`; `intervals` has those of every figure. `claims_per_s` of a judge on this machine,
    `latency_s` (median per row), `calls` and `cost_usd` of a model. `trained_on`: the judge was fitted on this set.
    """

    task: str
    n: int
    n_asked: int
    n_positive: int
    auroc: float | None
    low: float | None
    high: float | None
    balanced_accuracy: float | None
    f1: float | None
    kappa: float | None
    calibration_error: float | None
    intervals: dict[str, Bounds | None]
    unscored: dict[str, int]
    claims_per_s: float | None
    latency_s: float | None
    calls: int
    cost_usd: float | None
    trained_on: bool


class BenchMean(Model):
    """The plain means over the `n_sets` sets of one task in which anything was judged."""

    n_sets: int
    auroc: float | None
    balanced_accuracy: float | None
    f1: float | None
    kappa: float | None
    calibration_error: float | None


class BenchDocument(Model):
    """What `ragauge judge bench --json` prints; the schema in the documentation is this one.

    `judge`: its card; `sets`: name of the set → figures; `mean`: task → means over its sets.
    """

    judge: JudgeInfo
    sets: dict[str, BenchSet]
    mean: dict[str, BenchMean]


def bench_document(judge: JudgeInfo, lines: Sequence[BenchLine]) -> BenchDocument:
    """Every set, and per task the plain means over its sets."""
    return BenchDocument(judge=judge, sets={line.name: _set(line) for line in lines}, mean=_means(lines))


def _set(line: BenchLine) -> BenchSet:
    found = line.agreement
    estimates: dict[str, Estimate | None] = {name: getattr(found, name) for name in _FIGURES[:-1]} if found else {}
    auroc = estimates.get("auroc")
    return BenchSet(
        task=line.task, n=found.n if found else 0, n_asked=line.n_asked, n_positive=found.n_positive if found else 0,
        auroc=_value(found, "auroc"), low=auroc.low if auroc else None, high=auroc.high if auroc else None,
        balanced_accuracy=_value(found, "balanced_accuracy"), f1=_value(found, "f1"), kappa=_value(found, "kappa"),
        calibration_error=_value(found, "calibration_error"),
        intervals={name: Bounds(low=one.low, high=one.high) if one else None for name, one in estimates.items()},
        unscored=dict(line.unscored), claims_per_s=line.claims_per_s, latency_s=line.latency_s, calls=line.calls,
        cost_usd=line.cost_usd, trained_on=line.trained_on,
    )  # fmt: skip


def _means(lines: Sequence[BenchLine]) -> dict[str, BenchMean]:
    means: dict[str, BenchMean] = {}
    for task in dict.fromkeys(line.task for line in lines):
        chosen = [line.agreement for line in lines if line.task == task and line.agreement is not None]
        figures: dict[str, float | None] = {}
        for name in _FIGURES:
            values = [value for one in chosen if (value := _value(one, name)) is not None]
            figures[name] = sum(values) / len(values) if values else None
        means[task] = BenchMean.model_validate({"n_sets": len(chosen), **figures})
    return means


def _value(one: Agreement | None, name: str) -> float | None:
    found: Estimate | float | None = getattr(one, name, None)
    return found.value if isinstance(found, Estimate) else found


def bench_terminal(judge: JudgeInfo, lines: Sequence[BenchLine]) -> Group:
    """One line per set, the means per task, and what they do not say."""
    table = Table(box=None, pad_edge=False)
    table.add_column("set")
    table.add_column("task")
    for title in ("n", "AUROC", "balanced accuracy", "F1", "kappa", "calibration error", "claims/s", "latency", "cost"):
        table.add_column(title, justify="right")
    for line in lines:
        found = line.agreement
        cells = [_interval(getattr(found, name)) if found else "–" for name in _FIGURES[:-1]]
        error = found.calibration_error if found else None
        table.add_row(
            Text(display(line.name) + (" *" if line.trained_on else "")), line.task, str(found.n if found else 0),
            *cells,
            _plain(error, ".3f"), _plain(line.claims_per_s, ".0f"), _plain(line.latency_s, ".3f", " s"),
            _plain(line.cost_usd, ".4f", " USD"),
        )  # fmt: skip
    for task, mean in _means(lines).items():
        cells = [_plain(getattr(mean, name), ".3f") for name in _FIGURES]
        table.add_row(Text(f"mean of {mean.n_sets}", style="bold"), task, "", *cells, "", "", "")
    notes = [f"Judge: {display(judge.name)}. Label 1 is said from a probability of 0.5 on."]
    notes += [
        f"{display(line.name)}: {sum(line.unscored.values())} of {line.n_asked} rows could not be judged "
        f"({', '.join(f'{n} {reason}' for reason, n in line.unscored.items())})."
        for line in lines
        if line.unscored
    ]
    if any(line.trained_on for line in lines):
        notes.append(
            "* The judge's weights were fitted on rows of this set: expect less on text that it has not seen. Figures "
            "with the set left out stand in validation/judges/RESULTS.md."
        )
    notes.append("Intervals: 95 %, whole groups resampled. They do not cover errors of the labels.")
    return Group(table, "", *(Text(note) for note in notes))


def _interval(estimate: Estimate | None) -> str:
    if estimate is None:
        return "–"
    if estimate.low is None or estimate.high is None:
        return f"{estimate.value:.3f}"
    return f"{estimate.value:.3f} ({estimate.low:.3f}–{estimate.high:.3f})"


def _plain(value: float | None, form: str, unit: str = "") -> str:
    return "–" if value is None else f"{value:{form}}{unit}"


class CheckDocument(Model):
    """What `ragauge judge check --json` prints; the schema in the documentation is this one.

    `passed`: no case failed and at least one could be asked; `n_unsupported`: cases that this judge cannot be asked.
    """

    judge: str
    passed: bool
    n_passed: int
    n_failed: int
    n_unsupported: int
    cases: tuple[CaseResult, ...]


def check_document(judge: str, results: Sequence[CaseResult]) -> CheckDocument:
    """The self-test in figures, with every case."""
    n_failed = sum(one.passed is False for one in results)
    n_passed = sum(one.passed is True for one in results)
    return CheckDocument(
        judge=judge, passed=n_failed == 0 and n_passed > 0, n_passed=n_passed, n_failed=n_failed,
        n_unsupported=len(results) - n_passed - n_failed, cases=tuple(results),
    )  # fmt: skip


def check_terminal(judge: str, results: Sequence[CaseResult]) -> Group:
    """Every case with what was expected and what was said."""
    table = Table(box=None, pad_edge=False)
    for title in ("", "case", "expected", "said"):
        table.add_column(title)
    marks = {True: ("✓", "green"), False: ("✗", "red"), None: ("·", "yellow")}
    for one in results:
        mark, colour = marks[one.passed]
        table.add_row(Text(mark, style=colour), one.name, one.expected, Text(display(one.got)))
    made = check_document(judge, results)
    said = f"{display(judge)}: {made.n_passed} of {len(results)} cases right, {made.n_failed} wrong"
    if made.n_unsupported:
        said += f", {made.n_unsupported} that it cannot be asked"
    return Group(table, "", Text(said + "."))
