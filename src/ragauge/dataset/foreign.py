"""Files as other tools write them, unwrapped to one record for each question; field names are left to `aliases`.

Shapes after: promptfoo's output file (`results.results[]`), DeepEval's test run (`testCases`), MLflow's traces (`info`,
`data.spans` with `mlflow.spanType`), Phoenix's span tables (`context.trace_id`, `span_kind`), Langfuse's traces with
`observations`, TruLens's records (`record_id`, `input`, `output`, `calls`), AutoRAG's `qa.parquet`, TREC files.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ragauge.dataset import beir
from ragauge.dataset.aliases import normal_name
from ragauge.dataset.sources import open_source
from ragauge.errors import InputError
from ragauge.store.trec import read_run

TOOLS = (
    "ragas", "deepeval", "trulens", "phoenix", "langfuse", "langsmith", "mlflow", "promptfoo", "beir", "trec",
    "autorag",
)  # fmt: skip
Record = dict[str, Any]


@dataclass(frozen=True)
class Unwrapped:
    """The records of a file, whose format it is taken for and by what, and what could not be kept of it."""

    tool: str
    why: str
    records: list[Record]
    lost: tuple[str, ...] = ()


def unwrap(files: Sequence[Path], tool: str | None = None) -> Unwrapped:
    """The records in `files`; `tool` None: sniffed from names and fields. `InputError` for what nobody writes so."""
    for file in files:
        if not file.exists():
            raise InputError("there is no such file", file=str(file))
    if tool == "trec" or (tool is None and _is_trec(files)):
        return _trec(files)
    if len(files) != 1:
        raise InputError(
            "several files are read together only for TREC", accepted="one file, or qrels, run and queries"
        )
    file = files[0]
    if file.is_dir() and (file / "qa.parquet").exists():
        file, tool = file / "qa.parquet", tool or "autorag"
    if file.is_dir() and beir.is_beir(file) and tool in (None, "beir"):
        records = _rows(file)
        return Unwrapped("beir", "queries beside a corpus or qrels", records)
    whole = _whole(file)
    records = whole if isinstance(whole, list) else _rows(file)
    found, why = _sniff(whole, records)
    if tool is not None and tool != found:
        why = f"asked for (it looks like {found}: {why})" if found != "unknown" else "asked for"
        found = tool
    if isinstance(whole, Mapping):
        return _of_object(found, why, whole, records)
    return _of_records(found, why, records)


def _whole(file: Path) -> Any:
    """A JSON file as it stands; None for other formats and for JSON Lines."""
    if file.suffix.lower() != ".json" or not file.is_file():
        return None
    try:
        return json.loads(file.read_text("utf-8-sig"))
    except (ValueError, RecursionError, UnicodeDecodeError):
        return None


def _rows(file: Path) -> list[Record]:
    try:
        found = list(open_source(file).read())
    except InputError:
        if isinstance(_whole(file), Mapping):
            return []  # an object that only its own reader understands
        raise
    problem = next((one for one in found if isinstance(one, InputError)), None)
    if problem is not None:
        raise problem
    return [dict(row.data) for row in found if not isinstance(row, InputError)]


def _sniff(whole: Any, records: Sequence[Any]) -> tuple[str, str]:
    """(tool, by what) of a file; "unknown" where its fields are nobody's in particular."""
    top = {str(key) for key in whole} if isinstance(whole, Mapping) else set()
    if isinstance(whole, Mapping) and isinstance(whole.get("results"), Mapping) and "results" in whole["results"]:
        return "promptfoo", "results.results"
    if "testCases" in top or "goldens" in top:
        return "deepeval", "testCases" if "testCases" in top else "goldens"
    if isinstance(whole, Mapping) and isinstance(whole.get("traces"), list):
        return "mlflow", "traces"
    first = next((one for one in records if isinstance(one, Mapping)), whole if isinstance(whole, Mapping) else {})
    names = {normal_name(str(key)) for key in first} | {str(key) for key in first}
    for tool, marks in _MARKS:
        if marks <= names:
            return tool, ", ".join(sorted(marks))
    return "unknown", "field names of no tool in particular"


_MARKS: tuple[tuple[str, frozenset[str]], ...] = (
    ("mlflow", frozenset({"info", "data"})),
    ("mlflow", frozenset({"inputs", "expectations"})),
    ("mlflow", frozenset({"trace_id", "spans"})),
    ("phoenix", frozenset({"context.trace_id", "span_kind"})),
    ("phoenix", frozenset({"attributes.openinference.span.kind"})),
    ("langfuse", frozenset({"observations"})),
    ("langfuse", frozenset({"dataset_name"})),
    ("langfuse", frozenset({"source_trace_id"})),
    ("langsmith", frozenset({"inputs", "outputs"})),
    ("trulens", frozenset({"record_id", "app_id"})),
    ("trulens", frozenset({"query", "expected_response"})),
    ("autorag", frozenset({"qid", "retrieval_gt"})),
    ("ragas", frozenset({"user_input"})),
    ("deepeval", frozenset({"actual_output"})),
    ("deepeval", frozenset({"input", "expected_output", "retrieval_context"})),
    ("deepeval", frozenset({"input", "expected_output", "context"})),
    ("ragas", frozenset({"question", "contexts", "ground_truth"})),
    ("ragas", frozenset({"question", "contexts", "ground_truths"})),
    ("promptfoo", frozenset({"vars", "assert"})),
)


