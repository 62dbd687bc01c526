"""Where the review queue gets its items: what is most worth a person's time, and a random control."""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from ragauge.analysis.label_next import Draw
from ragauge.analysis.units import Units, units_of
from ragauge.core.run import Manifest, Record
from ragauge.core.score import Scored, Unscored
from ragauge.dataset.fingerprint import response_fingerprint
from ragauge.dataset.from_logs import LogQuestion
from ragauge.dataset.from_logs import thumbs_down as thumbs_down_in
from ragauge.errors import UnknownName
from ragauge.review.items import Candidate, ReviewItem, Source
from ragauge.store.rundir import RunDir

#: Of a budget, how much each source gets first; what one cannot use goes to the others, in this order.
SHARES: dict[Source, float] = {
    "random": 0.25, "thumbs_down": 0.20, "disagreement": 0.20, "cluster": 0.20, "uncertain": 0.15,
}  # fmt: skip
_PRIORITY: dict[str, float] = {
    "thumbs_down": 5.0, "disagreement": 4.0, "cluster": 3.0, "uncertain": 2.0, "estimate": 2.5, "random": 1.0,
}  # fmt: skip


def payload_of(record: Record, metric: str, target: str | None = None) -> dict[str, Any]:
    """What a reviewer is shown of a row; the judge's verdict under "verdict"."""
    sample = record.sample
    context = sample.response.context
    chunks = list(context.chunks) if context is not None else []
    score = record.scores.get(metric)
    payload: dict[str, Any] = {
        "question": sample.item.question,
        "answer": sample.response.answer,
        "reference": sample.item.answer,
        "answerable": sample.item.answerable,
        "tags": list(sample.item.tags),
        "contexts": [{"id": c.id, "document": c.document, "rank": c.rank, "text": c.text} for c in chunks],
    }
    if target is not None:
        text = next((c.text for c in chunks if c.id == target), None)
        if isinstance(score, Scored):
            text = next((v.claim for v in score.verdicts if v.id == target and v.claim), text)
        payload["text"] = text
    if isinstance(score, Scored):
        payload["verdict"] = {
            "value": score.value,
            "verdicts": [v.model_dump(mode="json") for v in score.verdicts if target in (None, v.id)],
        }
    elif isinstance(score, Unscored):
        payload["verdict"] = {"unscored": score.reason.value, "detail": score.detail}
    return payload


def drawn_candidates(run: RunDir, draws: Sequence[Draw], *, wanted: int = 1) -> Iterator[Candidate]:
    """The rows of a draw, in its order, as items to label."""
    wanted_keys = {(one.item, one.repeat) for one in draws}
    rows = {record.key: record for record in run.records() if record.key in wanted_keys}
    for one in draws:
        source: Source = "estimate" if one.design.startswith("bands") else "random"
        reason = f"drawn ({one.design}, band {one.band}, probability {one.probability:.3g}) to measure the judge"
        yield _candidate(
            run.manifest, rows[one.item, one.repeat], one.metric, source, reason,
            target=one.target, wanted=wanted, probability=one.probability, band=one.band, design=one.design,
            priority=_PRIORITY[source] - one.place * 1e-4,
        )  # fmt: skip


def sheet_items(candidates: Iterable[Candidate]) -> Iterator[ReviewItem]:
    """Candidates as items of a sheet, without a queue."""
    for candidate in candidates:
        fields = {name: getattr(candidate, name) for name in candidate.__dataclass_fields__}
        yield ReviewItem(id=candidate.id, state="open", n_labels=0, created=0.0, **fields)


def candidates(
    run: RunDir,
    metric: str,
    budget: int,
    *,
    random_draw: Sequence[Draw] = (),
    representatives: Mapping[str, str] | None = None,
    wanted: int = 1,
) -> list[Candidate]:
    """At most `budget` rows of a run to review: by each source its share, then whatever is left.

    `random_draw` is the control (from `calibrating.draw`): it alone may be used for estimates, so it comes whole.
    `representatives`: item id → what its cluster of failures is about.
    """
    units = units_of(run.manifest, run.records(), metric)
    by_source = _interesting(run, units, representatives or {}, wanted)
    chosen: dict[str, Candidate] = {one.id: one for one in drawn_candidates(run, random_draw, wanted=wanted)}
    room = max(0, budget - len(chosen))
    quotas: dict[Source, int] = {name: round(budget * share) for name, share in SHARES.items() if name != "random"}
    for last in (False, True):
        for source, found in by_source.items():
            limit = room if last else min(room, quotas.get(source, 0))
            for one in found:
                if limit <= 0:
                    break
                if one.id not in chosen:
                    chosen[one.id] = one
                    room, limit = room - 1, limit - 1
    return list(chosen.values())


