"""One language model behind one API: what is asked of it, what it sends back, and the protocol with one method."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, Protocol, runtime_checkable


@dataclass(frozen=True)
class Endpoint:
    """Which model, where. `options` are settings of the endpoint that can change a reply (sorted pairs)."""

    provider: str
    model: str
    base_url: str | None = None
    options: tuple[tuple[str, str], ...] = ()

    @property
    def label(self) -> str:
        """As it is spelled in settings: `openai:gpt-4o-mini`."""
        return f"{self.provider}:{self.model}"


@dataclass(frozen=True)
class Shape:
    """The form that a reply must have: a name, a strict JSON schema, and the schema's hash."""

    name: str
    schema: Mapping[str, Any] = field(hash=False)
    sha256: str


@dataclass(frozen=True)
class Sampling:
    """How the model is to draw its reply. None leaves a setting to the endpoint; `max_tokens` bounds the reply."""

    temperature: float | None = 0.0
    top_p: float | None = None
    seed: int | None = None
    max_tokens: int = 2000


@dataclass(frozen=True)
class Request:
    """One request. `sample` numbers independent draws of the same judgement, `attempt` re-asks after a bad reply.

    `ids` and `labels` say what the reply has to speak of; models read it in the prompt, dry runs here.
    """

    task: str
    system: str
    user: str
    prompt_sha256: str
    shape: Shape | None = None
    sampling: Sampling = Sampling()
    sample: int = 0
    attempt: int = 0
    ids: tuple[str, ...] = ()
    labels: tuple[str, ...] = ()
    count: int = 1


@dataclass(frozen=True)
class Reply:
    """What came back. `stop`: complete, cut at the token limit, or refused by the model or a filter in front of it.

    `cost_usd` is what is paid now; of a `cached` reply `first_cost_usd` is what was paid when it was made.
    """

    text: str
    tokens_in: int = 0
    tokens_out: int = 0
    stop: Literal["complete", "length", "refusal"] = "complete"
    model: str | None = None
    cost_usd: float | None = None
    latency_ms: float = 0.0
    cached: bool = False
    first_cost_usd: float | None = None


@runtime_checkable
class Provider(Protocol):
    """One model API: one request, once; no retries, no caching, no parsing.

    Raises `JudgeUnavailable` or `TimedOut` (both are `SampleError`) when no reply came.
    """

    @property
    def endpoint(self) -> Endpoint:
        """Which model this is."""
        ...

    async def complete(self, request: Request, /) -> Reply:
        """Send `request` and give back what the model said."""
        ...


@runtime_checkable
class LanguageModel(Protocol):
    """A model as a system uses it: its provider with everything around it, and how it is to be asked."""

    @property
    def provider(self) -> Provider:
        """The API with cache, retries, limits … around it."""
        ...

    @property
    def sampling(self) -> Sampling:
        """How replies are drawn."""
        ...

    @property
    def prompts(self) -> Path | None:
        """The folder of the project's own prompts."""
        ...

    async def preflight(self) -> None:
        """`EndpointUnusable` when the model cannot serve at all."""
        ...

    async def aclose(self) -> None:
        """Close the connections of the running event loop."""
        ...


#: A model's name or settings → the model. What systems are built with, so that they need not know any client.
ModelFor = Callable[[str | Mapping[str, Any]], LanguageModel]
