"""The JSON of verbs with a document of their own is what its schema in the documentation says."""

from __future__ import annotations

import importlib
import json
from collections.abc import Iterator
from pathlib import Path

import click
import pytest
import yaml
from pydantic import TypeAdapter
from tests.cli.documents import DOCUMENTS, said

from ragauge.cli.main import VERBS, main

REFERENCE = Path(__file__).resolve().parents[2] / "docs" / "reference"
STEPS = [
    {"name": "rewrite", "query": "depth?", "chunks": [{"id": "c2", "text": "b", "rank": 1}]},
    {"name": "search", "chunks": [{"id": "c1", "text": "a", "rank": 1}]},
]
ROWS = [
    {"id": f"q{n}", "question": f"How {n}?", "answer": "So.", "chunks": ["c1"], "steps": STEPS,
     "contexts": [{"id": "c1", "document": "a.md", "text": "a"}]}
    for n in range(3)
]  # fmt: skip


def verbs_with_json() -> Iterator[str]:
    """Every verb that takes --json, with its group before it."""
    for verb, (module, _) in VERBS.items():
        command = importlib.import_module(module).command
        parts = command.commands.items() if isinstance(command, click.Group) else [("", command)]
        for name, part in parts:
            if any("--json" in parameter.opts for parameter in part.params):
                yield f"{verb} {name}".strip()


@pytest.mark.parametrize("name", DOCUMENTS)
def test_the_schema_in_the_documentation_is_the_models(name: str) -> None:
    written = json.loads((REFERENCE / "schemas" / f"{name}.schema.json").read_text(encoding="utf-8"))
    assert written == json.loads(json.dumps(TypeAdapter(DOCUMENTS[name]).json_schema(mode="serialization")))


def test_the_documentation_names_every_schema_and_every_verb_that_prints_json() -> None:
    text = (REFERENCE / "json.md").read_text(encoding="utf-8")
    for schema in (REFERENCE / "schemas").glob("*.schema.json"):
        assert f"schemas/{schema.name}" in text
    verbs = list(verbs_with_json())
    assert {"show", "golden promote", "monitor rows"} <= set(verbs)
    assert [verb for verb in verbs if f"`{verb}`" not in text] == []


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "answers.jsonl").write_text("".join(json.dumps(row) + "\n" for row in ROWS))
    (tmp_path / "golden.yaml").write_text(yaml.safe_dump([{"id": "q1", "question": "How 1?"}]))
    settings = {"golden": "golden.yaml", "system": {"replay": {"path": "answers.jsonl"}}, "judge": "none"}
    (tmp_path / "ragauge.yaml").write_text(yaml.safe_dump(settings))
    (tmp_path / "log.jsonl").write_text('{"question": "How?", "at": "2020-01-01T00:00:00Z"}\n{"id": "x\\ud800"}\n')
    return tmp_path


def test_what_is_printed_fits_its_schema(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert said(capsys, "ask", "ask").response is not None
    assert said(capsys, "ask", "ask", "Something else?", code=3).error
    assert said(capsys, "import", "import", "answers.jsonl", "--out", "ours.jsonl").n == 3
    taken = said(capsys, "monitor-ingest", "monitor", "ingest", "log.jsonl", "--log", "production", code=2)
    assert (taken.taken, taken.n_rejected, taken.rejected[0].line) == (1, 1, 2)
    assert said(capsys, "monitor-compact", "monitor", "compact", "--log", "production").rows == 1
    pruned = said(capsys, "monitor-prune", "monitor", "prune", "--log", "production", "--keep-days", "1")
    assert len(pruned.deleted) == 1
    with pytest.raises(SystemExit):
        main(["score", "answers.jsonl", "--quiet"])
    steps = said(capsys, "show-steps", "show", "--steps")
    assert [one.name for one in steps.steps][:2] == ["rewrite", "search"]
