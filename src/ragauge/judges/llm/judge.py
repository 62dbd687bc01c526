"""The language-model judge: every task as prompts, every asked id back exactly once."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any, TypeVar, cast

from ragauge.core.judge import JudgeInfo, Task
from ragauge.core.model import Model, fingerprint
from ragauge.core.provider import Provider, Sampling
from ragauge.core.tasks import TASKS
from ragauge.errors import JudgeUnsupported
from ragauge.judges.llm import answering
from ragauge.judges.llm.answering import ANSWERS
from ragauge.judges.llm.checking import close_provider, preflight_provider
from ragauge.judges.llm.exchange import Conversation, Tally
from ragauge.judges.llm.forms import kind_of, shape_of
from ragauge.prompts import Prompt, load

T = TypeVar("T", bound=Model)

#: Raised when a change to this code can change verdicts.
VERSION = "1"


@dataclass(frozen=True)
class LLMJudge:
    """Asks a language model. `provider` is the whole stack: cache, retries, limits … around a model's API.

    `prompts`: a folder of the project's own prompts. `per_chunk`: one call for each chunk's usefulness instead of one
    for all. `max_reasks`: how often a bad or incomplete reply is asked for again. `sample` numbers independent draws.
    `embedder` answers SIMILARITY, on this machine.
    """

    provider: Provider
    prompts: Path | None = None
    sampling: Sampling = field(default_factory=Sampling)
    per_chunk: bool = False
    max_reasks: int = 2
    seed: int = 0
    sample: int = 0
    embedder: str = "minilm"
    tally: Tally = field(default_factory=Tally, compare=False, repr=False)

    @cached_property
    def _prompts(self) -> dict[str, Prompt]:
        return {
            name: load(name, task.version, folder=self.prompts) for name, task in TASKS.items() if name != "similarity"
        }

    @cached_property
    def embedding_thread(self) -> ThreadPoolExecutor:
        """Where texts are embedded: one after the other, beside the event loop, so that many do not fight for cores."""
        return ThreadPoolExecutor(1, thread_name_prefix="judge-embeds")

    def info(self) -> JudgeInfo:
        """The judge's card."""
        endpoint = self.provider.endpoint
        hashes = {name: prompt.sha256 for name, prompt in self._prompts.items()}
        parts = {
            "version": VERSION, "endpoint": [endpoint.provider, endpoint.model, endpoint.base_url, endpoint.options],
            "sampling": [self.sampling.temperature, self.sampling.top_p, self.sampling.seed, self.sampling.max_tokens],
            "prompts": hashes, "per_chunk": self.per_chunk, "seed": self.seed, "embedder": self.embedder,
            "max_reasks": self.max_reasks, "sample": self.sample,
        }  # fmt: skip
        return JudgeInfo(
            name=endpoint.label,
            kind="llm",
            version=VERSION,
            model=endpoint.model,
            fingerprint=fingerprint(parts),
            agreement="Agreement of this judge with people is not measured; `ragauge calibrate` measures it.",
            prompts=hashes,
        )

    def with_sample(self, sample: int) -> LLMJudge:
        """The same judge, drawing anew: its requests have cache entries, a seed and a chunk order of their own."""
        return replace(self, sample=sample)

    async def ask(self, task: Task[T], /, **inputs: Any) -> T:
        """The reply to `task`; raises `SampleError` when there is none."""
        if task.name == "similarity":
            return cast(T, await answering.similarity(self, inputs["text"], inputs["others"]))
        answer = ANSWERS.get(task.name)
        if answer is None or task != TASKS.get(task.name):
            raise JudgeUnsupported(f"a language-model judge has no prompt for the task {task.name!r}")
        return cast(T, await answer(self, task, inputs))

    def conversation(self, task: Task[Any]) -> Conversation:
        """A new exchange about `task`."""
        return Conversation(
            provider=self.provider, prompt=self._prompts[task.name], task=task.name,
            shape=shape_of(task.name, kind_of(task), task.labels), sampling=self.sampling, sample=self.sample,
            max_reasks=self.max_reasks, tally=self.tally, labels=task.labels,
        )  # fmt: skip

    async def preflight(self) -> None:
        """Find out before the first sample whether the endpoint can serve the run; `EndpointUnusable` if not.

        Free where the endpoint lists its models. Otherwise one small call, which the cache keeps like any other.
        """
        await preflight_provider(self.provider, self.sampling)

    async def aclose(self) -> None:
        """Close the connections of the running event loop. The judge can be used again, in this loop or another."""
        await close_provider(self.provider)
