"""SQuAD's normalisation and token overlap, as its evaluation script defines them."""

from __future__ import annotations

import re
import string
from collections import Counter

_ARTICLES = re.compile(r"\b(a|an|the)\b")
_PUNCTUATION = str.maketrans("", "", string.punctuation)


def squad_normal(text: str) -> str:
    """Lower case, ASCII punctuation removed, English articles removed, white space collapsed.

    >>> squad_normal("The  Eiffel-Tower, a tower.")
    'eiffeltower tower'
    """
    return " ".join(_ARTICLES.sub(" ", text.lower().translate(_PUNCTUATION)).split())


def squad_f1(answer: str, reference: str) -> tuple[float, float, float]:
    """Precision, recall and F1 of the bag of tokens (0 to 1). Two empty bags agree (1), one empty does not (0).

    >>> [round(value, 3) for value in squad_f1("the port is 8125", "port 8125")]
    [0.667, 1.0, 0.8]
    """
    ours, theirs = squad_normal(answer).split(), squad_normal(reference).split()
    if not ours or not theirs:
        same = float(ours == theirs)
        return same, same, same
    common = sum((Counter(ours) & Counter(theirs)).values())
    precision, recall = common / len(ours), common / len(theirs)
    return precision, recall, 2 * precision * recall / (precision + recall) if common else 0.0
