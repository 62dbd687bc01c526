"""Labels from files and from the queue, and back: CSV and JSON Lines, for people who label in spreadsheets."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from ragauge.analysis.labels import ACCEPTED, HumanLabel, label_value
from ragauge.dataset.jsonrows import json_lines
from ragauge.errors import InputError, StoreError, UnknownName, UsageError
from ragauge.review.items import FOR_ESTIMATION, NEUTRAL, Label, ReviewItem
from ragauge.store.tables import read_csv_rows, write_csv
from ragauge.store.textfile import existing_path
from ragauge.store.whole import replacing

_NAMES: dict[str, tuple[str, ...]] = {
    "item": ("item", "id", "item_id", "question_id", "qid", "row", "sample_id"),
    "label": ("label", "human_label", "human", "annotation", "grade", "human_verdict", "rating"),
    "metric": ("metric", "criterion"),
    "repeat": ("repeat",),
    "target": ("target", "chunk", "chunk_id", "claim", "claim_id"),
    "reviewer": ("reviewer", "annotator", "rater", "labeller", "labeler", "by"),
    "note": ("note", "notes", "comment", "reason", "remark"),
    "answer": ("answer_id", "answer_fingerprint"),
    "design": ("design",),
    "source": ("source",),
    "for_estimation": ("for_estimation", "random"),
    "systematic": ("systematic", "pattern"),
    "adjudicated": ("adjudicated",),
    "queue_id": ("queue_id",),
}
#: In `Label.edits`: what was said of each claim, by its id.
CLAIM_LABELS = "claim_labels"
#: A column named like this is a label for that metric.
_METRIC_COLUMNS = {"faithful": "faithfulness", "grounded": "faithfulness", "correct": "correctness"}
_LABEL_COLUMNS = (
    "item", "repeat", "target", "metric", "label", "reviewer", "note", "systematic", "adjudicated", "answer_id",
    "source", "design", "band", "probability", "run", "queue_id", "claim_labels",
)  # fmt: skip


def read_labels(
    path: str | Path, *, metrics: Collection[str] = (), metric: str | None = None, lower_is_better: Collection[str] = ()
) -> list[HumanLabel]:
    """The labels in a CSV, TSV or JSON Lines file, or in a review queue (`.sqlite`, or a database URL).

    Columns: `id` and `label`, and if there are any `metric`, `repeat`, `target` (a chunk's or claim's id), `reviewer`,
    `note`, `answer_id`, `design`. Instead of `label`, a column named like a metric of `metrics` (or `faithful`,
    `correct`) holds its labels. Labels without a metric are for `metric`. Empty and "unsure" ones are left out.

    Raises `InputError` that lists up to 20 problems, each with its line.
    """
    if "://" in str(path) or Path(path).suffix in (".sqlite", ".db"):
        from ragauge.review import open_queue

        if "://" not in str(path):
            existing_path(path)
        with open_queue(path) as queue:
            return queue_labels(queue.labels(), queue.items(), lower_is_better=lower_is_better)
    found: list[HumanLabel] = []
    problems: list[InputError] = []
    n_rows = 0
    for line, row in rows_of(existing_path(path)):
        n_rows += 1
        if isinstance(row, InputError):
            problems.append(row)
        else:
            try:
                found += _labels(row, str(path), line, metrics, metric, lower_is_better)
            except InputError as problem:
                problems.append(problem)
        if len(problems) >= 20:
            raise InputError.several(problems, unread=True)
    if problems:
        raise InputError.several(problems)
    if not n_rows:
        raise InputError("there are no labels", file=str(path))
    if not found:
        raise InputError(
            f"none of the {n_rows} rows has a label", file=str(path), accepted=ACCEPTED, hint="Fill the column `label`."
        )
    return found


def rows_of(path: Path) -> Iterator[tuple[int | None, Mapping[str, Any] | InputError]]:
    """(line, row) of a CSV, TSV or JSON Lines file; what was neutralised for spreadsheets is as it was."""
    suffixes = [suffix.lower() for suffix in path.suffixes]
    if any(suffix in (".jsonl", ".ndjson", ".json") for suffix in suffixes):
        for row in json_lines(path):
            yield (None, row) if isinstance(row, InputError) else (row.line, row.data)
    elif any(suffix in (".csv", ".tsv") for suffix in suffixes):
        yield from read_csv_rows(path, unescape=True)
    else:
        raise InputError("labels are read by suffix", file=str(path), accepted=".csv | .tsv | .jsonl | .sqlite")


def _labels(
    row: Mapping[str, Any],
    file: str,
    line: int | None,
    metrics: Collection[str],
    metric: str | None,
    lower: Collection[str],
) -> Iterator[HumanLabel]:
    names = {str(name).strip().casefold(): name for name in row}

    def given(field: str) -> Any:
        for spelling in _NAMES[field]:
            value = row.get(names[spelling]) if spelling in names else None
            if value is not None and str(value).strip():
                return value
        return None

    item = given("item")
    if item is None:
        raise InputError(
            "no item", file=file, line=line, field="id", accepted=" | ".join(_NAMES["item"]),
            hint=f"The columns are: {', '.join(map(str, row))}.",
        )  # fmt: skip
    wide = {
        by_name: row[name]
        for folded, name in names.items()
        if (by_name := _METRIC_COLUMNS.get(folded, str(name).strip())) in metrics
        or (folded in _METRIC_COLUMNS and not metrics)
    }
    label_columns = [spelling for spelling in _NAMES["label"] if spelling in names]
    if not label_columns and not wide:
        raise InputError(
            "no label column", file=file, line=line, field="label", accepted=" | ".join(_NAMES["label"]),
            hint=f"The columns are: {', '.join(map(str, row))}.",
        )  # fmt: skip
    said = given("metric")
    if said is not None and metrics and str(said).strip() not in metrics:
        raise InputError(
            "a label for a metric that the run has not", file=file, line=line, field="metric", found=str(said),
            accepted=", ".join(sorted(metrics)[:12]),
        )  # fmt: skip
    values = dict(wide) if not label_columns else {str(said).strip() if said is not None else metric: given("label")}
    source = given("source")
    for name, text in values.items():
        try:
            value = None if text is None else label_value(_plain(text), lower_is_better=name in lower)
        except ValueError as problem:
            raise InputError(
                str(problem), file=file, line=line, field="label", found=str(text)[:60], accepted=ACCEPTED
            ) from None
        if value is None:
            continue
        yield HumanLabel(
            item=str(item).strip(),
            value=value[0],
            metric=name,
            repeat=_count(given("repeat"), file, line),
            target=None if given("target") is None else str(given("target")).strip(),
            reviewer=str(given("reviewer") or "").strip(),
            note=str(given("note") or ""),
            answer=None if given("answer") is None else str(given("answer")).strip(),
            for_estimation=_flag(given("for_estimation"), source, file, line),
            design=None if given("design") is None else str(given("design")).strip(),
            graded=value[1],
            adjudicated=str(given("adjudicated") or "").strip().casefold() in ("true", "1", "yes"),
        )


def _plain(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value)


def _count(value: Any, file: str, line: int | None) -> int:
    text = str(value if value is not None else 0).strip()
    if not (text.isascii() and text.isdigit()):
        raise InputError("no count", file=file, line=line, field="repeat", found=text, accepted="0, 1, 2 …")
    return int(text)


def _flag(value: Any, source: Any, file: str, line: int | None) -> bool | None:
    if value is not None:
        text = str(value).strip().casefold()
        if text not in ("true", "false", "1", "0", "yes", "no"):
            raise InputError(
                "neither yes nor no", file=file, line=line, field="for_estimation", found=text, accepted="true | false"
            )
        return text in ("true", "1", "yes")
    said = str(source).strip() if source is not None else ""
    return said in FOR_ESTIMATION if said in NEUTRAL else None  # other tools' `source` means something else


def claim_words(label: Label) -> dict[str, str]:
    """What a label says of single claims (or passages), by their ids."""
    found = (label.edits or {}).get(CLAIM_LABELS)
    return {str(name): str(value) for name, value in found.items()} if isinstance(found, dict) else {}


def queue_labels(
    labels: Iterable[Label],
    items: Iterable[ReviewItem],
    *,
    lower_is_better: Collection[str] = (),
    claims: bool = False,
) -> list[HumanLabel]:
    """The labels of a queue, as `calibrate` reads them; those that are no verdict (of log questions) are left out.

    `claims`: instead of what was said of whole answers, what was said of their single claims.
    """
    by_id = {item.id: item for item in items}
    found = []
    for label in labels:
        item = by_id.get(label.item_id)
        if item is None or item.metric == "golden":
            continue
        said = claim_words(label) if claims else {item.target: label.label}
        for target, word in said.items():
            try:
                value = label_value(word, lower_is_better=item.metric in lower_is_better)
            except ValueError:
                raise UsageError(
                    f"{label.reviewer} labelled {item.item!r} {word!r}, which says nothing of {item.metric}",
                    hint=f"Accepted: {ACCEPTED}.",
                ) from None
            if value is not None:
                found.append(_human(label, item, target, value))
    return found


def _human(label: Label, item: ReviewItem, target: str | None, value: tuple[float, bool]) -> HumanLabel:
    return HumanLabel(
        item=item.item,
        value=value[0],
        metric=item.metric,
        repeat=item.repeat,
        target=target,
        reviewer=label.reviewer,
        note=label.note,
        answer=item.answer,
        for_estimation=item.source in FOR_ESTIMATION or item.design is not None,
        design=item.design,
        graded=value[1],
        adjudicated=label.adjudicated,
    )


def label_records(labels: Iterable[Label], items: Iterable[ReviewItem]) -> Iterator[dict[str, Any]]:
    """Labels as flat records, each with what it is about."""
    by_id = {item.id: item for item in items}
    for label in labels:
        item = by_id[label.item_id]
        yield {
            "item": item.item,
            "repeat": item.repeat,
            "target": item.target,
            "metric": item.metric,
            "label": label.label,
            "reviewer": label.reviewer,
            "note": label.note or None,
            "systematic": label.systematic,
            "adjudicated": label.adjudicated or None,
            "answer_id": item.answer,
            "source": item.source,
            "design": item.design,
            "band": item.band,
            "probability": item.probability,
            "run": item.run,
            "queue_id": item.id,
            "claim_labels": json.dumps(claim_words(label), ensure_ascii=False) if claim_words(label) else None,
        }


def label_record(label: HumanLabel, lower_is_better: Collection[str] = ()) -> dict[str, Any]:
    """A label as a record that `read_labels` reads back as an equal one."""
    words = {1.0: "pass", 0.5: "partial", 0.0: "fail"}
    number = 1.0 - label.value if label.metric in lower_is_better else label.value
    record = {
        "item": label.item,
        "repeat": label.repeat or None,
        "target": label.target,
        "metric": label.metric,
        "label": str(number) if label.graded or label.value not in words else words[label.value],
        "reviewer": label.reviewer or None,
        "note": label.note or None,
        "answer_id": label.answer,
        "for_estimation": label.for_estimation,
        "design": label.design,
        "adjudicated": label.adjudicated or None,
    }
    return {name: value for name, value in record.items() if value is not None}


def write_labels(path: Path, labels: Iterable[Label], items: Iterable[ReviewItem]) -> int:
    """Write labels as CSV (formulas neutralised) or JSON Lines; how many."""
    return _write(path, label_records(labels, items), _LABEL_COLUMNS)


def write_sheet(path: Path, items: Iterable[ReviewItem], *, blind: bool = True) -> int:
    """Write a sheet to label in a spreadsheet: one row for each item, columns `label` and `note` empty."""

    def rows() -> Iterator[dict[str, Any]]:
        for item in items:
            shown = item.shown(blind=blind)
            contexts = shown.get("contexts") or []
            record = {
                "queue_id": item.id,
                "item": item.item,
                "repeat": item.repeat,
                "target": item.target,
                "metric": item.metric,
                "label": None,
                "note": None,
                "why": shown["reason"],
                "question": shown.get("question"),
                "answer": shown.get("answer"),
                "text": shown.get("text"),
                "reference": shown.get("reference"),
                "contexts": "\n\n".join(f"[{c.get('id')}] {c.get('text', '')}" for c in contexts) or None,
            }
            if not blind:
                record["verdict"] = json.dumps(shown.get("verdict"), ensure_ascii=False)
            yield record

    columns = (
        "queue_id", "item", "repeat", "target", "metric", "label", "note", "why", "question", "answer", "text",
        "reference", "contexts", *(() if blind else ("verdict",)),
    )  # fmt: skip
    return _write(path, rows(), columns)


def _write(path: Path, rows: Iterable[dict[str, Any]], columns: Iterable[str]) -> int:
    if path.suffix.lower() == ".csv":
        return write_csv(path, rows, tuple(columns))
    if path.suffix.lower() not in (".jsonl", ".ndjson"):
        raise InputError("written by suffix", file=str(path), accepted=".csv | .jsonl")
    lines = [
        json.dumps({k: v for k, v in row.items() if v is not None}, ensure_ascii=True, allow_nan=False) for row in rows
    ]
    write_lines(path, lines)
    return len(lines)


def write_lines(path: Path, lines: Iterable[str]) -> None:
    """Write a text file whole or not at all."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with replacing(path) as beside:
            beside.write_text("".join(line + "\n" for line in lines), encoding="utf-8", newline="\n")
    except OSError as problem:
        raise StoreError(f"cannot write {path}: {problem.strerror or problem}") from problem


def unknown_items(labels: Iterable[HumanLabel], known: Collection[str]) -> None:
    """`UnknownName` when not a single label is about an item of the run: most likely the wrong file."""
    names = [label.item for label in labels]
    if names and not set(names) & set(known):
        raise UnknownName("item of this run in the labels", names[0], known)
