"""Candidate questions for the golden set from what users really asked.

A log question is worth a person's look when its user was not content, when the system declined, found nothing or
nothing near, or scored low; and a random share of the rest, spread over what people ask about, so that the set does
not hold failures only.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from ragauge.core.sample import Sample, is_blank
from ragauge.dataset.duplicates import Encode, bare, duplicates
from ragauge.text.refusals import is_refusal

Why = Literal["thumbs_down", "abstained", "no_context", "low_score", "random"]

#: Of a budget, how much each reason gets first; what one cannot use goes to the others.
SHARES: dict[Why, float] = {
    "thumbs_down": 0.25, "abstained": 0.15, "no_context": 0.15, "low_score": 0.15, "random": 0.30,
}  # fmt: skip
REASONS: dict[Why, str] = {
    "thumbs_down": "a user gave the answer a thumbs down",
    "abstained": "the system declined to answer",
    "no_context": "nothing relevant was retrieved",
    "low_score": "the answer scored low",
    "random": "drawn at random from what users ask",
}
_DOWN = frozenset(("down", "thumbs_down", "thumbs-down", "negative", "bad", "dislike", "-1", "false", "👎"))
_FEEDBACK = ("feedback", "thumbs", "user_feedback", "rating", "vote", "thumb")


@dataclass(frozen=True)
class LogQuestion:
    """One question worth a look. `others`: further reasons; `n_asked`: how often it stands in the log."""

    sample: Sample
    why: Why
    others: tuple[Why, ...] = ()
    n_asked: int = 1

    @property
    def reason(self) -> str:
        """In words."""
        said = "; ".join(REASONS[why] for why in (self.why, *self.others))
        return f"{said}; asked {self.n_asked} times" if self.n_asked > 1 else said


def from_logs(
    samples: Iterable[Sample],
    budget: int,
    *,
    known: Sequence[str] = (),
    scores: Mapping[str, float] | None = None,
    low_score: float = 0.5,
    near: float | None = None,
    seed: int = 0,
    encode: Encode | None = None,
) -> list[LogQuestion]:
    """At most `budget` questions of a log, each once, none that the golden set (`known`) asks already.

    `scores`: sample id → a metric's value (below `low_score` is low). `near`: a best retrieval score below this counts
    as nothing relevant. `encode` makes the random share diverse: each next one is the farthest from those chosen (of a
    seeded draw of at most 2 000); without it the share is drawn plainly.
    """
    by_question: dict[str, tuple[Sample, set[Why], int]] = {}
    for sample in samples:
        if is_blank(sample.item.question):
            continue
        reasons = set(_reasons(sample, scores or {}, low_score, near))
        plain = bare(sample.item.question)
        first, before, n = by_question.get(plain, (sample, set(), 0))
        by_question[plain] = (first if before or not reasons else sample, before | reasons, n + 1)
    asked = {bare(question) for question in known}
    fresh = [entry for plain, entry in by_question.items() if plain not in asked]
    fresh = _not_nearly(fresh, known)
    order: list[Why] = ["thumbs_down", "abstained", "no_context", "low_score"]
    found: dict[str, LogQuestion] = {}
    room = {why: round(budget * SHARES[why]) for why in order}
    for last in (False, True):
        if last:
            _random_share(fresh, found, budget, seed, encode, cap=round(budget * SHARES["random"]))
        for why in order:
            for sample, reasons, n in sorted(fresh, key=lambda entry: -entry[2]):
                full = len(found) >= budget or (not last and room[why] <= 0)
                if full or why not in reasons or sample.item.id in found:
                    continue
                others = tuple(one for one in order if one in reasons and one != why)
                found[sample.item.id] = LogQuestion(sample, why, others, n)
                room[why] -= 1
    _random_share(fresh, found, budget, seed, encode, cap=budget)
    return list(found.values())


def _reasons(sample: Sample, scores: Mapping[str, float], low: float, near: float | None) -> Iterable[Why]:
    response = sample.response
    if thumbs_down(response.metadata) or thumbs_down(sample.item.metadata):
        yield "thumbs_down"
    if response.abstained or (response.answer is not None and is_refusal(response.answer)):
        yield "abstained"
    if response.context is not None:
        best = [chunk.score for chunk in response.context if chunk.score is not None]
        if not response.context.chunks or (near is not None and best and max(best) < near):
            yield "no_context"
    if sample.item.id in scores and scores[sample.item.id] < low:
        yield "low_score"


def thumbs_down(metadata: Mapping[str, Any]) -> bool:
    """Whether a record's metadata says that its user was not content.

    >>> thumbs_down({"feedback": "down"}), thumbs_down({"rating": -1}), thumbs_down({"feedback": {"value": "up"}})
    (True, True, False)
    """
    for name in _FEEDBACK:
        value = metadata.get(name)
        if isinstance(value, Mapping):
            value = next((value[key] for key in ("thumbs", "value", "rating", "label", "score") if key in value), None)
        if value is False or (isinstance(value, int | float) and not isinstance(value, bool) and value < 0):
            return True
        if isinstance(value, str) and value.strip().casefold() in _DOWN:
            return True
    return False


def _not_nearly(fresh: list[tuple[Sample, set[Why], int]], known: Sequence[str]) -> list[tuple[Sample, set[Why], int]]:
    """Without those that nearly repeat a known question or an earlier one of the log."""
    questions = [*known, *(sample.item.question for sample, _, _ in fresh)]
    repeated = {index - len(known) for index, _, _ in duplicates(questions) if index >= len(known)}
    return [entry for place, entry in enumerate(fresh) if place not in repeated]


def _random_share(
    fresh: Sequence[tuple[Sample, set[Why], int]],
    found: dict[str, LogQuestion],
    budget: int,
    seed: int,
    encode: Encode | None,
    *,
    cap: int,
) -> None:
    have = sum(one.why == "random" for one in found.values())
    n = min(budget - len(found), cap - have)
    pool = sorted((e for e in fresh if e[0].item.id not in found), key=lambda entry: entry[0].item.id)
    if n <= 0 or not pool:
        return
    rng = random.Random(f"{seed}:log")
    pool = rng.sample(pool, min(len(pool), 2000))
    chosen = [one.sample.item.question for one in found.values()]
    for place in _spread([sample.item.question for sample, _, _ in pool], chosen, n, encode):
        sample, _, count = pool[place]
        found[sample.item.id] = LogQuestion(sample, "random", (), count)


def _spread(questions: Sequence[str], chosen: Sequence[str], n: int, encode: Encode | None) -> list[int]:
    """Indexes of `n` questions, each the farthest from those before it and `chosen`; the first n without `encode`."""
    n = min(n, len(questions))
    if encode is None:
        return list(range(n))
    import numpy as np

    vectors = np.asarray(encode([*questions, *chosen]), np.float32)
    pool, held = vectors[: len(questions)], vectors[len(questions) :]
    nearest = (pool @ held.T).max(axis=1) if len(held) else np.zeros(len(pool), np.float32)
    picked: list[int] = []
    while len(picked) < n:
        nearest[picked] = np.inf
        place = int(np.argmin(nearest))
        picked.append(place)
        nearest = np.maximum(nearest, pool @ pool[place])
    return picked
