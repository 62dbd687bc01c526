"""The embedded judge: no key, no network, deterministic."""

from __future__ import annotations

import asyncio
import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any, TypeVar

from ragauge.core.judge import JudgeInfo, Task
from ragauge.core.model import Model
from ragauge.core.sample import RetrievedChunk
from ragauge.core.tasks import ClaimsReply, SimilarityReply, VerdictReply, VerdictsReply
from ragauge.core.verdict import Claim, Verdict
from ragauge.errors import JudgeUnsupported
from ragauge.judges.embedded.answers import judge_abstention, judge_needs, judge_relevance
from ragauge.judges.embedded.claims import split_claims
from ragauge.judges.embedded.correctness import judge_correctness
from ragauge.judges.embedded.model import text_of
from ragauge.judges.embedded.questions import judge_sufficiency, judge_usefulness
from ragauge.judges.embedded.support import judge_claims
from ragauge.judges.judge_settings import EMBEDDED, ENCODER
from ragauge.text.normalise import clean

if TYPE_CHECKING:  # numpy and the weights are loaded where the encoder is asked for
    from ragauge.judges.embedded.encoder import Encoder

T = TypeVar("T", bound=Model)

VERSION = "1"
#: Without and with the encoder.
AGREEMENT = ("agreement.json", "agreement-encoder.json")
#: Probabilities between the two are guesses: measured right about as often as wrong on sets that the judge was not
#: trained on (`validation/judges/RESULTS.md`, "When it is not sure").
UNCERTAIN = (0.35, 0.65)
_UNSUPPORTED = {"reverse_questions": "making questions from an answer needs a model that writes"}


@dataclass(frozen=True)
class EmbeddedJudge:
    """Verdicts by rules and small regressions over the words of claim and evidence; see `info().agreement`.

    Every task of `core/tasks.py` but reverse_questions. The same inputs give the same reply in every process and on
    every platform. Texts are only ever compared, never followed: instructions inside of them have no effect.
    `similarity` uses the packaged embedder, loaded at the first such question.

    With `encoder` (the second tier, `embedded:encoder`) a small packaged transformer reads each claim beside its
    evidence too, and support is a mean of both opinions: better, and slower; `validation/judges/RESULTS.md` has both.
    """

    embedder: str = "minilm"
    encoder: bool = False

    def info(self) -> JudgeInfo:
        """Who this is, and how often it agrees with people."""
        return JudgeInfo(
            name=ENCODER if self.encoder else EMBEDDED, kind="embedded", version=VERSION,
            fingerprint=_fingerprint(self.encoder), agreement=agreement(self.encoder), uncertain=UNCERTAIN,
        )  # fmt: skip

    async def ask(self, task: Task[T], /, **inputs: Any) -> T:
        """The reply to `task`; JudgeUnsupported for a task that it cannot do honestly."""
        inputs = {name: clean(value) if isinstance(value, str) else value for name, value in inputs.items()}
        if task.name == "similarity":
            reply: Model = self._similarity(inputs["text"], inputs["others"])
        elif task.name in _SUPPORT:
            reply = await self._supported(_SUPPORT[task.name], inputs)
        else:
            answer = _ANSWERS.get(task.name)
            if answer is None:
                why = _UNSUPPORTED.get(task.name, "it does not know this task")
                raise JudgeUnsupported(
                    f"the embedded judge cannot do {task.name}: {why}",
                    hint="Use a language model as the judge for this metric, or leave the metric out.",
                )
            reply = answer(inputs)
        if not isinstance(reply, task.reply):
            raise TypeError(f"{task.name} is answered with {type(reply).__name__}, not {task.reply.__name__}")
        return reply

    async def _supported(
        self, judge: Callable[[Mapping[str, Any], Encoder | None], VerdictsReply], inputs: Mapping[str, Any]
    ) -> VerdictsReply:
        """At once, or in a thread where the encoder reads: that takes tens of milliseconds a claim."""
        if not self.encoder:
            return judge(inputs, None)
        return await asyncio.to_thread(lambda: judge(inputs, _encoder()))

    def _similarity(self, text: str, others: Sequence[str]) -> SimilarityReply:
        if not others:
            return SimilarityReply(similarities=())
        vectors = _embedder(self.embedder).encode([text, *map(clean, others)])
        cosines = vectors[1:] @ vectors[0]
        return SimilarityReply(similarities=tuple(round(max(-1.0, min(1.0, float(c))), 6) for c in cosines))


