"""What is known of one row: where each needed passage stands, what was answered, what the judge said."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

from ragauge.analysis.thresholds import Thresholds
from ragauge.core.counterfactual import Counterfactual
from ragauge.core.metric import parse_metric_key
from ragauge.core.run import Record
from ragauge.core.sample import RetrievedChunk, Sample
from ragauge.core.score import Scored
from ragauge.diagnose.parts import Part, RunFacts, needed_parts
from ragauge.diagnose.passages import copies_within, covered, says_nothing, told
from ragauge.text.citations import strip_citations
from ragauge.text.refusals import find_refusal
from ragauge.text.sentences import split_sentences

#: A labelled chunk that holds this much of a supported claim supports it.
SAID = 0.8
#: A passage that holds less than APART of what a reference says beyond the question is not where the reference was
#: taken from; one that holds TOGETHER is. Between the two a judge has the word.
APART, TOGETHER = 0.35, 0.75


@dataclass(frozen=True)
class Facts:
    """One row, read."""

    record: Record
    parts: tuple[Part, ...]
    level: Literal["chunk", "doc"] | None
    k: int
    hubs: frozenset[str]
    tried: Mapping[str, Counterfactual]
    thresholds: Thresholds

    @property
    def sample(self) -> Sample:
        """Item and response."""
        return self.record.sample

    def score(self, name: str) -> Scored | None:
        """The first score with this bare name, if there is a value."""
        for key, score in self.record.scores.items():
            if parse_metric_key(key)[0] == name and isinstance(score, Scored):
                return score
        return None

    def value(self, name: str) -> float | None:
        """Its value."""
        found = self.score(name)
        return None if found is None else found.value

    def low(self, name: str) -> bool:
        """Whether it was scored, and does not reach its threshold."""
        found, threshold = self.value(name), self.thresholds.of(name)
        return found is not None and threshold is not None and found < threshold.good

    @cached_property
    def decision(self) -> str | None:
        """answered, partial, declined, no_answer; None when the system gives no answers at all."""
        response = self.sample.response
        if response.abstained:
            return "declined"
        for name in ("abstention", "wrong_abstention", "hallucination_on_unanswerable", "answered_without_context"):
            found = self.score(name)
            if found is not None and isinstance(found.details.get("decision"), str):
                return str(found.details["decision"])
        if response.answer is None:
            return None
        if not response.answer.strip():
            return "no_answer"
        refusal = find_refusal(response.answer)
        if refusal is None or response.abstained is False:
            return "answered"
        return "partial" if refusal.partial else "declined"

    @cached_property
    def crowd(self) -> float:
        """The share of the retrieved places that copies, chunks without content, or hubs take."""
        context = self.sample.response.context
        return crowd(context.chunks if context is not None else (), self.hubs)

    @property
    def correct(self) -> bool | None:
        """Whether the answer is right; None when it was not judged."""
        found = self.value("correctness")
        if found is not None:
            return found == 1.0
        return False if self.value("exact_match") is None and self.value("keyword_hits") == 0 else None

    @property
    def faithful(self) -> bool | None:
        """Whether the answer's claims are supported, as far as this item or the profile asks."""
        found = self.score("faithfulness")
        if found is None:
            return None
        threshold = self.thresholds.of("faithfulness")
        own = self.sample.item.faithfulness_threshold
        limit = own if own is not None else threshold.good if threshold is not None else 1.0
        return found.value >= limit

    @property
    def insufficient(self) -> bool | None:
        """What a judge says of the context: not enough to answer. None: nobody said."""
        sufficiency, recall = self.value("context_sufficiency"), self.value("context_recall")
        if recall is not None:
            return recall < 0.5
        return None if sufficiency is None else sufficiency == 0

    @cached_property
    def gold_texts(self) -> tuple[str, ...]:
        """What is labelled as the answer's source, in words: the quotes, and the labelled chunks whose text is known.

        Empty where the text of a needed passage is not known.
        """
        if any(part.text is None for part in self.parts):
            return ()
        return tuple(part.text for part in self.parts if part.text)

    @cached_property
    def apart(self) -> bool | None:
        """Whether the reference and the labelled passages have so little in common that one of them is not this
        question's: by their words, and by a judge where the words do not say. None: not known.
        """
        share = self.told(self.gold_texts) if self.gold_texts else None
        if share is not None and not APART <= share < TOGETHER:
            return share < APART
        recall = self.score("context_recall")
        if recall is None or any(part.rank is None for part in self.parts):
            return None
        named = [one.evidence for one in recall.verdicts if one.label == "supported"]
        return recall.value == 0 or not any(name is None or name in self.gold_ids for name in named)

    def told(self, texts: Sequence[str]) -> float | None:
        """How much of what the reference says beyond the question stands in `texts`."""
        item = self.sample.item
        return None if not item.answer else told(item.answer, item.question, texts)

    @cached_property
    def statements(self) -> tuple[str, ...]:
        """The answer's sentences, without citation markers."""
        context = self.sample.response.context
        plain = strip_citations(self.sample.response.answer or "", context.ids if context is not None else ())
        return tuple(span.text for span in split_sentences(plain))

    @cached_property
    def grounded(self) -> bool | None:
        """Whether the answer rests on what was retrieved: by its faithfulness; where that was not scored, whether its
        sentences stand there. None: neither is known.
        """
        if self.faithful is not None or not self.statements:
            return self.faithful
        texts = [chunk.text for chunk in self.sample.response.context or ()]
        return True if all(covered(one, texts) >= SAID for one in self.statements) else None

    @property
    def gold_ids(self) -> frozenset[str]:
        """Chunks that are labelled as holding the answer; at document level, those of the labelled documents."""
        labels = self.sample.labels
        if labels.chunks is not None:
            return frozenset(name for name, grade in labels.chunks.items() if grade > 0)
        documents = {name for name, grade in (labels.documents or {}).items() if grade > 0}
        context = self.sample.response.context
        return frozenset(chunk.id for chunk in context or () if chunk.document in documents)

    @property
    def gold_retrieved(self) -> bool:
        """Whether every chunk that the system was given for `gold_context` was among those that it retrieved itself:
        of a labelled document, all of it. False where nobody knows what it was given.
        """
        tried, context = self.tried.get("gold_context"), self.sample.response.context
        given = tried.response.context if tried is not None else None
        if given is None or context is None or not given.chunks:
            return False
        return set(given.ids) <= set(context.ids)

    @cached_property
    def used(self) -> frozenset[str]:
        """Chunks that support a claim of the answer: those that the judge names, and labelled ones that hold a claim
        or a sentence of it.

        A judge names one chunk; of two that say the same, the labelled one is no less used.
        """
        found = self.score("faithfulness")
        supported = [
            verdict for verdict in (found.verdicts if found is not None else ()) if verdict.label == "supported"
        ]
        named = {verdict.evidence for verdict in supported if verdict.evidence is not None}
        said = [*(verdict.claim for verdict in supported if verdict.claim), *self.statements]
        gold = self.gold_ids
        for chunk in self.sample.response.context or ():
            if chunk.id in gold and any(covered(one, [chunk.text]) >= SAID for one in said):
                named.add(chunk.id)
        return frozenset(named)

    def claims(self, label: str) -> list[str]:
        """The answer's claims with this verdict."""
        found = self.score("faithfulness")
        return [v.claim or v.id for v in (found.verdicts if found is not None else ()) if v.label == label]


def read_facts(
    record: Record, run: RunFacts, thresholds: Thresholds, tried: Mapping[str, Counterfactual] | None = None
) -> Facts:
    """Everything that the rules ask about one row."""
    sample, tried = record.sample, tried or {}
    context = sample.response.context
    level: Literal["chunk", "doc"] | None = (
        "chunk" if sample.labels.chunks is not None else "doc" if sample.labels.documents is not None else None
    )
    return Facts(
        record=record,
        parts=tuple(needed_parts(sample, run, tried)) if context is not None else (),
        level=level,
        k=max(len(context.ids), 1) if context is not None else 1,
        hubs=run.hubs,
        tried=tried,
        thresholds=thresholds,
    )


def crowd(chunks: Sequence[RetrievedChunk], hubs: frozenset[str] = frozenset()) -> float:
    """The share of the retrieved places that copies of other chunks, chunks without content, or hubs take."""
    shown = [chunk for chunk in chunks if chunk.text]
    if len(shown) < 2:
        return 0.0
    wasted = set(copies_within([chunk.text for chunk in shown]))
    wasted |= {place for place, chunk in enumerate(shown) if chunk.id in hubs or says_nothing(chunk.text)}
    return len(wasted) / len(shown)
