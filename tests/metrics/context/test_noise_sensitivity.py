from __future__ import annotations

from typing import Any

import pytest

from ragauge.core.score import Scored, Unscored
from ragauge.errors import Reason, SettingsError
from ragauge.metrics.context.noise_sensitivity import NoiseSensitivity
from ragauge.testing import ScriptedJudge, a_sample, score_now

CLAIMS = ["Right.", "Wrong, from noise.", "Wrong, from nowhere.", "Wrong, from the signal."]
HOLDERS = {"c2": {"b"}, "c3": set(), "c4": {"a", "b"}}


def support(claims: Any, chunks: Any) -> dict[str, str]:
    (chunk,) = chunks
    return {claim.id: "supported" if chunk.id in HOLDERS[claim.id] else "not_mentioned" for claim in claims}


SCRIPT = {
    "split_claims": CLAIMS,
    "coverage": ["supported", "not_mentioned", "contradicted", "not_mentioned"],
    "support": support,
}


@pytest.mark.parametrize(("mode", "want"), [("all", 0.5), ("relevant", 0.25), ("irrelevant", 0.25)])
def test_wrong_claims_are_traced_to_relevant_and_irrelevant_chunks(mode: Any, want: float) -> None:
    scored = score_now(NoiseSensitivity(ScriptedJudge(SCRIPT), mode=mode), a_sample("a b", gold="a"))
    assert isinstance(scored, Scored)
    assert (scored.value, scored.count) == (want, 4)
    parts = {name: scored.details[name] for name in ("wrong", "relevant", "irrelevant", "untraced")}
    assert parts == {"wrong": 0.75, "relevant": 0.25, "irrelevant": 0.25, "untraced": 0.25}
    assert scored.details["traced"] == {"c2": ["b"], "c3": [], "c4": ["a", "b"]}
    assert scored.details["relevant_by"] == "labels"


def test_without_labels_the_judge_says_which_chunks_are_relevant() -> None:
    judge = ScriptedJudge({**SCRIPT, "usefulness": ["useful", "not_useful"]})
    scored = score_now(NoiseSensitivity(judge), a_sample("a b", gold=""))
    assert isinstance(scored, Scored)
    assert scored.details["relevant_by"] == "judge"
    assert scored.details["relevant"] == 0.25


def test_an_answer_without_wrong_claims_needs_no_tracing() -> None:
    judge = ScriptedJudge({"split_claims": CLAIMS, "coverage": "supported"})
    scored = score_now(NoiseSensitivity(judge), a_sample("a b"))
    assert isinstance(scored, Scored)
    assert scored.value == 0.0


def test_with_nothing_retrieved_wrong_claims_are_inventions() -> None:
    judge = ScriptedJudge({"split_claims": CLAIMS, "coverage": "not_mentioned"})
    scored = score_now(NoiseSensitivity(judge), a_sample(""))
    assert isinstance(scored, Scored)
    assert scored.value == 0.0
    assert scored.details["untraced"] == 1.0


def test_one_short_column_of_the_matrix_is_an_error_not_a_smaller_number() -> None:
    def lazy(claims: Any, chunks: Any) -> dict[str, str]:
        given = support(claims, chunks)
        return given if chunks[0].id == "a" else dict(list(given.items())[:1])

    unscored = score_now(NoiseSensitivity(ScriptedJudge({**SCRIPT, "support": lazy})), a_sample("a b"))
    assert isinstance(unscored, Unscored)
    assert unscored.reason is Reason.JUDGE_INCOMPLETE


def test_an_unknown_mode_is_refused() -> None:
    with pytest.raises(SettingsError, match="mode must be"):
        NoiseSensitivity(ScriptedJudge({}), mode="noise")  # type: ignore[arg-type]
