"""The laws that every judge keeps."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ragauge.core.judge import Judge, JudgeInfo, Task
from ragauge.core.model import Model
from ragauge.core.sample import RetrievedChunk
from ragauge.core.tasks import (
    ABSTENTION,
    CITATION_SUPPORT,
    CORRECTNESS,
    COVERAGE,
    NEEDS_CITATION,
    RELEVANCE,
    REVERSE_QUESTIONS,
    SIMILARITY,
    SPLIT_CLAIMS,
    SUFFICIENCY,
    SUPPORT,
    TASKS,
    USEFULNESS,
    ClaimsReply,
    QuestionsReply,
    SimilarityReply,
    VerdictReply,
    VerdictsReply,
)  # fmt: skip
from ragauge.core.verdict import Claim, Verdict
from ragauge.errors import JudgeUnsupported
from ragauge.testing.laws import LawBroken, finish, law

_QUESTION = "Which port does the agent listen on?"
_ANSWER = "The agent listens on port 8125. It speaks UDP."
_REFERENCE = "The agent listens on UDP port 8125."
# Ids that no judge would make up by counting: they must be copied from what was asked.
_CHUNKS = tuple(
    RetrievedChunk(id=id, text=text, rank=rank)
    for rank, (id, text) in enumerate(
        (
            ("guide#7", "The agent listens on UDP port 8125 by default."),
            ("c1", "The cafeteria opens at noon."),
            ("ünïcode/3", "Set agent.port to change the port that the agent listens on."),
        ),
        start=1,
    )
)
_CLAIMS = tuple(
    Claim(id=id, text=text)
    for id, text in (
        ("k-9", "The agent listens on port 8125."),
        ("c2", "The agent was written in Norway."),
        ("2", "The agent speaks UDP."),
    )
)

#: For each task, inputs on which every judge that can do it must give a proper reply.
EXAMPLES: Mapping[str, Mapping[str, Any]] = {
    SPLIT_CLAIMS.name: {"text": _ANSWER},
    SUPPORT.name: {"claims": _CLAIMS, "chunks": _CHUNKS},
    COVERAGE.name: {"claims": _CLAIMS, "text": _REFERENCE},
    USEFULNESS.name: {"question": _QUESTION, "chunks": _CHUNKS, "reference": _REFERENCE},
    SUFFICIENCY.name: {"question": _QUESTION, "chunks": _CHUNKS},
    ABSTENTION.name: {"question": _QUESTION, "answer": _ANSWER},
    CORRECTNESS.name: {"question": _QUESTION, "answer": _ANSWER, "reference": _REFERENCE},
    RELEVANCE.name: {"question": _QUESTION, "answer": _ANSWER},
    REVERSE_QUESTIONS.name: {"answer": _ANSWER, "n": 3},
    CITATION_SUPPORT.name: {
        "claims": _CLAIMS[:2],
        "chunks": _CHUNKS[:2],
        "cited": {"k-9": ("guide#7",), "c2": ("guide#7", "c1")},
    },
    NEEDS_CITATION.name: {"claims": _CLAIMS},
    SIMILARITY.name: {"text": _QUESTION, "others": ("Where does the agent listen?", "Lunch is at noon.", _QUESTION)},
}


def check_judge(judge: Judge, *, deterministic: bool = True) -> list[str]:
    """LawBroken unless `judge` keeps the laws; gives the names of the tasks that it can do (at least one).

    Its card is stable and survives JSON; each task is answered with its own reply type; every asked id comes back
    exactly once and in the order asked, with a label from the menu and, as evidence, a chunk that was shown; counts are
    what was asked for; with `deterministic` (a language model need not be) the same question gets the same reply. A
    task that it cannot do raises `JudgeUnsupported`.
    """
    name = type(judge).__name__
    info = judge.info()
    law(isinstance(info, JudgeInfo), f"{name}.info() gave {info!r}, no JudgeInfo")
    law(JudgeInfo.model_validate_json(info.model_dump_json()) == info, f"{name}.info() does not survive JSON")
    able = []
    for task in TASKS.values():
        reply = _ask(name, judge, task)
        if reply is None:
            continue
        able.append(task.name)
        _check_reply(f"{name} on {task.name}", task, EXAMPLES[task.name], reply)
        if deterministic:
            again = _ask(name, judge, task)
            law(again == reply, f"{name} on {task.name} gave different replies: {reply!r}, {again!r}")
    law(judge.info() == info, f"{name}.info() changed while judging")
    law(able, f"{name} can do none of the tasks")
    return able


def _ask(name: str, judge: Judge, task: Task[Any]) -> Model | None:
    try:
        reply: Model = finish(judge.ask(task, **EXAMPLES[task.name]))
    except JudgeUnsupported:
        return None
    except LawBroken:
        raise
    except Exception as error:
        raise LawBroken(f"{name} on {task.name} raised {error!r}") from error
    return reply


def _check_reply(where: str, task: Task[Any], inputs: Mapping[str, Any], reply: Model) -> None:
    law(isinstance(reply, task.reply), f"{where} gave {reply!r}, no {task.reply.__name__}")
    match reply:
        case ClaimsReply():
            ids = [claim.id for claim in reply.claims]
            law(ids, f"{where} found no claims in {inputs['text']!r}")
            law(len(set(ids)) == len(ids), f"{where} gave two claims one id: {ids}")
        case VerdictsReply():
            _check_verdicts(where, task, inputs, reply.verdicts)
        case VerdictReply():
            label = reply.verdict.label
            law(label in task.labels, f"{where} gave the label {label!r}, not one of {task.labels}")
        case QuestionsReply():
            n = inputs["n"]
            law(len(reply.questions) == n, f"{where} gave {len(reply.questions)} questions instead of {n}")
            law(all(question.strip() for question in reply.questions), f"{where} gave a question without words")
        case SimilarityReply():
            _check_similarities(where, inputs, reply.similarities)


def _check_verdicts(where: str, task: Task[Any], inputs: Mapping[str, Any], verdicts: Sequence[Verdict]) -> None:
    asked = [thing.id for thing in inputs["claims" if "claims" in inputs else "chunks"]]
    given = [verdict.id for verdict in verdicts]
    law(given == asked, f"{where} was asked about {asked}, but gave verdicts on {given}")
    shown = {chunk.id for chunk in inputs.get("chunks", ())}
    for verdict in verdicts:
        law(verdict.label in task.labels, f"{where} gave the label {verdict.label!r}, not one of {task.labels}")
        if shown and verdict.evidence is not None:
            law(verdict.evidence in shown, f"{where} gave as evidence {verdict.evidence!r}, which was not shown")


def _check_similarities(where: str, inputs: Mapping[str, Any], values: Sequence[float]) -> None:
    n = len(inputs["others"])
    law(len(values) == n, f"{where} gave {len(values)} similarities for {n} texts")
    law(all(-1.000001 <= value <= 1.000001 for value in values), f"{where} gave a cosine outside -1 to 1: {values}")
    law(values[-1] >= max(values) - 1e-6, f"{where}: a text must be nearest to itself, but got {values}")
