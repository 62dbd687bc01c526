"""One row of the HTML report as a view model: what is shown, how much of it, and what was left out."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from ragauge.analysis.rowcheck import RowCheck
from ragauge.core.run import Record
from ragauge.core.sample import RetrievedChunk
from ragauge.core.score import Scored, Unscored
from ragauge.core.verdict import Verdict
from ragauge.diagnose.causes import CAUSES
from ragauge.diagnose.rootcause import RowCause
from ragauge.report.html_marks import Kind, Mark, Passage, Segment, find, find_words, kind_of, passage
from ragauge.report.words import duration_ms, number
from ragauge.text.citations import parse_citations, resolve

#: The metrics whose claims colour the answer: the first one that was scored.
CLAIMS = ("faithfulness", "citation_accuracy")
#: The metrics whose quotes are marked in the chunks, the ones that colour first.
QUOTES = ("faithfulness", "citation_accuracy", "context_recall", "context_sufficiency")
_SIGN: dict[Kind, str] = {"yes": "✓", "no": "✗", "unsure": "?", "seen": "", "gold": "★", "": ""}


@dataclass(frozen=True)
class Limits:
    """How much of a row is shown: characters of a chunk, of other texts and of a claim; chunks; verdicts a metric."""

    chunk: int
    text: int
    claim: int
    n_chunks: int
    n_verdicts: int


#: From everything that a reader may want to the least that still says what happened.
LEVELS = (
    Limits(chunk=4000, text=8000, claim=1000, n_chunks=100, n_verdicts=60),
    Limits(chunk=1500, text=4000, claim=500, n_chunks=50, n_verdicts=40),
    Limits(chunk=700, text=2000, claim=300, n_chunks=30, n_verdicts=20),
    Limits(chunk=400, text=1200, claim=200, n_chunks=20, n_verdicts=12),
    Limits(chunk=240, text=800, claim=140, n_chunks=12, n_verdicts=8),
    Limits(chunk=120, text=400, claim=100, n_chunks=8, n_verdicts=5),
    Limits(chunk=40, text=200, claim=60, n_chunks=5, n_verdicts=3),
    Limits(chunk=0, text=80, claim=30, n_chunks=3, n_verdicts=1),
)


@dataclass(frozen=True)
class ChunkView:
    """A retrieved chunk; `gold`: chunk, document or nothing."""

    rank: int
    id: str
    gold: str
    score: str
    text: Passage


@dataclass(frozen=True)
class VerdictView:
    """One verdict: what was asked, the label, where the evidence stands (`rank`), why."""

    note: str
    kind: Kind
    label: str
    claim: str
    rank: int | None
    reason: str


@dataclass(frozen=True)
class JudgedView:
    """A score that has verdicts or a reason."""

    key: str
    value: str
    reason: str
    verdicts: tuple[VerdictView, ...]
    n_left_out: int


@dataclass(frozen=True)
class RowView:
    """Everything that is shown of one row. `number` counts the page's rows from 1; `cut`: something is left out."""

    number: int
    id: str
    outcome: str
    mark: str
    problems: tuple[str, ...]
    tags: tuple[int, ...]
    question: str
    question_text: Passage | None
    answer: Passage | None
    coloured_by: str
    reference: Passage | None
    error: str
    cause: str
    cause_evidence: str
    chunks: tuple[ChunkView, ...] | None
    n_chunks_left_out: int
    plain: tuple[tuple[str, str], ...]
    judged: tuple[JudgedView, ...]
    unscored: tuple[tuple[str, str], ...]
    timing: str
    warnings: tuple[str, ...]
    cut: bool


def row_view(
    record: Record,
    check: RowCheck,
    place: int,
    limits: Limits,
    tags: Mapping[str, int] | None = None,
    cause: RowCause | None = None,
) -> RowView:
    """The row, shortened to `limits`. `tags`: tag → its place in the page's list."""
    sample = record.sample
    item, response = sample.item, sample.response
    by_rank = {chunk.id: chunk.rank for chunk in reversed(response.context.chunks)} if response.context else {}
    scored = {key: score for key, score in record.scores.items() if isinstance(score, Scored)}
    claims = next((key for key in CLAIMS if key in scored and scored[key].verdicts), "")
    answer = passage(response.answer, _answer_marks(record, claims, by_rank, limits), limits.text) if (
        response.answer is not None
    ) else None  # fmt: skip
    chunks = tuple(_chunks(record, scored, limits)) if response.context is not None else None
    question = " ".join(item.question[:400].split())
    shown = question if len(question) <= min(200, limits.text) else question[: min(200, limits.text) - 1] + "…"
    whole = shown == item.question
    judged = tuple(_judged(key, score, by_rank, limits) for key, score in scored.items() if _has_reasons(score))
    question_text = None if whole else passage(item.question, limit=limits.text)
    reference = passage(item.answer, limit=limits.text) if item.answer is not None else None
    n_left = len(response.context or ()) - len(chunks or ())
    passages = [question_text, answer, reference, *(chunk.text for chunk in chunks or ())]
    title = CAUSES[cause.cause].title if cause is not None and cause.cause in CAUSES else ""
    return RowView(
        number=place,
        id=_short(item.id, 80) + (f" (repeat {sample.repeat})" if sample.repeat else ""),
        outcome=check.outcome,
        mark=check.mark,
        problems=tuple(_short(problem, limits.claim + 60) for problem in check.problems[:8]),
        tags=tuple(sorted((tags or {})[tag] for tag in set(item.tags) if tag in (tags or {}))),
        question=shown,
        question_text=question_text,
        answer=answer,
        coloured_by=claims,
        reference=reference,
        error=_short(record.error or "", limits.text),
        cause=f"{title} ({cause.certainty})" if cause is not None and title else "",
        cause_evidence=_short("; ".join(cause.evidence), limits.claim * 2) if cause is not None else "",
        chunks=chunks,
        n_chunks_left_out=n_left,
        plain=tuple((key, number(score.value)) for key, score in scored.items() if not _has_reasons(score)),
        judged=judged,
        unscored=tuple(_unscored(record, limits)),
        timing=_timing(record),
        warnings=tuple(_short(warning, limits.claim + 60) for warning in record.warnings[:5]),
        cut=n_left > 0 or any(p is not None and p.cut for p in passages) or any(one.n_left_out for one in judged),
    )


