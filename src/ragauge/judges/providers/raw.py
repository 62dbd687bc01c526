"""OpenAI-compatible servers by plain aiohttp requests (extra `fast`): a tenth of the SDK's time per call."""

from __future__ import annotations

import json
import time
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from ragauge.core.provider import Endpoint, Reply, Request
from ragauge.errors import MissingExtra
from ragauge.judges.providers.clients import Clients
from ragauge.judges.providers.dialect import MODES, Dialect
from ragauge.judges.providers.failures import CallFailed, CallTimedOut, failure_of_status, redact, refuse_unusable
from ragauge.judges.providers.openai import OPENAI_URL
from ragauge.judges.providers.openai_wire import parameters, read_completion


@dataclass(frozen=True)
class RawProvider:
    """`POST chat/completions`, once, without an SDK. Same protocol, same failures as `OpenAIProvider`."""

    endpoint: Endpoint
    api_key: str = field(repr=False, compare=False)
    mode: str | None = None
    timeout_s: float = 120.0

    @cached_property
    def dialect(self) -> Dialect:
        """What the endpoint has shown to understand."""
        return Dialect(self.endpoint, MODES if self.mode is None else (self.mode,))

    @cached_property
    def _clients(self) -> Clients:
        return Clients(self._client, lambda client: client.close())

    @property
    def _url(self) -> str:
        return (self.endpoint.base_url or OPENAI_URL).rstrip("/")

    def _client(self) -> Any:
        try:
            import aiohttp
        except ImportError:
            raise MissingExtra("aiohttp", "fast") from None
        return aiohttp.ClientSession(
            headers={"authorization": f"Bearer {self.api_key}"},
            timeout=aiohttp.ClientTimeout(total=self.timeout_s),
            connector=aiohttp.TCPConnector(limit=0),
        )

    async def complete(self, request: Request) -> Reply:
        """Send one request, once. Raises `CallFailed` or `CallTimedOut`."""
        mode = self.dialect.mode
        sent = self.dialect.spoken(parameters(request, self.endpoint, mode))
        started = time.perf_counter()
        try:
            completion = await self._exchange("POST", "/chat/completions", sent)
        except CallFailed as failure:
            raise self.dialect.learnt(failure, mode, sent) from None
        return read_completion(completion, self.endpoint, 1000 * (time.perf_counter() - started))

    async def _exchange(self, method: str, path: str, body: Any = None) -> Any:
        session = self._clients.here()
        import aiohttp

        label, secrets = self.endpoint.label, (self.api_key,)
        try:
            async with session.request(method, self._url + path, json=body) as response:
                text = await response.text(errors="replace")
        except TimeoutError:
            raise CallTimedOut(f"{label} did not answer within {self.timeout_s:g} s") from None
        except (aiohttp.ClientError, OSError) as problem:
            message = redact(f"{label} cannot be reached: {problem}", secrets)
            hint = f"Is something listening at {self._url}?"
            raise CallFailed(message, kind="connection", hint=hint) from None
        if response.status != 200:
            raise failure_of_status(self.endpoint, response.status, text, response.headers, secrets)
        try:
            return json.loads(text)
        except ValueError:
            raise CallFailed(f"{label} sent a reply that is no JSON", kind="server") from None

    async def preflight(self) -> bool:
        """Ask for the list of models. True: this model is served; False: only a call can tell.

        `EndpointUnusable` for a refused key and a dead endpoint.
        """
        try:
            listed = await self._exchange("GET", "/models")
            return any(entry["id"] == self.endpoint.model for entry in listed["data"])
        except (CallFailed, CallTimedOut) as failure:
            refuse_unusable(failure)
            return False
        except (KeyError, TypeError):
            return False

    async def aclose(self) -> None:
        """Close the connections of the running loop."""
        await self._clients.aclose()
