"""`ragauge golden`: check, grow and label golden sets."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from ragauge.cli.common import emit_json, json_option

_file = click.argument("file", type=click.Path(path_type=Path))
_corpus = click.option(
    "--corpus", type=click.Path(path_type=Path),
    help="A folder of documents, or a file of chunks (.jsonl, .csv, .parquet). Default: that of the settings file.",
)  # fmt: skip
_config = click.option(
    "--config", type=click.Path(path_type=Path, dir_okay=False), help="A settings file (default ragauge.yaml)."
)
_queue = click.option(
    "--queue", "where", metavar="FILE|URL", default=".ragauge/review.sqlite", show_default=True,
    envvar="RAGAUGE_REVIEW", help="The review queue.",
)  # fmt: skip


@click.group("golden")
def command() -> None:
    """Golden sets: questions with right answers and where these stand."""


@command.command("validate")
@_file
@_corpus
@_config
@click.option("--strict", is_flag=True, help="Warnings fail as well.")
@click.option("--meaning/--no-meaning", default=True, help="Also find questions that say the same in other words.")
@click.option("--map", "mapping", multiple=True, metavar="THEIRS=OURS", help="A field name of yours.")
@json_option
def validate(
    file: Path,
    corpus: Path | None,
    config: Path | None,
    strict: bool,
    meaning: bool,
    mapping: tuple[str, ...],
    as_json: bool,
) -> int:
    """Say what is wrong with a golden set, where, and what to do. Exit 1 when there are errors."""
    from ragauge.cli.score import _mapping
    from ragauge.dataset.golden_validate import validate_golden
    from ragauge.report import golden as report
    from ragauge.report.terminal import stdout_console

    index = index_of(corpus, config, needed=False)
    found = validate_golden(file, index, field_map=_mapping(mapping), encode=_encode(file) if meaning else None)
    if as_json:
        emit_json(report.document(found).model_dump(mode="json"))
    else:
        stdout_console().print(report.terminal(found))
    return int(bool(found.n_errors or (strict and found.n_warnings)))


@command.command("generate")
@click.argument("n", type=click.IntRange(1, 10_000))
@click.option("--model", required=True, help="Who writes: openai:NAME, anthropic:NAME, compatible:NAME@http://…")
@click.option("--to", "target", type=click.Path(path_type=Path, dir_okay=False), required=True, help="The golden file.")
@click.option("--judge", help="Who checks what was written (default: the embedded judge; none: only rules).")
@click.option("--kinds", help="Comma-separated kinds instead of the usual mix: lookup,numeric,table,multi_hop,…")
@click.option("--concurrency", type=click.IntRange(1, 256), default=4, show_default=True)
@click.option("--seed", type=int, default=0, show_default=True)
@_corpus
@_config
@json_option
def generate(n: int, model: str, target: Path, **options: Any) -> int:
    """Have N questions written by a language model, and add those that stand up to TO. None of them is verified."""
    import asyncio

    from ragauge.dataset.documents import GenerateDocument
    from ragauge.dataset.generate import Generator
    from ragauge.dataset.golden import load_golden
    from ragauge.dataset.promote import promote
    from ragauge.judges.factory import make_judge
    from ragauge.store.cache import SqliteCache

    index = index_of(options["corpus"], options["config"], needed=True)
    assert index is not None
    cache = SqliteCache(Path(".ragauge/replies.sqlite"))
    writer = _writer(model, cache, options["seed"])
    asked = options["judge"] or "embedded"
    judge = None if asked == "none" else make_judge(asked, cache=cache)
    known = load_golden(target) if target.exists() else None
    generator = Generator(writer.provider, index, judge, _encoder(), seed=options["seed"])
    shares = {kind.strip(): 1.0 for kind in options["kinds"].split(",")} if options["kinds"] else None

    async def work() -> Any:
        try:
            await writer.preflight()
            return await generator.write(
                n, kinds=shares, known=[item.question for item in known or ()], concurrency=options["concurrency"]
            )
        finally:
            await writer.aclose()

    try:
        made = asyncio.run(work())
    finally:
        cache.close()
    done = promote(made.items, target) if made.items else None
    dropped = dict(made.dropped.most_common())
    if options["as_json"]:
        added = done.added if done else ()
        document = GenerateDocument(golden=str(target), added=added, n_asked=made.n_asked, dropped=dropped)
        emit_json(document.model_dump(mode="json"))
        return 0
    click.echo(
        f"{len(done.added) if done else 0} questions added to {target}, none of them verified; {made.n_asked} asked for"
    )
    for why, count in dropped.items():
        click.echo(f"  {count} dropped: {_plain(why)}")
    return 0


def _writer(model: str, cache: Any, seed: int) -> Any:
    """The language model that writes, with cache, retries and limits around it."""
    from ragauge.errors import SettingsError
    from ragauge.judges.factory import make_judge
    from ragauge.judges.llm.judge import LLMJudge

    made = make_judge(model, cache=cache, seed=seed)
    inner = getattr(made, "inner", made)
    if not isinstance(inner, LLMJudge):
        raise SettingsError(f"{model!r} cannot write questions", hint="Name a language model: openai:NAME …")
    return inner


@command.command("from-logs")
@_file
@click.option("--budget", type=click.IntRange(1), default=20, show_default=True, help="How many questions at most.")
@click.option("--golden", type=click.Path(path_type=Path), help="Questions that this set asks already are left out.")
@click.option("--scored", "run", metavar="RUN", help="A run over the log: its low scores count.")
@click.option("--metric", default="faithfulness", show_default=True, help="With --scored: which score.")
@click.option("--low", type=float, default=0.5, show_default=True, help="With --scored: below this is low.")
@click.option("--near", type=float, help="A best retrieval score below this counts as nothing relevant.")
@click.option("--diverse/--no-diverse", default=True, help="Spread the random share over what people ask about.")
@click.option("--seed", type=int, default=0, show_default=True)
@click.option("--to", "target", type=click.Path(path_type=Path, dir_okay=False), help="Write candidates there instead.")
@click.option("--runs", "base", type=click.Path(path_type=Path, file_okay=False), default=Path("runs"))
@_queue
@json_option
def from_logs(file: Path, where: str, **options: Any) -> int:
    """Put questions from a production log into the review queue: what went badly, and a random share."""
    from ragauge.dataset.documents import CandidatesDocument
    from ragauge.dataset.from_logs import Why
    from ragauge.dataset.from_logs import from_logs as choose
    from ragauge.dataset.golden import load_golden
    from ragauge.dataset.recorded import read_samples

    known = [item.question for item in load_golden(options["golden"])] if options["golden"] else []
    found = choose(
        read_samples(file),
        options["budget"],
        known=known,
        scores=_scores(options),
        low_score=options["low"],
        near=options["near"],
        seed=options["seed"],
        encode=_encoder() if options["diverse"] else None,
    )
    counts: dict[Why, int] = {}
    for one in found:
        counts[one.why] = counts.get(one.why, 0) + 1
    place, n_new = put_candidates(found, file, where, options["target"])
    if options["as_json"]:
        document = CandidatesDocument(log=str(file), to=place, added=n_new, reasons=counts)
        emit_json(document.model_dump(mode="json"))
    else:
        said = ", ".join(f"{n} {why.replace('_', ' ')}" for why, n in counts.items()) or "nothing worth a look"
        click.echo(f"{n_new} questions added to {place} ({said})")
    return 0


def _scores(options: dict[str, Any]) -> dict[str, float]:
    if options["run"] is None:
        return {}
    from ragauge.core.score import Scored
    from ragauge.store.rundir import find_run

    run = find_run(options["run"], options["base"])
    values = ((r.sample.item.id, r.scores.get(options["metric"])) for r in run.records())
    return {name: score.value for name, score in values if isinstance(score, Scored)}


def put_candidates(found: Any, log: Path, where: str, target: Path | None) -> tuple[str, int]:
    """Questions of a log into the review queue, or as unverified items into a golden file: (where, how many new)."""
    if target is not None:
        from ragauge.dataset.promote import promote

        items = [
            one.sample.item.model_copy(
                update={
                    "verified": False,
                    "metadata": {**one.sample.item.metadata, "from_log": log.name, "why": one.why},
                }
            )
            for one in found
        ]
        return str(target), len(promote(items, target).added) if items else 0
    from ragauge.review import open_queue
    from ragauge.review.sources import log_candidates

    with open_queue(where) as queue:
        return queue.where, queue.add(log_candidates(found, log.name))


@command.command("promote")
@click.argument("target", type=click.Path(path_type=Path, dir_okay=False))
@click.option("--from", "source", type=click.Path(path_type=Path), help="A golden file instead of the review queue.")
@click.option("--replace", is_flag=True, help="Items that are there already take their new form.")
@_queue
@json_option
def promote_(target: Path, source: Path | None, replace: bool, where: str, as_json: bool) -> int:
    """Add what reviewers promoted to the golden file TARGET, verified, with what they changed."""
    from ragauge.dataset.documents import PromoteDocument
    from ragauge.dataset.golden import load_golden
    from ragauge.dataset.promote import promote
    from ragauge.review import open_queue
    from ragauge.review.promoting import promoted

    if source is not None:
        items = list(load_golden(source))
    else:
        with open_queue(where) as queue:
            items = promoted(queue.labels(), list(queue.items()))
    done = promote(items, target, replace=replace)
    if as_json:
        document = PromoteDocument(golden=str(target), added=done.added, replaced=done.replaced, repeated=done.repeated)
        emit_json(document.model_dump(mode="json"))
        return 0
    click.echo(f"{len(done.added)} added to {target}, {len(done.replaced)} replaced")
    for name, other in done.repeated.items():
        click.echo(f"  left out: {_plain(name)} asks what {_plain(other)} asks")
    return 0


@command.command("label-chunks")
@_file
@_corpus
@_config
@click.option(
    "--write", "target", type=click.Path(path_type=Path, dir_okay=False), help="Write the labelled set there."
)
@click.option("--unsure", is_flag=True, help="With --write: also proposals that should be looked at.")
@click.option("--run", "run", metavar="RUN", help="Retrieval at both granularities, over what this run retrieved.")
@click.option("--k", type=click.IntRange(1), default=5, show_default=True, help="With --run.")
@click.option("--runs", "base", type=click.Path(path_type=Path, file_okay=False), default=Path("runs"))
@json_option
def label_chunks(file: Path, target: Path | None, unsure: bool, **options: Any) -> int:
    """Propose which chunks hold the answers of items that name only documents, with evidence."""
    from ragauge.dataset.documents import LabelChunksDocument
    from ragauge.dataset.golden import load_golden
    from ragauge.dataset.label_chunks import label_chunks as propose
    from ragauge.dataset.label_chunks import with_proposals
    from ragauge.dataset.writers import save_golden
    from ragauge.report import golden as report
    from ragauge.report.terminal import stdout_console

    golden = load_golden(file)
    index = index_of(options["corpus"], options["config"], needed=True)
    assert index is not None
    found = propose(golden, index)
    labelled = with_proposals(golden, found.proposals, only_sure=not unsure)
    levels = _levels(options, labelled, index) if options["run"] else None
    if target is not None:
        save_golden(labelled, target)
    if options["as_json"]:
        document = LabelChunksDocument(
            proposals=found.proposals,
            unlabelled=found.unlabelled,
            retrieval=levels,
            written=str(target) if target else None,
        )
        emit_json(document.model_dump(mode="json"))
    else:
        stdout_console().print(report.labelling(found, levels))
    return 0


def _levels(options: dict[str, Any], items: Any, index: Any) -> Any:
    from ragauge.dataset.evidence import resolve_labels
    from ragauge.dataset.label_chunks import both_levels
    from ragauge.store.rundir import find_run

    run = find_run(options["run"], options["base"])
    contexts = {
        record.sample.item.id: record.sample.response.context
        for record in run.records()
        if record.sample.response.context is not None and record.sample.repeat == 0
    }
    labels = {item.id: resolve_labels(item, index) for item in items if item.answerable is not False}
    grades = {name: (found.chunks or {}, found.documents or {}) for name, found in labels.items()}
    return both_levels(contexts, grades, options["k"])


def index_of(corpus: Path | None, config: Path | None, *, needed: bool) -> Any:
    """The corpus as chunks: a file of chunks, or documents cut as the settings say."""
    from ragauge.cli.run import DEFAULT_FILE
    from ragauge.dataset.beir import read_chunks
    from ragauge.dataset.evidence import CorpusIndex
    from ragauge.engine.settings import load_settings
    from ragauge.errors import SettingsError

    file = config or (DEFAULT_FILE if DEFAULT_FILE.exists() else None)
    settings = load_settings(file, {})
    path = corpus or (Path(settings.path(settings.corpus)) if settings.corpus else None)
    if path is None:
        if needed:
            raise SettingsError("this needs the corpus", hint="--corpus FOLDER, or `corpus:` in ragauge.yaml")
        return None
    if path.is_file() or (path / "corpus.jsonl").is_file():
        return CorpusIndex.from_chunks(read_chunks(path))
    from ragauge.systems.reference.chunk import ChunkSettings, chunk_documents
    from ragauge.systems.reference.corpus import load_corpus

    kind, values = settings.system_kind()
    own = values if kind == "reference" else {}
    size, overlap = own.get("chunk_size", 800), own.get("chunk_overlap", 100)
    return CorpusIndex.from_chunks(
        chunk_documents(load_corpus(path).documents, ChunkSettings(size=int(size), overlap=int(overlap)))
    )


def _encode(file: Path) -> Any:
    """The packaged embedder; None for sets so large that it would take minutes."""
    return _encoder() if file.is_file() and file.stat().st_size < 2_000_000 else None


def _encoder() -> Any:
    def encode(texts: Any) -> Any:
        from ragauge.embeddings import load

        return load().encode(list(texts))

    return encode


def _plain(text: str) -> str:
    from ragauge.cli.common import printable

    return printable(text).replace("\n", " ")
