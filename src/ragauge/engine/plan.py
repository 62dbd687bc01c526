"""Before anything is spent: which metrics can this data feed, and which can it not."""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ragauge.core.judge import Judge
from ragauge.core.metric import Derived, Metric, MetricInfo, MetricSpec, Need, metric_key, parse_metric_key
from ragauge.core.sample import GoldenItem, Labels, Response, Sample, is_blank
from ragauge.errors import SettingsError
from ragauge.registry import load, names

#: What is computed when nothing is asked for. The same cut-offs whatever the system's k, so that runs that differ in k
#: can be compared and gated; `context_recall_ids` looks at all that was retrieved.
RETRIEVAL_METRICS = (
    "hit_rate@5", "recall@5", "precision@5", "reciprocal_rank", "ndcg@5", "context_precision_ids@5",
    "context_recall_ids", "coverage", "zero_results",
)  # fmt: skip
#: Computed at the system's k as well, where that is larger.
DEEPER_METRICS = ("hit_rate@{k}", "recall@{k}", "ndcg@{k}")
GENERATION_METRICS = (
    "faithfulness", "context_precision", "context_recall", "context_sufficiency", "answered_without_context",
    "correctness", "completeness", "citation_accuracy", "citation_recall", "abstention", "wrong_abstention",
    "correct_abstention", "hallucination_on_unanswerable", "keyword_hits", "token_f1", "composite",
)  # fmt: skip
_PARTS_MISSING = "not all of the metrics that it is made of are computed (name others, or missing: skip)"
_NEED_WORDS = {
    Need.ANSWER: "an answer",
    Need.CONTEXT: "retrieved chunks",
    Need.CONTEXT_TEXT: "retrieved chunks with their text",
    Need.REFERENCE: "a reference answer",
    Need.LABELS: "relevance labels (chunks, sources, relevance or evidence)",
    Need.ANSWERABLE: "`answerable`",
    Need.KEYWORDS: "keywords",
}


@dataclass
class Supply:
    """What the data can feed: of `n` samples, how many have each thing, and labels at each granularity.

    `sure` False: the system has not answered yet, so answers and contexts are expected, not known.
    """

    n: int = 0
    have: Counter[Need] = field(default_factory=Counter)
    levels: Counter[str] = field(default_factory=Counter)
    sure: bool = True

    def add(self, item: GoldenItem, response: Response | None, labels: Labels) -> None:
        """Count one sample in."""
        self.n += 1
        have = {
            Need.REFERENCE: item.answer is not None,
            Need.ANSWERABLE: item.can_be_answered is not None,
            Need.KEYWORDS: bool(item.keywords),
            Need.LABELS: labels.chunks is not None or labels.documents is not None,
        }
        if response is not None:
            context = response.context
            have[Need.ANSWER] = not is_blank(response.answer)
            have[Need.CONTEXT] = context is not None
            have[Need.CONTEXT_TEXT] = context is not None and (not len(context) or bool(context.with_text))
        else:
            self.sure = False
        self.have.update(need for need, present in have.items() if present)
        self.levels.update(level for level in ("chunk", "doc") if labels.at(level) is not None)

    def lacks(self, need: Need) -> bool:
        """Whether no sample has it, as far as can be known now."""
        unknown = not self.sure and need in (Need.ANSWER, Need.CONTEXT, Need.CONTEXT_TEXT)
        return need is not Need.JUDGE and not unknown and self.have[need] == 0


def survey(samples: Iterable[Sample]) -> Supply:
    """What these samples can feed."""
    supply = Supply()
    for sample in samples:
        supply.add(sample.item, sample.response, sample.labels)
    return supply


@dataclass(frozen=True)
class MetricPlan:
    """What will be computed: metrics by key, derived ones after them, and why the others are left out."""

    metrics: dict[str, Metric]
    derived: dict[str, Derived]
    specs: tuple[MetricSpec, ...]
    skipped: dict[str, str]


def plan_metrics(
    requests: Sequence[str | Mapping[str, Mapping[str, Any]]] | None, supply: Supply, judge: Judge | None, k: int = 5
) -> MetricPlan:
    """Build every metric that was asked for (None: the default set) and that `supply` can feed.

    A request is a key (`recall@5`, `recall@5:doc`) or `{key: {parameter: value}}`. Without a granularity, a rank
    metric is computed at each one that has labels. Raises `UnknownName`, `SettingsError` before anything is asked.
    """
    wanted = requests if requests is not None else default_metrics(judge is not None, k)
    metrics: dict[str, Metric] = {}
    derived: dict[str, Derived] = {}
    specs: dict[str, MetricSpec] = {}
    skipped: dict[str, str] = {}
    for request in wanted:
        key, parameters = _request(request)
        for built in _build(key, parameters, supply, judge):
            if isinstance(built, _Skip):
                skipped[built.key] = built.why
                continue
            specs[built.key] = built.spec
            if isinstance(built.metric, Derived):
                derived[built.key] = built.metric
            else:
                metrics[built.key] = built.metric
    for key in _without_parts(derived, metrics):
        skipped[key] = _PARTS_MISSING
        del derived[key], specs[key]
    if not metrics:
        reasons = "; ".join(f"{key}: {why}" for key, why in skipped.items()) or "no metric was named"
        raise SettingsError(f"none of the metrics can be computed on this data ({reasons})")
    return MetricPlan(metrics, derived, tuple(specs.values()), skipped)


