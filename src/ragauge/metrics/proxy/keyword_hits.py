"""Keyword hits: does the answer hold the words that it must?"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import ClassVar

from ragauge.core.metric import MetricInfo, Need
from ragauge.core.sample import Sample, is_blank
from ragauge.core.score import Scored, Unscored, unscored
from ragauge.errors import Reason
from ragauge.metrics.settle import answer_text
from ragauge.text.normalise import normalise


@dataclass(frozen=True)
class KeywordHits:
    """Share of the item's keywords that stand in the answer (fraction, 0 to 1, higher is better).

    Compared without case, in compatibility form (NFKC), white space collapsed. With `whole_words` (the default) a
    keyword must not be the middle of a longer word or number: "port" is not in "support", "5" not in "1.5" or "50".

    Edge cases: no keywords `Unscored(no_keywords)`; blank answer `Unscored(no_answer)`; a refusal holds none of them
    and scores so. Keywords given twice count once. `details["missing"]` names what is not there.
    Cost: none.

    Example: keywords "8125", "UDP"; answer "Port 8125, TCP only" → 1/2 = 0.5.
    """

    whole_words: bool = True
    info: ClassVar[MetricInfo] = MetricInfo(
        name="keyword_hits",
        title="Keyword hits",
        needs=frozenset({Need.ANSWER, Need.KEYWORDS}),
        uses=frozenset({Need.CONTEXT}),
        half="both",
        source="share of required strings contained",
    )

    def score(self, sample: Sample) -> Scored | Unscored:
        """Look for every keyword."""
        keywords = {normalise(keyword): keyword for keyword in sample.item.keywords or () if not is_blank(keyword)}
        keywords.pop("", None)
        if not keywords:
            return unscored(Reason.NO_KEYWORDS, "the golden item has no keywords")
        answer = answer_text(sample)
        if isinstance(answer, Unscored):
            return answer
        text = normalise(answer)
        missing = [keyword for folded, keyword in keywords.items() if not self._holds(text, folded)]
        return Scored(
            value=1.0 - len(missing) / len(keywords),
            count=len(keywords),
            details={"missing": missing, "found": [word for word in keywords.values() if word not in missing]},
        )

    def _holds(self, text: str, keyword: str) -> bool:
        if not self.whole_words:
            return keyword in text
        return re.search(_before(keyword[0]) + re.escape(keyword) + _after(keyword[-1]), text) is not None


def _before(first: str) -> str:
    if first.isdigit():
        return r"(?<!\w)(?<!\d[.,])"
    return r"(?<!\w)" if first.isalnum() or first == "_" else ""


def _after(last: str) -> str:
    if last.isdigit():
        return r"(?!\w|[.,]\d)"
    return r"(?!\w)" if last.isalnum() or last == "_" else ""
