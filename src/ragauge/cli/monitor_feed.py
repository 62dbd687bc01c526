"""`ragauge monitor candidates | outcomes`: from production to the golden set, the review queue and the A/B test."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from ragauge.cli.common import emit_json, json_option
from ragauge.cli.monitoring import chosen_days, golden_questions, log_options, open_monitored

_days = click.option("--days", type=click.IntRange(1, 3650), default=7, show_default=True)


@click.command("candidates")
@log_options
@_days
@click.option("--budget", type=click.IntRange(1), default=20, show_default=True, help="How many questions at most.")
@click.option("--golden", type=click.Path(path_type=Path), help="Questions that this set asks already are left out.")
@click.option("--metric", default="faithfulness", show_default=True, help="Which judged score counts as low.")
@click.option("--low", type=float, default=0.5, show_default=True, help="Below this it is low.")
@click.option("--near", type=float, help="A best retrieval score below this counts as nothing relevant.")
@click.option("--to", "target", type=click.Path(path_type=Path, dir_okay=False), help="Write candidates there instead.")
@click.option(
    "--queue", "where", metavar="FILE|URL", default=".ragauge/review.sqlite", show_default=True,
    envvar="RAGAUGE_REVIEW", help="The review queue.",
)  # fmt: skip
@click.option("--seed", type=int, default=0, show_default=True)
@json_option
def candidates(days: int, where: str, target: Path | None, **options: Any) -> int:
    """Put questions of production into the review queue: thumbs down, declined, nothing found, scored low; a random
    share of the rest, spread over what people ask.
    """
    from ragauge.cli.golden import put_candidates
    from ragauge.dataset.documents import CandidatesDocument
    from ragauge.dataset.from_logs import Why, from_logs
    from ragauge.embeddings.loading import load
    from ragauge.monitor.feed import logged_samples, low_scores

    opened = open_monitored(options)
    chosen = chosen_days(opened, None, days)
    found = from_logs(
        logged_samples(opened.log, opened.space, chosen, project=opened.monitor.project, seed=options["seed"]),
        options["budget"],
        known=golden_questions(opened, options["golden"]),
        scores=low_scores(opened.space, chosen, options["metric"]),
        low_score=options["low"],
        near=options["near"],
        seed=options["seed"],
        encode=load().encode,
    )
    counts: dict[Why, int] = {}
    for one in found:
        counts[one.why] = counts.get(one.why, 0) + 1
    place, n_new = put_candidates(found, Path(opened.name), where, target)
    if options["as_json"]:
        document = CandidatesDocument(log=opened.name, to=place, added=n_new, reasons=counts)
        emit_json(document.model_dump(mode="json"))
    else:
        said = ", ".join(f"{n} {why.replace('_', ' ')}" for why, n in counts.items()) or "nothing worth a look"
        click.echo(f"{n_new} questions added to {place} ({said})")
    return 0


@click.command("outcomes")
@log_options
@_days
@click.option("--out", "target", type=click.Path(path_type=Path, dir_okay=False), required=True, help="CSV or JSONL.")
@click.option("--thumbs", is_flag=True, help="The outcome is the thumb (up 1, down 0), not the logged outcome.")
@json_option
def outcomes(days: int, target: Path, thumbs: bool, **options: Any) -> int:
    """Write what came of each query, with its variant and judged scores: a table for `ragauge ab`."""
    from ragauge.monitor.documents import OutcomesDocument
    from ragauge.monitor.feed import outcome_rows, write_outcomes

    opened = open_monitored(options)
    rows = outcome_rows(opened.log, opened.space, chosen_days(opened, None, days), thumbs=thumbs,
                        project=opened.monitor.project)  # fmt: skip
    n, variants = write_outcomes(target, rows)
    if options["as_json"]:
        emit_json(OutcomesDocument(table=str(target), rows=n, variants=variants).model_dump(mode="json"))
    else:
        said = ", ".join(f"{name} {count}" for name, count in sorted(variants.items())) or "no query has a variant"
        click.echo(f"{target}: {n} outcomes ({said}). Next: ragauge ab {target} --unit session")
    return 0


COMMANDS = (candidates, outcomes)
