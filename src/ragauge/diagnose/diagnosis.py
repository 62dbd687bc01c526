"""A whole run: what its failing questions fail for, and what to try first."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from pydantic import Field

from ragauge.analysis.thresholds import Thresholds
from ragauge.core.counterfactual import Counterfactual
from ragauge.core.model import Model
from ragauge.core.run import Estimate, Manifest, Record
from ragauge.diagnose.causes import CAUSES
from ragauge.diagnose.facts import Facts, read_facts
from ragauge.diagnose.fixes import FIXES, STEPS
from ragauge.diagnose.parts import run_facts
from ragauge.diagnose.rootcause import RowCause, judged, root_cause
from ragauge.stats.intervals import proportion_interval
from ragauge.stats.paired import mcnemar_midp

Key = tuple[str, int]
Tried = Mapping[Key, Mapping[str, Counterfactual]]

#: Causes that mean: the passage is in the index and was not brought back.
LOST = ("not_retrieved", "retrieved_low", "chunk_missing", "multi_hop_part_missing")
#: When the evidence of this share of the questions is in no list at all, it is the search itself and not its settings.
BROKEN = 0.4
#: Fewer questions than this do not show that.
MIN_QUESTIONS = 10


class CauseCount(Model):
    """One cause: rows, their share of all rows with its interval, how many are clear, and which."""

    cause: str
    half: str
    title: str
    meaning: str
    n: int
    n_clear: int
    share: Estimate
    questions: tuple[str, ...]


class Advice(Model):
    """One thing to try: how many failing rows it is the first thing to try for, and the causes behind them."""

    fix: str
    step: str
    do: str
    then: str
    check: str
    n: int
    n_clear: int
    share: Estimate
    causes: dict[str, int]
    because: tuple[str, ...] = ()


class Diagnosis(Model):
    """Why a run's questions fail. Shares are of all rows that could be judged (`n_judged`)."""

    n_rows: int
    n_judged: int
    n_failing: int
    failing: Estimate | None = None
    halves: dict[str, int] = Field(default_factory=dict)
    causes: tuple[CauseCount, ...] = ()
    advice: tuple[Advice, ...] = ()
    first_is_clear: bool | None = None
    lists: dict[str, Estimate] = Field(default_factory=dict)
    conditions: dict[str, int] = Field(default_factory=dict)
    rows: tuple[RowCause, ...] = ()
    notes: tuple[str, ...] = ()


@dataclass
class _Lists:
    """How often each list has a needed passage among its first k, over all questions with labels."""

    n: int = 0
    hits: Counter[str] = field(default_factory=Counter)
    asked: Counter[str] = field(default_factory=Counter)
    n_nowhere: int = 0

    def add(self, facts: Facts) -> None:
        if not facts.parts or facts.sample.item.answerable is False:
            return
        self.n += 1
        names = {step.name.partition(":")[0] for step in facts.sample.response.steps}
        wanted = {name for part in facts.parts for name in part.ids}
        documents = {name for part in facts.parts for name in part.documents}
        found = any(part.rank is not None for part in facts.parts)
        self.asked["retrieved"] += 1
        self.hits["retrieved"] += found
        anywhere = found
        for name in names:
            chunks = (c for s in facts.sample.response.steps if s.name.partition(":")[0] == name for c in s.chunks)
            hits = (place for place, c in enumerate(chunks) if (c.id in wanted if wanted else c.document in documents))
            first = next(hits, None)
            anywhere = anywhere or first is not None
            self.asked[name] += 1
            self.hits[name] += first is not None and first < facts.k
        self.n_nowhere += not anywhere

    def estimates(self) -> dict[str, Estimate]:
        order = ("dense", "bm25", "fused", "rerank", "retrieved")
        names = sorted(self.asked, key=lambda name: (order.index(name) if name in order else -1, name))
        return {name: proportion_interval(self.hits[name], self.asked[name]) for name in names}


def diagnose_rows(manifest: Manifest, records: Callable[[], Iterable[Record]], tried: Tried | None = None) -> Diagnosis:
    """Read the rows twice: for what only all of them show, then for each one's cause."""
    thresholds = Thresholds.model_validate(manifest.thresholds) if manifest.thresholds else Thresholds()
    known = run_facts(records())
    rows: list[RowCause] = []
    lists = _Lists()
    n = n_judged = n_answerable = 0
    repeats: dict[str, dict[str, set[float]]] = {}
    for record in records():
        n += 1
        facts = read_facts(record, known, thresholds, (tried or {}).get(record.key))
        lists.add(facts)
        n_answerable += facts.sample.item.answerable is not False
        if not judged(facts):
            continue
        n_judged += 1
        _note_repeat(repeats, facts)
        found = root_cause(facts)
        if found is not None:
            rows.append(found)
    rows = _settle_repeats(rows, repeats)
    rows, because = _search_itself(rows, lists, n_answerable)
    conditions = Counter(condition for one in (tried or {}).values() for condition in one)
    return _put_together(n, n_judged, rows, lists, because, dict(conditions))


def _note_repeat(repeats: dict[str, dict[str, set[float]]], facts: Facts) -> None:
    value, answer = facts.value("correctness"), facts.sample.response.answer
    if value is not None and answer:
        repeats.setdefault(facts.sample.item.id, {}).setdefault(answer, set()).add(value)


