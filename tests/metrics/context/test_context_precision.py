from __future__ import annotations

from typing import Any

import pytest

from ragauge.core.score import Scored, Unscored
from ragauge.errors import Reason, SettingsError
from ragauge.metrics.context.context_precision import ContextPrecision, average_precision
from ragauge.testing import Rounds, ScriptedJudge, a_sample, score_now


def score(said: Any, retrieved: Any = "a b c", **changes: Any) -> Scored | Unscored:
    options = {name: changes.pop(name) for name in ("k", "use_reference") if name in changes}
    return score_now(ContextPrecision(ScriptedJudge({"usefulness": said}), **options), a_sample(retrieved, **changes))


@pytest.mark.parametrize(
    ("labels", "want"),
    [
        (["useful"] * 3, 1.0),
        (["not_useful"] * 3, 0.0),
        (["useful", "not_useful", "useful"], (1 + 2 / 3) / 2),
        (["not_useful", "useful", "not_useful"], 0.5),
        (["not_useful", "not_useful", "useful"], 1 / 3),
    ],
)
def test_averages_the_precision_at_the_useful_ranks(labels: list[str], want: float) -> None:
    scored = score(labels)
    assert isinstance(scored, Scored)
    assert scored.value == want
    assert scored.count == 3
    assert scored.details["useful_share"] == labels.count("useful") / 3


@pytest.mark.parametrize("n", [1, 2, 3, 7, 49, 1000])
def test_all_useful_is_exactly_one(n: int) -> None:
    assert average_precision([True] * n) == 1.0


def test_only_the_first_k_are_judged() -> None:
    scored = score({"a": "useful"}, k=1)
    assert isinstance(scored, Scored)
    assert (scored.value, scored.count) == (1.0, 1)


def test_a_chunk_without_text_keeps_its_rank_and_is_not_asked_about() -> None:
    scored = score({"b": "useful"}, [("a", " "), ("b", "Port 8125.")])
    assert isinstance(scored, Scored)
    assert scored.value == 0.5
    assert [verdict.label for verdict in scored.verdicts] == ["not_useful", "useful"]


def test_the_reference_is_shown_only_when_wanted() -> None:
    for wanted in (True, False):
        judge = ScriptedJudge({"usefulness": "useful"})
        score_now(ContextPrecision(judge, use_reference=wanted), a_sample(reference="Port 8125."))
        assert judge.calls[0].inputs["reference"] == ("Port 8125." if wanted else None)


def test_only_the_chunks_without_a_usable_verdict_are_asked_again() -> None:
    judge = ScriptedJudge(
        {"usefulness": Rounds(["perhaps", "useful", "perhaps"], {"a": "not_useful", "c": "not_useful"})}
    )
    scored = score_now(ContextPrecision(judge), a_sample())
    assert isinstance(scored, Scored)
    assert scored.value == 0.5
    assert [chunk.id for chunk in judge.calls[1].inputs["chunks"]] == ["a", "c"]


def test_a_judge_that_skips_a_chunk_does_not_shrink_the_denominator() -> None:
    unscored = score({"a": "useful"})
    assert isinstance(unscored, Unscored)
    assert unscored.reason is Reason.JUDGE_INCOMPLETE


def test_an_unanswerable_item_has_no_useful_chunk() -> None:
    unscored = score("useful", answerable=False)
    assert isinstance(unscored, Unscored)
    assert unscored.reason is Reason.NO_RELEVANT


@pytest.mark.parametrize("k", [0, -1])
def test_k_counts_from_one(k: int) -> None:
    with pytest.raises(SettingsError, match="k must be"):
        ContextPrecision(ScriptedJudge({}), k=k)
