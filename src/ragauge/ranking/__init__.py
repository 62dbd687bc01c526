"""Retrieval measures over many questions at once: ids in, numbers out. No text, no model, no network.

    >>> from ragauge.ranking import evaluate
    >>> evaluate({"q1": {"A": 1, "C": 1}}, {"q1": ["B", "A", "D", "C", "E"]}, "recall@3,reciprocal_rank").means
    {'recall@3': 0.5, 'reciprocal_rank': 0.5}

The conventions are trec_eval's (ties, cut-offs, levels), with one deliberate difference: a judged question that the run
leaves out counts as 0 (trec_eval's `-c`), so that a retriever cannot raise its mean by staying silent.
Importing this package loads no numpy; it is loaded when there are enough questions for it to pay.
"""

from ragauge.ranking.collapse import collapse_run, collapse_to_documents
from ragauge.ranking.evaluate import evaluate
from ragauge.ranking.judgements import Judgements
from ragauge.ranking.measures import MEASURES, Measure, parse_measure, parse_measures
from ragauge.ranking.options import Options
from ragauge.ranking.result import RankingResult
from ragauge.ranking.single import score_one

__all__ = [
    "MEASURES",
    "Judgements",
    "Measure",
    "Options",
    "RankingResult",
    "collapse_run",
    "collapse_to_documents",
    "evaluate",
    "parse_measure",
    "parse_measures",
    "score_one",
]
