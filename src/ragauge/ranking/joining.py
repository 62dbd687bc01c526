"""Judgements and rankings side by side, joined by question id; what cannot be a run is named here."""

from __future__ import annotations

import math
from array import array
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any, NoReturn

from ragauge.errors import InputError
from ragauge.ranking.judgements import Judgements, all_text, as_id
from ragauge.ranking.options import Options

Qrels = Mapping[Any, Mapping[Any, float] | Collection[Any]]
Run = Mapping[Any, Mapping[Any, float] | Sequence[Any]]


@dataclass(frozen=True, slots=True)
class Joined:
    """Judged questions with their rankings, side by side. `scored` tells id → score from ranked lists.

    `flat_grades` are all grades end to end, `n_judged` how many of them each question has.
    """

    questions: list[str]
    grades: list[dict[str, float]]
    rankings: list[Any]
    scored: bool
    flat_grades: list[float]
    n_judged: list[int]
    missing: tuple[str, ...]
    ignored: tuple[str, ...]

    def as_text(self) -> Joined:
        """The same with every id as text and every score a float."""
        convert: Any = text_scores if self.scored else text_ids
        rankings = [convert(ranking, question) for ranking, question in zip(self.rankings, self.questions, strict=True)]
        return replace(self, rankings=rankings)


@dataclass(frozen=True, slots=True)
class Measured:
    """What an engine hands back for all joined questions; duplicates by place."""

    values: dict[str, array[float]]
    n_relevant: Sequence[int]
    duplicates: dict[int, int]


def join(judgements: Judgements, run: Run, options: Options) -> Joined:
    """Pair judgements and rankings by question id; a missing question gets an empty ranking or is left out."""
    grades, run = judgements.grades, _with_text_keys(run)
    questions, judged, rankings = list(grades), list(grades.values()), list(map(run.get, grades))
    missing: tuple[str, ...] = ()
    kinds = set(map(type, rankings))
    if type(None) in kinds:
        missing = tuple(question for question, ranking in zip(questions, rankings, strict=True) if ranking is None)
        kinds.discard(type(None))
    ignored: tuple[str, ...] = ()
    if len(run) > len(questions) - len(missing):
        ignored = tuple(question for question in run if question not in grades)
    _check_overlap(judgements, run, missing, ignored, options)
    flat, sizes = judgements.flat, judgements.sizes
    if missing and options.missing == "skip":
        kept = [place for place, ranking in enumerate(rankings) if ranking is not None]
        questions = [questions[place] for place in kept]
        judged = [judged[place] for place in kept]
        rankings = [rankings[place] for place in kept]
        flat, sizes = list(chain.from_iterable(map(dict.values, judged))), list(map(len, judged))
    elif missing:
        lists = not isinstance(next((ranking for ranking in rankings if ranking is not None), {}), Mapping)
        empty: Any = [] if lists else {}
        rankings = [empty if ranking is None else ranking for ranking in rankings]
        kinds.add(type(empty))
    scored = _is_scored(rankings, kinds, questions)
    if options.judged_only:
        rankings = [_only_judged(ranking, known, scored) for ranking, known in zip(rankings, judged, strict=True)]
    return Joined(questions, judged, rankings, scored, flat, sizes, missing, ignored)


def _with_text_keys(run: Run) -> dict[str, Any]:
    if not isinstance(run, Mapping):
        raise InputError("a run must be a mapping", found=type(run).__name__, accepted="{question: {id: score}}")
    if all_text(run):
        return dict(run)
    result: dict[str, Any] = {}
    for key, ranking in run.items():
        question = as_id(key, "run")
        if question in result:
            raise InputError(f"question {question!r} comes twice in the run", hint="1 and '1' are the same id.")
        result[question] = ranking
    return result


def _check_overlap(
    judgements: Judgements, run: Mapping[str, Any], missing: tuple[str, ...], ignored: tuple[str, ...], options: Options
) -> None:
    if missing and options.missing == "error":
        raise InputError(f"the run leaves out {len(missing)} judged questions, the first is {missing[0]!r}")
    if ignored and options.extra == "error":
        raise InputError(f"{len(ignored)} questions of the run are not judged, the first is {ignored[0]!r}")
    if run and len(missing) == len(judgements):
        raise InputError(
            "run and judgements have no question in common",
            found=f"{ignored[0]} in the run, {missing[0]} in the judgements",
            hint="Question ids must be spelled the same in both.",
        )
    if missing and len(missing) == len(judgements) and options.missing == "skip":
        raise InputError("the run is empty", hint="With missing='zero' it would count 0 everywhere.")


def _is_scored(rankings: list[Any], kinds: set[type], questions: list[str]) -> bool:
    """Whether the rankings are id → score; anything but plain dicts, lists and tuples is converted in place."""
    if kinds <= {list, tuple}:
        return False
    if kinds == {dict}:
        return True
    for place, ranking in enumerate(rankings):
        if isinstance(ranking, Mapping):
            rankings[place] = dict(ranking)
        elif isinstance(ranking, Sequence) and not isinstance(ranking, str | bytes):
            rankings[place] = list(ranking)
        elif hasattr(ranking, "tolist"):
            rankings[place] = list(ranking.tolist())
        else:
            raise InputError(
                "a ranking cannot be read", found=ranking, accepted="{id: score} or a list of ids, best first"
            )
    kinds = set(map(type, rankings))
    if len(kinds) > 1:
        raise InputError(
            f"some rankings have scores and some are lists (questions such as {questions[0]!r})",
            accepted="one kind for the whole run",
        )
    return kinds == {dict}


def _only_judged(ranking: Any, known: Mapping[str, float], scored: bool) -> Any:
    if scored:
        return {id: score for id, score in ranking.items() if known.get(str(id), -1) >= 0}
    return [id for id in ranking if known.get(str(id), -1) >= 0]


def text_ids(ranking: Sequence[Any], question: str) -> list[str]:
    """A ranked list with every id as text."""
    return [as_id(id, f"run, question {question!r}") for id in ranking]


def text_scores(ranking: Mapping[Any, Any], question: str) -> dict[str, float]:
    """Id → score with every id as text and every score a float; names what cannot be one."""
    result: dict[str, float] = {}
    for key, score in ranking.items():
        id = as_id(key, f"run, question {question!r}")
        if id in result:
            raise InputError(f"document {id!r} comes twice in the run of question {question!r}")
        try:
            number = math.nan if isinstance(score, str | bytes) else float(score)
        except (TypeError, ValueError, OverflowError):
            number = math.nan
        if math.isnan(number):
            raise InputError(
                f"the score of document {id!r} for question {question!r} is no number",
                found=score,
                accepted="a number; infinity is allowed, NaN is not",
            )
        result[id] = number
    return result


def refuse_duplicates(question: str, n: int) -> NoReturn:
    """Raise for a list that holds ids twice."""
    raise InputError(
        f"the ranking of question {question!r} repeats {n} ids", hint="duplicates='first' counts each at its best rank."
    )
