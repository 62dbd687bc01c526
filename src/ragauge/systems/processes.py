"""Child processes in a group of their own, so that a program is ended together with everything that it started."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import signal
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ragauge.errors import SystemFailed

#: Of a program's standard error so many characters are kept: the last ones.
_KEPT_ERROR = 2000
#: Lines that are no reply (logging on standard output) before a program counts as one that does not speak JSON.
_MOST_OTHER = 1000
_GOODBYE_S = 2.0


@dataclass
class Child:
    """One running program."""

    process: asyncio.subprocess.Process
    limit: int
    error: bytearray = field(default_factory=bytearray)
    _listener: asyncio.Task[None] | None = None

    def __post_init__(self) -> None:
        self._listener = asyncio.create_task(self._listen())

    @property
    def returncode(self) -> int | None:
        """None while it runs."""
        return self.process.returncode

    async def whole(self, line: str) -> str:
        """Give it `line` and the end of its input; everything that it prints until it ends."""
        assert self.process.stdout is not None
        writing = asyncio.create_task(self._write(line, close=True))
        out = bytearray()
        while block := await self.process.stdout.read(1 << 16):
            out += block
            if len(out) > self.limit:
                raise SystemFailed(f"printed more than {self.limit / 1e6:g} MB", hint="Raise `max_reply_mb`.")
        await writing
        await self.ended()
        return out.decode("utf-8", "replace")

    async def exchange(self, line: str, asked: str) -> Any:
        """Give it one line; the first object that it prints, or the one with the id `asked`. None when it ended."""
        assert self.process.stdout is not None
        await self._write(line)
        for _ in range(_MOST_OTHER):
            try:
                text = await self.process.stdout.readline()
            except ValueError:
                raise SystemFailed(
                    f"printed a line of more than {self.limit / 1e6:g} MB", hint="Raise `max_reply_mb`."
                ) from None
            if not text:
                return None
            try:
                reply = json.loads(text)
            except (ValueError, RecursionError):
                continue  # a program that logs to standard output; its replies are objects
            if isinstance(reply, dict) and str(reply.get("id", asked)) == asked:
                return reply
        raise SystemFailed(f"printed {_MOST_OTHER} lines without a reply to {asked!r}")

    def told(self) -> str:
        """The end of its standard error."""
        return self.error.decode("utf-8", "replace").strip()

    async def ended(self) -> None:
        """Wait until it has ended and its standard error is read."""
        await self.process.wait()
        if self._listener is not None:
            with contextlib.suppress(TimeoutError):  # a grandchild may hold the pipe open
                await asyncio.wait_for(asyncio.shield(self._listener), 0.5)

    async def stop(self) -> None:
        """End it and everything of its group now, and let go of its pipes."""
        self.kill()
        with contextlib.suppress(TimeoutError):  # somebody who left the group may hold a pipe open
            await asyncio.wait_for(self.process.wait(), _GOODBYE_S)

    def kill(self) -> None:
        """End it and everything of its group now."""
        if sys.platform != "win32":
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(self.process.pid, signal.SIGKILL)
        elif self.process.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                self.process.kill()
        if self._listener is not None:
            self._listener.cancel()

    async def finish(self) -> None:
        """Close its input and give it a moment to end by itself."""
        if self.process.stdin is not None:
            self.process.stdin.close()
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self.process.wait(), _GOODBYE_S)
        await self.stop()

    async def _write(self, line: str, *, close: bool = False) -> None:
        stdin = self.process.stdin
        assert stdin is not None
        # a program that does not read its input, or has ended, is judged by what it prints
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):
            stdin.write(line.encode("utf-8", "surrogatepass"))
            await stdin.drain()
        if close:
            stdin.close()

    async def _listen(self) -> None:
        assert self.process.stderr is not None
        while block := await self.process.stderr.read(1 << 14):
            self.error += block
            del self.error[:-_KEPT_ERROR]


async def spawn(command: Sequence[str], folder: Path, environment: Mapping[str, str], limit: int) -> Child:
    """Start a program in a new group. `OSError` when it cannot be started."""
    process = await asyncio.create_subprocess_exec(
        *command, cwd=folder, env=dict(environment), limit=limit, start_new_session=sys.platform != "win32",
        stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE,
    )  # fmt: skip
    return Child(process, limit)