@cache
def _embedder(name: str) -> Any:
    from ragauge.embeddings import load

    return load(name)


def _encoder() -> Encoder:
    from ragauge.judges.embedded.encoder import load_encoder

    return load_encoder()


def agreement(encoder: bool = False) -> str | None:
    """The sentence about measured agreement with people, from the file that the validation writes for each tier."""
    try:
        sentence = json.loads(text_of(AGREEMENT[encoder])).get("sentence")
    except FileNotFoundError:
        return None
    return str(sentence) if sentence else None


@cache
def _fingerprint(encoder: bool) -> str:
    """Hash of the code and data that verdicts depend on."""
    digest = hashlib.sha256(VERSION.encode())
    for package in ("ragauge.judges.embedded", "ragauge.text"):
        for entry in sorted(files(package).iterdir(), key=lambda entry: entry.name):
            if entry.name.endswith(".py") or entry.name == "weights.json":
                digest.update(entry.name.encode() + b"\0" + entry.read_bytes().replace(b"\r\n", b"\n"))
            elif encoder and entry.name.endswith(".npz"):
                digest.update(entry.read_bytes())
    return digest.hexdigest()[:16]


def _split(inputs: Mapping[str, Any]) -> ClaimsReply:
    return ClaimsReply(claims=split_claims(inputs["text"]))


def _support(inputs: Mapping[str, Any], encoder: Encoder | None) -> VerdictsReply:
    return VerdictsReply(verdicts=judge_claims(inputs["claims"], inputs["chunks"], encoder))


def _coverage(inputs: Mapping[str, Any], encoder: Encoder | None) -> VerdictsReply:
    """Support by one text; it has no chunk id, so `evidence` stays empty."""
    text = RetrievedChunk(id="text", text=inputs["text"], rank=1)
    verdicts = judge_claims(inputs["claims"], (text,), encoder)
    return VerdictsReply(verdicts=tuple(verdict.model_copy(update={"evidence": None}) for verdict in verdicts))


def _citations(inputs: Mapping[str, Any], encoder: Encoder | None) -> VerdictsReply:
    by_id = {chunk.id: chunk for chunk in reversed(inputs["chunks"])}
    cited: Mapping[str, Sequence[str]] = inputs["cited"]
    verdicts: list[Verdict] = []
    for claim in inputs["claims"]:
        chunks = [by_id[id] for id in dict.fromkeys(cited.get(claim.id, ())) if id in by_id]
        verdicts.extend(judge_claims((claim,), chunks, encoder))
    return VerdictsReply(verdicts=tuple(verdicts))


def _needs(inputs: Mapping[str, Any]) -> VerdictsReply:
    claims: Sequence[Claim] = inputs["claims"]
    return VerdictsReply(verdicts=judge_needs(claims))


def _usefulness(inputs: Mapping[str, Any]) -> VerdictsReply:
    return VerdictsReply(verdicts=judge_usefulness(inputs["question"], inputs["chunks"], inputs.get("reference")))


#: Judged with the encoder too, where there is one.
_SUPPORT: dict[str, Callable[[Mapping[str, Any], Encoder | None], VerdictsReply]] = {
    "support": _support,
    "coverage": _coverage,
    "citation_support": _citations,
}
_ANSWERS: dict[str, Callable[[Mapping[str, Any]], Model]] = {
    "split_claims": _split,
    "needs_citation": _needs,
    "usefulness": _usefulness,
    "sufficiency": lambda inputs: VerdictReply(verdict=judge_sufficiency(inputs["question"], inputs["chunks"])),
    "abstention": lambda inputs: VerdictReply(verdict=judge_abstention(inputs["question"], inputs["answer"])),
    "relevance": lambda inputs: VerdictReply(verdict=judge_relevance(inputs["question"], inputs["answer"])),
    "correctness": lambda inputs: VerdictReply(
        verdict=judge_correctness(inputs["question"], inputs["answer"], inputs["reference"])
    ),
}
