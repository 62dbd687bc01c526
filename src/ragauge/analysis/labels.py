"""What people said about answers, and which of it may be used to estimate a rate."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

_GOOD = (
    "faithful supported grounded correct right pass passed good ok fine accept accepted useful relevant sufficient "
    "complete cited entailed attributable"
)
_BAD = (
    "unfaithful unsupported ungrounded hallucinated hallucination incorrect wrong fail failed bad reject rejected "
    "useless irrelevant not_useful not_relevant not_supported not_mentioned not_faithful contradicted insufficient "
    "incomplete neutral refuted"
)
_WORDS: dict[str, float] = dict.fromkeys(_GOOD.split(), 1.0) | dict.fromkeys(_BAD.split(), 0.0)
_WORDS |= dict.fromkeys(("partial", "partly", "partially_correct", "partly_right", "half"), 0.5)
_TRUTH = {"yes": 1.0, "y": 1.0, "true": 1.0, "no": 0.0, "n": 0.0, "false": 0.0}
_UNSURE = frozenset(("", "unsure", "unclear", "skip", "skipped", "?", "na", "n/a", "none", "null", "-"))

#: What `label_value` accepts, for messages.
ACCEPTED = "faithful | unfaithful, correct | partial | wrong, relevant | irrelevant, pass | fail, yes | no, or 0 to 1"

UnitKey = tuple[str, int, str | None]


@dataclass(frozen=True)
class HumanLabel:
    """One person's word on one answer (or one chunk or claim of it, `target`).

    `value`: 1 is good, 0 is bad, between them partly; `graded` says that a number was given. `answer` is the
    fingerprint of the response that was looked at, where it is known. `for_estimation` None: it is not said how the
    answer was chosen; False: it was chosen because it looked interesting. `design` names the draw it came from.
    """

    item: str
    value: float
    metric: str | None = None
    repeat: int = 0
    target: str | None = None
    reviewer: str = ""
    note: str = ""
    answer: str | None = None
    for_estimation: bool | None = None
    design: str | None = None
    graded: bool = False
    adjudicated: bool = False

    @property
    def key(self) -> UnitKey:
        """What the label is about."""
        return self.item, self.repeat, self.target


def label_value(text: str, *, lower_is_better: bool = False) -> tuple[float, bool] | None:
    """(1 good … 0 bad, whether a number was given) of a label's text; None when the person could not tell.

    Numbers and yes/no are on the metric's own scale: where lower is better, 1 is bad. ValueError for another word.

    >>> label_value("Unfaithful"), label_value("0.7"), label_value("unsure"), label_value("yes", lower_is_better=True)
    ((0.0, False), (0.7, True), None, (0.0, False))
    """
    word = re.sub(r"[\s-]+", "_", text.strip().casefold())[:60]
    if word in _UNSURE:
        return None
    if word in _WORDS:
        return _WORDS[word], False
    try:
        value = _TRUTH[word] if word in _TRUTH else float(word)
    except ValueError:
        raise ValueError(f"{text[:40]!r} is not a label") from None
    if not (math.isfinite(value) and 0.0 <= value <= 1.0):
        raise ValueError(f"{text[:40]!r} does not lie between 0 and 1")
    return (1.0 - value if lower_is_better else value), value not in (0.0, 1.0)


@dataclass(frozen=True)
class Settled:
    """What the labels of one unit come to. `value` None: the people disagree, and nobody has settled it."""

    key: UnitKey
    value: float | None
    labels: tuple[HumanLabel, ...]

    @property
    def note(self) -> str:
        """The notes, one after the other."""
        return "; ".join(label.note for label in self.labels if label.note)


def settle(labels: Iterable[HumanLabel]) -> dict[UnitKey, Settled]:
    """One value for each unit: the adjudicated one, else the only or the commonest one; a tie settles nothing.

    Graded values of several people are averaged.

    >>> two = [HumanLabel("a", 1.0, reviewer="x"), HumanLabel("a", 0.0, reviewer="y")]
    >>> settle(two)[("a", 0, None)].value is None
    True
    """
    by_unit: dict[UnitKey, list[HumanLabel]] = {}
    for label in labels:
        by_unit.setdefault(label.key, []).append(label)
    return {key: Settled(key, _settled(given), tuple(given)) for key, given in by_unit.items()}


def _settled(given: Sequence[HumanLabel]) -> float | None:
    final = [label.value for label in given if label.adjudicated]
    if final:
        return final[-1]
    values = [label.value for label in given]
    if any(label.graded for label in given):
        return math.fsum(values) / len(values)
    counts = {value: values.count(value) for value in values}
    most = max(counts.values())
    winners = [value for value, count in counts.items() if count == most]
    return winners[0] if len(winners) == 1 else None


@dataclass(frozen=True)
class Chosen:
    """The settled labels by what they may be used for, and why the others may not.

    `random`: usable for estimates. `said`: whether anybody said how the answers were chosen.
    """

    usable: dict[UnitKey, Settled]
    excluded: dict[str, int]
    said: bool


def choose(settled: Mapping[UnitKey, Settled], drawn: frozenset[UnitKey]) -> Chosen:
    """Which settled labels are a draw with known probabilities.

    Those of a recorded draw (`drawn`) and those whose labels name a design. When no draw is recorded and no label
    says how it was chosen, all of them, on the word of whoever brings them. Never those chosen for looking
    interesting: their rate says nothing about the run.
    """
    said = bool(drawn) or any(
        label.design is not None or label.for_estimation is not None for one in settled.values() for label in one.labels
    )
    usable: dict[UnitKey, Settled] = {}
    excluded: dict[str, int] = {}
    for key, one in settled.items():
        told = [label for label in one.labels if label.design is not None or label.for_estimation is True]
        picked = key in drawn or bool(told)
        why = None
        if one.value is None:
            why = "reviewers disagree"
        elif said and not picked:
            why = "not a random draw: used to find mistakes only"
        if why is None:
            usable[key] = one
        else:
            excluded[why] = excluded.get(why, 0) + 1
    return Chosen(usable, excluded, said)
