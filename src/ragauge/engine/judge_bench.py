"""Any judge over texts that people have labelled: asked row by row, what it cost, how long it took."""

from __future__ import annotations

import asyncio
import gzip
import json
import statistics
import time
from collections import Counter
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ragauge.core.judge import Judge, metered
from ragauge.core.sample import RetrievedChunk, Usage, is_blank
from ragauge.core.tasks import CORRECTNESS, SPLIT_CLAIMS, SUFFICIENCY, SUPPORT, USEFULNESS
from ragauge.core.verdict import Claim, Verdict
from ragauge.errors import BudgetSpent, InputError, SampleError

GROUNDING = ("grounding", "citation")
TASKS = (*GROUNDING, "correctness", "relevance", "abstention")
#: Rows of a model judge that are asked at once.
CONCURRENCY = 8


@dataclass(frozen=True)
class LabelledRow:
    """One judged text. `label` 1: supported, correct, relevant, answerable. `group`: what must not be split."""

    id: str
    task: str
    question: str
    contexts: tuple[str, ...]
    text: str
    references: tuple[str, ...]
    label: int
    group: str


@dataclass(frozen=True)
class Asked:
    """What a judge said of one row: the probability of label 1, or why there is none."""

    row: LabelledRow
    probability: float | None
    unscored: str | None
    n_claims: int
    seconds: float


@dataclass
class SetOutcome:
    """All rows of one set, and what judging them used."""

    name: str
    task: str
    asked: list[Asked] = field(default_factory=list)
    usage: Usage = field(default_factory=Usage)
    processor_s: float = 0.0

    @property
    def scored(self) -> list[Asked]:
        """The rows with a probability."""
        return [one for one in self.asked if one.probability is not None]

    @property
    def probabilities(self) -> list[float]:
        """Those of `scored`, in order."""
        return [one.probability for one in self.asked if one.probability is not None]

    @property
    def unscored(self) -> dict[str, int]:
        """Reason → rows without a probability."""
        return dict(sorted(Counter(one.unscored for one in self.asked if one.unscored).items()))

    @property
    def median_latency_s(self) -> float | None:
        """Median seconds per row, waiting for the judge included; None without rows."""
        return statistics.median(one.seconds for one in self.asked) if self.asked else None

    @property
    def claims_per_s(self) -> float | None:
        """Statements judged per second of processor time; None when it was too short to say."""
        n = sum(one.n_claims for one in self.asked)
        return n / self.processor_s if self.processor_s > 0.01 and n else None


def read_labelled(path: Path) -> dict[str, list[LabelledRow]]:
    """Set name → labelled rows, from a file (`.jsonl`, `.jsonl.gz`) or a folder of such files.

    A row has id, task (grounding, citation, correctness, relevance, abstention), text, label (0 or 1), and what its
    task needs: contexts, question, reference. Optional: dataset (else the file's name), group, label_detail with
    gold_answers. Pairwise rows (`text_b`) are left out. A set that has several tasks is one set per task.
    """
    files = sorted(path.glob("*.jsonl")) + sorted(path.glob("*.jsonl.gz")) if path.is_dir() else [path]
    if not files or not path.exists():
        raise InputError("no labelled rows here (NAME.jsonl or NAME.jsonl.gz)", file=str(path))
    found: dict[tuple[str, str], list[LabelledRow]] = {}
    for file in sorted(files):
        for name, row in _rows(file):
            found.setdefault((name, row.task), []).append(row)
    if not found:
        raise InputError("no row with a task and a label that a judge can be measured on", file=str(path))
    tasks = Counter(name for name, _ in found)
    return {name if tasks[name] == 1 else f"{name}_{task}": rows for (name, task), rows in sorted(found.items())}


def _rows(file: Path) -> list[tuple[str, LabelledRow]]:
    opened = gzip.open if file.suffix == ".gz" else open
    made = []
    number = 0
    try:
        with opened(file, "rt", encoding="utf-8") as lines:
            for number, line in enumerate(lines, start=1):
                if line.strip():
                    row = _row(json.loads(line), file, number)
                    if row is not None:
                        made.append(row)
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"cannot be read: {error}", file=str(file)) from error
    except json.JSONDecodeError as error:
        raise InputError(f"this is no JSON: {error}", file=str(file), line=number) from error
    return made


