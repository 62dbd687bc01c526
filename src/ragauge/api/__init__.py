"""The library: evaluate, run, open a run. The command line and the notebook call the same functions.

>>> import ragauge                                                                    # doctest: +SKIP
>>> run = ragauge.evaluate("answers.jsonl", metrics=["faithfulness"], judge="embedded")   # doctest: +SKIP
>>> run["faithfulness"].value, run["faithfulness"].low, run["faithfulness"].high      # doctest: +SKIP
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ragauge.analysis.summarise import summarise
from ragauge.analysis.thresholds import Thresholds, resolve_thresholds
from ragauge.core.judge import Judge
from ragauge.core.metric import names_of
from ragauge.core.run import Finding, Manifest, MetricResult, Record, Summary
from ragauge.core.system import System
from ragauge.dataset.golden import GoldenSet, load_golden
from ragauge.dataset.recorded import read_samples
from ragauge.diagnose.matrix import diagnose
from ragauge.engine.forecast import Forecast, forecast_run, forecast_samples
from ragauge.engine.parts import Shared, make_judge, make_system
from ragauge.engine.plan import known_metrics
from ragauge.engine.recipe import Own
from ragauge.engine.run import Made, Options, Silent, Watcher, run_blocking, run_system, score_samples
from ragauge.engine.settings import RunSettings, Settings
from ragauge.errors import RunError, SettingsError, UnknownName, UsageError
from ragauge.registry import load
from ragauge.report.document import run_document
from ragauge.report.words import counts, interval, number
from ragauge.store.rundir import RunDir, find_run

if TYPE_CHECKING:
    import pandas as pd

    from ragauge.analysis.baseline import Baseline
    from ragauge.analysis.compare import Comparison
    from ragauge.analysis.gate_result import GateResult

Metrics = Sequence[str | Mapping[str, Mapping[str, Any]]]


@dataclass(frozen=True)
class Run:
    """A run read back. `run["faithfulness"]` is that metric's result; rows are streamed from disk."""

    directory: RunDir
    summary: Summary
    ended_early: str | None = None

    @property
    def path(self) -> Path:
        """The run's directory."""
        return self.directory.path

    @property
    def manifest(self) -> Manifest:
        """Everything that could have changed the numbers."""
        return self.directory.manifest

    @property
    def diagnosis(self) -> list[Finding]:
        """What is wrong, first things first."""
        return diagnose(self.summary)

    def rows(self) -> Iterator[Record]:
        """Every row, in input order, one at a time."""
        return self.directory.records()

    def __getitem__(self, key: str) -> MetricResult:
        """A metric's result; `recall@5` and `recall` are `recall@5:doc` where nothing else could be meant."""
        results = self.summary.metrics
        found = self._found(key)
        if len(found) != 1:
            raise UnknownName("metric in this run" if not found else "one metric in this run", key, found or results)
        return results[found[0]]

    def _found(self, key: object) -> list[str]:
        results = self.summary.metrics
        return [str(key)] if key in results else [name for name in results if key in names_of(name)]

    def __contains__(self, key: object) -> bool:
        return len(self._found(key)) == 1

    def __iter__(self) -> Iterator[str]:
        return iter(self.summary.metrics)

    def __len__(self) -> int:
        return len(self.summary.metrics)

    def to_dict(self) -> dict[str, Any]:
        """The JSON document that `ragauge show --json` prints."""
        return run_document(self.path, self.manifest, self.summary, self.diagnosis)

    def to_pandas(self) -> pd.DataFrame:
        """One line per row: id, question, answer, for each metric its value (or None) and `METRIC:unscored` (why)."""
        from ragauge.report.frame import frame

        return frame(self.manifest, self.rows())

    def __repr__(self) -> str:
        parts = (f"{key}={number(result.value)}" for key, result in self.summary.metrics.items())
        return f"<Run {self.manifest.run}: {self.summary.n_rows} rows; {', '.join(parts)}>"

    def _repr_html_(self) -> str:
        lines = "".join(_html_line(key, result) for key, result in self.summary.metrics.items())
        head = "".join(f"<th>{name}</th>" for name in ("metric", "value", "95 % interval", "n", "not scored"))
        return f"<p>{escape(self.manifest.run)}</p><table><thead><tr>{head}</tr></thead><tbody>{lines}</tbody></table>"


def _html_line(key: str, result: MetricResult) -> str:
    cells = (key, number(result.value), interval(result.estimate), str(result.n), counts(result.unscored))
    return "<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in cells) + "</tr>"


