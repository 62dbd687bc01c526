"""A run in MLflow's words, and the settings that say where it goes; nothing here needs MLflow."""

from __future__ import annotations

import io
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from ragauge.analysis.summarise import summarise
from ragauge.errors import SettingsError
from ragauge.outlets.mlflow_names import metrics, mlflow_key, params, write_table
from ragauge.outlets.mlflow_traces import row_name, wanted
from ragauge.outlets.tracking_settings import shown_uri, tracking_settings
from ragauge.store.rundir import RunDir
from ragauge.testing.runs import a_run

Make = Callable[..., RunDir]


def test_metrics_have_intervals_and_say_what_could_not_be_scored(low_run: Make) -> None:
    run = low_run()
    found = metrics(summarise(run.manifest, run.records()), {"good": 0, "bad": 8, "unknown": 1})
    assert found["faithfulness/mean"] == 0.25
    assert found["faithfulness/ci95_lo"] <= 0.25 <= found["faithfulness/ci95_hi"]
    assert (found["faithfulness/scored"], found["faithfulness/error"]) == (8, 1)
    assert (found["items/scored"], found["items/error"], found["rows/bad"]) == (17, 1, 8)
    assert next(iter(found)).endswith("/mean")


def test_a_metric_without_a_single_score_has_no_mean(tmp_path: Path) -> None:
    from ragauge.errors import Reason

    run = a_run(tmp_path, {"q": {"recall@5:doc": Reason.NO_LABELS}})
    found = metrics(summarise(run.manifest, run.records()), {})
    assert "recall_at_5:doc/mean" not in found
    assert found["recall_at_5:doc/not_applicable"] == 1


def test_keys_are_what_mlflow_takes_and_values_are_not_cut(tmp_path: Path) -> None:
    run = a_run(tmp_path, {"q": {"recall@5": 1.0}}, settings={"reference": {"k": 5, "prompt": "x" * 7000}, "a|b@c": 1})
    found = params(run.manifest)
    assert all(re.fullmatch(r"[\w\-. :/]{1,250}", key) for key in found)
    assert found["system.reference.k"] == "5"
    assert found["system.reference.prompt"].startswith("sha256:")
    assert found["system.a_b_at_c"] == "1"
    assert mlflow_key("x" * 300) == "x" * 250


def test_the_table_has_every_row_and_why_a_value_is_missing(low_run: Make) -> None:
    out = io.StringIO()
    write_table(low_run(), out)
    table = json.loads(out.getvalue())
    rows = [dict(zip(table["columns"], row, strict=True)) for row in table["data"]]
    assert len(rows) == 9
    assert (rows[0]["faithfulness"], rows[8]["faithfulness"]) == (0.25, None)
    assert rows[8]["faithfulness:unscored"] == "timed_out"
    assert isinstance(rows[0]["tags"], str)


def test_the_same_questions_are_sampled_in_every_run() -> None:
    outcomes = {(f"q{n}", 0): "bad" if n % 3 == 0 else "good" for n in range(300)}
    assert wanted("none", outcomes) == set()
    assert wanted("all", outcomes) == set(outcomes)
    assert len(wanted("failures", outcomes)) == 100
    assert wanted("auto", outcomes) == wanted("failures", outcomes)
    assert wanted("auto", dict.fromkeys(list(outcomes)[:200], "good")) == set(list(outcomes)[:200])
    sampled = wanted("sample:20", outcomes)
    assert len(sampled) == 20
    assert sampled == wanted("sample:20", dict(reversed(outcomes.items())))


def test_settings_say_where_runs_go(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRACKING", "http://ada:secret@mlflow.example:5000")
    assert tracking_settings({}, tmp_path) is None
    found = tracking_settings({"mlflow": {}}, tmp_path)
    assert found is not None
    assert found.uri == f"sqlite:///{(tmp_path / 'mlflow.db').resolve().as_posix()}"
    served = tracking_settings({"mlflow": {"uri": "${TRACKING}"}}, tmp_path, traces="sample:9")
    assert served is not None
    assert (shown_uri(served.uri), served.traces) == ("http://ada:***@mlflow.example:5000", "sample:9")


@pytest.mark.parametrize(
    ("section", "says"),
    [
        ({"mlflow": {"uri": "file:./mlruns"}}, "sqlite:///mlflow.db"),
        ({"mlflow": {"uri": "mlruns"}}, "mlflow migrate-filestore"),
        ({"mlflow": {"traces": "some"}}, "sample:N"),
        ({"mlflow": {"experimant": "x"}}, "Did you mean 'experiment'"),
        ({"wandb": {}}, "unknown setting tracking.wandb"),
    ],
)
def test_a_wrong_setting_is_told(tmp_path: Path, section: dict[str, Any], says: str) -> None:
    with pytest.raises(SettingsError) as caught:
        tracking_settings(section, tmp_path)
    assert says in str(caught.value)


def test_prompts_are_logged_as_long_as_they_are_those_that_were_used(tmp_path: Path) -> None:
    from ragauge.core.judge import JudgeInfo
    from ragauge.outlets.mlflow_artifacts import prompts_of
    from ragauge.prompts.loader import load

    used = {"support": load("support").sha256, "usefulness": "0" * 64, "no_such": "1" * 64}
    judge = JudgeInfo(name="openai:x", kind="llm", version="1", fingerprint="f", prompts=used)
    manifest = a_run(tmp_path, {"q": {"recall": 1.0}}).manifest.model_copy(update={"judge": judge})
    assert [prompt.name for prompt in prompts_of(manifest)] == ["support"]
    assert params(manifest)["judge.prompt_sha.support"] == used["support"]


def test_the_flags_in_the_how_to_pages_are_flags_of_the_commands() -> None:
    from ragauge.cli.report import command as report
    from ragauge.cli.track import command as track

    root = Path(__file__).resolve().parents[2] / "docs" / "how-to"
    for verb, command in (("report", report), ("track", track)):
        known = {name for parameter in command.params for name in parameter.opts}
        for page in ("report.md", "alerts.md", "tracking.md"):
            text = (root / page).read_text(encoding="utf-8")
            for line in re.findall(rf"ragauge {verb}\b([^\n`]*)", text):
                assert set(re.findall(r"--[a-z-]+", line.partition("#")[0])) <= known, line


def test_long_ids_that_begin_alike_are_two_rows(tmp_path: Path) -> None:
    ids = ["q" * 300 + end for end in "ab"]
    run = a_run(tmp_path, {one: {"faithfulness": 1.0} for one in ids})
    names = [row_name(record) for record in run.records()]
    assert len(set(names)) == 2
    assert all(len(name) <= 200 for name in names)
