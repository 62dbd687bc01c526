"""The judging protocol as metrics see it: every asked id comes back exactly once, with a label from the menu.

A reply that is short, doubled, off the menu or about something else is asked again, only for the ids that lack a usable
verdict, once. Then it is an error with a reason. So a denominator is always what was asked, never what came back.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, TypeVar

from ragauge.core.judge import Judge, Task
from ragauge.core.sample import RetrievedChunk, is_blank
from ragauge.core.tasks import COVERAGE, SIMILARITY, SUPPORT, USEFULNESS, VerdictReply, VerdictsReply
from ragauge.core.verdict import Claim, Verdict
from ragauge.errors import JudgeIncomplete, JudgeUnparseable

Thing = TypeVar("Thing", Claim, RetrievedChunk)

#: How often a judge is asked for the verdicts that it owes, the first time included.
ROUNDS = 2


def match_verdicts(
    asked: Sequence[str], reply: VerdictsReply, menu: Sequence[str], evidence: Collection[str] | None = None
) -> tuple[Verdict, ...]:
    """The verdicts of `reply` in the order of `asked`, one for one.

    JudgeIncomplete when ids are missing; JudgeUnparseable when one comes twice, was never asked, has a label outside
    `menu`, or names as evidence a chunk that is not among `evidence` (where given).

    >>> reply = VerdictsReply(verdicts=(Verdict(id="c1", label="supported"),))
    >>> [verdict.label for verdict in match_verdicts(["c1"], reply, SUPPORT.labels)]
    ['supported']
    """
    good, problems = _sort_out(asked, reply, menu, evidence, ())
    if problems:
        raise JudgeUnparseable("; ".join(problems), raw=reply.model_dump_json())
    return _complete(asked, good, reply.model_dump_json())


def _sort_out(
    owed: Sequence[str],
    reply: VerdictsReply,
    menu: Sequence[str],
    evidence: Collection[str] | None,
    settled: Collection[str],
) -> tuple[dict[str, Verdict], list[str]]:
    """The usable verdicts by id, and what is wrong with the others.

    A reply about something that was never asked is no use at all; what was settled before and is said again is ignored.
    """
    if not isinstance(reply, VerdictsReply):
        raise JudgeUnparseable(f"the judge answered with a {type(reply).__name__}, not with verdicts", raw=repr(reply))
    times = Counter(verdict.id for verdict in reply.verdicts)
    wanted = set(owed)
    good: dict[str, Verdict] = {}
    problems = []
    for verdict in reply.verdicts:
        if verdict.id in settled:
            continue
        if verdict.id not in wanted:
            problems.append(f"a verdict on {verdict.id!r}, which was not asked")
        elif times[verdict.id] > 1:
            problems.append(f"{times[verdict.id]} verdicts on {verdict.id!r}")
        elif verdict.label not in menu:
            problems.append(f"the label {verdict.label!r} for {verdict.id!r} is not one of {', '.join(menu)}")
        elif evidence is not None and verdict.evidence is not None and verdict.evidence not in evidence:
            problems.append(f"the evidence {verdict.evidence!r} for {verdict.id!r} is no chunk that was shown")
        else:
            good[verdict.id] = verdict
    foreign = any(id not in wanted and id not in settled for id in times)
    return {} if foreign else good, list(dict.fromkeys(problems))


def _complete(asked: Sequence[str], good: Mapping[str, Verdict], raw: str) -> tuple[Verdict, ...]:
    missing = [id for id in asked if id not in good]
    if missing:
        raise JudgeIncomplete(
            f"the judge gave no usable verdict for {len(missing)} of {len(asked)}: {', '.join(missing[:10])}", raw=raw
        )
    return tuple(good[id] for id in asked)


async def verdicts_on(
    judge: Judge,
    task: Task[VerdictsReply],
    things: Sequence[Thing],
    inputs: Callable[[tuple[Thing, ...]], Mapping[str, Any]],
    evidence: Collection[str] | None = None,
) -> tuple[Verdict, ...]:
    """One verdict for each of `things`, in their order; `inputs` makes the task's inputs for those still owed.

    Nothing to ask about: nothing is asked. Each verdict carries the words that it judges.
    """
    asked = [thing.id for thing in things]
    good: dict[str, Verdict] = {}
    problems: list[str] = []
    raws: list[str] = []
    for _ in range(ROUNDS):
        owed = tuple(thing for thing in things if thing.id not in good)
        if not owed:
            break
        reply = await judge.ask(task, **inputs(owed))
        usable, problems = _sort_out([thing.id for thing in owed], reply, task.labels, evidence, good)
        raws.append(reply.model_dump_json())
        good |= usable
    raw = "\n".join(raws)
    if problems and len(good) < len(asked):
        raise JudgeUnparseable(f"after {len(raws)} replies: " + "; ".join(problems[:10]), raw=raw)
    words = {thing.id: thing.text for thing in things if isinstance(thing, Claim)}
    return tuple(
        verdict.model_copy(update={"claim": words[verdict.id]}) if verdict.id in words else verdict
        for verdict in _complete(asked, good, raw)
    )


async def support(judge: Judge, claims: Sequence[Claim], chunks: Sequence[RetrievedChunk]) -> tuple[Verdict, ...]:
    """Is each claim supported by the chunks? Without a chunk nothing can be, and the judge is not asked."""
    if not chunks:
        return without_judge(claims, "not_mentioned", "nothing was retrieved")
    shown = tuple(chunks)
    ids = {chunk.id for chunk in shown}
    return await verdicts_on(judge, SUPPORT, claims, lambda owed: {"claims": owed, "chunks": shown}, ids)


async def coverage(judge: Judge, claims: Sequence[Claim], text: str) -> tuple[Verdict, ...]:
    """Which of the claims does `text` state?"""
    return await verdicts_on(judge, COVERAGE, claims, lambda owed: {"claims": owed, "text": text})


async def usefulness(
    judge: Judge, question: str, chunks: Sequence[RetrievedChunk], reference: str | None
) -> tuple[Verdict, ...]:
    """Is each chunk useful for answering? A chunk that shows no text is not, unasked, and keeps its place."""
    shown = [chunk for chunk in chunks if not is_blank(chunk.text)]
    asked = await verdicts_on(
        judge, USEFULNESS, shown, lambda owed: {"question": question, "chunks": owed, "reference": reference}
    )
    given = {verdict.id: verdict for verdict in asked}
    blank = {
        chunk.id: Verdict(id=chunk.id, label="not_useful", reason="the chunk shows no text")
        for chunk in chunks
        if chunk.id not in given
    }
    return tuple((given | blank)[chunk.id] for chunk in chunks)


async def verdict_on(judge: Judge, task: Task[VerdictReply], **inputs: Any) -> Verdict:
    """One verdict on the whole, its label from the menu; asked once more when it is not."""
    reply = None
    for _ in range(ROUNDS):
        reply = await judge.ask(task, **inputs)
        if isinstance(reply, VerdictReply) and reply.verdict.label in task.labels:
            return reply.verdict
    found = reply.verdict.label if isinstance(reply, VerdictReply) else type(reply).__name__
    raise JudgeUnparseable(
        f"the judge answered {task.name} with {found!r}, not one of {', '.join(task.labels)}",
        raw=reply.model_dump_json() if reply is not None else None,
    )


async def similarities(judge: Judge, text: str, others: Sequence[str]) -> tuple[float, ...]:
    """Cosine of `text` to each of `others` (-1 to 1), one for one."""
    reply = await judge.ask(SIMILARITY, text=text, others=tuple(others))
    values = reply.similarities
    if len(values) != len(others):
        raise JudgeIncomplete(f"{len(values)} similarities for {len(others)} texts", raw=reply.model_dump_json())
    if any(not -1.000001 <= value <= 1.000001 for value in values):
        raise JudgeUnparseable("a cosine outside -1 to 1", raw=reply.model_dump_json())
    return tuple(min(1.0, max(-1.0, value)) for value in values)


def without_judge(claims: Sequence[Claim], label: str, reason: str) -> tuple[Verdict, ...]:
    """The same verdict on every claim, where no judge needs to be asked."""
    return tuple(Verdict(id=claim.id, claim=claim.text, label=label, reason=reason) for claim in claims)


def shares(verdicts: Sequence[Verdict], menu: Sequence[str]) -> dict[str, float]:
    """Share of the verdicts with each label of the menu (0 to 1; they add up to 1). Empty without verdicts."""
    if not verdicts:
        return {}
    counts = Counter(verdict.label for verdict in verdicts)
    return {label: counts[label] / len(verdicts) for label in menu}


def count(verdicts: Sequence[Verdict], label: str) -> int:
    """How many verdicts have this label."""
    return sum(verdict.label == label for verdict in verdicts)
