"""Ask a system again under other conditions: with the gold passages alone, deeper, in another order, for the quote.

What comes of it is appended to `counterfactuals.jsonl` in the run's directory, one line for each row and condition;
what is there already is not paid for again. `ragauge.diagnose` reads it.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass

from ragauge.core.counterfactual import Condition, Counterfactual
from ragauge.core.judge import Judge
from ragauge.core.run import Record
from ragauge.core.sample import (
    Evidence,
    GoldenItem,
    Labels,
    Question,
    Response,
    RetrievedChunk,
    RetrievedContext,
    Sample,
)
from ragauge.core.score import Score
from ragauge.core.system import Closes, HasCorpus, System
from ragauge.dataset.evidence import CorpusIndex, resolve_labels
from ragauge.dataset.gold import ANY_DOCUMENT
from ragauge.engine.plan import MetricPlan, Supply, plan_metrics
from ragauge.engine.score import score_sample
from ragauge.engine.settings import Settings
from ragauge.errors import SampleError, StoreError
from ragauge.store.jsonl import JsonlWriter, whole_lines
from ragauge.store.rundir import RunDir

FILE = "counterfactuals.jsonl"
#: What decides whether a row came right; only those that the run itself computed are computed again.
SCORED = ("correctness", "faithfulness", "abstention", "wrong_abstention", "keyword_hits", "exact_match")
CONDITIONS: tuple[Condition, ...] = ("gold_context", "more_k", "shuffled", "quote_query")

#: A document that is given whole is no longer than this: some 10 000 tokens, which every model takes.
MOST_CHARACTERS = 40_000

Told = Callable[[Counterfactual, int, int], None]
Key = tuple[str, int]


@dataclass(frozen=True)
class Trial:
    """Who is asked. `deeper`: the same system with a larger k (None: it has none). `plan` None: nothing to score."""

    system: System
    deeper: System | None = None
    plan: MetricPlan | None = None
    corpus: CorpusIndex | None = None
    seed: int = 0
    timeout_s: float | None = None
    concurrency: int = 8


async def try_conditions(
    run: RunDir,
    keys: Collection[Key],
    system: System,
    judge: Judge | None,
    *,
    deeper: System | None = None,
    conditions: Sequence[Condition] = CONDITIONS,
    concurrency: int = 8,
    timeout_s: float | None = None,
    told: Told | None = None,
) -> int:
    """Try `conditions` on the rows of `run` that `keys` name; the number of lines written.

    Answers of a system cannot be tried again when there is none: recorded outputs have no counterfactuals.
    """
    wanted = set(keys)
    records = [record for record in run.records() if record.key in wanted and record.error is None]
    corpus = CorpusIndex.from_chunks(system.corpus()) if isinstance(system, HasCorpus) else None
    plan = _plan(run, records, judge)
    trial = Trial(system, deeper, plan, corpus, run.manifest.seed, timeout_s, concurrency)
    done = _done(run)
    jobs = [
        (record, condition)
        for record in records
        for condition in conditions_for(record, conditions)
        if (*record.key, condition) not in done
    ]
    try:
        with JsonlWriter(run.path / FILE) as writer:
            return await _carry_out(trial, jobs, writer, told)
    finally:
        for one in (system, deeper):
            if isinstance(one, Closes):
                await one.aclose()


async def _carry_out(
    trial: Trial, jobs: Sequence[tuple[Record, Condition]], writer: JsonlWriter, told: Told | None
) -> int:
    source: Iterator[tuple[Record, Condition]] = iter(jobs)
    n_done = 0

    async def worker() -> None:
        nonlocal n_done
        for record, condition in source:
            line = await attempt(trial, record, condition)
            writer.append(line.model_dump_json(exclude_defaults=True))
            n_done += 1
            if told is not None:
                told(line, n_done, len(jobs))

    async with asyncio.TaskGroup() as group:
        for _ in range(max(1, min(trial.concurrency, len(jobs)))):
            group.create_task(worker())
    return n_done


def deeper_settings(settings: Settings) -> Settings | None:
    """The same settings with four times k (20 at least); None where the system is not the reference pipeline."""
    kind, values = settings.system_kind()
    if kind != "reference":
        return None
    k = max(20, 4 * int(values.get("k") or 5))
    more = {"k": min(k, 1000), "candidates": max(k, int(values.get("candidates") or 20))}
    return settings.model_copy(update={"system": {kind: values | more}})


def conditions_for(record: Record, wanted: Sequence[Condition] = CONDITIONS) -> list[Condition]:
    """What can settle this row: nothing for unanswerable items; depth only where a passage is missing, order only
    where none is.
    """
    item, labels = record.sample.item, record.sample.labels
    if item.answerable is False or (labels.chunks is None and labels.documents is None):
        return []
    missing = not all(_found(record.sample, record.sample.response.context, number) for number in range(_n(labels)))
    useful = {"gold_context", *(("more_k", "quote_query") if missing else ("shuffled",))}
    return [condition for condition in wanted if condition in useful]


async def attempt(trial: Trial, record: Record, condition: Condition) -> Counterfactual:
    """Ask once, score, and say what came of it; a condition that cannot be tried has an `error`."""
    item, repeat = record.sample.item, record.sample.repeat
    try:
        response, found = await _asked(trial, record, condition)
    except SampleError as error:
        return Counterfactual(id=item.id, repeat=repeat, condition=condition, error=error.message)
    except _NotPossible as reason:
        return Counterfactual(id=item.id, repeat=repeat, condition=condition, error=str(reason))
    except TimeoutError:
        return Counterfactual(id=item.id, repeat=repeat, condition=condition, error="the system took too long")
    scores: dict[str, Score] = {}
    if trial.plan is not None and condition != "quote_query":
        labels = record.sample.labels if trial.corpus is None else resolve_labels(item, trial.corpus, response)
        scores, _ = await score_sample(trial.plan, Sample(item=item, response=response, labels=labels, repeat=repeat))
    return Counterfactual(id=item.id, repeat=repeat, condition=condition, response=response, scores=scores, found=found)


class _NotPossible(Exception):
    """Why a condition cannot be tried on a row."""


async def _asked(trial: Trial, record: Record, condition: Condition) -> tuple[Response, tuple[bool, ...]]:
    item = record.sample.item
    async with asyncio.timeout(trial.timeout_s):
        if condition == "gold_context":
            return await trial.system.respond(item.ask(), context=gold_context(item, record, trial.corpus)), ()
        if condition == "shuffled":
            context = shuffled(record.sample.response.context, f"{trial.seed}:{item.id}")
            return await trial.system.respond(item.ask(), context=context), ()
        if condition == "more_k":
            if trial.deeper is None:
                raise _NotPossible("this system has no k that could be raised from here")
            return await trial.deeper.respond(item.ask()), ()
        return await _quotes(trial, record)


async def _quotes(trial: Trial, record: Record) -> tuple[Response, tuple[bool, ...]]:
    """The gold words themselves as the question: whether each needed passage comes back, at least its document."""
    sample, found, response = record.sample, [], Response()
    system = trial.deeper or trial.system
    for number in range(_n(sample.labels)):
        text = _quote(sample, number, trial.corpus)
        if text is None or trial.corpus is not None or _found(sample, sample.response.context, number):
            found.append(True)  # nothing to ask, or it is known to be there: labels are checked against the corpus
            continue
        response = await system.respond(Question(id=f"{sample.item.id}?quote{number + 1}", text=text))
        found.append(_found(sample, response.context, number, documents_too=True))
    if not found:
        raise _NotPossible("no passage is labelled")
    return response, tuple(found)


def gold_context(item: GoldenItem, record: Record, corpus: CorpusIndex | None) -> RetrievedContext:
    """The first alternative of every needed passage: its chunk where one holds all of it, else the quote itself.

    Where only documents are labelled: all of their chunks, as far as they fit (`MOST_CHARACTERS`).
    """
    chunks: list[RetrievedChunk] = []
    retrieved = {chunk.id: chunk for chunk in record.sample.response.context or ()}
    for number, group in enumerate(item.evidence or (), start=1):
        quoted = next((part for part in group.any if part.quote), None)
        if quoted is not None and quoted.quote is not None:
            holder = _holder(quoted, corpus)
            chunks.append(
                RetrievedChunk(
                    id=holder[0] if holder else f"gold:{number}",
                    document=None if quoted.document == ANY_DOCUMENT else quoted.document,
                    text=holder[1] if holder else quoted.quote,
                    rank=1,
                )
            )
    if not chunks:
        for name, grade in (record.sample.labels.chunks or {}).items():
            known = corpus.by_id.get(name) if corpus is not None else None
            one = retrieved.get(name)
            text, document = (known.text, known.document) if known else (one.text, one.document) if one else ("", None)
            if grade > 0 and text:
                chunks.append(RetrievedChunk(id=name, document=document, text=text, rank=1))
    if not chunks and corpus is not None and record.sample.labels.chunks is None:
        chunks = _whole(record.sample.labels, corpus)
    if not chunks:
        raise _NotPossible("no gold passage with its text is known")
    unique = list({chunk.id: chunk for chunk in chunks}.values())
    return RetrievedContext(
        chunks=tuple(chunk.model_copy(update={"rank": rank}) for rank, chunk in enumerate(unique, start=1))
    )


def _whole(labels: Labels, corpus: CorpusIndex) -> list[RetrievedChunk]:
    """The labelled documents from their first chunk to their last."""
    names = [name for name, grade in (labels.documents or {}).items() if grade > 0]
    found = [chunk for name in names for chunk in corpus.by_document.get(name, ())]
    n_characters = sum(len(chunk.text) for chunk in found)
    if n_characters > MOST_CHARACTERS:
        raise _NotPossible(f"the labelled documents have {n_characters} characters, too many for one context")
    return [RetrievedChunk(id=c.id, document=c.document, text=c.text, rank=1) for c in found if c.text]


def shuffled(context: RetrievedContext | None, seed: str) -> RetrievedContext:
    """The same chunks in another order, the same one every time; reversed where chance changed nothing."""
    if context is None or len(context) < 2:
        raise _NotPossible("fewer than two chunks were retrieved: there is no other order")
    order = list(context.chunks)
    random.Random(seed).shuffle(order)
    if [chunk.id for chunk in order] == [chunk.id for chunk in context.chunks]:
        order.reverse()
    return RetrievedContext(
        chunks=tuple(chunk.model_copy(update={"rank": rank}) for rank, chunk in enumerate(order, start=1))
    )


def _holder(evidence: Evidence, corpus: CorpusIndex | None) -> tuple[str, str] | None:
    if corpus is None:
        return None
    quote = " ".join((evidence.quote or "").split())
    for name in corpus.resolve(evidence).chunks:
        if quote in " ".join(corpus.by_id[name].text.split()):
            return name, corpus.by_id[name].text
    return None


def _quote(sample: Sample, number: int, corpus: CorpusIndex | None) -> str | None:
    evidence = sample.item.evidence or ()
    groups = sample.labels.groups or ()
    if number < len(evidence) and len(groups) >= len(evidence):
        quote = next((part.quote for part in evidence[number].any if part.quote), None)
        if quote is not None:
            return quote
    names = groups[number] if number < len(groups) else tuple(sample.labels.chunks or ())
    return next((corpus.by_id[name].text for name in names if corpus is not None and name in corpus.by_id), None)


def _n(labels: Labels) -> int:
    return len(labels.groups) if labels.groups else 1


def _found(sample: Sample, context: RetrievedContext | None, number: int, *, documents_too: bool = False) -> bool:
    """Whether a chunk of the numbered passage is in `context`; `documents_too`: any chunk of its documents will do."""
    if context is None:
        return False
    labels = sample.labels
    documents = {name for name, grade in (labels.documents or {}).items() if grade > 0}
    if labels.groups:
        names = set(labels.groups[number])
        evidence = sample.item.evidence or ()
        if number < len(evidence) and len(labels.groups) >= len(evidence):
            documents = {part.document for part in evidence[number].any}
    elif labels.chunks is not None:
        names = {name for name, grade in labels.chunks.items() if grade > 0}
    else:
        names, documents_too = set(), True
    return any(chunk.id in names or (documents_too and chunk.document in documents) for chunk in context.chunks)


def _plan(run: RunDir, records: Sequence[Record], judge: Judge | None) -> MetricPlan | None:
    supply = Supply()
    for record in records:
        supply.add(record.sample.item, record.sample.response, record.sample.labels)
    requests: list[str | Mapping[str, Mapping[str, object]]] = [
        {spec.key: {name: value for name, value in spec.params.items() if name not in ("k", "level")}}
        for spec in run.manifest.metrics
        if spec.info.name in SCORED
    ]
    if not requests or not records:
        return None
    needs_judge = any("judge" in spec.info.needs for spec in run.manifest.metrics if spec.info.name in SCORED)
    return plan_metrics(requests, supply, judge) if judge is not None or not needs_judge else None


def _done(run: RunDir) -> set[tuple[str, int, str]]:
    file = run.path / FILE
    if not file.exists():
        return set()
    found: set[tuple[str, int, str]] = set()
    for number, _, line in whole_lines(file):
        try:
            one = Counterfactual.model_validate_json(line)
        except ValueError as error:
            raise StoreError(f"{file}:{number}: a line is damaged", hint="Delete the file and try again.") from error
        if one.error is None:
            found.add((one.id, one.repeat, one.condition))
    return found
