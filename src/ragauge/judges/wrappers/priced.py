"""What a call cost, and the count of every call, good or failed, for the row that it was made for."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from importlib import resources
from typing import Any

from ragauge.core.judge import count_usage
from ragauge.core.provider import Endpoint, Provider, Reply, Request
from ragauge.core.sample import Usage
from ragauge.errors import SampleError, SettingsError


@dataclass(frozen=True)
class Price:
    """US dollars for a million tokens, read and written."""

    input_usd: float
    output_usd: float

    def of(self, tokens_in: int, tokens_out: int) -> float:
        """US dollars for so many tokens.

        >>> Price(2.0, 8.0).of(1_000_000, 500_000)
        6.0
        """
        return (tokens_in * self.input_usd + tokens_out * self.output_usd) / 1_000_000


def price_of(endpoint: Endpoint, own: Mapping[str, Any] | None = None) -> Price | None:
    """The price of an endpoint's model, or None if it is not known: it is never guessed.

    `own` is the user's table, `{"openai:gpt-4o": {"input": 2.5, "output": 10}}` (US dollars for a million tokens); it
    goes before the packaged one. A dated model name (`gpt-4o-2024-08-06`) has the price of its undated one.
    """
    for table in (own or {}, _packaged()):
        for name in (endpoint.label, endpoint.model, *_undated(endpoint)):
            if name in table:
                return _read(name, table[name])
    return None


def _undated(endpoint: Endpoint) -> list[str]:
    parts = endpoint.model.split("-")
    for n in (1, 3):
        tail = "".join(parts[-n:])
        if len(parts) > n and tail.isdigit() and len(tail) == 8:
            return [f"{endpoint.provider}:{'-'.join(parts[:-n])}"]
    return []


def _read(name: str, entry: Any) -> Price:
    try:
        price = Price(float(entry["input"]), float(entry["output"]))
    except (KeyError, TypeError, ValueError):
        hint = "Write it as {input: 2.5, output: 10}: US dollars for a million tokens."
        raise SettingsError(f"the price of {name!r} cannot be read", hint=hint) from None
    if not (0 <= price.input_usd < float("inf") and 0 <= price.output_usd < float("inf")):
        raise SettingsError(f"the price of {name!r} must be 0 or more")
    return price


def _packaged() -> dict[str, Any]:
    text = resources.files("ragauge.judges.wrappers").joinpath("prices.json").read_text(encoding="utf-8")
    prices: dict[str, Any] = json.loads(text)["usd_per_million_tokens"]
    return prices


@dataclass(frozen=True)
class Priced:
    """Counts each call with `core.judge.count_usage`, and puts its price into the reply (None: price unknown)."""

    inner: Provider
    price: Price | None = None

    @property
    def endpoint(self) -> Endpoint:
        """Which model this is."""
        return self.inner.endpoint

    async def complete(self, request: Request) -> Reply:
        """The reply with its price."""
        try:
            reply = await self.inner.complete(request)
        except SampleError:
            count_usage(Usage(calls=1))
            raise
        cost = None if self.price is None else self.price.of(reply.tokens_in, reply.tokens_out)
        count_usage(Usage(calls=1, tokens_in=reply.tokens_in, tokens_out=reply.tokens_out, cost_usd=cost))
        return replace(reply, cost_usd=cost)
