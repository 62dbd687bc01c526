"""A session with an MCP server that any task can use: one task owns it, since its scopes may not cross tasks."""

from __future__ import annotations

import asyncio
import contextlib
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ragauge.errors import SystemFailed
from ragauge.systems.variables import struck

_KEPT_ERROR = 2000
_GOODBYE_S = 10.0


@dataclass(frozen=True)
class Where:
    """A server: a command that is started here, or an address."""

    command: tuple[str, ...]
    url: str | None
    headers: Mapping[str, str]
    env: Mapping[str, str]
    folder: Path
    start_timeout_s: float


@dataclass
class Session:
    """Open until it is closed, or until the server is gone (`works` is then False)."""

    where: Where
    secrets: Sequence[str] = ()
    _client: Any = field(default=None, init=False)
    _owner: Any = field(default=None, init=False)
    _stop: Any = field(default=None, init=False)
    _error: Any = field(default=None, init=False)
    works: bool = field(default=False, init=False)

    async def open(self) -> Sequence[Any]:
        """Connect; the server's tools. `SystemFailed` says why there is no session, with the server's own words."""
        self._stop = asyncio.Event()
        ready: asyncio.Future[Sequence[Any]] = asyncio.get_running_loop().create_future()
        self._owner = asyncio.create_task(self._own(ready))
        try:
            async with asyncio.timeout(self.where.start_timeout_s):
                tools = await asyncio.shield(ready)
        except TimeoutError:
            told = self._told()
            ready.cancel()
            await self.close()
            raise SystemFailed(
                struck(f"the MCP server did not start within {self.where.start_timeout_s:g} s{told}", self.secrets),
                hint="Give it longer: `start_timeout_s`.",
            ) from None
        except asyncio.CancelledError:
            ready.cancel()
            await self.close()
            raise
        self.works = True
        return tools

    async def call(self, tool: str, arguments: dict[str, Any]) -> Any:
        """One call; a session that breaks on the way no longer works."""
        call = asyncio.ensure_future(self._client.call_tool(tool, arguments))
        await asyncio.wait((call, self._owner), return_when=asyncio.FIRST_COMPLETED) if not call.done() else None
        try:
            if not call.done():
                raise SystemFailed(f"the MCP server ended while it was asked{self._told()}")
            return call.result()
        except Exception as error:
            if _is_lost(error):
                self.works = False
                raise SystemFailed(
                    struck(f"the connection to the MCP server was lost ({error}){self._told()}", self.secrets)
                ) from None
            raise
        finally:
            if not call.done():
                call.cancel()

    async def close(self) -> None:
        """End it; a server that was started here is ended with it."""
        self.works = False
        if self._owner is not None:
            self._stop.set()
            done, _ = await asyncio.wait((self._owner,), timeout=_GOODBYE_S)
            if not done:
                self._owner.cancel()
                await asyncio.wait((self._owner,), timeout=_GOODBYE_S)
            self._owner = None
        if self._error is not None:
            self._error.close()
            self._error = None

    async def _own(self, ready: asyncio.Future[Sequence[Any]]) -> None:
        try:
            async with contextlib.AsyncExitStack() as stack:
                self._client = await stack.enter_async_context(await self._made(stack))
                tools: list[Any] = []
                cursor = None
                while True:
                    page = await self._client.list_tools(cursor=cursor)
                    tools += page.tools
                    cursor = page.next_cursor
                    if cursor is None:
                        break
                if not ready.done():
                    ready.set_result(tools)
                await self._stop.wait()
        except BaseException as error:
            if not ready.done():
                told = struck(f"no session with the MCP server: {_first(error)}{self._told()}", self.secrets)
                ready.set_exception(SystemFailed(told, hint="Start it by hand to see what it says."))
            if isinstance(error, asyncio.CancelledError):
                raise
        finally:
            self.works = False

    async def _made(self, stack: contextlib.AsyncExitStack) -> Any:
        import httpx2
        from mcp import Client, StdioServerParameters, stdio_client
        from mcp.client.streamable_http import streamable_http_client

        where = self.where
        if where.url is None:
            self._error = tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace")  # noqa: SIM115
            started = StdioServerParameters(
                command=where.command[0], args=list(where.command[1:]), env=dict(where.env), cwd=where.folder
            )
            return Client(stdio_client(started, errlog=self._error), cache=None)
        http = await stack.enter_async_context(httpx2.AsyncClient(headers=dict(where.headers), timeout=None))
        return Client(streamable_http_client(where.url, http_client=http), cache=None)

    def _told(self) -> str:
        """The end of the server's standard error, where it was started here."""
        if self._error is None or self._error.closed:
            return ""
        self._error.seek(0)
        said = self._error.read()[-_KEPT_ERROR:].strip()
        return f"; its standard error: {said}" if said else ""


def _first(error: BaseException) -> str:
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return f"{type(error).__name__}: {error}"


def _is_lost(error: BaseException) -> bool:
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    name = type(error).__name__
    return name in ("ClosedResourceError", "BrokenResourceError", "EndOfStream") or (
        name == "MCPError" and "closed" in str(error).casefold()
    )
