"""A gate's verdict as people and machines read it."""

from __future__ import annotations

import io
import json
from pathlib import Path
from xml.etree import ElementTree

import pytest
from rich.console import Console

from ragauge.analysis.baseline import make_baseline
from ragauge.analysis.gate import gate
from ragauge.analysis.gate_result import GateResult
from ragauge.analysis.gate_settings import gate_settings
from ragauge.report import gate as report
from ragauge.report.junit import junit
from ragauge.testing.runs import a_run

HOSTILE = "]]><script>alert(1)</script> | @everyone `x` \x1b[31m \u202e \x00 & ![i](http://evil/x.png)"


def judged(tmp_path: Path, n_worse: int = 15, question: str = "What?", **settings: object) -> GateResult:
    items = {f"q{i}": {"question": f"{question} {i}"} for i in range(60)}
    before, after = (
        a_run(
            tmp_path / name,
            {f"q{i}": {"faithfulness": float(i >= n), "recall@5:chunk": 1.0} for i in range(60)},
            name=name,
            items=items,
        )
        for name, n in (("old", 0), ("new", n_worse))
    )
    baseline = make_baseline(before.manifest, before.records())
    return gate(after.manifest, after.records, gate_settings(settings), baseline)


def printed(result: GateResult) -> str:
    out = io.StringIO()
    Console(file=out, width=200, highlight=False, markup=False, emoji=False).print(report.terminal(result))
    return out.getvalue()


def test_a_failure_names_metric_size_and_questions(tmp_path: Path) -> None:
    text = printed(judged(tmp_path))
    assert text.startswith("FAIL: 1 check failed (drop faithfulness)")
    assert "−0.250" in text
    assert "≥ −0.03" in text
    assert "q0  What? 0" in text


def test_what_could_not_be_judged_says_how_many_questions_would_do(tmp_path: Path) -> None:
    text = printed(judged(tmp_path, n_worse=2))
    assert text.startswith("COULD NOT BE JUDGED")
    assert "60 questions cannot decide every check; about" in text


def test_the_point_rule_prints_its_false_alarms(tmp_path: Path) -> None:
    text = printed(judged(tmp_path, drop={"rule": "point"}))
    assert "in which nothing changed" in text


def test_markdown_has_marker_alert_table_and_folded_questions(tmp_path: Path) -> None:
    page = report.as_markdown(judged(tmp_path))
    assert page.startswith("<!-- ragauge:golden -->\n> [!CAUTION]")
    assert "| ✗ `drop faithfulness` |" in page
    assert "<details><summary>drop faithfulness: questions to look at</summary>" in page
    assert len(report.as_markdown(judged(tmp_path / "b", question="long " * 50), limit=1200)) <= 1200


def test_hostile_questions_stay_text_everywhere(tmp_path: Path) -> None:
    result = judged(tmp_path, question=HOSTILE, pass_rate=0.9)
    assert "\x1b" not in printed(result)
    page = report.as_markdown(result)
    for piece in ("<script>", "@everyone", "http://", "![i]", "\x1b", "\x00"):
        assert piece not in page
    root = ElementTree.fromstring(junit(result, questions=True))
    texts = "".join(element.text or "" for element in root.iter())
    assert "<script>" in texts  # as text
    assert root.find(".//script") is None


def test_junit_counts_what_it_holds(tmp_path: Path) -> None:
    result = judged(tmp_path, pass_rate=0.9)
    root = ElementTree.fromstring(junit(result, questions=True, file="golden.yaml"))
    suite = root.find("testsuite")
    assert suite is not None
    cases = suite.findall("testcase")
    assert int(suite.get("tests", "0")) == len(cases) == len(result.checks) + 60
    assert int(suite.get("failures", "0")) == len([c for c in cases if c.find("failure") is not None]) == 2 + 15
    assert {case.get("file") for case in cases} == {"golden.yaml"}
    drop = next(case for case in cases if case.get("name") == "drop faithfulness")
    assert drop.get("classname") == "ragauge.gate.drop"
    values = {p.get("name"): p.get("value") for p in drop.iter("property")}
    assert values["value"] == "0.25"
    assert values["threshold"] == "0.03"
    failure = drop.find("failure")
    assert failure is not None
    assert "q0: What? 0" in (failure.text or "")


def test_questions_redden_a_build_only_on_request(tmp_path: Path) -> None:
    root = ElementTree.fromstring(junit(judged(tmp_path, pass_rate=0.5, drop={"skip": ["faithfulness"]})))
    assert root.get("failures") == "0"


def test_what_could_not_be_judged_is_an_error_in_junit(tmp_path: Path) -> None:
    root = ElementTree.fromstring(junit(judged(tmp_path, n_worse=2)))
    assert root.get("errors") == "1"
    assert root.get("failures") == "0"


def test_json_has_the_shape_of_the_design(tmp_path: Path) -> None:
    document = json.loads(report.document(judged(tmp_path), tmp_path).model_dump_json())
    assert document["verdict"] == "fail"
    for one in document["checks"]:
        assert {"name", "kind", "limit", "observed", "low", "high", "verdict", "n_needed"} <= set(one)


@pytest.mark.parametrize("n_worse, code", [(0, 0), (15, 1), (2, 3)])
def test_verdicts_have_their_exit_codes(tmp_path: Path, n_worse: int, code: int) -> None:
    assert report.EXIT[judged(tmp_path, n_worse=n_worse).verdict] == code