def _row(data: Any, file: Path, number: int) -> tuple[str, LabelledRow] | None:
    if not isinstance(data, dict):
        raise InputError("a row is a JSON object", file=str(file), line=number, found=data)
    if "text_b" in data:
        return None
    for name in ("id", "task", "text", "label"):
        if data.get(name) is None:
            raise InputError("the field is missing", file=str(file), line=number, field=name)
    task, label = data["task"], data["label"]
    if task not in TASKS:
        raise InputError(
            "no such task", file=str(file), line=number, field="task", found=task, accepted=", ".join(TASKS)
        )
    if label not in (0, 1):
        raise InputError("no label", file=str(file), line=number, field="label", found=label, accepted="0 or 1")
    contexts = tuple(str(text) for text in data.get("contexts") or ())
    if task in (*GROUNDING, "abstention") and not contexts:
        return None
    detail = data.get("label_detail")
    golds = (detail.get("gold_answers") if isinstance(detail, dict) else None) or [data.get("reference") or ""]
    name = str(data.get("dataset") or file.name.split(".")[0])
    row = LabelledRow(
        id=str(data["id"]), task=task, question=str(data.get("question") or ""), contexts=contexts,
        text=str(data["text"]), references=tuple(map(str, golds)), label=int(label),
        group=str(data.get("group") or data["id"]),
    )  # fmt: skip
    return name, row


async def bench(
    judge: Judge,
    sets: Mapping[str, Sequence[LabelledRow]],
    *,
    limit: int | None = None,
    concurrency: int = CONCURRENCY,
    told: Callable[[str, int, int], None] | None = None,
) -> AsyncIterator[SetOutcome]:
    """Ask `judge` about every row (the first `limit` of each set); one outcome per set as it finishes.

    A row that could not be judged is kept with its reason. `told` hears (set, rows done, rows). A spent budget ends it.
    """
    for name, rows in sets.items():
        chosen = list(rows[:limit])
        outcome = SetOutcome(name, chosen[0].task)
        gate = asyncio.Semaphore(concurrency)
        started = time.process_time()

        async def one(row: LabelledRow, gate: asyncio.Semaphore = gate, outcome: SetOutcome = outcome) -> Asked:
            async with gate:
                with metered() as meter:
                    asked = await ask_row(judge, row)
                outcome.usage = outcome.usage + meter.usage
                return asked

        for start in range(0, len(chosen), 200):
            outcome.asked += await asyncio.gather(*(one(row) for row in chosen[start : start + 200]))
            if told:
                told(name, len(outcome.asked), len(chosen))
        outcome.processor_s = time.process_time() - started
        yield outcome


async def ask_row(judge: Judge, row: LabelledRow) -> Asked:
    """What `judge` says of one row."""
    started = time.perf_counter()
    try:
        probability, n_claims = await _ASK[row.task](judge, row)
        unscored = None
    except BudgetSpent:
        raise
    except SampleError as error:
        probability, n_claims, unscored = None, 0, error.reason.value
    return Asked(row, probability, unscored, n_claims, time.perf_counter() - started)


def pool(probabilities: Sequence[float]) -> float:
    """The probability that a text of several claims is supported: half the mean, half the least of its claims'.

    The mean alone forgives one invented claim among many, the least alone punishes long texts for one doubtful claim.

    >>> pool([1.0, 0.5])
    0.625
    """
    return 0.5 * sum(probabilities) / len(probabilities) + 0.5 * min(probabilities)


def _chunks(texts: Sequence[str]) -> tuple[RetrievedChunk, ...]:
    return tuple(RetrievedChunk(id=f"k{n}", text=text, rank=n) for n, text in enumerate(texts, start=1))


def _probability(verdict: Verdict, positive: str) -> float:
    if verdict.probability is not None:
        return verdict.probability
    return float(verdict.label == positive)


async def _grounding(judge: Judge, row: LabelledRow) -> tuple[float, int]:
    claims = (await judge.ask(SPLIT_CLAIMS, text=row.text)).claims
    claims = claims or (Claim(id="c1", text=row.text if not is_blank(row.text) else "-"),)
    reply = await judge.ask(SUPPORT, claims=claims, chunks=_chunks(row.contexts))
    return pool([_probability(verdict, "supported") for verdict in reply.verdicts]), len(claims)


async def _correctness(judge: Judge, row: LabelledRow) -> tuple[float, int]:
    said = []
    for reference in row.references:
        reply = await judge.ask(CORRECTNESS, question=row.question, answer=row.text, reference=reference)
        said.append(_probability(reply.verdict, "correct"))
    return max(said), 1


async def _relevance(judge: Judge, row: LabelledRow) -> tuple[float, int]:
    reply = await judge.ask(USEFULNESS, question=row.question, chunks=_chunks((row.text,)), reference=None)
    return _probability(reply.verdicts[0], "useful"), 1


async def _abstention(judge: Judge, row: LabelledRow) -> tuple[float, int]:
    reply = await judge.ask(SUFFICIENCY, question=row.question, chunks=_chunks(row.contexts))
    return _probability(reply.verdict, "sufficient"), 1


_ASK: dict[str, Callable[[Judge, LabelledRow], Any]] = {
    "grounding": _grounding,
    "citation": _grounding,
    "correctness": _correctness,
    "relevance": _relevance,
    "abstention": _abstention,
}
