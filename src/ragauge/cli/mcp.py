"""`ragauge mcp`: a server for coding agents, on standard input and output."""

from __future__ import annotations

from pathlib import Path

import click

_DEFAULT = Path("ragauge.yaml")


@click.command("mcp")
@click.option(
    "--runs", "base", type=click.Path(path_type=Path, file_okay=False), default=Path("runs"), show_default=True,
    help="Where run names are looked up.",
)  # fmt: skip
@click.option(
    "--config", type=click.Path(path_type=Path, dir_okay=False, exists=True),
    help="The settings with system and judge (default: ragauge.yaml, if it is there).",
)  # fmt: skip
def command(base: Path, config: Path | None) -> int:
    """Serve runs and the judge to a coding agent over MCP: failures, summaries, questions, comparisons, faithfulness.

    The agent starts this program; see docs/how-to/mcp.md. It reads, and writes nothing.
    """
    try:
        from ragauge.mcp_server.server import serve
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] not in ("mcp", "mcp_types"):
            raise
        from ragauge.errors import MissingExtra

        raise MissingExtra("mcp, which speaks with agents,", "mcp") from error

    serve(base, config or (_DEFAULT if _DEFAULT.is_file() else None))
    return 0