def _answer_marks(record: Record, claims: str, by_rank: Mapping[str, int], limits: Limits) -> list[Mark]:
    response = record.sample.response
    answer = (response.answer or "")[: limits.text]
    score = record.scores.get(claims)
    verdicts = score.verdicts if isinstance(score, Scored) else ()
    citations = [c for sentence in parse_citations(answer, list(by_rank)) for c in sentence.citations]
    quotes = [(v.claim, kind_of(v.label), _note(v, place)) for place, v in enumerate(verdicts, start=1)]
    marks = find_words(answer, quotes, [(c.start, c.end) for c in citations])
    for citation in citations if response.context is not None else ():
        cited = resolve(citation, response.context) if response.context is not None else None
        if cited is not None and by_rank.get(cited, limits.n_chunks + 1) <= limits.n_chunks:
            marks.append(Mark(citation.start, citation.end, target=by_rank[cited]))
    return marks


def _note(verdict: Verdict, place: int) -> str:
    return f"{_SIGN[kind_of(verdict.label)]}{place}"


def _chunks(record: Record, scored: Mapping[str, Scored], limits: Limits) -> Iterator[ChunkView]:
    context, labels = record.sample.response.context, record.sample.labels
    quotes: dict[str, list[tuple[str | None, Kind, str]]] = {}
    for key in QUOTES:
        if key not in scored:
            continue
        colours = key in CLAIMS
        for place, verdict in enumerate(scored[key].verdicts, start=1):
            if verdict.evidence is not None:
                kind: Kind = (kind_of(verdict.label) or "seen") if colours else "seen"
                note = _note(verdict, place) if key == CLAIMS[0] else ""
                quotes.setdefault(verdict.evidence, []).append((verdict.quote, kind, note))
    gold = [e for group in record.sample.item.evidence or () for e in group.any if e.quote]
    for chunk in (context.chunks if context is not None else ())[: limits.n_chunks]:
        marks = find(chunk.text, quotes.get(chunk.id, ()))
        marks += find(chunk.text, [(e.quote, "gold", "") for e in gold if e.document in (chunk.document, chunk.id)])
        yield ChunkView(
            rank=chunk.rank,
            id=_short(chunk.id, 80),
            gold=_gold(chunk, labels.chunks or {}, labels.documents or {}),
            score="" if chunk.score is None else number(chunk.score),
            text=_with_gold_sign(passage(chunk.text, marks, limits.chunk)),
        )


def _with_gold_sign(text: Passage) -> Passage:
    """Gold passages are told apart by a sign as well as by their colour."""
    segments = tuple(
        Segment(s.text, s.kind, f"{s.note} ★".strip(), s.target) if s.kind == "gold" else s for s in text.segments
    )
    return Passage(segments, text.n_characters, text.n_shown, text.start)


def _gold(chunk: RetrievedChunk, chunks: Mapping[str, int], documents: Mapping[str, int]) -> str:
    if chunks.get(chunk.id, 0) > 0:
        return "chunk"
    return "document" if documents.get(chunk.document or "", 0) > 0 else ""


def _has_reasons(score: Scored) -> bool:
    return bool(score.verdicts) or bool(score.details.get("reason"))


def _judged(key: str, score: Scored, by_rank: Mapping[str, int], limits: Limits) -> JudgedView:
    verdicts = tuple(
        VerdictView(
            note=str(place),
            kind=kind_of(verdict.label),
            label=_short(verdict.label.replace("_", " "), 40),
            claim=_short(verdict.claim, limits.claim),
            rank=by_rank.get(verdict.evidence) if verdict.evidence is not None else None,
            reason=_short(verdict.reason, limits.claim),
        )
        for place, verdict in enumerate(score.verdicts[: limits.n_verdicts], start=1)
    )
    reason = score.details.get("reason")
    return JudgedView(
        key=key,
        value=number(score.value),
        reason=_short(reason, limits.claim * 2) if isinstance(reason, str) else "",
        verdicts=verdicts,
        n_left_out=len(score.verdicts) - len(verdicts),
    )


def _unscored(record: Record, limits: Limits) -> Iterator[tuple[str, str]]:
    """(why, which metrics): metrics that are missing for the same reason stand together."""
    groups: dict[tuple[str, str], list[str]] = {}
    for key, score in record.scores.items():
        if isinstance(score, Unscored):
            detail = _short(score.detail, limits.claim)
            groups.setdefault((score.reason.value.replace("_", " "), detail), []).append(key)
    for (reason, detail), keys in groups.items():
        yield reason + (f" ({detail})" if detail else ""), ", ".join(keys)


def _timing(record: Record) -> str:
    response = record.sample.response
    times = {"retrieval": response.retrieval_ms, "generation": response.generation_ms, "total": response.total_ms}
    return ", ".join(f"{name} {duration_ms(value)}" for name, value in times.items() if value is not None)


def _short(text: str, limit: int) -> str:
    line = " ".join(text[: 4 * limit + 80].split())
    return line if len(line) <= limit and len(text) <= 4 * limit + 80 else line[: max(0, limit - 1)] + "…"
