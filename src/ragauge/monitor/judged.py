"""Judging a day's sample in the background: an ordinary run over the drawn queries, resumed, never paid for twice."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import date

from ragauge.core.model import Model, fingerprint
from ragauge.core.run import Manifest
from ragauge.core.sample import Sample
from ragauge.core.score import Scored
from ragauge.engine.run import Made, Options, Silent, Watcher, run_blocking, score_samples
from ragauge.errors import InputError, StoreError
from ragauge.monitor.query import QueryLog
from ragauge.monitor.sampling import DaySample
from ragauge.monitor.workspace import Workspace
from ragauge.store.rundir import RunDir

#: What is judged unless `metrics:` says otherwise: all that needs neither a reference nor labels.
METRICS = ("faithfulness", "context_sufficiency", "context_precision", "answer_relevance", "answered_without_context",
           "refusal")  # fmt: skip
#: Series → what it is made of: the share of questions with any useful chunk, from the judge's word on each chunk.
COVERAGE, COVERAGE_FROM = "coverage", "context_precision"


class DayScores(Model):
    """What a day's judged run comes to: metric → query id → value. `bytes`: of the rows it was read from."""

    day: str
    run: str
    judge: str
    bytes: int
    complete: bool
    n_rows: int
    values: dict[str, dict[str, float]]
    unscored: dict[str, int]
    better: dict[str, str]
    half: dict[str, str]
    cost_usd: float | None = None


class Samples:
    """The drawn queries as a stream for the engine, in the order of judging, late ones by themselves."""

    def __init__(self, log: QueryLog, sample: DaySample, late: bool = False) -> None:
        self.log, self.sample, self.late = log, sample, late
        self.name = f"log {sample.day}{' late' if late else ''}"  # what the manifest calls the data
        self.warnings: tuple[str, ...] = ()

    @property
    def ids(self) -> list[str]:
        """Whose turn it is, in order."""
        return [one.id for one in self.sample.drawn if (one.probability is None) == self.late]

    def __iter__(self) -> Iterator[Sample]:
        ids = self.ids
        found = {query.id: query for query in self.log.queries(date.fromisoformat(self.sample.day), ids=ids)}
        for name in ids:
            if name in found:
                yield found[name].sample()


def judge_day(
    log: QueryLog,
    space: Workspace,
    sample: DaySample,
    options: Options,
    watcher: Watcher | None = None,
    *,
    again: bool = False,
) -> list[Made]:
    """Judge what the day's sample still lacks: the draw, then late thumbs down. Nothing is judged twice.

    A day that is judged whole is left alone, whatever judge is named now, unless `again`.

    `options.out` and `options.resume` are ours. A judge or metrics that changed start a new run of the day (the old one
    stays). A budget that is spent ends it cleanly (`Made.progress.spent`); the next call goes on. Raises `StoreError`
    when another process is judging the day.
    """
    made = []
    for late in (False, True):
        stream = Samples(log, sample, late)
        if not stream.ids:
            continue
        last = _last(space, sample.day, late)
        if last is not None and not again and _is_done(last, len(stream.ids), options.retry_errors):
            continue
        base = replace(options, out=space.judged(sample.day), name=stream.name.replace(" ", "-"), command="score")
        for resume in (None,) if last is None or again else (last, None):
            try:
                made.append(run_blocking(score_samples(stream, replace(base, resume=resume), watcher or Silent())))
                break
            except StoreError as error:
                if resume is None or not error.message.startswith("cannot resume"):
                    raise
            except InputError as error:
                if "no sample is left" not in error.message:
                    raise
                break  # the log does not hold these queries any more (retention)
        if made and made[-1].progress.spent is not None:
            break
    read_scores(space, sample)
    return made


def _is_done(run: RunDir, n: int, retry_errors: bool) -> bool:
    index = run.index()
    return len(index.offsets) >= n and not (retry_errors and index.failed)


def _last(space: Workspace, day: str, late: bool) -> RunDir | None:
    runs = [run for run in space.runs(day) if run.manifest.dataset.name.endswith("late") == late]
    return runs[-1] if runs else None


def missing(space: Workspace, sample: DaySample) -> int:
    """How many of the draw are not judged yet."""
    scores = read_scores(space, sample)
    return len(sample.drawn) if scores is None else max(0, len(sample.drawn) - scores.n_rows)


def read_scores(space: Workspace, sample: DaySample) -> DayScores | None:
    """The values of the day's newest judged run; kept in a file, read again when the run has grown."""
    run = _last(space, sample.day, late=False)
    if run is None or not run.rows.exists():
        return None
    size = run.rows.stat().st_size
    kept = space.read(DayScores, "scores", f"{sample.day}.json")
    if kept is not None and (kept.run, kept.bytes) == (run.manifest.run, size):
        return kept
    scores = _scores(run, sample, size)
    space.write(scores, "scores", f"{sample.day}.json")
    return scores


def _scores(run: RunDir, sample: DaySample, size: int) -> DayScores:
    values: dict[str, dict[str, float]] = {spec.key: {} for spec in run.manifest.metrics}
    unscored: dict[str, int] = dict.fromkeys(values, 0)
    cost, n = None, 0
    for record in run.records():
        n += 1
        name = record.sample.item.id
        for key, score in record.scores.items():
            if isinstance(score, Scored):
                values[key][name] = score.value
            else:
                unscored[key] += 1
        spent = [used.usage.cost_usd for used in record.used.values() if used.usage.cost_usd is not None]
        cost = (cost or 0.0) + sum(spent) if spent else cost
    specs = {spec.key: spec.info for spec in run.manifest.metrics}
    better = {key: info.better for key, info in specs.items()}
    half = {key: info.half for key, info in specs.items()}
    if COVERAGE not in values and COVERAGE_FROM in values:
        values[COVERAGE] = {name: float(value > 0) for name, value in values[COVERAGE_FROM].items()}
        unscored[COVERAGE] = unscored[COVERAGE_FROM]
        better[COVERAGE], half[COVERAGE] = "higher", "retrieval"
    return DayScores(
        day=sample.day, run=run.manifest.run, judge=_who(run.manifest), bytes=size, n_rows=n, values=values,
        complete=n >= sum(one.probability is not None for one in sample.drawn), unscored=unscored, better=better,
        half=half, cost_usd=cost,
    )  # fmt: skip


def _who(manifest: Manifest) -> str:
    """What must stay the same for two days to be compared: the judge and the versions of the metrics."""
    specs = [(spec.key, spec.info.version, spec.params.get("k")) for spec in manifest.metrics]
    return fingerprint([manifest.judge.fingerprint if manifest.judge else None, sorted(map(str, specs))])
