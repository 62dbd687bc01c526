from __future__ import annotations

import asyncio
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from ragauge.core.sample import Question, Response
from ragauge.errors import EndpointUnusable, RagaugeError, SettingsError, SystemFailed, TimedOut, UnknownName
from ragauge.systems.mcp import build

SERVER = Path(__file__).parent / "mcp_knowledge.py"
COMMAND = [sys.executable, str(SERVER)]
QUESTION = Question(id="q1", text="How many requests?")


def ask(settings: dict[str, Any], *questions: Question) -> list[Response]:
    system = build(settings)

    async def all_of_them() -> list[Response]:
        try:
            await system.preflight()
            return list(await asyncio.gather(*(system.respond(one) for one in questions or (QUESTION,))))
        finally:
            await system.aclose()

    return asyncio.run(all_of_them())


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    process = subprocess.Popen([*COMMAND, "http", str(port)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        deadline = time.monotonic() + 30
        while time.monotonic() < deadline:
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", port)) == 0:
                    break
            time.sleep(0.05)
        yield f"http://127.0.0.1:{port}/mcp"
    finally:
        process.kill()
        process.wait()


TOOLS = [
    ({"tool": "search"}, "limits#1", 2),
    ({"tool": "search", "arguments": {"query": "{question}", "limit": 1}}, "limits#1", 1),
    ({"tool": "passages"}, "limits#1", 2),
]


@pytest.mark.parametrize(("settings", "first", "n"), TOOLS)
def test_a_tool_over_stdio_gives_passages(settings: dict[str, Any], first: str, n: int) -> None:
    (response,) = ask({"command": COMMAND, **settings})
    assert response.answer is None
    assert response.context is not None
    assert len(response.context) == n
    chunk = response.context.chunks[0]
    assert (chunk.id, chunk.document, chunk.score) == (first, "limits.md", 0.9)
    assert response.total_ms is not None


def test_the_same_over_streamable_http(url: str) -> None:
    responses = ask({"url": url, "tool": "answer"}, *(Question(id=str(n), text=f"q{n}") for n in range(5)))
    assert [one.answer for one in responses] == [f"60 per minute (q{n})" for n in range(5)]
    mapped = {"contexts": "$.hits[*]", "chunk": {"document": "source", "text": "text", "id": "id"}}
    (response,) = ask({"url": url, "tool": "search", "response": mapped})
    assert response.context is not None
    assert response.context.documents == ["limits.md", "keys.md"]


def test_plain_text_is_passages_or_the_answer() -> None:
    (one,) = ask({"command": COMMAND, "tool": "text"})
    (split,) = ask({"command": COMMAND, "tool": "text", "split": "\n---\n"})
    (answer,) = ask({"command": COMMAND, "tool": "text", "text": "answer"})
    assert one.context is not None
    assert split.context is not None
    assert (len(one.context), len(split.context)) == (1, 2)
    assert len(set(split.context.ids)) == 2
    assert answer.context is None
    assert str(answer.answer).startswith("Free: 60")


def test_an_error_of_the_tool_and_a_slow_tool_are_failures_of_that_question(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MY_KEY", "s3cret-key")
    settings = {"command": COMMAND, "tool": "fails", "env": {"KEY": "${MY_KEY}"}}
    with pytest.raises(SystemFailed, match=r"the index is gone; key \*\*\*") as caught:
        ask(settings)
    assert "s3cret" not in str(caught.value)
    assert "s3cret" not in build(settings).info().model_dump_json()
    with pytest.raises(TimedOut, match=r"within 0\.3 s"):
        ask({"command": COMMAND, "tool": "slow", "timeout_s": 0.3})


def test_a_server_that_dies_is_said_and_started_again() -> None:
    system = build({"command": COMMAND, "tool": "dies", "text": "answer"})

    async def main() -> Response:
        try:
            with pytest.raises(SystemFailed, match="segmentation fault, so to speak"):
                await system.respond(Question(id="1", text="die"))
            return await system.respond(Question(id="2", text="live"))
        finally:
            await system.aclose()

    assert str(asyncio.run(main()).answer).startswith("alive")


@pytest.mark.parametrize(
    ("settings", "kind", "message"),
    [
        ({}, SettingsError, "needs `command` or `url`"),
        ({"command": COMMAND, "url": "http://x/"}, SettingsError, "one of them"),
        ({"command": COMMAND, "tol": "search"}, SettingsError, "Did you mean 'tool'"),
        ({"command": COMMAND}, SettingsError, "has 8 tools: search"),
        ({"command": COMMAND, "tool": "serch"}, UnknownName, "Did you mean 'search'"),
        ({"command": COMMAND, "tool": "odd"}, SettingsError, "takes haystack, needle"),
        ({"command": COMMAND, "tool": "search", "arguments": {"qery": "{question}"}}, UnknownName, "'query'"),
        ({"command": [*COMMAND, "broken"], "tool": "search"}, EndpointUnusable, "no index here: build it first"),
        ({"command": "no-such-server-here", "tool": "search"}, EndpointUnusable, "no-such-server-here"),
        (
            {"url": "http://127.0.0.1:9/mcp", "tool": "search", "start_timeout_s": 5},
            EndpointUnusable,
            "no session|not start",
        ),
    ],
)
def test_what_is_wrong_is_said_before_the_first_question(settings: dict[str, Any], kind: type, message: str) -> None:
    with pytest.raises(RagaugeError, match=message) as caught:
        ask(settings)
    assert isinstance(caught.value, kind)
