"""`ragauge rank` on the command line."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from ragauge.cli.rank import command
from ragauge.errors import InputError, UnknownName, UsageError

QRELS = "q1 0 a 1\nq1 0 b 2\nq2 0 c 1\nq3 0 d 0\n"
RUN = "q1 Q0 x 1 3 t\nq1 Q0 a 2 2 t\nq1 Q0 b 3 1 t\nzz Q0 a 1 1 t\n"


@pytest.fixture
def files(tmp_path: Path) -> dict[str, str]:
    contents = {
        "qrels": QRELS,
        "run": RUN,
        "other": RUN.replace("q1 Q0 x 1 3 t\n", ""),
        "lists.json": json.dumps({"q1": ["x", "x", "a"], "q2": ["c"]}),
        "chunks": "q1 Q0 a#0 1 3 t\nq1 Q0 a#7 2 2 t\nq2 Q0 c#1 1 1 t\n",
    }
    for name, content in contents.items():
        (tmp_path / name).write_text(content)
    return {name: str(tmp_path / name) for name in contents}


def invoke(*args: str) -> Any:
    result = CliRunner().invoke(command, list(args), standalone_mode=False)
    if result.exception is not None:
        raise result.exception
    assert result.return_value == 0
    return result


def document(*args: str) -> dict[str, Any]:
    return json.loads(invoke(*args, "--json").stdout)


def test_json_is_one_document_of_the_agreed_shape(files: dict[str, str]) -> None:
    found = document(files["qrels"], files["run"], "--metrics", "mrr,recall@2,P_2", "--per-question")
    assert found["metrics"] == {"reciprocal_rank": 0.5 / 3, "recall@2": 0.5 / 3, "precision@2": 0.5 / 3}
    assert (found["n_questions"], found["missing"], found["ignored"]) == (3, ["q2", "q3"], ["zz"])
    assert found["without_relevant"] == ["q3"]
    assert found["per_question"]["q1"] == {"reciprocal_rank": 0.5, "recall@2": 0.5, "precision@2": 0.5}
    assert found["per_question"]["q2"]["recall@2"] == 0
    assert found["intervals"]["recall@2"]["low"] < 0.5 / 3 < found["intervals"]["recall@2"]["high"]
    assert "per_question" not in document(files["qrels"], files["run"])


def test_switches_change_what_is_counted(files: dict[str, str]) -> None:
    one = ["--metrics", "reciprocal_rank"]
    assert document(files["qrels"], files["run"], *one, "--missing", "skip")["n_questions"] == 1
    assert document(files["qrels"], files["run"], *one, "--empty-relevant", "skip")["n_questions"] == 2
    leveled = document(files["qrels"], files["run"], *one, "--level", "2", "--missing", "skip")
    assert leveled["metrics"]["reciprocal_rank"] == 1 / 3
    deep = document(files["qrels"], files["run"], *one, "--depth", "1")
    assert deep["metrics"]["reciprocal_rank"] == 0
    judged = document(files["qrels"], files["run"], *one, "--judged-only", "--missing", "skip")
    assert judged["metrics"]["reciprocal_rank"] == 1


def test_the_gain_is_a_switch(files: dict[str, str]) -> None:
    values = {
        gain: document(files["qrels"], files["run"], "--metrics", "ndcg", "--gain", gain)["metrics"]["ndcg"]
        for gain in ("linear", "exp", "binary")
    }
    assert len(set(values.values())) == 3


def test_json_lists_and_chunk_ids_are_read(files: dict[str, str]) -> None:
    found = document(files["qrels"], files["lists.json"], "--metrics", "mrr")
    assert found["duplicates"] == {"q1": 1}
    assert found["metrics"]["reciprocal_rank"] == (0.5 + 1) / 3
    collapsed = document(files["qrels"], files["chunks"], "--metrics", "recall@1", "--collapse", "#")
    assert collapsed["metrics"]["recall@1"] == (0.5 + 1) / 3


def test_several_runs_stand_side_by_side(files: dict[str, str]) -> None:
    found = document(files["qrels"], files["run"], files["other"], "--metrics", "mrr")
    assert [r["metrics"]["reciprocal_rank"] for r in found["runs"].values()] == [0.5 / 3, 1 / 3]
    table = invoke(files["qrels"], files["run"], files["other"], "--metrics", "mrr").stdout
    assert "0.1667" in table
    assert "0.3333" in table


def test_the_table_shows_values_with_intervals_and_says_what_is_odd(files: dict[str, str]) -> None:
    result = invoke(files["qrels"], files["run"], "--per-question")
    assert "ndcg@10" in result.stdout
    assert "n=3" in result.stdout
    assert "q1" in result.stdout
    for words in ("2 judged questions are missing", "1 questions of the run are not judged", "no relevant document"):
        assert words in result.stderr


def test_control_characters_in_ids_never_reach_the_terminal(tmp_path: Path) -> None:
    (tmp_path / "q").write_text("\x1b[31mred 0 a 1\n")
    (tmp_path / "r").write_text("\x1b[31mred Q0 a 1 1 t\n\x1b]0;title\x07 Q0 a 1 1 t\n")
    result = invoke(str(tmp_path / "q"), str(tmp_path / "r"), "--per-question")
    assert "\x1b" not in result.stdout + result.stderr
    assert "\x07" not in result.stdout + result.stderr


def test_bad_input_raises_for_the_main_command_to_report(files: dict[str, str]) -> None:
    with pytest.raises(UnknownName, match=r"ndcg"):
        invoke(files["qrels"], files["run"], "--metrics", "ndgc@10")
    with pytest.raises(InputError, match="looks like a run file"):
        invoke(files["run"], files["qrels"])
    far = Path(files["qrels"]).parent / "far"
    far.write_text("z9 Q0 a 1 1 t\n")
    with pytest.raises(InputError, match="no question in common"):
        invoke(files["qrels"], str(far))
    with pytest.raises(UsageError, match="twice"):
        invoke(files["qrels"], files["run"], files["run"])
    with pytest.raises(UsageError, match="standard input"):
        invoke("-", "-")
    with pytest.raises(InputError, match="leaves out 2"):
        invoke(files["qrels"], files["run"], "--missing", "error")
