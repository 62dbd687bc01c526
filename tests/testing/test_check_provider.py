"""Every law of `check_provider` refuses a provider that breaks it; ours keep them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import pytest

from ragauge.core.provider import Endpoint, Provider, Reply, Request
from ragauge.errors import JudgeUnavailable
from ragauge.testing import LawBroken, check_provider
from ragauge.testing.fake_llm import FakeLLMServer
from ragauge.testing.providers import KEY


def ours(server: FakeLLMServer) -> Provider:
    from ragauge.judges.providers.openai import OpenAIProvider

    return OpenAIProvider(Endpoint("openai", "m", server.openai_url), KEY, timeout_s=0.5)


@dataclass
class Around:
    """Our provider, spoilt in one way."""

    inner: Provider

    @property
    def endpoint(self) -> Endpoint:
        return self.inner.endpoint

    async def complete(self, request: Request, /) -> Reply:
        return await self.inner.complete(request)

    async def aclose(self) -> None:
        closing: Any = self.inner
        if hasattr(closing, "aclose"):
            await closing.aclose()


class Retries(Around):
    async def complete(self, request: Request, /) -> Reply:
        try:
            return await self.inner.complete(request)
        except JudgeUnavailable:
            return await self.inner.complete(request)


class Swallows(Around):
    async def complete(self, request: Request, /) -> Reply:
        try:
            return await self.inner.complete(request)
        except JudgeUnavailable:
            return Reply(text="No response (bad request).")


class OtherError(Around):
    async def complete(self, request: Request, /) -> Reply:
        try:
            return await self.inner.complete(request)
        except JudgeUnavailable as error:
            raise ValueError(str(error)) from error


class Trims(Around):
    async def complete(self, request: Request, /) -> Reply:
        reply = await self.inner.complete(request)
        return replace(reply, text='{"verdict": "yes"}')


class CountsNothing(Around):
    async def complete(self, request: Request, /) -> Reply:
        return replace(await self.inner.complete(request), tokens_in=0)


class AsksTwice(Around):
    async def complete(self, request: Request, /) -> Reply:
        await self.inner.complete(request)
        return await self.inner.complete(request)


class ShowsItsKey(Around):
    async def complete(self, request: Request, /) -> Reply:
        try:
            return await self.inner.complete(request)
        except JudgeUnavailable as error:
            raise JudgeUnavailable(f"{error} (key {KEY})") from error


@pytest.mark.parametrize(
    ("spoilt", "why"),
    [
        (Retries, "2 requests instead of 1"),
        (Swallows, "neither JudgeUnavailable nor TimedOut"),
        (OtherError, "neither JudgeUnavailable nor TimedOut"),
        (Trims, "changed the reply"),
        (CountsNothing, "did not count the tokens"),
        (AsksTwice, "changed the reply|2 requests instead of one"),
        (ShowsItsKey, "shows its key"),
    ],
)
def test_a_provider_that_breaks_a_law_is_refused(spoilt: type[Around], why: str) -> None:
    pytest.importorskip("openai")
    with pytest.raises(LawBroken, match=why):
        check_provider(lambda server: spoilt(ours(server)))


def test_our_openai_provider_keeps_the_laws() -> None:
    pytest.importorskip("openai")
    check_provider(ours)


def test_our_anthropic_provider_keeps_the_laws() -> None:
    pytest.importorskip("anthropic")
    from ragauge.judges.providers.anthropic import AnthropicProvider

    check_provider(lambda server: AnthropicProvider(Endpoint("anthropic", "m", server.url), KEY, timeout_s=0.5))
