"""A fake language-model server: real HTTP on this machine, OpenAI- and Anthropic-shaped, deterministic, no model.

It answers ragauge's own prompts by word overlap (`fake_llm_answers`), and misbehaves on request: latency, 429 with
Retry-After, 500, hangs, cut connections, truncated or malformed JSON, prose, labels that are not on the menu, missing
ids, servers without JSON-schema support. Which request gets which fault depends only on the seed, the request's bytes
and how often they were seen, so a run against it can be repeated.

    with FakeLLMServer(faults=Faults(rate_limited=0.05)) as server:
        judge = make_judge(f"compatible:any@{server.openai_url}")

    python -m ragauge.testing.fake_llm --port 8089 --latency-ms 200
"""

from __future__ import annotations

import argparse
import asyncio
import hashlib
import json
import threading
import time
from collections import Counter, deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any, Literal

from ragauge.testing.fake_llm_answers import answer, understand
from ragauge.testing.fake_llm_http import HttpReply, HttpRequest, serve_connection

Schema = Literal["enforced", "ignored", "rejected_400", "rejected_500"]


@dataclass(frozen=True)
class Faults:
    """The share of requests (0 to 1 each, together at most 1) that go wrong in each way."""

    rate_limited: float = 0.0
    server_error: float = 0.0
    hang: float = 0.0
    dropped: float = 0.0
    truncated: float = 0.0
    malformed: float = 0.0
    prose: float = 0.0
    wrong_label: float = 0.0
    missing_ids: float = 0.0
    refused: float = 0.0

    def __post_init__(self) -> None:
        shares = [getattr(self, f.name) for f in fields(self)]
        if min(shares) < 0 or sum(shares) > 1 + 1e-9:
            raise ValueError("each share must be 0 or more, and all together at most 1")

    def pick(self, draw: float) -> str | None:
        """The fault for a draw from [0, 1), or None."""
        for f in fields(self):
            draw -= getattr(self, f.name)
            if draw < 0:
                return f.name
        return None


@dataclass(frozen=True)
class Seen:
    """One model request that the server got. `at`: when, by `time.monotonic`."""

    path: str
    task: str
    prompt: str
    body: Mapping[str, Any]
    headers: Mapping[str, str]
    fault: str | None
    at: float = 0.0


@dataclass
class Counts:
    """What the server counted. Model requests only; `/models` is counted in `listings`.

    `busiest_minute`: the most requests in any 60 s; `busiest_second`: in any second.
    """

    requests: int = 0
    answered: int = 0
    listings: int = 0
    in_flight: int = 0
    peak: int = 0
    tokens_in: int = 0
    tokens_out: int = 0
    busiest_minute: int = 0
    busiest_second: int = 0
    by_task: Counter[str] = field(default_factory=Counter)
    by_status: Counter[int] = field(default_factory=Counter)
    by_fault: Counter[str] = field(default_factory=Counter)