def _interesting(
    run: RunDir, units: Units, representatives: Mapping[str, str], wanted: int
) -> dict[Source, list[Candidate]]:
    found: dict[Source, list[tuple[float, Candidate]]] = {
        "thumbs_down": [], "cluster": [], "disagreement": [], "uncertain": [],
    }  # fmt: skip
    confidence = {unit.key: unit.confidence for unit in units.units}
    for record in run.records():
        key = (record.sample.item.id, record.sample.repeat, None)

        def add(source: Source, order: float, reason: str, record: Record = record, cluster: str | None = None) -> None:
            one = _candidate(
                run.manifest, record, units.metric, source, reason,
                wanted=wanted, priority=_PRIORITY[source], cluster=cluster,
            )  # fmt: skip
            found[source].append((order, one))

        if thumbs_down(record):
            add("thumbs_down", 0.0, "a user gave this answer a thumbs down")
        conflict = disagreement(record)
        if conflict is not None:
            add("disagreement", 0.0, conflict)
        name = representatives.get(record.sample.item.id)
        if name is not None:
            add("cluster", 0.0, f"stands for a group of failures: {name}", cluster=name)
        sure = confidence.get(key)
        if sure is not None and 0.2 < sure < 0.8:
            add("uncertain", abs(sure - 0.5), f"the judge is not sure: {sure:.2f} that the weakest claim is supported")
    return {source: [one for _, one in sorted(each, key=lambda e: (e[0], e[1].item))] for source, each in found.items()}


def thumbs_down(record: Record) -> bool:
    """Whether the row says that a user was not content."""
    sample = record.sample
    return thumbs_down_in(sample.response.metadata) or thumbs_down_in(sample.item.metadata)


def disagreement(record: Record) -> str | None:
    """What contradicts what about this row: members of a jury, or a judge and a free check; None: nothing."""
    for key, score in record.scores.items():
        if not isinstance(score, Scored):
            continue
        for verdict in score.verdicts:
            if len(set(verdict.ballots.values())) > 1:
                said = ", ".join(f"{name}: {label}" for name, label in verdict.ballots.items())
                return f"the judges disagree on {key}: {said[:160]}"
    values = {key.partition("@")[0]: score.value for key, score in record.scores.items() if isinstance(score, Scored)}
    if values.get("correctness") == 1.0 and values.get("keyword_hits") == 0.0:
        return "the judge calls the answer correct, but none of the required keywords is in it"
    if values.get("correctness") == 0.0 and values.get("keyword_hits") == 1.0:
        return "the judge calls the answer wrong, but every required keyword is in it"
    if values.get("faithfulness") == 1.0 and values.get("number_agreement", 1.0) < 1.0:
        return "the judge calls the answer faithful, but a number in it is not in the reference"
    if values.get("faithfulness") == 0.0 and values.get("correctness") == 1.0:
        return "no claim is supported by what was retrieved, yet the answer is called correct"
    return None


def _candidate(
    manifest: Manifest,
    record: Record,
    metric: str,
    source: Source,
    reason: str,
    *,
    target: str | None = None,
    **more: Any,
) -> Candidate:
    return Candidate(
        run=manifest.run,
        item=record.sample.item.id,
        repeat=record.sample.repeat,
        target=target,
        metric=metric,
        source=source,
        reason=reason,
        payload=payload_of(record, metric, target),
        answer=response_fingerprint(record.sample.response),
        judge=manifest.judge.fingerprint if manifest.judge else None,
        **more,
    )


def asked(run: RunDir, metric: str, names: Iterable[str], *, wanted: int = 1) -> Iterator[Candidate]:
    """The rows with these ids, because somebody wants them looked at; `UnknownName` for one that is not there."""
    rows = {record.sample.item.id: record for record in run.records()}
    for name in names:
        if name not in rows:
            raise UnknownName("row in this run", name, rows)
        yield asked_for(run.manifest, rows[name], metric, wanted=wanted)


def asked_for(manifest: Manifest, record: Record, metric: str, *, wanted: int = 1) -> Candidate:
    """One row, because somebody wants it looked at."""
    return _candidate(manifest, record, metric, "asked", "somebody asked for it", wanted=wanted, priority=6.0)


def representatives(run: RunDir, metric: str, *, seed: int = 0, n_most: int = 400) -> dict[str, str]:
    """Item id → what its cluster is about, for the rows that stand for a cluster of failures; largest cluster first.

    Of more than `n_most` failures a seeded draw is clustered. Needs no network: the packaged embedder is used.
    """
    from ragauge.diagnose.clusters import cluster
    from ragauge.embeddings import load

    failing = [unit for unit in units_of(run.manifest, run.records(), metric).units if unit.failing]
    unique = {unit.key[0]: unit for unit in failing}
    names = sorted(unique)
    if len(names) > n_most:
        names = sorted(random.Random(seed).sample(names, n_most))
    if len(names) < 2:
        return {}
    texts = [f"{unique[name].question} {unique[name].text}" for name in names]
    found = cluster(names, texts, load().encode(texts), seed=seed)
    return {one.representatives[0]: f"{one.name} ({one.n})" for one in found.clusters if one.representatives}


def log_candidates(found: Iterable[LogQuestion], log: str) -> Iterator[Candidate]:
    """Questions of a log, to be promoted into the golden set or rejected."""
    for place, one in enumerate(found):
        sample = one.sample
        context = sample.response.context
        yield Candidate(
            run=log,
            item=sample.item.id,
            metric="golden",
            source="log",
            reason=one.reason,
            payload={
                "question": sample.item.question,
                "answer": sample.response.answer,
                "reference": sample.item.answer,
                "tags": list(sample.item.tags),
                "contexts": [
                    {"id": c.id, "document": c.document, "rank": c.rank, "text": c.text} for c in context or ()
                ],
                "golden": {"metadata": {"from_log": log, "why": one.why}},
            },
            answer=response_fingerprint(sample.response),
            priority=3.0 - place * 1e-4,
        )
