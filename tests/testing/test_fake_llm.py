from __future__ import annotations

import http.client
import json
import subprocess
import sys
import threading
import urllib.request
from typing import Any

import pytest

from ragauge import prompts
from ragauge.prompts import Fenced, Piece
from ragauge.testing.fake_llm import FakeLLMServer, Faults

PLAIN = {"model": "m", "messages": [{"role": "user", "content": "hello"}]}


def post(server: FakeLLMServer, body: Any, path: str = "/v1/chat/completions", **headers: str) -> tuple[int, Any, Any]:
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=10)
    try:
        raw = body if isinstance(body, bytes) else json.dumps(body).encode()
        connection.request("POST", path, raw, {"content-type": "application/json", **headers})
        answer = connection.getresponse()
        return answer.status, dict(answer.getheaders()), json.loads(answer.read())
    finally:
        connection.close()


def ask(n: int) -> dict[str, Any]:
    return {"model": "m", "messages": [{"role": "user", "content": f"number {n}"}]}


def support_prompt() -> dict[str, Any]:
    shown = prompts.load("support").render(
        passages=Fenced((Piece("passage", "The agent listens on port 8125.", "P101"),)),
        statements=Fenced.one(
            "statements",
            "S201: The agent listens on port 8125.\nS202: The agent listens on port 9.\nS203: Whales sing.",
        ),
    )
    messages = [{"role": "system", "content": shown.system}, {"role": "user", "content": shown.user}]
    return {"model": "m", "messages": messages}


def test_it_judges_our_prompts_by_the_words_in_them() -> None:
    with FakeLLMServer() as server:
        _, _, reply = post(server, support_prompt())
    said = json.loads(reply["choices"][0]["message"]["content"])["verdicts"]
    assert [(v["id"], v["label"], v["evidence"]) for v in said] == [
        ("S201", "supported", "P101"), ("S202", "contradicted", "P101"), ("S203", "not_mentioned", "")
    ]  # fmt: skip


def test_openai_s_own_client_reads_it() -> None:
    import openai

    with FakeLLMServer() as server, openai.OpenAI(base_url=server.openai_url, api_key="k", max_retries=0) as client:
        reply = client.chat.completions.create(**support_prompt())
        assert "S201" in (reply.choices[0].message.content or "")
        assert reply.usage is not None
        assert reply.usage.prompt_tokens == server.counts.tokens_in > 100
        assert [m.id for m in client.models.list().data] == ["fake"]


def test_anthropic_s_own_client_reads_it() -> None:
    import anthropic

    body = support_prompt()
    with FakeLLMServer() as server, anthropic.Anthropic(base_url=server.url, api_key="k", max_retries=0) as client:
        reply = client.messages.create(
            model="m", max_tokens=900, system=body["messages"][0]["content"], messages=body["messages"][1:]
        )
        assert reply.stop_reason == "end_turn"
        assert "S201" in reply.content[0].text
        sent = server.seen[0].headers
        assert sent.get("x-api-key", sent.get("authorization", "")).removeprefix("Bearer ") == "k"


def test_several_requests_go_over_one_connection() -> None:
    with FakeLLMServer() as server:
        connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=10)
        for _ in range(3):
            connection.request("POST", "/v1/chat/completions", json.dumps(PLAIN))
            assert connection.getresponse().read()
        connection.close()
        assert server.counts.requests == 3


def test_faults_follow_from_seed_and_content_and_a_second_try_is_drawn_anew() -> None:
    faults = Faults(rate_limited=0.2, server_error=0.2)
    runs = []
    for seed in (1, 1, 2):
        with FakeLLMServer(seed=seed, faults=faults) as server:
            runs.append([[post(server, ask(n))[0] for _ in range(2)] for n in range(60)])
    assert runs[0] == runs[1] != runs[2]
    assert {status for pair in runs[0] for status in pair} == {200, 429, 500}
    assert any(first != second for first, second in runs[0])
    share = sum(status != 200 for pair in runs[0] for status in pair) / 120
    assert 0.25 < share < 0.55


def test_429_says_when_to_come_back() -> None:
    with FakeLLMServer(faults=Faults(rate_limited=1), retry_after_s=7) as server:
        status, headers, _ = post(server, PLAIN)
    assert (status, headers["retry-after"]) == (429, "7")


@pytest.mark.parametrize("fault", ["malformed", "truncated"])
def test_spoilt_json_is_no_json(fault: str) -> None:
    with FakeLLMServer(faults=Faults(**{fault: 1.0})) as server:
        _, _, reply = post(server, support_prompt())
    choice = reply["choices"][0]
    with pytest.raises(ValueError):
        json.loads(choice["message"]["content"])
    assert choice["finish_reason"] == ("length" if fault == "truncated" else "stop")


