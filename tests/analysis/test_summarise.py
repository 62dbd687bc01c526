from __future__ import annotations

import itertools

import pytest

from ragauge.analysis.columns import tabulate
from ragauge.analysis.rowcheck import check_row
from ragauge.analysis.summarise import summarise
from ragauge.analysis.thresholds import Thresholds, resolve_thresholds
from ragauge.core.judge import JudgeInfo
from ragauge.core.metric import MetricInfo, MetricSpec, Need
from ragauge.core.run import DatasetInfo, Manifest, MetricUsage, Record
from ragauge.core.sample import GoldenItem, Labels, Response, Sample, Usage
from ragauge.core.score import Scored, Unscored, unscored
from ragauge.core.system import SystemInfo
from ragauge.core.verdict import Verdict
from ragauge.errors import Reason

FAITH = MetricInfo(name="faithfulness", title="F", needs=frozenset({Need.ANSWER}), half="generation")
HIT = MetricInfo(name="hit_rate", title="H", needs=frozenset({Need.LABELS}), half="retrieval", kind="rate")
WRONG = MetricInfo(
    name="wrong_abstention", title="W", needs=frozenset(), half="generation", better="lower", kind="rate"
)

HALF = (Verdict(id="c1", label="supported"), Verdict(id="c2", label="contradicted"))


def manifest(*specs: tuple[str, MetricInfo], n_items: int | None = None, repeats: int = 1) -> Manifest:
    return Manifest(
        run="r",
        command="run",
        created="2026-01-01T00:00:00Z",
        ragauge="0",
        python="3",
        platform="p",
        repeats=repeats,
        dataset=DatasetInfo(name="d", fingerprint="f", n_items=n_items, n_verified=n_items),
        system=SystemInfo(name="s", kind="callable", fingerprint="f"),
        metrics=tuple(MetricSpec(key=key, info=info) for key, info in specs),
        thresholds=resolve_thresholds({}).model_dump(mode="json"),
    )


_places = itertools.count()


def row(
    item: str, repeat: int = 0, *, verified: bool = True, error: str | None = None, **scores: Scored | Unscored
) -> Record:
    golden = GoldenItem(id=item, question="q?", verified=verified)
    sample = Sample(item=golden, response=Response(answer="a", total_ms=10), repeat=repeat)
    return Record(index=next(_places), sample=sample, scores=scores, error=error)


def test_means_print_how_many_were_scored_and_how_many_of_each_kind_were_not() -> None:
    rows = [row("a", faithfulness=Scored(value=1.0))]
    rows += [row(f"e{n}", faithfulness=unscored(Reason.JUDGE_UNAVAILABLE)) for n in range(7)]
    result = summarise(manifest(("faithfulness", FAITH)), rows).metrics["faithfulness"]
    assert (result.value, result.n, result.n_asked, result.n_errors) == (1.0, 1, 8, 7)
    assert result.unscored == {Reason.JUDGE_UNAVAILABLE: 7}


def test_nothing_scored_is_no_number() -> None:
    result = summarise(manifest(("faithfulness", FAITH)), [row("a", faithfulness=unscored(Reason.NO_ANSWER))])
    assert result.metrics["faithfulness"].estimate is None
    assert result.metrics["faithfulness"].verdict == "none"


def test_repeats_of_a_question_are_averaged_first_and_do_not_count_as_questions() -> None:
    rows = [row("a", repeat, faithfulness=Scored(value=value)) for repeat, value in enumerate((0.0, 1.0, 1.0, 0.0))]
    rows.append(row("b", faithfulness=Scored(value=1.0)))
    result = summarise(manifest(("faithfulness", FAITH)), rows).metrics["faithfulness"]
    assert (result.value, result.n) == (0.75, 2)


def test_a_question_that_was_scored_in_one_of_its_repeats_is_scored() -> None:
    rows = [row("a", 0, faithfulness=unscored(Reason.TIMED_OUT)), row("a", 1, faithfulness=Scored(value=0.5))]
    column = tabulate(manifest(("faithfulness", FAITH)), rows).columns["faithfulness"]
    assert column.values == {"a": 0.5}
    assert column.unscored == {}


def test_questions_about_one_document_widen_the_interval() -> None:
    def rows(documents: list[str]) -> list[Record]:
        made = []
        for place, document in enumerate(documents):
            golden = GoldenItem(id=f"q{place}", question="q", sources=(document,))
            value = 1.0 if document in ("d0", "d1", "d2", "d3", "d4", "d5", "d6") else 0.0
            sample = Sample(item=golden, response=Response(), labels=Labels(documents={document: 1}))
            made.append(Record(index=place, sample=sample, scores={"faithfulness": Scored(value=value)}))
        return made

    clustered = summarise(manifest(("faithfulness", FAITH)), rows([f"d{n % 12}" for n in range(48)])).metrics[
        "faithfulness"
    ]
    assert clustered.estimate is not None
    assert clustered.estimate.low is not None
    assert clustered.estimate.high is not None
    assert "cluster" in clustered.estimate.method
    assert clustered.estimate.high - clustered.estimate.low > 0.4  # 12 documents, not 48 questions


