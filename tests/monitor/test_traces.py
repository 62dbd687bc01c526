"""Traces of OpenTelemetry become queries: OpenInference and GenAI attributes, over a real exporter and by hand."""

from __future__ import annotations

import base64
import gzip
import json
import multiprocessing
import os
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.monitor.serving import all_of, serving

from ragauge.monitor import trace_buffer
from ragauge.monitor.otlp import BadExport, Span, spans_of_json
from ragauge.monitor.redact import redactor
from ragauge.monitor.trace_buffer import TraceBuffer
from ragauge.monitor.traces import NOT_CAPTURED, query_of_trace

MS = 1_000_000
START = 1_773_489_600_000 * MS
TRACE = "0af7651916cd43dd8448eb211c80319c"


def a_span(span: int, parent: int | None, start: int, end: int, **attributes: Any) -> Span:
    """Times in ms from the trace's start; `__` in names stands for a dot."""
    named = {name.replace("__", "."): value for name, value in attributes.items()}
    return Span(
        TRACE, f"{span:016x}", f"{parent:016x}" if parent else None, "s", START + start * MS, START + end * MS, named
    )


def openinference(document: str = "retrieval.documents") -> dict[str, Any]:
    return {
        f"{document}.{n}.document.{name}": value
        for n in range(3)
        for name, value in {
            "id": f"c{n}", "content": f"passage number {n}", "score": 0.9 - n / 10,
            "metadata": json.dumps({"source": f"d{n}"}),
        }.items()
    }  # fmt: skip


def test_an_openinference_trace_becomes_a_query() -> None:
    query = query_of_trace([
        a_span(4, 1, 130, 900, openinference__span__kind="LLM", llm__model_name="m-1", **{
            "llm.token_count.prompt": 120, "llm.token_count.completion": 30, "llm.cost.total": 0.002,
            "llm.input_messages.0.message.role": "user",
            "llm.input_messages.0.message.content": "passage number 0 passage number 1 passage number 2 How?",
            "llm.output_messages.0.message.role": "assistant", "llm.output_messages.0.message.content": "Like this.",
        }),
        a_span(2, 1, 10, 110, openinference__span__kind="RETRIEVER", input__value="How?", **openinference()),
        a_span(1, None, 0, 1000, openinference__span__kind="CHAIN", input__value='{"question": "How?"}',
               output__value='{"answer": "Like this."}', session__id="s-1", metadata='{"tenant": "acme"}',
               tag__tags=["vip"]),
    ])  # fmt: skip
    assert query is not None
    assert (query.id, query.question, query.answer, query.session, query.model) == (
        TRACE,
        "How?",
        "Like this.",
        "s-1",
        "m-1",
    )
    assert (query.retrieval_ms, query.generation_ms, query.total_ms) == (100.0, 770.0, 1000.0)
    assert [(c.id, c.document, c.text, c.score, c.rank) for c in query.chunks or ()] == [
        (f"c{n}", f"d{n}", f"passage number {n}", pytest.approx(0.9 - n / 10), n + 1) for n in range(3)
    ]
    assert (query.tokens_in, query.tokens_out, query.cost_usd, query.tags) == (120, 30, 0.002, ("vip",))
    assert query.metadata["contexts_source"] == "retriever"
    assert query.metadata["tenant"] == "acme"


def test_the_rerankers_order_counts_and_the_retrievers_is_kept() -> None:
    query = query_of_trace([
        a_span(1, None, 0, 500, openinference__span__kind="CHAIN", input__value="How?"),
        a_span(2, 1, 0, 100, openinference__span__kind="RETRIEVER", **openinference()),
        a_span(3, 1, 100, 150, openinference__span__kind="RERANKER", reranker__query="How?", **{
            "reranker.output_documents.0.document.id": "c2", "reranker.output_documents.0.document.score": 8.5,
            "reranker.output_documents.1.document.id": "c0", "reranker.output_documents.1.document.score": 2.5,
        }),
    ])  # fmt: skip
    assert query is not None
    assert [(c.id, c.score) for c in query.chunks or ()] == [("c2", 8.5), ("c0", 2.5)]
    assert query.metadata["contexts_source"] == "reranker"
    assert [c["id"] for c in query.metadata["retrieved"]] == ["c0", "c1", "c2"]
    assert query.retrieval_ms == 150.0


