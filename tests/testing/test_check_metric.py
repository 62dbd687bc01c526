"""Every law of `check_metric` refuses a metric that breaks it."""

from __future__ import annotations

import dataclasses
import random
from dataclasses import dataclass, field
from typing import Any, ClassVar

import pytest

from ragauge.core.judge import Judge
from ragauge.core.metric import MetricInfo, Need
from ragauge.core.sample import Sample
from ragauge.core.score import Scored, Unscored, unscored
from ragauge.core.tasks import CORRECTNESS
from ragauge.core.verdict import Verdict
from ragauge.errors import Reason
from ragauge.testing import LawBroken, ScriptedJudge, a_sample, check_derived, check_metric


def info(*needs: Need, **more: Any) -> MetricInfo:
    return MetricInfo(name="m", title="M", needs=frozenset(needs), half="both", **more)


def length(sample: Sample) -> Scored | Unscored:
    if sample.response.answer is None:
        return unscored(Reason.NO_ANSWER)
    return Scored(value=min(1.0, len(sample.response.answer) / 100))


@dataclass(frozen=True)
class Good:
    """Keeps every law."""

    info: ClassVar[MetricInfo] = info(Need.ANSWER)

    def score(self, sample: Sample) -> Scored | Unscored:
        return length(sample)


@dataclass
class NotFrozen:
    """Can be changed."""

    info: ClassVar[MetricInfo] = info(Need.ANSWER)

    def score(self, sample: Sample) -> Scored | Unscored:
        return length(sample)


class NoDataclass:
    """Has no fields."""

    info: ClassVar[MetricInfo] = info(Need.ANSWER)

    def score(self, sample: Sample) -> Scored | Unscored:
        return length(sample)


@dataclass(frozen=True)
class TooManyParameters:
    """Seven of them."""

    a: int = 0
    b: int = 0
    c: int = 0
    d: int = 0
    e: int = 0
    f: int = 0
    g: int = 0
    info: ClassVar[MetricInfo] = info(Need.ANSWER)

    def score(self, sample: Sample) -> Scored | Unscored:
        return length(sample)


@dataclass(frozen=True)
class NoCard:
    """Says nothing of itself."""

    def score(self, sample: Sample) -> Scored | Unscored:
        return length(sample)


@dataclass(frozen=True)
class NoDocstring(Good):
    info: ClassVar[MetricInfo] = info(Need.ANSWER)


NoDocstring.__doc__ = None


@dataclass(frozen=True)
class Random:
    """Rolls dice."""

    info: ClassVar[MetricInfo] = info(Need.ANSWER)

    def score(self, sample: Sample) -> Scored | Unscored:
        return Scored(value=random.random()) if sample.response.answer else unscored(Reason.NO_ANSWER)


@dataclass(frozen=True)
class Remembers:
    """Frozen, but what it holds is not."""

    seen: list[int] = field(default_factory=list)
    info: ClassVar[MetricInfo] = info(Need.ANSWER)

    def score(self, sample: Sample) -> Scored | Unscored:
        self.seen.append(1)
        return Scored(value=1 / len(self.seen)) if sample.response.answer else unscored(Reason.NO_ANSWER)


@dataclass(frozen=True)
class OutOfRange:
    """Gives two."""

    info: ClassVar[MetricInfo] = info(Need.ANSWER)

    def score(self, sample: Sample) -> Scored | Unscored:
        return Scored(value=2.0) if sample.response.answer else unscored(Reason.NO_ANSWER)


@dataclass(frozen=True)
class NotANumber:
    """Tries to give NaN."""

    info: ClassVar[MetricInfo] = info(Need.ANSWER)

    def score(self, sample: Sample) -> Scored | Unscored:
        return Scored(value=float("nan")) if sample.response.answer else unscored(Reason.NO_ANSWER)


@dataclass(frozen=True)
class BareFloat:
    """Gives a float."""

    info: ClassVar[MetricInfo] = info(Need.ANSWER)

    def score(self, sample: Sample) -> Any:
        return 0.5 if sample.response.answer else unscored(Reason.NO_ANSWER)


