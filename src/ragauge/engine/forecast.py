"""What a run would cost, before it is made: the real pipeline and metrics, with models that are not asked."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from ragauge.core.forecast import ForecastFigures
from ragauge.core.sample import GoldenItem, Response, RetrievedChunk, RetrievedContext, Sample, Usage
from ragauge.core.system import Closes, HasCorpus, System, repeating
from ragauge.dataset.evidence import CorpusIndex, resolve_labels
from ragauge.dataset.golden import GoldenSet
from ragauge.engine.parts import make_system
from ragauge.engine.plan import MetricPlan, Supply, plan_metrics
from ragauge.engine.recipe import redrawn_plans
from ragauge.engine.run import Options, Samples, chosen
from ragauge.engine.score import score_sample
from ragauge.engine.settings import Settings
from ragauge.errors import SampleError
from ragauge.systems.reference.embedders import is_api

#: What is guessed of a system that is not asked: so many passages of so many characters.
GUESSED_CHUNKS, GUESSED_LENGTH = 5, 800
_GUESSED_ANSWER = "This is what such a system would say about it. It takes three sentences. Here is the third one."
_ASKS_NOBODY = ("embedded", "crossencoder", "scripted")


@dataclass
class Forecast:
    """Calls that would be made, calls that the cache would answer, tokens guessed from characters, US dollars.

    `metrics`: by metric, shared work (a claim split) with the one that asks first. `system`: answers and queries;
    `index`: prefixes of chunks. Retries and re-asks are not in it. `notes` say what was guessed.
    """

    n_samples: int = 0
    metrics: dict[str, Usage] = field(default_factory=dict)
    system: Usage = field(default_factory=Usage)
    index: Usage = field(default_factory=Usage)
    skipped: dict[str, str] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)

    @property
    def total(self) -> Usage:
        """All of it."""
        return sum(self.metrics.values(), self.system + self.index)

    def figures(self) -> ForecastFigures:
        """As it is printed."""
        return ForecastFigures(
            n_samples=self.n_samples, total=self.total, metrics=self.metrics, system=self.system, index=self.index,
            not_computed=self.skipped, notes=tuple(self.notes),
        )  # fmt: skip


async def forecast_run(golden: GoldenSet, options: Options) -> Forecast:
    """Of `run_system`. `options` must be dry (`Shared(dry=True)`); no run is made and no reply is stored."""
    settings = options.settings
    golden = golden.filter(tags=settings.run.tags, limit=settings.run.limit)
    forecast = Forecast()
    system = await _dry_system(options, forecast)
    try:
        corpus = CorpusIndex.from_chunks(system.corpus()) if isinstance(system, HasCorpus) else None
        supply = Supply()
        for item in golden:
            supply.add(item, None, resolve_labels(item, corpus, Response()))
        k = _k(settings)
        plans = _plans(options, supply, k, forecast)
        for draw, plan in enumerate(plans):
            for item in golden:
                try:
                    with repeating(draw):
                        response = guessed(item) if system is None else await system.respond(item.ask())
                except SampleError:
                    continue  # a stored reply that cannot be used: the real run would say so
                forecast.system = forecast.system + response.usage
                labels = resolve_labels(item, corpus, response)
                await _add(forecast, plan, Sample(item=item, response=response, labels=labels, repeat=draw), options)
    finally:
        if isinstance(system, Closes):
            await system.aclose()
    return forecast


async def forecast_samples(samples: Samples, options: Options) -> Forecast:
    """Of `score_samples`: the recorded answers are what is judged, so only the judge's replies are guessed."""
    forecast, supply = Forecast(), Supply()
    for sample in chosen(samples, options.settings):
        supply.add(sample.item, sample.response, sample.labels)
    for plan in _plans(options, supply, 5, forecast):
        for sample in chosen(samples, options.settings):
            await _add(forecast, plan, sample, options)
    return forecast


async def _add(forecast: Forecast, plan: MetricPlan, sample: Sample, options: Options) -> None:
    forecast.n_samples += 1
    if options.judge is None or options.judge.info().kind in _ASKS_NOBODY:
        return
    _, used = await score_sample(plan, sample)
    for key, one in used.items():
        if one.usage.calls or one.usage.cached_calls:
            forecast.metrics[key] = forecast.metrics.get(key, Usage()) + one.usage


def _plans(options: Options, supply: Supply, k: int, forecast: Forecast) -> Iterable[MetricPlan]:
    first = plan_metrics(options.settings.metrics, supply, options.judge, k)
    forecast.skipped = first.skipped
    again = redrawn_plans(options.settings, options.judge, supply, k)
    return [again.get(repeat, first) for repeat in range(options.settings.run.repeats)]


def _k(settings: Settings) -> int:
    k = settings.system_kind()[1].get("k")
    return k if isinstance(k, int) else 5


async def _dry_system(options: Options, forecast: Forecast) -> System | None:
    """The reference pipeline with models that are not asked; None for a system that could cost something to ask."""
    settings = options.settings
    kind, values = settings.system_kind()
    if kind not in ("reference", "replay"):
        forecast.notes.append(
            f"the system ({kind}) is not asked: its answers are guessed to be as long as the golden ones, with "
            f"{GUESSED_CHUNKS} passages of {GUESSED_LENGTH} characters"
        )
        return None
    if kind == "replay":
        return make_system(settings)
    contextual = values.get("prefix") == "contextual"
    without_network = {"store": "memory"} | ({"embedder": "minilm"} if is_api(values.get("embedder")) else {})
    plain = without_network | ({"retrieval": "bm25", "expand": "none"} if contextual else {})
    if is_api(values.get("embedder")):
        forecast.notes.append("the embedder is not asked: chunks are guessed with the one on this machine")
    system: Any = make_system(_with(settings, plain), options.shared)
    await system.build_index()
    if contextual:
        forecast.index = system.prefix_usage
        if forecast.index.calls:
            forecast.notes.append("chunk prefixes are not written yet: retrieval is guessed by BM25, without expansion")
        else:  # all of them are in the cache: the pipeline as it is
            await system.aclose()
            system = make_system(_with(settings, without_network), options.shared)
    done: System = system
    return done


def _with(settings: Settings, more: dict[str, Any]) -> Settings:
    kind, values = settings.system_kind()
    return settings.model_copy(update={"system": {kind: values | more}})


def guessed(item: GoldenItem) -> Response:
    """What a system that is not asked might say."""
    text = " ".join(_filler(item.question))
    chunks = tuple(
        RetrievedChunk(id=f"guess-{rank}", text=f"{rank} {text}"[:GUESSED_LENGTH], rank=rank)
        for rank in range(1, GUESSED_CHUNKS + 1)
    )
    return Response(context=RetrievedContext(chunks=chunks), answer=item.answer or _GUESSED_ANSWER)


def _filler(question: str) -> Iterator[str]:
    length = 0
    while length < GUESSED_LENGTH:
        yield question
        length += len(question) + 1
