"""A service behind HTTP as the system under test: one request for each question, its reply read by a field mapping."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal
from urllib.parse import quote, urlsplit

from pydantic import Field

from ragauge.core.model import fingerprint
from ragauge.core.sample import Question, Response, RetrievedContext
from ragauge.core.system import SystemInfo
from ragauge.errors import EndpointUnusable, MissingExtra, SettingsError, SystemFailed, TimedOut, shortened
from ragauge.systems.calling import failures_of
from ragauge.systems.http_retries import Refused, delay_before, reached, refusal
from ragauge.systems.own_settings import OwnSettings, read_own
from ragauge.systems.reply_map import Reader, ReplyMap, compiled
from ragauge.systems.streams import Pieces, Stream
from ragauge.systems.template import check_template, fill, names_in, values_of
from ragauge.systems.variables import fill_variables, secrets_in, shown_headers, struck

_HINT = "system: {http: {url: http://localhost:8000/ask, body: {question: '{question}'}}}"


class HttpSettings(OwnSettings):
    """One request. `body`, `params` and `form` are templates with `{question}`; `response` maps the reply.

    `stream`: the reply comes in pieces (`sse`, `ndjson`); `delta` is where a piece of the answer stands in an event.
    `timeout_s` limits one attempt. `retries`: further attempts after a refused connection, 429 or 5xx; `max_wait_s`
    the longest wait that a `Retry-After` can ask for. `verify`: false, or a file of certificates.
    """

    url: str
    method: Literal["GET", "POST", "PUT"] = "POST"
    headers: dict[str, str] = Field(default_factory=dict)
    params: dict[str, Any] = Field(default_factory=dict)
    body: Any = None
    form: dict[str, Any] | None = None
    response: ReplyMap = ReplyMap()
    stream: Stream | None = None
    delta: str | None = None
    timeout_s: float = Field(default=60.0, gt=0)
    connect_timeout_s: float = Field(default=10.0, gt=0)
    retries: int = Field(default=3, ge=0, le=20)
    max_wait_s: float = Field(default=60.0, ge=0)
    max_reply_mb: float = Field(default=20.0, gt=0)
    verify: bool | str = True
    version: str = ""


def build(
    settings: Mapping[str, Any], *, shown: Mapping[str, Any] | None = None, base: Path | None = None
) -> HttpSystem:
    """The service that `settings` describe. `shown`: the same settings with `${NAME}` where a secret belongs."""
    as_written = settings if shown is None else shown
    checked = read_own(HttpSettings, "http", fill_variables(settings), hint=_HINT)
    parts = urlsplit(checked.url)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise SettingsError("system.http.url is no address", hint="It starts with http:// or https://.")
    if parts.username or parts.password:
        raise SettingsError(
            "system.http.url holds a password", hint="Send it as a header: {Authorization: 'Basic ${SECRET}'}."
        )
    requests = {"url": checked.url, "params": checked.params, "body": checked.body, "form": checked.form}
    if (
        checked.body is None
        and checked.form is None
        and checked.method != "GET"
        and "question" not in names_in([checked.url, checked.params])
    ):
        checked = checked.model_copy(update={"body": {"question": "{question}"}})
    else:
        check_template([one for one in requests.values() if one is not None], "system.http")
    if checked.body is not None and checked.form is not None:
        raise SettingsError("system.http: give `body` (sent as JSON) or `form`, not both")
    if checked.delta is not None and checked.stream is None:
        raise SettingsError("system.http.delta is for streams", hint="Set `stream: sse` or `stream: ndjson`.")
    if isinstance(checked.verify, str):
        file = (base or Path()) / checked.verify
        if not file.is_file():
            raise SettingsError(f"system.http.verify: there is no file {checked.verify}")
        checked = checked.model_copy(update={"verify": str(file)})
    try:
        import httpx2  # noqa: F401
    except ImportError as error:
        raise MissingExtra("httpx2", "http") from error
    return HttpSystem(checked, as_written)


@dataclass
class HttpSystem:
    """`System` over HTTP. Connections are kept and shared by all questions of one event loop.

    A reply's status, the attempts it took, and the time to the first piece of a stream stand in the response's
    metadata (`http`), with the paths of the mapping that led nowhere (`not_found`).
    """

    settings: HttpSettings
    as_written: Mapping[str, Any]
    _client: Any = field(default=None, init=False, repr=False)
    _loop: Any = field(default=None, init=False, repr=False)

    def __post_init__(self) -> None:
        self._secrets = secrets_in(self.as_written)
        self._reader = Reader(self.settings.response, "system.http.response")
        self._delta = None if self.settings.delta is None else compiled(self.settings.delta, "system.http.delta")
        shown = dict(self.as_written)
        if "headers" in shown:
            shown["headers"] = shown_headers({str(key): str(one) for key, one in dict(shown["headers"]).items()})
        parts = urlsplit(self.settings.url)
        self._name = f"{parts.hostname}:{parts.port}{parts.path}" if parts.port else f"{parts.hostname}{parts.path}"
        self._info = SystemInfo(name=self._name, kind="http", settings=shown, fingerprint=fingerprint({"http": shown}))

    def info(self) -> SystemInfo:
        """The address and the settings as written: variables by their names, other header values struck out."""
        return self._info

    async def preflight(self) -> None:
        """`EndpointUnusable` when nobody listens there, before the first question."""
        problem = await reached(self.settings.url, self.settings.connect_timeout_s)
        if problem is not None:
            raise EndpointUnusable(f"nobody answers at {self._name}: {problem}", hint="Start it, or correct `url`.")

    async def respond(self, question: Question, /, *, context: RetrievedContext | None = None) -> Response:
        """One question asked, attempts repeated where that can help."""
        settings = self.settings
        templates = [settings.url, settings.params, settings.body, settings.form]
        if context is not None and "context" not in names_in([one for one in templates if one is not None]):
            raise SystemFailed(
                f"{self._name} cannot answer from a given context", hint="Give the body a place for {context}."
            )
        values = values_of(question, context)
        attempt = 0
        with failures_of(self._name, self._secrets):
            while True:
                attempt += 1
                try:
                    response = await self._once(values, attempt)
                except Refused as refused:
                    if attempt > settings.retries or not refused.again:
                        raise self._failed(refused, attempt) from None
                    await asyncio.sleep(self._delay(refused, attempt))
                else:
                    break
        return response if context is None else response.model_copy(update={"context": context})

    def _delay(self, refused: Refused, attempt: int) -> float:
        wait = delay_before(attempt + 1, refused.retry_after_s)
        if wait > self.settings.max_wait_s:
            raise SystemFailed(
                f"{self._name} asks to wait {wait:.0f} s ({refused.message})",
                hint="Ask less at once (`run.concurrency`), or raise `max_wait_s`.",
            )
        return wait

    def _failed(self, refused: Refused, attempt: int) -> SystemFailed:
        tried = f" ({attempt} attempts)" if attempt > 1 else ""
        return SystemFailed(struck(f"{self._name} {refused.message}{tried}", self._secrets), hint=refused.hint)

    async def _once(self, values: Mapping[str, Any], attempt: int) -> Response:
        settings = self.settings
        started = time.perf_counter()
        try:
            async with asyncio.timeout(settings.timeout_s):
                status, pieces = await self._sent(values, started)
        except TimeoutError:
            raise TimedOut(f"{self._name} did not answer within {settings.timeout_s:g} s") from None
        total_ms = (time.perf_counter() - started) * 1000
        mapped = self._reader.read(pieces.events, answer=pieces.answer, source=self._name)
        told: dict[str, Any] = {"status": status, "attempts": attempt}
        if pieces.first_ms is not None:
            told["first_token_ms"] = round(pieces.first_ms, 3)
        metadata: dict[str, Any] = {**mapped.response.metadata, "http": told}
        if mapped.not_found:
            metadata["not_found"] = list(mapped.not_found)
        update = {"metadata": metadata, "total_ms": mapped.response.total_ms or total_ms}
        return mapped.response.model_copy(update=update)

    async def _sent(self, values: Mapping[str, Any], started: float) -> tuple[int, Pieces]:
        import httpx2

        settings = self.settings
        given: dict[str, Any] = {"headers": settings.headers, "params": fill(settings.params, values) or None}
        if settings.body is not None:
            given["json"] = fill(settings.body, values)
        elif settings.form is not None:
            given["data"] = fill(settings.form, values)
        try:
            async with self._here().stream(settings.method, self._address(values), **given) as reply:
                if reply.status_code // 100 != 2:
                    body = await _limited(reply, 20_000, cut=True)
                    raise refusal(reply.status_code, reply.headers, body.decode("utf-8", "replace"))
                pieces = Pieces(self._delta, started)
                if settings.stream is None:
                    body = await _limited(reply, int(settings.max_reply_mb * 1e6))
                    pieces.whole(self._parsed(body, reply.headers.get("content-type", "")))
                else:
                    await pieces.read(reply, settings.stream, int(settings.max_reply_mb * 1e6))
                return reply.status_code, pieces
        except httpx2.TimeoutException as problem:
            if isinstance(problem, httpx2.ConnectTimeout):
                raise Refused(f"could not be connected within {settings.connect_timeout_s:g} s", again=True) from None
            raise TimeoutError from None
        except httpx2.TransportError as problem:
            message = f"cannot be reached: {type(problem).__name__}: {problem}"
            raise Refused(message, again=True, hint=f"Is something listening at {settings.url}?") from None

    def _address(self, values: Mapping[str, Any]) -> str:
        """The URL, with what the question brings into it quoted."""
        address: str = fill(self.settings.url, {name: quote(str(value), safe="") for name, value in values.items()})
        return address

    def _parsed(self, body: bytes, content_type: str) -> Any:
        text = body.decode("utf-8", "replace")
        try:
            return json.loads(text)
        except (ValueError, RecursionError):
            if not self._reader.maps_anything and "html" not in content_type and text.strip():
                return text
            raise SystemFailed(
                f"{self._name} sent a reply that is no JSON ({content_type or 'no content type'}): {shortened(text)}",
                raw=text[:4000],
            ) from None

    def _here(self) -> Any:
        loop = asyncio.get_running_loop()
        if self._client is None or self._loop is not loop:
            import httpx2

            settings = self.settings
            timeout = httpx2.Timeout(settings.timeout_s, connect=settings.connect_timeout_s, pool=None)
            limits = httpx2.Limits(max_connections=None, max_keepalive_connections=64)
            self._client = httpx2.AsyncClient(timeout=timeout, limits=limits, verify=_verified(settings.verify))
            self._loop = loop
        return self._client

    async def aclose(self) -> None:
        """Close the connections."""
        client, self._client = self._client, None
        if client is not None and self._loop is asyncio.get_running_loop():
            await client.aclose()


def _verified(verify: bool | str) -> Any:
    import ssl

    return ssl.create_default_context(cafile=verify) if isinstance(verify, str) else verify


async def _limited(reply: Any, most: int, *, cut: bool = False) -> bytes:
    """The reply's body; more than `most` bytes are refused (or, with `cut`, left out)."""
    kept = bytearray()
    async for block in reply.aiter_bytes():
        kept += block
        if len(kept) > most:
            if cut:
                break
            raise SystemFailed(f"sent more than {most / 1e6:g} MB", hint="Raise `max_reply_mb`.")
    return bytes(kept[:most])
