"""One request and its reply, and the bounded re-asking around it."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from typing import Any, Protocol, TypeVar

from ragauge.core.provider import Provider, Request, Sampling, Shape
from ragauge.errors import JudgeIncomplete, JudgeUnparseable
from ragauge.judges.llm.parsing import Reading, Unreadable, read
from ragauge.prompts import Fenced, Prompt

T = TypeVar("T")
_log = logging.getLogger("ragauge.judges")

#: How much of an unusable reply is kept for the row.
KEPT = 4000
#: A reply that was cut is asked for again with twice the room, up to this many tokens.
MOST_ROOM = 16_000


class Unusable(Exception):
    """A reply that cannot be used. `why` is in our words and may be said to the model; `raw` is what it said."""

    def __init__(self, why: str, raw: str, *, cut: bool = False) -> None:
        super().__init__(why)
        self.why, self.raw, self.cut = why, raw, cut


class Forgets(Protocol):
    """A provider that keeps replies and can drop them."""

    async def forget(self, requests: Iterable[Request]) -> None:
        """Drop the replies to these requests."""
        ...


@dataclass
class Tally:
    """What happened while judging, for notes under a table."""

    n_requests: int = 0
    n_reasks: int = 0
    n_repaired: int = 0
    n_given_up: int = 0


@dataclass
class Conversation:
    """The requests of one judgement: the first, and the re-asks after replies that could not be used."""

    provider: Provider
    prompt: Prompt
    task: str
    shape: Shape
    sampling: Sampling
    sample: int
    max_reasks: int
    tally: Tally
    labels: tuple[str, ...] = ()
    sent: list[Request] = field(default_factory=list)
    raws: list[str] = field(default_factory=list)
    problem: Unusable | None = None
    missing: tuple[str, ...] = ()
    room: int = 0

    @property
    def may_ask(self) -> bool:
        """Whether another request is within the bound."""
        return len(self.sent) <= self.max_reasks

    async def ask(
        self,
        values: dict[str, str | Fenced],
        accept: Callable[[dict[str, Any]], T],
        *,
        ids: tuple[str, ...],
        room: int = 0,
        count: int = 1,
    ) -> Reading[T] | None:
        """Send one request; None if the reply could not be used (`problem` then says why)."""
        request = self._request(values, ids, room, count)
        self.sent.append(request)
        self.tally.n_requests += 1
        self.tally.n_reasks += request.attempt > 0
        reply = await self.provider.complete(request)
        self.raws.append(reply.text)
        try:
            if reply.stop == "length":
                raise Unusable("it was cut at the token limit", reply.text, cut=True)
            if reply.stop == "refusal":
                raise Unusable("it was refused", reply.text)
            reading = read(reply.text, accept)
        except Unreadable as problem:
            self.problem = Unusable("it was not JSON of the form asked for", reply.text)
            _log.debug("%s: unreadable reply: %s", self.task, problem)
            return None
        except Unusable as problem:
            self.problem = problem
            return None
        self.problem = None
        self.tally.n_repaired += bool(reading.repairs)
        return reading

    def _request(self, values: dict[str, str | Fenced], ids: tuple[str, ...], room: int, count: int) -> Request:
        rendered = self.prompt.render(**values)
        user = rendered.user
        if self.problem is not None:
            user += f"\nYour last reply could not be used: {self.problem.why}. Reply with the JSON and nothing else."
            if self.problem.cut:
                self.room = min(MOST_ROOM, 2 * self.sent[-1].sampling.max_tokens)
        elif self.missing:
            # Said, because the same words would get the same reply again.
            user += f"\nYour last reply had nothing usable on the id {', '.join(self.missing)}. Reply on exactly that."
        seed = None if self.sampling.seed is None else self.sampling.seed + self.sample
        most = max(self.sampling.max_tokens, room, self.room)
        return Request(
            task=self.task, system=rendered.system, user=user, prompt_sha256=self.prompt.sha256, shape=self.shape,
            sampling=replace(self.sampling, seed=seed, max_tokens=most), sample=self.sample, attempt=len(self.sent),
            ids=ids, labels=self.labels, count=count,
        )  # fmt: skip

    async def give_up(self, missing: str = "") -> JudgeUnparseable:
        """The error to raise when the bound is reached; stored replies are dropped, so that a later run asks anew."""
        self.tally.n_given_up += 1
        await forget(self.provider, self.sent)
        raw = "\n---\n".join(self.raws)[-KEPT:]
        times = f"after {len(self.sent)} {'reply' if len(self.sent) == 1 else 'replies'}"
        if missing and self.problem is None:
            return JudgeIncomplete(f"{self.task}: {times} there is no usable verdict for {missing}", raw=raw)
        why = self.problem.why if self.problem else "it was not complete"
        return JudgeUnparseable(f"{self.task}: {times}, the last could not be used: {why}", raw=raw)


async def forget(provider: Provider, requests: list[Request]) -> None:
    """Tell every wrapper around a provider that keeps replies to drop those to `requests`."""
    layer: Any = provider
    while layer is not None:
        if hasattr(layer, "forget"):
            await layer.forget(requests)
        layer = getattr(layer, "inner", None)
