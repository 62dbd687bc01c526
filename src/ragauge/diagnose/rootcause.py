"""One row, one root cause: the first rule that its facts meet, in the order of cause and effect.

System, labels, retrieval, generation: a question whose evidence was never retrieved is not blamed on the prompt.
"""

from __future__ import annotations

from collections.abc import Callable

from ragauge.analysis.rowcheck import RowCheck, check_row
from ragauge.analysis.thresholds import Thresholds
from ragauge.core.model import Model
from ragauge.core.run import Record
from ragauge.core.score import Kind, Unscored
from ragauge.diagnose.causes import CAUSES
from ragauge.diagnose.facts import Facts, read_facts
from ragauge.diagnose.parts import RunFacts
from ragauge.diagnose.row_generation import declined, order, right, unfaithful, wrong
from ragauge.diagnose.row_labels import disagreement, label, label_against_evidence
from ragauge.diagnose.row_retrieval import retrieval
from ragauge.diagnose.why import Certainty, Why, missing_parts


class RowCause(Model):
    """Why one row failed. `problems`: what was seen; `evidence`: why it comes to this; `also`: what else is wrong."""

    id: str
    repeat: int = 0
    question: str
    cause: str
    half: str
    certainty: Certainty
    fix: str
    problems: tuple[str, ...]
    evidence: tuple[str, ...]
    also: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()


def problems_of(facts: Facts) -> tuple[str, ...]:
    """What is wrong with a row, by its scores and its labels; empty: nothing. Errors of the judge are none of it."""
    check = check_row(facts.record, facts.thresholds)
    found = list(check.problems) if check.outcome == "bad" else []
    if facts.sample.item.answerable is not False and not facts.record.error:
        missing = missing_parts(facts)
        if missing and not any("not retrieved" in problem for problem in found):
            found.append(f"{len(missing)} of {len(facts.parts)} needed passages not retrieved")
        if facts.level == "doc" and not missing and facts.parts and facts.insufficient:
            found.append("the document was retrieved, the passage that answers was not")
        if facts.decision in ("answered", "partial"):
            for name in ("citation_accuracy", "completeness", "answer_relevance", "relevance_rubric"):
                if facts.low(name):
                    found.append(f"{name.replace('_', ' ')} {facts.value(name):.2f}")
        if facts.decision == "declined" and not any("declined" in problem for problem in found):
            found.append("declined an answerable question" if facts.sample.item.answerable else "declined")
        if facts.decision == "no_answer":
            found.append("the answer is blank")
    return tuple(found)


def row_check(record: Record, thresholds: Thresholds) -> RowCheck:
    """✓ or ✗, as the terminal shows it while a run goes on: ✗ for the rows that the diagnosis finds a cause for.

    `analysis.check_row` knows scores only; this knows the labels, too.
    """
    facts = read_facts(record, RunFacts(0, frozenset(), {}, frozenset()), thresholds)
    problems = problems_of(facts) if judged(facts) else ()
    return RowCheck("bad", problems) if problems else check_row(record, thresholds)


def judged(facts: Facts) -> bool:
    """Whether anything could be said about the row: False when every score is a failure of the judge."""
    scores = facts.record.scores.values()
    return bool(facts.record.error) or any(
        not (isinstance(score, Unscored) and score.kind is not Kind.NOT_APPLICABLE) for score in scores
    )


def root_cause(facts: Facts) -> RowCause | None:
    """The cause of a failing row; None for a row without problems."""
    problems = problems_of(facts)
    if not problems:
        return None
    why = next(found for rule in ORDER if (found := rule(facts)) is not None)
    cause = CAUSES[why.cause]
    item = facts.sample.item
    return RowCause(
        id=item.id,
        repeat=facts.sample.repeat,
        question=item.question,
        cause=cause.name,
        half=cause.half,
        certainty=why.certainty,
        fix=why.fix or cause.fix,
        problems=problems,
        evidence=why.evidence,
        also=tuple(name for name in dict.fromkeys((*why.also, *_also(facts, cause.name))) if name != cause.name),
        tags=item.tags,
    )


def _system(facts: Facts) -> Why | None:
    if facts.record.error:
        return Why("system_failed", (facts.record.error,))
    return None


def _unanswerable(facts: Facts) -> Why | None:
    if facts.sample.item.answerable is not False:
        return None
    if facts.decision in ("answered", "partial"):
        return Why("answered_unanswerable", ("the golden item says that the corpus does not answer this",))
    return Why("unexplained", ("an unanswerable question that was not answered",), "likely")


def _also(facts: Facts, cause: str) -> tuple[str, ...]:
    """What else is wrong with the row, whatever comes first."""
    found = []
    if CAUSES[cause].half != "generation" and facts.decision in ("answered", "partial") and facts.faithful is False:
        found.append("unsupported")
    if facts.low("citation_accuracy"):
        found.append("miscited")
    alone = facts.tried.get("gold_context")
    if CAUSES[cause].half == "retrieval" and alone is not None and alone.value("correctness") == 0:
        found.append("wrong_despite_evidence")
    return tuple(found)


#: The rules in the order of cause and effect; the last one always applies.
ORDER: tuple[Callable[[Facts], Why | None], ...] = (
    _system, _unanswerable, disagreement, label, retrieval, order, declined, label_against_evidence,
    unfaithful, wrong, right, lambda facts: Why("unexplained", ("no rule explains it",), "likely"),
)  # fmt: skip
