"""Files as other tools write them, unwrapped to one record for each question; field names are left to `aliases`.

Shapes after: promptfoo's output file (`results.results[]`), DeepEval's test run (`testCases`), AutoRAG's `qa.parquet`,
TREC files; traces are read by `traces`.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from ragauge.dataset import beir
from ragauge.dataset.aliases import normal_name
from ragauge.dataset.sources import open_source
from ragauge.dataset.traces import (
    asked_only,
    langfuse_trace,
    loaded,
    mlflow_trace,
    phoenix_traces,
    trulens_record,
)
from ragauge.errors import InputError
from ragauge.store.trec import read_run

TOOLS = (
    "ragas", "deepeval", "trulens", "phoenix", "langfuse", "langsmith", "mlflow", "promptfoo", "beir", "trec",
    "autorag",
)  # fmt: skip
Record = dict[str, Any]
_BETWEEN = re.compile(r"(?<=\S)\|(?=\S)")  # in a table of Markdown there are spaces, mostly


@dataclass(frozen=True)
class Unwrapped:
    """The records of a file, whose format it is taken for and by what, what could not be kept, what was changed."""

    tool: str
    why: str
    records: list[Record]
    lost: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


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
        records, without = _rows(file), beir.without_judgements(file)
        lost = (f"{without} queries that the judgements do not name",) if without else ()
        return Unwrapped("beir", "queries beside a corpus or qrels", records, lost)
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
    ("phoenix", frozenset({"example_id", "input", "output"})),
    ("langfuse", frozenset({"observations"})),
    ("langfuse", frozenset({"dataset_name"})),
    ("langfuse", frozenset({"source_trace_id"})),
    ("langsmith", frozenset({"inputs", "outputs"})),
    ("langsmith", frozenset({"example_id", "execution_time"})),
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
        cases = [_only(dict(case), ("metricsData", "success", "runDuration", "order")) for case in whole["testCases"]]
        return replace(_deepeval(why, cases), lost=("the tool's own scores (metricsData): ragauge scores anew",))
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
        return _traces(tool, why, [mlflow_trace(one) for one in kept], "spans other than root and retrievers")
    if tool == "phoenix" and ("span_kind" in first or "attributes.openinference.span.kind" in first):
        return _traces(tool, why, phoenix_traces(kept), "spans other than root, retrievers and re-rankers")
    if tool == "langfuse" and "observations" in first:
        return _traces(tool, why, [langfuse_trace(one) for one in kept], "observations other than retrievers")
    if tool == "trulens" and "record_id" in first:
        return _traces(tool, why, [trulens_record(one) for one in kept], "feedback results: ragauge scores anew")
    if tool == "langfuse":
        return _langfuse_items(why, kept)
    if tool == "deepeval":
        return _deepeval(why, kept)
    if tool == "trulens":
        return Unwrapped(tool, why, [_trulens_golden(one) for one in kept])
    if tool == "mlflow":
        return Unwrapped(tool, why, [_named(one) for one in kept])
    return Unwrapped(tool, why, kept)


def _traces(tool: str, why: str, records: list[Record], lost: str) -> Unwrapped:
    asked, without = asked_only(records)
    return Unwrapped(tool, why, asked, (lost, *without))


def _langfuse_items(why: str, items: list[Record]) -> Unwrapped:
    """Items of a data set; archived ones take part in nothing there either."""
    active = [one for one in items if str(one.get("status")).upper() != "ARCHIVED"]
    gone = len(items) - len(active)
    return Unwrapped("langfuse", why, active, (f"{gone} archived items",) if gone else ())


def _deepeval(why: str, records: list[Record]) -> Unwrapped:
    """Test cases and goldens. Names are for display there and may repeat; here they become ids."""
    seen: Counter[str] = Counter()
    taken = {record.get("name") for record in records if isinstance(record.get("name"), str)}
    made, twice, split = [], 0, 0
    for record in records:
        changed = dict(record)
        name = record.get("name")
        if isinstance(name, str) and name:
            seen[name] += 1
            if seen[name] > 1:
                while f"{name}#{seen[name]}" in taken:
                    seen[name] += 1
                twice, changed["name"] = twice + 1, f"{name}#{seen[name]}"
                taken.add(changed["name"])
        for column in ("context", "retrieval_context"):
            parts = _joined(record.get(column))
            if parts:
                split, changed[column] = split + 1, parts
        made.append(changed)
    notes = []
    if twice:
        notes.append(f"{twice} names stood before; a number tells them apart (NAME#2 …)")
    if split:
        notes.append(f"{split} cells were split at |, with which DeepEval joins several passages")
    return Unwrapped("deepeval", why, made, notes=tuple(notes))


def _joined(cell: Any) -> list[str] | None:
    """The passages of a cell of DeepEval's own CSV, which joins them by a bare `|`; None where there is one."""
    if not isinstance(cell, str) or isinstance(loaded(cell), list):
        return None
    parts = _BETWEEN.split(cell)
    return parts if len(parts) > 1 else None


def _named(record: Record) -> Record:
    """An MLflow record with the id that we keep in its tags, where it was us who wrote it."""
    tags = loaded(record.get("tags"))
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
            "error": one.get("error"), "latency_ms": one.get("latencyMs"), "metadata": case.get("metadata") or None,
            "token_usage": response.get("tokenUsage"), "cost_usd": one.get("cost"),
        }  # fmt: skip
        records.append({key: value for key, value in record.items() if value is not None})
    return Unwrapped("promptfoo", why, records, ("gradingResult, score, namedScores: ragauge scores anew",))


def _trulens_golden(record: Mapping[str, Any]) -> Record:
    chunks = loaded(record.get("expected_chunks"))
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
    below = 0
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
            read = beir.read_qrels(file)
            below += sum(grade < 0 for judged in read.values() for grade in judged.values())
            grades = {name: {one: max(0, grade) for one, grade in judged.items()} for name, judged in read.items()}
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
    lost = ["the run's tag"] if runs else []
    unused = len(queries) - len(records)
    if unused:
        lost.append(f"{unused} queries that no other file names")
    notes = (f"{below} grades below 0 (junk, not in the pool) are read as 0, not relevant",) if below else ()
    return Unwrapped("trec", "qrels, runs and queries by their columns", records, tuple(lost), notes)