def evaluate(
    samples: Any = None,
    metrics: Metrics | str | None = None,
    judge: str | Judge | None = "embedded",
    *,
    golden: str | os.PathLike[str] | GoldenSet | None = None,
    system: System | Callable[..., Any] | None = None,
    thresholds: Mapping[str, Any] | None = None,
    out: str | os.PathLike[str] = "runs",
    name: str = "evaluate",
    concurrency: int = 8,
    repeats: int = 1,
    executor: str = "local",
    workers: int | None = None,
    field_map: Mapping[str, str] | None = None,
    watcher: Watcher | None = None,
) -> Run:
    """Score recorded outputs: a file, a list of mappings, a DataFrame or a Hugging Face `Dataset`.

    With `system` (a function of the question, or what `ragauge.testing` and the adapters make) and `golden` instead of
    `samples`, every golden question is asked first, as `ragauge run` does. `metrics`: names, also with commas.
    Works in scripts and notebooks, also while an event loop is running. Raises `UsageError` for input that cannot be
    read, `RunError` when the run could not finish; a sample that cannot be judged is `Unscored`, never an exception.
    `executor`: `local`, `ray`, or `ray://host:port`; `workers`: how many processes there.
    """
    settings = Settings(
        judge=judge if isinstance(judge, str) else None,
        metrics=metric_list(metrics),
        thresholds=dict(thresholds or {}),
        run=_run_settings(concurrency=concurrency, repeats=repeats, executor=executor, workers=workers),
    )
    if (system is None) == (samples is None):
        raise UsageError(
            "evaluate needs what was answered, or a system to ask",
            hint="ragauge.evaluate(records, …), or ragauge.evaluate(golden=FILE, system=my_function, …)",
        )
    options = make_options(settings, Path(out), "evaluate", name, judge=judge)
    if system is not None:
        if golden is None:
            raise UsageError("which questions?", hint="ragauge.evaluate(golden=FILE, system=my_function)")
        return run(golden, system, options, watcher=watcher)
    return score(samples, options, golden=golden, field_map=field_map, watcher=watcher)


def metric_list(metrics: Metrics | str | None) -> list[Any] | None:
    """A list of metrics; `"recall@5, faithfulness"` is two of them."""
    if isinstance(metrics, str):
        return [name.strip() for name in metrics.split(",") if name.strip()]
    return list(metrics) if metrics is not None else None


def score(
    samples: Any,
    options: Options,
    *,
    golden: str | os.PathLike[str] | GoldenSet | None = None,
    field_map: Mapping[str, str] | None = None,
    watcher: Watcher | None = None,
) -> Run:
    """`evaluate` with everything decided."""
    known = load_golden(golden) if isinstance(golden, str | os.PathLike) else golden
    stream = read_samples(samples, field_map=field_map, golden=known)
    made = run_blocking(score_samples(stream, replace(options, expected=known), watcher or Silent()))
    return finish(made)


def run(
    golden: str | os.PathLike[str] | GoldenSet,
    system: System | Callable[..., Any] | None,
    options: Options,
    *,
    watcher: Watcher | None = None,
) -> Run:
    """Ask a system every golden question and score what it answers. `system` None: the one that the settings name."""
    known = golden if isinstance(golden, GoldenSet) else load_golden(golden)
    if system is not None:
        system = _as_system(system, options)
        options = replace(options, own=replace(options.own, system=system))
    made = run_blocking(run_system(known, _as_system(system, options), options, watcher or Silent()))
    return finish(made)


def forecast(
    golden: str | os.PathLike[str] | GoldenSet | None,
    options: Options,
    *,
    samples: Any = None,
    field_map: Mapping[str, str] | None = None,
) -> Forecast:
    """What `run(golden, None, …)`, or with `samples` `score(samples, …)`, would spend; `options` made with dry=True."""
    known = load_golden(golden) if isinstance(golden, str | os.PathLike) else golden
    if samples is not None:
        stream = read_samples(samples, field_map=field_map, golden=known)
        found: Forecast = run_blocking(forecast_samples(stream, options))
        return found
    if known is None:
        raise SettingsError("a forecast needs a golden set or recorded outputs")
    of_run: Forecast = run_blocking(forecast_run(known, options))
    return of_run


def make_options(
    settings: Settings,
    out: Path,
    command: Any,
    name: str,
    *,
    judge: str | Judge | None = None,
    resume: RunDir | None = None,
    retry_errors: bool = False,
    shown_settings: dict[str, Any] | None = None,
    dry: bool = False,
) -> Options:
    """Settings → options: thresholds resolved, judge made. `dry`: models are not asked, only counted (`forecast`)."""
    thresholds = thresholds_of(settings)
    shared = Shared(settings, dry=dry)
    made = judge if judge is not None and not isinstance(judge, str) else make_judge(settings, shared)
    return Options(
        settings=settings,
        thresholds=thresholds.model_dump(mode="json"),
        judge=made,
        out=out,
        command=command,
        resume=resume,
        retry_errors=retry_errors,
        name=name,
        shown_settings=shown_settings,
        shared=shared,
        own=Own(judge=None if judge is None or isinstance(judge, str) else judge),
    )


