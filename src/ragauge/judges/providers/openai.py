"""OpenAI, Azure OpenAI, and every server with an OpenAI-compatible API, through the vendor's SDK (extra `openai`)."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from ragauge.core.provider import Endpoint, Reply, Request
from ragauge.errors import EndpointUnusable, MissingExtra, nearest
from ragauge.judges.providers.clients import Clients
from ragauge.judges.providers.dialect import MODES, Dialect
from ragauge.judges.providers.failures import (
    CallFailed,
    CallTimedOut,
    as_dict,
    failure_of_sdk,
    refuse_unusable,
)
from ragauge.judges.providers.openai_wire import parameters, read_completion

OPENAI_URL = "https://api.openai.com/v1"


@dataclass(frozen=True)
class OpenAIProvider:
    """`POST chat/completions`, once. `api_version` makes it Azure, whose `base_url` is the resource's address.

    `timeout_s` is the client's own limit for one request; the `timed` wrapper usually ends it earlier.
    """

    endpoint: Endpoint
    api_key: str = field(repr=False, compare=False)
    api_version: str | None = None
    mode: str | None = None
    timeout_s: float = 120.0

    @cached_property
    def dialect(self) -> Dialect:
        """What the endpoint has shown to understand."""
        return Dialect(self.endpoint, MODES if self.mode is None else (self.mode,))

    @cached_property
    def _clients(self) -> Clients:
        return Clients(self._client, lambda client: client.close())

    def _client(self) -> Any:
        try:
            import openai
        except ImportError:
            raise MissingExtra("openai", "openai") from None
        if self.api_version is not None:
            return openai.AsyncAzureOpenAI(
                azure_endpoint=self.endpoint.base_url or "", api_version=self.api_version, api_key=self.api_key,
                azure_deployment=self.endpoint.model, timeout=self.timeout_s, max_retries=0,
            )  # fmt: skip
        return openai.AsyncOpenAI(
            base_url=self.endpoint.base_url or OPENAI_URL,
            api_key=self.api_key,
            timeout=self.timeout_s,
            max_retries=0,
        )

    async def complete(self, request: Request) -> Reply:
        """Send one request, once. Raises `CallFailed` or `CallTimedOut`."""
        client, mode = self._clients.here(), self.dialect.mode
        sent = self.dialect.spoken(parameters(request, self.endpoint, mode))
        started = time.perf_counter()
        try:
            completion = await client.chat.completions.create(**sent)
        except Exception as problem:
            failure = self._failure(problem)
            if isinstance(failure, CallFailed):
                failure = self.dialect.learnt(failure, mode, sent)
            raise failure from None
        return read_completion(as_dict(completion), self.endpoint, 1000 * (time.perf_counter() - started))

    def _failure(self, problem: Exception) -> CallFailed | CallTimedOut:
        import openai

        return failure_of_sdk(
            problem, openai, self.endpoint, timeout_s=self.timeout_s, api_key=self.api_key, default_url=OPENAI_URL
        )

    async def preflight(self) -> bool:
        """Ask for the list of models, which costs nothing. True: this model is served; False: only a call can tell.

        `EndpointUnusable` for a refused key, a missing model, a dead endpoint. Azure lists no deployments.
        """
        if self.api_version is not None:
            return False
        try:
            listed = await self._clients.here().models.list(timeout=20.0)
            known = [model.id for model in listed.data or ()]
        except Exception as problem:
            refuse_unusable(self._failure(problem))
            return False
        wanted = self.endpoint.model
        if self.endpoint.provider == "openai" and known and wanted not in known and not wanted.startswith("ft:"):
            near = nearest(wanted, known) or sorted(known)[:5]
            hint = f"It serves, among others: {', '.join(near)}."
            raise EndpointUnusable(f"{self.endpoint.label}: there is no such model", hint=hint)
        return wanted in known

    async def aclose(self) -> None:
        """Close the connections of the running loop."""
        await self._clients.aclose()