def test_only_what_the_model_was_sent_is_its_context() -> None:
    query = query_of_trace(
        [
            a_span(1, None, 0, 500, openinference__span__kind="CHAIN", input__value="How?"),
            a_span(2, 1, 0, 100, openinference__span__kind="RETRIEVER", **openinference()),
            a_span(3, 1, 100, 400, openinference__span__kind="LLM", input__value="Use: passage  number 1\n\nHow?"),
        ]
    )
    assert query is not None
    assert [(c.id, c.rank) for c in query.chunks or ()] == [("c1", 1)]
    assert query.metadata["contexts_source"] == "prompt"
    assert len(query.metadata["retrieved"]) == 3


def test_several_retrievers_follow_one_another_and_nested_ones_count_once() -> None:
    def documents(*ids: str) -> dict[str, Any]:
        return {f"retrieval.documents.{n}.document.id": found for n, found in enumerate(ids)}

    query = query_of_trace(
        [
            a_span(1, None, 0, 500, openinference__span__kind="CHAIN", input__value="How?"),
            a_span(3, 1, 200, 300, openinference__span__kind="RETRIEVER", **documents("c", "a")),
            a_span(2, 1, 0, 100, openinference__span__kind="RETRIEVER", **documents("a", "b")),
            a_span(4, 2, 10, 90, openinference__span__kind="RETRIEVER", **documents("x", "a", "b")),
        ]
    )
    assert query is not None
    assert [c.id for c in query.chunks or ()] == ["a", "b", "c"]
    assert query.metadata["retriever_span_ids"] == [f"{n:016x}" for n in (2, 3)]
    assert query.retrieval_ms == 200.0


@pytest.mark.parametrize("spelling", ["structured", "text", "events"])
def test_a_genai_trace_becomes_a_query(spelling: str) -> None:
    documents: Any = [{"id": "c0", "score": 0.5, "content": "zero"}, {"id": "c1"}]
    asked: Any = [{"role": "system", "parts": [{"type": "text", "content": "Be kind."}]},
                  {"role": "user", "parts": [{"type": "text", "content": "How?"}]}]  # fmt: skip
    said: Any = [{"role": "assistant", "parts": [{"type": "text", "content": "So."}], "finish_reason": "stop"}]
    events: tuple[Any, ...] = ()
    attributes = {"gen_ai.input.messages": asked, "gen_ai.output.messages": said}
    if spelling != "structured":
        documents = json.dumps(documents)
        attributes = {name: json.dumps(value) for name, value in attributes.items()}
    if spelling == "events":
        events = (("gen_ai.user.message", {"content": "How?"}), ("gen_ai.choice", {"message": '{"content": "So."}'}))
        attributes = {}
    chat = a_span(3, 1, 100, 400, gen_ai__operation__name="chat", **{
        "gen_ai.request.model": "m", "gen_ai.response.model": "m-2026", "gen_ai.usage.input_tokens": 9,
        "gen_ai.usage.output_tokens": 2, **attributes,
    })  # fmt: skip
    query = query_of_trace([
        a_span(1, None, 0, 500, gen_ai__operation__name="invoke_agent", gen_ai__conversation__id="t-1"),
        a_span(2, 1, 0, 60, gen_ai__operation__name="retrieval", gen_ai__retrieval__documents=documents,
               **({"gen_ai.retrieval.query.text": "How?"} if spelling == "structured" else {})),
        Span(chat.trace_id, chat.span_id, chat.parent_id, "chat", chat.start_ns, chat.end_ns, chat.attributes, events),
    ])  # fmt: skip
    assert query is not None
    assert (query.question, query.answer, query.session, query.model) == ("How?", "So.", "t-1", "m-2026")
    assert [(c.id, c.score, c.text) for c in query.chunks or ()] == [("c0", 0.5, "zero"), ("c1", None, None)]
    assert (query.retrieval_ms, query.generation_ms, query.total_ms) == (60.0, 300.0, 500.0)
    assert (query.tokens_in, query.tokens_out) == (9, 2)


