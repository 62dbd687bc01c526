"""Baselines: small, stable, refused when they are none."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from ragauge.analysis.baseline import Baseline, dumps, make_baseline, read_baseline, write_baseline
from ragauge.errors import InputError, NewerVersion, Reason
from ragauge.testing.runs import a_run


def made(tmp_path: Path) -> Baseline:
    run = a_run(
        tmp_path,
        {
            "q2": {"recall@5:doc": 1 / 3, "faithfulness": 1.0},
            "q1": {"recall@5:doc": 1.0, "faithfulness": Reason.ABSTAINED},
        },
    )
    return make_baseline(run.manifest, run.records())


def test_a_baseline_reads_back_as_it_was_written(tmp_path: Path) -> None:
    baseline = made(tmp_path)
    write_baseline(tmp_path / "new" / "baseline.json", baseline)
    assert read_baseline(tmp_path / "new" / "baseline.json") == baseline


def test_the_file_has_one_line_for_each_question_in_a_stable_order(tmp_path: Path) -> None:
    text = dumps(made(tmp_path))
    lines = [line for line in text.splitlines() if line.strip().startswith('"q')]
    assert [line.strip()[:4] for line in lines] == ['"q1"', '"q2"']
    assert "0.333333}" in lines[1]
    assert json.loads(text)["items"]["q1"]["values"] == {"recall@5:doc": 1.0}
    assert text == dumps(Baseline.model_validate(json.loads(text)))


def test_only_some_metrics_can_be_kept(tmp_path: Path) -> None:
    run = a_run(tmp_path, {"q1": {"recall@5:doc": 1.0, "faithfulness": 1.0}})
    baseline = make_baseline(run.manifest, run.records(), ["faithfulness"])
    assert list(baseline.metrics) == ["faithfulness"]
    assert baseline.items["q1"].values == {"faithfulness": 1.0}


@pytest.mark.parametrize("text", ["", "[]", "{}", "not json", '{"ragauge_baseline": "1"}', '{"ragauge_baseline": 1}'])
def test_what_is_no_baseline_is_refused_with_its_name(tmp_path: Path, text: str) -> None:
    path = tmp_path / "b.json"
    path.write_text(text)
    with pytest.raises(InputError, match=r"b\.json"):
        read_baseline(path)


def test_a_missing_file_says_how_to_make_one(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="ragauge baseline"):
        read_baseline(tmp_path / "none.json")


def test_a_baseline_of_a_later_format_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "b.json"
    path.write_text('{"ragauge_baseline": 99}')
    with pytest.raises(NewerVersion, match="newer"):
        read_baseline(path)