def _of_object(tool: str, why: str, whole: Mapping[str, Any], records: list[Record]) -> Unwrapped:
    if tool == "promptfoo" and isinstance(whole.get("results"), Mapping):
        return _promptfoo(why, whole["results"]["results"])
    if tool == "deepeval" and "testCases" in whole:
        cases = [_only(dict(case), ("metricsData", "success", "runDuration")) for case in whole["testCases"]]
        return Unwrapped(tool, why, cases, ("the tool's own scores (metricsData): ragauge scores anew",))
    if tool == "mlflow" and isinstance(whole.get("traces"), list):
        return _of_records(tool, why, whole["traces"])
    if not records:
        return _of_records(tool, why, [dict(whole)])
    return _of_records(tool, why, records)


def _only(record: Record, left: Iterable[str]) -> Record:
    return {name: value for name, value in record.items() if name not in left}


def _of_records(tool: str, why: str, records: list[Any]) -> Unwrapped:
    kept = [dict(one) for one in records if isinstance(one, Mapping)]
    first = kept[0] if kept else {}
    if tool == "mlflow" and ("data" in first or "spans" in first):
        return Unwrapped(tool, why, [_mlflow_trace(one) for one in kept], ("spans other than root and retrievers",))
    if tool == "phoenix" and ("span_kind" in first or "attributes.openinference.span.kind" in first):
        return _phoenix(why, kept)
    if tool == "langfuse" and "observations" in first:
        return Unwrapped(tool, why, [_langfuse_trace(one) for one in kept], ("observations other than retrievers",))
    if tool == "trulens" and "record_id" in first:
        return Unwrapped(tool, why, [_trulens_record(one) for one in kept], ("feedback results: ragauge scores anew",))
    if tool == "trulens":
        return Unwrapped(tool, why, [_trulens_golden(one) for one in kept])
    if tool == "mlflow":
        return Unwrapped(tool, why, [_named(one) for one in kept])
    return Unwrapped(tool, why, kept)


def _named(record: Record) -> Record:
    """An MLflow record with the id that we keep in its tags, where it was us who wrote it."""
    tags = _loaded(record.get("tags"))
    if not isinstance(tags, Mapping) or "ragauge.item_id" not in tags:
        return record
    rest = {key: value for key, value in tags.items() if key != "ragauge.item_id"}
    return {
        **_only(record, ("tags", "dataset_record_id")),
        "id": tags["ragauge.item_id"],
        **({"tags": rest} if rest else {}),
    }


def _promptfoo(why: str, results: Sequence[Mapping[str, Any]]) -> Unwrapped:
    records, providers = [], set()
    for number, one in enumerate(results):
        case, response = one.get("testCase") or {}, one.get("response") or {}
        provider = one.get("provider")
        name = provider.get("id") if isinstance(provider, Mapping) else provider
        providers.add(name)
        record = {
            "id": f"{one.get('testIdx', number)}-{one.get('promptIdx', 0)}",
            "vars": one.get("vars") or case.get("vars"),
            "output": response.get("output"), "assert": case.get("assert"), "model": name,
            "latency_ms": one.get("latencyMs"), "metadata": case.get("metadata") or None,
            "token_usage": response.get("tokenUsage"), "cost_usd": one.get("cost"),
        }  # fmt: skip
        records.append({key: value for key, value in record.items() if value is not None})
    return Unwrapped("promptfoo", why, records, ("gradingResult, score, namedScores: ragauge scores anew",))


def _loaded(value: Any) -> Any:
    if isinstance(value, str) and value[:1] in '[{"':
        try:
            return json.loads(value)
        except ValueError:
            return value
    return value


def _mlflow_trace(trace: Mapping[str, Any]) -> Record:
    info = trace.get("info") or {}
    spans = (trace.get("data") or {}).get("spans") or trace.get("spans") or []
    record: Record = {"id": info.get("trace_id") or info.get("request_id") or trace.get("trace_id")}
    documents: list[Any] = []
    for span in _loaded(spans):
        attributes = span.get("attributes") or {}
        kind = _loaded(attributes.get("mlflow.spanType"))
        if span.get("parent_id") in (None, "") and span.get("parent_span_id") in (None, ""):
            record["inputs"] = _loaded(attributes.get("mlflow.spanInputs"))
            record["outputs"] = _loaded(attributes.get("mlflow.spanOutputs"))
        if kind == "RETRIEVER":
            documents += _loaded(attributes.get("mlflow.spanOutputs")) or []
    if documents:
        record["retrieved_contexts"] = documents
    expected = [a for a in info.get("assessments") or () if isinstance(a, Mapping) and a.get("expectation")]
    found = {a["assessment_name"]: _loaded(a["expectation"].get("value")) for a in expected if "assessment_name" in a}
    return record | ({"expectations": found} if found else {})