def test_a_trace_without_content_keeps_its_figures_and_one_of_something_else_is_none() -> None:
    query = query_of_trace(
        [
            a_span(1, None, 0, 500, gen_ai__operation__name="invoke_workflow"),
            a_span(2, 1, 0, 60, gen_ai__operation__name="retrieval"),
        ]
    )
    assert query is not None
    assert (query.question, query.answer, query.chunks, query.total_ms) == (NOT_CAPTURED, None, None, 500.0)
    assert query_of_trace([a_span(1, None, 0, 5, http__method="GET")]) is None


WAITING = [
    a_span(2, 1, 0, 60, openinference__span__kind="RETRIEVER", input__value="How?", **openinference()),
    a_span(1, None, 0, 500, openinference__span__kind="CHAIN", input__value="How?"),
]


def killed(work: Callable[[], None]) -> None:
    """Carry out `work` in a process that then ends without a word."""

    def run() -> None:
        work()
        os._exit(0)

    process = multiprocessing.get_context("fork").Process(target=run)
    process.start()
    process.join(30)
    assert process.exitcode == 0


def all_waiting(root: Path) -> list[list[Span]]:
    buffer = TraceBuffer(root)
    found = list(buffer.whole(everything=True).values())
    buffer.close()
    return found


def test_spans_that_waited_are_read_again_after_a_kill(tmp_path: Path) -> None:
    def work() -> None:
        buffer = TraceBuffer(tmp_path)
        buffer.write(WAITING)
        buffer.hold(WAITING)

    killed(work)
    again = TraceBuffer(tmp_path)
    assert not again.whole()
    (found,) = again.whole(everything=True).values()
    assert query_of_trace(found) == query_of_trace(WAITING)
    again.done({TRACE: found}, {TRACE: 2})
    assert not list(tmp_path.rglob("*.jsonl"))
    again.close()


def test_spans_that_were_acknowledged_survive_a_kill_whatever_was_stored_meanwhile(tmp_path: Path) -> None:
    def work() -> None:
        buffer = TraceBuffer(tmp_path)
        buffer.write(WAITING)  # on the disk; before they are held, the keeper finds nothing that waits
        buffer.done({}, {})
        buffer.hold(WAITING)

    killed(work)
    (found,) = all_waiting(tmp_path)
    assert len(found) == 2


def test_a_trace_whose_spans_are_in_two_files_keeps_both(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trace_buffer, "_FILE_BYTES", 1)
    other = [replace(WAITING[1], trace_id="f" * 32)]

    def work() -> None:
        buffer = TraceBuffer(tmp_path)
        for spans in (WAITING[:1], WAITING[1:], other):
            buffer.write(spans)
            buffer.hold(spans)
        buffer.done({"f" * 32: other}, {"f" * 32: 1})

    killed(work)
    assert sorted(map(len, all_waiting(tmp_path))) == [2]


def test_a_server_that_takes_over_leaves_the_spans_of_the_one_that_still_runs(tmp_path: Path) -> None:
    running = TraceBuffer(tmp_path)
    running.write(WAITING)
    running.hold(WAITING)
    new = TraceBuffer(tmp_path)
    assert not new.whole(everything=True)
    new.done({}, {})
    new.close()
    assert len(list(tmp_path.rglob("*.jsonl"))) == 1
    running.close()
    assert len(all_waiting(tmp_path)) == 1


