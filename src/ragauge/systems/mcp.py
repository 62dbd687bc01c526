"""A tool of an MCP server as the system under test: the knowledge service that coding agents call. An extra."""

from __future__ import annotations

import asyncio
import shlex
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal
from urllib.parse import urlsplit

from pydantic import Field

from ragauge.core.model import fingerprint
from ragauge.core.sample import Question, Response, RetrievedContext
from ragauge.core.system import SystemInfo
from ragauge.errors import EndpointUnusable, MissingExtra, SettingsError, SystemFailed, TimedOut, UnknownName
from ragauge.systems.calling import failures_of
from ragauge.systems.mcp_results import read_result
from ragauge.systems.mcp_session import Session, Where
from ragauge.systems.own_settings import OwnSettings, read_own
from ragauge.systems.reply_map import Reader, ReplyMap
from ragauge.systems.template import check_template, fill, names_in, values_of
from ragauge.systems.variables import fill_variables, secrets_in, shown_headers, struck

_HINT = "system: {mcp: {command: [python, server.py], tool: search}} or {mcp: {url: http://localhost:8000/mcp}}"
#: Names under which tools take the question.
_QUESTION_ARGUMENTS = ("query", "question", "q", "text", "input", "search", "prompt")


class McpSettings(OwnSettings):
    """`command` (a server that is started here and spoken to over stdio) or `url` (streamable HTTP).

    `tool` may be left out when the server has one only. `arguments`: a template with `{question}`; by default the
    tool's argument that is called `query`, `question` … is given the question. `text`: what text blocks of a result
    are: retrieved `contexts` (each block one), or the `answer`. `split`: a text that separates passages in a block.
    """

    command: str | list[str] | None = None
    url: str | None = None
    tool: str | None = None
    arguments: dict[str, Any] | None = None
    text: Literal["contexts", "answer"] = "contexts"
    split: str | None = None
    response: ReplyMap = ReplyMap()
    headers: dict[str, str] = Field(default_factory=dict)
    env: dict[str, str] = Field(default_factory=dict)
    cwd: str | None = None
    timeout_s: float = Field(default=60.0, gt=0)
    start_timeout_s: float = Field(default=60.0, gt=0)
    version: str = ""


def build(
    settings: Mapping[str, Any], *, shown: Mapping[str, Any] | None = None, base: Path | None = None
) -> McpSystem:
    """The tool that `settings` name. The server is started, or connected to, before the first question."""
    as_written = settings if shown is None else shown
    checked = read_own(McpSettings, "mcp", fill_variables(settings), hint=_HINT)
    if (checked.command is None) == (checked.url is None):
        raise SettingsError("system.mcp needs `command` or `url` (one of them)", hint=_HINT)
    command: tuple[str, ...] = ()
    if checked.command is not None:
        parts = shlex.split(checked.command) if isinstance(checked.command, str) else checked.command
        command = tuple(parts)
        if not command:
            raise SettingsError("system.mcp.command is empty", hint=_HINT)
    elif urlsplit(str(checked.url)).scheme not in ("http", "https"):
        raise SettingsError("system.mcp.url is no address", hint="It starts with http:// or https://.")
    if checked.arguments is not None:
        check_template(checked.arguments, "system.mcp.arguments")
    folder = (base or Path()) / (checked.cwd or "")
    if not folder.is_dir():
        raise SettingsError(f"system.mcp.cwd: there is no folder {folder}")
    try:
        import mcp  # noqa: F401
    except ImportError as error:
        raise MissingExtra("mcp", "mcp") from error
    where = Where(command, checked.url, checked.headers, checked.env, folder, checked.start_timeout_s)
    return McpSystem(checked, where, as_written)


