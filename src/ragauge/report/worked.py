"""What a metric means, in words taken from its own docstring, and a retrieval measure worked out step by step.

Nothing here is typed in: the arithmetic is done on the list that is given, and its result is the measure's own.
"""

from __future__ import annotations

import inspect
import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from ragauge.core.metric import MetricInfo, Need
from ragauge.core.model import Model
from ragauge.core.score import Score
from ragauge.errors import UsageError
from ragauge.ranking.measures import Measure
from ragauge.ranking.options import Options
from ragauge.ranking.single import Hits, dcg, find_hits, ideal_dcg, value

#: The list that every retrieval metric is explained on.
RETRIEVED = ("B", "A", "D", "C", "E")
RELEVANT = {"A": 1, "C": 1}
DEFAULT_K = 5

_CARD = ("title", "version", "low", "high", "better", "kind", "half", "needs", "uses")
_SECTIONS = ("Formula", "Edge cases", "Cost", "Source", "Example")
_HEADING = re.compile(rf"^({'|'.join(_SECTIONS)}): ?", re.MULTILINE)


class Worked(Model):
    """One measure of one list: the steps of the arithmetic, and its value. `relevant`: id → grade."""

    measure: str
    retrieved: tuple[str, ...]
    relevant: dict[str, int | float]
    steps: tuple[str, ...]
    value: float


class Scripted(Model):
    """The score that the metric itself gives on the sample that its class offers."""

    question: str
    answer: str | None
    score: Score


class ExplainedMetric(Model):
    """One metric: its card, what its docstring says, and examples. Texts are empty where it does not say.

    `low`/`high`: its range; `needs` cannot be missing, `uses` is read where it is there; `parameters`: those that the
    example is worked out with; `worked`: the measure on a list of ids; `scripted`: of a metric that scores texts.
    """

    metric: str
    title: str
    version: int
    low: float
    high: float
    better: Literal["higher", "lower", "none"]
    kind: Literal["fraction", "rate", "number"]
    half: Literal["retrieval", "generation", "both"]
    needs: tuple[Need, ...]
    uses: tuple[Need, ...]
    source: str
    definition: str
    formula: str
    edge_cases: str
    cost: str
    example: str
    parameters: dict[str, Any]
    worked: tuple[Worked, ...]
    scripted: Scripted | None


class ExplainedMetrics(Model):
    """Several metrics, in the order in which they were named."""

    metrics: tuple[ExplainedMetric, ...]


class _Named(Model):
    metric: str


class MetricCard(MetricInfo, _Named):
    """A metric's card under the name by which it is asked for (`metric`)."""


class MetricList(Model):
    """The cards of all metrics that are installed."""

    metrics: tuple[MetricCard, ...]


#: What `ragauge explain --json` prints for one metric, several, and without any; the schema in the documentation.
ExplainDocument = ExplainedMetric | ExplainedMetrics | MetricList


@dataclass(frozen=True)
class Explanation:
    """What `ragauge explain METRIC` says."""

    name: str
    info: MetricInfo
    definition: str
    sections: Mapping[str, str]
    parameters: Mapping[str, Any] = field(default_factory=dict)
    worked: tuple[Worked, ...] = ()
    scripted: Mapping[str, Any] | None = None

    def document(self) -> ExplainedMetric:
        """All of it, for `--json`."""
        info = self.info.model_dump(mode="json")
        return ExplainedMetric(
            metric=self.name,
            **{key: info[key] for key in _CARD},
            source=self.sections.get("source") or self.info.source,
            **{name: self.sections.get(name, "") for name in ("formula", "edge_cases", "cost", "example")},
            definition=self.definition,
            parameters=dict(self.parameters),
            worked=self.worked,
            scripted=Scripted.model_validate(self.scripted) if self.scripted is not None else None,
        )


def explain(
    name: str,
    factory: Any,
    *,
    parameters: Mapping[str, Any] | None = None,
    worked: Sequence[Worked] = (),
    scripted: Mapping[str, Any] | None = None,
) -> Explanation:
    """The explanation of a metric class: its card, its docstring, and the examples that were worked out for it."""
    definition, sections = read_docstring(inspect.getdoc(factory) or "")
    return Explanation(name, factory.info, definition, sections, parameters or {}, tuple(worked), scripted)


