"""A judge that says what it is told, counts what it is asked, and can misbehave."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

from ragauge.core.judge import JudgeInfo, Task
from ragauge.core.model import Model
from ragauge.core.tasks import ClaimsReply, QuestionsReply, SimilarityReply, VerdictReply, VerdictsReply
from ragauge.core.verdict import Claim, Verdict
from ragauge.testing.laws import law

T = TypeVar("T", bound=Model)


@dataclass(frozen=True)
class Rounds:
    """Different replies, one for each time that the task is asked; the last one goes on."""

    replies: tuple[Any, ...]

    def __init__(self, *replies: Any) -> None:
        object.__setattr__(self, "replies", replies)


@dataclass(frozen=True)
class Call:
    """One time that the judge was asked."""

    task: str
    inputs: Mapping[str, Any]


@dataclass(frozen=True, eq=False)
class ScriptedJudge:
    """Task name → what to reply; every call is kept in `calls`.

    A reply is one of:
    - a reply of the task's own type, or any other model, handed out as it is;
    - for `split_claims` the claims' texts; for `reverse_questions` the questions; for `similarity` the numbers;
    - for verdicts: labels in the order asked; one label for all; or asked id → label, which gives verdicts for exactly
      these ids (leave one out, add one, use a label off the menu: that is how it misbehaves). Instead of a label,
      (label, evidence chunk id) or a `Verdict`;
    - an exception, class or instance: raised;
    - a function of the task's inputs that returns any of these; or `Rounds` of them.

    A task that the script does not name is a broken test, and so is an input that the task does not have.

    >>> judge = ScriptedJudge({"split_claims": ["The port is 8125."], "support": "supported"})
    >>> judge.count()
    0
    """

    script: Mapping[str, Any]
    name: str = "scripted"
    calls: list[Call] = field(default_factory=list)

    def info(self) -> JudgeInfo:
        """Who this is."""
        return JudgeInfo(name=self.name, kind="scripted", version="1", fingerprint=self.name)

    def count(self, task: str | None = None) -> int:
        """How often this judge was asked (this task)."""
        return sum(task is None or call.task == task for call in self.calls)

    async def ask(self, task: Task[T], /, **inputs: Any) -> T:
        """What the script says."""
        asked_before = self.count(task.name)
        self.calls.append(Call(task.name, inputs))
        law(task.name in self.script, f"the judge was asked {task.name!r}, which its script does not have")
        law(
            set(inputs) == set(task.inputs),
            f"{task.name} was asked with {sorted(inputs)}, but its inputs are {sorted(task.inputs)}",
        )
        reply: Any = _reply(task, self.script[task.name], inputs, asked_before)
        answer: T = reply
        return answer


def _reply(task: Task[Any], said: Any, inputs: Mapping[str, Any], asked_before: int) -> Model:
    if isinstance(said, Rounds):
        said = said.replies[min(asked_before, len(said.replies) - 1)]
    if isinstance(said, BaseException) or (isinstance(said, type) and issubclass(said, BaseException)):
        raise said if isinstance(said, BaseException) else said("scripted")
    if callable(said):
        return _reply(task, said(**inputs), inputs, asked_before)
    if isinstance(said, Model) and not isinstance(said, Verdict):
        return said
    return _BUILDERS[task.reply](said, inputs)


def _claims(said: Sequence[str], inputs: Mapping[str, Any]) -> ClaimsReply:
    return ClaimsReply(claims=tuple(Claim(id=f"c{n}", text=text) for n, text in enumerate(said, start=1)))


def _verdicts(said: Any, inputs: Mapping[str, Any]) -> VerdictsReply:
    asked = [thing.id for thing in inputs["claims" if "claims" in inputs else "chunks"]]
    if isinstance(said, Mapping):
        pairs = list(said.items())
    elif isinstance(said, str | tuple | Verdict):
        pairs = [(id, said) for id in asked]
    else:
        pairs = list(zip(asked, said, strict=False))
    return VerdictsReply(verdicts=tuple(_verdict(id, label) for id, label in pairs))


def _verdict(id: str, said: Any) -> Verdict:
    if isinstance(said, Verdict):
        return said
    label, evidence = said if isinstance(said, tuple) else (said, None)
    return Verdict(id=id, label=label, evidence=evidence)


def _questions(said: Sequence[str], inputs: Mapping[str, Any]) -> QuestionsReply:
    return QuestionsReply(questions=tuple(said))


def _similarities(said: float | Sequence[float], inputs: Mapping[str, Any]) -> SimilarityReply:
    many = tuple(said) if isinstance(said, Sequence) else (float(said),) * len(inputs["others"])
    return SimilarityReply(similarities=many)


_BUILDERS: dict[type[Model], Callable[[Any, Mapping[str, Any]], Model]] = {
    ClaimsReply: _claims,
    VerdictsReply: _verdicts,
    VerdictReply: lambda said, inputs: VerdictReply(verdict=_verdict("answer", said)),
    QuestionsReply: _questions,
    SimilarityReply: _similarities,
}


def agreeable_judge() -> ScriptedJudge:
    """A judge that finds everything good.

    Every claim is supported by the first chunk, every chunk useful, every answer an answer. Its claims are the
    sentences of the text.
    """
    return ScriptedJudge(
        {
            "split_claims": lambda text: [part.strip() for part in text.split(". ") if part.strip()],
            "support": lambda claims, chunks: ("supported", chunks[0].id),
            "coverage": "supported",
            "usefulness": "useful",
            "sufficiency": "sufficient",
            "abstention": "answered",
            "correctness": "correct",
            "relevance": "5",
            "reverse_questions": lambda answer, n: [f"Question {number}?" for number in range(1, n + 1)],
            "citation_support": lambda claims, chunks, cited: {
                claim.id: ("supported", cited[claim.id][0]) for claim in claims
            },
            "needs_citation": "needed",
            "similarity": 1.0,
        },
        name="agreeable",
    )
