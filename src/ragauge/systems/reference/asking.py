"""Asking a language model on the system's behalf: what it used is counted, and what fails is the system's failure."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from ragauge.core.judge import metered
from ragauge.core.model import fingerprint
from ragauge.core.provider import LanguageModel, Reply, Request, Shape
from ragauge.core.sample import Message, Usage, is_blank
from ragauge.core.system import current_repeat
from ragauge.errors import JudgeUnavailable, SystemFailed
from ragauge.prompts import Fenced, Piece, Prompt
from ragauge.text.normalise import clean

#: A reply that is no list of queries is asked for again this often.
MAX_REASKS = 1
#: Roles that are shown as they are; any other word could be anybody's.
ROLES = frozenset(("user", "assistant", "system", "tool"))


@dataclass(frozen=True)
class Said:
    """What a model said, what asking it used, and how long it took.

    Of a reply from the cache these are tokens, price and time of when it was made: they are the system's, whoever paid
    for them, and a cell of a sweep must not look cheap because another one asked before it.
    """

    text: str
    usage: Usage
    latency_ms: float
    model: str
    cached: bool = False


def identity(model: LanguageModel) -> dict[str, Any]:
    """What of a model can change its replies."""
    endpoint, sampling = model.provider.endpoint, model.sampling
    return {
        "endpoint": [endpoint.provider, endpoint.model, endpoint.base_url, endpoint.options],
        "sampling": [sampling.temperature, sampling.top_p, sampling.seed, sampling.max_tokens],
    }


def fingerprint_of(model: LanguageModel, prompt: Prompt, **more: Any) -> str:
    """Changes with the model, the prompt and `more`."""
    return fingerprint({**identity(model), "prompt": prompt.sha256, **more})


async def ask(model: LanguageModel, prompt: Prompt, values: Mapping[str, str | Fenced]) -> Said:
    """One request for plain text. `SystemFailed` says why there is none; time-outs and an empty budget pass through."""
    return await _asked(model, prompt, values)


async def ask_for_queries(
    model: LanguageModel, prompt: Prompt, values: Mapping[str, str | Fenced], *, count: int | None = None
) -> tuple[list[str], Said]:
    """One request for a list of queries, asked again (once) when the reply is not of the form asked for."""
    code = item_code(prompt, values)
    filled = {"item": code, **values} | ({} if count is None else {"n": str(count)})
    used, latency_ms = Usage(), 0.0
    for attempt in range(MAX_REASKS + 1):
        said = await _asked(model, prompt, filled, shape=QUERIES, item=code, count=count or 1, attempt=attempt)
        used, latency_ms = used + said.usage, latency_ms + said.latency_ms
        queries = read_queries(said.text, code)
        if queries is not None:
            return queries, Said(said.text, used, latency_ms, said.model, said.cached)
    raise SystemFailed(f"{prompt.name}: {model.provider.endpoint.label} gave no list of queries", raw=said.text[:4000])


async def _asked(
    model: LanguageModel,
    prompt: Prompt,
    values: Mapping[str, str | Fenced],
    *,
    shape: Shape | None = None,
    item: str | None = None,
    count: int = 1,
    attempt: int = 0,
) -> Said:
    rendered = prompt.render(**values)
    again = "\nYour last reply was not the JSON asked for. Reply with the JSON and nothing else." if attempt else ""
    repeat, sampling = current_repeat(), model.sampling
    seed = None if sampling.seed is None else sampling.seed + repeat
    request = Request(
        task=prompt.name, system=rendered.system, user=rendered.user + again, prompt_sha256=prompt.sha256, shape=shape,
        sampling=replace(sampling, seed=seed), sample=repeat, attempt=attempt, count=count,
        ids=() if item is None else (item,),
    )  # fmt: skip
    label = model.provider.endpoint.label
    with metered() as meter:
        try:
            reply = await model.provider.complete(request)
        except JudgeUnavailable as failure:
            raise SystemFailed(f"{prompt.name}: {failure.message}", hint=failure.hint) from failure
    text = clean(_without_reasoning(reply))
    if reply.stop == "length":
        limit = model.sampling.max_tokens
        raise SystemFailed(f"{prompt.name}: the reply of {label} was cut at {limit} tokens", raw=text[:4000])
    if reply.stop == "refusal":
        raise SystemFailed(f"{prompt.name}: {label} refused to reply", raw=text[:4000])
    if is_blank(text):
        raise SystemFailed(f"{prompt.name}: {label} gave an empty reply")
    name = reply.model or model.provider.endpoint.model
    return Said(text.strip(), _used(reply, meter.usage), reply.latency_ms, name, reply.cached)


def _used(reply: Reply, counted: Usage) -> Usage:
    if not reply.cached:
        return counted
    made = Usage(tokens_in=reply.tokens_in, tokens_out=reply.tokens_out, cost_usd=reply.first_cost_usd)
    return made.model_copy(update={"cached_calls": 1})


def _without_reasoning(reply: Reply) -> str:
    """A reply without the thoughts that some models write before it."""
    text = reply.text.lstrip()
    for name in ("think", "thinking", "reasoning"):
        if text.startswith(f"<{name}>"):
            return text.partition(f"</{name}>")[2]
    return reply.text


def item_code(prompt: Prompt, values: Mapping[str, str | Fenced]) -> str:
    """A code that the reply has to repeat; it follows from everything that is asked, so nothing inside can know it."""
    whole = hashlib.sha256(prompt.sha256.encode())
    for name in sorted(values):
        value = values[name]
        pieces = value.pieces if isinstance(value, Fenced) else (Piece("own", value),)
        for piece in pieces:
            raw = piece.text.encode("utf-8", "surrogatepass")
            whole.update(f"{name}:{piece.kind}:{len(raw)}:".encode() + raw)
    return f"Q{int(whole.hexdigest()[:8], 16) % 9000 + 1000}"


def conversation(history: tuple[Message, ...]) -> Fenced:
    """What was said before, each message within its fence."""
    return Fenced(tuple(Piece("message", one.content, one.role if one.role in ROLES else "other") for one in history))


def read_queries(text: str, code: str) -> list[str] | None:
    """The queries in a reply, on one line each, blank ones left out; None when the reply is of another form.

    >>> read_queries('{"id": "Q1", "queries": ["a  b", " "]}', "Q1"), read_queries('["a"]', "Q1")
    (['a b'], None)
    """
    start, end = text.find("{"), text.rfind("}")
    try:
        value = json.loads(text[start : end + 1])
    except (ValueError, RecursionError):
        return None
    queries = value.get("queries") if isinstance(value, dict) else None
    if not isinstance(queries, list) or value.get("id") != code or not all(isinstance(one, str) for one in queries):
        return None
    return [" ".join(clean(one).split())[:1000] for one in queries if not is_blank(one)]


def _shape() -> Shape:
    text = {"type": "string"}
    fields = {"id": text, "queries": {"type": "array", "items": text}}
    schema = {"type": "object", "properties": fields, "required": list(fields), "additionalProperties": False}
    return Shape("queries", schema, hashlib.sha256(json.dumps(schema, sort_keys=True).encode()).hexdigest())


QUERIES = _shape()
