"""What the fake language model says to the reference pipeline's prompts: answers, queries, descriptions of chunks."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

_N_QUERIES = re.compile(r"^Number of queries: (\d+)", re.MULTILINE)
_SENTENCE = re.compile(r"[^.!?\n]+[.!?]?")
_WORD = re.compile(r"\w+")

Overlap = Callable[[str, str], float]


def written(
    task: str, prompt: str, texts: dict[str, str], passages: dict[str, str], item: str, overlap: Overlap
) -> Any:
    """The reply to a prompt of the pipeline (text, or a dict to be sent as JSON); None for any other task."""
    question = texts.get("question", "")
    if task == "answer":
        return _answer(question, texts.get("refusal", ""), passages, overlap)
    if task == "hyde":
        return f"The documentation says this. {' '.join(_WORD.findall(question))} is set as described here."
    if task == "chunk_context":
        first = next((line.strip("#= ") for line in texts.get("document", "").splitlines() if line.strip("#= ")), "")
        return f"From the document {first or 'without a title'}."
    if task == "rewrite":
        return {"id": item, "queries": [" ".join(_WORD.findall(question))]}
    if task in ("multi_query", "decompose"):
        found = _N_QUERIES.search(prompt)
        n = int(found[1]) if found else 1
        parts = [part.strip() for part in re.split(r"\band\b|,", question) if part.strip()]
        if task == "decompose":
            return {"id": item, "queries": parts[:n] if len(parts) > 1 else []}
        words = _WORD.findall(question)
        return {"id": item, "queries": [" ".join(words[shift:] + words[:shift]) for shift in range(1, n + 1)]}
    return None


def _answer(question: str, refusal: str, passages: dict[str, str], overlap: Overlap) -> str:
    """The sentence that shares most words with the question, with its passage's number; else the refusal."""
    best, said = 0.0, refusal.strip()
    for number, text in passages.items():
        for sentence in _SENTENCE.findall(text):
            share = overlap(question, sentence)
            if share > best and len(sentence.split()) > 2:
                best, said = share, f"{sentence.strip().rstrip('.')} [{number}]."
    return said if best >= 0.25 else refusal.strip()
