"""The names of the measures, their cut-offs, and the names that other tools give them."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from ragauge.errors import UnknownName, UsageError

#: Canonical name → what it is, in one line. Everything else about a measure is in `single.py`, one function each.
MEASURES: dict[str, str] = {
    "hit_rate": "1 if any relevant id is among the first k",
    "recall": "share of the relevant ids found among the first k",
    "recall_cap": "relevant ids among the first k / min(relevant ids, k)",
    "precision": "relevant ids among the first k / k",
    "precision_retrieved": "relevant ids among the first k / ids that came back (at most k)",
    "f1": "harmonic mean of precision@k and recall@k",
    "reciprocal_rank": "1 / rank of the first relevant id; 0 beyond k",
    "average_precision": "sum of the precision at each relevant rank up to k / all relevant ids",
    "ndcg": "discounted gain of the first k / that of the best possible order",
    "r_precision": "relevant ids among the first R / R, R = number of relevant ids",
    "context_precision_ids": "sum of the precision at each relevant rank up to k / relevant ids among the first k",
    "context_recall_ids": "share of the relevant ids found anywhere in the list",
}

_NO_CUTOFF = frozenset({"r_precision", "context_recall_ids"})

#: Names in trec_eval, pytrec_eval, ranx, ir_measures, BEIR and RAGAS, case-folded.
_ALIASES: dict[str, str] = {
    "success": "hit_rate",
    "hit": "hit_rate",
    "r": "recall",
    "set_recall": "recall",
    "r_cap": "recall_cap",
    "p": "precision",
    "set_p": "precision_retrieved",
    "set_precision": "precision_retrieved",
    "id_context_precision": "precision_retrieved",
    "set_f": "f1",
    "set_f1": "f1",
    "f": "f1",
    "rr": "reciprocal_rank",
    "mrr": "reciprocal_rank",
    "recip_rank": "reciprocal_rank",
    "ap": "average_precision",
    "map": "average_precision",
    "map_cut": "average_precision",
    "ndcg_cut": "ndcg",
    "rprec": "r_precision",
    "r-precision": "r_precision",
    "context_precision": "context_precision_ids",
    "id_context_recall": "context_recall_ids",
}

_UNDERSCORED_CUTOFF = re.compile(r"(.+?)[_.](-?[0-9]+)\Z")


@dataclass(frozen=True, slots=True)
class Measure:
    """A measure and its cut-off. `k` None means the whole list."""

    name: str
    k: int | None = None

    def __post_init__(self) -> None:
        if self.name not in MEASURES:
            raise UnknownName("measure", self.name, [*MEASURES, *_ALIASES])
        check_cutoff(self.k)
        if self.k is not None and self.name in _NO_CUTOFF:
            raise UsageError(f"{self.name} takes no cut-off", hint=f"Write {self.name!r} without '@{self.k}'.")

    @property
    def key(self) -> str:
        """`name[@k]`, the one spelling of it in results."""
        return self.name if self.k is None else f"{self.name}@{self.k}"


def check_cutoff(k: object) -> None:
    """Raise `UsageError` unless `k` is None or a whole number from 1."""
    if k is None:
        return
    if isinstance(k, bool) or not isinstance(k, int) or k < 1:
        raise UsageError(f"k must be a whole number from 1, not {k!r}", hint="Leave k out for the whole list.")


def parse_measure(text: str | Measure) -> Measure:
    """A `Measure` from its name in our spelling or another tool's.

    >>> parse_measure("ndcg@10"), parse_measure("ndcg_cut_10").key, parse_measure("P.5").key, parse_measure("MRR").key
    (Measure(name='ndcg', k=10), 'ndcg@10', 'precision@5', 'reciprocal_rank')
    """
    if isinstance(text, Measure):
        return text
    name, at, cut = text.strip().partition("@")
    name = name.casefold()
    if not at and name not in MEASURES and name not in _ALIASES:
        underscored = _UNDERSCORED_CUTOFF.match(name)
        if underscored:
            name, at, cut = underscored[1], "@", underscored[2]
    if ":" in text:
        raise UsageError(
            f"{text!r}: a ranking holds ids as they are, so ':doc' and ':chunk' say nothing here",
            hint="Collapse the run to documents first (`--collapse`), then name the measure without the suffix.",
        )
    name = _ALIASES.get(name, name)
    if name not in MEASURES:
        raise UnknownName("measure", name, [*MEASURES, *_ALIASES])
    if at and not (cut.isascii() and cut.isdigit() and int(cut) > 0):
        raise UsageError(f"in {text!r}, k must be a whole number from 1, not {cut!r}", hint="For example 'recall@10'.")
    return Measure(name, int(cut) if at else None)


def parse_measures(metrics: str | Measure | Iterable[str | Measure]) -> tuple[Measure, ...]:
    """Measures from a comma-separated text or a list; each once, in the order given.

    >>> [m.key for m in parse_measures("ndcg@10, recall@5,recall@10, ndcg_cut_10")]
    ['ndcg@10', 'recall@5', 'recall@10']
    """
    if isinstance(metrics, str):
        metrics = [part for part in metrics.split(",") if part.strip()]
    elif isinstance(metrics, Measure):
        metrics = [metrics]
    found = tuple(dict.fromkeys(parse_measure(metric) for metric in metrics))
    if not found:
        raise UsageError("no measure was asked for", hint=f"Known: {', '.join(MEASURES)}.")
    return found
