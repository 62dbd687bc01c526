"""A query made without a language model: what a first search quotes stands where HyDE has its made-up passage."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from ragauge.core.model import fingerprint
from ragauge.core.sample import Question, RetrievedChunk, RetrievedContext
from ragauge.systems.reference.expand import LONGEST, query_text
from ragauge.systems.reference.generate import ExtractiveGenerator
from ragauge.systems.reference.seams import Expansion, Query

#: Raised when the same question gives other queries.
CODE_VERSION = 1
#: Sentences that are quoted, and chunks of the first search that they come from.
SENTENCES, CHUNKS = 3, 3


@dataclass(frozen=True)
class FeedbackExpander:
    """Pseudo-relevance feedback: the question with the sentences that match it best in what a first search finds.

    The quotes stand in the corpus and are nobody's guess at the answer, so this is no HyDE (Gao et al., 2023,
    arXiv:2212.10496), which needs a model; it has the same place in the pipeline. Question and quotes are searched for
    as one text, as in query2doc (Wang et al., 2023, arXiv:2303.07678), by whichever searches the settings name.
    `first`: the first search; `quoter`: the extractive generator that chooses the sentences, and never declines.
    """

    first: Callable[[str], Sequence[RetrievedChunk]]
    quoter: ExtractiveGenerator
    history: str = "last"

    @property
    def fingerprint(self) -> str:
        """Quoter, numbers, history."""
        return fingerprint(
            {
                "way": "feedback", "quoter": self.quoter.fingerprint, "history": self.history, "code": CODE_VERSION,
                "sentences": SENTENCES, "chunks": CHUNKS,
            }
        )  # fmt: skip

    async def expand(self, question: Question, /) -> Expansion:
        """One query; the question alone where the first search finds nothing."""
        return await asyncio.to_thread(self._expand, question)

    def _expand(self, question: Question) -> Expansion:
        asked = query_text(question, self.history)
        found = tuple(self.first(asked))[:CHUNKS]
        quotes = [one.text for one in self.quoter.extract(asked, RetrievedContext(chunks=found)).passages]
        told = {"expansion": {"way": "feedback", "n_queries": 1, "n_quotes": len(quotes)}}
        if not quotes:
            return Expansion((Query(asked),), metadata=told)
        return Expansion((Query("\n".join((asked, *quotes))[:LONGEST], "feedback"),), metadata=told)
