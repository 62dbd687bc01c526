from __future__ import annotations

import json
from pathlib import Path

import pytest
import yaml

from ragauge.cli.init_systems import SYSTEMS
from ragauge.cli.main import main
from ragauge.engine.settings import load_settings
from ragauge.registry import names

ANSWERS = [
    {
        "id": "q1",
        "question": "How?",
        "answer": "So.",
        "contexts": [{"id": "c", "document": "a.md", "text": "So it is."}],
    },
    {"id": "q2", "question": "Why?", "answer": "Because.", "contexts": ["a text"]},
]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "answers.json").write_text(json.dumps(ANSWERS))
    golden = [{"id": one["id"], "question": one["question"]} for one in ANSWERS]
    (tmp_path / "golden.yaml").write_text(yaml.safe_dump(golden))
    settings = {"golden": "golden.yaml", "system": {"replay": {"path": "answers.json"}}}
    (tmp_path / "ragauge.yaml").write_text(yaml.safe_dump(settings))
    return tmp_path


def run(*args: str) -> int:
    with pytest.raises(SystemExit) as ended:
        main(["ask", *args])
    return int(ended.value.code or 0)


def test_one_question_and_what_is_read_in_its_reply(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run() == 0
    said = capsys.readouterr().out
    assert "question   How?" in said
    assert "answer     So." in said
    assert "1. c  (a.md)" in said
    assert run("Why?") == 0
    said = capsys.readouterr().out
    assert "no context names its document" in said
    assert "no context has an id" in said
    assert not (folder / "runs").exists()


def test_json_holds_the_response_or_the_failure(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("--id", "q2", "--json") == 0
    document = json.loads(capsys.readouterr().out)
    assert document["response"]["answer"] == "Because."
    assert document["error"] is None
    assert run("Something else?", "--json") == 3
    document = json.loads(capsys.readouterr().out)
    assert document["response"] is None
    assert "is not recorded" in document["error"]["message"]


@pytest.mark.parametrize("args", [("--id", "q9"), ("x", "--id", "q1"), (" ",), ("--settings", "no.yaml")])
def test_wrong_use_is_a_usage_error(folder: Path, args: tuple[str, ...]) -> None:
    assert run(*args) == 2


@pytest.mark.parametrize("kind", sorted(SYSTEMS))
def test_init_writes_settings_for_every_kind_of_system(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SystemExit) as ended:
        main(["init", ".", "--from", kind])
    assert ended.value.code == 0
    settings = load_settings(tmp_path / "ragauge.yaml")
    found, values = settings.system_kind()
    assert found == kind
    assert kind in names("systems")
    assert values
    page = Path(__file__).parents[2] / (tmp_path / "ragauge.yaml").read_text().partition("test: ")[2].partition("\n")[0]
    assert page.is_file()
    assert (tmp_path / "golden.yaml").is_file()


def test_init_knows_the_nearest_kind(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["init", str(tmp_path), "--from", "langchian"])
    assert ended.value.code == 2
    assert "'langchain'" in capsys.readouterr().err
