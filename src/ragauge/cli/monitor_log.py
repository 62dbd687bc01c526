"""`ragauge monitor serve | ingest | compact | prune`: how queries come into the log, and how it is kept."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ragauge.cli.common import emit_json, json_option, printable

if TYPE_CHECKING:
    from ragauge.monitor.documents import Refusal
    from ragauge.monitor.intake import Rejected
    from ragauge.monitor.settings import LogSettings

#: The environment variable that holds the endpoint's token.
TOKEN = "RAGAUGE_MONITOR_TOKEN"
_LOOPBACK = {"127.0.0.1", "localhost", "::1"}
_log_option = click.option(
    "--log", "log", metavar="DIR", envvar="RAGAUGE_LOG", help="The log (over `monitor.log`)."
)  # fmt: skip
_config_option = click.option(
    "--config", type=click.Path(path_type=Path, dir_okay=False), help="Settings (default: ragauge.yaml)."
)


@click.command("serve")
@_log_option
@_config_option
@click.option("--host", help="The address to listen on (default: 127.0.0.1, or `monitor.server.host`).")
@click.option("--port", type=click.IntRange(0, 65535), help="0: any free one (default: 8518).")
def serve(log: str | None, config: Path | None, host: str | None, port: int | None) -> int:
    """Take queries over HTTP: POST /v1/queries, /v1/feedback and OpenTelemetry's /v1/traces. Stop with Ctrl-C.

    Only this machine can reach it unless --host says otherwise; then senders need a token: the one in
    RAGAUGE_MONITOR_TOKEN or `monitor.server.token`, or a new one that is printed. Compacts every hour, and deletes
    days past `monitor.keep_days`.
    """
    from ragauge.cli.serve import _listen
    from ragauge.errors import MissingExtra

    try:
        import starlette  # noqa: F401
        import uvicorn
    except ImportError:
        raise MissingExtra("uvicorn, which serves the endpoint,", "monitor") from None
    from ragauge.monitor.server import create_app
    from ragauge.monitor.store import connect

    settings, place = _opened(log, config)
    host = host or settings.server.host
    token, generated = _token(settings, outside=host not in _LOOPBACK)
    server = settings.server.model_copy(update={"token": token})
    connect().close()  # says now that DuckDB is missing, not at the first compaction
    listening = _listen(host, settings.server.port if port is None else port)
    try:
        app = create_app(Path(place), settings.model_copy(update={"server": server}))
        shown = f"[{host}]" if ":" in host else host
        click.echo(f"Logging to {place} from http://{shown}:{listening.getsockname()[1]} (Ctrl-C stops it)", err=True)
        if generated:
            click.echo(f"Token: {token}   (set {TOKEN} to keep one)", err=True)
        served = uvicorn.Config(
            app, log_level="warning", access_log=False, server_header=False, ws="none", lifespan="on",
            timeout_keep_alive=30, h11_max_incomplete_event_size=32_768, limit_concurrency=512,
            timeout_graceful_shutdown=10,
        )  # fmt: skip
        with suppress(KeyboardInterrupt):  # the way to end it, and no mistake
            uvicorn.Server(served).run(sockets=[listening])
    finally:
        listening.close()
    return 0


@click.command("ingest")
@click.argument("files", nargs=-1, required=True, type=click.Path(path_type=Path, exists=True, dir_okay=False))
@_log_option
@_config_option
@click.option("--project", help="The project of records that name none.")
@click.option("--feedback", "is_feedback", is_flag=True, help="The files hold feedback for logged queries.")
@click.option("--rejected", type=click.Path(path_type=Path, dir_okay=False), help="Write what was not taken there.")
@json_option
def ingest(
    files: tuple[Path, ...], log: str | None, config: Path | None, project: str | None, is_feedback: bool,
    rejected: Path | None, as_json: bool,
) -> int:  # fmt: skip
    """Take queries from files: JSON lines, JSON, Parquet, also gzipped, under the usual names for fields.

    Exit 2 when a record was not taken; all others were. Ingesting a file again adds nothing.
    """
    from ragauge.monitor.documents import IngestDocument
    from ragauge.monitor.ingest import ingest as take
    from ragauge.monitor.intake import Intake
    from ragauge.monitor.redact import redactor

    settings, place = _opened(log, config)
    intake = Intake(
        redactor(settings.redact), int(settings.server.max_record_kb * 1024), source="file",
        project=project or settings.project,
    )  # fmt: skip
    with _told_of(rejected) as told:
        results = {
            str(file): take(place, file, intake, "feedback" if is_feedback else "queries", told(str(file)))
            for file in files
        }
    n_rejected = sum(result.n_rejected for result in results.values())
    details = [_refusal(file, one) for file, result in results.items() for one in result.rejected]
    if as_json:
        made = IngestDocument(
            log=place, taken=sum(result.taken for result in results.values()), n_rejected=n_rejected,
            rejected=tuple(details), n_rejected_left_off=n_rejected - len(details),
        )  # fmt: skip
        emit_json(made.model_dump(mode="json"))
    else:
        for file, result in results.items():
            click.echo(f"{file}: {result.taken} taken, {result.n_rejected} not")
        for one in details[:10]:
            click.echo(printable(f"  {one.file}, line {one.line}: {one.reason}"), err=True)
        if len(details) > 10 or n_rejected > len(details):
            click.echo(f"  and {n_rejected - min(10, len(details))} more (--rejected FILE lists them)", err=True)
    return 2 if n_rejected else 0


def _refusal(file: str, one: Rejected) -> Refusal:
    from ragauge.monitor.documents import Refusal

    return Refusal(file=file, line=one.index, reason=one.reason, id=one.id)


@contextmanager
def _told_of(rejected: Path | None) -> Iterator[Callable[[str], Callable[[Rejected], None] | None]]:
    """For each file, what is to be told of its refused records: each becomes a line of `rejected`."""
    from ragauge.errors import StoreError

    if rejected is None:
        yield lambda file: None
        return
    try:
        with rejected.open("w", encoding="utf-8") as opened:
            yield lambda file: lambda one: print(_refusal(file, one).model_dump_json(), file=opened)
    except OSError as error:
        raise StoreError(f"cannot write {rejected}: {error.strerror}") from None


@click.command("compact")
@_log_option
@_config_option
@click.option("--memory", default="1GB", show_default=True, help="At most so much for DuckDB; beyond it uses the disk.")
@json_option
def compact(log: str | None, config: Path | None, memory: str, as_json: bool) -> int:
    """Turn finished segments into Parquet; what is still being written stays. Safe at any time, and when killed."""
    from ragauge.monitor.compact import compact as run
    from ragauge.monitor.documents import CompactDocument

    _, place = _opened(log, config)
    done = run(place, memory=memory)
    if as_json:
        made = CompactDocument(
            log=place, days=done.days, segments=done.segments, rows=done.rows, repeated=done.repeated,
            growing=done.growing, damaged=tuple(done.damaged),
        )  # fmt: skip
        emit_json(made.model_dump(mode="json"))
    else:
        click.echo(
            f"{place}: {done.rows} rows of {done.segments} segments in {done.days} folders are Parquet now; "
            f"{done.repeated} sent twice, {done.growing} segments still being written"
        )
        for path in done.damaged:
            click.echo(f"  lines that are none of ours: see {path}", err=True)
    return 0


@click.command("prune")
@_log_option
@_config_option
@click.option("--keep-days", type=click.IntRange(1), help="Delete days older than that (over `monitor.keep_days`).")
@click.option("--dry-run", is_flag=True, help="Say what would be deleted.")
@json_option
def prune(log: str | None, config: Path | None, keep_days: int | None, dry_run: bool, as_json: bool) -> int:
    """Delete days past their time: queries, feedback, and what was judged of them."""
    from ragauge.errors import SettingsError
    from ragauge.monitor.compact import prune as run
    from ragauge.monitor.documents import PruneDocument

    settings, place = _opened(log, config)
    keep = keep_days or settings.keep_days
    if keep is None:
        raise SettingsError("nothing says how long days are kept", hint="--keep-days N, or `monitor: {keep_days: N}`.")
    if not Path(place).is_dir():
        from ragauge.errors import InputError

        raise InputError("no such log", file=place)
    state = Path(settings.state) if settings.state else None
    done = run(place, keep_days=keep, today=datetime.now(UTC).date(), dry_run=dry_run, state=state)
    gone = [str(path) for path in done]
    if as_json:
        made = PruneDocument(log=place, keep_days=keep, dry_run=dry_run, deleted=tuple(gone))
        emit_json(made.model_dump(mode="json"))
    else:
        verb = "would be deleted" if dry_run else "deleted"
        click.echo("\n".join([*gone, f"{len(gone)} folders {verb} (older than {keep} days)"]))
    return 0


def _opened(log: str | None, config: Path | None) -> tuple[LogSettings, str]:
    """The section `monitor` and the log's folder."""
    from ragauge.cli.run import DEFAULT_FILE
    from ragauge.engine.settings import fill_variables, load_settings
    from ragauge.monitor.settings import log_settings

    file = config or (DEFAULT_FILE if DEFAULT_FILE.exists() else None)
    whole = load_settings(file)
    settings = log_settings(whole.monitor)
    if settings.server.token:
        server = settings.server.model_copy(update={"token": fill_variables(settings.server.token)})
        settings = settings.model_copy(update={"server": server})
    if settings.state:
        settings = settings.model_copy(update={"state": str(whole.path(settings.state))})
    return settings, log or (settings.log if "://" in settings.log else str(whole.path(settings.log)))


def _token(settings: LogSettings, *, outside: bool) -> tuple[str | None, bool]:
    token = os.environ.get(TOKEN, "").strip() or settings.server.token
    if token or not outside:
        return token or None, False
    import secrets

    return secrets.token_urlsafe(24), True


COMMANDS: tuple[Any, ...] = (serve, ingest, compact, prune)
