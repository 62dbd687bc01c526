"""Traces of other tools, each unwrapped to one record: what was asked, answered and retrieved.

Shapes after: MLflow's traces (`info`, `data.spans` with `mlflow.spanType`), Phoenix's span tables (`context.trace_id`,
`span_kind`), Langfuse's traces with `observations`, TruLens's records (`record_id`, `input`, `output`, `calls`). Tables
hold nested values as text: JSON, or what Python prints.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from ragauge.dataset.aliases import CONTAINERS, normal_name
from ragauge.dataset.messages import is_conversation
from ragauge.dataset.values import joins_texts, python_value
from ragauge.errors import InputError

Record = dict[str, Any]
#: What a trace's input is called in the records made here.
_ASKED = ("inputs", "input", "input.value")


def loaded(value: Any) -> Any:
    """What a text writes out: JSON, or a list or object as Python prints one; any other value as it is.

    A NaN inside, which is how tables write that there is nothing, is None. Other literals of Python (a tuple, a set,
    two texts that it would join) are text: an answer may well be `"--min", "--max"`.
    """
    if hasattr(value, "tolist"):
        value = value.tolist()
    if not isinstance(value, str) or value.lstrip()[:1] not in ("[", "{", '"'):
        return None if isinstance(value, float) and value != value else value
    try:
        return json.loads(value, strict=False, parse_constant=lambda _: None)
    except (ValueError, RecursionError):
        pass
    try:
        found = python_value(value)
    except (ValueError, TypeError, SyntaxError, RecursionError, MemoryError):
        return value
    return found if isinstance(found, list | dict) and not joins_texts(value.strip()) else value


def _documents(value: Any, where: str) -> list[Any] | None:
    """A list of documents; `InputError` for a text that is none, of which each character would become a passage."""
    found = loaded(value)
    if isinstance(found, Mapping):
        inner = next((found[name] for name in ("documents", "results", "output") if name in found), None)
        found = inner if isinstance(inner, list) else [found]
    if found is None or isinstance(found, list):
        return found
    raise InputError(
        "retrieved documents that are no list (a printed numpy array?)",
        field=where, found=found, accepted="a list, or a list as JSON text",
        hint="Export as JSON lines or Parquet, which keep lists as lists.",
    )  # fmt: skip


def _list(value: Any, where: str) -> list[Any]:
    """A list, or the text of one; none where there is nothing. `InputError` for anything else."""
    found = loaded(value)
    if _blank(found):
        return []
    if isinstance(found, list):
        return found
    raise _unread(found, where, "a list, or a list as JSON text")


def _object(value: Any, where: str) -> Mapping[str, Any]:
    """An object, or the text of one; an empty one where there is nothing. `InputError` for anything else."""
    found = loaded(value)
    if _blank(found):
        return {}
    if isinstance(found, Mapping):
        return found
    raise _unread(found, where, "an object, or an object as JSON text")


def _unread(found: Any, where: str, accepted: str) -> InputError:
    return InputError(
        "a part of a trace that cannot be read (a printed Python object?)",
        field=where, found=found, accepted=accepted,
        hint="Export as JSON lines or Parquet, which keep objects as objects.",
    )  # fmt: skip


def asked_only(records: Sequence[Record]) -> tuple[list[Record], tuple[str, ...]]:
    """The records that have an input, and a word on those without (traces that failed or never ended)."""
    kept: list[Record] = []
    without: list[Record] = []
    for one in records:
        asked = any(one.get(name) not in (None, "", {}, []) for name in _ASKED)
        (kept if asked else without).append(one)
    if not without:
        return kept, ()
    if not kept:
        raise InputError(f"none of the {len(records)} traces has an input", accepted="traces whose root has an input")
    return kept, (f"{len(without)} traces without an input, e.g. {without[0].get('id')}",)


def mlflow_trace(trace: Mapping[str, Any]) -> Record:
    """Input and output of the root span, documents of the retrievers, expectations."""
    info, data = _object(trace.get("info"), "info"), _object(trace.get("data"), "data")
    record: Record = {"id": info.get("trace_id") or info.get("request_id") or trace.get("trace_id")}
    documents: list[Any] = []
    spans = _list(data.get("spans"), "data.spans") or _list(trace.get("spans"), "spans")
    for number, one in enumerate(spans):
        span = _object(one, f"spans[{number}]")
        attributes = _object(span.get("attributes"), f"spans[{number}].attributes")
        kind = loaded(attributes.get("mlflow.spanType"))
        if span.get("parent_id") in (None, "") and span.get("parent_span_id") in (None, ""):
            record["inputs"] = loaded(attributes.get("mlflow.spanInputs"))
            record["outputs"] = loaded(attributes.get("mlflow.spanOutputs"))
        if kind == "RETRIEVER":
            documents += _documents(attributes.get("mlflow.spanOutputs"), "mlflow.spanOutputs") or []
    if documents:
        record["retrieved_contexts"] = documents
    expected = _expected(info)
    return record | ({"expectations": expected} if expected else {})


def _expected(info: Mapping[str, Any]) -> Record:
    """What people or files expected of a trace, by name."""
    found = {}
    for number, one in enumerate(_list(info.get("assessments"), "info.assessments")):
        where = f"info.assessments[{number}]"
        assessment = _object(one, where)
        expectation = _object(assessment.get("expectation"), f"{where}.expectation")
        if expectation and "assessment_name" in assessment:
            found[assessment["assessment_name"]] = loaded(expectation.get("value"))
    return found


def phoenix_traces(spans: Sequence[Mapping[str, Any]]) -> list[Record]:
    """One record for each trace: input and output of its root, documents of its last re-ranker or of its retrievers."""
    traces: dict[str, Record] = {}
    ranked: set[str] = set()
    for span in spans:
        trace = str(span.get("context.trace_id") or span.get("trace_id"))
        record = traces.setdefault(trace, {"id": trace})
        kind = span.get("span_kind") or span.get("attributes.openinference.span.kind")
        _ends(record, span)
        key = "attributes.reranker.output_documents" if kind == "RERANKER" else "attributes.retrieval.documents"
        documents = _documents(span.get(key), key)
        if documents is not None and (kind == "RERANKER" or trace not in ranked):
            before = [] if kind == "RERANKER" else record.get("retrieval.documents", [])
            record["retrieval.documents"] = [*before, *documents]
            ranked |= {trace} if kind == "RERANKER" else set()
    return [_opened(record) for record in traces.values()]


def _ends(record: Record, span: Mapping[str, Any]) -> None:
    """Note the input and output of `span` where it is the root, or nothing is known yet."""
    root = _blank(span.get("parent_id"))
    if not root and "input.value" in record:
        return
    for name in ("input.value", "output.value"):
        value = span.get(f"attributes.{name}")
        if not _blank(value) and (root or name not in record):
            record[name] = value


def _blank(value: Any) -> bool:
    return value is None or value == "" or (isinstance(value, float) and value != value)


def _opened(record: Record) -> Record:
    """`record` with an input or output that is the JSON of an object as that object, where its fields are known."""
    made = {}
    for name, value in record.items():
        container = name.removesuffix(".value")
        inner = loaded(value) if container in CONTAINERS else value
        if container != name and _known(inner, container):
            made[container] = inner
        elif container != name and isinstance(inner, str):
            made[name] = inner  # a text in quotes
        else:
            made[name] = value
    return made


def _known(value: Any, container: str) -> bool:
    """Whether `value` is an object with a field that has a meaning in `container`."""
    return isinstance(value, Mapping) and any(normal_name(str(key)) in CONTAINERS[container] for key in value)


def _said(value: Any, container: str) -> Any:
    """An input or output; a text is opened only if it writes out a text, messages, or an object of known fields.

    Any other text is what was said: an answer may be a list or an object in JSON.
    """
    inner = loaded(value)
    if not isinstance(value, str) or isinstance(inner, str):
        return inner
    return inner if _known(inner, container) or is_conversation(inner) else value


def langfuse_trace(trace: Mapping[str, Any]) -> Record:
    """Input and output of the trace, documents of its retriever observations."""
    record: Record = {"id": trace.get("id")}
    record |= {key: _said(trace[key], key) for key in ("input", "output") if trace.get(key) is not None}
    record |= {key: loaded(trace[key]) for key in ("metadata", "tags") if trace.get(key) is not None}
    found: list[Any] = []
    for one in _list(trace.get("observations"), "observations"):
        if not isinstance(one, Mapping):
            continue  # ids of observations that the export leaves out
        if str(one.get("type", "")).upper() == "RETRIEVER" or "retriev" in str(one.get("name", "")).lower():
            output = loaded(one.get("output"))
            inner = output.get("documents", output.get("results")) if isinstance(output, Mapping) else output
            found += inner if isinstance(inner, list) else []
    return record | ({"contexts": found} if found else {})


def trulens_record(record: Mapping[str, Any]) -> Record:
    """Input and output of the record, what its calls named `retrieve…` returned."""
    found: Record = {name: _said(record.get(name), name) for name in ("input", "output")}
    found["id"] = record.get("record_id")
    where = "calls" if _blank(record.get("record_json")) else "record_json"
    calls = loaded(record.get(where))
    if isinstance(calls, Mapping):
        calls, where = calls.get("calls"), f"{where}.calls"
    for number, one in enumerate(_list(calls, where)):
        call = _object(one, f"{where}[{number}]")
        if "retriev" in _called(call, f"{where}[{number}].stack").lower() and isinstance(call.get("rets"), list):
            found["contexts"] = call["rets"]
    return found


def _called(call: Mapping[str, Any], where: str) -> str:
    """The name of the method that a call of TruLens ended in."""
    stack = _list(call.get("stack"), where)
    last = _object(stack[-1], f"{where}[{len(stack) - 1}]") if stack else {}
    method = last.get("method")
    return str(method.get("name", "") if isinstance(method, Mapping) else method or "")
