"""`ragauge gate RUN`: may this be merged? Exit 0 yes, 1 no, 2 wrong usage, 3 it could not be judged."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ragauge.cli.common import emit_json, json_option

if TYPE_CHECKING:
    from ragauge.analysis.baseline import Baseline
    from ragauge.analysis.gate_settings import GateSettings

#: Where settings are read from when nothing is named.
SETTINGS = Path("ragauge.yaml")


@click.command("gate")
@click.argument("run", required=False)
@click.option("--baseline", "baseline_path", type=click.Path(path_type=Path), help="A baseline file, or a run.")
@click.option("--config", "settings", type=click.Path(path_type=Path), help="Settings file (default ragauge.yaml).")
@click.option(
    "--runs", "base", type=click.Path(path_type=Path, file_okay=False), default=Path("runs"), show_default=True,
    help="Where run names are looked up.",
)  # fmt: skip
@click.option("--floor", "floors", multiple=True, metavar="METRIC=VALUE", help="Least mean (most, if lower is better).")
@click.option("--thresholds", "use_thresholds", is_flag=True, help="The run's own thresholds are the floors.")
@click.option("--max-drop", type=float, help="How far any metric may fall below the baseline (default 0.03).")
@click.option("--rule", type=click.Choice(["confidence", "point"]), help="How drops are decided (default confidence).")
@click.option("--metric", "metrics", multiple=True, help="Compare only this metric with the baseline (repeatable).")
@click.option("--skip", multiple=True, help="Do not compare this metric with the baseline (repeatable).")
@click.option("--pass-rate", type=float, help="Least share of questions that pass all their own checks.")
@click.option("--max-error-share", type=float, help="Most scores of a metric that may be missing (default 0.05).")
@click.option("--max-cost", type=float, help="Most US dollars that the run may have cost.")
@click.option(
    "--max-latency", multiple=True, metavar="NAME=MS", help="Ceiling, for example total_p95=800 (repeatable)."
)
@click.option("--max-baseline-age", type=float, help="Days after which the baseline is stale.")
@click.option("--min-questions", type=int, help="Fewer than this decide nothing (default 10).")
@click.option("--allow-inconclusive", is_flag=True, help="Exit 0 where it would be 3, with the warning still printed.")
@click.option("--junit", type=click.Path(path_type=Path, dir_okay=False), help="Write JUnit XML here.")
@click.option("--junit-questions", is_flag=True, help="With a test case for each question in it.")
@click.option(
    "--markdown", type=click.Path(path_type=Path, dir_okay=False), help="Write a summary for a pull request here."
)
@json_option
def command(run: str | None, base: Path, as_json: bool, **flags: Any) -> int:
    """Judge RUN (default: the newest) against floors, a baseline and ceilings.

    Exit codes: 0 pass, 1 fail, 2 wrong usage or settings, 3 it could not be judged (too few questions, too many
    errors, a baseline that does not fit). Nothing is green by default.
    """
    from ragauge.analysis.gate import gate
    from ragauge.report import gate as report
    from ragauge.store.rundir import find_run

    settings = _settings(flags)
    opened = find_run(run, base)
    baseline = _baseline(flags, settings, base)
    result = gate(opened.manifest, opened.records, settings, baseline)
    if flags["junit"] is not None:
        from ragauge.report.junit import junit

        _write(flags["junit"], lambda: junit(result, questions=flags["junit_questions"]))
    if flags["markdown"] is not None:
        _write(flags["markdown"], lambda: report.as_markdown(result))
    if as_json:
        emit_json(report.document(result, opened.path).model_dump(mode="json"))
    else:
        from ragauge.report.terminal import stdout_console

        stdout_console().print(report.terminal(result))
    if result.verdict == "inconclusive" and flags["allow_inconclusive"]:
        click.echo("warning: the gate could not judge everything; passed on request (--allow-inconclusive)", err=True)
        return 0
    return report.EXIT[result.verdict]


def _settings(flags: dict[str, Any]) -> GateSettings:
    """The `gate` section of the settings file, with the flags over it."""
    from ragauge.analysis.gate_settings import gate_settings
    from ragauge.engine.settings import load_settings

    path: Path | None = flags["settings"] or (SETTINGS if SETTINGS.is_file() else None)
    section = load_settings(path).gate if path is not None else {}
    if isinstance(section.get("baseline"), str) and path is not None:
        section = {**section, "baseline": str(path.resolve().parent / section["baseline"])}
    return gate_settings(section, _overrides(flags))


def _overrides(flags: dict[str, Any]) -> dict[str, Any]:
    over: dict[str, Any] = {}
    if flags["use_thresholds"]:
        over["floors"] = "thresholds"
    if flags["floors"]:
        over["floors"] = _numbers(flags["floors"], "--floor")
    drop = {"margin": flags["max_drop"], "rule": flags["rule"], "metrics": flags["metrics"], "skip": flags["skip"]}
    drop = {name: value for name, value in drop.items() if value not in (None, ())}
    if drop:
        over["drop"] = drop
    if flags["pass_rate"] is not None:
        over["pass_rate"] = {"min": flags["pass_rate"]}
    if flags["max_latency"]:
        over["max_latency_ms"] = _numbers(flags["max_latency"], "--max-latency")
    for flag, name in (
        ("max_error_share", "max_error_share"),
        ("max_cost", "max_cost_usd"),
        ("max_baseline_age", "max_baseline_age_days"),
        ("min_questions", "min_questions"),
    ):
        if flags[flag] is not None:
            over[name] = flags[flag]
    return over


def _numbers(pairs: tuple[str, ...], flag: str) -> dict[str, float]:
    from ragauge.errors import SettingsError

    found = {}
    for pair in pairs:
        name, equals, value = pair.partition("=")
        try:
            found[name.strip()] = float(value)
        except ValueError:
            equals = ""
        if not equals or not name.strip():
            raise SettingsError(f"{flag} {pair!r}: write it as NAME=NUMBER", hint=f"{flag} faithfulness=0.9")
    return found


def _baseline(flags: dict[str, Any], settings: GateSettings, base: Path) -> Baseline | None:
    """A baseline file; a run directory or a run's name will do too."""
    from ragauge.analysis.baseline import make_baseline, read_baseline
    from ragauge.store.rundir import MANIFEST, RunDir, find_run

    path: Path | None = flags["baseline_path"] or (Path(settings.baseline) if settings.baseline else None)
    if path is None:
        return None
    if path.is_file():
        return read_baseline(path)
    if (path / MANIFEST).is_file():
        run = RunDir.open(path)
        return make_baseline(run.manifest, run.records())
    if len(path.parts) == 1 and not path.suffix and base.is_dir():
        run = find_run(str(path), base)
        return make_baseline(run.manifest, run.records())
    return read_baseline(path)  # says that there is none, and how to write one


def _write(path: Path, text: Callable[[], str]) -> None:
    from ragauge.errors import StoreError

    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text(), encoding="utf-8", newline="\n")
    except OSError as error:
        raise StoreError(f"cannot write {path}: {error.strerror or error}") from error
