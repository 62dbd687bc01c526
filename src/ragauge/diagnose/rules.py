"""The matrix as data: from which metrics are low and which high to a diagnosis (D1).

Order matters: retrieval, then the grounding prompt, then k and chunking, then the model. A more specific rule stands
before a more general one. Each rule has a section in docs/explanation/diagnosis.md under its name.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True)
class Rule:
    """Applies when every signal in `low` is low and every one in `high` is high (see `matrix.SIGNALS`).

    `step`: what kind of change comes first.
    """

    name: str
    step: Literal["retrieval", "prompt", "k and chunking", "model"]
    half: Literal["retrieval", "generation", "both"]
    low: tuple[str, ...]
    high: tuple[str, ...]
    diagnosis: str
    cause: str
    try_first: str
    check: str


RULES: tuple[Rule, ...] = (
    Rule(
        "nothing_found_by_search", "retrieval", "retrieval", ("results",), (),
        "Searches come back empty",
        "A filter or a score threshold throws everything away, or the index is not the one that it should be.",
        "Loosen the filter or the threshold; check that the index holds the corpus.",
        "zero_results falls.",
    ),
    Rule(
        "chunk_missing", "retrieval", "retrieval", ("recall",), ("document_recall",),
        "The right document is found, the passage that answers is not",
        "Chunks cut the answer in two or bury it, or other passages of the same document outrank it.",
        "Smaller chunks with overlap, or headings kept with their text; then re-ranking.",
        "recall@k at chunk level rises while recall@k at document level stays.",
    ),
    Rule(
        "lucky_retrieval", "retrieval", "retrieval", ("recall",), ("correctness", "faithfulness"),
        "Right and grounded answers without the labelled evidence",
        "Other passages answer too, by luck or because the labels name only some of the passages that do.",
        "Look at the worst questions: complete the labels where another passage answers; then mend retrieval.",
        "recall@k rises with the labels, or with retrieval.",
    ),
    Rule(
        "evidence_missing", "retrieval", "retrieval", ("recall",), (),
        "The evidence is not retrieved",
        "The search does not connect the wording of the question with that of the documents, or k is too small.",
        "Hybrid search (dense + BM25); then a larger k; then re-ranking of more candidates.",
        "recall@k rises; look at the worst questions one by one.",
    ),
    Rule(
        "noise", "retrieval", "retrieval", ("context_precision",), ("recall",),
        "Noise drowns the signal",
        "The evidence is retrieved, among much that does not help.",
        "Re-ranking; then a smaller k.",
        "Context precision rises while recall stays.",
    ),
    Rule(
        "right_from_memory", "prompt", "generation", ("recall", "faithfulness"), ("correctness",),
        "Right answers that do not come from the retrieved text",
        "The model answers from what it has learnt: right today, unchecked tomorrow.",
        "A prompt that allows only what the context says, and a refusal phrase; then mend retrieval.",
        "Faithfulness rises and correctness follows recall.",
    ),
    Rule(
        "context_ignored", "prompt", "generation", ("faithfulness",), ("recall",),
        "The context is there and is not used",
        "The prompt does not bind the model to the context, or the model adds what it knows.",
        "A grounding prompt: only from the context, with citations, else decline; then temperature 0; then the model.",
        "Faithfulness rises; contradicted and not-mentioned claims fall.",
    ),
    Rule(
        "unfaithful", "prompt", "generation", ("faithfulness",), (),
        "Answers say what the context does not",
        "The model fills gaps, partly because the evidence is missing.",
        "Mend retrieval first if recall is low; then the grounding prompt.",
        "Faithfulness on the questions whose evidence was retrieved.",
    ),
    Rule(
        "answers_without_context", "prompt", "generation", ("grounded_only",), (),
        "Answers although nothing relevant was retrieved",
        "Nothing tells the generator to decline when its context does not answer.",
        "Decline when the context does not answer: a fixed refusal phrase, a threshold on the best score.",
        "answered_without_context falls; wrong abstentions must not rise.",
    ),
    Rule(
        "over_cautious", "prompt", "generation", ("answers_given",), ("recall",),
        "Declines questions that its context answers",
        "The prompt or a threshold refuses too early.",
        "Soften the refusal rule: refuse only if nothing in the context bears on the question.",
        "Wrong abstentions fall; hallucinations on unanswerable questions must not rise.",
    ),
    Rule(
        "over_confident", "prompt", "generation", ("declines_unanswerable",), (),
        "Answers questions that the corpus cannot answer",
        "Nothing tells the generator when to decline.",
        "A fixed refusal phrase in the prompt, or a threshold on the best chunk's score.",
        "Hallucinations on unanswerable questions fall; wrong abstentions must not rise.",
    ),
    Rule(
        "question_misread", "prompt", "generation", ("relevance",), ("faithfulness",),
        "Grounded answers to another question",
        "The question is misread, or the passage that matches its words is not the one that answers it.",
        "State the question last in the prompt; rewrite vague questions before the search.",
        "Answer relevance rises while faithfulness stays.",
    ),
    Rule(
        "incomplete", "prompt", "generation", ("completeness",), ("recall", "faithfulness"),
        "True answers that leave something out",
        "The answer stops at the first fact, or takes one passage of several.",
        "Ask for every condition and part; allow longer answers.",
        "Completeness rises while faithfulness stays.",
    ),
    Rule(
        "context_unused", "prompt", "generation", ("utilisation",), ("recall",),
        "Useful chunks are retrieved and left unused",
        "The answer rests on one passage of several, or on none.",
        "Ask for every part of the answer with its source; put the best chunks first and last.",
        "Context utilisation and completeness rise.",
    ),
    Rule(
        "citations", "prompt", "generation", ("citation_accuracy",), (),
        "Citations point to passages that do not say it",
        "The generator attaches markers loosely.",
        "Number the chunks in the prompt and ask for the marker right after each statement.",
        "Citation accuracy rises.",
    ),
    Rule(
        "noise_swallowed", "k and chunking", "generation", ("noise_resistance",), ("recall",),
        "Wrong statements come out of retrieved chunks",
        "The generator takes what irrelevant chunks say for the answer.",
        "Re-ranking and a smaller k; outdated copies out of the index.",
        "Noise sensitivity falls while recall stays.",
    ),
    Rule(
        "wrong_despite_evidence", "model", "generation", ("correctness",), ("recall",),
        "Wrong although the evidence was retrieved",
        "The generator takes the wrong passage or the wrong value out of the right ones.",
        "Look at the worst questions; fewer, better-ranked chunks; then the model.",
        "Correctness on the questions whose evidence was retrieved.",
    ),
)  # fmt: skip