def read_docstring(text: str) -> tuple[str, dict[str, str]]:
    """(what stands before the first heading, heading → text) of a metric's docstring; line breaks become spaces.

    >>> read_docstring("Share of claims.\\n\\nFormula: a / b,\\nas ever.\\nSource: X")
    ('Share of claims.', {'formula': 'a / b, as ever.', 'source': 'X'})
    """
    pieces = _HEADING.split(text)
    sections = {
        heading.lower().replace(" ", "_"): _one_line(body)
        for heading, body in zip(pieces[1::2], pieces[2::2], strict=True)
    }
    return _one_line(pieces[0]), sections


def _one_line(text: str) -> str:
    return " ".join(text.split())


def work_out(
    name: str,
    k: int | None,
    retrieved: Sequence[str] = RETRIEVED,
    relevant: Mapping[str, float] | None = None,
    **options: Any,
) -> Worked | None:
    """`name` on one list with every step of the arithmetic; None for a measure that does not work on ids alone.

    >>> for step in work_out("average_precision", None).steps: print(step)
    relevant ids: A at rank 2, C at rank 4; 2 of 2 found
    precision at rank 2 = 1/2 = 0.5
    precision at rank 4 = 2/4 = 0.5
    (0.5 + 0.5) / 2 relevant ids = 0.5
    """
    grades = dict(RELEVANT if relevant is None else relevant)
    steps_of = _STEPS.get(name)
    if steps_of is None:
        return None
    if not any(grade > 0 for grade in grades.values()) and name != "zero_results":
        raise UsageError("nothing is relevant in this example", hint="--relevant A,C, or --relevant A=2,C=1 for grades")
    chosen = Options(**options)
    hits = find_hits(retrieved, grades, chosen)
    unique = tuple(dict.fromkeys(retrieved))
    case = _Case(name, k, unique, grades, hits, chosen)
    result = _value(case)
    steps = [*_opening(case), *steps_of(case)]
    key = name if k is None else f"{name}@{k}"
    return Worked(measure=key, retrieved=tuple(retrieved), relevant=grades, steps=tuple(steps), value=result)


@dataclass(frozen=True)
class _Case:
    name: str
    k: int | None
    unique: tuple[str, ...]
    grades: Mapping[str, float]
    hits: Hits
    options: Options

    @property
    def limit(self) -> int:
        """k, or the length of the list."""
        return len(self.unique) if self.k is None else self.k

    @property
    def found(self) -> list[int]:
        """Indexes of the relevant ids within the first k."""
        return [index for index in self.hits.relevant if index < self.limit]


def _value(case: _Case) -> float:
    if case.name == "zero_results":
        return float(not case.unique)
    if case.name == "coverage":
        return value(Measure("hit_rate", case.k), case.hits, case.options)
    return value(Measure(case.name, case.k), case.hits, case.options)


def shown(number: float) -> str:
    """A number as people write it: at most four decimals, no trailing zeros.

    >>> shown(0.5), shown(2 / 3), shown(1.0)
    ('0.5', '0.6667', '1')
    """
    return f"{number:.4f}".rstrip("0").rstrip(".")


def _opening(case: _Case) -> list[str]:
    steps = []
    if case.hits.n_duplicates:
        steps.append(f"ids that come again are dropped: {', '.join(case.unique)}")
    if case.name == "zero_results":
        return steps
    places = ", ".join(f"{case.unique[index]} at rank {index + 1}" for index in case.hits.relevant) or "none"
    n_found = len(case.found)
    within = f" within the first {case.k}" if case.k is not None else ""
    steps.append(f"relevant ids: {places}; {n_found} of {case.hits.n_relevant} found{within}")
    return steps


def _quotient(part: float, whole: float) -> str:
    return f"{shown(part)}/{shown(whole)} = {shown(part / whole if whole else 0.0)}"


def _hit_rate(case: _Case) -> list[str]:
    return ["at least one is found: 1" if case.found else "none is found: 0"]


def _recall(case: _Case) -> list[str]:
    return [f"found / relevant = {_quotient(len(case.found), case.hits.n_relevant)}"]


def _recall_cap(case: _Case) -> list[str]:
    whole = case.hits.n_relevant if case.k is None else min(case.hits.n_relevant, case.k)
    return [f"found / min(relevant, k) = {_quotient(len(case.found), whole)}"]


