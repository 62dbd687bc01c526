"""A command-line program as the system under test: JSON in, JSON out."""

from __future__ import annotations

import asyncio
import json
import os
import shlex
import shutil
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from pydantic import Field

from ragauge.core.model import fingerprint
from ragauge.core.sample import Question, Response, RetrievedContext
from ragauge.core.system import SystemInfo
from ragauge.errors import SettingsError, SystemFailed, TimedOut
from ragauge.systems.calling import failures_of
from ragauge.systems.own_settings import OwnSettings, read_own
from ragauge.systems.processes import Child, spawn
from ragauge.systems.reply_map import Reader, ReplyMap
from ragauge.systems.template import check_template, fill, names_in, values_of
from ragauge.systems.variables import fill_variables, secrets_in, shown_headers, struck

_HINT = "system: {program: {command: [python, answer.py]}}"
_INPUT = {"id": "{id}", "question": "{question}", "history": "{history}"}


class ProgramSettings(OwnSettings):
    """`command`: a list, or a text that is split as a shell would (no shell runs). `mode`: `each` starts it once per
    question; `lines` keeps it running and gives it one line of JSON per question, for one line back.

    `processes`: how many are kept running in mode `lines`. `timeout_s`: for one question; a program that takes longer
    is killed with everything that it started.
    """

    command: str | list[str]
    mode: Literal["each", "lines"] = "each"
    input: Any = None
    response: ReplyMap = ReplyMap()
    cwd: str | None = None
    env: dict[str, str] = Field(default_factory=dict)
    timeout_s: float = Field(default=120.0, gt=0)
    processes: int = Field(default=1, ge=1, le=256)
    max_reply_mb: float = Field(default=20.0, gt=0)
    version: str = ""


def build(
    settings: Mapping[str, Any], *, shown: Mapping[str, Any] | None = None, base: Path | None = None
) -> ProgramSystem:
    """The program that `settings` describe. `cwd` is relative to `base`, the folder of the settings file."""
    as_written = settings if shown is None else shown
    checked = read_own(ProgramSettings, "program", fill_variables(settings), hint=_HINT)
    command = shlex.split(checked.command) if isinstance(checked.command, str) else list(checked.command)
    if not command:
        raise SettingsError("system.program.command is empty", hint=_HINT)
    folder = (base or Path()) / (checked.cwd or "")
    if not folder.is_dir():
        raise SettingsError(f"system.program.cwd: there is no folder {folder}")
    found = shutil.which(command[0], path=checked.env.get("PATH")) or shutil.which(str(folder / command[0]))
    if found is None:
        raise SettingsError(
            f"system.program.command: there is no program {command[0]!r}",
            hint=f"Give its path, or install it (looked on PATH and in {folder}).",
        )
    if checked.input is not None:
        check_template(checked.input, "system.program.input")
    return ProgramSystem(checked, [found, *command[1:]], folder, as_written)


