"""`ragauge report RUN`: a page for people, numbers for Prometheus, a message for Slack."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import click


@click.command("report")
@click.argument("run", required=False)
@click.option(
    "--runs", "base", type=click.Path(path_type=Path, file_okay=False), default=Path("runs"), show_default=True,
    help="Where run names are looked up.",
)  # fmt: skip
@click.option("--out", type=click.Path(path_type=Path, dir_okay=False), help="The HTML file.")
@click.option("--compare", "other", metavar="OTHER", help="Also show how the page's run differs from this one.")
@click.option("--prometheus", type=click.Path(path_type=Path, dir_okay=False), help="A text file for Prometheus.")
@click.option("--suite", help="The label `suite` for Prometheus (default: the golden set's name).")
@click.option("--slack-webhook", "webhook", help="Send a message there. Write it as '${SLACK_WEBHOOK}', in quotes.")
@click.option("--link", help="The address of the report, for the message's button.")
@click.option("--again", is_flag=True, help="Send the message although this channel was told of this run.")
@click.option("--dry-run", is_flag=True, help="Print the message as JSON and send nothing.")
def command(
    run: str | None, base: Path, out: Path | None, prometheus: Path | None, suite: str | None, **to: Any
) -> int:
    """Write a run (default: the newest) as one HTML file that opens from disk and fetches nothing.

    Without any option the page is written into the run directory. Files appear whole or not at all. A message that
    cannot be sent is told of; it fails the command (exit 3) only when sending is all that was asked for.
    """
    from ragauge import api
    from ragauge.errors import UsageError

    telling = to["webhook"] is not None or to["dry_run"]
    if not telling and (to["link"] is not None or to["again"]):
        raise UsageError("--link and --again belong to --slack-webhook")
    url = _address(to["webhook"]) if to["webhook"] is not None and not to["dry_run"] else None
    opened = api.open_run(run, base)
    if out is not None or (prometheus is None and not telling):
        other = api.open_run(to["other"], base) if to["other"] is not None else None
        _page(opened, out or opened.path / "report.html", other)
    elif to["other"] is not None:
        raise UsageError("--compare belongs to the page", hint="Name the page's file: --out report.html")
    if prometheus is not None:
        _numbers(opened, prometheus, suite)
    if not telling:
        return 0
    return _tell(opened, url, to["link"], again=to["again"], alone=out is None and prometheus is None)


def _address(given: str) -> str:
    from ragauge.engine.settings import fill_variables
    from ragauge.outlets.notify import check_address

    url = str(fill_variables(given)).strip()
    check_address(url)
    return url


def _page(run: Any, out: Path, other: Any = None) -> None:
    from ragauge import api
    from ragauge.diagnose.counterfactuals import read_counterfactuals
    from ragauge.report.html import html_parts
    from ragauge.store.tables import write_whole

    comparison: Any = api.compare(other, run) if other is not None else None

    def write(handle: Any) -> None:
        for part in html_parts(run.manifest, run.rows, read_counterfactuals(run.path), comparison):
            handle.write(part.encode("utf-8", "replace"))

    write_whole(out, write)
    click.echo(f"{out}: {out.stat().st_size / 1000:.0f} kB", err=True)


def _numbers(run: Any, out: Path, suite: str | None) -> None:
    from ragauge.outlets.prometheus import prometheus_text
    from ragauge.store.tables import write_whole

    text = prometheus_text(run.manifest, run.summary, suite=suite)

    def write(handle: Any) -> None:
        handle.write(text.encode())

    write_whole(out, write)
    click.echo(f"{out}: {sum(not line.startswith('#') for line in text.splitlines())} series", err=True)


def _tell(run: Any, url: str | None, link: str | None, *, again: bool, alone: bool) -> int:
    from ragauge.cli.common import emit_json, printable
    from ragauge.outlets.notify import notify
    from ragauge.outlets.slack import message

    found = message(run.manifest, run.summary, *_rows(run), link)
    if url is None:
        emit_json(found)
        return 0
    sent = notify(url, found, run.path, run.manifest.run, again=again)
    if sent.outcome == "already sent":
        click.echo("Slack: this channel was told of this run before; --again tells it again.", err=True)
    else:
        why = f": {printable(sent.why)}" if sent.why else ""
        tries = f" after {sent.n_tries} tries" if sent.n_tries > 1 else ""
        click.echo(f"Slack: {'message sent' if sent.outcome == 'sent' else 'NOT sent'}{tries}{why}", err=True)
    sys.stderr.flush()
    return 3 if sent.outcome == "failed" and alone else 0


def _rows(run: Any) -> tuple[dict[str, int], dict[str, str]]:
    """How many rows are good, bad, unknown, as the page counts them; the questions of the worst rows."""
    from ragauge.analysis.thresholds import Thresholds
    from ragauge.diagnose.counterfactuals import read_counterfactuals
    from ragauge.diagnose.diagnosis import diagnose_rows
    from ragauge.report.html_view import row_check

    thresholds = Thresholds.model_validate(run.manifest.thresholds) if run.manifest.thresholds else Thresholds()
    found = diagnose_rows(run.manifest, run.rows, read_counterfactuals(run.path))
    causes = {(row.id, row.repeat): row for row in found.rows}
    worst = {item for result in run.summary.metrics.values() for item in result.worst}
    outcomes = {"good": 0, "bad": 0, "unknown": 0}
    questions: dict[str, str] = {}
    for record in run.rows():
        outcomes[row_check(record, thresholds, causes.get(record.key)).outcome] += 1
        if record.sample.item.id in worst:
            questions[record.sample.item.id] = record.sample.item.question
    return outcomes, questions
