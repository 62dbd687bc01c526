"""What a model says of where each chunk stands in its document, put before it in the index."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from ragauge.core.provider import LanguageModel
from ragauge.core.sample import Chunk, Usage, is_blank
from ragauge.errors import RunError, SampleError
from ragauge.prompts import Fenced, Prompt, load
from ragauge.systems.reference.asking import ask, fingerprint_of

Progress = Callable[[int, int], None]
#: Raised when the same replies give other prefixes.
CODE_VERSION = 1
#: A document is shown whole up to so many characters; of a longer one its beginning and what stands around the chunk.
WHOLE, BEGINNING, AROUND = 8000, 1500, 2500
#: The model's own limit on what is under way may be lower.
AT_ONCE = 32
LONGEST = 1000


@dataclass(frozen=True)
class Contexts:
    """The prefix of each chunk by its id, and what making them used (nothing, where the cache had them)."""

    by_chunk: Mapping[str, str]
    usage: Usage


@dataclass(frozen=True)
class Contextualiser:
    """Asks a model about every chunk, once: the reply cache keeps what it said by the chunk's and document's words.

    Source: Anthropic, "Introducing Contextual Retrieval" (2024).
    """

    model: LanguageModel

    @cached_property
    def prompt(self) -> Prompt:
        """What the model is told."""
        return load("chunk_context", folder=self.model.prompts)

    @property
    def fingerprint(self) -> str:
        """Model, sampling, prompt."""
        return fingerprint_of(self.model, self.prompt, code=CODE_VERSION)

    async def contexts(
        self, chunks: Sequence[Chunk], documents: Mapping[str, str], progress: Progress | None = None
    ) -> Contexts:
        """A prefix for every chunk. `RunError` when one cannot be made: an index with holes would be measured as
        another one.
        """
        source = iter(chunks)
        made: dict[str, str] = {}
        used: list[Usage] = []

        async def worker() -> None:
            for chunk in source:
                try:
                    said = await ask(self.model, self.prompt, self._values(chunk, documents))
                except SampleError as failure:
                    raise RunError(
                        f"the prefix of chunk {chunk.id!r} could not be made: {failure.message}",
                        hint=failure.hint or "What is made is kept: run again to go on.",
                    ) from failure
                made[chunk.id] = " ".join(said.text.split())[:LONGEST]
                used.append(said.usage)
                if progress is not None:
                    progress(len(made), len(chunks))

        tasks = [asyncio.create_task(worker()) for _ in range(min(AT_ONCE, len(chunks)))]
        try:
            await asyncio.gather(*tasks)
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
        return Contexts(made, sum(used, Usage()))

    def _values(self, chunk: Chunk, documents: Mapping[str, str]) -> dict[str, str | Fenced]:
        whole = excerpt(documents.get(chunk.document or "", ""), chunk.start or 0)
        return {
            "document": Fenced() if is_blank(whole) else Fenced.one("document", whole),
            "passage": Fenced.one("passage", chunk.text),
        }


def excerpt(text: str, start: int) -> str:
    """What of a document is shown for a chunk at `start`: all of it, or its beginning and the chunk's surroundings.

    >>> len(excerpt("a" * 9000, 6000))
    6503
    """
    if len(text) <= WHOLE:
        return text
    low = max(BEGINNING, start - AROUND)
    return f"{text[:BEGINNING]}\n…\n{text[low : low + 2 * AROUND]}"