def test_nothing_is_written_before_it_is_redacted(tmp_path: Path) -> None:
    asked = [replace(span, attributes={**span.attributes, "input.value": "Mail ann@example.org", "session.id": "s-1"},
                     events=(("exception", {"exception.message": "no ann@example.org"}),), error="ann@example.org",
                     name="ask ann@example.org") for span in WAITING]  # fmt: skip
    buffer = TraceBuffer(tmp_path, redactor(["email"]))
    buffer.write(asked)
    buffer.hold(asked)
    (file,) = tmp_path.rglob("*.jsonl")
    assert "ann@" not in file.read_text()
    assert '"session.id":"s-1"' in file.read_text()
    buffer.close()
    ((first, *_),) = all_waiting(tmp_path)
    assert first.attributes["input.value"] == "Mail [email]"


def test_a_hook_that_raises_costs_one_span_its_texts_and_no_other_its_place(tmp_path: Path) -> None:
    def hook(text: str) -> str:
        if "secret" in text:
            raise ValueError(text)
        return text

    bad = replace(WAITING[0], trace_id="f" * 32, name="my secret")
    buffer = TraceBuffer(tmp_path, hook)
    buffer.write([bad, *WAITING])
    (file,) = tmp_path.rglob("*.jsonl")
    assert len(file.read_text().splitlines()) == 1 + len(WAITING)
    assert "secret" not in file.read_text()
    buffer.close()


@pytest.mark.parametrize(
    "body", [[], {"resourceSpans": 3}, {"resourceSpans": [3]}, {"resourceSpans": [{"scopeSpans": [{"spans": [{}]}]}]}]
)
def test_what_is_no_export_is_refused(body: Any) -> None:
    with pytest.raises(BadExport):
        spans_of_json(body)