def test_the_worst_rows_are_named_in_the_direction_of_the_metric() -> None:
    rows = [row("good", wrong_abstention=Scored(value=0.0)), row("bad", wrong_abstention=Scored(value=1.0))]
    result = summarise(manifest(("wrong_abstention", WRONG)), rows).metrics["wrong_abstention"]
    assert result.worst == ("bad",)
    assert result.verdict == "broken"


def test_unverified_items_usage_latency_and_completeness_are_summed() -> None:
    rows = [row("a", faithfulness=Scored(value=1.0)), row("b", verified=False, faithfulness=Scored(value=1.0))]
    rows[0] = rows[0].model_copy(
        update={"used": {"faithfulness": MetricUsage(usage=Usage(calls=2, tokens_in=10, cost_usd=0.5))}}
    )
    summary = summarise(manifest(("faithfulness", FAITH), n_items=3), rows)
    assert summary.share_unverified == 0.5
    assert (summary.usage.calls, summary.usage.cost_usd) == (2, 0.5)
    assert summary.latency_ms == {"total_p50": 10, "total_p95": 10}
    assert not summary.complete


@pytest.mark.parametrize(
    ("scores", "outcome", "words"),
    [
        ({"faithfulness": Scored(value=1.0)}, "good", ()),
        ({"hit_rate@5:doc": Scored(value=0.0)}, "bad", ("gold document not retrieved",)),
        (
            {"hit_rate@5:doc": Scored(value=1.0), "hit_rate@5:chunk": Scored(value=0.0)},
            "bad",
            ("gold chunk not retrieved (its document was)",),
        ),
        (
            {"faithfulness": Scored(value=0.5, count=2, verdicts=HALF)},
            "bad",
            ("1 of 2 claims unsupported",),
        ),
        ({"correctness": Scored(value=0.5)}, "bad", ("partly right",)),
        ({"keyword_hits": Scored(value=0.5, details={"missing": ["--max"]})}, "bad", ("missing: --max",)),
        (
            {"faithfulness": unscored(Reason.JUDGE_UNPARSEABLE)},
            "unknown",
            ("faithfulness not scored: judge_unparseable",),
        ),
        ({"faithfulness": unscored(Reason.ABSTAINED)}, "unknown", ("nothing could be scored",)),
        (
            {"wrong_abstention": Scored(value=1.0), "correctness": Scored(value=0.0)},
            "bad",
            ("declined an answerable question",),
        ),
    ],
)  # fmt: skip
def test_a_row_is_good_bad_or_unknown_and_says_why(
    scores: dict[str, Scored | Unscored], outcome: str, words: tuple[str, ...]
) -> None:
    check = check_row(
        row("x").model_copy(update={"scores": scores}), Thresholds.model_validate(resolve_thresholds({}).model_dump())
    )
    assert (check.outcome, check.problems) == (outcome, words)


def test_a_failed_system_is_a_bad_row() -> None:
    assert check_row(row("x", error="boom"), Thresholds()).problems == ("system failed: boom",)


def test_an_items_own_faithfulness_threshold_decides() -> None:
    record = row("x", faithfulness=Scored(value=0.6, count=5))
    lenient = record.sample.model_copy(
        update={"item": record.sample.item.model_copy(update={"faithfulness_threshold": 0.5})}
    )
    assert check_row(record.model_copy(update={"sample": lenient}), resolve_thresholds({})).outcome == "good"
    assert check_row(record, resolve_thresholds({})).outcome == "bad"


def test_verdicts_that_the_judge_is_not_sure_of_are_counted_and_keep_their_place_in_the_denominator() -> None:
    verdicts = tuple(
        Verdict(id=f"c{n}", label="supported" if p >= 0.5 else "not_mentioned", probability=p)
        for n, p in enumerate((0.9, 0.6, 0.4, 0.35, 0.1))
    )
    rows = [row("a", faithfulness=Scored(value=0.4, count=5, verdicts=verdicts))]
    plain = manifest(("faithfulness", FAITH))
    judge = JudgeInfo(name="j", kind="embedded", version="1", fingerprint="f", uncertain=(0.35, 0.65))
    summary = summarise(plain.model_copy(update={"judge": judge}), rows)
    result = summary.metrics["faithfulness"]
    assert (result.n_uncertain, result.n_verdicts, result.value) == (2, 5, 0.4)
    assert any("not sure" in note and "2 of 5 (faithfulness)" in note for note in summary.notes)
    silent = summarise(plain, rows)
    assert (silent.metrics["faithfulness"].n_uncertain, silent.notes) == (0, ())
