"""The tasks that a judge can be asked, each with its reply type and its menu of labels."""

from __future__ import annotations

from ragauge.core.judge import Task
from ragauge.core.model import Model
from ragauge.core.verdict import Claim, Verdict


class ClaimsReply(Model):
    """Atomic claims in the order in which the text makes them; ids c1, c2, … Empty when the text claims nothing."""

    claims: tuple[Claim, ...]


class VerdictsReply(Model):
    """One verdict for each asked id, in the order asked."""

    verdicts: tuple[Verdict, ...]


class VerdictReply(Model):
    """One verdict on the whole."""

    verdict: Verdict


class QuestionsReply(Model):
    """Questions that the text would answer. `noncommittal`: the text evades (I don't know, it depends …)."""

    questions: tuple[str, ...]
    noncommittal: bool = False


class SimilarityReply(Model):
    """Cosine similarities (-1 to 1) between one text and each of several others, in the order asked."""

    similarities: tuple[float, ...]


#: Split `text` into atomic claims, pronouns resolved. Inputs: text (str), question (str | None, only to resolve).
SPLIT_CLAIMS = Task("split_claims", 1, ClaimsReply, ("text",))

#: Is each claim supported by the chunks? The judge sees neither question nor reference.
#: Inputs: claims (tuple[Claim, …]), chunks (tuple[RetrievedChunk, …]). Verdict ids are claim ids, `evidence` a chunk's.
SUPPORT = Task("support", 1, VerdictsReply, ("claims", "chunks"), ("supported", "contradicted", "not_mentioned"))

#: Which of the claims does one text (a reference, an answer) state? Inputs: claims, text (str).
COVERAGE = Task("coverage", 1, VerdictsReply, ("claims", "text"), ("supported", "contradicted", "not_mentioned"))

#: Is each chunk useful for answering? Inputs: question, chunks, reference (str | None). Verdict ids are chunk ids.
USEFULNESS = Task("usefulness", 1, VerdictsReply, ("question", "chunks", "reference"), ("useful", "not_useful"))

#: Do the chunks together hold enough to answer at all? Inputs: question, chunks.
SUFFICIENCY = Task("sufficiency", 1, VerdictReply, ("question", "chunks"), ("sufficient", "insufficient"))

#: Did the answer decline? Inputs: question, answer. `partial`: answered some of it and declined the rest.
ABSTENTION = Task("abstention", 1, VerdictReply, ("question", "answer"), ("declined", "partial", "answered"))

#: Is the answer right, against the reference? Inputs: question, answer, reference.
CORRECTNESS = Task("correctness", 1, VerdictReply, ("question", "answer", "reference"), ("correct", "partial", "wrong"))

#: Does the answer address the question? Rubric 1 to 5. Inputs: question, answer. Labels are "1" … "5", best first.
RELEVANCE = Task("relevance", 1, VerdictReply, ("question", "answer"), ("5", "4", "3", "2", "1"))

#: `n` questions that the answer would answer. Inputs: answer, question, n (int).
REVERSE_QUESTIONS = Task("reverse_questions", 1, QuestionsReply, ("answer", "n"))

#: Is each cited statement supported by the chunks that it cites? Inputs: claims, chunks (only the cited ones),
#: cited (dict claim id → tuple of chunk ids).
CITATION_SUPPORT = Task(
    "citation_support", 1, VerdictsReply, ("claims", "chunks", "cited"), ("supported", "contradicted", "not_mentioned")
)

#: Does each sentence state something about the world that needs a source? Inputs: claims.
NEEDS_CITATION = Task("needs_citation", 1, VerdictsReply, ("claims",), ("needed", "not_needed"))

#: Cosine similarity of `text` to each of `others` by the judge's embedder. Inputs: text (str), others (tuple[str, …]).
SIMILARITY = Task("similarity", 1, SimilarityReply, ("text", "others"))

TASKS = {
    task.name: task
    for task in (
        SPLIT_CLAIMS, SUPPORT, COVERAGE, USEFULNESS, SUFFICIENCY, ABSTENTION, CORRECTNESS, RELEVANCE,
        REVERSE_QUESTIONS, CITATION_SUPPORT, NEEDS_CITATION, SIMILARITY,
    )
}  # fmt: skip
