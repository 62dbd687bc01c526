"""The text file is valid in Prometheus' exposition format, and says what the run says."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from ragauge.analysis.summarise import summarise
from ragauge.core.run import Summary
from ragauge.core.sample import Usage
from ragauge.errors import Reason
from ragauge.outlets.prometheus import prometheus_text
from ragauge.store.rundir import RunDir
from ragauge.testing.runs import a_run

NAME = r"[a-zA-Z_:][a-zA-Z0-9_:]*"
LABEL = r'[a-zA-Z_][a-zA-Z0-9_]*="((?:[^"\\\n]|\\[\\"n])*)"'
SAMPLE = re.compile(rf"({NAME})(?:\{{({LABEL}(?:,{LABEL})*)\}})? ([-+]?\d+(?:\.\d+)?(?:e[-+]?\d+)?)")


def parse(text: str) -> dict[str, dict[str, float]]:
    """Family → labels as written → value. Fails on anything that the format (0.0.4) does not allow."""
    assert text.endswith("\n")
    families: dict[str, dict[str, float]] = {}
    helped: set[str] = set()
    current = None
    for line in text[:-1].split("\n"):
        if line.startswith("# HELP "):
            name = line.split(" ", 3)[2]
            assert name not in helped, "a family is written twice"
            helped.add(name)
        elif line.startswith("# TYPE "):
            _, _, current, kind = line.split(" ")
            assert kind in ("gauge", "counter")
            assert (kind == "counter") == current.endswith("_total")
            assert current in helped
            families[current] = {}
        else:
            match = SAMPLE.fullmatch(line)
            assert match, line
            assert match[1] == current, "samples of a family stand together"
            assert (match[2] or "") not in families[current], "a series is written twice"
            families[current][match[2] or ""] = float(match[SAMPLE.groups])
    return families


def run(tmp_path: Path, **more: object) -> RunDir:
    values = {f"q{i}": {"recall@5:doc": float(i % 2), "correctness": 1.0} for i in range(8)}
    values["q8"] = {"recall@5:doc": Reason.NO_RELEVANT, "correctness": Reason.TIMED_OUT}  # type: ignore[dict-item]
    return a_run(tmp_path, values, **more)  # type: ignore[arg-type]


def test_values_intervals_and_counts_are_those_of_the_run(tmp_path: Path) -> None:
    made = run(tmp_path)
    summary = summarise(made.manifest, made.records())
    found = parse(prometheus_text(made.manifest, summary))
    recall = 'suite="golden",metric="recall@5:doc"'
    assert found["ragauge_eval_metric_value"][f'{recall},split="all"'] == 0.5
    assert found["ragauge_eval_metric_ci_lower"][f'{recall},split="all"'] == summary.metrics["recall@5:doc"].low
    assert found["ragauge_eval_metric_ci_upper"][f'{recall},split="all"'] == summary.metrics["recall@5:doc"].high
    items = found["ragauge_eval_items"]
    assert items[f'{recall},status="scored"'] == 8
    assert items[f'{recall},status="not_applicable"'] == 1
    assert items['suite="golden",metric="correctness",status="error"'] == 1
    assert found["ragauge_last_run_timestamp_seconds"] == {'suite="golden"': 1769854323.0}
    assert found["ragauge_build_info"] == {'version="0.1.0"': 1.0}
    assert "ragauge_judge_requests_total" not in found, "the judge asked no model"


def test_what_judging_used_and_the_gate_are_told_where_they_are_known(tmp_path: Path) -> None:
    made = run(tmp_path)
    usage = Usage(calls=7, cached_calls=2, tokens_in=100, tokens_out=10, cost_usd=0.25)
    summary = summarise(made.manifest, made.records()).model_copy(update={"usage": usage})
    found = parse(prometheus_text(made.manifest, summary, suite="nightly", gate=-1))
    who = 'provider="embedded",model=""'
    assert found["ragauge_judge_requests_total"] == {who: 7}
    assert found["ragauge_judge_cache_hits_total"] == {who: 2}
    assert found["ragauge_judge_tokens_total"] == {f'{who},direction="in"': 100, f'{who},direction="out"': 10}
    assert found["ragauge_judge_cost_usd_total"] == {who: 0.25}
    assert found["ragauge_gate_status"] == {'suite="nightly"': -1}


@pytest.mark.parametrize("name", ['a"b', "a\\", 'a\nb{x="1"} 2', "\x00\u202e", '"} 1\nevil_metric 2', "é 界"])
def test_a_hostile_name_stays_inside_its_label(tmp_path: Path, name: str) -> None:
    made = run(tmp_path)
    text = prometheus_text(made.manifest, Summary(n_rows=0, metrics={}), suite=name)
    assert set(parse(text)) == {"ragauge_last_run_timestamp_seconds", "ragauge_build_info"}


def test_a_metric_that_nothing_was_scored_on_has_counts_and_no_value(tmp_path: Path) -> None:
    made = a_run(tmp_path, {"q": {"recall": Reason.NO_LABELS}})
    found = parse(prometheus_text(made.manifest, summarise(made.manifest, made.records())))
    assert "ragauge_eval_metric_value" not in found
    assert found["ragauge_eval_items"]['suite="golden",metric="recall",status="not_applicable"'] == 1