def _settle_repeats(rows: list[RowCause], repeats: Mapping[str, Mapping[str, set[float]]]) -> list[RowCause]:
    """The same answer to the same question, judged right once and wrong once: that is the judge."""
    split = {item for item, answers in repeats.items() if any({0.0, 1.0} <= values for values in answers.values())}
    cause = CAUSES["judge_disagreement"]
    shown = ("the same answer was judged right in one repeat and wrong in another",)
    changed = {"cause": cause.name, "half": cause.half, "fix": cause.fix, "evidence": shown, "certainty": "clear"}
    return [row.model_copy(update=changed) if row.id in split else row for row in rows]


def _search_itself(rows: list[RowCause], lists: _Lists, n: int) -> tuple[list[RowCause], dict[str, list[str]]]:
    """What is lost is looked for with another search; where nearly everything is lost, the embedder comes first."""
    lost = [row for row in rows if row.cause in LOST]
    rates = {name: lists.hits[name] / lists.asked[name] for name in lists.asked if lists.asked[name]}
    n_absent = sum(row.cause == "not_retrieved" for row in lost)
    because: dict[str, list[str]] = {}
    dense, lexical = rates.get("dense"), rates.get("bm25")
    far_behind = dense is not None and lexical is not None and lexical >= 0.4 and dense < 0.5 * lexical
    broken = n >= MIN_QUESTIONS and n_absent >= BROKEN * n
    if lost and n >= MIN_QUESTIONS and (far_behind or broken):
        if far_behind:
            because["change_embedder"] = [f"dense search finds {dense:.0%} of the evidence, BM25 alone {lexical:.0%}"]
        else:
            because["change_embedder"] = [f"the evidence of {n_absent} of {n} questions is in no list at all"]
        names = {(row.id, row.repeat) for row in lost}
        return [_with_fix(row, "change_embedder") if (row.id, row.repeat) in names else row for row in rows], because
    hybrid = dense is not None and lexical is not None
    out = []
    for row in rows:
        if row.cause == "not_retrieved" and row.fix == CAUSES["not_retrieved"].fix and hybrid:
            row = _with_fix(row, "bridge_wording")
        out.append(row)
    return out, because


def _with_fix(row: RowCause, fix: str) -> RowCause:
    return row.model_copy(update={"fix": fix})


def _put_together(
    n: int,
    n_judged: int,
    rows: Sequence[RowCause],
    lists: _Lists,
    because: Mapping[str, Sequence[str]],
    conditions: dict[str, int],
) -> Diagnosis:
    advice = _advice(rows, n_judged, because)
    notes = []
    if n_judged < n:
        notes.append(f"{n - n_judged} of {n} rows could not be judged at all: they are not in these shares")
    if rows and not conditions:
        notes.append("nothing was tried: `--counterfactual` answers again under other conditions, and settles more")
    first = None
    if len(advice) > 1:
        p = mcnemar_midp(advice[0].n, advice[1].n)
        first = p < 0.05
        if not first:
            notes.append(
                f"the first two things to try stand for {advice[0].n} and {advice[1].n} rows: too close to tell apart"
            )
    elif advice:
        first = True
    return Diagnosis(
        n_rows=n,
        n_judged=n_judged,
        n_failing=len(rows),
        failing=proportion_interval(len(rows), n_judged) if n_judged else None,
        halves=dict(sorted(Counter(row.half for row in rows).items(), key=lambda entry: (-entry[1], entry[0]))),
        causes=_causes(rows, n_judged),
        advice=advice,
        first_is_clear=first,
        lists=lists.estimates(),
        conditions=dict(sorted(conditions.items())),
        rows=tuple(rows),
        notes=tuple(notes),
    )


def _causes(rows: Sequence[RowCause], n: int) -> tuple[CauseCount, ...]:
    place = {name: number for number, name in enumerate(CAUSES)}
    groups: dict[str, list[RowCause]] = {}
    for row in rows:
        groups.setdefault(row.cause, []).append(row)
    order = sorted(groups, key=lambda name: (-len(groups[name]), place[name]))
    return tuple(
        CauseCount(
            cause=name,
            half=CAUSES[name].half,
            title=CAUSES[name].title,
            meaning=CAUSES[name].meaning,
            n=len(groups[name]),
            n_clear=sum(row.certainty == "clear" for row in groups[name]),
            share=proportion_interval(len(groups[name]), n),
            questions=tuple(dict.fromkeys(row.id for row in groups[name])),
        )
        for name in order
    )


def _advice(rows: Sequence[RowCause], n: int, because: Mapping[str, Sequence[str]]) -> tuple[Advice, ...]:
    """Ranked by the rows that each is the first thing to try for; then by how many are clear; then upstream first."""
    groups: dict[str, list[RowCause]] = {}
    for row in rows:
        groups.setdefault(row.fix, []).append(row)

    def order(name: str) -> tuple[int, int, int, str]:
        clear = sum(row.certainty == "clear" for row in groups[name])
        return -len(groups[name]), -clear, STEPS.index(FIXES[name].step), name

    found = []
    for name in sorted(groups, key=order):
        fix = FIXES[name]
        found.append(
            Advice(
                fix=name,
                step=fix.step,
                do=fix.do,
                then=fix.then,
                check=fix.check,
                n=len(groups[name]),
                n_clear=sum(row.certainty == "clear" for row in groups[name]),
                share=proportion_interval(len(groups[name]), n),
                causes=dict(Counter(row.cause for row in groups[name]).most_common()),
                because=tuple(because.get(name, ())),
            )
        )
    return tuple(found)
