"""Rows as MLflow traces: what was asked, retrieved and answered, every score as an assessment, errors as errors.

Assessments are logged inside the trace before it is written, which is one write for each row; one by one afterwards
they take a tenth of a second each.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from ragauge.core.metric import MetricSpec, Need
from ragauge.core.run import Manifest, Record
from ragauge.core.sample import Response
from ragauge.core.score import Kind, Scored, Unscored
from ragauge.outlets.mlflow_session import Session

#: Above this many rows, `auto` logs only failing ones, and at most as many.
AUTO = 200
#: MLflow throws traces away when its queue is full: it is emptied after this many.
BATCH = 100
#: Characters of one text, of the reasons, of the claims as JSON.
TEXT, RATIONALE, CLAIMS = 50_000, 1500, 8000
ROW, ROW_SHA = "ragauge.row", "ragauge.row_sha256"
_MS = 1_000_000
Key = tuple[str, int]


@dataclass(frozen=True)
class Target:
    """Where traces belong: the MLflow run and the logged model, the manifest of the run."""

    run: str
    model: str | None
    manifest: Manifest


def wanted(rule: str, outcomes: Mapping[Key, str]) -> set[Key]:
    """The (id, repeat) of the rows that become traces. `outcomes`: every row's key → good, bad or unknown.

    `sample:N` takes the rows whose hashes are smallest: the same questions in every run, so that runs can be compared.
    """
    if rule == "none":
        return set()
    if rule == "all" or (rule == "auto" and len(outcomes) <= AUTO):
        return set(outcomes)
    if rule.startswith("sample:"):
        return set(sorted(outcomes, key=_mark)[: int(rule.partition(":")[2])])
    failing = [key for key, outcome in outcomes.items() if outcome != "good"]
    return set(failing if rule == "failures" else failing[:AUTO])


def log_traces(
    session: Session, target: Target, rows: Iterator[tuple[Record, str]], progress: Callable[[int], None] | None = None
) -> int:
    """Write rows (with outcome) as traces, except those that are there; a row that has changed replaces its old trace.

    Returns how many the run has afterwards, as MLflow says.
    """
    there = _there(session, target.run)
    n_done = 0
    for record, outcome in rows:
        name, mark = row_name(record), row_sha256(record)
        old = there.get(name)
        if old is not None and old[1] == mark:
            continue
        if old is not None:
            session.client.delete_traces(experiment_id=session.experiment, trace_ids=[old[0]])
        _trace(session, target, record, outcome, {ROW: name, ROW_SHA: mark})
        n_done += 1
        if n_done % BATCH == 0:
            session.mlflow.flush_trace_async_logging()
            if progress is not None:
                progress(n_done)
    if n_done:
        session.mlflow.flush_trace_async_logging()
    return len(_there(session, target.run))


def row_name(record: Record) -> str:
    """`q1` or `q1 (2)`: the item and which repeat, as a tag can hold it."""
    item, repeat = record.key
    if len(item) > 200:  # a tag holds no more, and two long ids may begin alike
        item = f"{item[:180]}… {hashlib.sha256(item.encode('utf-8', 'surrogatepass')).hexdigest()[:12]}"
    return item + (f" ({repeat + 1})" if repeat else "")


def row_sha256(record: Record) -> str:
    """What the row is now."""
    return hashlib.sha256(record.model_dump_json(exclude_none=True).encode("utf-8", "surrogatepass")).hexdigest()[:32]


def _there(session: Session, run: str) -> dict[str, tuple[str, str]]:
    """Row → (trace id, what the row was) of the run's traces."""
    found: dict[str, tuple[str, str]] = {}
    token = None
    while True:
        page = session.client.search_traces(
            locations=[session.experiment],
            filter_string=f"metadata.`mlflow.sourceRun` = '{run}'",
            max_results=500,
            page_token=token,
            include_spans=False,
        )
        for trace in page:
            tags = trace.info.tags
            if ROW in tags:
                found[tags[ROW]] = (trace.info.trace_id, tags.get(ROW_SHA, ""))
        token = page.token
        if not token:
            return found


def _trace(session: Session, target: Target, record: Record, outcome: str, tags: dict[str, str]) -> None:
    from mlflow.tracing.provider import safe_set_span_in_context

    mlflow, sample = session.mlflow, record.sample
    item, response = sample.item, sample.response
    start = int(datetime.fromisoformat(target.manifest.created).timestamp() * 1000 + record.index) * _MS
    metadata = {"mlflow.sourceRun": target.run}
    if target.model is not None:
        metadata["mlflow.modelId"] = target.model
    asked: dict[str, Any] = {"question": _cut(item.question)}
    if item.history:
        asked["history"] = [turn.model_dump() for turn in item.history]
    marks = {**tags, "mlflow.eval.requestId": item.id[:200], "ragauge.outcome": outcome}
    if item.tags:
        marks["slice"] = ", ".join(item.tags)[:500]
    root = mlflow.start_span_no_context(
        "rag",
        span_type="CHAIN",
        inputs=asked,
        metadata=metadata,
        experiment_id=session.experiment,
        start_time_ns=start,
        tags=marks,
    )
    with safe_set_span_in_context(root):
        end = _spans(mlflow, root, response, item.question, start)
        missing = {key: s.reason.value for key, s in record.scores.items() if isinstance(s, Unscored)}
        if missing:
            root.set_attribute("ragauge.unscored", missing)
        if record.error:
            root.set_attribute("ragauge.error", record.error)
        answer = response.answer or ""
        mlflow.update_current_trace(request_preview=item.question[:1000], response_preview=answer[:1000])
        _assess(mlflow, root.trace_id, target, record)
        root.set_outputs(_cut(answer) if response.answer is not None else None)
    root.end(end_time_ns=end, status="ERROR" if record.error else "OK")


