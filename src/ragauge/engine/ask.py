"""One question to the system under test: what came back, and what of it could not be read."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass

from ragauge.core.model import Model
from ragauge.core.sample import Question, Response
from ragauge.core.system import Closes, SystemInfo
from ragauge.engine.parts import make_system
from ragauge.engine.settings import Settings
from ragauge.errors import SampleError, TimedOut
from ragauge.judges.layers import preflight


class AskError(Model):
    """Why there is no response. `raw`: the reply itself, where it could not be read."""

    message: str
    hint: str
    raw: str | None


class AskDocument(Model):
    """What `ragauge ask --json` prints; the schema in the documentation is this one."""

    system: SystemInfo
    question: Question
    response: Response | None
    not_found: tuple[str, ...]
    warnings: tuple[str, ...]
    error: AskError | None


@dataclass(frozen=True)
class Told:
    """A response, or why there is none. `raw`: the reply itself, where it could not be read."""

    system: SystemInfo
    question: Question
    response: Response | None = None
    error: str | None = None
    hint: str = ""
    raw: str | None = None

    @property
    def not_found(self) -> list[str]:
        """The mapping's paths that led nowhere in the reply."""
        return list(self.response.metadata.get("not_found", ())) if self.response is not None else []

    @property
    def warnings(self) -> list[str]:
        """What will keep metrics from being computed, or labels from being found."""
        found = []
        context = self.response.context if self.response is not None else None
        if context is not None and len(context):
            if all(chunk.document is None for chunk in context):
                found.append("no context names its document: labels by document (`sources`) cannot be matched")
            if all(chunk.id == f"context-{chunk.rank}" for chunk in context):
                found.append("no context has an id: labels by chunk id (`chunks`) cannot be matched")
            if not context.with_text:
                found.append("no context has a text: faithfulness and the like cannot be judged")
        return found

    def document(self) -> AskDocument:
        """All of it, for `--json`."""
        error = None if self.error is None else AskError(message=self.error, hint=self.hint, raw=self.raw)
        return AskDocument(
            system=self.system, question=self.question, response=self.response, not_found=tuple(self.not_found),
            warnings=tuple(self.warnings), error=error,
        )  # fmt: skip


async def ask_once(settings: Settings, question: Question) -> Told:
    """Make the system that `settings` name, ask it, and let go of it. `RagaugeError` when it cannot be made."""
    system = make_system(settings)
    info = system.info()
    try:
        await preflight(system)
        async with asyncio.timeout(settings.run.timeout_s):
            return Told(info, question, response=await system.respond(question))
    except TimeoutError:
        late = TimedOut(f"the system did not answer within {settings.run.timeout_s:g} s")
        return Told(info, question, error=late.message)
    except SampleError as failure:
        return Told(info, question, error=failure.message, hint=failure.hint, raw=failure.raw)
    finally:
        if isinstance(system, Closes):
            await system.aclose()
