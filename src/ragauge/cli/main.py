"""`ragauge`: verbs are loaded only when they are used, so that `--help` is quick."""

from __future__ import annotations

import errno
import importlib
import io
import os
import sys
from typing import Any

import click

from ragauge._version import __version__

#: Verb → (module with a `command`, the line that `--help` shows).
VERBS: dict[str, tuple[str, str]] = {
    "init": ("ragauge.cli.init", "Write a ragauge.yaml to start from."),
    "demo": ("ragauge.cli.demo", "Evaluate the shipped example: no key, no network."),
    "ask": ("ragauge.cli.ask", "Ask the system one question and show what is read in its reply."),
    "run": ("ragauge.cli.run", "Ask a system every golden question, judge and score the answers."),
    "score": ("ragauge.cli.score", "Score recorded outputs of a system."),
    "show": ("ragauge.cli.show", "Show a run again, or list the runs."),
    "compare": ("ragauge.cli.compare", "Compare runs question by question: is the change real or noise?"),
    "gate": ("ragauge.cli.gate", "Pass or fail a run: floors, drops against a baseline, cost, latency."),
    "baseline": ("ragauge.cli.baseline", "Write the small file that `gate` compares with, for git."),
    "sweep": ("ragauge.cli.sweep", "Try a grid of settings and say which to take."),
    "ab": ("ragauge.cli.ab", "A/B outcomes: better, worse or not settled yet, however often you look."),
    "import": ("ragauge.cli.import_", "Read other tools' data sets, test cases, traces and TREC files."),
    "export": ("ragauge.cli.export", "Write a run as JSON, CSV, Parquet or Markdown."),
    "report": ("ragauge.cli.report", "Write a run as one HTML page; tell Prometheus, Slack and others."),
    "track": ("ragauge.cli.track", "Log runs and sweeps in MLflow."),
    "judge": ("ragauge.cli.judge", "Try a judge: known cases, or agreement with people's labels."),
    "calibrate": ("ragauge.cli.calibrate", "Compare the judge with people's labels; correct its failure rate."),
    "diagnose": ("ragauge.cli.diagnose", "Why questions fail, and what to try first."),
    "inspect": ("ragauge.cli.inspect", "Follow one question through retrieval: why is the answer not found?"),
    "history": ("ragauge.cli.history", "Every metric over the runs, and the bottleneck now."),
    "review": ("ragauge.cli.review", "A queue of answers for people to label."),
    "monitor": ("ragauge.cli.monitor", "Follow a service in production: sample, judge, report, alert."),
    "golden": ("ragauge.cli.golden", "Check, grow and label golden sets."),
    "serve": ("ragauge.cli.serve", "The page: runs, rows, comparisons, review, in the browser."),
    "rank": ("ragauge.cli.rank", "Score TREC runs against qrels: retrieval measures only."),
    "mcp": ("ragauge.cli.mcp", "Serve runs and the judge to a coding agent (MCP)."),
    "explain": ("ragauge.cli.explain", "What a metric means, with a worked example."),
    "doctor": ("ragauge.cli.doctor", "What is installed, what works here, and what to install."),
}


class Verbs(click.Group):
    """A group whose commands are imported when they are called."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """In the order in which a newcomer meets them."""
        return list(VERBS)

    def get_command(self, ctx: click.Context, name: str) -> click.Command | None:
        """The verb's command, or None."""
        if name not in VERBS:
            return None
        command: click.Command = importlib.import_module(VERBS[name][0]).command
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """The verb, or an error that offers the nearest one."""
        if args and args[0] not in VERBS and not args[0].startswith("-"):
            from ragauge.errors import UnknownName

            raise UnknownName("command", args[0], VERBS)
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The verbs with their lines, nothing imported."""
        with formatter.section("Commands"):
            formatter.write_dl([(verb, line) for verb, (_, line) in VERBS.items()])


@click.group(cls=Verbs, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="ragauge")
def cli() -> None:
    """How often is your RAG system wrong, which half is at fault, and what should you change?

    Start with `ragauge demo`, then `ragauge init`.
    """


def main(args: list[str] | None = None) -> None:
    """Run the command line; turns deliberate errors into one message and an exit code."""
    from ragauge.errors import RagaugeError

    # Before numpy is loaded: the embedder's matrices are small, and several BLAS threads wait for one another by
    # spinning. On two busy cores they took up to 14 times as long as one (benchmarks/RESULTS-judges.md).
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")  # a terminal that knows no ✓ gets an escape, not a crash
    try:
        code = cli.main(args=args, standalone_mode=False)
        sys.stdout.flush()
    except RagaugeError as error:
        _fail(str(error), error.exit_code)
    except click.ClickException as error:
        error.show()
        sys.exit(2)
    except (click.Abort, KeyboardInterrupt) as error:
        if isinstance(error.__cause__, EOFError):
            raise error.__cause__ from None  # click takes it for a closed terminal; it is a bug of ours
        _fail("stopped; every finished row is kept (--resume continues a run)", 130)
    except BrokenPipeError:
        # Whoever read our output has gone away: nothing to say, and nobody to say it to.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(141)
    except OSError as error:
        if error.errno not in (errno.ENOSPC, errno.EDQUOT):
            raise
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        _fail("no space left where the output goes; runs on disk are untouched", 2)
    sys.exit(code if isinstance(code, int) else 0)


def _fail(message: str, code: int) -> Any:
    from ragauge.cli.common import printable

    click.echo(f"error: {printable(message)}", err=True)
    sys.exit(code)
