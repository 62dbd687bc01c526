"""A comparison as people read it."""

from __future__ import annotations

import io
import json
from pathlib import Path

from rich.console import Console

from ragauge.analysis.compare import Comparison, Source, compare
from ragauge.analysis.rowcheck import RowCheck
from ragauge.report import compare as report
from ragauge.report import markdown
from ragauge.report.terminal import row_line
from ragauge.testing.runs import a_run

HOSTILE = "<script>alert(1)</script> | [bold] @everyone `x` \x1b[31m \u202e ![i](http://evil/x.png)"


def comparison(tmp_path: Path, n_worse: int = 12, question: str = "What?", answer: str = "x") -> Comparison:
    items = {f"q{i}": {"question": f"{question} {i}", "answer": answer} for i in range(60)}
    a = a_run(tmp_path, {f"q{i}": {"faithfulness": 1.0} for i in range(60)}, name="a", items=items)
    b = a_run(tmp_path, {f"q{i}": {"faithfulness": float(i >= n_worse)} for i in range(60)}, name="b", items=items)
    (found,) = compare(Source("runs/a", a.manifest, a.records), [Source("runs/b", b.manifest, b.records)])
    return found


def printed(found: Comparison) -> str:
    out = io.StringIO()
    Console(file=out, width=160, highlight=False, markup=False, emoji=False).print(report.terminal(found))
    return out.getvalue()


def test_the_terminal_says_what_got_worse_by_how_much_and_where(tmp_path: Path) -> None:
    text = printed(comparison(tmp_path))
    assert "Worse: faithfulness." in text
    assert "−0.200" in text
    assert "faithfulness: 12 got worse, 0 got better" in text
    assert "and 7 more" in text
    assert "0/12" in text


def test_too_few_questions_say_how_many_would_do(tmp_path: Path) -> None:
    text = printed(comparison(tmp_path, n_worse=3))
    assert "too few questions to tell" in text
    assert "would find 0.1" in text


def many(tmp_path: Path, n_metrics: int = 6) -> Comparison:
    """Two questions got worse in all metrics, one better in the first."""
    keys = [f"recall@{k}:doc" for k in range(1, n_metrics + 1)]
    before = {f"q{i}": {key: float(i != 9 or key != keys[0]) for key in keys} for i in range(12)}
    after = {f"q{i}": {key: float(i > 1) for key in keys} for i in range(12)}
    a, b = a_run(tmp_path, before, name="a"), a_run(tmp_path, after, name="b")
    (found,) = compare(Source("runs/a", a.manifest, a.records), [Source("runs/b", b.manifest, b.records)])
    return found


def test_many_metrics_share_their_lines_and_each_question_is_told_once(tmp_path: Path) -> None:
    found = many(tmp_path)
    text = printed(found)
    assert "6 metrics are undecided: their 12 questions" in text
    assert "Questions that changed: 2 worse, 1 better" in text
    assert text.count("✗ q0") == 1
    assert "recall@1:doc 1.000 → 0.000, recall@2:doc 1.000 → 0.000, recall@3:doc 1.000 → 0.000 and 3 more" in text
    assert "✓ q9" in text
    assert len(text.splitlines()) < 30
    out = io.StringIO()
    Console(file=out, width=160).print(report.terminal(found, details=True))
    detailed = out.getvalue()
    assert detailed.count("q0  1.000 → 0.000") == 6
    assert detailed.count("would find 0.1") == 6
    assert "undecided" not in detailed


def test_hostile_text_neither_reaches_the_terminal_nor_the_page(tmp_path: Path) -> None:
    found = comparison(tmp_path, question=HOSTILE, answer=HOSTILE)
    text = printed(found)
    assert "\x1b" not in text
    assert "\u202e" not in text
    page = report.as_markdown([found])
    assert "<script>" not in page
    assert "@everyone" not in page
    assert "http://" not in page
    assert "![i]" not in page


def test_markdown_begins_with_its_marker_and_keeps_its_tables_whole(tmp_path: Path) -> None:
    page = report.as_markdown([comparison(tmp_path)])
    lines = page.splitlines()
    assert lines[0] == "<!-- ragauge:compare -->"
    head = next(place for place, line in enumerate(lines) if line.startswith("| metric"))
    assert lines[head].count("|") == lines[head + 1].count("|") == lines[head + 2].count("|")
    assert "▼ worse" in lines[head + 2]


def test_markdown_fits_into_a_comment(tmp_path: Path) -> None:
    page = report.as_markdown([comparison(tmp_path, n_worse=50, question="long " * 100)], limit=1500)
    assert len(page) <= 1500
    assert "left out" in page


def test_json_has_the_shape_of_the_design(tmp_path: Path) -> None:
    document = report.document([comparison(tmp_path)])
    assert {"metrics", "flips", "warnings"} <= set(document)
    one = json.loads(json.dumps(document))["metrics"]["faithfulness"]
    assert {"a", "b", "difference", "low", "high", "p", "p_adjusted", "n_pairs", "verdict"} <= set(one)
    assert document["flips"]["faithfulness"]["worse"][0] == "q0"


def test_a_fold_that_would_not_fit_is_left_out_and_said() -> None:
    page = markdown.fitted([["head"], ["x" * 500], ["tail"]], limit=200)
    assert page.startswith("head")
    assert "xxx" not in page
    assert "left out" in page


def test_one_line_of_markdown_stays_one_line() -> None:
    assert "\n" not in markdown.text("a\n\n# b\n```\n")
    assert len(markdown.text("x" * 10_000)) <= 200


def test_a_row_is_one_line_whatever_its_id_holds(tmp_path: Path) -> None:
    run = a_run(tmp_path, {"x\ny": {"faithfulness": 1.0}})
    (record,) = run.records()
    line = row_line(record, RowCheck(outcome="bad", problems=("missing: a\nb",))).plain
    assert "\n" not in line
    assert "x y" in line
    assert "missing: a b" in line
