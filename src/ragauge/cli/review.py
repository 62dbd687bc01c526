"""`ragauge review`: a queue of answers for people to label."""

from __future__ import annotations

import getpass
from pathlib import Path
from typing import Any

import click

from ragauge.cli.common import emit_json, json_option

_queue = click.option(
    "--queue", "where", metavar="FILE|URL", default=".ragauge/review.sqlite", show_default=True,
    envvar="RAGAUGE_REVIEW", help="The queue: a SQLite file or a database URL (postgresql://…).",
)  # fmt: skip
_reviewer = click.option("--reviewer", help="Who you are (default: your user name).")
_runs = click.option(
    "--runs", "base", type=click.Path(path_type=Path, file_okay=False), default=Path("runs"), show_default=True,
    help="Where run names are looked up.",
)  # fmt: skip


@click.group("review")
def command() -> None:
    """A queue of answers for people to label: twenty a day find the categories of failure.

    Fill it with `review add RUN`, then `review next` and `review label LABEL`. Labels go to `ragauge calibrate RUN
    --labels .ragauge/review.sqlite`, new questions to `ragauge golden promote`.
    """


@command.command("add")
@click.argument("run")
@click.option("--metric", default="faithfulness", show_default=True, help="What is to be labelled.")
@click.option("--budget", type=click.IntRange(1), default=20, show_default=True, help="How many at most.")
@click.option("--estimate", type=click.IntRange(1), help="Instead: N drawn by bands, to measure the judge.")
@click.option("--rows", "names", help="Instead: these rows (comma-separated ids).")
@click.option("--targets", is_flag=True, help="With --estimate: single chunks or claims.")
@click.option(
    "--reviewers", "wanted", type=click.IntRange(1, 20), default=1, show_default=True, help="Labels for each."
)
@click.option("--clusters/--no-clusters", default=True, help="Representatives of clusters of failures.")
@click.option("--seed", type=int, default=0, show_default=True, help="Of every draw.")
@_runs
@_queue
@json_option
def add(run: str, where: str, **options: Any) -> int:
    """Put answers of RUN into the queue: a random control, thumbs down, disagreements, clusters, uncertain ones."""
    from ragauge.review import open_queue
    from ragauge.review.documents import AddDocument
    from ragauge.store.rundir import find_run

    opened = find_run(run, options["base"])
    with open_queue(where) as queue:
        chosen = _chosen(opened, options)
        n_new = queue.add(chosen)
        counts: dict[str, int] = {}
        for one in chosen:
            counts[one.source] = counts.get(one.source, 0) + 1
        if options["as_json"]:
            document = AddDocument(queue=queue.where, run=str(opened.path), added=n_new, sources=counts)
            emit_json(document.model_dump(mode="json"))
        else:
            sources = ", ".join(f"{n} {name.replace('_', ' ')}" for name, n in counts.items())
            click.echo(f"{n_new} added to {queue.where} ({sources}); {len(chosen) - n_new} were there already")
    return 0


def _chosen(run: Any, options: dict[str, Any]) -> list[Any]:
    from ragauge.review import sources
    from ragauge.review.calibrating import draw
    from ragauge.review.filling import worth_a_look

    metric, seed, wanted = options["metric"], options["seed"], options["wanted"]
    if options["estimate"] is not None:
        drawn = draw(run, metric, options["estimate"], seed, by_target=options["targets"])
        return list(sources.drawn_candidates(run, drawn, wanted=wanted))
    if options["names"]:
        return list(sources.asked(run, metric, [part.strip() for part in options["names"].split(",")], wanted=wanted))
    return worth_a_look(run, metric, options["budget"], seed=seed, clusters=options["clusters"], wanted=wanted)


