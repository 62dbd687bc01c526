"""What `run`, `demo` and `score` do alike: watch, report, decide the exit code."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import click

from ragauge.cli.common import emit_json


def carry_out(
    make: Callable[[Any], Any],
    *,
    as_json: bool,
    rows: bool,
    quiet: bool,
    after: Callable[[Any], None] | None = None,
) -> int:
    """Make a run with `make(watcher)`, print it, and give the exit code: 0, or 3 when it could not be judged.

    `after`: what follows a run (`cli.afterwards`); it has no say in the exit code.
    """
    from ragauge.cli.watch import TerminalWatcher

    watcher = TerminalWatcher(quiet=quiet)
    try:
        # A system that prints must not get into our one JSON document, nor between the lines of the table.
        with contextlib.redirect_stdout(sys.stderr):
            run = make(watcher)
    finally:
        watcher.close()
    print_run(run, as_json=as_json, rows=rows, after=after)
    return exit_code(run)


def print_run(run: Any, *, as_json: bool, rows: bool, after: Callable[[Any], None] | None = None) -> None:
    """The report on stdout (or one JSON document), the directory last on stderr."""
    from ragauge.report.row_document import row_documents

    note = _calibration(run)
    if as_json:
        document = run.to_dict() | ({"calibration": note} if note else {})
        emit_json(document, row_documents(run.rows()) if rows else None)
    else:
        from ragauge.report.terminal import run_report, stdout_console

        console = stdout_console()
        console.print(run_report(run.path, run.manifest, run.summary, run.diagnosis))
        if note:
            console.print(f"\n{note}", markup=False)
        if rows:
            print_rows(run, console)
    if after is not None:
        sys.stdout.flush()
        with contextlib.redirect_stdout(sys.stderr):
            after(run)
    click.echo(str(run.path), err=True)


def _calibration(run: Any) -> str | None:
    """What people's labels say of this run's judge, and whether that still holds; None where there are none."""
    if not any((run.path / "calibration").glob("*.json")) and not (run.path.parent / "calibration.json").exists():
        return None
    from ragauge.review.calibrating import calibration_note

    return calibration_note(run.path)


def print_rows(run: Any, console: Any) -> None:
    """A ✓/✗ line per row."""
    from ragauge.analysis.thresholds import Thresholds
    from ragauge.diagnose.rootcause import row_check
    from ragauge.report.terminal import row_line

    thresholds = Thresholds.model_validate(run.manifest.thresholds) if run.manifest.thresholds else Thresholds()
    console.print()
    for record in run.rows():
        console.print(row_line(record, row_check(record, thresholds), max(100, console.width)))


def exit_code(run: Any) -> int:
    """3 when a budget ended it early, rows are missing, or nothing at all could be scored."""
    if run.ended_early is not None:
        click.echo(f"The run ended early: {run.ended_early}. Continue with --resume {run.path}", err=True)
        return 3
    if not any(result.estimate is not None for result in run.summary.metrics.values()):
        click.echo("Nothing could be scored; `ragauge show --rows` says why, question by question.", err=True)
        return 3
    return 0


#: What may stand beside --resume: everything else was decided when the run began.
_WITH_RESUME = {
    "resume", "retry_errors", "out", "rows", "quiet", "as_json", "dry_run", "cache", "budget_usd", "budget_calls",
    "prompts", "prices", "executor", "workers",
}  # fmt: skip


def refuse_beside_resume(context: click.Context) -> None:
    """Raise `SettingsError` for flags that contradict the settings of the run that is resumed."""
    from click.core import ParameterSource

    from ragauge.errors import SettingsError

    given = [
        parameter.opts[0]
        for parameter in context.command.params
        if parameter.name not in _WITH_RESUME
        and context.get_parameter_source(parameter.name or "") is ParameterSource.COMMANDLINE
    ]
    if given:
        raise SettingsError(
            f"{', '.join(given)}: a resumed run keeps the settings that it began with",
            hint="Leave them out, or start a new run.",
        )


def restored_settings(manifest: Any) -> Any:
    """The settings of a run, read back from its manifest. Raises `SettingsError` for struck-out secrets."""
    from ragauge.engine.settings import Settings
    from ragauge.errors import SettingsError

    stored = dict(manifest.settings)
    base = stored.pop("base", ".")
    if "***" in str(stored):
        raise SettingsError(
            "a secret was struck out of that run's settings", hint="Write secrets as ${NAME} in ragauge.yaml to resume."
        )
    return Settings(**stored, base=Path(base))


def with_executor(settings: Any, options: Mapping[str, Any]) -> Any:
    """Settings of a run that is resumed, carried out elsewhere where flags say so: rows do not depend on it."""
    from ragauge.engine.settings import RunSettings
    from ragauge.errors import SettingsError

    given = {name: options[name] for name in ("executor", "workers") if options.get(name) is not None}
    if not given:
        return settings
    try:
        run = RunSettings(**settings.run.model_dump() | given)
    except ValueError:
        raise SettingsError(
            f"--executor {given['executor']!r} is none", hint="It is local, ray, ray://auto or ray://HOST:PORT."
        ) from None
    return settings.model_copy(update={"run": run})