def _precision(case: _Case) -> list[str]:
    return [f"found / {'retrieved' if case.k is None else 'k'} = {_quotient(len(case.found), case.limit)}"]


def _precision_retrieved(case: _Case) -> list[str]:
    whole = min(case.limit, case.hits.n_retrieved)
    return [f"found / retrieved (at most k) = {_quotient(len(case.found), whole)}"]


def _f1(case: _Case) -> list[str]:
    precision = len(case.found) / case.limit if case.limit else 0.0
    recall = len(case.found) / case.hits.n_relevant
    steps = [f"precision P = {_quotient(len(case.found), case.limit)}"]
    steps.append(f"recall R = {_quotient(len(case.found), case.hits.n_relevant)}")
    total = precision + recall
    result = shown(2 * precision * recall / total if total else 0.0)
    steps.append(f"2 P R / (P + R) = 2 × {shown(precision)} × {shown(recall)} / {shown(total)} = {result}")
    return steps


def _reciprocal_rank(case: _Case) -> list[str]:
    if not case.found:
        return ["no relevant id is found: 0"]
    return [f"1 / rank of the first = {_quotient(1, case.found[0] + 1)}"]


def _precisions(case: _Case) -> tuple[list[str], str, float]:
    steps, parts = [], []
    for count, index in enumerate(case.found, start=1):
        steps.append(f"precision at rank {index + 1} = {_quotient(count, index + 1)}")
        parts.append(count / (index + 1))
    return steps, " + ".join(map(shown, parts)) or "0", sum(parts)


def _average_precision(case: _Case) -> list[str]:
    steps, sum_, total = _precisions(case)
    return [*steps, f"({sum_}) / {case.hits.n_relevant} relevant ids = {shown(total / case.hits.n_relevant)}"]


def _context_precision_ids(case: _Case) -> list[str]:
    steps, sum_, total = _precisions(case)
    if not case.found:
        return ["no relevant id is found: 0"]
    return [*steps, f"({sum_}) / {len(case.found)} found = {shown(total / len(case.found))}"]


def _r_precision(case: _Case) -> list[str]:
    n = case.hits.n_relevant
    found = sum(index < n for index in case.hits.relevant)
    return [f"R = {n} relevant ids; {found} of them within the first {n}", f"found / R = {_quotient(found, n)}"]


def _ndcg(case: _Case) -> list[str]:
    limit = case.limit if case.k is not None else 1 << 62
    gains = [(index, case.options.gain_of(g)) for index, g in zip(case.hits.indexes, case.hits.grades, strict=True)]
    best = sorted((case.options.gain_of(grade) for grade in case.grades.values() if grade > 0), reverse=True)
    reached, possible = dcg(case.hits, limit, case.options), ideal_dcg(case.hits, limit, case.options)
    result = value(Measure("ndcg", case.k), case.hits, case.options)
    return [
        f"DCG = {_discounted([pair for pair in gains if pair[0] < limit])} = {shown(reached)}",
        f"best order = {_discounted(list(enumerate(best[:limit])))} = {shown(possible)}",
        f"DCG / best = {shown(reached)} / {shown(possible)} = {shown(result)}",
    ]


def _discounted(gains: Sequence[tuple[int, float]]) -> str:
    terms = [f"{shown(gain)}/log2({index + 2})" for index, gain in gains]
    numbers = [shown(gain / math.log2(index + 2)) for index, gain in gains]
    return f"{' + '.join(terms)} = {' + '.join(numbers)}" if len(terms) > 1 else " + ".join(terms) or "0"


def _zero_results(case: _Case) -> list[str]:
    return [f"{len(case.unique)} retrieved: {int(not case.unique)}"]


_STEPS: dict[str, Callable[[_Case], list[str]]] = {
    "hit_rate": _hit_rate,
    "recall": _recall,
    "recall_cap": _recall_cap,
    "precision": _precision,
    "precision_retrieved": _precision_retrieved,
    "f1": _f1,
    "reciprocal_rank": _reciprocal_rank,
    "average_precision": _average_precision,
    "ndcg": _ndcg,
    "r_precision": _r_precision,
    "context_precision_ids": _context_precision_ids,
    "context_recall_ids": _recall,
    "coverage": _hit_rate,
    "zero_results": _zero_results,
}
