from __future__ import annotations

import asyncio
import json
import time
from typing import Any

import pytest

from ragauge.core.sample import Message, Question, Response, RetrievedChunk, RetrievedContext
from ragauge.errors import EndpointUnusable, SettingsError, SystemFailed, TimedOut
from ragauge.systems.http import HttpSystem, build
from ragauge.testing.systems import check_system

QUESTION = Question(id="q1", text="How many requests?", history=(Message(role="user", content="Hello"),))
MAP = {
    "answer": "$.data.text",
    "contexts": "$.data.hits[*]",
    "chunk": {"id": "ref", "document": "$.page.url", "text": "body", "score": "rank_score"},
    "model": "$.data.llm",
    "tokens_in": "$.data.usage.in",
    "tokens_out": "$.data.usage.out",
    "fields": {"root": "docs"},
}


def ask(system: HttpSystem, question: Question = QUESTION, **more: Any) -> Response:
    async def once() -> Response:
        try:
            return await system.respond(question, **more)
        finally:
            await system.aclose()

    return asyncio.run(once())


def test_a_reply_is_mapped_by_paths(service: Any) -> None:
    response = ask(build({"url": f"{service.url}/ask", "response": MAP}))
    assert response.answer == "60 requests per minute."
    assert response.context is not None
    first = response.context.chunks[0]
    assert (first.id, first.document, first.score) == ("limits#1", "limits.md", 0.9)
    assert first.text == "Free: 60 requests per minute."
    assert (response.usage.tokens_in, response.usage.tokens_out, response.model) == (120, 8, "m-1")
    assert response.metadata["http"] == {"status": 200, "attempts": 1}
    assert response.total_ms is not None
    assert response.total_ms > 0


def test_without_a_map_the_usual_names_are_found(service: Any) -> None:
    response = ask(build({"url": f"{service.url}/plain"}))
    assert response.answer == "60 requests per minute."
    assert response.context is not None
    assert len(response.context) == 1
    assert ask(build({"url": f"{service.url}/text"})).answer == "60 requests per minute."


def test_the_request_is_a_template(service: Any) -> None:
    body = {"messages": "{history}", "q": "{question}", "top": 3, "note": "id={id}"}
    ask(build({"url": f"{service.url}/plain", "body": body, "params": {"v": "2", "q": "{question}"}}))
    seen = service.seen[-1]
    assert json.loads(seen["body"]) == {
        "messages": [{"role": "user", "content": "Hello"}], "q": "How many requests?", "top": 3, "note": "id=q1",
    }  # fmt: skip
    assert seen["query"] == {"v": "2", "q": "How many requests?"}
    ask(build({"url": f"{service.url}/plain?q={{question}}", "method": "GET"}), Question(id="x", text="a&b=c d"))
    assert service.seen[-1]["query"] == {"q": "a&b=c d"}
    ask(build({"url": f"{service.url}/plain", "form": {"q": "{question}"}}), Question(id="x", text="a&b"))
    assert service.seen[-1]["body"] == "q=a%26b"


