"""Relevance judgements, checked and normalised once, so that several runs can be measured against them."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping
from itertools import chain
from typing import Any

from ragauge.errors import InputError


def all_text(ids: Iterable[Any]) -> bool:
    """Whether every id is a non-empty `str`. False sends the caller to the slow path, which converts or complains.

    `str.startswith` checks the type of each member of a tuple in C: several times faster than a loop, and it is asked
    for every retrieved id.
    """
    try:
        return not "".startswith(tuple(ids))
    except TypeError:
        return False


def as_id(id: Any, where: str) -> str:
    """`str(id)`; ids of different types (1 and "1") are the same id. Things that cannot be ids are refused."""
    if isinstance(id, str):
        return id
    if id is None or isinstance(id, bool | float | bytes | tuple | list | dict | set):
        hint = "Give ids only, best first, or a mapping of id to score." if isinstance(id, tuple | list) else ""
        raise InputError(f"{where}: this cannot be an id", found=id, accepted="text or a whole number", hint=hint)
    return str(id)


class Judgements:
    """Question id → document id → grade. Built from mappings of grades or collections of relevant ids.

    >>> Judgements({"q1": {"A": 2, "B": 0}, "q2": ["C"]}).grades
    {'q1': {'A': 2, 'B': 0}, 'q2': {'C': 1}}
    """

    __slots__ = ("flat", "grades", "sizes")

    def __init__(self, qrels: Mapping[Any, Mapping[Any, float] | Collection[Any]]) -> None:
        if not isinstance(qrels, Mapping):
            raise InputError("judgements must be a mapping", found=type(qrels).__name__, accepted="{question: {id: 1}}")
        if not qrels:
            raise InputError("there are no judgements", accepted="at least one question with judged ids")
        #: All grades end to end, and how many each question has.
        self.flat: list[float] = []
        self.sizes: list[int] = []
        #: The normalised mapping. Where the input needed no change, its inner dicts are shared, not copied.
        self.grades: dict[str, dict[str, float]] = dict(qrels)
        if not self._is_normal():
            self.grades = _normalised(qrels)
            self.flat = list(chain.from_iterable(map(dict.values, self.grades.values())))
            self.sizes = list(map(len, self.grades.values()))

    def _is_normal(self) -> bool:
        """Whether all ids are texts and all grades numbers; fills `flat` and `sizes` on the way."""
        judged = list(self.grades.values())
        if not all_text(self.grades) or set(map(type, judged)) != {dict}:
            return False
        # In pieces that stay in the processor's cache between the looks at them.
        for start in range(0, len(judged), 256):
            piece = judged[start : start + 256]
            grades = list(chain.from_iterable(map(dict.values, piece)))
            if not (all_text(chain.from_iterable(piece)) and _all_finite(grades)):
                return False
            self.flat += grades
            self.sizes += map(len, piece)
        return True

    def __len__(self) -> int:
        return len(self.grades)


def _all_finite(grades: list[float]) -> bool:
    try:
        return math.isfinite(sum(grades))
    except (TypeError, OverflowError):
        return False


def _normalised(qrels: Mapping[Any, Any]) -> dict[str, dict[str, float]]:
    result: dict[str, dict[str, float]] = {}
    for key, judged in qrels.items():
        question = as_id(key, "judgements")
        if question in result:
            raise InputError(f"question {question!r} is judged twice", hint="1 and '1' are the same id.")
        if isinstance(judged, str | bytes) or not isinstance(judged, Mapping | Collection):
            raise InputError(
                f"the judgements of question {question!r} cannot be read",
                found=judged,
                accepted="{id: grade} or a list of relevant ids",
            )
        pairs = judged.items() if isinstance(judged, Mapping) else [(id, 1) for id in judged]
        result[question] = _graded(question, pairs)
    return result


def _graded(question: str, pairs: Iterable[tuple[Any, Any]]) -> dict[str, float]:
    graded: dict[str, float] = {}
    for key, grade in pairs:
        id = as_id(key, f"judgements of question {question!r}")
        try:
            finite = not isinstance(grade, str | bytes) and math.isfinite(grade)
        except (TypeError, OverflowError):
            finite = False
        if not finite:
            raise InputError(
                f"the grade of document {id!r} for question {question!r} is no number",
                found=grade,
                accepted="a finite number; 0 means judged and not relevant",
            )
        if id in graded and graded[id] != grade:
            raise InputError(f"document {id!r} is judged twice for question {question!r}, with different grades")
        graded[id] = grade
    return graded
