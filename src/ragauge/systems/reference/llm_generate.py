"""The answer by a language model: numbered passages, `[n]` citations, a fixed refusal, nothing from elsewhere."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from ragauge.core.provider import LanguageModel
from ragauge.core.sample import Message, Question, RetrievedContext
from ragauge.prompts import Fenced, Piece, Prompt, load
from ragauge.systems.reference.asking import ask, conversation, fingerprint_of
from ragauge.systems.reference.generate import REFUSAL
from ragauge.systems.reference.seams import Generated
from ragauge.text.citations import parse_citations, resolve
from ragauge.text.refusals import is_refusal

#: Raised when the same reply gives another answer.
CODE_VERSION = 1


@dataclass(frozen=True)
class LLMGenerator:
    """Asks a model to answer from the retrieved chunks, which it sees numbered by their rank.

    With no chunk that has any text it gives the refusal without asking. `history`: what of the conversation before the
    question the model is shown ("ignore", "last", "append"). A reply that was cut, refused or empty is `SystemFailed`.
    """

    model: LanguageModel
    refusal: str = REFUSAL
    history: str = "last"

    @cached_property
    def prompt(self) -> Prompt:
        """What it is told."""
        return load("answer", folder=self.model.prompts)

    @property
    def fingerprint(self) -> str:
        """Model, sampling, prompt, refusal, history."""
        return fingerprint_of(self.model, self.prompt, refusal=self.refusal, history=self.history, code=CODE_VERSION)

    async def generate(self, question: Question, context: RetrievedContext, /) -> Generated:
        """The answer, its citations as chunk ids, and what it used."""
        shown = context.with_text
        label = self.model.provider.endpoint.label
        if not shown:
            return Generated(self.refusal, abstained=True, model=label, metadata={"asked": False})
        said = await ask(
            self.model,
            self.prompt,
            {
                "refusal": Fenced.one("refusal", self.refusal),
                "passages": Fenced(tuple(Piece("passage", chunk.text, str(chunk.rank)) for chunk in shown)),
                "conversation": conversation(kept_history(question, self.history)),
                "question": Fenced.one("question", question.text),
            },
        )
        found = (resolve(one, context) for sentence in parse_citations(said.text) for one in sentence.citations)
        return Generated(
            answer=said.text,
            citations=tuple(dict.fromkeys(chunk for chunk in found if chunk is not None)),
            abstained=is_refusal(said.text, (self.refusal,)),
            usage=said.usage,
            model=said.model,
            latency_ms=said.latency_ms,
            metadata={"prompt": self.prompt.sha256[:16], "endpoint": label} | ({"cached": True} if said.cached else {}),
        )


def kept_history(question: Question, history: str) -> tuple[Message, ...]:
    """The messages before the question that count: none, the last one and what it answered, or all."""
    if history == "append":
        return tuple(question.history)
    last = next((n for n in range(len(question.history), 0, -1) if question.history[n - 1].role == "user"), None)
    return () if history == "ignore" or last is None else tuple(question.history[last - 1 :])
