"""Several judges, or one judge several times, and one verdict."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from typing import Any, TypeVar, cast

from ragauge.core.judge import Judge, JudgeInfo, Task
from ragauge.core.model import Model, fingerprint
from ragauge.core.tasks import VerdictReply, VerdictsReply
from ragauge.core.verdict import Verdict
from ragauge.errors import JudgeUnsupported, SampleError, SettingsError
from ragauge.judges.families import family_of
from ragauge.judges.layers import Around
from ragauge.judges.votes import Ballot, Ledger, Rule, combined, things

T = TypeVar("T", bound=Model)


@dataclass(frozen=True)
class Jury(Around):
    """Two to five judges. Verdicts are voted on; what is no verdict (claims, questions, cosines) comes from the first
    judge that can give it, so that all vote on the same claims.

    A judge that fails is left out of a vote as long as more than half of them give one; it is then said in the reason.
    """

    judges: tuple[Judge, ...]
    rule: Rule = "majority"
    ledger: Ledger = field(default_factory=Ledger, compare=False, repr=False)

    def __post_init__(self) -> None:
        if not 2 <= len(self.judges) <= 5:
            raise SettingsError(f"a jury has two to five judges, not {len(self.judges)}")

    @property
    def names(self) -> tuple[str, ...]:
        """The judges' names, made different where two are of one name."""
        cards = [judge.info().name for judge in self.judges]
        return tuple(n if cards.count(n) == 1 else f"{n}#{i}" for i, n in enumerate(cards, start=1))

    def info(self) -> JudgeInfo:
        """The jury's card."""
        cards = [judge.info() for judge in self.judges]
        prompts = {name: digest for card in reversed(cards) for name, digest in card.prompts.items()}
        return JudgeInfo(
            name=f"jury({', '.join(self.names)})",
            kind="jury",
            version="1",
            fingerprint=fingerprint(["jury", self.rule, [card.fingerprint for card in cards]]),
            agreement="Agreement of this jury with people is not measured; `ragauge calibrate` measures it.",
            prompts=prompts,
            voters=self.families,
        )

    @property
    def families(self) -> dict[str, str]:
        """Each judge's model family, or its own name where that is not known."""
        cards = [judge.info() for judge in self.judges]
        return {n: family_of(card.model or card.name) or card.name for n, card in zip(self.names, cards, strict=True)}

    def with_sample(self, sample: int) -> Jury:
        """The same jury, each judge that can draw anew doing so; the ledger is shared."""
        n = len(self.judges)
        judges = tuple(
            judge.with_sample(sample * n + judge.sample) if hasattr(judge, "with_sample") else judge  # type: ignore[attr-defined]
            for judge in self.judges
        )
        return Jury(judges, self.rule, self.ledger)

    def cross_family_agreement(self) -> tuple[float, int] | None:
        """Share of verdicts (0 to 1) on which judges of different model families agree, and how many pairs it is of."""
        return self.ledger.cross_family(self.families)

    async def ask(self, task: Task[T], /, **inputs: Any) -> T:
        """The jury's reply to `task`."""
        if task.reply not in (VerdictReply, VerdictsReply):
            return await self._first(task, inputs)
        replies = await asyncio.gather(*(_tried(judge, task, inputs) for judge in self.judges))
        given = {n: r for n, r in zip(self.names, replies, strict=True) if not isinstance(r, SampleError)}
        failed = [reply for reply in replies if isinstance(reply, SampleError)]
        if 2 * len(given) <= len(self.judges):
            raise failed[0]
        return cast(T, self._vote(task, given))

    def _vote(self, task: Task[Any], given: dict[str, Any]) -> VerdictReply | VerdictsReply:
        single = task.reply is VerdictReply
        by_voter = {name: (reply.verdict,) if single else reply.verdicts for name, reply in given.items()}
        if single:  # judges name the whole differently; it is one thing all the same
            by_voter = {n: tuple(v.model_copy(update={"id": task.name}) for v in vs) for n, vs in by_voter.items()}
        verdicts: list[Verdict] = []
        for votes in things(by_voter):
            verdict = combined(task.labels, votes, self.rule, len(self.judges))
            self.ledger.add(Ballot(task.name, verdict.ballots))
            verdicts.append(verdict)
        return VerdictReply(verdict=verdicts[0]) if single else VerdictsReply(verdicts=tuple(verdicts))

    async def _first(self, task: Task[T], inputs: dict[str, Any]) -> T:
        failures: list[SampleError] = []
        for judge in self.judges:
            reply = await _tried(judge, task, inputs)
            if not isinstance(reply, SampleError):
                return reply
            failures.append(reply)
        raise next((f for f in failures if not isinstance(f, JudgeUnsupported)), failures[0])


async def _tried(judge: Judge, task: Task[T], inputs: dict[str, Any]) -> T | SampleError:
    try:
        return await judge.ask(task, **inputs)
    except SampleError as failure:
        return failure


def repeated(judge: Any, n: int, rule: Rule = "majority") -> Jury:
    """The same judge `n` times (2 to 5), each draw with cache entries, a seed and a chunk order of its own.

    The jury's `ledger.flip_rate()` says how often it does not agree with itself, and each verdict's probability how
    many of its draws said yes. A judge without randomness (the embedded one) cannot be repeated: `SettingsError`.
    """
    if not hasattr(judge, "with_sample"):
        raise SettingsError(
            f"the judge {judge.info().name!r} always says the same", hint="Repeat a language-model judge."
        )
    return Jury(tuple(judge.with_sample(sample) for sample in range(n)), rule)
