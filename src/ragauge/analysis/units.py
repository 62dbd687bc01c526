"""What a judge said of each answer of a run (or of each chunk or claim), as pass or fail."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Literal

from ragauge.analysis.labels import UnitKey
from ragauge.analysis.thresholds import Thresholds
from ragauge.core.metric import MetricSpec, parse_metric_key
from ragauge.core.run import Manifest, Record
from ragauge.core.score import Scored, Unscored
from ragauge.core.verdict import Verdict
from ragauge.dataset.fingerprint import response_fingerprint
from ragauge.errors import UnknownName, UsageError
from ragauge.text.tokens import words

Band = Literal["pass", "unsure", "fail"]
BANDS: tuple[Band, ...] = ("pass", "unsure", "fail")

#: For these, one flaw is a failure: an answer with an unsupported claim, one that is only partly right.
_STRICT = frozenset(("faithfulness", "correctness", "completeness", "citation_accuracy", "citation_recall"))
#: Labels that pass, of every task's menu.
_PASSING = frozenset(("supported", "useful", "sufficient", "correct", "needed", "5"))
#: What a failing answer is, in a sentence: "… of answers" + this.
PHRASES = {
    "faithfulness": "of answers contain an unsupported claim",
    "correctness": "of answers are not fully right",
    "completeness": "of answers leave something out",
    "context_sufficiency": "of questions got a context that is not enough",
    "answer_relevance": "of answers miss the question",
    "citation_accuracy": "of answers have a citation that does not hold",
    "abstention": "of decisions to answer or decline are wrong",
}
TARGET_PHRASES = {
    "context_precision": "of retrieved chunks are not useful",
    "faithfulness": "of claims are not supported",
    "citation_accuracy": "of citations do not hold",
}


@dataclass(frozen=True)
class Unit:
    """One thing that the judge gave a verdict on. `confidence` is P(it passes), where the judge says so.

    `rank` is the place among the things that were judged together, from 1.
    """

    key: UnitKey
    value: float
    failing: bool
    answer: str
    tags: tuple[str, ...] = ()
    n_words: int = 0
    model: str | None = None
    rank: int | None = None
    confidence: float | None = None
    worst: str = ""
    question: str = ""
    text: str = ""


@dataclass(frozen=True)
class Units:
    """All units of one metric of a run, in order; what could not be judged, by reason."""

    metric: str
    spec: MetricSpec
    limit: float
    by_target: bool
    units: tuple[Unit, ...]
    unscored: dict[str, int] = field(default_factory=dict)

    @property
    def by_key(self) -> dict[UnitKey, Unit]:
        """Every unit by its key."""
        return {unit.key: unit for unit in self.units}

    @property
    def rule(self) -> str:
        """When a unit counts as failing."""
        if self.by_target:
            return "a verdict other than the good one"
        return f"value {'<' if self.spec.info.better == 'higher' else '>'} {self.limit:g}"

    @property
    def phrase(self) -> str:
        """`of answers contain an unsupported claim`."""
        name = parse_metric_key(self.metric)[0]
        known = TARGET_PHRASES if self.by_target else PHRASES
        return known.get(name, f"of {'verdicts' if self.by_target else 'answers'} fail {self.metric}")


def failing_limit(spec: MetricSpec, thresholds: Thresholds, given: float | None = None) -> float:
    """From which value on an answer passes: `given`; 1 where one flaw is a failure; else the metric's threshold."""
    name = parse_metric_key(spec.key)[0]
    if given is not None:
        return given
    if spec.info.better == "lower":
        return 0.0
    threshold = thresholds.of(spec.key)
    if name in _STRICT or spec.info.kind == "rate" or threshold is None:
        return spec.info.high
    return threshold.good


