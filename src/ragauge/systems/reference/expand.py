"""Other queries than the question itself: a made-up answer (HyDE), a rewrite, several wordings, the parts of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal, cast

from ragauge.core.provider import LanguageModel
from ragauge.core.sample import Question
from ragauge.errors import SystemFailed
from ragauge.prompts import Fenced, Prompt, load
from ragauge.systems.reference.asking import Said, ask, ask_for_queries, conversation, fingerprint_of
from ragauge.systems.reference.llm_generate import kept_history
from ragauge.systems.reference.seams import Expansion, Query

Way = Literal["hyde", "rewrite", "multi_query", "decompose"]
#: Raised when the same reply gives other queries.
CODE_VERSION = 1
#: A made-up passage is searched for with at most so many characters.
LONGEST = 4000


@dataclass(frozen=True)
class ModelExpander:
    """Has a model turn each question into queries; the results of several are fused by reciprocal rank.

    hyde: dense search for a made-up passage that would answer the question (Gao et al., 2023, arXiv:2212.10496), BM25
    for the question itself. rewrite: one query that makes sense by itself, in place of the question. multi_query: the
    question and `n` other wordings. decompose: the question and at most `n` parts of it, for multi-hop questions; none
    where it asks for one thing.
    """

    way: Way
    model: LanguageModel
    n: int = 3
    history: str = "last"

    @cached_property
    def prompt(self) -> Prompt:
        """What the model is told."""
        return load(self.way, folder=self.model.prompts)

    @property
    def fingerprint(self) -> str:
        """Way, model, sampling, prompt, number, history."""
        return fingerprint_of(self.model, self.prompt, way=self.way, n=self.n, history=self.history, code=CODE_VERSION)

    async def expand(self, question: Question, /) -> Expansion:
        """At least one query. `SystemFailed` when the model gave nothing that can be used."""
        asked = query_text(question, self.history)
        values = {
            "conversation": conversation(kept_history(question, self.history)),
            "question": Fenced.one("question", question.text),
        }
        if self.way == "hyde":
            said = await ask(self.model, self.prompt, values)
            return self._made((Query(asked, on="bm25"), Query(said.text[:LONGEST], "hyde", on="dense")), said)
        limit = None if self.way == "rewrite" else self.n
        found, said = await ask_for_queries(self.model, self.prompt, values, count=limit)
        if self.way == "rewrite":
            if not found:
                raise SystemFailed(f"rewrite: {said.model} gave no query")
            return self._made((Query(found[0], "rewrite"),), said)
        others = _others(found, asked)[: self.n]
        if not others and self.way == "multi_query":
            raise SystemFailed(f"multi_query: {said.model} gave no other wording")
        name = "wording" if self.way == "multi_query" else "part"
        made = tuple(Query(text, f"{name}_{number}") for number, text in enumerate(others, start=1))
        return self._made((Query(asked), *made), said)

    def _made(self, queries: tuple[Query, ...], said: Said) -> Expansion:
        told = {
            "way": self.way, "model": said.model, "prompt": self.prompt.sha256[:16], "n_queries": len(queries),
            "latency_ms": round(said.latency_ms, 3),
        }  # fmt: skip
        return Expansion(queries, said.usage, said.latency_ms, {"expansion": told})


def make_expander(way: str, model: LanguageModel, n: int, history: str) -> ModelExpander:
    """The expander that the setting `expand` names."""
    return ModelExpander(cast(Way, way), model, n, history)


def query_text(question: Question, history: str) -> str:
    """The question; what the user said before it comes first: all of it ("append"), or the last turn ("last")."""
    said = [message.content for message in question.history if message.role == "user"]
    kept = {"ignore": [], "last": said[-1:], "append": said}[history]
    return "\n".join([*kept, question.text])


def _others(found: Sequence[str], asked: str) -> list[str]:
    """Those that are not the question again, each once."""
    known = {" ".join(asked.split()).casefold()}
    kept = []
    for text in found:
        if text.casefold() not in known:
            known.add(text.casefold())
            kept.append(text)
    return kept
