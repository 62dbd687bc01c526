"""An end to spending: calls, tokens, US dollars. What would go over it is not sent."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple, Protocol

from ragauge.core.provider import Endpoint, Provider, Reply, Request
from ragauge.errors import BudgetSpent, SampleError, SettingsError
from ragauge.judges.wrappers.priced import Price
from ragauge.judges.wrappers.tokens import guess_prompt_tokens


class Spending(NamedTuple):
    """Calls, tokens (in and out together), US dollars."""

    calls: float = 0
    tokens: float = 0
    usd: float = 0

    def plus(self, other: Spending, sign: int = 1) -> Spending:
        """The two together, or the difference with sign -1."""
        return Spending(*(a + sign * b for a, b in zip(self, other, strict=True)))


class Purse(Protocol):
    """What calls are paid from. `Budget` is the one for one process."""

    @property
    def max_usd(self) -> float | None:
        """The limit in US dollars, if there is one."""
        ...

    async def reserve(self, tokens_in: int, price: Price | None) -> Spending:
        """Hold back what a call will probably take; `BudgetSpent` if there is no room for it."""
        ...

    def settle(self, held: Spending, took: Spending, tokens_out: int | None) -> None:
        """A call is over: it took `took`; what was held back for it is free again."""
        ...


@dataclass
class Budget:
    """The limits of a run, and what has gone; shared by all endpoints of a run. None means no such limit.

    Calls under way are held back at what they will probably take, so that many at once cannot run over it together.
    """

    max_calls: int | None = None
    max_tokens: int | None = None
    max_usd: float | None = None
    spent: Spending = field(default_factory=Spending)
    held: Spending = field(default_factory=Spending)
    _mean_out: float = field(default=150.0, repr=False)

    def hold(self, tokens_in: int, price: Price | None) -> Spending:
        """Hold back what a call will probably take; `BudgetSpent` if there is no room for it."""
        usd = 0.0 if price is None else price.of(tokens_in, round(self._mean_out))
        wanted = Spending(1, tokens_in + self._mean_out, usd)
        after = self.spent.plus(self.held).plus(wanted)
        limits = {"calls": self.max_calls, "tokens": self.max_tokens, "usd": self.max_usd}
        for name, limit in limits.items():
            if limit is not None and getattr(after, name) > limit:
                raise BudgetSpent(
                    f"the budget of {limit:g} {'US dollars' if name == 'usd' else name} is used up",
                    hint="Raise it and resume the run: what is finished is kept and not paid for again.",
                )
        self.held = self.held.plus(wanted)
        return wanted

    async def reserve(self, tokens_in: int, price: Price | None) -> Spending:
        """`hold`, for whoever must not care where the budget is kept."""
        return self.hold(tokens_in, price)

    def settle(self, held: Spending, took: Spending, tokens_out: int | None) -> None:
        """A call is over: it took `took`; what was held back for it is free again."""
        self.held = self.held.plus(held, -1)
        self.spent = self.spent.plus(took)
        if tokens_out is not None:
            self._mean_out += 0.05 * (tokens_out - self._mean_out)


@dataclass(frozen=True)
class Budgeted:
    """Refuses with `BudgetSpent` what the budget has no room for."""

    inner: Provider
    budget: Purse = field(compare=False)
    price: Price | None = None

    def __post_init__(self) -> None:
        if self.budget.max_usd is not None and self.price is None:
            raise SettingsError(
                f"a budget in US dollars needs the price of {self.endpoint.label}, which is not known",
                hint="Give it under `judge.prices`, or limit calls or tokens instead.",
            )

    @property
    def endpoint(self) -> Endpoint:
        """Which model this is."""
        return self.inner.endpoint

    async def complete(self, request: Request) -> Reply:
        """Pass the request on if there is room."""
        held = await self.budget.reserve(guess_prompt_tokens(request), self.price)
        took, tokens_out = Spending(), None
        try:
            reply = await self.inner.complete(request)
            took = Spending(1, reply.tokens_in + reply.tokens_out, reply.cost_usd or 0.0)
            tokens_out = reply.tokens_out
            return reply
        except SampleError:
            took = Spending(1)
            raise
        finally:
            self.budget.settle(held, took, tokens_out)