@dataclass
class FakeLLMServer:
    """The server. A context manager; it listens on a free port of this machine unless `port` says which.

    `script` maps a task to replies that are used up in order before the word-overlap answers: a dict is sent as JSON,
    a str as it is, an int as that HTTP status. `schema` says what `response_format: json_schema` meets. `models`
    None: every name is served. `api_key` None: every key is. `max_concurrent`: more than that at once get 429.
    `otherwise` answers, from body and prompt, what is none of our prompts (a benchmark beside another tool).
    """

    port: int = 0
    seed: int = 0
    latency_ms: float = 0.0
    faults: Faults = field(default_factory=Faults)
    retry_after_s: float | None = 0.05
    hang_s: float = 3600.0
    schema: Schema = "enforced"
    json_object: bool = True
    tools: bool = True
    api_key: str | None = None
    models: Sequence[str] | None = None
    max_concurrent: int | None = None
    rejects: Sequence[str] = ()
    script: Mapping[str, Sequence[Any]] = field(default_factory=dict)
    keep: int = 10_000
    otherwise: Callable[[Mapping[str, Any], str], dict[str, Any] | str] | None = None

    def __post_init__(self) -> None:
        self.counts = Counts()
        self.seen: deque[Seen] = deque(maxlen=self.keep)
        self._times: Counter[bytes] = Counter()
        self._minute: deque[float] = deque()
        self._second: deque[float] = deque()
        self._script = {task: deque(replies) for task, replies in self.script.items()}
        self._thread: threading.Thread | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._ready = threading.Event()
        self._failed: BaseException | None = None

    @property
    def url(self) -> str:
        """Root of the server, which is also the base URL that the Anthropic client wants."""
        return f"http://127.0.0.1:{self.port}"

    @property
    def openai_url(self) -> str:
        """Base URL for OpenAI clients."""
        return f"{self.url}/v1"

    def __enter__(self) -> FakeLLMServer:
        self._thread = threading.Thread(target=self._run, name="fake-llm", daemon=True)
        self._thread.start()
        self._ready.wait()
        if self._failed is not None:
            raise self._failed
        return self

    def __exit__(self, *_: object) -> None:
        if self._loop is not None and self._thread is not None:
            self._loop.call_soon_threadsafe(self._stop.set)
            self._thread.join()

    def reset(self) -> None:
        """Forget what was counted and kept (not what the script used up)."""
        in_flight = self.counts.in_flight
        self.counts = Counts(in_flight=in_flight)
        self.seen.clear()

    def _run(self) -> None:
        try:
            asyncio.run(self._serve())
        except BaseException as problem:
            self._failed = problem
            self._ready.set()

    async def _serve(self) -> None:
        self._loop, self._stop = asyncio.get_running_loop(), asyncio.Event()
        open_connections: set[asyncio.Task[None]] = set()

        async def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            task = asyncio.current_task()
            assert task is not None
            open_connections.add(task)
            try:
                await serve_connection(self._handle, reader, writer)
            except asyncio.CancelledError:
                pass  # the server is closing
            finally:
                open_connections.discard(task)

        server = await asyncio.start_server(connected, "127.0.0.1", self.port, limit=1 << 20, backlog=1024)
        self.port = server.sockets[0].getsockname()[1]
        self._ready.set()
        await self._stop.wait()
        server.close()
        for task in list(open_connections):
            task.cancel()
        await asyncio.gather(*open_connections, return_exceptions=True)

    async def _handle(self, request: HttpRequest) -> HttpReply:
        path = request.path.rstrip("/")
        if path == "/stats":
            return HttpReply(200, self.stats())
        if path == "/reset":
            self.reset()
            return HttpReply(200, {})
        if (denied := self._denied(request)) is not None:
            return denied
        if "/models" in path:
            return self._listing(path)
        if request.method != "POST" or not path.endswith(("/chat/completions", "/messages")):
            return _error(404, "not found")
        try:
            body = json.loads(request.body)
            prompt = prompt_of(body)
        except (ValueError, TypeError, KeyError, AttributeError):
            return _error(400, "the body is not a model request")
        return await self._complete(request, body, prompt, path.endswith("/messages"))

    def _denied(self, request: HttpRequest) -> HttpReply | None:
        given = request.headers
        key = given.get("x-api-key") or given.get("api-key") or given.get("authorization", "").removeprefix("Bearer ")
        if self.api_key is not None and key != self.api_key:
            return _error(401, f"Incorrect API key provided: {key}", code="invalid_api_key")
        return None

    def _listing(self, path: str) -> HttpReply:
        self.counts.listings += 1
        names = list(self.models or ("fake",))
        wanted = path.partition("/models")[2].strip("/")
        if wanted and self.models is not None and wanted not in names:
            return _error(404, f"The model '{wanted}' does not exist", code="model_not_found")
        entries = [{"id": name, "object": "model", "type": "model", "display_name": name} for name in names]
        if wanted:
            return HttpReply(200, {**entries[0], "id": wanted})
        return HttpReply(200, {"object": "list", "data": entries, "has_more": False})

    async def _complete(self, request: HttpRequest, body: dict[str, Any], prompt: str, anthropic: bool) -> HttpReply:
        counts, task = self.counts, understand(prompt).task
        fault = self._fault(request.body)
        counts.requests += 1
        counts.by_task[task] += 1
        counts.in_flight += 1
        counts.peak = max(counts.peak, counts.in_flight)
        at = self._arrived()
        self.seen.append(Seen(request.path, task, prompt, body, request.headers, fault, at))
        if fault:
            counts.by_fault[fault] += 1
        started = time.perf_counter()
        try:
            reply = self._too_many() or self._unsupported(body) or await self._faulty(fault)
            if reply is None:
                reply = self._reply(body, prompt, task, fault, anthropic)
            await asyncio.sleep(max(0.0, self.latency_ms / 1000 - (time.perf_counter() - started)))
        finally:
            self.counts.in_flight -= 1
        counts.by_status[reply.status] += 1
        counts.answered += reply.status == 200
        return reply

    def _arrived(self) -> float:
        now = time.monotonic()
        for window, seconds in ((self._minute, 60.0), (self._second, 1.0)):
            window.append(now)
            while window[0] <= now - seconds:
                window.popleft()
        self.counts.busiest_minute = max(self.counts.busiest_minute, len(self._minute))
        self.counts.busiest_second = max(self.counts.busiest_second, len(self._second))
        return now

    def _fault(self, body: bytes) -> str | None:
        digest = hashlib.blake2b(body, digest_size=12).digest()
        self._times[digest] += 1
        mixed = hashlib.blake2b(f"{self.seed}:{self._times[digest]}:".encode() + digest, digest_size=8).digest()
        return self.faults.pick(int.from_bytes(mixed, "big") / 2**64)

    def _too_many(self) -> HttpReply | None:
        if self.max_concurrent is not None and self.counts.in_flight > self.max_concurrent:
            return self._rate_limited()
        return None

    def _rate_limited(self) -> HttpReply:
        headers = {} if self.retry_after_s is None else {"retry-after": str(self.retry_after_s)}
        return _error(429, "Rate limit reached", code="rate_limit_exceeded", headers=headers)

    def _unsupported(self, body: dict[str, Any]) -> HttpReply | None:
        for name in self.rejects:
            if name in body:
                return _error(400, f"Unsupported parameter: '{name}' is not supported with this model.")
        kind = (body.get("response_format") or (body.get("output_config") or {}).get("format") or {}).get("type")
        if kind == "json_schema" and self.schema == "rejected_400":
            return _error(400, "response_format type json_schema is not supported")
        if kind == "json_schema" and self.schema == "rejected_500":
            loc = (
                "[{'type': 'literal_error', 'loc': ('body', 'response_format', 'type'), 'msg': \"Input should be 'text'"
            )
            return _error(500, loc + " or 'json_object'\", 'input': 'json_schema'}]")
        if kind == "json_object" and not self.json_object:
            return _error(400, "response_format is not supported")
        if body.get("tools") and not self.tools:
            return _error(400, "tools are not supported")
        return None

    async def _faulty(self, fault: str | None) -> HttpReply | None:
        if fault == "rate_limited":
            return self._rate_limited()
        if fault == "server_error":
            return _error(500, "The server had an error while processing your request")
        if fault == "hang":
            await asyncio.sleep(self.hang_s)
        if fault == "dropped":
            return HttpReply(200, {"choices": [{"message": {"content": "half of this is sent"}}]}, cut=True)
        return None

    def _reply(self, body: dict[str, Any], prompt: str, task: str, fault: str | None, anthropic: bool) -> HttpReply:
        scripted = self._script.get(task)
        said: Any = scripted.popleft() if scripted else spoilt(self._answer(body, prompt, task), fault)
        if isinstance(said, int):
            return _error(said, f"scripted {said}")
        text = said if isinstance(said, str) else json.dumps(said, ensure_ascii=False)
        if self.schema == "ignored" and not isinstance(said, str):
            text = f"Here is what I think.\n```json\n{text}\n```\nI hope that this helps."
        limit = body.get("max_completion_tokens") or body.get("max_tokens")
        stop = "stop"
        if fault == "truncated" or (limit and tokens(text) > limit):
            text, stop = text[: max(1, min(len(text) * 2 // 3, 4 * (limit or 10**9)))], "length"
        if fault == "refused":
            text, stop = "I cannot help with that.", "refusal"
        tokens_in = tokens(prompt) + tokens(json.dumps(_schema_of(body)))
        self.counts.tokens_in += tokens_in
        self.counts.tokens_out += tokens(text)
        shape = anthropic_reply if anthropic else openai_reply
        return HttpReply(200, shape(body, text, stop, tokens_in, tokens(text)))

    def _answer(self, body: Mapping[str, Any], prompt: str, task: str) -> dict[str, Any] | str:
        if not task and self.otherwise is not None:
            return self.otherwise(body, prompt)
        return answer(prompt)

    def stats(self) -> dict[str, Any]:
        """The counts as JSON (also at `GET /stats`)."""
        c = self.counts
        plain = {f.name: getattr(c, f.name) for f in fields(c)}
        return {name: dict(value) if isinstance(value, Counter) else value for name, value in plain.items()}


def tokens(text: str) -> int:
    """The fake server's idea of tokens: four characters each, rounded up."""
    return -(-len(text) // 4)


def prompt_of(body: Mapping[str, Any]) -> str:
    """Everything that the request says to the model, as one text."""
    said = [{"content": body.get("system", "")}, *body["messages"]]
    texts = []
    for message in said:
        content = message["content"]
        texts += [content] if isinstance(content, str) else [part.get("text", "") for part in content]
    return "\n".join(text for text in texts if text)


def spoilt(said: dict[str, Any] | str, fault: str | None) -> Any:
    """`said` as a misbehaving model would say it. Plain text cannot be malformed, and lacks no ids."""
    if isinstance(said, str):
        return said
    if fault == "malformed":
        text = json.dumps(said)
        return text[:-2] + ', "extra": [}' if len(text) > 2 else "{"
    if fault == "prose":
        return "Well, that is hard to say. On the whole I would call it supported, useful and correct."
    if fault == "missing_ids" and said.get("verdicts"):
        return {**said, "verdicts": said["verdicts"][1:]}
    if fault == "wrong_label":
        if "label" in said:
            return {**said, "label": "perhaps"}
        if said.get("verdicts"):
            return {**said, "verdicts": [{**said["verdicts"][0], "label": "perhaps"}, *said["verdicts"][1:]]}
    return said


def openai_reply(body: Mapping[str, Any], text: str, stop: str, tokens_in: int, tokens_out: int) -> dict[str, Any]:
    """The shape of a chat completion."""
    message: dict[str, Any] = {"role": "assistant", "content": text}
    tools = body.get("tools")
    if stop == "refusal":
        message, stop = {"role": "assistant", "content": None, "refusal": text}, "stop"
    elif tools:
        call = {"name": tools[0]["function"]["name"], "arguments": text}
        message = {
            "role": "assistant",
            "content": None,
            "tool_calls": [{"id": "call_1", "type": "function", "function": call}],
        }
        stop = "tool_calls" if stop == "stop" else stop
    usage = {"prompt_tokens": tokens_in, "completion_tokens": tokens_out, "total_tokens": tokens_in + tokens_out}
    choice = {"index": 0, "message": message, "finish_reason": stop, "logprobs": None}
    return {
        "id": "chatcmpl-fake", "object": "chat.completion", "created": 0, "model": body.get("model", "fake"),
        "choices": [choice], "usage": usage,
    }  # fmt: skip


def anthropic_reply(body: Mapping[str, Any], text: str, stop: str, tokens_in: int, tokens_out: int) -> dict[str, Any]:
    """The shape of a message."""
    reason = {"stop": "end_turn", "length": "max_tokens"}.get(stop, stop)
    content: list[dict[str, Any]] = [{"type": "text", "text": text}]
    if body.get("tools"):
        try:
            content = [{"type": "tool_use", "id": "t1", "name": body["tools"][0]["name"], "input": json.loads(text)}]
            reason = "tool_use"
        except ValueError:
            pass  # text that is no JSON cannot travel as a tool's input: it goes as the text that it is
    return {
        "id": "msg_fake", "type": "message", "role": "assistant", "model": body.get("model", "fake"),
        "content": content, "stop_reason": reason, "stop_sequence": None,
        "usage": {"input_tokens": tokens_in, "output_tokens": tokens_out},
    }  # fmt: skip


def _schema_of(body: Mapping[str, Any]) -> Any:
    return body.get("response_format") or body.get("output_config") or body.get("tools") or ""


def _error(status: int, message: str, *, code: str = "", headers: Mapping[str, str] | None = None) -> HttpReply:
    error = {"message": message, "type": code or "error", "code": code or None}
    return HttpReply(status, {"type": "error", "error": error}, headers or {})


def main(arguments: Sequence[str] | None = None) -> None:
    """Serve until interrupted; the address is printed first."""
    parser = argparse.ArgumentParser(prog="python -m ragauge.testing.fake_llm", description="A fake LLM server.")
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--latency-ms", type=float, default=0.0)
    parser.add_argument("--retry-after-s", type=float, default=0.05)
    parser.add_argument("--hang-s", type=float, default=3600.0)
    parser.add_argument("--keep", type=int, default=0, help="how many requests to keep in memory")
    schemas = ["enforced", "ignored", "rejected_400", "rejected_500"]
    parser.add_argument("--schema", choices=schemas, default="enforced")
    for f in fields(Faults):
        parser.add_argument(f"--{f.name.replace('_', '-')}", type=float, default=0.0, metavar="SHARE")
    given = vars(parser.parse_args(arguments))
    faults = Faults(**{f.name: given.pop(f.name) for f in fields(Faults)})
    with FakeLLMServer(faults=faults, **given) as server:
        print(f"listening on {server.openai_url}", flush=True)
        try:
            while True:
                time.sleep(3600)
        except KeyboardInterrupt:
            return


if __name__ == "__main__":
    main()
