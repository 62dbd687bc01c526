"""Number agreement: does every number of the answer stand in the reference or in what was retrieved?"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import ClassVar, Literal

from ragauge.core.metric import MetricInfo, Need
from ragauge.core.sample import Sample, is_blank
from ragauge.core.score import Scored, Unscored, unscored
from ragauge.errors import Reason, SettingsError
from ragauge.metrics.remembered import numbers
from ragauge.metrics.settle import claimed_text, readable, retrieved
from ragauge.text.numbers import Quantity, agree

Against = Literal["either", "reference", "context"]


@dataclass(frozen=True)
class NumberAgreement:
    """Share of the answer's quantities that agree with one in the reference or the chunks (fraction, 0 to 1).

    Higher is better. Units are converted (1.5 GB agrees with 1500 MB, twelve with 12); `relative` allows that much
    difference (0.01 = 1 %). `against` limits the comparison to the reference or to the retrieved chunks. A number that
    is there but about something else agrees all the same: a low value is telling, a high one is not.

    Edge cases: no number in the answer `Unscored(no_claims)`; blank answer `Unscored(no_answer)`; refusal
    `Unscored(abstained)`; nothing retrieved and no reference 0; neither known `Unscored(no_reference)` (against
    "context": `Unscored(no_contexts)`). `details["disagreeing"]` has the numbers that stand nowhere.
    Cost: none.
    Source: number checks of factual-consistency work, e.g. Zhao et al. (2020), arXiv:2009.13312.

    Example: "8125 over UDP, 3 retries" against "port 8125" → 1/2 = 0.5.
    """

    against: Against = "either"
    relative: float = 0.0
    info: ClassVar[MetricInfo] = MetricInfo(
        name="number_agreement",
        title="Number agreement",
        needs=frozenset({Need.ANSWER}),
        uses=frozenset({Need.REFERENCE, Need.CONTEXT_TEXT}),
        half="generation",
        source="quantities compared with their units, after arXiv:2009.13312",
    )

    def __post_init__(self) -> None:
        if self.against not in ("either", "reference", "context"):
            raise SettingsError(f"against must be 'either', 'reference' or 'context', not {self.against!r}")
        if not 0 <= self.relative < 1:
            raise SettingsError(f"relative must be a share from 0 to below 1, not {self.relative!r}")

    def score(self, sample: Sample) -> Scored | Unscored:
        """Look for every quantity of the answer."""
        answer = claimed_text(sample)
        if isinstance(answer, Unscored):
            return answer
        known = self._known(sample)
        if isinstance(known, Unscored):
            return known
        ours = numbers(answer)
        if not ours:
            return unscored(Reason.NO_CLAIMS, "the answer holds no number")
        theirs = _distinct(quantity for text in known for quantity in numbers(text))
        verdict = {key: any(agree(one, other, relative=self.relative) for other in theirs.values())
                   for key, one in _distinct(ours).items()}  # fmt: skip
        disagreeing = [quantity.text for quantity in ours if not verdict[_key(quantity)]]
        return Scored(
            value=1.0 - len(disagreeing) / len(ours),
            count=len(ours),
            details={"disagreeing": disagreeing, "numbers": [quantity.text for quantity in ours]},
        )

    def _known(self, sample: Sample) -> list[str] | Unscored:
        """The texts that the answer's numbers may come from."""
        texts: list[str] = []
        reference = sample.item.answer if self.against != "context" else None
        if reference is not None and not is_blank(reference):
            texts.append(reference)
        elif self.against == "reference":
            return unscored(Reason.NO_REFERENCE, "the golden item has no reference answer")
        if self.against != "reference":
            chunks = retrieved(sample)
            if not isinstance(chunks, Unscored):
                texts.extend(chunk.text for chunk in readable(chunks))
            elif self.against == "context":
                return chunks
            elif not texts:
                return unscored(Reason.NO_REFERENCE, "neither a reference nor retrieved chunks are known")
        return texts


def _key(quantity: Quantity) -> tuple[float, str | None, str]:
    return quantity.value, quantity.unit, quantity.kind


def _distinct(found: Iterable[Quantity]) -> dict[tuple[float, str | None, str], Quantity]:
    return {_key(quantity): quantity for quantity in found}
