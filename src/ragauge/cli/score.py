"""`ragauge score FILE`: recorded outputs → table."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from ragauge.cli.common import json_option, out_option, parse_overrides
from ragauge.cli.judging import judge_options


@click.command("score")
@click.argument("file", type=click.Path(path_type=Path), required=False)
@click.option("--golden", type=click.Path(path_type=Path), help="A golden set to join by id (labels, references).")
@click.option(
    "--config", type=click.Path(path_type=Path, dir_okay=False), help="A settings file (default ragauge.yaml)."
)
@click.option(
    "--map", "mapping", multiple=True, metavar="THEIRS=OURS", help="A field name of yours: --map prompt=question"
)
@judge_options
@click.option("--metrics", help="Comma-separated metric names instead of the default set.")
@click.option("--limit", type=click.IntRange(1), help="Only the first N samples.")
@click.option("--tags", help="Only samples with any of these comma-separated tags.")
@click.option("--seed", type=int, help="Seed of everything that draws.")
@click.option("--repeats", type=click.IntRange(1), help="Judge each sample N times.")
@click.option("--concurrency", type=click.IntRange(1), help="Samples at once.")
@click.option("--executor", metavar="WHERE", help="local (default), ray, or ray://HOST:PORT: where rows are made.")
@click.option("--workers", type=click.IntRange(1), help="Processes, with --executor ray.")
@click.option("--set", "overrides", multiple=True, metavar="KEY=VALUE", help="Any setting: --set thresholds.recall=0.9")
@click.option("--name", help="A name for the run's directory.")
@out_option
@click.option("--resume", metavar="RUN", help="Continue a run: its settings, only what is missing.")
@click.option("--retry-errors", is_flag=True, help="With --resume: also judge again where there was an error.")
@click.option("--rows", is_flag=True, help="Show every row.")
@click.option("--quiet", "-q", is_flag=True, help="No progress.")
@json_option
def command(file: Path | None, resume: str | None, retry_errors: bool, **options: Any) -> int:
    """Score recorded outputs of a system: JSONL, JSON, YAML, CSV or Parquet, with the field names of other tools."""
    from ragauge import api
    from ragauge.api.shown import shown_settings
    from ragauge.cli.afterwards import afterwards
    from ragauge.cli.judging import print_forecast, with_shared
    from ragauge.cli.running import carry_out, refuse_beside_resume, restored_settings, with_executor
    from ragauge.errors import SettingsError
    from ragauge.store.rundir import find_run

    out = options["out"]
    golden: Path | None = options["golden"]
    mapping = _mapping(options["mapping"])
    if resume is not None:
        refuse_beside_resume(click.get_current_context())
        directory = find_run(resume, out or Path("runs"))
        stored = dict(directory.manifest.settings).get("score")
        if directory.manifest.command != "score" or not isinstance(stored, dict):
            raise SettingsError(
                f"{directory.path} was made by `ragauge {directory.manifest.command}`, not by `ragauge score`"
            )
        file, mapping = Path(stored["file"]), dict(stored["map"])
        golden = Path(stored["golden"]) if stored["golden"] else None
        settings = with_shared(restored_settings(_without_score(directory.manifest)), options)
        settings = with_executor(settings, options)
    else:
        if retry_errors:
            raise SettingsError("--retry-errors goes with --resume RUN")
        directory = None
        settings = _settings(options)
    if file is None:
        raise SettingsError("name a file of recorded outputs", hint="ragauge score answers.jsonl")
    what = {"file": str(file.resolve()), "map": mapping, "golden": str(golden.resolve()) if golden else None}
    made = api.make_options(
        settings,
        out or Path(settings.run.out),
        "score",
        settings.run.name if settings.run.name != "run" else file.stem,
        resume=directory,
        retry_errors=retry_errors,
        shown_settings=shown_settings(settings) | {"score": what},
        dry=options["dry_run"],
    )
    if options["dry_run"]:
        found = api.forecast(golden, made, samples=file, field_map=mapping)
        return print_forecast(found, as_json=options["as_json"])

    after = afterwards(settings, quiet=options["quiet"])

    def make(watcher: Any) -> Any:
        return api.score(file, made, golden=golden, field_map=mapping, watcher=watcher)

    return carry_out(make, as_json=options["as_json"], rows=options["rows"], quiet=options["quiet"], after=after)


def _settings(options: dict[str, Any]) -> Any:
    from ragauge.cli.judging import judge_overrides
    from ragauge.cli.run import DEFAULT_FILE, split
    from ragauge.engine.settings import load_settings

    file = options["config"] or (DEFAULT_FILE if DEFAULT_FILE.exists() else None)
    names = {name: f"run.{name}" for name in ("limit", "seed", "repeats", "concurrency", "executor", "workers")}
    overrides: dict[str, Any] = {
        key: options[name] for name, key in (names | {"name": "run.name"}).items() if options[name] is not None
    }
    for name, key in (("tags", "run.tags"), ("metrics", "metrics")):
        if options[name]:
            overrides[key] = split(options[name])
    overrides |= judge_overrides(file, options)
    return load_settings(file, overrides | parse_overrides(options["overrides"]))


def _mapping(pairs: tuple[str, ...]) -> dict[str, str]:
    from ragauge.errors import SettingsError

    found: dict[str, str] = {}
    for pair in pairs:
        theirs, equals, ours = pair.partition("=")
        if not equals or not theirs.strip() or not ours.strip():
            raise SettingsError(f"--map {pair!r}: write it as THEIRS=OURS", hint="--map prompt=question")
        found[theirs.strip()] = ours.strip()
    return found


def _without_score(manifest: Any) -> Any:
    settings = {key: value for key, value in manifest.settings.items() if key != "score"}
    return manifest.model_copy(update={"settings": settings})