@dataclass(frozen=True)
class HalfARate:
    """A rate of one half for one sample."""

    info: ClassVar[MetricInfo] = info(Need.ANSWER, kind="rate")

    def score(self, sample: Sample) -> Scored | Unscored:
        return Scored(value=0.5) if sample.response.answer else unscored(Reason.NO_ANSWER)


@dataclass(frozen=True)
class ZeroForMissing:
    """No answer counts as 0."""

    info: ClassVar[MetricInfo] = info(Need.ANSWER)

    def score(self, sample: Sample) -> Scored | Unscored:
        return Scored(value=0.0) if sample.response.answer is None else length(sample)


@dataclass(frozen=True)
class ErrorForMissing:
    """No answer is called a failure of the judge."""

    info: ClassVar[MetricInfo] = info(Need.ANSWER)

    def score(self, sample: Sample) -> Scored | Unscored:
        return unscored(Reason.JUDGE_UNPARSEABLE) if sample.response.answer is None else length(sample)


@dataclass(frozen=True)
class UndeclaredInput:
    """Peeks at the reference."""

    info: ClassVar[MetricInfo] = info(Need.ANSWER)

    def score(self, sample: Sample) -> Scored | Unscored:
        _ = sample.item.answer
        return length(sample)


@dataclass(frozen=True)
class DeclaredButUnread:
    """Says that it needs keywords."""

    info: ClassVar[MetricInfo] = info(Need.ANSWER, Need.KEYWORDS)

    def score(self, sample: Sample) -> Scored | Unscored:
        return length(sample)


@dataclass(frozen=True)
class Raises:
    """Lets a KeyError out when there is no answer."""

    info: ClassVar[MetricInfo] = info(Need.ANSWER)

    def score(self, sample: Sample) -> Scored | Unscored:
        if sample.response.answer is None:
            raise KeyError("answer")
        return length(sample)


@dataclass(frozen=True)
class OrderMatters:
    """Looks at the first gold id only."""

    info: ClassVar[MetricInfo] = info(Need.LABELS, Need.CONTEXT)

    def score(self, sample: Sample) -> Scored | Unscored:
        if sample.labels.chunks is None or sample.response.context is None:
            return unscored(Reason.NO_LABELS)
        return Scored(value=float(next(iter(sample.labels.chunks)) in sample.response.context.ids))


@dataclass(frozen=True)
class LosesDetails:
    """Its details are no JSON."""

    info: ClassVar[MetricInfo] = info(Need.ANSWER)

    def score(self, sample: Sample) -> Scored | Unscored:
        if sample.response.answer is None:
            return unscored(Reason.NO_ANSWER)
        return Scored(value=1.0, details={"pair": (1, 2)})


@dataclass(frozen=True)
class TwoVerdictsOnOne:
    """The same id twice."""

    info: ClassVar[MetricInfo] = info(Need.ANSWER)

    def score(self, sample: Sample) -> Scored | Unscored:
        if sample.response.answer is None:
            return unscored(Reason.NO_ANSWER)
        return Scored(value=1.0, verdicts=(Verdict(id="c1", label="yes"), Verdict(id="c1", label="no")))


@dataclass(frozen=True)
class SwallowsJudgeErrors:
    """A judge that fails makes 0."""

    judge: Judge
    info: ClassVar[MetricInfo] = info(Need.ANSWER, Need.JUDGE)

    async def score(self, sample: Sample) -> Scored | Unscored:
        if sample.response.answer is None:
            return unscored(Reason.NO_ANSWER)
        try:
            await self.judge.ask(CORRECTNESS, question="?", answer=sample.response.answer, reference="!")
        except Exception:
            return Scored(value=0.0)
        return Scored(value=1.0)


@dataclass(frozen=True)
class NeverAsksItsJudge:
    """Says that it needs a judge."""

    judge: Judge
    info: ClassVar[MetricInfo] = info(Need.ANSWER, Need.JUDGE)

    def score(self, sample: Sample) -> Scored | Unscored:
        return length(sample)


