"""Making rows: order of finishing does not matter, one bad sample harms no other, bugs are loud."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import pytest

from ragauge.core.judge import count_usage
from ragauge.core.metric import MetricInfo, MetricSpec, Need
from ragauge.core.run import Record
from ragauge.core.sample import GoldenItem, Labels, Question, Response, RetrievedContext, Sample, Usage
from ragauge.core.score import Scored, Unscored
from ragauge.core.system import SystemInfo
from ragauge.engine.execute import Execution, Job, Progress, execute
from ragauge.engine.plan import MetricPlan
from ragauge.errors import BudgetSpent, JudgeUnavailable, Reason, SystemFailed
from ragauge.store.jsonl import JsonlWriter, whole_lines


@dataclass(frozen=True)
class Scripted:
    """A metric that does what it is told to, by the question."""

    what: Callable[[Sample], Any]
    info: ClassVar[MetricInfo] = MetricInfo(
        name="scripted", title="S", needs=frozenset({Need.ANSWER}), half="generation"
    )

    async def score(self, sample: Sample) -> Scored | Unscored:
        await asyncio.sleep(0)
        result = self.what(sample)
        if isinstance(result, BaseException):
            raise result
        return Scored(value=result)


@dataclass(frozen=True)
class Echo:
    """A system that answers with the question, unless told otherwise."""

    delay_s: dict[str, float]
    fails: frozenset[str] = frozenset()

    def info(self) -> SystemInfo:
        return SystemInfo(name="echo", kind="callable", fingerprint="f")

    async def respond(self, question: Question, /, *, context: RetrievedContext | None = None) -> Response:
        await asyncio.sleep(self.delay_s.get(question.id, 0))
        if question.id in self.fails:
            raise SystemFailed(f"no answer to {question.id}")
        return Response(answer=question.text)


def jobs(n: int) -> list[Job]:
    return [Job(index, GoldenItem(id=f"q{index}", question=f"question {index}")) for index in range(n)]


def plan(what: Callable[[Sample], Any]) -> MetricPlan:
    metric = Scripted(what)
    return MetricPlan({"scripted": metric}, {}, (MetricSpec(key="scripted", info=metric.info),), {})


def carry_out(path: Path, execution: Execution, todo: list[Job]) -> tuple[list[Record], Progress]:
    with JsonlWriter(path) as writer:
        progress = asyncio.run(execute(execution, todo, writer, lambda record, n_done: None))
    rows = [Record.model_validate_json(line) for _, _, line in whole_lines(path)]
    return sorted(rows, key=lambda row: row.index), progress


def execution(what: Callable[[Sample], Any], system: Echo | None = None, **options: Any) -> Execution:
    return Execution(plan(what), system or Echo({}), lambda item, response: Labels(), **options)


def test_one_row_per_job_whatever_the_order_of_finishing(tmp_path: Path) -> None:
    slow_first = Echo({"q0": 0.05, "q1": 0.02})
    rows, progress = carry_out(tmp_path / "rows", execution(lambda sample: 1.0, slow_first, concurrency=3), jobs(6))
    assert [row.sample.id for row in rows] == [f"q{n}" for n in range(6)]
    assert progress.n_done == 6


def test_a_failing_judgement_is_recorded_and_cancels_nothing(tmp_path: Path) -> None:
    def what(sample: Sample) -> Any:
        return JudgeUnavailable("endpoint down", raw="503") if sample.id == "q3" else 0.5

    rows, _ = carry_out(tmp_path / "rows", execution(what, concurrency=4), jobs(6))
    scores = [row.scores["scripted"] for row in rows]
    assert scores[3] == Unscored(reason=Reason.JUDGE_UNAVAILABLE, detail="endpoint down", raw="503")
    assert [score for place, score in enumerate(scores) if place != 3] == [Scored(value=0.5)] * 5


def test_a_failing_system_leaves_every_metric_unscored_with_the_reason(tmp_path: Path) -> None:
    rows, _ = carry_out(tmp_path / "rows", execution(lambda s: 1.0, Echo({}, frozenset({"q1"}))), jobs(3))
    assert rows[1].error == "no answer to q1"
    assert rows[1].scores == {"scripted": Unscored(reason=Reason.SYSTEM_FAILED, detail="no answer to q1")}
    assert rows[0].scores == rows[2].scores == {"scripted": Scored(value=1.0)}


def test_a_system_that_hangs_times_out_alone(tmp_path: Path) -> None:
    rows, _ = carry_out(tmp_path / "rows", execution(lambda s: 1.0, Echo({"q1": 30}), timeout_s=0.05), jobs(3))
    assert rows[1].scores["scripted"] == Unscored(
        reason=Reason.TIMED_OUT, detail="the system did not answer within 0.05 s"
    )
    assert rows[2].scores["scripted"] == Scored(value=1.0)


def test_waiting_for_a_free_place_does_not_count_against_a_sample(tmp_path: Path) -> None:
    slow = Echo({f"q{n}": 0.04 for n in range(12)})
    rows, _ = carry_out(tmp_path / "rows", execution(lambda s: 1.0, slow, timeout_s=0.4, concurrency=1), jobs(12))
    assert all(row.error is None for row in rows)


def test_a_value_outside_the_metrics_range_is_not_stored(tmp_path: Path) -> None:
    rows, _ = carry_out(tmp_path / "rows", execution(lambda sample: 1.5), jobs(1))
    score = rows[0].scores["scripted"]
    assert isinstance(score, Unscored)
    assert score.reason is Reason.INVALID_SCORE
    assert "1.5, outside its range 0 to 1" in score.detail


def test_a_bug_stops_the_run_loudly_and_names_the_sample_and_the_metric(tmp_path: Path) -> None:
    def what(sample: Sample) -> Any:
        return ZeroDivisionError("oops") if sample.id == "q4" else 1.0

    with pytest.raises(ZeroDivisionError, match="oops") as caught:
        carry_out(tmp_path / "rows", execution(what, concurrency=2), jobs(40))
    assert caught.value.__notes__ == ["while scoring scripted on sample 'q4'"]
    assert len(list(whole_lines(tmp_path / "rows"))) >= 3  # what was finished is kept


def test_a_spent_budget_ends_cleanly_and_leaves_the_unfinished_row_out(tmp_path: Path) -> None:
    def what(sample: Sample) -> Any:
        return BudgetSpent("2 dollars are spent") if int(sample.id[1:]) >= 5 else 1.0

    rows, progress = carry_out(tmp_path / "rows", execution(what, concurrency=1), jobs(50))
    assert progress.spent == "2 dollars are spent"
    assert [row.sample.id for row in rows] == [f"q{n}" for n in range(5)]


def test_no_more_jobs_are_held_than_run_at_once(tmp_path: Path) -> None:
    taken = 0
    most = 0
    done = 0

    def source() -> Any:
        nonlocal taken, most
        for job in jobs(200):
            taken += 1
            most = max(most, taken - done)
            yield job

    def told(record: Record, n_done: int) -> None:
        nonlocal done
        done = n_done

    with JsonlWriter(tmp_path / "rows") as writer:
        asyncio.run(execute(execution(lambda s: 1.0, concurrency=4), source(), writer, told))
    assert most <= 4


def test_what_a_judge_uses_is_counted_for_its_metric_and_row(tmp_path: Path) -> None:
    def what(sample: Sample) -> Any:
        count_usage(Usage(calls=1, tokens_in=int(sample.id[1:])))
        count_usage(Usage(calls=1, cost_usd=0.25))
        return 1.0

    rows, _ = carry_out(tmp_path / "rows", execution(what, concurrency=3), jobs(3))
    assert [row.used["scripted"].usage for row in rows] == [
        Usage(calls=2, tokens_in=n, cost_usd=0.25) for n in range(3)
    ]
