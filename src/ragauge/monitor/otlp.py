"""OTLP/HTTP trace exports, protobuf or JSON, as plain spans."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ragauge.errors import MissingExtra

_HEX = frozenset("0123456789abcdefABCDEF")
#: Nested attribute values deeper than this are refused.
_DEPTH = 16
_ERROR = 2


class BadExport(ValueError):
    """The body is no ExportTraceServiceRequest."""


@dataclass(frozen=True)
class Span:
    """One span. Times are ns since 1970; `resource` are the attributes of what made it; `error` its kind of failure."""

    trace_id: str
    span_id: str
    parent_id: str | None
    name: str
    start_ns: int
    end_ns: int
    attributes: Mapping[str, Any]
    events: tuple[tuple[str, Mapping[str, Any]], ...] = ()
    resource: Mapping[str, Any] = field(default_factory=dict)
    error: str | None = None

    def get(self, *names: str) -> Any:
        """The first attribute of these names that is there."""
        for name in names:
            value = self.attributes.get(name)
            if value is not None and value != "":
                return value
        return None


def spans_of_protobuf(body: bytes) -> list[Span]:
    """The spans of a protobuf body. Raises `BadExport`."""
    try:
        from google.protobuf.message import DecodeError
        from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
    except ImportError:
        raise MissingExtra("opentelemetry-proto, which reads traces,", "monitor") from None
    try:
        request = ExportTraceServiceRequest.FromString(body)
    except (DecodeError, RecursionError) as error:
        raise BadExport(f"no ExportTraceServiceRequest: {error}") from None
    found = []
    for resource_spans in request.resource_spans:
        resource = _attributes(resource_spans.resource.attributes)
        for scope_spans in resource_spans.scope_spans:
            found += [_span(
                span.trace_id.hex(), span.span_id.hex(), span.parent_span_id.hex(), span.name,
                (span.start_time_unix_nano, span.end_time_unix_nano), _attributes(span.attributes),
                tuple((event.name, _attributes(event.attributes)) for event in span.events), resource,
                (span.status.code, span.status.message),
            ) for span in scope_spans.spans]  # fmt: skip
    return found


def spans_of_json(data: Any) -> list[Span]:
    """The spans of a JSON body that was parsed (ids in hex, numbers possibly as texts). Raises `BadExport`."""
    if not isinstance(data, Mapping):
        raise BadExport("no ExportTraceServiceRequest: not an object")
    if data and "resourceSpans" not in data:
        raise BadExport("no ExportTraceServiceRequest: it has no resourceSpans")
    found = []
    for resource_spans in _list(data, "resourceSpans"):
        resource = _json_attributes(_list(resource_spans.get("resource") or {}, "attributes"))
        for scope_spans in _list(resource_spans, "scopeSpans"):
            for span in _list(scope_spans, "spans"):
                status = span.get("status") or {}
                code = status.get("code") if isinstance(status, Mapping) else None
                message = status.get("message", "") if isinstance(status, Mapping) else ""
                events = tuple(
                    (str(event.get("name", "")), _json_attributes(_list(event, "attributes")))
                    for event in _list(span, "events")
                )
                found.append(_span(
                    _hex(span.get("traceId"), 16), _hex(span.get("spanId"), 8), _hex(span.get("parentSpanId"), 8, True),
                    str(span.get("name", "")), (_int(span.get("startTimeUnixNano")), _int(span.get("endTimeUnixNano"))),
                    _json_attributes(_list(span, "attributes")), events, resource,
                    (_ERROR if code in (_ERROR, "STATUS_CODE_ERROR", "2") else 0, str(message)),
                ))  # fmt: skip
    return found


def _span(
    trace_id: str, span_id: str, parent_id: str, name: str, times: tuple[int, int], attributes: Mapping[str, Any],
    events: tuple[tuple[str, Mapping[str, Any]], ...], resource: Mapping[str, Any], status: tuple[int, str],
) -> Span:  # fmt: skip
    if len(trace_id) != 32 or len(span_id) != 16 or not int(trace_id, 16) or not int(span_id, 16):
        raise BadExport(f"span {name[:80]!r}: a trace id has 16 bytes and a span id 8, not all zero")
    start, end = times
    if not 0 < start < 2**63 or not 0 <= end < 2**63:
        raise BadExport(f"span {name[:80]!r}: no start time")
    error = None
    if status[0] == _ERROR:
        thrown = next((attrs.get("exception.type") for event, attrs in events if event == "exception"), None)
        error = str(attributes.get("error.type") or thrown or status[1] or "error")
    return Span(
        trace_id, span_id, parent_id if parent_id.strip("0") else None, name, start, max(start, end), attributes,
        events, resource, error,
    )  # fmt: skip


def _attributes(pairs: Any) -> dict[str, Any]:
    return {pair.key: _any_value(pair.value) for pair in pairs}


def _any_value(value: Any, depth: int = 0) -> Any:
    kind = value.WhichOneof("value")
    if kind is None or depth > _DEPTH:
        return None
    if kind == "array_value":
        return [_any_value(entry, depth + 1) for entry in value.array_value.values]
    if kind == "kvlist_value":
        return {pair.key: _any_value(pair.value, depth + 1) for pair in value.kvlist_value.values}
    if kind == "bytes_value":
        return base64.b64encode(value.bytes_value).decode("ascii")
    return getattr(value, kind)


def _json_attributes(pairs: Sequence[Any]) -> dict[str, Any]:
    return {str(pair.get("key", "")): _json_value(pair.get("value")) for pair in pairs}


def _json_value(value: Any, depth: int = 0) -> Any:
    if not isinstance(value, Mapping) or depth > _DEPTH:
        return None
    if "intValue" in value:
        return _int(value["intValue"])
    if "arrayValue" in value:
        return [_json_value(entry, depth + 1) for entry in _list(value["arrayValue"], "values")]
    if "kvlistValue" in value:
        pairs = _list(value["kvlistValue"], "values")
        return {str(pair.get("key", "")): _json_value(pair.get("value"), depth + 1) for pair in pairs}
    return next(
        (value[name] for name in ("stringValue", "doubleValue", "boolValue", "bytesValue") if name in value), None
    )


def _list(value: Any, name: str) -> list[Any]:
    if not isinstance(value, Mapping):
        raise BadExport(f"{name}: its parent is no object")
    found = value.get(name) or []
    if not isinstance(found, list):
        raise BadExport(f"{name} is no list")
    if name != "values" and not all(isinstance(entry, Mapping) for entry in found):
        raise BadExport(f"{name} holds something else than objects")
    return found


def _hex(value: Any, n_bytes: int, missing: bool = False) -> str:
    if value in (None, "") and missing:
        return ""
    text = str(value)
    if len(text) == 2 * n_bytes and set(text) <= _HEX:
        return text.lower()
    try:  # what protobuf's own JSON writes
        raw = base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        raw = b""
    if len(raw) != n_bytes:
        raise BadExport(f"an id of {n_bytes} bytes in hex was expected")
    return raw.hex()


def _int(value: Any) -> int:
    try:
        found = int(value)
    except (TypeError, ValueError, OverflowError):
        raise BadExport("a whole number was expected") from None
    return found if abs(found) < 2**64 else 0