def _phoenix(why: str, spans: Sequence[Mapping[str, Any]]) -> Unwrapped:
    """One record for each trace: input and output of its root, documents of its last re-ranker or of its retrievers."""
    traces: dict[str, Record] = {}
    ranked: set[str] = set()
    for span in spans:
        trace = str(span.get("context.trace_id") or span.get("trace_id"))
        record = traces.setdefault(trace, {"id": trace})
        kind = span.get("span_kind") or span.get("attributes.openinference.span.kind")
        if span.get("parent_id") in (None, "") or "input.value" not in record:
            for name in ("input.value", "output.value"):
                value = span.get(f"attributes.{name}")
                if value is not None and (span.get("parent_id") in (None, "") or name not in record):
                    record[name] = value
        key = "attributes.reranker.output_documents" if kind == "RERANKER" else "attributes.retrieval.documents"
        documents = _loaded(span.get(key))
        if documents is not None and (kind == "RERANKER" or trace not in ranked):
            documents = documents.tolist() if hasattr(documents, "tolist") else documents
            before = [] if kind == "RERANKER" else record.get("retrieval.documents", [])
            record["retrieval.documents"] = [*before, *documents]
            ranked |= {trace} if kind == "RERANKER" else set()
    return Unwrapped("phoenix", why, list(traces.values()), ("spans other than root, retrievers and re-rankers",))


def _langfuse_trace(trace: Mapping[str, Any]) -> Record:
    record = {key: trace[key] for key in ("id", "input", "output", "metadata", "tags") if trace.get(key) is not None}
    found: list[Any] = []
    for one in trace["observations"] or ():
        if str(one.get("type", "")).upper() == "RETRIEVER" or "retriev" in str(one.get("name", "")).lower():
            output = _loaded(one.get("output"))
            inner = output.get("documents", output.get("results")) if isinstance(output, Mapping) else output
            found += inner if isinstance(inner, list) else []
    return record | ({"contexts": found} if found else {})


def _trulens_record(record: Mapping[str, Any]) -> Record:
    found = {"id": record["record_id"], "input": _loaded(record.get("input")), "output": _loaded(record.get("output"))}
    events: Any = _loaded(record.get("record_json") or record.get("calls") or {})
    calls = events.get("calls", []) if isinstance(events, Mapping) else events
    for call in calls if isinstance(calls, list) else ():
        stack = call.get("stack") or [{}]
        name = str(((stack[-1] or {}).get("method") or {}).get("name", ""))
        if "retriev" in name.lower() and isinstance(call.get("rets"), list):
            found["contexts"] = call["rets"]
    return found


def _trulens_golden(record: Mapping[str, Any]) -> Record:
    chunks = _loaded(record.get("expected_chunks"))
    rest = {key: value for key, value in record.items() if key != "expected_chunks"}
    if isinstance(chunks, list):
        rest["gold_contexts"] = [one.get("text", "") if isinstance(one, Mapping) else one for one in chunks]
    return rest


def _is_trec(files: Sequence[Path]) -> bool:
    named = [file.name.lower() for file in files if file.is_file()]
    return bool(named) and any("qrel" in one or one.endswith((".run", ".trec")) for one in named)


def _trec(files: Sequence[Path]) -> Unwrapped:
    """Qrels (four columns), a run (six), and queries (`qid<TAB>text`, or JSON lines), told apart by their columns."""
    grades: dict[str, dict[str, int]] = {}
    runs: dict[str, Any] = {}
    queries: dict[str, str] = {}
    for file in files:
        with file.open(encoding="utf-8") as handle:
            first = next((line for line in handle if line.strip()), "")
        if first.lstrip().startswith("{"):
            queries |= {str(r.get("_id", r.get("id"))): str(r.get("text", r.get("question"))) for r in _rows(file)}
        elif "\t" in first and len(first.split("\t")) == 2:
            lines = file.read_text("utf-8").splitlines()
            queries |= {one: text for one, _, text in (line.partition("\t") for line in lines) if text}
        elif len(first.split()) == 6:
            runs = dict(read_run(file))
        else:
            grades = {question: dict(judged) for question, judged in beir.read_qrels(file).items()}
    missing = sorted((set(grades) | set(runs)) - set(queries))
    if missing:
        raise InputError(
            f"TREC files name questions by id only; {len(missing)} have no text, e.g. {missing[0]!r}",
            accepted="a file of queries beside them: `qid<TAB>text`, or JSON lines with _id and text",
            hint="ragauge rank scores qrels and runs without texts.",
        )
    records = []
    for name, text in queries.items():
        if name not in grades and name not in runs:
            continue
        record: Record = {"id": name, "question": text}
        if name in grades:
            record["relevance"] = grades[name]
        if name in runs:
            found = runs[name]
            scored = found.items() if isinstance(found, Mapping) else [(one, -place) for place, one in enumerate(found)]
            ranked = sorted(scored, key=lambda one: (-one[1], one[0]))
            record["contexts"] = [{"id": one, "score": score} for one, score in ranked]
        records.append(record)
    return Unwrapped("trec", "qrels, runs and queries by their columns", records, ("the run's tag",) if runs else ())
