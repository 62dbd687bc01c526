"""A model that says what the test wants, and material to judge."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Coroutine, Sequence
from dataclasses import dataclass, field
from typing import Any

import pytest

from ragauge.core.provider import Endpoint, Reply, Request
from ragauge.core.sample import RetrievedChunk
from ragauge.core.verdict import Claim

Said = str | dict[str, Any] | Reply | Exception | Callable[[Request], Any]


@dataclass
class Script:
    """A provider that says `said` in order and keeps the requests; the last one is said for ever."""

    said: Sequence[Said]
    endpoint: Endpoint = field(default_factory=lambda: Endpoint("scripted", "m"))
    requests: list[Request] = field(default_factory=list)
    delay_s: float = 0.0

    async def complete(self, request: Request) -> Reply:
        said = self.said[min(len(self.requests), len(self.said) - 1)]
        self.requests.append(request)
        await asyncio.sleep(self.delay_s)
        if callable(said):
            said = said(request)
        if isinstance(said, Exception):
            raise said
        if isinstance(said, Reply):
            return said
        return Reply(said if isinstance(said, str) else json.dumps(said), tokens_in=100, tokens_out=10)


def labels(*given: str | None) -> Callable[[Request], dict[str, Any]]:
    """Says these labels for the asked ids in order; None leaves an id out."""

    def say(request: Request) -> dict[str, Any]:
        pairs = zip(request.ids, given, strict=False)
        return {"verdicts": [{"id": i, "reason": "r", "label": label} for i, label in pairs if label is not None]}

    return say


@pytest.fixture
def script() -> type[Script]:
    return Script


@pytest.fixture
def say() -> Callable[..., Callable[[Request], dict[str, Any]]]:
    return labels


@pytest.fixture
def run() -> Callable[[Coroutine[Any, Any, Any]], Any]:
    return asyncio.run


@pytest.fixture
def claims() -> Callable[..., tuple[Claim, ...]]:
    return lambda *texts: tuple(Claim(id=f"c{n}", text=text) for n, text in enumerate(texts, start=1))


@pytest.fixture
def chunks() -> Callable[..., tuple[RetrievedChunk, ...]]:
    return lambda *texts: tuple(RetrievedChunk(id=f"d{n}", text=text, rank=n) for n, text in enumerate(texts, start=1))