@dataclass
class ProgramSystem:
    """`System` around a program. Its standard error stands in the message when it fails."""

    settings: ProgramSettings
    command: list[str]
    folder: Path
    as_written: Mapping[str, Any]
    _idle: list[Child] = field(default_factory=list, init=False, repr=False)
    _places: Any = field(default=None, init=False, repr=False)
    _loop: Any = field(default=None, init=False, repr=False)

    def __post_init__(self) -> None:
        self._secrets = secrets_in(self.as_written)
        self._reader = Reader(self.settings.response, "system.program.response")
        shown = dict(self.as_written)
        if "env" in shown:
            shown["env"] = shown_headers({str(key): str(one) for key, one in dict(shown["env"]).items()})
        self._name = Path(self.command[0]).name
        for part in self.command[1:]:
            if not part.startswith("-"):
                self._name = f"{self._name} {Path(part).name}"
                break
        digest = {"program": shown, "files": [_content(self.folder / part) for part in self.command[1:]]}
        self._info = SystemInfo(name=self._name, kind="program", settings=shown, fingerprint=fingerprint(digest))

    def info(self) -> SystemInfo:
        """The command; the fingerprint holds the settings and the content of files that the command names."""
        return self._info

    async def respond(self, question: Question, /, *, context: RetrievedContext | None = None) -> Response:
        """The program's reply to one question."""
        template = self.settings.input if self.settings.input is not None else _INPUT
        if context is not None and "context" not in names_in(template):
            raise SystemFailed(
                f"{self._name} cannot answer from a given context", hint="Give `input` a place for {context}."
            )
        line = json.dumps(fill(template, values_of(question, context)), ensure_ascii=False) + "\n"
        with failures_of(self._name, self._secrets):
            if self.settings.mode == "each":
                reply, total_ms = await self._each(line)
            else:
                reply, total_ms = await self._line(line, question.id)
            mapped = self._reader.read([reply], source=self._name)
        metadata = dict(mapped.response.metadata)
        if mapped.not_found:
            metadata["not_found"] = list(mapped.not_found)
        update: dict[str, Any] = {"metadata": metadata, "total_ms": mapped.response.total_ms or total_ms}
        if context is not None:
            update["context"] = context
        return mapped.response.model_copy(update=update)

    async def _each(self, line: str) -> tuple[Any, float]:
        started = time.perf_counter()
        child = await self._spawned()
        try:
            async with asyncio.timeout(self.settings.timeout_s):
                out = await child.whole(line)
        except TimeoutError:
            raise self._late(child) from None
        finally:
            await child.stop()
        if child.returncode != 0:
            raise self._failed(f"ended with exit code {child.returncode}", child)
        return self._parsed(out, child), (time.perf_counter() - started) * 1000

    async def _line(self, line: str, asked: str) -> tuple[Any, float]:
        async with self._free():
            child = await self._ready()
            started = time.perf_counter()
            done = False
            try:
                async with asyncio.timeout(self.settings.timeout_s):
                    reply = await child.exchange(line, asked)
                done = reply is not None
                if not done:
                    await child.ended()
            except TimeoutError:
                raise self._late(child) from None
            finally:
                if done:
                    self._idle.append(child)
                else:  # whatever it still says would be taken for the next question's reply
                    await child.stop()
            if reply is None:
                raise self._failed(f"ended (exit code {child.returncode}) without a reply", child)
            return reply, (time.perf_counter() - started) * 1000

    def _free(self) -> Any:
        loop = asyncio.get_running_loop()
        if self._places is None or self._loop is not loop:
            self._places, self._loop = asyncio.Semaphore(self.settings.processes), loop
            self._kill_idle()
        return self._places

    async def _ready(self) -> Child:
        while self._idle:
            child = self._idle.pop()
            if child.returncode is None:
                return child
        return await self._spawned()

    async def _spawned(self) -> Child:
        environment = {**os.environ, **self.settings.env}
        limit = int(self.settings.max_reply_mb * 1e6)
        try:
            return await spawn(self.command, self.folder, environment, limit)
        except OSError as error:
            raise SystemFailed(f"{self._name} cannot be started: {error.strerror or error}") from None

    def _parsed(self, out: str, child: Child) -> Any:
        for text in (out, out.strip().rpartition("\n")[2]):
            try:
                return json.loads(text)
            except (ValueError, RecursionError):
                continue
        said = out.strip()[:200]
        raise self._failed(f"printed {said!r}, which is no JSON" if said else "printed nothing", child)

    def _late(self, child: Child) -> TimedOut:
        told = child.told()
        more = f"; its standard error: {told}" if told else ""
        message = f"{self._name} did not answer within {self.settings.timeout_s:g} s and was killed{more}"
        return TimedOut(struck(message, self._secrets))

    def _failed(self, what: str, child: Child) -> SystemFailed:
        told = child.told()
        more = f"; its standard error: {told}" if told else "; it wrote nothing to standard error"
        hint = 'It should print one JSON object: {"answer": …, "contexts": […]}.'
        return SystemFailed(struck(f"{self._name} {what}{more}", self._secrets), hint=hint)

    def _kill_idle(self) -> None:
        while self._idle:
            self._idle.pop().kill()

    async def aclose(self) -> None:
        """End the programs that are kept running."""
        idle, self._idle = self._idle, []
        for child in idle:
            await child.finish()


def _content(path: Path) -> str | None:
    """A file's hash, so that an edited program is another one; None for what is no file."""
    import hashlib

    try:
        return hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else None
    except OSError:
        return None
