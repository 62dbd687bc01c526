"""`ragauge explain`: the arithmetic is computed, and agrees with the measures."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any, ClassVar

import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

from ragauge.cli.explain import command
from ragauge.core.metric import MetricInfo, Need
from ragauge.core.sample import Sample
from ragauge.core.score import Scored
from ragauge.errors import UnknownName, UsageError
from ragauge.ranking import score_one
from ragauge.registry import names
from ragauge.report.worked import RETRIEVED, shown, work_out
from ragauge.testing import a_sample

#: REQUIREMENTS R5: retrieved [B,A,D,C,E], relevant {A,C}, k=5.
PROMISED = {
    "hit_rate@5": 1.0,
    "recall@5": 1.0,
    "precision@5": 0.4,
    "f1@5": 0.571,
    "recall@3": 0.5,
    "reciprocal_rank": 0.5,
    "average_precision": 0.5,
    "ndcg@5": 0.651,
    "context_precision_ids@5": 0.5,
}


def invoke(*args: str) -> str:
    result = CliRunner().invoke(command, list(args), standalone_mode=False)
    if result.exception is not None:
        raise result.exception
    assert result.return_value == 0
    return result.stdout


def document(*args: str) -> dict[str, Any]:
    return json.loads(invoke(*args, "--json"))


@pytest.mark.parametrize("metric", PROMISED)
def test_the_worked_example_is_the_promised_one_with_its_arithmetic(metric: str) -> None:
    found = document(metric)["worked"]
    assert [example["retrieved"] for example in found] == [["B", "A", "D", "C", "E"]]
    assert round(found[0]["value"], 3) == PROMISED[metric]
    text = invoke(metric)
    assert f"{metric} = {shown(found[0]['value'])}" in text
    assert "A at rank 2, C at rank 4" in text


def test_recall_is_shown_at_two_cut_offs() -> None:
    assert {example["measure"]: example["value"] for example in document("recall")["worked"]} == {
        "recall@5": 1.0,
        "recall@3": 0.5,
    }


def test_ndcg_shows_both_sums() -> None:
    text = invoke("ndcg@5")
    assert "DCG = 1/log2(3) + 1/log2(5) = 0.6309 + 0.4307 = 1.0616" in text
    assert "best order = 1/log2(2) + 1/log2(3) = 1 + 0.6309 = 1.6309" in text
    assert "1.0616 / 1.6309 = 0.6509" in text


def test_the_arithmetic_follows_the_list_that_is_given() -> None:
    text = invoke("ndcg@5", "--retrieved", "B,A,D", "--relevant", "A,C")
    assert "retrieved [B, A, D], relevant {A, C}" in text
    assert "ndcg@5 = 0.3869" in text
    graded = document("ndcg@2", "--retrieved", "A,B,B,C", "--relevant", "A=1,C=3", "--gain", "exp")["worked"][0]
    assert graded["relevant"] == {"A": 1, "C": 3}
    assert graded["value"] == pytest.approx(score_one("ndcg@2", ["A", "B", "C"], {"A": 1, "C": 3}, gain="exp"))
    assert any("dropped" in step for step in graded["steps"])


WORKED = [
    "hit_rate", "recall", "recall_cap", "precision", "precision_retrieved", "f1", "reciprocal_rank",
    "average_precision", "ndcg", "r_precision", "context_precision_ids", "context_recall_ids", "coverage",
]  # fmt: skip


@given(
    name=st.sampled_from(WORKED),
    retrieved=st.lists(st.sampled_from("ABCDEFGH"), max_size=8),
    grades=st.dictionaries(st.sampled_from("ABCDEFGHIJ"), st.integers(1, 3), min_size=1),
    k=st.none() | st.integers(1, 10),
)
def test_the_last_step_ends_in_the_value(
    name: str, retrieved: list[str], grades: dict[str, int], k: int | None
) -> None:
    if name in ("r_precision", "context_recall_ids"):
        k = None
    found = work_out(name, k, retrieved, grades)
    assert found is not None
    assert found.steps[-1].endswith((f"= {shown(found.value)}", f": {shown(found.value)}"))


@pytest.mark.parametrize("name", names("metrics"))
def test_every_metric_says_what_it_is(name: str) -> None:
    found = document(name)
    for key in ("title", "definition", "source"):
        assert found[key], key
    if name in WORKED:
        assert found["formula"]
        assert found["worked"]
    text = invoke(name)
    for words in (found["title"], "range", "source"):
        assert words in text


def test_without_a_metric_all_are_listed() -> None:
    text = invoke()
    for name in names("metrics"):
        assert name in text
    assert {entry["metric"] for entry in document()["metrics"]} == set(names("metrics"))


def test_other_tools_names_and_granularities_are_understood() -> None:
    assert document("recall")["parameters"] == {"k": 5, "level": "chunk"}
    assert document("MRR")["metric"] == "reciprocal_rank"
    assert document("ndcg_cut_10")["worked"][0]["measure"] == "ndcg@10"
    assert document("recall@5:doc")["parameters"]["level"] == "doc"
    assert [entry["metric"] for entry in document("recall", "f1")["metrics"]] == ["recall", "f1"]


@pytest.mark.parametrize(
    ("args", "error", "words"),
    [
        (["faithfullness"], UnknownName, "faithfulness"),
        (["recall@0"], UsageError, "from 1"),
        (["r_precision@5"], UsageError, "no cut-off"),
        (["faithfulness:doc"], UsageError, "no granularity"),
        (["--retrieved", "A"], UsageError, "which metric"),
        (["ndcg@5", "--relevant", "A=nan"], UsageError, "whole numbers"),
        (["ndcg@5", "--relevant", "A=1.5"], UsageError, "whole numbers"),
        (["recall", "--relevant", "A=0"], UsageError, "nothing is relevant"),
    ],
)
def test_what_cannot_be_explained_is_an_error(args: list[str], error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words):
        invoke(*args)


def test_control_characters_in_ids_never_reach_the_terminal() -> None:
    assert "\x1b" not in invoke("recall", "--retrieved", "\x1b[31mA", "--relevant", "\x1b[31mA")


@dataclass(frozen=True)
class Shouting:
    """Whether the answer is in capitals (0 or 1).

    Formula: 1 if it is.
    """

    info: ClassVar[MetricInfo] = MetricInfo(
        name="shouting", title="Shouting", needs=frozenset({Need.ANSWER}), half="generation", source="us"
    )

    async def score(self, sample: Sample) -> Scored:
        return Scored(value=float((sample.response.answer or "").isupper()))

    @classmethod
    def example(cls) -> tuple[Shouting, Sample]:
        return cls(), a_sample(answer="YES.")


def test_a_metric_that_offers_an_example_is_scored_on_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ragauge.registry.names", lambda group: ["shouting"])
    monkeypatch.setattr("ragauge.registry.load", lambda group, name: Shouting)
    found = document("shouting")
    assert found["scripted"]["score"]["value"] == 1.0
    assert "YES." in invoke("shouting")


def test_the_default_list_is_the_one_of_the_documentation() -> None:
    assert RETRIEVED == ("B", "A", "D", "C", "E")