def thresholds_of(settings: Settings) -> Thresholds:
    """The thresholds of settings. `SettingsError` for unknown metrics and values that none can have."""

    def range_of(name: str) -> tuple[float, float]:
        info = load("metrics", name).info
        return info.low, info.high

    return resolve_thresholds(settings.thresholds, known_metrics(), range_of)


def _run_settings(**given: Any) -> RunSettings:
    from pydantic import ValidationError

    try:
        return RunSettings(**given)
    except ValidationError as error:
        problem = error.errors()[0]
        name = ".".join(map(str, problem["loc"]))
        message = problem["msg"].removeprefix("Value error, ")
        raise SettingsError(f"{name}: {message} (found {problem['input']!r})") from None


def finish(made: Made) -> Run:
    """Summarise a run that was made, and write the summary beside its rows."""
    summary = summarise(made.run.manifest, made.run.records())
    made.run.save_summary(summary)
    return Run(made.run, summary, made.progress.spent)


def open_run(reference: str | os.PathLike[str] | None = None, base: str | os.PathLike[str] = "runs") -> Run:
    """The run that `reference` names (a directory, a name in `base`, a part of one; None: the newest), read back."""
    directory = find_run(os.fspath(reference) if reference is not None else None, Path(base))
    return Run(directory, summarise(directory.manifest, directory.records()))


def _as_system(system: Any, options: Options) -> System:
    if system is None:
        return make_system(options.settings, options.shared)
    if isinstance(system, System):
        return system
    if callable(system):
        from ragauge.systems.callable import from_callable

        return from_callable(system)
    raise SettingsError(f"{system!r} is no system: it has no respond() and cannot be called")


def check_rows_left(made: Run) -> None:
    """Raise `RunError` when a budget ended the run early."""
    if made.ended_early is not None:
        raise RunError(
            f"the run ended early: {made.ended_early}",
            hint=f"Raise the budget, then continue with --resume {made.path}",
        )


def compare(
    base: Run | str | os.PathLike[str],
    *others: Run | str | os.PathLike[str],
    runs: str | os.PathLike[str] = "runs",
    **options: Any,
) -> Comparison | list[Comparison]:
    """Compare runs question by question with `base`: one `Comparison`, or a list of them for several `others`.

    A run is a `Run`, a directory, or a name in `runs`. `options`: level, alpha, smallest, seed, metrics,
    include_changed, by_document (see `analysis.compare.Options`). Raises `UsageError` for fewer than two runs.
    """
    from ragauge.analysis.compare import Options as CompareOptions
    from ragauge.analysis.compare import Source
    from ragauge.analysis.compare import compare as compare_runs

    if not others:
        raise UsageError("compare needs two runs or more", hint="ragauge.compare(base, new)")
    opened = [run if isinstance(run, Run) else open_run(run, runs) for run in (base, *others)]
    sources = [Source(str(run.path), run.manifest, run.rows) for run in opened]
    found = compare_runs(sources[0], sources[1:], CompareOptions(**options))
    return found[0] if len(found) == 1 else found


def gate(
    run: Run | str | os.PathLike[str],
    baseline: Run | Baseline | str | os.PathLike[str] | None = None,
    *,
    runs: str | os.PathLike[str] = "runs",
    **settings: Any,
) -> GateResult:
    """Pass, fail, or could not be judged. `settings` are those of the `gate` section: floors, drop, pass_rate …

    `baseline`: a baseline, its file, or a run. The result's `.verdict` is "pass", "fail" or "inconclusive".
    """
    from ragauge.analysis.baseline import Baseline, make_baseline, read_baseline
    from ragauge.analysis.gate import gate as judge_run
    from ragauge.analysis.gate_settings import gate_settings

    opened = run if isinstance(run, Run) else open_run(run, runs)
    if baseline is not None and not isinstance(baseline, Run | Baseline):
        known = Path(baseline)
        baseline = read_baseline(known) if known.is_file() or known.suffix else open_run(baseline, runs)
    if isinstance(baseline, Run):
        baseline = make_baseline(baseline.manifest, baseline.rows())
    return judge_run(opened.manifest, opened.rows, gate_settings(settings), baseline)


__all__ = ["Run", "compare", "evaluate", "finish", "forecast", "gate", "make_options", "open_run", "run", "score"]