@command.command("next")
@_reviewer
@click.option("--budget", type=click.IntRange(0), default=20, show_default=True, help="Reviews a day; 0 for no limit.")
@click.option("--blind/--no-blind", default=True, show_default=True, help="Hide the judge's verdict.")
@click.option("--metric", help="Only items of this metric.")
@_queue
@json_option
def next_(reviewer: str | None, budget: int, blind: bool, metric: str | None, where: str, as_json: bool) -> int:
    """Show what to label next; it is yours for half an hour."""
    from ragauge.report.review import item_report
    from ragauge.report.terminal import stdout_console
    from ragauge.review import open_queue
    from ragauge.review.documents import HeldItem, NoItem, ShownItem

    name = _name(reviewer)
    with open_queue(where) as queue:
        item = queue.next(name, budget=budget or None, metric=metric)
        done = queue.done_today(name)
        if item is None:
            finished = bool(budget) and done >= budget
            if as_json:
                emit_json(NoItem(item=None, today=done, budget_used=finished).model_dump(mode="json"))
            else:
                click.echo(
                    f"{done} reviewed today: that is enough (--budget 0 goes on)" if finished else "nothing left"
                )
            return 0
        shown = item.shown(blind=blind)
        if as_json:
            held = HeldItem(item=ShownItem.model_validate(shown), today=done, lease_expires=item.lease_expires)
            emit_json(held.model_dump(mode="json"))
        else:
            stdout_console().print(item_report(shown, labelled=done, budget=budget or None))
    return 0


@command.command("label")
@click.argument("label")
@click.option("--item", help="Which item (its id or the beginning of it); default: the one that you hold.")
@_reviewer
@click.option("--note", default="", help="Why; for others, and for you in a month.")
@click.option("--systematic", metavar="PATTERN", help="This is one of a pattern: give it a name.")
@click.option("--reference", help="A better reference answer.")
@click.option("--question", help="The question, mended.")
@click.option("--unanswerable", is_flag=True, help="The corpus cannot answer this.")
@click.option("--tags", help="Comma-separated tags for the golden item.")
@click.option("--second-opinion", is_flag=True, help="Store it although the item has its labels.")
@click.option("--adjudicate", is_flag=True, help="Settle a disagreement: this label counts.")
@_queue
@json_option
def label(label: str, item: str | None, reviewer: str | None, where: str, as_json: bool, **options: Any) -> int:
    """Store LABEL (faithful, unfaithful, correct, partial, wrong, relevant, irrelevant, pass, fail, unsure …)."""
    from ragauge.errors import UsageError
    from ragauge.report.review import lines_of
    from ragauge.review import open_queue
    from ragauge.review.documents import LabelDocument

    name = _name(reviewer)
    with open_queue(where) as queue:
        target = queue.find(item) if item is not None else queue.held(name)
        if target is None:
            raise UsageError("you hold no item", hint="`ragauge review next` gives you one, or name one with --item.")
        _check(label, target.metric)
        stored = queue.label(
            target.id,
            name,
            label,
            note=options["note"],
            systematic=options["systematic"],
            edits=_edits(options),
            second_opinion=options["second_opinion"],
            adjudicate=options["adjudicate"],
        )
        verdict = target.payload.get("verdict")
        if as_json:
            document = LabelDocument(label=stored.label, item=target.item, id=target.id, verdict=verdict)
            emit_json(document.model_dump(mode="json"))
        else:
            judged = (
                f" The judge: {verdict.get('value', verdict.get('unscored'))}." if isinstance(verdict, dict) else ""
            )
            click.echo(lines_of(f"{target.item}: {stored.label}, stored.{judged} `review undo` takes it back."))
    return 0


def _check(label: str, metric: str) -> None:
    from ragauge.analysis.labels import ACCEPTED, label_value
    from ragauge.errors import UsageError

    if metric == "golden":
        if label.strip().casefold() not in ("promote", "reject", "unsure"):
            raise UsageError(f"{label!r} is not said of a question", hint="promote | reject | unsure")
        return
    try:
        label_value(label)
    except ValueError as problem:
        raise UsageError(str(problem), hint=f"Accepted: {ACCEPTED}, or unsure.") from None


def _edits(options: dict[str, Any]) -> dict[str, Any] | None:
    edits: dict[str, Any] = {}
    if options["reference"]:
        edits["answer"] = options["reference"]
    if options["question"]:
        edits["question"] = options["question"]
    if options["unanswerable"]:
        edits["answerable"] = False
    if options["tags"]:
        edits["tags"] = [tag.strip() for tag in options["tags"].split(",") if tag.strip()]
    return edits or None


