"""Any judge, with exact names checked after it: a name that no chunk holds was made up, whatever the judge says."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from ragauge.core.judge import Judge, JudgeInfo, Task
from ragauge.core.model import Model, fingerprint
from ragauge.core.sample import RetrievedChunk
from ragauge.core.tasks import VerdictsReply
from ragauge.core.verdict import Claim, Verdict
from ragauge.judges.exact.lines import line_faults, line_range, without_lines
from ragauge.judges.exact.lookup import source_of
from ragauge.judges.exact.names import names
from ragauge.judges.layers import Around
from ragauge.text.citations import strip_citations
from ragauge.text.normalise import clean

T = TypeVar("T", bound=Model)
#: Raised when the same claim and chunks give another finding.
VERSION = "1"
#: The probability of support that a claim with a made-up name keeps, at most.
_LEFT = 0.05


def name_faults(claim: str, chunks: Sequence[RetrievedChunk]) -> tuple[str, ...]:
    """What is exact in `claim` and is not held by `chunks`, in words; empty when everything is.

    >>> chunk = RetrievedChunk(id="c1", text="Pass `--depth N` to limit it.", rank=1)
    >>> name_faults("Pass `--width` to limit it.", [chunk]), name_faults("Pass `--depth 3`.", [chunk])
    (('no chunk holds --width',), ())
    """
    said = strip_citations(clean(claim))
    found = names(said)
    source = source_of(chunks)
    missing = [name for name in found if not source.holds(name)]
    texts = dict.fromkeys(_shown(name.key, name.text) for name in missing)
    faults = [f"no chunk holds {', '.join(list(texts)[:4])}"] if texts else []
    held = [name for name in found if name not in missing]
    return (*faults, *line_faults(said, held, chunks))


def _shown(key: str, text: str) -> str:
    return f"{key.replace('(', '(… ')}={text}" if key else text


@dataclass(frozen=True)
class ExactNames(Around):
    """`inner` decides; then identifiers, calls, flags, paths, URLs, routes, versions, values must stand in the chunks.

    Deterministic and without a model. Only `support` and `citation_support` are checked: a claim with a name that no
    chunk (no cited chunk) holds is `not_mentioned`, with the name in its reason; line numbers are held against chunks
    that say their lines. Nothing that `inner` doubts is made supported.
    """

    inner: Judge

    def info(self) -> JudgeInfo:
        """The inner judge's card; another fingerprint."""
        info = self.inner.info()
        return info.model_copy(
            update={
                "name": f"{info.name} + exact names",
                "fingerprint": fingerprint({"inner": info.fingerprint, "exact_names": VERSION}),
            }
        )

    async def ask(self, task: Task[T], /, **inputs: Any) -> T:
        """The inner judge's reply, exact names checked."""
        if task.name not in ("support", "citation_support"):
            return await self.inner.ask(task, **inputs)
        reply = await self.inner.ask(task, **_without_lines(inputs))
        if not isinstance(reply, VerdictsReply):
            return reply
        checked = _checked(reply.verdicts, inputs, task.labels)
        return reply.model_copy(update={"verdicts": checked})

    def with_sample(self, sample: int) -> Judge:
        """The judge inside drawing anew; itself where nothing is drawn."""
        draw = getattr(self.inner, "with_sample", None)
        return self if draw is None else ExactNames(draw(sample))


def _without_lines(inputs: dict[str, Any]) -> dict[str, Any]:
    """The inputs with line numbers taken out of the claims, where chunks say their lines: they are checked here."""
    if not any(line_range(chunk) for chunk in inputs["chunks"]):
        return inputs
    claims = [
        claim.model_copy(update={"text": without_lines(claim.text).strip() or claim.text}) for claim in inputs["claims"]
    ]
    return {**inputs, "claims": tuple(claims)}


def _checked(verdicts: Sequence[Verdict], inputs: Mapping[str, Any], labels: Sequence[str]) -> tuple[Verdict, ...]:
    claims: dict[str, Claim] = {claim.id: claim for claim in inputs["claims"]}
    chunks: Sequence[RetrievedChunk] = inputs["chunks"]
    cited: Mapping[str, Sequence[str]] | None = inputs.get("cited")
    found = []
    for verdict in verdicts:
        shown = chunks if cited is None else [one for one in chunks if one.id in cited.get(verdict.id, ())]
        faults = name_faults(claims[verdict.id].text, shown) if verdict.id in claims and shown else ()
        if verdict.id in claims and verdict.claim:
            verdict = verdict.model_copy(update={"claim": claims[verdict.id].text})
        found.append(_lowered(verdict, faults, labels) if faults else verdict)
    return tuple(found)


def _lowered(verdict: Verdict, faults: Sequence[str], labels: Sequence[str]) -> Verdict:
    reason = "; ".join(faults)
    positive = labels[0] if labels else "supported"
    if verdict.label != positive:
        return (
            verdict
            if reason in verdict.reason
            else verdict.model_copy(update={"reason": f"{reason}; {verdict.reason}"})
        )
    changed: dict[str, Any] = {
        "label": "not_mentioned" if "not_mentioned" in labels else labels[-1],
        "reason": f"{reason} (otherwise {positive}: {verdict.reason})" if verdict.reason else reason,
    }
    if verdict.probability is not None:
        changed["probability"] = min(verdict.probability, _LEFT)
    return verdict.model_copy(update=changed)