def test_a_secret_is_sent_and_never_recorded(service: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MY_TOKEN", "s3cret-token")
    system = build({"url": f"{service.url}/secured", "headers": {"Authorization": "Bearer ${MY_TOKEN}"}})
    assert ask(system).answer == "in"
    card = system.info().model_dump_json()
    assert "s3cret-token" not in card
    assert "${MY_TOKEN}" in card
    assert "s3cret-token" not in repr(system.info())
    monkeypatch.setenv("MY_TOKEN", "wr0ng-token")
    with pytest.raises(SystemFailed, match=r"answered 401.*\*\*\*") as caught:
        ask(build({"url": f"{service.url}/secured", "headers": {"Authorization": "Bearer ${MY_TOKEN}"}}))
    assert "wr0ng-token" not in str(caught.value)
    assert "credentials" in caught.value.hint
    literal = build({"url": f"{service.url}/secured", "headers": {"X-Api-Key": "written-out"}})
    assert "written-out" not in literal.info().model_dump_json()


def test_a_variable_that_is_not_set_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NOT_SET_HERE", raising=False)
    with pytest.raises(SettingsError, match="NOT_SET_HERE"):
        build({"url": "http://localhost:1/", "headers": {"Authorization": "${NOT_SET_HERE}"}})


def test_refusals_that_pass_are_tried_again_after_the_time_asked_for(service: Any) -> None:
    started = time.perf_counter()
    response = ask(build({"url": f"{service.url}/flaky"}))
    assert response.answer == "at last"
    assert response.metadata["http"]["attempts"] == 3
    assert time.perf_counter() - started >= 0.3  # at least half of the first back-off, and the 0.2 s of Retry-After
    assert response.total_ms is not None
    assert response.total_ms < 200  # waiting for another attempt is not the system's time


@pytest.mark.parametrize(
    ("path", "settings", "message"),
    [
        ("busy", {}, "asks to wait 3600 s"),
        ("broken", {}, r"answered 422: .*no field"),
        ("page", {}, "no JSON"),
        ("moved", {}, "answered 307"),
        ("huge", {"max_reply_mb": 1}, "more than 1 MB"),
        ("ask", {"response": {"answer": "$.data.txt"}}, r"\$\.data\.txt leads to nothing"),
        ("plain", {"response": {"answer": "$.answer"}, "stream": "sse", "delta": "$.x"}, "text/event-stream"),
        ("ndjson", {"stream": "ndjson", "delta": "$.pieces"}, "found in none of the 3 events"),
        ("breaks", {"stream": "ndjson", "delta": "$.piece"}, "the model went away"),
    ],
)
def test_what_cannot_be_used_is_said(service: Any, path: str, settings: dict[str, Any], message: str) -> None:
    with pytest.raises(SystemFailed, match=message):
        ask(build({"url": f"{service.url}/{path}", **settings}))
    if path in ("busy", "broken"):
        assert service.calls[f"/{path}"] == 1


def test_a_slow_service_times_out_and_is_not_asked_again(service: Any) -> None:
    started = time.perf_counter()
    with pytest.raises(TimedOut, match=r"within 0\.3 s"):
        ask(build({"url": f"{service.url}/slow", "timeout_s": 0.3}))
    assert time.perf_counter() - started < 10
    assert service.calls["/slow"] == 1


def test_a_question_that_is_cancelled_lets_go(service: Any) -> None:
    async def main() -> None:
        system = build({"url": f"{service.url}/slow"})
        task = asyncio.create_task(system.respond(QUESTION))
        await asyncio.sleep(0.2)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        await system.aclose()

    asyncio.run(main())


def test_nobody_listening_is_found_before_the_first_question() -> None:
    system = build({"url": "http://127.0.0.1:9/ask", "retries": 0})
    with pytest.raises(EndpointUnusable, match="nobody answers at"):
        asyncio.run(system.preflight())
    with pytest.raises(SystemFailed, match="cannot be reached"):
        ask(system)


@pytest.mark.parametrize(
    ("path", "settings", "n_chunks"),
    [
        ("sse", {"stream": "sse", "delta": "$.choices[0].delta.content", "response": {"contexts": "$.hits[*]"}}, 2),
        ("ndjson", {"stream": "ndjson", "delta": "$.piece", "response": {"contexts": "$.hits"}}, 2),
    ],
)
def test_a_stream_is_put_together_and_its_first_piece_is_timed(
    service: Any, path: str, settings: dict[str, Any], n_chunks: int
) -> None:
    chunk = {"id": "ref", "text": "body"}
    settings["response"]["chunk"] = chunk
    response = ask(build({"url": f"{service.url}/{path}", **settings}))
    assert response.answer == "60 requests per minute."
    assert response.context is not None
    assert len(response.context) == n_chunks
    first = response.metadata["http"]["first_token_ms"]
    assert response.total_ms is not None
    assert 0 < first <= response.total_ms
    if path == "sse":  # the service waits 0.1 s before the first piece, and 0.1 s until the last one
        assert first >= 90
        assert first < response.total_ms


def test_an_empty_list_is_nothing_retrieved_and_a_missing_one_is_said(service: Any) -> None:
    empty = ask(build({"url": f"{service.url}/none", "response": MAP}))
    assert empty.context == RetrievedContext()
    assert empty.metadata["not_found"] == [
        "model: $.data.llm",
        "tokens_in: $.data.usage.in",
        "tokens_out: $.data.usage.out",
    ]
    missing = ask(build({"url": f"{service.url}/none", "response": {**MAP, "contexts": "$.data.passages[*]"}}))
    assert missing.context is None
    assert "contexts: $.data.passages[*]" in missing.metadata["not_found"]


def test_questions_are_asked_side_by_side(service: Any) -> None:
    async def main() -> None:
        system = build({"url": f"{service.url}/together"})
        await asyncio.gather(*(system.respond(Question(id=str(n), text="x")) for n in range(8)))
        await system.aclose()

    asyncio.run(main())
    assert service.most_at_once >= 6


def test_a_context_is_given_where_the_request_has_a_place_for_it(service: Any) -> None:
    context = RetrievedContext(chunks=(RetrievedChunk(id="c", text="given", rank=1),))
    with pytest.raises(SystemFailed, match="given context"):
        ask(build({"url": f"{service.url}/plain"}), context=context)
    body = {"q": "{question}", "passages": "{context}"}
    response = ask(build({"url": f"{service.url}/plain", "body": body}), context=context)
    assert json.loads(service.seen[-1]["body"])["passages"] == [{"id": "c", "document": None, "text": "given"}]
    assert response.context == context


def test_it_keeps_the_laws_of_systems(service: Any) -> None:
    class Closing(HttpSystem):
        """The check asks every question on a loop of its own: connections must not outlive it."""

        async def respond(self, question: Question, /, *, context: RetrievedContext | None = None) -> Response:
            try:
                return await super().respond(question, context=context)
            finally:
                await self.aclose()

    made = build({"url": f"{service.url}/ask", "response": MAP})
    check_system(Closing(made.settings, made.as_written), takes_context=False)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({}, "needs `url`"),
        ({"url": "localhost:80"}, "no address"),
        ({"url": "http://me:pw@host/"}, "holds a password"),
        ({"url": "http://h/", "boddy": {}}, "Did you mean 'body'"),
        ({"url": "http://h/", "response": {"anser": "$.a"}}, "Did you mean 'answer'"),
        ({"url": "http://h/", "response": {"chunk": {"txt": "b"}}}, "Did you mean 'text'"),
        ({"url": "http://h/", "response": {"answer": "$.a[?"}}, "no JSONPath"),
        ({"url": "http://h/", "body": {"q": "hello"}}, "the question is nowhere"),
        ({"url": "http://h/", "body": {"q": "{questoin}"}}, "Did you mean {question}"),
        ({"url": "http://h/", "body": {"q": "{question}"}, "form": {"q": "{question}"}}, "not both"),
        ({"url": "http://h/", "delta": "$.x"}, "for streams"),
        ({"url": "http://h/", "timeout_s": 0}, "timeout_s"),
        ({"url": "http://h/", "verify": "no-such.pem"}, "there is no file no-such.pem"),
    ],
)
def test_wrong_settings_are_named(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(SettingsError, match=message.replace("{", r"\{")) as caught:
        build(settings)
    assert "pw" not in str(caught.value)
