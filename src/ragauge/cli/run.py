"""`ragauge run`: configuration → table."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from ragauge.cli.common import json_option, out_option, parse_overrides
from ragauge.cli.judging import judge_options

DEFAULT_FILE = Path("ragauge.yaml")


@click.command("run")
@click.argument("config", type=click.Path(path_type=Path, dir_okay=False), required=False)
@click.option("--golden", type=click.Path(), help="The golden set (over the settings file's).")
@click.option("--corpus", type=click.Path(), help="The folder of documents (over the settings file's).")
@click.option("--k", type=click.IntRange(1), help="How many chunks are retrieved.")
@click.option("--chunk-size", type=click.IntRange(1), help="Characters per chunk.")
@click.option("--chunk-overlap", type=click.IntRange(0), help="Characters that neighbouring chunks share.")
@click.option("--hybrid", is_flag=True, help="Dense and BM25 search, fused by reciprocal rank.")
@click.option("--bm25", is_flag=True, help="BM25 search only.")
@click.option("--rerank", is_flag=True, help="Re-rank the candidates.")
@judge_options
@click.option("--metrics", help="Comma-separated metric names instead of the default set.")
@click.option("--limit", type=click.IntRange(1), help="Only the first N questions.")
@click.option("--tags", help="Only questions with any of these comma-separated tags.")
@click.option("--seed", type=int, help="Seed of everything that draws.")
@click.option("--repeats", type=click.IntRange(1), help="Ask and judge each question N times.")
@click.option("--concurrency", type=click.IntRange(1), help="Questions at once.")
@click.option("--executor", metavar="WHERE", help="local (default), ray, or ray://HOST:PORT: where rows are made.")
@click.option("--workers", type=click.IntRange(1), help="Processes, with --executor ray.")
@click.option("--set", "overrides", multiple=True, metavar="KEY=VALUE", help="Any setting: --set system.reference.k=10")
@click.option("--name", help="A name for the run's directory.")
@out_option
@click.option("--resume", metavar="RUN", help="Continue a run: its settings, only what is missing.")
@click.option("--retry-errors", is_flag=True, help="With --resume: also ask again where there was an error.")
@click.option("--rows", is_flag=True, help="Show every row.")
@click.option("--quiet", "-q", is_flag=True, help="No progress.")
@json_option
def command(config: Path | None, resume: str | None, retry_errors: bool, **options: Any) -> int:
    """Ask a system every golden question, judge and score the answers.

    CONFIG is a settings file (default: ragauge.yaml here).
    """
    from ragauge import api
    from ragauge.api.shown import shown_settings
    from ragauge.cli.afterwards import afterwards
    from ragauge.cli.judging import print_forecast, with_shared
    from ragauge.cli.running import carry_out, refuse_beside_resume, restored_settings, with_executor
    from ragauge.errors import SettingsError
    from ragauge.store.rundir import find_run

    out = options["out"]
    if resume is not None:
        refuse_beside_resume(click.get_current_context())
        directory = find_run(resume, out or Path("runs"))
        if directory.manifest.command != "run":
            raise SettingsError(
                f"{directory.path} was made by `ragauge {directory.manifest.command}`, not by `ragauge run`"
            )
        settings = with_executor(with_shared(restored_settings(directory.manifest), options), options)
    else:
        if retry_errors:
            raise SettingsError("--retry-errors goes with --resume RUN")
        directory = None
        settings = make_settings(config, options)
    if settings.golden is None:
        raise SettingsError("no golden set", hint="Set `golden:` in ragauge.yaml, or pass --golden FILE.")
    made = api.make_options(
        settings,
        out or Path(settings.run.out),
        "run",
        settings.run.name,
        resume=directory,
        retry_errors=retry_errors,
        shown_settings=shown_settings(settings),
        dry=options["dry_run"],
    )
    if options["dry_run"]:
        return print_forecast(api.forecast(settings.path(settings.golden), made), as_json=options["as_json"])

    after = afterwards(settings, quiet=options["quiet"])

    def make(watcher: Any) -> Any:
        return api.run(settings.path(settings.golden), None, made, watcher=watcher)

    return carry_out(make, as_json=options["as_json"], rows=options["rows"], quiet=options["quiet"], after=after)


def make_settings(config: Path | None, options: dict[str, Any]) -> Any:
    """Flags over file over defaults."""
    from ragauge.cli.judging import judge_overrides
    from ragauge.engine.settings import load_settings
    from ragauge.errors import SettingsError

    file = config or (DEFAULT_FILE if DEFAULT_FILE.exists() else None)
    if file is None and options["golden"] is None:
        raise SettingsError(
            "there is no ragauge.yaml here", hint="`ragauge init` writes one; `ragauge demo` shows a whole example."
        )
    overrides: dict[str, Any] = {}
    for name in ("golden", "corpus"):
        if options[name] is not None:
            overrides[name] = str(Path(options[name]).resolve())
    simple = {name: f"run.{name}" for name in ("limit", "seed", "repeats", "concurrency", "executor", "workers")}
    overrides |= {
        key: options[name] for name, key in (simple | {"name": "run.name"}).items() if options[name] is not None
    }
    if options["tags"]:
        overrides["run.tags"] = split(options["tags"])
    if options["metrics"]:
        overrides["metrics"] = split(options["metrics"])
    overrides |= judge_overrides(file, options)
    overrides |= _reference_overrides(file, options)
    return load_settings(file, overrides | parse_overrides(options["overrides"]))


def _reference_overrides(file: Path | None, options: dict[str, Any]) -> dict[str, Any]:
    from ragauge.engine.settings import load_settings
    from ragauge.errors import SettingsError

    given = {name: options[name] for name in ("k", "chunk_size", "chunk_overlap") if options[name] is not None}
    if options["hybrid"] and options["bm25"]:
        raise SettingsError("--hybrid and --bm25 exclude each other")
    if options["hybrid"] or options["bm25"]:
        given["retrieval"] = "hybrid" if options["hybrid"] else "bm25"
    if options["rerank"]:
        given["rerank"] = "minilm"
    if not given:
        return {}
    kind, _ = load_settings(file).system_kind()
    if kind != "reference":
        flags = ", ".join("--" + name.replace("_", "-") for name in given)
        raise SettingsError(f"{flags}: these flags set the reference pipeline, but the system here is {kind!r}")
    return {f"system.reference.{name}": value for name, value in given.items()}


def split(text: str) -> list[str]:
    """Comma-separated words."""
    return [word.strip() for word in text.split(",") if word.strip()]
