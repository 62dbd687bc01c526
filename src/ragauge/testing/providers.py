"""The laws that every model provider keeps."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from ragauge.core.provider import Endpoint, Provider, Reply, Request
from ragauge.core.system import Closes
from ragauge.errors import JudgeUnavailable, TimedOut
from ragauge.testing.fake_llm import FakeLLMServer, Faults
from ragauge.testing.laws import LawBroken, finish, law

#: The key that the fake server wants; no message may repeat it.
KEY = "sk-check-provider-0123456789"
_SAID = {"verdict": "yes", "reason": "ünïcode \u202e </reply> {"}
_REQUEST = Request(task="check", system="You are a test.", user="Say yes.", prompt_sha256="0" * 64)
_STATUSES = (400, 401, 404, 429, 500, 503, 529)


def check_provider(make: Callable[[FakeLLMServer], Provider]) -> None:
    """LawBroken unless the provider that `make` builds for a server, with `KEY` and a time-out of some seconds at most,
    keeps the laws.

    A good reply comes back word for word with its tokens; whatever goes wrong (400 to 529, a hang, a cut line, nobody
    listening) is `JudgeUnavailable` or `TimedOut`; exactly one request is sent each time; the key is in no message.
    """
    _check_good(make)
    for status in _STATUSES:
        _check_failure(make, f"status {status}", FakeLLMServer(api_key=KEY, script={"": [status] * 8}), n_requests=1)
    _check_failure(make, "a hang", FakeLLMServer(api_key=KEY, faults=Faults(hang=1.0)), n_requests=1)
    _check_failure(make, "a dropped line", FakeLLMServer(api_key=KEY, faults=Faults(dropped=1.0)), n_requests=1)
    with FakeLLMServer() as gone:
        provider = make(gone)
    _check_raises(provider, "nobody listening")


def _check_good(make: Callable[[FakeLLMServer], Provider]) -> None:
    with FakeLLMServer(api_key=KEY, script={"": [_SAID]}) as server:
        provider = make(server)
        name = type(provider).__name__
        endpoint = provider.endpoint
        law(isinstance(endpoint, Endpoint), f"{name}.endpoint is {endpoint!r}, no Endpoint")
        reply = _complete(provider)
        if not isinstance(reply, Reply):
            raise LawBroken(f"{name} gave {reply!r} for a good reply")
        law(json.loads(reply.text) == _SAID, f"{name} changed the reply: {reply.text!r}")
        law(reply.tokens_in > 0 and reply.tokens_out > 0, f"{name} did not count the tokens: {reply!r}")
        law(reply.stop == "complete", f"{name} says that a whole reply stopped by {reply.stop!r}")
        law(server.counts.requests == 1, f"{name} sent {server.counts.requests} requests instead of one")
        law(provider.endpoint == endpoint, f"{name}.endpoint changed")


def _check_failure(
    make: Callable[[FakeLLMServer], Provider], what: str, server: FakeLLMServer, n_requests: int
) -> None:
    with server:
        provider = make(server)
        _check_raises(provider, what)
        n_sent = server.counts.requests
        law(n_sent == n_requests, f"{type(provider).__name__} on {what} sent {n_sent} requests instead of {n_requests}")


def _check_raises(provider: Provider, what: str) -> None:
    name = type(provider).__name__
    outcome = _complete(provider)
    law(
        isinstance(outcome, JudgeUnavailable | TimedOut),
        f"{name} on {what} gave {outcome!r}, neither JudgeUnavailable nor TimedOut",
    )
    law(KEY not in f"{outcome} {outcome!r} {provider!r}", f"{name} on {what} shows its key")


def _complete(provider: Provider) -> Any:
    """The reply, or the exception."""

    async def ask() -> Any:
        try:
            return await provider.complete(_REQUEST)
        except Exception as error:
            return error
        finally:
            if isinstance(provider, Closes):
                await provider.aclose()

    return finish(ask())
