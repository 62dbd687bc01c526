"""Cross-encoders as judges (extra `local`): NLI models and hallucination detectors, by name or folder.

They read a passage and a claim together and give probabilities. They can do one thing, support; everything else (claim
splitting and so on) is left to another judge, by default the embedded one.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, TypeVar, cast

from ragauge.core.judge import Judge, JudgeInfo, Task
from ragauge.core.model import Model, fingerprint
from ragauge.core.sample import RetrievedChunk, is_blank
from ragauge.core.tasks import VerdictsReply
from ragauge.core.verdict import Claim, Verdict
from ragauge.judges.crossencoder_models import Scorer
from ragauge.judges.layers import Around

T = TypeVar("T", bound=Model)

#: A passage longer than this many characters is read in overlapping windows: the models read 512 tokens and no more.
WINDOW, OVERLAP = 1200, 300
_TASKS = frozenset({"support", "coverage", "citation_support"})


@dataclass(frozen=True)
class CrossEncoderJudge(Around):
    """Support by a local model. A claim is supported when some window of some passage entails it with at least
    `threshold`; else contradicted when one contradicts it with at least `threshold`; else not mentioned.

    Each verdict's probability is the highest entailment (0 to 1). Windows are judged one by one, so a claim that two
    passages support only together counts as not mentioned.
    """

    scorer: Scorer
    inner: Judge = field(repr=False)
    threshold: float = 0.5
    _lock: threading.Lock = field(default_factory=threading.Lock, compare=False, repr=False)

    @cached_property
    def _card(self) -> JudgeInfo:
        card = self.inner.info()
        return JudgeInfo(
            name=f"crossencoder:{self.scorer.name}",
            kind="crossencoder",
            version="1",
            model=self.scorer.name,
            fingerprint=fingerprint(["crossencoder", self.scorer.fingerprint, self.threshold, card.fingerprint]),
            agreement="Agreement of this judge with people is not measured; `ragauge calibrate` measures it.",
            prompts=card.prompts,
        )

    def info(self) -> JudgeInfo:
        """The judge's card."""
        return self._card

    async def ask(self, task: Task[T], /, **inputs: Any) -> T:
        """Support by the model; any other task by the other judge."""
        if task.name not in _TASKS:
            return await self.inner.ask(task, **inputs)
        claims: Sequence[Claim] = inputs["claims"]
        passages = _passages(task.name, inputs)
        verdicts = await asyncio.to_thread(self._judge, claims, passages, inputs.get("cited"))
        return cast(T, VerdictsReply(verdicts=tuple(verdicts)))

    def _judge(
        self,
        claims: Sequence[Claim],
        passages: Mapping[str | None, str],
        cited: Mapping[str, Sequence[str]] | None,
    ) -> list[Verdict]:
        pairs, places = [], []
        for number, claim in enumerate(claims):
            for chunk, text in passages.items():
                if cited is not None and chunk not in cited.get(claim.id, ()):
                    continue
                for window in windows(text):
                    pairs.append((window, claim.text))
                    places.append((number, chunk))
        with self._lock:
            scores = self.scorer.score(pairs) if pairs else []
        best: list[tuple[float, str | None]] = [(0.0, None)] * len(claims)
        worst: list[tuple[float, str | None]] = [(0.0, None)] * len(claims)
        for (number, chunk), (supported, contradicted) in zip(places, scores, strict=True):
            best[number] = max(best[number], (supported, chunk), key=lambda pair: pair[0])
            worst[number] = max(worst[number], (contradicted, chunk), key=lambda pair: pair[0])
        return [self._verdict(c, b, w) for c, b, w in zip(claims, best, worst, strict=True)]

    def _verdict(self, claim: Claim, best: tuple[float, str | None], worst: tuple[float, str | None]) -> Verdict:
        if best[0] >= self.threshold:
            label, (score, evidence), word = "supported", best, "entailment"
        elif worst[0] >= self.threshold:
            label, (score, evidence), word = "contradicted", worst, "contradiction"
        else:
            label, (score, evidence), word = "not_mentioned", (best[0], None), "entailment at most"
        return Verdict(
            id=claim.id, claim=claim.text, label=label, evidence=evidence, reason=f"{word} {score:.2f}",
            probability=min(1.0, max(0.0, best[0])),
        )  # fmt: skip


def _passages(task: str, inputs: Mapping[str, Any]) -> dict[str | None, str]:
    if task == "coverage":
        return {} if is_blank(inputs["text"]) else {None: inputs["text"]}
    chunks: Sequence[RetrievedChunk] = inputs["chunks"]
    return {chunk.id: chunk.text for chunk in reversed(chunks) if not is_blank(chunk.text)}


def windows(text: str, length: int = WINDOW, overlap: int = OVERLAP) -> list[str]:
    """`text` in pieces of at most `length` characters, overlapping by about `overlap`, cut at blanks if there are any.

    >>> windows("aa bb cc dd", length=6, overlap=3)
    ['aa bb', 'bb cc', 'cc dd']
    """
    if len(text) <= length:
        return [text]
    made, start = [], 0
    while True:
        end = start + length
        if end >= len(text):
            made.append(text[start:].strip())
            return made
        blank = text.rfind(" ", start + overlap, end + 1)
        end = blank if blank > start + overlap else end
        made.append(text[start:end].strip())
        back = text.rfind(" ", start + 1, max(start + 2, end - overlap + 1))
        start = max(start + 1, back + 1 if back > start else end - overlap)
