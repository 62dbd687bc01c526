"""`ragauge monitor sample | judge | report | rows`: draw, judge, and read what came of it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from ragauge.cli.common import emit_json, json_option
from ragauge.cli.judging import judge_options
from ragauge.cli.monitoring import (
    Monitored,
    chosen_days,
    golden_questions,
    log_options,
    open_monitored,
    parse_day,
    today,
)

_days = click.option(
    "--days", type=click.IntRange(1, 3650), default=7, show_default=True, help="The last N complete days."
)
_day = click.option("--day", metavar="DAY", help="One day instead: 2026-01-31, yesterday, today.")


@click.command("sample")
@log_options
@_day
@_days
@click.option("--n", type=click.IntRange(1), help="How many answers a day are judged (default 200).")
@click.option("--share", type=click.FloatRange(0, 1, min_open=True), help="A share of the day instead (0.01 – 0.05).")
@click.option("--golden", type=click.Path(path_type=Path), help="The golden set that questions are held against.")
@click.option("--embedder", help="What compares questions (default: the embedded one).")
@click.option("--no-questions", is_flag=True, help="Draw only: no topics, no drift.")
@click.option("--seed", type=int, help="Seed of the draw.")
@click.option("--again", is_flag=True, help="Draw anew where there is a draw already.")
@json_option
def sample(day: str | None, days: int, n: int | None, share: float | None, **options: Any) -> int:
    """Draw which answers of a day are judged, and look at its questions: topics, and drift from the golden set.

    Stratified by feedback, abstention, score and topic with known probabilities; every thumbs down is in. A draw that
    is there stays as it is.
    """
    from ragauge.errors import SettingsError
    from ragauge.monitor.sampling import SampledDay, SampleDocument
    from ragauge.monitor.working import Plan, sample_day

    if n is not None and share is not None:
        raise SettingsError("--n and --share: give one of them")
    opened = open_monitored(options)
    given = dict(opened.section.get("sample") or {})
    plan = Plan(
        n=n or given.get("n", 200),
        share=share if share is not None else None if n else given.get("share"),
        seed=options["seed"] if options["seed"] is not None else given.get("seed", 0),
        project=opened.monitor.project,
    )
    chosen = chosen_days(opened, day, days)
    questions = None if options["no_questions"] or not chosen else _questions(opened, options, chosen[-1], plan)
    drawn = []
    for one in chosen:
        made = sample_day(opened.log, opened.space, one, plan, questions, again=options["again"])
        drawn.append(made)
        if not options["as_json"]:
            late = sum(d.probability is None for d in made.drawn)
            more = f", {late} late thumbs down" if late else ""
            click.echo(f"{made.day}: {len(made.drawn) - late} of {made.n_queries} drawn{more}")
            for note in made.notes:
                click.echo(f"  note: {note}")
    if options["as_json"]:
        document = SampleDocument(days=tuple(SampledDay.of_sample(made) for made in drawn))
        emit_json(document.model_dump(mode="json"))
    elif not chosen:
        click.echo("No complete day has queries; `--day today` takes what there is.", err=True)
    return 0


def _questions(opened: Monitored, options: dict[str, Any], newest: Any, plan: Any) -> Any:
    from ragauge.embeddings.loading import DEFAULT, load
    from ragauge.monitor.working import FEWEST_QUESTIONS, Questions

    embedder = load(options["embedder"] or opened.section.get("embedder") or DEFAULT)
    found = Questions.of(embedder, golden_questions(opened, options["golden"]))
    if not found.ready(opened.log, opened.space, newest, project=plan.project):
        click.echo(f"fewer than {FEWEST_QUESTIONS} questions so far: no topics yet", err=True)
        return None
    if found.golden.questions and found.golden.limit is None:
        click.echo("the golden set has fewer than 20 questions: drift cannot be measured", err=True)
    return found


@click.command("judge")
@log_options
@_day
@_days
@judge_options
@click.option("--metrics", help="Comma-separated metric names instead of the default ones.")
@click.option("--again", is_flag=True, help="Judge a day anew that is judged already (another judge).")
@click.option("--retry-errors", is_flag=True, help="Also judge again where there was an error.")
@click.option("--quiet", "-q", is_flag=True, help="No progress.")
@json_option
def judge(day: str | None, days: int, **options: Any) -> int:
    """Judge the drawn answers that are not judged yet. Stops cleanly at the budget; the next call goes on.

    Each day becomes an ordinary run under LOG/monitor/judged: `ragauge show`, `diagnose` and `review add` read it.
    Ends with 3 when the budget ended it early.
    """
    from ragauge import api
    from ragauge.api.shown import shown_settings
    from ragauge.cli.judging import judge_overrides, print_forecast
    from ragauge.cli.run import DEFAULT_FILE, split
    from ragauge.cli.watch import TerminalWatcher
    from ragauge.engine.forecast import forecast_samples
    from ragauge.engine.run import run_blocking
    from ragauge.errors import InputError
    from ragauge.monitor.documents import DayForecast, JudgedDay, JudgeDocument
    from ragauge.monitor.judged import METRICS, Samples, judge_day, missing

    file = options["config"] or (DEFAULT_FILE if DEFAULT_FILE.exists() else None)
    overrides: dict[str, Any] = dict(judge_overrides(file, options))
    opened = open_monitored(options, overrides)
    wanted = split(options["metrics"]) if options["metrics"] else opened.section.get("metrics") or list(METRICS)
    settings = opened.settings.model_copy(update={"metrics": wanted})
    chosen = [one.isoformat() for one in chosen_days(opened, day, days)]
    samples = [found for name in chosen if (found := opened.space.sample(name)) is not None]
    if not samples:
        raise InputError("no day is sampled", found=str(opened.space.root), hint="First: ragauge monitor sample")
    results: list[JudgedDay | DayForecast] = []
    for one in samples:
        made = api.make_options(
            settings, Path(), "score", "log", retry_errors=options["retry_errors"],
            shown_settings=shown_settings(settings), dry=options["dry_run"],
        )  # fmt: skip
        if options["dry_run"]:
            left = missing(opened.space, one)
            if left:
                forecast = run_blocking(forecast_samples(Samples(opened.log, one), made))
                figures = forecast.figures()
                results.append(DayForecast(day=one.day, left=left, drawn=len(one.drawn), forecast=figures))
                if not options["as_json"]:
                    click.echo(
                        f"{one.day}, {left} of {len(one.drawn)} not judged yet; all {len(one.drawn)} would cost:"
                    )
                    print_forecast(forecast, as_json=False)
            continue
        watcher = TerminalWatcher(quiet=options["quiet"] or options["as_json"])
        try:
            runs = judge_day(opened.log, opened.space, one, made, watcher, again=options["again"])
        finally:
            watcher.close()
        spent = next((r.progress.spent for r in runs if r.progress.spent is not None), None)
        left = missing(opened.space, one)
        made_runs = tuple(str(r.run.path) for r in runs)
        results.append(JudgedDay(day=one.day, drawn=len(one.drawn), left=left, runs=made_runs))
        if not options["as_json"]:
            click.echo(f"{one.day}: {len(one.drawn) - left} of {len(one.drawn)} judged" + ("" if runs else " already"))
        if spent is not None:
            click.echo(f"ended early: {spent}. The next call goes on from here.", err=True)
            if options["as_json"]:
                emit_json(JudgeDocument(days=tuple(results), ended_early=spent).model_dump(mode="json"))
            return 3
    if options["dry_run"] and not results and not options["as_json"]:
        click.echo("Everything that is drawn is judged.")
    if options["as_json"]:
        emit_json(JudgeDocument(days=tuple(results), ended_early=None).model_dump(mode="json"))
    return 0


@click.command("report")
@log_options
@click.option("--days", type=click.IntRange(1, 3650), default=30, show_default=True)
@click.option("--until", metavar="DAY", help="The last day (default: today, which is not complete).")
@click.option("--html", type=click.Path(path_type=Path, dir_okay=False), help="Write one HTML page.")
@click.option("--prometheus", type=click.Path(path_type=Path, dir_okay=False), help="Write a Prometheus text file.")
@click.option("--untested/--no-untested", default=True, help="Group questions that are unlike the golden set.")
@json_option
def report(
    days: int, until: str | None, html: Path | None, prometheus: Path | None, untested: bool, **options: Any
) -> int:
    """Show production day by day: figures with intervals, alerts, the bottleneck, topics and what is never tested.

    With --html or --prometheus only the files are written.
    """
    from ragauge.monitor.report import build_report

    opened = open_monitored(options)
    encode = None
    if untested and (opened.space.root / "topics.json").exists():
        from ragauge.embeddings.loading import DEFAULT, load

        encode = load(opened.section.get("embedder") or DEFAULT).encode
    built = build_report(
        opened.log, days, settings=opened.monitor, until=parse_day(until) if until else None, today=today(),
        encode=encode, space=opened.space,
    )  # fmt: skip
    _write_files(built, opened.name, html, prometheus)
    if options["as_json"]:
        emit_json(built.model_dump(mode="json"))
    elif html is None and prometheus is None:
        from ragauge.monitor.report_terminal import terminal
        from ragauge.report.terminal import stdout_console

        stdout_console().print(terminal(built))
    return 0


def _write_files(built: Any, name: str, html: Path | None, prometheus: Path | None) -> None:
    from ragauge.store.tables import write_whole

    texts: dict[Path, str] = {}
    if html is not None:
        from ragauge.monitor.report_html import html_page

        texts[html] = html_page(built)
    if prometheus is not None:
        from ragauge.monitor.prometheus import monitor_text

        texts[prometheus] = monitor_text(built, name)
    for path, text in texts.items():

        def write(handle: Any, data: bytes = text.encode("utf-8", "replace")) -> None:
            handle.write(data)

        write_whole(path, write)
        click.echo(f"{path}: {path.stat().st_size / 1000:.0f} kB", err=True)


@click.command("rows")
@log_options
@click.option("--day", default="yesterday", show_default=True, metavar="DAY")
@click.option("--limit", type=click.IntRange(1), default=20, show_default=True, help="The N worst ones.")
@json_option
def rows(day: str, limit: int, **options: Any) -> int:
    """Show a day's judged answers, those with the most low scores first."""
    from ragauge.monitor.report import SampledRows, sampled_rows

    opened = open_monitored(options)
    name = parse_day(day).isoformat()
    found = sampled_rows(opened.log, name, settings=opened.monitor, limit=limit, space=opened.space)
    if options["as_json"]:
        emit_json(SampledRows(day=name, rows=tuple(found)).model_dump(mode="json"))
        return 0
    from ragauge.cli.common import printable

    for row in found:
        scores = " ".join(f"{key}={value:.2f}{'!' if key in row.low else ''}" for key, value in row.scores.items())
        thumb = {"down": " 👎", "up": " 👍", None: ""}[row.feedback]
        click.echo(
            printable(f"{row.id}{thumb}  {' '.join((row.question or '').split())[:100]}\n    {scores or 'not judged'}")
        )
    if not found:
        click.echo(f"{name} is not sampled.", err=True)
    return 0


COMMANDS = (sample, judge, report, rows)
