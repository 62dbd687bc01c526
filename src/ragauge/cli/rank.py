"""`ragauge rank QRELS RUN…`: retrieval measures of TREC (or JSON) runs against judgements; ids only."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ragauge.cli.common import emit_json, json_option

if TYPE_CHECKING:
    from ragauge.ranking import RankingResult

DEFAULT_METRICS = "ndcg@10,recall@10,recall@100,precision@10,reciprocal_rank,average_precision"
#: How many ids a message lists before it only counts.
_LISTED = 5


@click.command("rank")
@click.argument("qrels")
@click.argument("runs", nargs=-1, required=True, metavar="RUN...")
@click.option("--metrics", default=DEFAULT_METRICS, show_default=True, help="Measures, comma-separated; any k.")
@click.option("--level", type=float, default=1, show_default=True, help="A document is relevant from this grade on.")
@click.option(
    "--gain", type=click.Choice(["linear", "exp", "binary"]), default="linear", show_default=True, help="Gain in nDCG."
)
@click.option(
    "--missing",
    type=click.Choice(["zero", "skip", "error"]),
    default="zero",
    show_default=True,
    help="Judged questions that the run leaves out: count 0 (trec_eval -c), leave out, or refuse.",
)
@click.option(
    "--empty-relevant",
    type=click.Choice(["zero", "skip", "error"]),
    default="zero",
    show_default=True,
    help="Questions without any relevant document.",
)
@click.option(
    "--denominator",
    type=click.Choice(["k", "retrieved"]),
    default="k",
    show_default=True,
    help="What precision@k and F1@k divide by.",
)
@click.option(
    "--duplicates",
    type=click.Choice(["first", "error"]),
    default="first",
    show_default=True,
    help="Ids that come twice in a ranked list.",
)
@click.option(
    "--score-dtype",
    type=click.Choice(["float64", "float32"]),
    default="float64",
    show_default=True,
    help="float32 ties scores as trec_eval 9 does.",
)
@click.option("--judged-only", is_flag=True, help="Remove unjudged documents first (trec_eval -J).")
@click.option("--depth", type=click.IntRange(min=1), help="Look only at the first so many documents (trec_eval -M).")
@click.option("--collapse", metavar="SEPARATOR", help="Collapse chunk ids such as doc#3 to documents ('#') first.")
@click.option("--per-question", is_flag=True, help="Show every question.")
@json_option
def command(
    qrels: str,
    runs: tuple[str, ...],
    metrics: str,
    collapse: str | None,
    per_question: bool,
    as_json: bool,
    **switches: Any,
) -> int:
    """Measure runs against relevance judgements.

    QRELS and RUN are TREC files (plain or .gz, `-` for standard input) or JSON: {question: {document: grade}} and
    {question: {document: score}} or {question: [documents, best first]}. Names of trec_eval, ranx and ir_measures are
    understood: ndcg_cut_10, P_10, recip_rank, map, nDCG@10, MRR.
    """
    from ragauge.ranking import Judgements, collapse_run, evaluate, parse_measures
    from ragauge.store.trec import read_qrels, read_run

    measures = parse_measures(metrics)
    _check_names(qrels, runs)
    judgements = Judgements(read_qrels(qrels))
    results: dict[str, RankingResult] = {}
    for path in runs:
        run: Any = read_run(path)
        if collapse is not None:
            run = collapse_run(run, collapse)
        results[path] = evaluate(judgements, run, measures, **switches)
        if not as_json:
            _say_what_is_odd(path, results[path], judgements)
    if as_json:
        from ragauge.report.ranking import document

        emit_json(document(results, per_question=per_question).model_dump(mode="json", exclude_unset=True))
    else:
        _print(results, per_question)
    return 0


def _check_names(qrels: str, runs: tuple[str, ...]) -> None:
    from ragauge.errors import UsageError

    if len(set(runs)) < len(runs):
        raise UsageError("the same run is given twice")
    if [qrels, *runs].count("-") > 1:
        raise UsageError("standard input can be only one of the files")


def _say_what_is_odd(path: str, result: RankingResult, judged: Any) -> None:
    remarks = [
        (result.missing, "judged questions are missing from the run (see --missing)"),
        (result.ignored, "questions of the run are not judged and were ignored"),
        (result.without_relevant, "questions have no relevant document (see --empty-relevant)"),
        (tuple(result.duplicates or ()), "rankings repeat ids; each id counts at its best rank"),
    ]
    from ragauge.cli.common import printable

    for ids, words in remarks:
        if ids:
            listed = ", ".join(ids[:_LISTED]) + (", …" if len(ids) > _LISTED else "")
            click.echo(printable(f"{Path(path).name}: {len(ids)} {words}: {listed}"), err=True)


def _print(results: dict[str, RankingResult], per_question: bool) -> None:
    from rich.table import Table
    from rich.text import Text

    from ragauge.report.ranking import estimates as estimates_of
    from ragauge.report.terminal import stdout_console
    from ragauge.report.words import interval, number
    from ragauge.text.normalise import display

    console = stdout_console()
    table = Table(box=None, pad_edge=False, header_style="bold", padding=(0, 2, 0, 0))
    table.add_column("measure", no_wrap=True)
    for path, result in results.items():
        table.add_column(Text(display(Path(path).name)), justify="right")
        table.add_column(f"95 % interval (n={result.n_questions})", justify="right", no_wrap=True)
    estimates = {path: estimates_of(result) for path, result in results.items()}
    for key in next(iter(results.values())).means:
        cells = [(number(found[key].value, 4), interval(found[key])) for found in estimates.values()]
        table.add_row(key, *(cell for pair in cells for cell in pair))
    console.print(table)
    console.print(Text("ids as they stand in the files; ties by id, descending", style="dim"))
    if per_question:
        for path, result in results.items():
            console.print(_question_table(path, result))


def _question_table(path: str, result: RankingResult) -> Any:
    from rich.table import Table
    from rich.text import Text

    from ragauge.report.words import number
    from ragauge.text.normalise import display

    table = Table(title=Text(display(Path(path).name)), title_justify="left", box=None, header_style="bold")
    table.add_column("question", no_wrap=True)
    for key in result.means:
        table.add_column(key, justify="right")
    columns = list(result.values.values())
    for place, question in enumerate(result.questions):
        table.add_row(Text(display(question)), *(number(column[place], 4) for column in columns))
    return table
