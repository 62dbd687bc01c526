"""One row with all that is known of it, as the page shows it: every verdict leads to its words and its evidence."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from ragauge.core.run import Record
from ragauge.core.sample import Response, RetrievedChunk, Usage
from ragauge.core.score import Scored, Unscored
from ragauge.core.verdict import Verdict
from ragauge.report.html_marks import Kind, Mark, Passage, find, find_words, kind_of, passage
from ragauge.report.html_row import CLAIMS, QUOTES
from ragauge.report.words import duration_ms, number
from ragauge.text.citations import parse_citations, resolve

#: Characters of a text that are shown at first; all of them when asked for, up to `WHOLE`.
SHOWN, WHOLE = 6_000, 2_000_000
CHUNK_SHOWN = 3_000
N_CHUNKS, N_VERDICTS = 50, 200
_SIGN: dict[Kind, str] = {"yes": "✓", "no": "✗", "unsure": "?", "seen": "•", "gold": "★", "": "•"}


@dataclass(frozen=True)
class ChunkDetail:
    """A retrieved chunk. `gold`: chunk, document or nothing; `claims`: the verdicts that rest on it."""

    rank: int
    id: str
    document: str
    gold: str
    grade: int | None
    score: str
    metadata: str
    text: Passage
    claims: tuple[str, ...]


@dataclass(frozen=True)
class VerdictDetail:
    """One verdict. `name` is what segments of answer and chunks are tied to it by; `found` says where its words are."""

    name: str
    place: int
    sign: str
    kind: Kind
    label: str
    claim: str
    rank: int | None
    evidence: str
    quote: str
    quote_found: bool
    in_answer: bool
    reason: str
    probability: str
    ballots: tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class ScoreDetail:
    """One metric of the row."""

    key: str
    value: str
    count: int
    why: str
    kind: str
    detail: str
    raw: str
    raw_cut: bool
    reason: str
    parts: tuple[tuple[str, str], ...]
    verdicts: tuple[VerdictDetail, ...]
    n_left_out: int
    used: str


@dataclass(frozen=True)
class RowDetail:
    """The whole row. `coloured_by`: the metric whose claims colour the answer. `cut`: something is shortened."""

    id: str
    repeat: int
    question: Passage
    history: tuple[tuple[str, Passage], ...]
    answer: Passage | None
    abstained: bool | None
    reference: Passage | None
    coloured_by: str
    can_colour: tuple[str, ...]
    chunks: tuple[ChunkDetail, ...] | None
    n_chunks_left_out: int
    scores: tuple[ScoreDetail, ...]
    missing: tuple[ScoreDetail, ...]
    facts: tuple[tuple[str, str], ...]
    missed: tuple[str, ...]
    tags: tuple[str, ...]
    warnings: tuple[str, ...]
    error: str
    cut: bool


def row_detail(record: Record, coloured_by: str = "", *, whole: bool = False) -> RowDetail:
    """The row; `coloured_by`: a metric with verdicts (default: faithfulness, else the first one); `whole`: uncut."""
    sample = record.sample
    item, response = sample.item, sample.response
    scored = {key: score for key, score in record.scores.items() if isinstance(score, Scored) and score.verdicts}
    colour = coloured_by if coloured_by in scored else next((key for key in CLAIMS if key in scored), "")
    limit, chunk_limit = (WHOLE, WHOLE) if whole else (SHOWN, CHUNK_SHOWN)
    names = {key: f"m{place}" for place, key in enumerate(record.scores)}
    ranks = {chunk.id: chunk.rank for chunk in reversed(response.context.chunks)} if response.context else {}
    marks = _answer_marks(response, scored, colour, names, ranks, limit)
    answer = passage(response.answer, marks, limit) if response.answer is not None else None
    in_answer = {mark.claim for mark in marks if mark.claim}
    n_chunks = len(ranks) if whole else N_CHUNKS
    chunks = tuple(_chunks(record, scored, colour, names, chunk_limit, n_chunks)) if response.context else None
    if response.context is not None and chunks is None:
        chunks = ()
    all_scores = [
        _score(record, key, score, names[key], ranks, in_answer, whole=whole) for key, score in record.scores.items()
    ]
    question, reference = passage(item.question, (), limit), None
    if item.answer is not None:
        reference = passage(item.answer, (), limit)
    n_left = len(response.context or ()) - len(chunks or ())
    texts = [question, answer, reference, *(chunk.text for chunk in chunks or ())]
    return RowDetail(
        id=item.id,
        repeat=sample.repeat,
        question=question,
        history=tuple((turn.role[:40], passage(turn.content, (), limit)) for turn in item.history[-20:]),
        answer=answer,
        abstained=response.abstained,
        reference=reference,
        coloured_by=colour,
        can_colour=tuple(scored),
        chunks=chunks,
        n_chunks_left_out=n_left,
        scores=tuple(score for score in all_scores if not score.why),
        missing=tuple(score for score in all_scores if score.why),
        facts=tuple(_facts(record)),
        missed=_missed(record),
        tags=item.tags[:50],
        warnings=tuple(_short(warning, 600) for warning in record.warnings[:20]),
        error=_short(record.error or "", 4_000),
        cut=n_left > 0 or any(one is not None and one.cut for one in texts) or any(s.n_left_out for s in all_scores),
    )


def _answer_marks(
    response: Response,
    scored: Mapping[str, Scored],
    colour: str,
    names: Mapping[str, str],
    ranks: Mapping[str, int],
    limit: int,
) -> list[Mark]:
    """Claims of the colouring metric first, so that they colour; those of the others only tie words to verdicts."""
    answer = (response.answer or "")[:limit]
    if len(answer) > 200_000:
        return []
    citations = [c for sentence in parse_citations(answer, list(ranks)) for c in sentence.citations]
    skip = [(c.start, c.end) for c in citations]
    marks: list[Mark] = []
    for key in sorted(scored, key=lambda key: key != colour):
        for place, verdict in enumerate(scored[key].verdicts[:N_VERDICTS], start=1):
            kind: Kind = kind_of(verdict.label) if key == colour else ""
            note = f"{_SIGN[kind]}{place}" if key == colour else ""
            own = find_words(answer, [(verdict.claim, kind, note)], skip) if verdict.claim else []
            marks += [Mark(one.start, one.end, one.kind, one.note, claim=f"{names[key]}v{place}") for one in own]
    for citation in citations if response.context is not None else ():
        cited = resolve(citation, response.context) if response.context is not None else None
        if cited is not None and cited in ranks:
            marks.append(Mark(citation.start, citation.end, target=ranks[cited]))
    return marks


def _chunks(
    record: Record, scored: Mapping[str, Scored], colour: str, names: Mapping[str, str], limit: int, n: int
) -> Iterator[ChunkDetail]:
    context, labels = record.sample.response.context, record.sample.labels
    rests: dict[str, list[tuple[str, str | None, Kind, str]]] = {}
    for key in sorted(scored, key=lambda key: (key != colour, key not in QUOTES)):
        for place, verdict in enumerate(scored[key].verdicts[:N_VERDICTS], start=1):
            if verdict.evidence is not None:
                kind: Kind = (kind_of(verdict.label) or "seen") if key == colour else "seen"
                note = f"{_SIGN[kind]}{place}" if key == colour else ""
                rests.setdefault(verdict.evidence, []).append((f"{names[key]}v{place}", verdict.quote, kind, note))
    gold = [e for group in record.sample.item.evidence or () for e in group.any if e.quote]
    for chunk in (context.chunks if context is not None else ())[:n]:
        marks = [
            Mark(mark.start, mark.end, mark.kind, mark.note, claim=name)
            for name, quote, kind, note in rests.get(chunk.id, ())
            for mark in find(chunk.text, [(quote, kind, note)])
        ]
        marks += find(chunk.text, [(e.quote, "gold", "★") for e in gold if e.document in (chunk.document, chunk.id)])
        grades = labels.chunks or {}
        yield ChunkDetail(
            rank=chunk.rank,
            id=_short(chunk.id, 200),
            document=_short(chunk.document or "", 200) if chunk.document != chunk.id else "",
            gold=_gold(chunk, grades, labels.documents or {}),
            grade=grades.get(chunk.id),
            score="" if chunk.score is None else number(chunk.score),
            metadata=", ".join(
                f"{_short(str(k), 40)} {_short(str(v), 80)}" for k, v in list(chunk.metadata.items())[:8]
            ),
            text=passage(chunk.text, marks, limit),
            claims=tuple(dict.fromkeys(name for name, _, _, _ in rests.get(chunk.id, ()))),
        )


def _gold(chunk: RetrievedChunk, chunks: Mapping[str, int], documents: Mapping[str, int]) -> str:
    if chunks.get(chunk.id, 0) > 0:
        return "chunk"
    return "document" if documents.get(chunk.document or "", 0) > 0 else ""


def _missed(record: Record) -> tuple[str, ...]:
    """Gold chunks that were not retrieved."""
    context, grades = record.sample.response.context, record.sample.labels.chunks
    if context is None or not grades:
        return ()
    there = {chunk.id for chunk in context}
    return tuple(_short(name, 200) for name, grade in grades.items() if grade > 0 and name not in there)[:20]


def _score(
    record: Record,
    key: str,
    score: Scored | Unscored,
    name: str,
    ranks: Mapping[str, int],
    in_answer: set[str],
    *,
    whole: bool,
) -> ScoreDetail:
    used = record.used.get(key)
    spent = _spent(used.usage, used.latency_ms) if used is not None else ""
    if isinstance(score, Unscored):
        raw, limit = score.raw or "", WHOLE if whole else SHOWN
        why = score.reason.value.replace("_", " ")
        return ScoreDetail(
            key, "—", 0, why, score.kind.value.replace("_", " "), _short(score.detail, 2_000), raw[:limit],
            len(raw) > limit, "", (), (), 0, spent,
        )  # fmt: skip
    n = len(score.verdicts) if whole else N_VERDICTS
    verdicts = tuple(
        _verdict(record, verdict, f"{name}v{place}", place, ranks, in_answer)
        for place, verdict in enumerate(score.verdicts[:n], start=1)
    )
    reason = score.details.get("reason")
    reply = score.details.get("raw")
    parts = [(k, number(v)) for k, v in score.details.items() if isinstance(v, float | int) and not isinstance(v, bool)]
    return ScoreDetail(
        key=key,
        value=number(score.value),
        count=score.count,
        why="",
        kind="",
        detail="",
        raw=str(reply)[:SHOWN] if reply is not None else "",
        raw_cut=reply is not None and len(str(reply)) > SHOWN,
        reason=_short(reason, 2_000) if isinstance(reason, str) else "",
        parts=tuple(parts[:12]),
        verdicts=verdicts,
        n_left_out=len(score.verdicts) - len(verdicts),
        used=spent,
    )


def _verdict(
    record: Record, verdict: Verdict, name: str, place: int, ranks: Mapping[str, int], in_answer: set[str]
) -> VerdictDetail:
    kind = kind_of(verdict.label)
    context = record.sample.response.context
    text = next((c.text for c in context or () if c.id == verdict.evidence), "") if verdict.evidence else ""
    return VerdictDetail(
        name=name,
        place=place,
        sign=_SIGN[kind],
        kind=kind,
        label=_short(verdict.label.replace("_", " "), 40),
        claim=_short(verdict.claim or verdict.id, 1_000),
        rank=ranks.get(verdict.evidence) if verdict.evidence is not None else None,
        evidence=_short(verdict.evidence or "", 200),
        quote=_short(verdict.quote or "", 600),
        quote_found=bool(verdict.quote) and (verdict.quote or "") in text,
        in_answer=name in in_answer,
        reason=_short(verdict.reason, 2_000),
        probability="" if verdict.probability is None else f"{verdict.probability:.2f}",
        ballots=tuple((_short(k, 60), _short(v.replace("_", " "), 40)) for k, v in list(verdict.ballots.items())[:20]),
    )


def _spent(usage: Usage, latency: float) -> str:
    if not (usage.calls or usage.cached_calls):
        return ""
    price = "" if usage.cost_usd is None else f", ${usage.cost_usd:.5f}"
    return (
        f"{usage.calls} calls (+{usage.cached_calls} cached), {usage.tokens_in} + {usage.tokens_out} tokens{price}, "
        f"{duration_ms(latency)}"
    )


def _facts(record: Record) -> Iterator[tuple[str, str]]:
    item, response = record.sample.item, record.sample.response
    if item.answerable is not None:
        yield "Answerable", "yes" if item.answerable else "no"
    if item.keywords:
        yield "Keywords", _short(", ".join(item.keywords), 400)
    yield "Golden item", "verified by a person" if item.verified else "not verified"
    if response.model:
        yield "Model", _short(response.model, 100)
    times = {"retrieval": response.retrieval_ms, "generation": response.generation_ms, "total": response.total_ms}
    shown = ", ".join(f"{name} {duration_ms(value)}" for name, value in times.items() if value is not None)
    if shown:
        yield "Time", shown
    spent = _spent(response.usage, response.total_ms or 0.0)
    if spent:
        yield "System used", spent
    judged = Usage()
    for used in record.used.values():
        judged = judged + used.usage
    if judged.calls or judged.cached_calls:
        yield "Judging used", _spent(judged, sum(used.latency_ms for used in record.used.values()))
    for step in response.steps[:12]:
        query = f": {_short(step.query, 200)}" if step.query else ""
        yield f"Step {_short(step.name, 40)}", f"{len(step.chunks)} chunks{query}"
    for note in record.sample.labels.notes[:5]:
        yield "Labels", _short(note, 300)


def _short(text: str, limit: int) -> str:
    line = " ".join(text[: 4 * limit + 80].split())
    return line if len(line) <= limit and len(text) <= 4 * limit + 80 else line[: max(0, limit - 1)] + "…"
