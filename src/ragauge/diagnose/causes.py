"""The root causes that a question can fail for, as data: which half, what it means, what to try first."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Half = Literal["retrieval", "generation", "data", "unknown"]


@dataclass(frozen=True)
class Cause:
    """One root cause. `fix` names the first thing to try; a row's own facts can choose another one."""

    name: str
    half: Half
    title: str
    meaning: str
    fix: str


_ALL = (
    Cause("system_failed", "unknown", "The system failed", "It raised, or ran into its time-out.", "mend_failures"),
    Cause(
        "wrong_label", "data", "The label is wrong",
        "The answer rests on retrieved text and the golden item says otherwise: its reference is not in its own "
        "evidence, or its evidence is not the only passage that answers.", "fix_labels",
    ),
    Cause(
        "not_in_index", "data", "The gold document is not in the index",
        "It is never retrieved, for no question, not even for its own words.", "add_document",
    ),
    Cause(
        "stale_duplicate", "data", "An outdated copy stands before the right passage",
        "A chunk that says nearly the same in other words or numbers was retrieved in place of the gold one.",
        "remove_stale",
    ),
    Cause(
        "crowded_out", "data", "Junk or copies crowd the first places",
        "Half of what was retrieved, or more, is near-duplicates or chunks without content.", "clean_corpus",
    ),
    Cause(
        "answer_cut", "retrieval", "The answer is cut in two",
        "The passage runs over the edge of a chunk, and only a part of it was retrieved.", "rechunk",
    ),
    Cause(
        "retrieved_low", "retrieval", "Retrieved below the cut",
        "The passage is among the candidates, after the first k.", "larger_k",
    ),
    Cause(
        "chunk_missing", "retrieval", "The document is there, its answering chunk is not",
        "A hit at document level that is none: other chunks of the document outrank the one that answers.", "rechunk",
    ),
    Cause(
        "label_too_coarse", "retrieval", "A document hit without the answering chunk (label too coarse)",
        "Only the document is labelled, and what was retrieved of it does not answer.", "label_chunks",
    ),
    Cause(
        "multi_hop_part_missing", "retrieval", "One part of several is missing",
        "The question needs passages from several places, and not all of them were retrieved.", "split_question",
    ),
    Cause(
        "not_retrieved", "retrieval", "Not retrieved",
        "No passage that answers is among what was retrieved or considered.", "hybrid_search",
    ),
    Cause(
        "order_sensitive", "generation", "The answer depends on the order of the chunks",
        "The same chunks in another order give another verdict.", "fewer_chunks",
    ),
    Cause(
        "distracted", "generation", "Distracted by other chunks",
        "The evidence was retrieved; from it alone the answer is right, among the others it is not.", "fewer_chunks",
    ),
    Cause(
        "wrong_abstention", "generation", "Declined although the evidence was there",
        "The context answers the question.", "soften_refusal",
    ),
    Cause(
        "answered_unanswerable", "generation", "Answered what cannot be answered",
        "Nothing in the corpus answers the question, and the system answered.", "decline_when_absent",
    ),
    Cause(
        "retrieved_unused", "generation", "Retrieved, but not used",
        "The evidence was in the context, and the answer does not rest on it.", "grounding_prompt",
    ),
    Cause(
        "contradicted", "generation", "Contradicts its context",
        "The answer says the opposite of a retrieved passage.", "grounding_prompt",
    ),
    Cause(
        "unsupported", "generation", "Adds what nothing supports",
        "Some claims of the answer stand in no retrieved chunk.", "grounding_prompt",
    ),
    Cause(
        "miscited", "generation", "Right, but miscited",
        "The cited chunks do not say what they are cited for, or do not exist.", "cite_each_statement",
    ),
    Cause(
        "incomplete", "generation", "Leaves something out",
        "What it says is right and grounded; a part of the reference is missing.", "ask_for_all_parts",
    ),
    Cause(
        "off_topic", "generation", "Answers another question",
        "Grounded, but not on what was asked.", "question_last",
    ),
    Cause(
        "wrong_despite_evidence", "generation", "Wrong although it used the evidence",
        "It rests on the right passage and takes the wrong thing out of it.", "stronger_model",
    ),
    Cause(
        "judge_disagreement", "unknown", "The judge disagrees with itself or with the text",
        "Verdicts that cannot all be true; not a finding about the system.", "check_judge",
    ),
    Cause(
        "unexplained", "unknown", "Not explained",
        "It failed a check, and what was measured does not say why.", "stronger_model",
    ),
)  # fmt: skip

CAUSES: dict[str, Cause] = {cause.name: cause for cause in _ALL}
