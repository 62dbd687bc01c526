from __future__ import annotations

from typing import Any

import pytest

from ragauge.core.score import Scored, Unscored
from ragauge.errors import Reason, SettingsError
from ragauge.metrics.proxy.number_agreement import NumberAgreement
from ragauge.testing import a_sample, score_now


def score(answer: str, reference: str | None = None, chunk: str | None = None, **options: Any) -> Scored | Unscored:
    retrieved = [("a", chunk)] if chunk is not None else None
    return score_now(NumberAgreement(**options), a_sample(retrieved, answer=answer, reference=reference))


@pytest.mark.parametrize(
    ("answer", "known", "want"),
    [
        ("Port 8125.", "The port is 8125.", 1.0),
        ("Port 8126.", "The port is 8125.", 0.0),
        ("Port 8125, retries 3.", "The port is 8125.", 0.5),
        ("It takes 1.5 GB.", "The limit is 1500 MB.", 1.0),
        ("It takes one hour.", "It takes 60 minutes.", 1.0),
        ("It takes 60 seconds.", "It takes 60 minutes.", 0.0),
    ],
)
def test_numbers_are_compared_with_their_units(answer: str, known: str, want: float) -> None:
    for source in ({"reference": known}, {"chunk": known}):
        scored = score(answer, **source)
        assert isinstance(scored, Scored)
        assert scored.value == want


def test_a_citation_marker_is_no_number() -> None:
    scored = score("Port 8125 [7].", "The port is 8125.")
    assert isinstance(scored, Scored)
    assert (scored.value, scored.count) == (1.0, 1)


def test_the_numbers_that_stand_nowhere_are_named() -> None:
    scored = score("Port 8125 with 3 retries.", "The port is 8125.")
    assert isinstance(scored, Scored)
    assert len(scored.details["disagreeing"]) == 1
    assert "3" in scored.details["disagreeing"][0]


def test_each_source_can_be_asked_alone() -> None:
    both = {"answer": "Port 8125.", "reference": "The port is 8125.", "chunk": "No number."}
    values = []
    for against in ("either", "reference", "context"):
        scored = score(**both, against=against)
        assert isinstance(scored, Scored)
        values.append(scored.value)
    assert values == [1.0, 1.0, 0.0]


def test_a_little_difference_can_be_allowed() -> None:
    strict, lenient = (
        score("About 990 ms.", "It takes 1000 ms."),
        score("About 990 ms.", "It takes 1000 ms.", relative=0.02),
    )
    assert isinstance(strict, Scored)
    assert isinstance(lenient, Scored)
    assert (strict.value, lenient.value) == (0.0, 1.0)


def test_nothing_to_compare_is_no_number() -> None:
    reasons = []
    for case in (
        score("No digits here.", "The port is 8125."),
        score("Port 8125."),
        score("Port 8125.", chunk="Port 8125.", against="reference"),
        score("Port 8125.", reference="Port 8125.", against="context"),
    ):
        assert isinstance(case, Unscored)
        reasons.append(case.reason)
    assert reasons == [Reason.NO_CLAIMS, Reason.NO_REFERENCE, Reason.NO_REFERENCE, Reason.NO_CONTEXTS]


def test_nothing_retrieved_agrees_with_nothing() -> None:
    scored = score_now(NumberAgreement(), a_sample("", answer="Port 8125.", reference=None))
    assert isinstance(scored, Scored)
    assert scored.value == 0.0


def test_senseless_settings_are_refused() -> None:
    with pytest.raises(SettingsError, match="against"):
        NumberAgreement(against="web")  # type: ignore[arg-type]
    with pytest.raises(SettingsError, match="relative"):
        NumberAgreement(relative=-0.1)
