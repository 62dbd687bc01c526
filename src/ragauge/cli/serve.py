"""`ragauge serve`: the page, on this machine."""

from __future__ import annotations

import os
import socket
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ragauge.analysis.gate_settings import GateSettings
    from ragauge.core.inspection import Inspection
    from ragauge.core.sample import GoldenItem
    from ragauge.web.settings import Services, WebSettings

#: The environment variable that holds the token.
TOKEN = "RAGAUGE_WEB_TOKEN"
_LOOPBACK = {"127.0.0.1", "localhost", "::1"}
_SETTINGS = Path("ragauge.yaml")


@click.command("serve")
@click.option(
    "--runs", "base", type=click.Path(path_type=Path, file_okay=False), default=Path("runs"), show_default=True,
    help="The folder whose runs are shown.",
)  # fmt: skip
@click.option("--host", default="127.0.0.1", show_default=True, help="The address to listen on.")
@click.option("--port", type=click.IntRange(0, 65535), default=8517, show_default=True, help="0: any free one.")
@click.option("--token", "make_token", is_flag=True, help="Ask for a token on loopback, too.")
@click.option("--allow-host", "hosts", multiple=True, metavar="NAME", help="A name under which the page is asked for.")
@click.option(
    "--config", "--settings", "settings", type=click.Path(path_type=Path),
    help="Settings file (default: ragauge.yaml, if there).",
)  # fmt: skip
@click.option("--queue", default=None, help="The review queue: a file, or a PostgreSQL URL.")
@click.option(
    "--cache", type=click.Path(path_type=Path, file_okay=False), default=Path(".ragauge/page"), show_default=True,
    help="Where what was read once is kept; it can be deleted at any time.",
)  # fmt: skip
@click.option("--log", "log", metavar="DIR|URL", envvar="RAGAUGE_LOG", help="The production log (over `monitor.log`).")
@click.option("--open", "open_browser", is_flag=True, help="Open it in the browser.")
def command(host: str, port: int, **flags: Any) -> int:
    """Show runs, comparisons, rows, retrieval, review and monitoring as a page; stop with Ctrl-C.

    Only this machine can reach it unless --host says otherwise; then everybody needs a token: the one in
    RAGAUGE_WEB_TOKEN, or a new one that is printed. Nothing is fetched from anywhere, and nothing is sent.
    """
    from ragauge.errors import MissingExtra

    try:
        import uvicorn
    except ImportError:
        raise MissingExtra("uvicorn, which serves the page,", "web") from None
    from ragauge.web.app import create_app

    listening = _listen(host, port)
    try:
        settings, services = _settings(host, flags)
        app = create_app(settings, services)
        address = _address(host, listening.getsockname()[1])
        _say(address, host, settings, generated=settings.token is not None and TOKEN not in os.environ)
        if flags["open_browser"]:
            import webbrowser

            webbrowser.open(address)
        config = uvicorn.Config(
            app, log_level="warning", access_log=False, server_header=False, ws="none", lifespan="off",
            timeout_keep_alive=30, h11_max_incomplete_event_size=32_768,
        )  # fmt: skip
        with suppress(KeyboardInterrupt):  # the way to end it, and no mistake
            uvicorn.Server(config).run(sockets=[listening])
    finally:
        listening.close()
    return 0


def _listen(host: str, port: int) -> socket.socket:
    from ragauge.errors import UsageError

    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # The protocol is named because asyncio only then sends small answers at once (TCP_NODELAY), not 40 ms later.
    listening = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind((host, port))
        listening.listen(128)  # whoever reads the address and connects at once waits, and is not refused
    except OSError as error:
        listening.close()
        raise UsageError(
            f"cannot listen on {host}:{port}: {error.strerror or error}", hint="Another --port, or 0 for any free one."
        ) from None
    return listening


def _settings(host: str, flags: dict[str, Any]) -> tuple[WebSettings, Services]:
    from ragauge.review import DEFAULT_QUEUE
    from ragauge.web.settings import Services, WebSettings

    outside = host not in _LOOPBACK
    token = os.environ.get(TOKEN, "").strip() or None
    if token is None and (outside or flags["make_token"]):
        import secrets

        token = secrets.token_urlsafe(24)
    path: Path | None = flags["settings"] or (_SETTINGS if _SETTINGS.is_file() else None)
    settings = WebSettings(
        runs=flags["base"],
        queue=flags["queue"] or DEFAULT_QUEUE,
        cache=flags["cache"],
        gate=_gate(path),
        **_monitor(path, flags.get("log")),
        token=token,
        hosts=(*flags["hosts"], *((host, socket.gethostname()) if outside else ())),
        any_address=host in {"0.0.0.0", "::"},
    )
    from ragauge.judges.families import family_of

    return settings, Services(inspector=_inspector(path), family=family_of, corpus=_corpus(path))


def _gate(path: Path | None) -> GateSettings | None:
    """The rules of the settings file's `gate` section; None where there is none."""
    if path is None:
        return None
    from ragauge.analysis.gate_settings import gate_settings
    from ragauge.engine.settings import load_settings

    section = load_settings(path).gate
    if not section:
        return None
    if isinstance(section.get("baseline"), str):
        section = {**section, "baseline": str(path.resolve().parent / section["baseline"])}
    return gate_settings(section)


def _monitor(path: Path | None, log: str | None) -> dict[str, Any]:
    """The log and the settings it is read by; nothing where no log is named."""
    from ragauge.engine.settings import load_settings

    section = load_settings(path).monitor if path is not None else {}
    if log is None and not section.get("log"):
        return {}
    from ragauge.cli.monitoring import open_monitored

    found = open_monitored({"log": log, "config": path})
    return {"log": found.place, "monitor": found.monitor}


def _inspector(path: Path | None) -> Any:
    """Live retrieval from the system that the settings name; made for each question, so that changes are seen."""
    if path is None:
        return None

    async def inspect(question: str, *, gold: Sequence[str] = (), item: GoldenItem | None = None) -> Inspection:
        from ragauge.engine.inspect import golden_item, inspect_question
        from ragauge.engine.parts import make_system
        from ragauge.engine.settings import load_settings

        settings = load_settings(path)
        if item is None and not gold:
            item = golden_item(settings, question)
        return await inspect_question(make_system(settings), question, gold=gold, item=item)

    return inspect


def _corpus(path: Path | None) -> Any:
    """The configured corpus in chunks, for looking up golden evidence; cut anew for each call."""
    if path is None:
        return None

    def cut() -> Any:
        from ragauge.cli.golden import index_of

        return index_of(None, path, needed=False)

    return cut


def _address(host: str, port: int) -> str:
    shown = "127.0.0.1" if host in {"0.0.0.0", "::"} else host
    return f"http://{f'[{shown}]' if ':' in shown else shown}:{port}/"


def _say(address: str, host: str, settings: WebSettings, *, generated: bool) -> None:
    click.echo(f"The page is at {address} (Ctrl-C stops it)", err=True)
    if host not in _LOOPBACK:
        click.echo(
            "Other machines can reach it, unencrypted: put a proxy with TLS in front where the network is not yours.",
            err=True,
        )
    if generated:
        click.echo(f"Token: {settings.token}   (set {TOKEN} to keep one)", err=True)