@dataclass
class McpSystem:
    """`System` around one tool of an MCP server. One session serves all questions; a lost one is opened again."""

    settings: McpSettings
    where: Where
    as_written: Mapping[str, Any]
    _session: Session | None = field(default=None, init=False, repr=False)
    _opening: Any = field(default=None, init=False, repr=False)
    _chosen: tuple[str, dict[str, Any]] | None = field(default=None, init=False, repr=False)

    def __post_init__(self) -> None:
        self._secrets = secrets_in(self.as_written)
        self._reader = Reader(self.settings.response, "system.mcp.response")
        shown = dict(self.as_written)
        for name in ("headers", "env"):
            if name in shown:
                shown[name] = shown_headers({str(key): str(one) for key, one in dict(shown[name]).items()})
        place = self.settings.url or " ".join(Path(part).name for part in self.where.command[:2])
        self._name = f"{self.settings.tool or 'the tool'} of {struck(place.partition('?')[0], self._secrets)}"
        self._info = SystemInfo(name=self._name, kind="mcp", settings=shown, fingerprint=fingerprint({"mcp": shown}))

    def info(self) -> SystemInfo:
        """The server and the tool, settings as written."""
        return self._info

    async def preflight(self) -> None:
        """Open the session and find the tool; `EndpointUnusable` or `UnknownName` before the first question."""
        try:
            await self._opened()
        except SystemFailed as error:
            raise EndpointUnusable(error.message, hint=error.hint) from None

    async def respond(self, question: Question, /, *, context: RetrievedContext | None = None) -> Response:
        """Call the tool once, and read its result."""
        if context is not None and "context" not in names_in(self.settings.arguments or {}):
            raise SystemFailed(
                f"{self._name} cannot answer from a given context", hint="Give `arguments` a place for {context}."
            )
        with failures_of(self._name, self._secrets):
            session, tool, arguments = await self._opened()
            given = fill(arguments, values_of(question, context))
            started = time.perf_counter()
            try:
                async with asyncio.timeout(self.settings.timeout_s):
                    result = await session.call(tool, given)
            except TimeoutError:
                raise TimedOut(f"{self._name} did not answer within {self.settings.timeout_s:g} s") from None
            total_ms = (time.perf_counter() - started) * 1000
            mapped = read_result(
                result, self._reader, text=self.settings.text, split=self.settings.split, source=self._name
            )
        metadata = dict(mapped.response.metadata)
        if mapped.not_found:
            metadata["not_found"] = list(mapped.not_found)
        update: dict[str, Any] = {"metadata": metadata, "total_ms": mapped.response.total_ms or total_ms}
        if context is not None:
            update["context"] = context
        return mapped.response.model_copy(update=update)

    async def _opened(self) -> tuple[Session, str, dict[str, Any]]:
        """A session that works; several questions that find none wait for the same opening."""
        loop = asyncio.get_running_loop()
        if self._opening is None or self._opening[0] is not loop:
            self._opening = (loop, asyncio.Lock())
        async with self._opening[1]:
            if self._session is None or not self._session.works:
                if self._session is not None:
                    await self._session.close()
                self._session, self._chosen = Session(self.where, self._secrets), None
                tools = await self._session.open()
                self._chosen = self._choose(tools)
        assert self._chosen is not None
        return self._session, *self._chosen

    def _choose(self, tools: Sequence[Any]) -> tuple[str, dict[str, Any]]:
        by_name = {tool.name: tool for tool in tools}
        name = self.settings.tool
        if name is None:
            if len(by_name) != 1:
                raise SettingsError(
                    f"the MCP server has {len(by_name)} tools: {', '.join(by_name) or 'none'}",
                    hint="Name the one to ask: `tool: NAME`.",
                )
            name = next(iter(by_name))
        if name not in by_name:
            raise UnknownName("tool of the MCP server", name, by_name)
        return name, self._arguments(by_name[name])

    def _arguments(self, tool: Any) -> dict[str, Any]:
        schema = tool.input_schema or {}
        properties = dict(schema.get("properties") or {})
        given = self.settings.arguments
        if given is not None:
            unknown = sorted(set(given) - set(properties)) if properties else []
            if unknown and not schema.get("additionalProperties"):
                raise UnknownName(f"argument of the tool {tool.name}", unknown[0], properties)
            return given
        required = list(schema.get("required") or [])
        name = next((one for one in _QUESTION_ARGUMENTS if one in properties), None)
        if name is None and len(required or properties) == 1:
            name = (required or list(properties))[0]
        others = [one for one in required if one != name]
        if name is None or others:
            told = f"also needs {', '.join(others)}" if name else f"takes {', '.join(properties) or 'no arguments'}"
            raise SettingsError(
                f"the tool {tool.name} {told}", hint="Say what it is given: `arguments: {query: '{question}', …}`."
            )
        return {name: "{question}"}

    async def aclose(self) -> None:
        """End the session, and the server if it was started here."""
        session, self._session = self._session, None
        if session is not None:
            await session.close()