def units_of(
    manifest: Manifest,
    records: Iterable[Record],
    metric: str,
    *,
    by_target: bool = False,
    limit: float | None = None,
) -> Units:
    """The units of `metric` in a run; with `by_target` one for each chunk or claim that it judged."""
    specs = {spec.key: spec for spec in manifest.metrics}
    if metric not in specs:
        raise UnknownName("metric in this run", metric, specs)
    spec = specs[metric]
    if spec.info.better == "none":
        raise UsageError(f"{metric} is a description: no value of it is a failure, so there is nothing to calibrate")
    thresholds = Thresholds.model_validate(manifest.thresholds) if manifest.thresholds else Thresholds()
    cut = failing_limit(spec, thresholds, limit)
    found: list[Unit] = []
    unscored: Counter[str] = Counter()
    for record in records:
        score = record.scores.get(metric)
        if isinstance(score, Scored):
            found += _by_target(record, score) if by_target else [_whole(record, score, spec, cut)]
        else:
            unscored[score.reason.value if isinstance(score, Unscored) else "not_asked"] += 1
    return Units(metric, spec, cut, by_target, tuple(found), dict(sorted(unscored.items())))


def _whole(record: Record, score: Scored, spec: MetricSpec, cut: float) -> Unit:
    sample = record.sample
    failing = score.value < cut if spec.info.better == "higher" else score.value > cut
    sure = [verdict.probability for verdict in score.verdicts if verdict.probability is not None]
    bad = [verdict.label for verdict in score.verdicts if verdict.label not in _PASSING]
    return Unit(
        key=(sample.item.id, sample.repeat, None),
        value=score.value,
        failing=failing,
        answer=response_fingerprint(sample.response),
        tags=sample.item.tags,
        n_words=len(words(sample.response.answer or "")),
        model=sample.response.model,
        confidence=min(sure) if sure and len(sure) == len(score.verdicts) else None,
        worst="contradicted" if "contradicted" in bad else (bad[0] if bad else ""),
        question=sample.item.question,
        text=sample.response.answer or "",
    )


def _by_target(record: Record, score: Scored) -> list[Unit]:
    sample = record.sample
    answer = response_fingerprint(sample.response)
    texts: Mapping[str, str] = {c.id: c.text for c in sample.response.context} if sample.response.context else {}
    units = []
    for place, verdict in enumerate(score.verdicts, start=1):
        text = verdict.claim or texts.get(verdict.id, "")
        units.append(
            Unit(
                key=(sample.item.id, sample.repeat, verdict.id),
                value=float(_passes(verdict)),
                failing=not _passes(verdict),
                answer=answer,
                tags=sample.item.tags,
                n_words=len(words(text)),
                model=sample.response.model,
                rank=place,
                confidence=verdict.probability,
                worst="" if _passes(verdict) else verdict.label,
                question=sample.item.question,
                text=text,
            )
        )
    return units


def _passes(verdict: Verdict) -> bool:
    return verdict.label in _PASSING


def bands(units: Units) -> dict[UnitKey, Band]:
    """Each unit's band of judge score: pass, unsure or fail. Fixed by the run: the same in every draw from it.

    With probabilities, the third of the units nearest to ½ is unsure (ties by key); without, values between the ends
    of the scale that are no clear failure: at least half way up.
    """
    told = [unit for unit in units.units if unit.confidence is not None]
    unsure: set[UnitKey] = set()
    if told and len(told) == len(units.units):
        order = sorted(told, key=lambda unit: (abs((unit.confidence or 0.0) - 0.5), _sortable(unit.key)))
        unsure = {unit.key for unit in order[: len(order) // 3]}
    else:
        low, high = units.spec.info.low, units.spec.info.high
        middle = (low + high) / 2.0
        better = 1.0 if units.spec.info.better == "higher" else -1.0
        unsure = {
            unit.key for unit in units.units if low < unit.value < high and better * unit.value >= better * middle
        }
    return {unit.key: "unsure" if unit.key in unsure else "fail" if unit.failing else "pass" for unit in units.units}


def _sortable(key: UnitKey) -> tuple[str, int, str]:
    return key[0], key[1], key[2] or ""