BAD = [
    (NotFrozen(), "not frozen"),
    (NoDataclass(), "not a dataclass"),
    (TooManyParameters(), "7 parameters"),
    (NoCard(), "no class attribute `info`"),
    (NoDocstring(), "no docstring"),
    (Random(), "different scores"),
    (Remembers(), "different scores"),
    (OutOfRange(), "outside 0.0 to 1.0"),
    (NotANumber(), "raised"),
    (BareFloat(), "neither Scored nor Unscored"),
    (HalfARate(), "neither 0 nor 1"),
    (ZeroForMissing(), "needs answer, but without it still gave"),
    (ErrorForMissing(), "an error that answer is missing"),
    (UndeclaredInput(), "reads reference, which it neither needs nor uses"),
    (DeclaredButUnread(), "needs keywords, but does not read it"),
    (Raises(), "only a SampleError"),
    (OrderMatters(), "order of gold ids"),
    (LosesDetails(), "written as JSON and read back"),
    (TwoVerdictsOnOne(), "two verdicts on one id"),
    (SwallowsJudgeErrors(ScriptedJudge({"correctness": "correct"})), "could not be reached, but its score was"),
    (NeverAsksItsJudge(ScriptedJudge({})), "needs judge, but does not read it"),
]


@pytest.mark.parametrize(("metric", "why"), BAD, ids=lambda value: type(value).__name__ if value else "")
def test_a_metric_that_breaks_a_law_is_refused(metric: Any, why: str) -> None:
    with pytest.raises(LawBroken, match=why.replace("(", r"\(")):
        check_metric(metric, a_sample(gold="a z"))


def test_a_metric_that_keeps_the_laws_is_accepted() -> None:
    assert check_metric(Good(), a_sample(answer="x" * 50)) == Scored(value=0.5)


def test_a_sample_that_the_metric_cannot_score_shows_nothing() -> None:
    with pytest.raises(LawBroken, match="must be able to score"):
        check_metric(Good(), a_sample(answer=None))


async def _inside_a_loop() -> Scored:
    return check_metric(Good(), a_sample())


def test_the_check_also_runs_inside_an_event_loop() -> None:
    import asyncio

    assert asyncio.run(_inside_a_loop()).value > 0


def test_reading_the_text_of_chunks_is_told_from_reading_their_ids() -> None:
    @dataclass(frozen=True)
    class ReadsText:
        """Says ids, reads texts."""

        info: ClassVar[MetricInfo] = info(Need.CONTEXT)

        def score(self, sample: Sample) -> Scored | Unscored:
            if sample.response.context is None:
                return unscored(Reason.NO_CONTEXTS)
            return Scored(value=float(any(chunk.text for chunk in sample.response.context)))

    with pytest.raises(LawBroken, match="reads context_text"):
        check_metric(ReadsText(), a_sample())


@dataclass(frozen=True)
class Mean:
    """The mean of all scores; with `lenient`, of those that are there."""

    lenient: bool = False
    info: ClassVar[MetricInfo] = info()

    def derive(self, scores: Any, /) -> Scored | Unscored:
        values = [score.value for score in scores.values() if isinstance(score, Scored)]
        if self.lenient:
            return Scored(value=sum(values) / max(1, len(values)))
        return Scored(value=sum(values) / len(values)) if values else unscored(Reason.NO_COMPONENTS)


def test_a_derived_metric_makes_no_number_of_nothing() -> None:
    scores: dict[str, Scored | Unscored] = {"a": Scored(value=0.25), "b": Scored(value=0.75)}
    assert check_derived(Mean(), scores).value == 0.5
    with pytest.raises(LawBroken, match="a missing score is no number"):
        check_derived(Mean(lenient=True), scores)


def test_a_law_also_holds_when_asserts_are_compiled_away() -> None:
    import subprocess
    import sys

    code = "from ragauge.testing.laws import LawBroken, law\ntry: law(False, 'no')\nexcept LawBroken: print('held')\n"
    run = subprocess.run([sys.executable, "-O", "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout == "held\n"


def test_the_kit_needs_no_test_framework() -> None:
    import subprocess
    import sys

    code = "import sys; sys.modules['pytest'] = None; import ragauge.testing as t; print(t.a_sample().id)"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout == "q1\n"


def test_all_bad_metrics_are_distinct() -> None:
    assert len({type(metric) for metric, _ in BAD}) == len(BAD)
    assert all(dataclasses.is_dataclass(metric) or isinstance(metric, NoDataclass) for metric, _ in BAD)