def test_missing_ids_and_wrong_labels() -> None:
    with FakeLLMServer(faults=Faults(missing_ids=1)) as server:
        said = json.loads(post(server, support_prompt())[2]["choices"][0]["message"]["content"])["verdicts"]
        assert [v["id"] for v in said] == ["S202", "S203"]
    with FakeLLMServer(faults=Faults(wrong_label=1)) as server:
        said = json.loads(post(server, support_prompt())[2]["choices"][0]["message"]["content"])["verdicts"]
        assert [v["label"] for v in said] == ["perhaps", "contradicted", "not_mentioned"]


def test_a_dropped_connection_breaks_off_in_the_body() -> None:
    with FakeLLMServer(faults=Faults(dropped=1)) as server, pytest.raises(http.client.IncompleteRead):
        post(server, PLAIN)


def test_a_hang_ends_when_the_client_goes() -> None:
    with FakeLLMServer(faults=Faults(hang=1)) as server:
        connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=0.3)
        connection.request("POST", "/v1/chat/completions", json.dumps(PLAIN))
        with pytest.raises(TimeoutError):
            connection.getresponse()
        assert server.counts.in_flight == 1
        connection.close()
        for _ in range(100):
            if server.counts.in_flight == 0:
                break
            threading.Event().wait(0.05)
        assert server.counts.in_flight == 0


def test_it_counts_how_many_were_served_at_once_and_may_refuse_more() -> None:
    with FakeLLMServer(latency_ms=200, max_concurrent=3) as server:
        statuses: list[int] = []
        threads = [threading.Thread(target=lambda n=n: statuses.append(post(server, ask(n))[0])) for n in range(6)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert server.counts.peak == 6
        assert sorted(statuses) == [200, 200, 200, 429, 429, 429]


def test_keys_and_models_can_be_wrong() -> None:
    with FakeLLMServer(api_key="right", models=["m"]) as server:
        assert post(server, PLAIN)[0] == 401
        assert post(server, PLAIN, authorization="Bearer right")[0] == 200
        request = urllib.request.Request(f"{server.openai_url}/models/other", headers={"api-key": "right"})
        with pytest.raises(urllib.error.HTTPError, match="404") as refused:
            urllib.request.urlopen(request)
        refused.value.close()


def test_servers_without_schemas() -> None:
    asked = {**PLAIN, "response_format": {"type": "json_schema", "json_schema": {"name": "x", "schema": {}}}}
    for schema, status in (("enforced", 200), ("ignored", 200), ("rejected_400", 400), ("rejected_500", 500)):
        with FakeLLMServer(schema=schema) as server:
            assert post(server, asked)[0] == status


def test_a_script_is_used_up_in_order() -> None:
    with FakeLLMServer(script={"support": ["not JSON", {"verdicts": []}, 503]}) as server:
        said = [post(server, support_prompt()) for _ in range(4)]
    texts = [reply["choices"][0]["message"]["content"] if status == 200 else status for status, _, reply in said]
    assert texts[:3] == ["not JSON", '{"verdicts": []}', 503]
    assert "S201" in texts[3]


@pytest.mark.parametrize(
    "raw",
    [b"nonsense\r\n\r\n", b"POST /v1/chat/completions HTTP/1.1\r\ncontent-length: -5\r\n\r\n", b"\x00\xff\r\n\r\n"],
)
def test_bytes_that_are_no_request_get_400(raw: bytes) -> None:
    import socket

    with FakeLLMServer() as server, socket.create_connection(("127.0.0.1", server.port), timeout=5) as connection:
        connection.sendall(raw)
        assert connection.recv(100).startswith(b"HTTP/1.1 400")


@pytest.mark.parametrize("body", [b"", b"[]", b"{", b'{"messages": 5}', b'{"messages": [5]}', b"\xff"])
def test_a_body_that_is_no_model_request_gets_400(body: bytes) -> None:
    with FakeLLMServer() as server:
        assert post(server, body)[0] == 400


def test_shares_that_are_more_than_everything_are_refused() -> None:
    with pytest.raises(ValueError, match="at most 1"):
        Faults(hang=0.6, prose=0.6)


def test_it_runs_as_a_program() -> None:
    command = [sys.executable, "-m", "ragauge.testing.fake_llm", "--prose", "1.0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as program:
        assert program.stdout is not None
        try:
            url = program.stdout.readline().split()[-1]
            port = int(url.split(":")[2].split("/")[0])
            server = FakeLLMServer(port=port)
            assert "hard to say" in post(server, support_prompt())[2]["choices"][0]["message"]["content"]
            with urllib.request.urlopen(f"http://127.0.0.1:{port}/stats") as stats:
                assert json.load(stats)["requests"] == 1
        finally:
            program.terminate()


def test_prompts_that_are_not_ours_can_be_answered_by_a_function() -> None:
    with FakeLLMServer(otherwise=lambda body, prompt: {"model": body["model"], "asked": prompt}) as server:
        _, _, theirs = post(server, ask(7))
        _, _, ours = post(server, support_prompt())
    said = json.loads(theirs["choices"][0]["message"]["content"])
    assert said["model"] == "m"
    assert "number 7" in said["asked"]
    assert "verdicts" in ours["choices"][0]["message"]["content"]
