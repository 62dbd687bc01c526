"""Atomic claims: of an answer, split once and shared by every metric; of a reference, stored with the golden item."""

from __future__ import annotations

from ragauge.core.judge import Judge
from ragauge.core.sample import Sample, is_blank
from ragauge.core.score import Unscored, unscored
from ragauge.core.tasks import SPLIT_CLAIMS, ClaimsReply
from ragauge.core.verdict import Claim
from ragauge.errors import JudgeUnparseable, Reason
from ragauge.metrics.settle import reference_text
from ragauge.text.normalise import clean


async def split(judge: Judge, text: str) -> tuple[Claim, ...]:
    """The claims of `text`, each id once. JudgeUnparseable for doubled ids or a claim that shows nothing.

    The text is the only input, so that a judge which remembers its replies is asked once per answer.
    """
    reply = await judge.ask(SPLIT_CLAIMS, text=text)
    if not isinstance(reply, ClaimsReply):
        raise JudgeUnparseable(f"the judge answered split_claims with a {type(reply).__name__}", raw=repr(reply))
    ids = [claim.id for claim in reply.claims]
    if len(set(ids)) < len(ids):
        raise JudgeUnparseable("the judge gave two claims one id", raw=reply.model_dump_json())
    if any(is_blank(claim.text) for claim in reply.claims):
        raise JudgeUnparseable("the judge gave a claim without words", raw=reply.model_dump_json())
    return reply.claims


async def reference_claims(judge: Judge, sample: Sample) -> tuple[Claim, ...] | Unscored:
    """The reference's claims, ids r1, r2 …: the stored ones where the item has them, else split by the judge.

    `Unscored(no_reference)` without a reference, `Unscored(no_claims)` where it claims nothing.
    """
    if sample.item.claims is not None:
        texts = [clean(text) for text in sample.item.claims if not is_blank(text)]
    else:
        reference = reference_text(sample)
        if isinstance(reference, Unscored):
            return reference
        texts = [claim.text for claim in await split(judge, reference)]
    if not texts:
        return unscored(Reason.NO_CLAIMS, "the reference makes no claims")
    return tuple(Claim(id=f"r{number}", text=text) for number, text in enumerate(texts, start=1))