@pytest.mark.slow
@pytest.mark.parametrize("packed", [False, True])
def test_traces_of_a_real_sdk_come_in_right(tmp_path: Path, packed: bool) -> None:
    pytest.importorskip("opentelemetry.sdk", reason="opentelemetry-sdk is not installed (group slow)")
    pytest.importorskip(
        "openinference.semconv", reason="openinference-semantic-conventions is not installed (group slow)"
    )
    from openinference.semconv.trace import (
        DocumentAttributes,
        MessageAttributes,
        OpenInferenceSpanKindValues,
        SpanAttributes,
    )
    from opentelemetry.exporter.otlp.proto.http import Compression
    from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
    from opentelemetry.sdk.resources import Resource
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import BatchSpanProcessor

    expected = {}
    with serving(tmp_path / "log", settings="monitor: {server: {token: s3cret}}") as served:
        provider = TracerProvider(resource=Resource.create({"service.name": "help"}))
        provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter(
            f"{served.url}/v1/traces", headers={"authorization": "Bearer s3cret"},
            compression=Compression.Gzip if packed else Compression.NoCompression,
        ), max_export_batch_size=7))  # fmt: skip  # batches that cut traces apart
        tracer = provider.get_tracer("test")
        kind = SpanAttributes.OPENINFERENCE_SPAN_KIND
        for n in range(12):
            with tracer.start_as_current_span("rag") as root:
                root.set_attribute(kind, OpenInferenceSpanKindValues.CHAIN.value)
                root.set_attribute(SpanAttributes.INPUT_VALUE, f"How do I reset number {n}?")
                with tracer.start_as_current_span("retrieve") as span:
                    span.set_attribute(kind, OpenInferenceSpanKindValues.RETRIEVER.value)
                    span.set_attribute(SpanAttributes.INPUT_VALUE, f"How do I reset number {n}?")
                    for place in range(n % 4):
                        prefix = f"{SpanAttributes.RETRIEVAL_DOCUMENTS}.{place}"
                        span.set_attribute(f"{prefix}.{DocumentAttributes.DOCUMENT_ID}", f"c{place}")
                        span.set_attribute(f"{prefix}.{DocumentAttributes.DOCUMENT_CONTENT}", f"passage {place} é")
                        span.set_attribute(f"{prefix}.{DocumentAttributes.DOCUMENT_SCORE}", 0.9 - place / 10)
                    time.sleep(0.012)
                with tracer.start_as_current_span("generate") as span:
                    span.set_attribute(kind, OpenInferenceSpanKindValues.LLM.value)
                    span.set_attribute(SpanAttributes.LLM_MODEL_NAME, "m-1")
                    span.set_attribute(SpanAttributes.LLM_TOKEN_COUNT_PROMPT, 100 + n)
                    message = f"{SpanAttributes.LLM_OUTPUT_MESSAGES}.0"
                    span.set_attribute(f"{message}.{MessageAttributes.MESSAGE_ROLE}", "assistant")
                    span.set_attribute(f"{message}.{MessageAttributes.MESSAGE_CONTENT}", f"Answer {n}.")
                    time.sleep(0.02)
                root.set_attribute(SpanAttributes.OUTPUT_VALUE, f"Answer {n}.")
            expected[f"{root.get_span_context().trace_id:032x}"] = (n, root)
        provider.shutdown()
        until = time.monotonic() + 30
        while served.health()["traces"] < 12 and time.monotonic() < until:
            time.sleep(0.1)
    found = all_of(tmp_path / "log")
    assert found.keys() == expected.keys()
    for trace_id, (n, root) in expected.items():
        query = found[trace_id]
        assert (query.question, query.answer) == (f"How do I reset number {n}?", f"Answer {n}.")
        assert [(c.id, c.text, c.score) for c in query.chunks or ()] == [
            (f"c{place}", f"passage {place} é", 0.9 - place / 10) for place in range(n % 4)
        ]
        assert query.n_chunks == n % 4
        assert (query.project, query.model, query.tokens_in) == ("help", "m-1", 100 + n)
        assert query.total_ms == pytest.approx((root.end_time - root.start_time) / MS)
        assert query.retrieval_ms is not None
        assert query.generation_ms is not None
        assert 12 <= query.retrieval_ms < query.total_ms
        assert 20 <= query.generation_ms <= query.total_ms - query.retrieval_ms


@pytest.mark.slow
def test_the_json_encoding_is_taken_too(tmp_path: Path) -> None:
    def span(span_id: str, parent: str, **attributes: str) -> dict[str, Any]:
        return {
            "traceId": TRACE, "spanId": span_id, "parentSpanId": parent, "name": "s", "kind": 1,
            "startTimeUnixNano": str(START), "endTimeUnixNano": str(START + 90 * MS),
            "attributes": [{"key": k.replace("__", "."), "value": {"stringValue": v}} for k, v in attributes.items()],
        }  # fmt: skip

    spans = [
        span("00f067aa0ba902b7", "", openinference__span__kind="CHAIN", input__value="How?", output__value="So."),
        span(base64.b64encode(b"12345678").decode(), "00f067aa0ba902b7", openinference__span__kind="RETRIEVER",
             retrieval__documents__0__document__id="c0"),
    ]  # fmt: skip
    now = time.time_ns()
    for one in spans:
        one["startTimeUnixNano"], one["endTimeUnixNano"] = str(now), str(now + 90 * MS)
    body = json.dumps({"resourceSpans": [{"scopeSpans": [{"spans": spans}]}]}).encode()
    with serving(tmp_path / "log") as served:
        assert served.post("/v1/traces", gzip.compress(body), content_encoding="gzip") == (200, {})
        until = time.monotonic() + 30
        while served.health()["traces"] < 1 and time.monotonic() < until:
            time.sleep(0.1)
    (query,) = all_of(tmp_path / "log").values()
    assert (query.question, query.answer, query.total_ms) == ("How?", "So.", 90.0)
    assert [c.id for c in query.chunks or ()] == ["c0"]
