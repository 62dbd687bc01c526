"""The answers of the tools, as (short text, structured document); no protocol in here."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ragauge.core.run import Record
from ragauge.core.sample import RetrievedChunk, RetrievedContext
from ragauge.core.tasks import SPLIT_CLAIMS, SUPPORT
from ragauge.errors import InputError, SettingsError, UnknownName
from ragauge.mcp_server.bounded import ITEMS, MOST_ANSWER, MOST_CHUNKS, line, numbers, quoted, short

Answer = tuple[str, dict[str, Any]]
#: So many findings, pieces of advice and chunks stand in the short texts.
N_FINDINGS, N_ADVICE, N_CHUNKS = 2, 3, 5


@dataclass
class Reading:
    """Runs under `base`, and the system and judge of the settings file `config`."""

    base: Path
    config: Path | None = None
    _judge: Any = None
    _system: Any = None

    def summary(self, run: str | None) -> Answer:
        """A run's metrics with their intervals, its diagnosis and who judged."""
        from ragauge.analysis.summarise import summarise
        from ragauge.diagnose.matrix import diagnose
        from ragauge.report.document import run_document
        from ragauge.store.rundir import find_run

        opened = find_run(run, self.base)
        summary = summarise(opened.manifest, opened.records())
        findings = diagnose(summary)
        document = run_document(opened.path, opened.manifest, summary, findings)
        document["run"] = opened.path.name
        lines = [f"run {opened.path.name}: {summary.n_rows} rows, judge {_judge_name(opened.manifest)}"]
        for key, result in summary.metrics.items():
            if result.estimate is not None:
                e = result.estimate
                span = f" ({e.low:.3f}–{e.high:.3f})" if e.low is not None and e.high is not None else ""
                lines.append(f"{key}: {e.value:.3f}{span}, n {e.n}")
        lines += [f"diagnosis: {one.diagnosis} ({one.certainty})" for one in findings[:N_FINDINGS]]
        lines += _more(len(findings) - N_FINDINGS, "findings in the document")
        return "\n".join(lines), numbers(document)

    def failures(self, run: str | None, limit: int) -> Answer:
        """Failing rows with cause and first fix, and what to try first over all of them."""
        from ragauge.diagnose.causes import CAUSES
        from ragauge.diagnose.counterfactuals import read_counterfactuals
        from ragauge.diagnose.diagnosis import diagnose_rows
        from ragauge.store.rundir import find_run

        opened = find_run(run, self.base)
        found = diagnose_rows(opened.manifest, opened.records, read_counterfactuals(opened.path))
        advice = [{"do": one.do, "for": one.n, "causes": one.causes, "check": one.check} for one in found.advice]
        first = {cause: one.do for one in reversed(found.advice) for cause in one.causes}
        rows: list[dict[str, Any]] = [
            {
                "id": row.id, "repeat": row.repeat, "question": short(row.question), "cause": row.cause,
                "certainty": row.certainty, "evidence": [short(one, 300) for one in row.evidence],
                "first_fix": first.get(row.cause), "seen": [short(one, 200) for one in row.problems],
            }
            for row in found.rows[: max(1, min(limit, ITEMS))]
        ]  # fmt: skip
        titles = {row["cause"]: CAUSES[row["cause"]].title for row in rows if row["cause"] in CAUSES}
        head = f"run {opened.path.name}: {found.n_failing} of {found.n_judged} rows fail"
        lines = [head, *(f"try: {one['do']} (for {one['for']} rows)" for one in advice[:N_ADVICE])]
        lines += _more(len(advice) - N_ADVICE, "pieces of advice in the document")
        lines += [f"{line(row['id'], 60)}: {titles.get(row['cause'], row['cause'])}" for row in rows]
        n_left = len(found.rows) - len(rows)
        lines += _more(n_left, f"failing rows (`limit` is at most {ITEMS}; `ragauge diagnose` lists all)")
        text = "\n".join([*lines, quoted([(f"question {n}", row["question"]) for n, row in enumerate(rows, 1)])])
        return text, {"run": opened.path.name, "n_failing": found.n_failing, "n_judged": found.n_judged,
                      **numbers({"advice": advice}), "failures": rows, "failures_left_off": n_left}  # fmt: skip

    def row(self, item: str, run: str | None) -> Answer:
        """One question of a run: answer, chunks, every score with its verdicts."""
        from ragauge.report.row_document import row_document
        from ragauge.store.rundir import find_run

        opened = find_run(run, self.base)
        record, n_repeats, known = _row_of(opened.records(), item)
        if record is None:
            raise UnknownName("row in this run", item, known)
        response = record.sample.response
        every = response.context.chunks if response.context is not None else ()
        chunks = every[:N_CHUNKS]
        pieces = [("question", record.sample.item.question), ("answer", response.answer),
                  ("reference", record.sample.item.answer), *(("chunk", chunk.text) for chunk in chunks)]  # fmt: skip
        ids = ", ".join(line(chunk.id, 60) for chunk in chunks)
        of = f"; the first of {n_repeats} repeats" if n_repeats > 1 else ""
        shown = (
            f"chunks: {ids or 'none'}" if len(every) <= N_CHUNKS else f"first {N_CHUNKS} of {len(every)} chunks: {ids}"
        )
        text = f"row {line(item, 60)} of {opened.path.name}{of}; {shown}\n{quoted(pieces)}"
        return text, {"run": opened.path.name, "n_repeats": n_repeats, **numbers(row_document(record))}

    def compare(self, base: str, new: str) -> Answer:
        """Two runs question by question: differences, intervals, verdicts, flips."""
        from ragauge.analysis.compare import Source, compare
        from ragauge.report import compare as report
        from ragauge.store.rundir import find_run

        opened = [find_run(name, self.base) for name in (base, new)]
        sources = [Source(run.path.name, run.manifest, run.records) for run in opened]
        found = compare(sources[0], sources[1:])
        return short(report.as_markdown(found), 4000) or "", numbers(report.document(found))

    async def search(self, question: str, k: int) -> Answer:
        """What the configured system retrieves for a question now."""
        every = (await self._retrieved(question))[: max(1, k)]
        chunks = every[:ITEMS]
        found = [{"id": c.id, "document": c.document, "score": c.score, "text": short(c.text)} for c in chunks]
        head = f"{len(found)} chunks: " + ", ".join(line(one.id, 60) for one in chunks)
        n_left = len(every) - len(chunks)
        text = "\n".join([head, *_more(n_left, "chunks"), quoted([("chunk", one.text) for one in chunks])])
        return text, {"chunks": found, "chunks_left_off": n_left}

    async def faithfulness(self, answer: str, chunks: Sequence[str] | None, question: str | None) -> Answer:
        """Each claim of an answer against chunks: those given, or those that the configured system finds."""
        if not answer.strip() or len(answer) > MOST_ANSWER:
            raise InputError(f"the answer must have 1 to {MOST_ANSWER} characters", found=len(answer))
        if chunks is not None:
            if len(chunks) > MOST_CHUNKS or sum(map(len, chunks)) > 10 * MOST_ANSWER:
                raise InputError(
                    f"at most {MOST_CHUNKS} chunks of {10 * MOST_ANSWER} characters together", found=len(chunks)
                )
            shown = [RetrievedChunk(id=f"chunk-{n}", text=text, rank=n) for n, text in enumerate(chunks, 1)]
        else:
            shown = await self._retrieved(question or answer)
        judge = self.judge()
        claims = (await judge.ask(SPLIT_CLAIMS, text=answer)).claims
        verdicts = (await judge.ask(SUPPORT, claims=claims, chunks=tuple(shown))).verdicts if claims else ()
        n_good = sum(one.label == "supported" for one in verdicts)
        rows = [
            {"claim": short(one.claim), "label": one.label, "evidence": one.evidence, "quote": short(one.quote, 300),
             "reason": short(one.reason, 300), "probability": one.probability}
            for one in verdicts
        ]  # fmt: skip
        score = n_good / len(verdicts) if verdicts else None
        head = "no claim to check" if score is None else f"{n_good} of {len(verdicts)} claims supported"
        every = [row for row in rows if row["label"] != "supported"]
        bad = every[:ITEMS]
        lines = [head, *(f"{row['label']}: {line(str(row['reason']), 200)}" for row in bad)]
        lines += _more(len(every) - ITEMS, "claims that are not supported")
        text = "\n".join([*lines, quoted([("claim", row["claim"]) for row in bad])])
        return text, {"faithfulness": score, "n_claims": len(verdicts), "judge": judge.info().name,
                      "checked_against": "given chunks" if chunks is not None else [c.id for c in shown],
                      "claims": rows[:MOST_CHUNKS], "n_left_off": max(0, len(rows) - MOST_CHUNKS)}  # fmt: skip

    def judge(self) -> Any:
        """The judge of the settings; the embedded one where there are none."""
        if self._judge is None:
            from ragauge.engine.parts import make_judge
            from ragauge.engine.settings import load_settings

            self._judge = make_judge(load_settings(self.config))
            if self._judge is None:
                raise SettingsError("the settings name no judge (`judge: none`)", hint="Set `judge: embedded`.")
        return self._judge

    async def _retrieved(self, question: str) -> list[RetrievedChunk]:
        if self.config is None:
            raise SettingsError(
                "there is no settings file, so there is no corpus to look in",
                hint="Start with `ragauge mcp --config ragauge.yaml`, or give the chunks.",
            )
        if self._system is None:
            from ragauge.engine.parts import make_system
            from ragauge.engine.settings import load_settings

            self._system = make_system(load_settings(self.config))
        from ragauge.core.sample import Question

        response = await self._system.respond(Question(id="mcp", text=question))
        return list((response.context or RetrievedContext()).with_text)


def _more(n: int, what: str) -> list[str]:
    """A line that says how much was left off, if anything was."""
    return [f"and {n} more {what}"] if n > 0 else []


def _row_of(records: Iterable[Record], item: str) -> tuple[Record | None, int, dict[str, None]]:
    """The first record of an item, how many there are of it, and every item's id."""
    found, n = None, 0
    known: dict[str, None] = {}
    for record in records:
        known[record.sample.item.id] = None
        if record.sample.item.id == item:
            found, n = found or record, n + 1
    return found, n, known


def _judge_name(manifest: Any) -> str:
    return manifest.judge.name if manifest.judge is not None else "none"
