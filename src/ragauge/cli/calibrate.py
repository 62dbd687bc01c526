"""`ragauge calibrate RUN --labels FILE`: how far people agree with the judge, and the rate that they stand behind."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from ragauge.cli.common import emit_json, json_option


@click.command("calibrate")
@click.argument("runs", nargs=-1, required=True, metavar="RUN [RUN …]")
@click.option(
    "--labels", "files", multiple=True, type=click.Path(path_type=Path),
    help="People's labels: CSV, JSON Lines or a review queue (.sqlite). Repeat for more.",
)  # fmt: skip
@click.option("--queue", "queue", metavar="URL", help="Labels from a review queue by database URL (postgresql://…).")
@click.option("--metric", "metrics", multiple=True, help="Only this metric (repeat for more).")
@click.option(
    "--fail-below", "limits", multiple=True, metavar="METRIC=VALUE",
    help="From which value on an answer passes (default: 1 for faithfulness and correctness, else the threshold).",
)  # fmt: skip
@click.option("--next", "n_next", type=click.IntRange(1), help="Draw N answers to label next instead.")
@click.option("--to", "sheet", type=click.Path(path_type=Path, dir_okay=False), help="With --next: a sheet to fill in.")
@click.option("--simple", is_flag=True, help="With --next: a simple random draw instead of one by bands.")
@click.option("--targets", is_flag=True, help="With --next: single chunks or claims instead of whole answers.")
@click.option("--seed", type=int, default=0, show_default=True, help="Of the draw.")
@click.option(
    "--runs", "base", type=click.Path(path_type=Path, file_okay=False), default=Path("runs"), show_default=True,
    help="Where run names are looked up.",
)  # fmt: skip
@click.option("--level", type=click.FloatRange(0.5, 0.999), default=0.95, show_default=True, help="Confidence.")
@click.option("--rows", "n_rows", type=click.IntRange(0), default=10, show_default=True, help="Disagreements to show.")
@json_option
def command(runs: tuple[str, ...], **options: Any) -> int:
    """Compare the judge of a run with people's labels, and correct its failure rate by them.

    Several RUNs (the same answers under different judges) are calibrated with the same labels. Without --labels the
    labels kept with the run are used, or else those of an earlier run with the same judge.
    """
    from ragauge.store.rundir import find_run

    opened = [find_run(name, options["base"]) for name in runs]
    if options["n_next"] is not None:
        return _next(opened[0], options)
    documents: list[dict[str, Any]] = []
    for place, run in enumerate(opened):
        documents.append(_one(run, options, first=place == 0))
    if options["as_json"]:
        emit_json(documents[0] | ({"runs": documents} if len(documents) > 1 else {}))
    return 0


def _one(run: Any, options: dict[str, Any], *, first: bool) -> dict[str, Any]:
    from ragauge.judges.families import family_of
    from ragauge.report import calibrate as report
    from ragauge.report.terminal import stdout_console
    from ragauge.review.calibrating import calibrate_run, labelled_metrics, read_stored_labels

    labels = _labels(run, options) or read_stored_labels(run)
    if not labels:
        return _older(run, options)
    metrics = list(options["metrics"]) or labelled_metrics(run.manifest, labels)
    found = calibrate_run(
        run, labels, metrics, limits=_limits(options["limits"]), family=family_of, level=options["level"]
    )
    if not options["as_json"]:
        console = stdout_console()
        for place, one in enumerate(found):
            console.print(*([] if first and not place else [""]), report.terminal(one, n_rows=options["n_rows"]))
    return report.document(str(run.path), found)


def _older(run: Any, options: dict[str, Any]) -> dict[str, Any]:
    from ragauge.report import calibrate as report
    from ragauge.report.terminal import stdout_console
    from ragauge.review.calibrating import judged_metrics, newest, transported

    known = [key for key in judged_metrics(run.manifest) if key in newest(run)]
    metric = options["metrics"][0] if options["metrics"] else (known or ["faithfulness"])[0]
    rate, raw, earlier = transported(run, metric, level=options["level"])
    if not options["as_json"]:
        stdout_console().print(report.transported_sentence(rate, raw, earlier))
    return report.transported_document(str(run.path), metric, rate, raw, earlier)


def _labels(run: Any, options: dict[str, Any]) -> list[Any]:
    from ragauge.review.labels import read_labels, unknown_items

    keys = {spec.key for spec in run.manifest.metrics}
    lower = {spec.key for spec in run.manifest.metrics if spec.info.better == "lower"}
    only = options["metrics"][0] if len(options["metrics"]) == 1 else None
    found: list[Any] = []
    for source in [*options["files"], *([options["queue"]] if options["queue"] else [])]:
        found += read_labels(source, metrics=keys, metric=only, lower_is_better=lower)
    unknown_items(found, {record.sample.item.id for record in run.records()} if found else ())
    return found


def _limits(pairs: tuple[str, ...]) -> dict[str, float]:
    from ragauge.errors import SettingsError

    found: dict[str, float] = {}
    for pair in pairs:
        name, equals, value = pair.partition("=")
        try:
            found[name.strip()] = float(value)
        except ValueError:
            equals = ""
        if not equals:
            raise SettingsError(
                f"--fail-below {pair!r}: write it as METRIC=VALUE", hint="--fail-below faithfulness=0.9"
            )
    return found


def _next(run: Any, options: dict[str, Any]) -> int:
    from ragauge.errors import SettingsError
    from ragauge.review.calibrating import draw, judged_metrics
    from ragauge.review.documents import DrawnDocument
    from ragauge.review.labels import write_sheet
    from ragauge.review.sources import drawn_candidates, sheet_items

    judged = judged_metrics(run.manifest)
    metric = options["metrics"][0] if options["metrics"] else ("faithfulness" if "faithfulness" in judged else "")
    if not metric:
        raise SettingsError("say which metric is to be labelled", hint=f"--metric with one of: {', '.join(judged)}")
    drawn = draw(
        run, metric, options["n_next"], options["seed"], by_bands=not options["simple"], by_target=options["targets"]
    )
    candidates = list(drawn_candidates(run, drawn))
    if options["sheet"] is not None:
        write_sheet(options["sheet"], sheet_items(candidates))
    if options["as_json"]:
        document = DrawnDocument(run=str(run.path), metric=metric, next=tuple(drawn))
        emit_json(document.model_dump(mode="json"))
        return 0
    for one, candidate in zip(drawn, candidates, strict=True):
        place = one.item + (f" #{one.repeat}" if one.repeat else "") + (f" · {one.target}" if one.target else "")
        question = " ".join(str(candidate.payload.get("question", "")).split())
        click.echo(f"{_shown(place)}\t{_shown(question)[:100]}")
    where = f"the sheet {options['sheet']}" if options["sheet"] else "a file with the columns id and label"
    click.echo(
        f"{len(drawn)} to label for {metric}, noted beside the run. Label them in {where}, then: "
        f"ragauge calibrate {run.manifest.run} --labels FILE",
        err=True,
    )
    return 0


def _shown(text: str) -> str:
    from ragauge.cli.common import printable

    return printable(text).replace("\n", " ")