def default_metrics(judged: bool, k: int) -> list[str]:
    """The default set for a system that retrieves `k` chunks; without a judge only what is free."""
    free = [name for name in GENERATION_METRICS if judged or not _needs_judge(name)]
    deeper = [name.format(k=k) for name in DEEPER_METRICS] if k > 5 else []
    return [*RETRIEVAL_METRICS, *deeper, *free]


def _without_parts(derived: Mapping[str, Derived], metrics: Mapping[str, Metric]) -> list[str]:
    """Derived metrics of which not a single component, or not every required one, is computed."""
    there = set(metrics) | {parse_metric_key(key)[0] for key in metrics}
    lacking = []
    for key, metric in derived.items():
        parts = getattr(metric, "metrics", ())
        enough = any if getattr(metric, "missing", "unscored") == "skip" else all
        if parts and not enough(part in there for part in parts):
            lacking.append(key)
    return lacking


@dataclass(frozen=True)
class _Built:
    key: str
    metric: Any
    spec: MetricSpec


@dataclass(frozen=True)
class _Skip:
    key: str
    why: str


def _request(request: str | Mapping[str, Mapping[str, Any]]) -> tuple[str, dict[str, Any]]:
    if isinstance(request, str):
        return request.strip(), {}
    if isinstance(request, Mapping) and len(request) == 1:
        key, parameters = next(iter(request.items()))
        if isinstance(parameters, Mapping):
            return key, dict(parameters)
    raise SettingsError(f"metrics: {request!r} is neither a name nor {{name: {{parameter: value}}}}")


def _build(key: str, parameters: dict[str, Any], supply: Supply, judge: Judge | None) -> list[_Built | _Skip]:
    try:
        name, k, level = parse_metric_key(key)
    except ValueError as error:
        raise SettingsError(f"metrics: {error}") from None
    factory = load("metrics", name)
    info: MetricInfo = factory.info
    known = {entry.name: entry for entry in dataclasses.fields(factory)}
    _check_parameters(key, known, parameters, k, level)
    if "judge" in known:
        optional = known["judge"].default is not dataclasses.MISSING
        if judge is None and not optional:
            return [_Skip(key, "it needs a judge")]
        # A metric that can do without a judge is free unless its card says that it uses one.
        if not optional or Need.JUDGE in info.uses:
            parameters["judge"] = judge
    missing = [_NEED_WORDS[need] for need in sorted(info.needs) if supply.lacks(need)]
    if missing:
        return [_Skip(key, f"no sample has {' or '.join(missing)}")]
    if k is not None:
        parameters["k"] = k
    if "level" not in known or level is not None or "level" in parameters:
        return [_make(name, factory, parameters | ({"level": level} if level else {}))]
    levels = [level for level in ("chunk", "doc") if supply.levels[level]] or ["doc"]
    return [_make(name, factory, parameters | {"level": level}) for level in levels]


def _check_parameters(
    key: str, known: Mapping[str, Any], parameters: Mapping[str, Any], k: int | None, level: str | None
) -> None:
    for given, value in (("k", k), ("level", level)):
        if value is not None and given not in known:
            raise SettingsError(f"metrics: {key!r}: this metric has no {'@k' if given == 'k' else 'granularity'}")
    for name in parameters:
        if name not in known or name == "judge":
            offered = sorted(set(known) - {"judge"})
            raise SettingsError(f"metrics: {key!r} has no parameter {name!r}", hint=f"It has: {', '.join(offered)}.")


def _make(name: str, factory: Any, parameters: dict[str, Any]) -> _Built:
    try:
        metric = factory(**parameters)
    except (TypeError, ValueError) as error:
        raise SettingsError(f"metrics: {name}: {error}") from error
    key = metric_key(name, k=getattr(metric, "k", None), level=getattr(metric, "level", None))
    shown = {
        entry.name: value
        for entry in dataclasses.fields(metric)
        if entry.name != "judge" and (value := getattr(metric, entry.name)) is not None
    }
    return _Built(key, metric, MetricSpec(key=key, info=factory.info, params=shown))


def _needs_judge(name: str) -> bool:
    factory = load("metrics", name)
    fields = {entry.name: entry for entry in dataclasses.fields(factory)}
    return "judge" in fields and fields["judge"].default is dataclasses.MISSING


def known_metrics() -> frozenset[str]:
    """Every metric name that is installed."""
    return frozenset(names("metrics"))
