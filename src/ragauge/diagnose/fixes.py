"""What can be tried, as data: each fix with what to do and how to see that it worked."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Step = Literal["data", "retrieval", "prompt", "k and chunking", "model", "judge"]

#: The order in which things are tried when they would help as many questions: what is cheap and upstream first.
STEPS: tuple[Step, ...] = ("data", "retrieval", "prompt", "k and chunking", "model", "judge")


@dataclass(frozen=True)
class Fix:
    """One change to try. `then`: what to try when it does not help."""

    name: str
    step: Step
    do: str
    then: str
    check: str


_ALL = (
    Fix(
        "mend_failures", "data", "Mend the failures of the system under test",
        "a longer time-out, fewer questions at once", "`ragauge run --resume RUN --retry-errors` leaves no failed row.",
    ),
    Fix(
        "fix_labels", "data", "Correct the golden items: their reference answer or their labelled evidence",
        "look at each of them with `ragauge show --row ID`", "`ragauge golden validate`, then the same run again.",
    ),
    Fix(
        "label_chunks", "data", "Label the passage that answers, not only its document (evidence with a quote)",
        "smaller chunks, re-ranking", "recall@k at chunk level exists, and says what document recall hid.",
    ),
    Fix(
        "add_document", "data", "Put the missing documents into the index: were they read, parsed and embedded?",
        "`ragauge doctor`, the loader's log", "The quote itself, asked as a question, brings its document back.",
    ),
    Fix(
        "remove_stale", "data", "Take outdated copies out of the index, or let the newest version win",
        "a filter on version or date", "The outdated chunk is no longer among the first k.",
    ),
    Fix(
        "clean_corpus", "data", "Take junk and near-duplicate chunks out of the index (menus, stubs, boilerplate)",
        "re-ranking; a larger k", "Context precision rises; no chunk comes back for every third question.",
    ),
    Fix(
        "change_embedder", "retrieval", "Change or check the embedder: the same model for questions and chunks?",
        "hybrid search, which does not depend on it", "recall@k rises; scores of relevant chunks part from the others.",
    ),
    Fix(
        "hybrid_search", "retrieval", "Hybrid search: fuse dense and BM25",
        "a larger k; re-ranking of more candidates; another embedder", "recall@k rises.",
    ),
    Fix(
        "bridge_wording", "retrieval", "Bridge the wording: query rewriting or HyDE, headings with the chunks",
        "another embedder; synonyms in the documents", "`ragauge inspect` shows the gold chunk among the nearest.",
    ),
    Fix(
        "rerank", "retrieval", "Re-rank the candidates",
        "a larger k", "The gold chunk moves into the first k; nDCG rises.",
    ),
    Fix(
        "split_question", "retrieval", "Split questions with several parts into one search for each part",
        "a larger k; re-ranking that rewards what is new", "Every part has a chunk among the first k.",
    ),
    Fix(
        "grounding_prompt", "prompt", "A grounding prompt: only from the context, with citations, else decline",
        "temperature 0; a larger or better grounded model", "Faithfulness rises; unsupported claims fall.",
    ),
    Fix(
        "soften_refusal", "prompt", "Soften the refusal rule: decline only if nothing in the context bears on it",
        "a lower threshold; another model", "Wrong abstentions fall; answers to unanswerable questions must not rise.",
    ),
    Fix(
        "decline_when_absent", "prompt", "Let it decline: a fixed refusal phrase, a threshold on the best score",
        "a check of sufficiency before answering", "Hallucinations on unanswerable questions fall.",
    ),
    Fix(
        "cite_each_statement", "prompt", "Number the chunks and ask for the marker right after each statement",
        "attach citations afterwards, by matching", "Citation accuracy rises.",
    ),
    Fix(
        "ask_for_all_parts", "prompt", "Ask for every condition and part of the answer; allow it to be longer",
        "one answer for each part", "Completeness rises while faithfulness stays.",
    ),
    Fix(
        "question_last", "prompt", "State the question last in the prompt; rewrite vague questions",
        "another model", "Answer relevance rises while faithfulness stays.",
    ),
    Fix(
        "larger_k", "k and chunking", "A larger k: the passage stands just below the cut",
        "re-ranking, then a smaller k again", "recall@k rises; context precision must not fall much.",
    ),
    Fix(
        "fewer_chunks", "k and chunking", "Fewer, better ranked chunks: re-rank, then a smaller k",
        "the best chunks first and last in the prompt", "The answers become right while recall stays.",
    ),
    Fix(
        "rechunk", "k and chunking", "Cut elsewhere: split at headings and sentences, with overlap",
        "larger chunks; re-ranking", "The gold quote stands whole in one chunk; recall@k at chunk level rises.",
    ),
    Fix(
        "stronger_model", "model", "Look at the questions one by one; then another model",
        "fewer chunks; quote first, then answer", "Correctness on the questions whose evidence was retrieved.",
    ),
    Fix(
        "check_judge", "judge", "Let people look at these: the judge contradicts itself or the text",
        "another judge; `ragauge calibrate`", "`ragauge judge check`; agreement with people.",
    ),
)  # fmt: skip

FIXES: dict[str, Fix] = {fix.name: fix for fix in _ALL}