@command.command("skip")
@_reviewer
@click.option("--reason", default="", help="Why it is not for you.")
@_queue
def skip(reviewer: str | None, reason: str, where: str) -> int:
    """Leave the item that you hold to others."""
    from ragauge.errors import UsageError
    from ragauge.review import open_queue

    name = _name(reviewer)
    with open_queue(where) as queue:
        item = queue.held(name)
        if item is None:
            raise UsageError("you hold no item", hint="`ragauge review next` gives you one.")
        queue.skip(item.id, name, reason)
    click.echo("skipped")
    return 0


@command.command("undo")
@_reviewer
@_queue
def undo(reviewer: str | None, where: str) -> int:
    """Take back your latest label or skip; the item is yours again."""
    from ragauge.report.review import lines_of
    from ragauge.review import open_queue

    with open_queue(where) as queue:
        item = queue.undo(_name(reviewer))
    click.echo("nothing to undo" if item is None else lines_of(f"{item.item} is open again"))
    return 0


@command.command("stats")
@_queue
@json_option
def stats(where: str, as_json: bool) -> int:
    """What is open, who did what, how far people agree, what is disputed, which patterns were named."""
    from ragauge.report.review import stats_report
    from ragauge.report.terminal import stdout_console
    from ragauge.review import open_queue
    from ragauge.review.stats import queue_stats

    with open_queue(where) as queue:
        found = queue_stats(queue)
    if as_json:
        emit_json(found.model_dump(mode="json"))
    else:
        stdout_console().print(stats_report(found))
    return 0


@command.command("export")
@click.argument("file", type=click.Path(path_type=Path, dir_okay=False))
@click.option("--sheet", is_flag=True, help="What is open, to be labelled in a spreadsheet, instead of the labels.")
@click.option(
    "--golden", is_flag=True, help="Promoted questions as golden items (.yaml, .jsonl) instead of the labels."
)
@click.option("--blind/--no-blind", default=True, show_default=True, help="With --sheet: hide the judge's verdict.")
@click.option("--run", help="Only items of this run (its whole name).")
@_queue
def export(file: Path, sheet: bool, golden: bool, blind: bool, run: str | None, where: str) -> int:
    """Write labels to FILE (.csv or .jsonl), as `ragauge calibrate` and `review import` read them."""
    from ragauge.review import open_queue
    from ragauge.review.labels import write_labels, write_sheet
    from ragauge.review.promoting import promoted

    with open_queue(where) as queue:
        items = list(queue.items(run=run))
        names = {item.id for item in items}
        labels = [one for one in queue.labels() if one.item_id in names]
    if golden:
        from ragauge.dataset.writers import save_golden

        found = promoted(labels, items)
        save_golden(found, file)
        n, what = len(found), "golden items"
    elif sheet:
        n, what = write_sheet(file, (item for item in items if item.state == "open"), blind=blind), "items to label"
    else:
        n, what = write_labels(file, labels, items), "labels"
    click.echo(f"{n} {what} written to {file}", err=True)
    return 0


@command.command("import")
@click.argument("file", type=click.Path(path_type=Path, dir_okay=False))
@_reviewer
@click.option("--second-opinion", is_flag=True, help="Store labels of items that have theirs already.")
@_queue
def import_(file: Path, reviewer: str | None, second_opinion: bool, where: str) -> int:
    """Read labels from FILE: a sheet of `review export --sheet`, filled in."""
    from ragauge.review import open_queue
    from ragauge.review.importing import import_labels

    with open_queue(where) as queue:
        done = import_labels(queue, file, _name(reviewer), second_opinion=second_opinion)
    said = f"{done.n_stored} labels stored, {done.n_empty} rows without a label"
    if done.conflicts:
        said += (
            f"; {len(done.conflicts)} not stored, somebody else labelled them: {', '.join(done.conflicts[:5])}"
            " (--second-opinion stores them as well)"
        )
    click.echo(said, err=True)
    return 0


def _name(reviewer: str | None) -> str:
    if reviewer is not None:
        return reviewer
    try:
        return getpass.getuser()
    except (KeyError, OSError):  # a user without a name, as in many containers
        from ragauge.errors import UsageError

        raise UsageError("nobody says who you are: this user has no name", hint="--reviewer NAME") from None
