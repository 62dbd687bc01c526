"""`ragauge report RUN`: a page for people, numbers for Prometheus, messages for Slack and others."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import click

#: What a gate's verdict is as a number.
_GATE = {"pass": 1.0, "fail": 0.0, "inconclusive": -1.0}


@click.command("report")
@click.argument("run", required=False)
@click.option(
    "--runs", "base", type=click.Path(path_type=Path, file_okay=False), default=Path("runs"), show_default=True,
    help="Where run names are looked up.",
)  # fmt: skip
@click.option("--out", type=click.Path(path_type=Path, dir_okay=False), help="The HTML file.")
@click.option("--compare", "other", metavar="OTHER", help="Also show how the page's run differs from this one.")
@click.option(
    "--earlier", type=click.IntRange(0), default=20, show_default=True,
    help="Also show the course over at most so many earlier runs of this golden set beside it.",
)  # fmt: skip
@click.option("--prometheus", type=click.Path(path_type=Path, dir_okay=False), help="A text file for Prometheus.")
@click.option(
    "--prometheus-serve", "address", metavar="[HOST:]PORT",
    help="Answer GET /metrics with the newest run of every golden set in the runs folder, until stopped.",
)  # fmt: skip
@click.option(
    "--gate", type=click.Choice(["pass", "fail", "inconclusive"]), help="For Prometheus: what `ragauge gate` said."
)
@click.option("--suite", help="The label `suite` for Prometheus (default: the golden set's name).")
@click.option("--notify", is_flag=True, help="Tell the channels of `alerts:` in ragauge.yaml.")
@click.option(
    "--config", type=click.Path(path_type=Path, dir_okay=False), help="The settings file for --notify (ragauge.yaml)."
)
@click.option("--slack-webhook", "webhook", help="Send a message there. Write it as '${SLACK_WEBHOOK}', in quotes.")
@click.option("--link", help="The address of the report, for the message's button; {run} is the run's name.")
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

    if to["address"] is not None:
        return _serve(to["address"], base)
    telling = to["webhook"] is not None or to["dry_run"] or to["notify"]
    if not telling and (to["link"] is not None or to["again"] or to["config"] is not None):
        raise UsageError("--link, --again and --config belong to --notify or --slack-webhook")
    if to["notify"] and to["webhook"] is not None:
        raise UsageError("--notify tells the channels of the settings file; --slack-webhook one that stands in none")
    how = _how(to) if telling else None
    opened = api.open_run(run, base)
    if out is not None or (prometheus is None and not telling):
        other = api.open_run(to["other"], base) if to["other"] is not None else None
        _page(opened, out or opened.path / "report.html", other, to["earlier"])
    elif to["other"] is not None:
        raise UsageError("--compare belongs to the page", hint="Name the page's file: --out report.html")
    if prometheus is not None:
        _numbers(opened, prometheus, suite, to["gate"])
    if how is None:
        return 0
    return _tell(opened, how, to, alone=out is None and prometheus is None)


def _how(to: dict[str, Any]) -> Any:
    """Who is to be told and how. With --slack-webhook, or nothing but --dry-run: one Slack channel, of every run."""
    from ragauge.cli.telling import Telling, telling_of

    if to["notify"]:
        return telling_of(_settings(to["config"]), to["link"])
    from ragauge.outlets.channels import SlackChannel
    from ragauge.outlets.tell import Policy

    url = "https://hooks.slack.com/" if to["dry_run"] else _address(to["webhook"])
    return Telling((SlackChannel(url),), Policy(everything=True, cooldown_s=0), to["link"], None)


def _settings(given: Path | None) -> Any:
    from ragauge.cli.run import DEFAULT_FILE
    from ragauge.engine.settings import load_settings
    from ragauge.errors import SettingsError

    file = given or (DEFAULT_FILE if DEFAULT_FILE.exists() else None)
    if file is None:
        raise SettingsError("--notify: there is no ragauge.yaml here", hint="Name it with --config FILE.")
    return load_settings(file)


def _address(given: str) -> str:
    from ragauge.engine.settings import fill_variables

    return str(fill_variables(given)).strip()


def _course(run: Any, n_earlier: int) -> list[Any]:
    """This run and those before it beside it, of the same golden set, as (manifest, summary)."""
    from ragauge.analysis.summarise import summarise
    from ragauge.errors import RagaugeError
    from ragauge.store.rundir import RunDir, list_runs

    found: list[Any] = []
    for path in reversed(list_runs(run.path.parent) if n_earlier else []):
        if len(found) == n_earlier:
            break
        try:
            one = RunDir.open(path)
            manifest = one.manifest
            before = (manifest.created, manifest.run) < (run.manifest.created, run.manifest.run)
            if before and manifest.dataset.name == run.manifest.dataset.name:
                found.append((manifest, one.saved_summary() or summarise(manifest, one.records())))
        except RagaugeError as error:  # a damaged run beside this one is no reason to have no page
            click.echo(f"{path} is left out of the course: {error.message}", err=True)
    return [(run.manifest, run.summary), *found]


def _page(run: Any, out: Path, other: Any = None, n_earlier: int = 0) -> None:
    from ragauge import api
    from ragauge.diagnose.counterfactuals import read_counterfactuals
    from ragauge.report.html import html_parts
    from ragauge.store.tables import write_whole

    comparison: Any = api.compare(other, run) if other is not None else None
    runs = _course(run, n_earlier)

    def write(handle: Any) -> None:
        for part in html_parts(run.manifest, run.rows, read_counterfactuals(run.path), comparison, runs):
            handle.write(part.encode("utf-8", "replace"))

    write_whole(out, write)
    click.echo(f"{out}: {out.stat().st_size / 1000:.0f} kB", err=True)


def _serve(address: str, base: Path) -> int:
    from ragauge.errors import UsageError
    from ragauge.outlets.prometheus_server import RunFolder, serve

    host, _, port = address.rpartition(":")
    if not port.isascii() or not port.isdigit():
        raise UsageError(f"--prometheus-serve {address!r}: write it as PORT or HOST:PORT", hint="127.0.0.1:9464")
    server = serve(RunFolder(base), host.strip("[]") or "127.0.0.1", int(port))
    click.echo(f"http://{server.server_address[0]!s}:{server.server_port}/metrics (Ctrl-C ends it)", err=True)
    with server:
        try:
            server.serve_forever()
        except KeyboardInterrupt:
            click.echo("ended", err=True)
    return 0


def _numbers(run: Any, out: Path, suite: str | None, gate: str | None) -> None:
    from ragauge.outlets.prometheus import prometheus_text
    from ragauge.store.tables import write_whole

    text = prometheus_text(run.manifest, run.summary, suite=suite, gate=_GATE.get(gate or ""))

    def write(handle: Any) -> None:
        handle.write(text.encode())

    write_whole(out, write)
    click.echo(f"{out}: {sum(not line.startswith('#') for line in text.splitlines())} series", err=True)


def _tell(run: Any, how: Any, to: dict[str, Any], *, alone: bool) -> int:
    from ragauge.cli.common import emit_json
    from ragauge.cli.telling import document, say

    if to["dry_run"]:
        alert, found = how.preview(run, again=to["again"])
        emit_json(document(alert, found).model_dump(mode="json") if to["notify"] else how.channels[0].render(alert))
        return 0
    told = how.tell(run, again=to["again"])
    say(told)
    sys.stderr.flush()
    return 3 if alone and any(one.outcome == "failed" for one in told) else 0
