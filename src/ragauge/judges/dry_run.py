"""What a run would cost, found out without spending: the real requests are made and counted, and none is sent."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import dataclass, field

from ragauge.core.judge import count_usage
from ragauge.core.provider import Endpoint, Reply, Request
from ragauge.core.sample import Usage
from ragauge.judges.wrappers.cached import cache_key
from ragauge.judges.wrappers.priced import Price
from ragauge.judges.wrappers.tokens import guess_prompt_tokens, guess_tokens
from ragauge.store.cache import ReplyCache

_REASON = "a reason of about fifteen words is what a model usually gives for one such verdict"
_SENTENCE = "This is one sentence of {} that says what such a sentence usually says [1]."
#: Sentences in a made-up text.
_WRITTEN = {"answer": 3, "hyde": 4, "chunk_context": 2}


@dataclass
class Forecast:
    """What would be sent. Tokens are guessed from characters; `usd` None: the price is not known."""

    calls: int = 0
    cached_calls: int = 0
    tokens_in: int = 0
    tokens_out: int = 0
    usd: float | None = None
    by_task: Counter[str] = field(default_factory=Counter)

    def said(self) -> str:
        """One line for people."""
        cost = "price unknown" if self.usd is None else f"about ${self.usd:.2f}"
        tokens = f"{self.tokens_in:,} prompt and {self.tokens_out:,} reply tokens"
        return f"{self.calls:,} calls ({self.cached_calls:,} more from the cache), about {tokens}, {cost}"


@dataclass(frozen=True)
class DryProvider:
    """Answers every request with made-up text of the usual length, and adds up what it would have cost.

    `keeps`: a request that was made before is answered from the cache. Claims are guessed as one for each 60 characters
    of text, so that the calls that follow from them are made too.
    """

    endpoint: Endpoint
    price: Price | None = None
    cache: ReplyCache | None = field(default=None, compare=False)
    forecast: Forecast = field(default_factory=Forecast, compare=False)
    keeps: bool = True
    _seen: set[str] = field(default_factory=set, compare=False, repr=False)

    async def complete(self, request: Request) -> Reply:
        """A made-up reply, or the stored one."""
        key = cache_key(self.endpoint, request)
        stored = None if self.cache is None else await self.cache.get(key)
        if stored is not None:
            self.forecast.cached_calls += 1
            count_usage(Usage(cached_calls=1))
            return Reply(**json.loads(stored))
        said = made_up(request)
        text = said if isinstance(said, str) else json.dumps(said)
        if key in self._seen and self.keeps:
            count_usage(Usage(cached_calls=1))
        else:
            self._seen.add(key)
            self._count(request, guess_tokens(text))
        return Reply(text)

    def _count(self, request: Request, tokens_out: int) -> None:
        tokens_in, forecast = guess_prompt_tokens(request), self.forecast
        forecast.calls += 1
        forecast.by_task[request.task] += 1
        forecast.tokens_in += tokens_in
        forecast.tokens_out += tokens_out
        cost = None if self.price is None else self.price.of(tokens_in, tokens_out)
        if cost is not None:
            forecast.usd = (forecast.usd or 0.0) + cost
        count_usage(Usage(calls=1, tokens_in=tokens_in, tokens_out=tokens_out, cost_usd=cost))


def made_up(request: Request) -> dict[str, object] | str:
    """A reply of the right form that means nothing."""
    if request.task in _WRITTEN:
        mark = request.user[-200:].encode("utf-8", "replace").hex()[:8]  # not the same words for every question
        return f"{_SENTENCE.format(mark)} " * _WRITTEN[request.task]
    if request.task in ("rewrite", "multi_query", "decompose"):
        return {"id": request.ids[0], "queries": [f"What would the query number {i} be?" for i in range(request.count)]}
    if request.task == "probe":
        return {"id": request.ids[0]}
    if request.task == "split_claims":
        n = max(1, len(request.user) // 60)
        return {
            "id": request.ids[0],
            "claims": [f"This is claim number {i} of the text in question." for i in range(n)],
        }
    if request.task == "reverse_questions":
        questions = [f"What would the question number {i} have been?" for i in range(request.count)]
        return {"id": request.ids[0], "noncommittal": False, "questions": questions}
    opinions = [{"id": i, "reason": _REASON, "label": request.labels[0]} for i in request.ids]
    several = request.shape is not None and "verdicts" in request.shape.schema["properties"]
    return {"verdicts": opinions} if several else dict(opinions[0])
