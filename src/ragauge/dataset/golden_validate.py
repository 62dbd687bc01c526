"""Is a golden set fit to measure with? Every fault with its line and what to do, and what the set can tell at all."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from ragauge.core.sample import GoldenItem
from ragauge.dataset.aliases import field_of, normal_name
from ragauge.dataset.complaints import Complaint, GoldenReport, Leakage, Power, Severity
from ragauge.dataset.duplicates import Encode, duplicates
from ragauge.dataset.evidence import CorpusIndex, resolve_labels
from ragauge.dataset.golden import GoldenSet
from ragauge.dataset.golden_checks import TAGS, item_faults
from ragauge.dataset.mapping import Mapper
from ragauge.dataset.problems import Problems, Warnings
from ragauge.dataset.records import RecordReader
from ragauge.dataset.sources import Source, open_source
from ragauge.dataset.validate import label_problems
from ragauge.errors import InputError
from ragauge.stats.power import plan
from ragauge.text.tokens import content_words, stem, stopwords, words

#: The advised share of unanswerable questions, and how far off is still no complaint.
UNANSWERABLE = (0.10, 0.15)
_SLACK = 0.05
#: Below this many questions nothing but a landslide can be seen.
FEW_ITEMS = 30
#: A question shares a run of this many words with its gold passage, some of them carrying meaning: it was copied.
COPIED_RUN, COPIED_CONTENT = 7, 4
#: Mean share of the questions' words in their gold passages above which the set is easier than real questions.
LEAKY = 0.75


class _All(Problems):
    """Problems without an end: a validation lists everything."""

    def add(self, problem: InputError) -> None:
        self.found.append(problem)


@dataclass
class _Read:
    """What could be read of a set, and where it stands."""

    items: list[GoldenItem] = field(default_factory=list)
    lines: dict[str, int | None] = field(default_factory=dict)
    field_lines: dict[str, dict[str, int]] = field(default_factory=dict)
    problems: list[InputError] = field(default_factory=list)
    notes: tuple[str, ...] = ()


def validate_golden(
    data: str | os.PathLike[str] | Any,
    corpus: CorpusIndex | None = None,
    *,
    field_map: Mapping[str, str] | None = None,
    encode: Encode | None = None,
) -> GoldenReport:
    """Check a golden set: everything that `load_golden` refuses, and what it lets pass and should not be there.

    `corpus`: labels and quotes are looked up in it, and vocabulary leakage is measured against its chunks. `encode`:
    questions that say the same in other words are found. Never raises for what is in the file.
    """
    source = open_source(data)
    read = _read(source, field_map)
    where = _Where(None if source.path is None else str(source.path), read)
    complaints = [_of_error(problem, where) for problem in read.problems]
    complaints += _items(read, where)
    complaints += _duplicates(read, where, encode)
    golden = GoldenSet(source.name, source.path, tuple(read.items), read.notes, read.lines)
    if corpus is not None:
        complaints += [
            _of_error(problem, where, item.id)
            for item in read.items
            for problem in label_problems(item, corpus, golden)
        ]
    leakage, copied = _leakage(read, corpus)
    complaints += [_copied(where, name, run) for name, run in copied]
    complaints += _whole(read, where, leakage)
    order = {"error": 0, "warning": 1, "note": 2}
    return GoldenReport(
        name=source.name,
        file=where.file,
        n_items=len(read.items),
        n_verified=sum(item.verified for item in read.items),
        n_unanswerable=sum(item.answerable is False for item in read.items),
        tags=dict(sorted(Counter(tag for item in read.items for tag in item.tags).items())),
        leakage=leakage,
        power=_power(len(read.items)),
        complaints=tuple(sorted(complaints, key=lambda one: (order[one.severity], one.line or 0, one.kind))),
        notes=read.notes,
    )


def _read(source: Source, field_map: Mapping[str, str] | None) -> _Read:
    read = _Read()
    warnings = Warnings()
    problems = _All(source.where)
    reader = RecordReader("golden", problems, warnings, Mapper("golden", field_map, warnings))
    try:
        for row in source.read():
            if isinstance(row, InputError):
                problems.add(row)
                continue
            sample = reader.read(row)
            if sample is not None:
                read.items.append(sample.item)
                read.lines[sample.item.id] = row.line
                places = ((field_of(normal_name(name)), line) for name, line in row.lines.items())
                read.field_lines[sample.item.id] = {place[0]: line for place, line in places if place is not None}
    except InputError as problem:
        problems.add(problem)
    read.problems = [one for problem in problems.found for one in (problem.problems or (problem,))]
    read.notes = warnings.messages()
    return read


@dataclass(frozen=True)
class _Where:
    file: str | None
    read: _Read

    def line(self, item: str, name: str | None) -> int | None:
        """Where a field of an item stands, or else the item."""
        known = self.read.field_lines.get(item, {})
        for spelling in (name, {"answer": "reference"}.get(name or "")):
            if spelling in known:
                return known[spelling]
        return self.read.lines.get(item)

    def complaint(
        self, kind: str, severity: Severity, item: str, name: str | None, message: str, fix: str
    ) -> Complaint:
        return Complaint(
            kind=kind,
            severity=severity,
            message=f"item {item!r}: {message}",
            fix=fix,
            item=item,
            file=self.file,
            line=self.line(item, name),
            field=name,
        )


def _of_error(problem: InputError, where: _Where, item: str | None = None) -> Complaint:
    """An input error as a complaint."""
    text = problem.problem
    kinds = (
        ("stands twice", "duplicate_id"), ("is not there", "label_not_in_corpus"), ("evidence", "evidence_not_found"),
        ("question", "no_question"), ("not readable", "unreadable"), ("white space", "unreadable"),
    )  # fmt: skip
    kind = next((kind for words_, kind in kinds if words_ in text), "bad_value")
    found = f" (found {problem.found!r})" if problem.found is not None else ""
    fix = " ".join(
        part for part in (f"Accepted: {problem.accepted}." if problem.accepted else "", problem.hint) if part
    )
    line = problem.line
    if item is not None:
        line = where.line(item, problem.field) or line
    return Complaint(
        kind=kind,
        severity="error",
        message=f"{text}{found}"[:600],
        fix=fix or "Correct it, or take it out.",
        item=item,
        file=problem.file or where.file,
        line=line,
        field=problem.field,
    )


def _items(read: _Read, where: _Where) -> Iterator[Complaint]:
    seen: dict[str, str] = {}
    for item in read.items:
        for kind, severity, name, message, fix in item_faults(item):
            yield where.complaint(kind, severity, item.id, name, message, fix)
        plain = "".join(c for c in item.id.casefold() if c.isalnum()) or item.id
        if plain in seen:
            yield where.complaint(
                "confusable_id", "warning", item.id, "id", f"its id differs from {seen[plain]!r} only in spelling",
                "Give one of them another id: they will be mixed up.",
            )  # fmt: skip
        seen.setdefault(plain, item.id)


def _duplicates(read: _Read, where: _Where, encode: Encode | None) -> Iterator[Complaint]:
    questions = [_with_history(item) for item in read.items]
    said = {
        "exact": ("duplicate_question", "error", "asks the same question as"),
        "near": ("near_duplicate_question", "warning", "asks nearly the same question as"),
        "meaning": ("near_duplicate_question", "warning", "asks the same in other words as"),
    }
    for index, earlier, how in duplicates(questions, encode):
        kind, severity, words_ = said[how]
        other = read.items[earlier].id
        yield where.complaint(
            kind, "error" if severity == "error" else "warning", read.items[index].id, "question",
            f"{words_} {other!r} (line {read.lines.get(other)})",
            "Keep one of the two: asked twice, it counts twice. If they differ, say in what in the question.",
        )  # fmt: skip


def _with_history(item: GoldenItem) -> str:
    return " ".join([*(turn.content for turn in item.history), item.question])


def _gold_text(item: GoldenItem, corpus: CorpusIndex | None) -> str:
    quotes = [part.quote for group in item.evidence or () for part in group.any if part.quote]
    if quotes or corpus is None:
        return "\n".join(quotes)
    labels = resolve_labels(item, corpus)
    names = [name for name, grade in (labels.chunks or {}).items() if grade > 0]
    return "\n".join(corpus.by_id[name].text for name in names if name in corpus.by_id)


def _leakage(read: _Read, corpus: CorpusIndex | None) -> tuple[Leakage, list[tuple[str, str]]]:
    """Of every question with gold text: the share of its words that stand there, and runs that were copied."""
    shares: list[float] = []
    copied: list[tuple[str, str]] = []
    for item in read.items:
        gold = _gold_text(item, corpus) if item.answerable is not False else ""
        if not gold:
            continue
        asked = {stem(word) for word in content_words(item.question)}
        if not asked:
            continue
        shares.append(len(asked & {stem(word) for word in words(gold)}) / len(asked))
        run = _longest_run(words(item.question), words(gold))
        if run is not None:
            copied.append((item.id, " ".join(run)))
    mean = sum(shares) / len(shares) if shares else None
    return Leakage(n=len(shares), share=mean, n_copied=len(copied)), copied


def _longest_run(asked: list[str], gold: list[str]) -> list[str] | None:
    """The first run of `COPIED_RUN` words or more that both have, with enough words that carry meaning."""
    grams = {tuple(gold[place : place + COPIED_RUN]) for place in range(len(gold) - COPIED_RUN + 1)}
    stop = stopwords("en")
    for place in range(len(asked) - COPIED_RUN + 1):
        run = asked[place : place + COPIED_RUN]
        if tuple(run) in grams and sum(word not in stop for word in run) >= COPIED_CONTENT:
            return run
    return None


def copied_run(question: str, passage: str) -> str | None:
    """The long run of words that a question has copied from a passage, if there is one.

    >>> copied_run("Why does the agent refuse messages when the disk reserve is reached?", "a port")
    """
    run = _longest_run(words(question), words(passage))
    return None if run is None else " ".join(run)


def _copied(where: _Where, item: str, run: str) -> Complaint:
    return where.complaint(
        "copied_wording", "warning", item, "question", f"the question copies its gold passage: “{run} …”",
        "Ask in the words of somebody who has not read the passage: copied wording makes retrieval look better.",
    )  # fmt: skip


def _power(n: int) -> Power | None:
    if n < 2:
        return None
    found = plan(n)
    return Power(
        n=n,
        smallest_rate=found.smallest_rate,
        smallest_graded=found.smallest_graded,
        half_width_90=found.half_width_90,
    )


def _whole(read: _Read, where: _Where, leakage: Leakage) -> Iterator[Complaint]:
    """What is wrong with the set as a whole; the line is that of its first item."""
    items = read.items
    n = len(items)
    first = next(iter(read.lines.values()), 1)

    def say(kind: str, severity: Severity, message: str, fix: str) -> Complaint:
        return Complaint(kind=kind, severity=severity, message=message, fix=fix, file=where.file, line=first)

    if not n:
        yield say("no_items", "error", "there is no usable item in the set", "Write some: see `ragauge init`.")
        return
    if n < FEW_ITEMS:
        yield say(
            "too_few_items", "warning", f"{n} questions: too few to tell two systems apart unless one is much worse",
            f"Aim for 100 or more; `ragauge golden generate` and `golden from-logs` propose some. Now: {_detects(n)}.",
        )  # fmt: skip
    share = sum(item.answerable is False for item in items) / n
    if n >= FEW_ITEMS and not UNANSWERABLE[0] - _SLACK <= share <= UNANSWERABLE[1] + _SLACK:
        few = share < UNANSWERABLE[0]
        yield say(
            "unanswerable_share", "warning", f"{share:.0%} of the questions are unanswerable; 10 to 15 % are advised",
            "Add questions that the corpus cannot answer: without them nobody sees whether the system makes things up."
            if few
            else "Add answerable questions: users mostly ask those.",
        )  # fmt: skip
    missing = [tag for tag in TAGS if not any(tag in item.tags for item in items)]
    if n >= FEW_ITEMS and missing:
        severity: Severity = "warning" if len(missing) == len(TAGS) else "note"
        yield say(
            "missing_tags", severity, f"no question is tagged {', '.join(missing)}",
            "Tag the questions that are of this kind, or add some: slices by tag show where a system fails.",
        )  # fmt: skip
    unverified = sum(not item.verified for item in items)
    if unverified:
        yield say(
            "unverified_items", "warning" if unverified > n / 2 else "note",
            f"{unverified} of {n} items are not verified by a person",
            "Have them checked (`ragauge review`, then `golden promote`) and set `verified: true`.",
        )  # fmt: skip
    if leakage.share is not None and leakage.n >= 10 and leakage.share > LEAKY:
        yield say(
            "vocabulary_leakage", "warning",
            f"{leakage.share:.0%} of the words of the questions stand in their gold passages",
            "Reword questions as users ask them: otherwise word search looks better here than it is.",
        )  # fmt: skip


def _detects(n: int) -> str:
    found = _power(n)
    if found is None or found.smallest_rate is None:
        return "not even the largest possible difference is found with 80 % power"
    return f"a difference of {100 * found.smallest_rate:.0f} points is the smallest that is found with 80 % power"
