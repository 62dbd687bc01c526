"""ROUGE-L: the longest common subsequence of words in answer and reference."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from ragauge.core.metric import MetricInfo, Need
from ragauge.core.sample import Sample
from ragauge.core.score import Scored, Unscored
from ragauge.metrics.settle import answer_text, reference_text

_WORD = re.compile(r"[^\W_]+")
_MASK_BITS = 100_000_000


@dataclass(frozen=True)
class RougeL:
    """F1 of the longest common subsequence of words (fraction, 0 to 1, higher is better).

    Formula: 2PR / (P + R) with P = LCS / words of the answer, R = LCS / words of the reference. Words are runs of
    letters and digits of any script, in lower case, without stemming: on ASCII text exactly `rouge-score`'s default,
    which drops every other letter. Citation markers are taken off first.

    Edge cases: blank answer `Unscored(no_answer)`; no reference `Unscored(no_reference)`; no words on either side 0.
    Cost: none; memory grows with the length of the texts, not with its square.
    Source: Lin (2004), ROUGE; `rouge-score` 0.1.2 (`rougeL`, `use_stemmer=False`), agreement to 1e-9.

    Example: "the cat sat on the mat" against "the cat is on the mat": LCS 5 of 6 and 6 → 0.833.
    """

    info: ClassVar[MetricInfo] = MetricInfo(
        name="rouge_l",
        title="ROUGE-L",
        needs=frozenset({Need.ANSWER, Need.REFERENCE}),
        uses=frozenset({Need.CONTEXT}),
        half="both",
        source="Lin (2004), ROUGE; rouge-score 0.1.2 rougeL F1",
    )

    def score(self, sample: Sample) -> Scored | Unscored:
        """Compare the sequences of words."""
        answer, reference = answer_text(sample), reference_text(sample)
        if isinstance(answer, Unscored):
            return answer
        if isinstance(reference, Unscored):
            return reference
        precision, recall, f1 = rouge_l(answer, reference)
        return Scored(value=f1, count=1, details={"precision": precision, "recall": recall})


def rouge_l(answer: str, reference: str) -> tuple[float, float, float]:
    """Precision, recall and F1 of ROUGE-L (0 to 1); all 0 when either text has no words.

    >>> [round(value, 3) for value in rouge_l("the cat sat on the mat", "the cat is on the mat")]
    [0.833, 0.833, 0.833]
    """
    ours, theirs = _WORD.findall(answer.lower()), _WORD.findall(reference.lower())
    length = lcs_length(ours, theirs)
    if not length:
        return 0.0, 0.0, 0.0
    precision, recall = length / len(ours), length / len(theirs)
    return precision, recall, 2 * precision * recall / (precision + recall)


def lcs_length(a: Sequence[str], b: Sequence[str]) -> int:
    """Length of the longest common subsequence, bit-parallel (Hyyrö, 2004): one long integer holds a whole row.

    >>> lcs_length("a b c d".split(), "b x d a".split())
    2
    """
    if len(a) > len(b):
        a, b = b, a
    places: defaultdict[str, list[int]] = defaultdict(list)
    for index, word in enumerate(a):
        places[word].append(index)
    # A table of all masks would be quadratic in memory: only as many as fit into some megabytes are kept.
    n_kept = min(len(places), _MASK_BITS // (len(a) + 1))
    kept = {word: _bits(places[word], len(a)) for word in sorted(places, key=lambda w: -len(places[w]))[:n_kept]}
    row = full = (1 << len(a)) - 1
    for word in b:
        if word in places:
            matches = kept[word] if word in kept else _bits(places[word], len(a))
            hit = row & matches
            row = ((row + hit) | (row - hit)) & full
    return len(a) - row.bit_count()


def _bits(places: Sequence[int], length: int) -> int:
    """The integer with these bits set."""
    octets = bytearray(length // 8 + 1)
    for place in places:
        octets[place >> 3] |= 1 << (place & 7)
    return int.from_bytes(octets, "little")