def _spans(mlflow: Any, root: Any, response: Response, question: str, start: int) -> int:
    """Retrieval and generation as they took their time; where that ends."""
    at = start
    for step in response.steps:
        ends = at + _ns(step.latency_ms)
        asked = {"query": step.query or question}
        _span(mlflow, root, step.name or "step", "RETRIEVER", asked, (at, ends), _documents(step.chunks))
        at = ends
    if response.context is not None:
        ends = max(at, start + _ns(response.retrieval_ms))
        gave = _documents(response.context.chunks)
        _span(mlflow, root, "retrieve", "RETRIEVER", {"query": question}, (start, ends), gave)
        at = ends
    if response.answer is not None and (response.generation_ms is not None or response.usage.calls):
        ends = at + _ns(response.generation_ms)
        kind = "CHAT_MODEL" if response.usage.calls else "UNKNOWN"
        n_in, n_out = response.usage.tokens_in, response.usage.tokens_out
        tokens = {"input_tokens": n_in, "output_tokens": n_out, "total_tokens": n_in + n_out}
        used = {"mlflow.chat.tokenUsage": tokens} if n_in or n_out else {}
        _span(mlflow, root, "generate", kind, {"question": _cut(question)}, (at, ends), _cut(response.answer), used)
        at = ends
    return max(at, start + _ns(response.total_ms))


def _span(
    mlflow: Any, root: Any, name: str, kind: str, asked: Any, times: tuple[int, int], gave: Any,
    attributes: Mapping[str, Any] | None = None,
) -> None:  # fmt: skip
    span = mlflow.start_span_no_context(name, span_type=kind, parent_span=root, inputs=asked, start_time_ns=times[0])
    span.set_outputs(gave)
    for key, value in (attributes or {}).items():
        span.set_attribute(key, value)
    span.end(end_time_ns=times[1])


def _documents(chunks: Any) -> list[Any]:
    from mlflow.entities import Document

    return [
        Document(
            page_content=_cut(chunk.text),
            id=chunk.id,
            metadata={"doc_uri": chunk.document or chunk.id, "chunk_id": chunk.id, "score": chunk.score},
        )
        for chunk in chunks
    ]


def _assess(mlflow: Any, trace: str, target: Target, record: Record) -> None:
    from mlflow.entities import AssessmentError, AssessmentSource

    specs = {spec.key: spec for spec in target.manifest.metrics}
    for key, score in record.scores.items():
        if isinstance(score, Unscored) and score.kind is not Kind.ERROR:
            continue  # nothing was to be measured: the trace says so in an attribute, it is no error
        kind, who = _source(specs.get(key), target.manifest)
        metadata = {"mlflow.assessment.sourceRunId": target.run}
        used = record.used.get(key)
        if used is not None and used.usage.cost_usd is not None:
            metadata["mlflow.assessment.judgeCost"] = str(used.usage.cost_usd)
        common = {"trace_id": trace, "name": key, "source": AssessmentSource(source_type=kind, source_id=who)}
        if isinstance(score, Scored):
            if score.verdicts:
                metadata["claims"] = _claims(score)
            mlflow.log_feedback(**common, value=score.value, rationale=_rationale(score), metadata=metadata)
        else:
            error = AssessmentError(error_code=score.reason.value.upper(), error_message=score.detail or score.reason)
            mlflow.log_feedback(**common, error=error, metadata=metadata)
    _expect(mlflow, trace, record)


def _expect(mlflow: Any, trace: str, record: Record) -> None:
    from mlflow.entities import AssessmentSource

    item = record.sample.item
    source = AssessmentSource(source_type="HUMAN" if item.verified else "CODE", source_id="golden set")
    expected: dict[str, Any] = {"expected_response": item.answer, "expected_facts": list(item.claims or ()) or None}
    for name, value in expected.items():
        if value is not None:
            mlflow.log_expectation(trace_id=trace, name=name, value=value, source=source)


def _source(spec: MetricSpec | None, manifest: Manifest) -> tuple[str, str]:
    """A model's word is an LLM's; everything else is code, the embedded judge too."""
    judge = manifest.judge
    if spec is None or judge is None or Need.JUDGE not in spec.info.needs:
        return "CODE", f"ragauge {spec.info.name} {spec.info.version}" if spec is not None else "ragauge"
    return "LLM_JUDGE" if judge.kind in ("llm", "jury") else "CODE", judge.name


def _rationale(score: Scored) -> str | None:
    reason = score.details.get("reason")
    if isinstance(reason, str) and reason:
        return reason[:RATIONALE]
    lines = [f"{v.label.replace('_', ' ')}: {v.claim or v.id}" + (f" ({v.reason})" if v.reason else "")
             for v in score.verdicts]  # fmt: skip
    return "\n".join(lines)[:RATIONALE] or None


def _claims(score: Scored) -> str:
    kept = [v.model_dump(mode="json", exclude_defaults=True) for v in score.verdicts]
    while len(text := json.dumps(kept, ensure_ascii=False)) > CLAIMS and kept:
        kept = kept[: len(kept) // 2]
    return text


def _cut(text: str) -> str:
    return text if len(text) <= TEXT else f"{text[:TEXT]} … [{TEXT} of {len(text)} characters]"


def _ns(ms: float | None) -> int:
    return int((ms or 0.0) * _MS)


def _mark(key: Key) -> str:
    return hashlib.sha256(f"{key[0]}\n{key[1]}".encode("utf-8", "surrogatepass")).hexdigest()
