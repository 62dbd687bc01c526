"""`ragauge diagnose`, `inspect` and `history` on a small run of the reference pipeline."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from ragauge.cli import diagnose as diagnose_verb
from ragauge.cli import history as history_verb
from ragauge.cli import inspect as inspect_verb
from ragauge.cli import run as run_verb
from ragauge.errors import InputError, SettingsError, StoreError, UnknownName

PAGES = {
    "ports.md": "# Ports\n\nThe agent listens on UDP port 8125. The broker listens on TCP port 7411.\n",
    "keys.md": "# Keys\n\nAn API key is rotated every ninety days. A leaked key is revoked at once by the owner.\n",
    "lunch.md": "# Lunch\n\nThe canteen opens at noon. Coffee is served all day long in the lobby upstairs.\n",
}
GOLDEN = """
- {id: port, question: 'On which port does the agent listen?', answer: 'UDP port 8125', answerable: true,
   keywords: ['8125'], evidence: [{document: ports.md, quote: 'The agent listens on UDP port 8125.'}]}
- {id: rotate, question: 'How often is an API key rotated?', answer: 'Every ninety days', answerable: true,
   keywords: [ninety], evidence: [{document: keys.md, quote: 'An API key is rotated every ninety days.'}]}
- {id: far, question: 'Quel jour mange-t-on ici?', answer: 'At noon', answerable: true,
   keywords: [noon], evidence: [{document: lunch.md, quote: 'The canteen opens at noon.'}]}
"""
SETTINGS = """
golden: golden.yaml
corpus: corpus
judge: null
system:
  reference: {retrieval: bm25, k: 1, generator: extractive, embedding_cache: none}
metrics: [recall@1, hit_rate@1, coverage, keyword_hits, abstention, wrong_abstention, answered_without_context]
"""


def call(verb: Any, *args: str) -> Result:
    result = CliRunner().invoke(verb.command, list(args), standalone_mode=False)
    if result.exception is not None:
        raise result.exception
    return result


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("small")
    (folder / "corpus").mkdir()
    for name, text in PAGES.items():
        (folder / "corpus" / name).write_text(text, encoding="utf-8")
    (folder / "golden.yaml").write_text(GOLDEN, encoding="utf-8")
    (folder / "ragauge.yaml").write_text(SETTINGS, encoding="utf-8")
    call(run_verb, str(folder / "ragauge.yaml"), "--out", str(folder / "runs"), "-q", "--json")
    return folder


@pytest.fixture
def place(made: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    monkeypatch.chdir(made)
    yield made
    for file in made.glob("runs/*/counterfactuals.jsonl"):
        file.unlink()


def test_the_causes_come_with_shares_and_what_to_try(place: Path) -> None:
    found = json.loads(call(diagnose_verb, "--json").stdout)
    assert found["n_rows"] == 3
    assert found["rows"][0]["id"] == "far"
    assert found["causes"][0]["cause"] == "not_retrieved"
    assert found["advice"][0]["fix"] == "hybrid_search"
    assert found["causes"][0]["share"]["low"] is not None
    shown = call(diagnose_verb, "--rows", "--scores").stdout
    assert "Not retrieved (not_retrieved)" in shown
    assert "What to try" in shown
    assert "far" in shown


def test_counterfactuals_are_made_once_and_kept(place: Path) -> None:
    first = call(diagnose_verb, "--counterfactual", "--json")
    (file,) = place.glob("runs/*/counterfactuals.jsonl")
    lines = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]
    assert {line["condition"] for line in lines} == {"gold_context", "more_k", "quote_query"}
    assert all("error" not in line for line in lines)
    alone = next(line for line in lines if line["condition"] == "gold_context")
    assert [c["document"] for c in alone["response"]["context"]["chunks"]] == ["lunch.md"]
    assert json.loads(first.stdout)["conditions"] == {"gold_context": 1, "more_k": 1, "quote_query": 1}
    before = file.read_bytes()
    again = call(diagnose_verb, "--counterfactual", "--json")
    assert file.read_bytes() == before
    assert json.loads(again.stdout) == json.loads(first.stdout)


def test_failures_are_clustered_and_compared_with_another_run(place: Path) -> None:
    found = json.loads(call(diagnose_verb, "--against", "run", "--json").stdout)
    assert found["clusters"]["n"] == 1
    assert found["clusters"]["others"] == ["far"]


def test_score_distributions_are_written_as_pictures(place: Path, tmp_path: Path) -> None:
    found = json.loads(call(diagnose_verb, "--svg", str(tmp_path / "pictures"), "--json").stdout)
    assert [one["name"] for one in found["distributions"]["lists"]]
    names = sorted(file.name for file in (tmp_path / "pictures").iterdir())
    assert "scores-retrieved.svg" in names


def test_inspect_ranks_the_gold_chunk_in_every_list(place: Path) -> None:
    asked = ("When does the canteen open?", "--gold", "The canteen opens at noon.")
    found = json.loads(call(inspect_verb, *asked, "--json").stdout)
    (part,) = found["report"]["parts"]
    assert part["retrieved_at"] == 1
    lists = {one["name"]: one for one in found["inspection"]["lists"]}
    assert set(lists) == {"dense", "bm25", "fused", "rerank", "retrieved"}
    assert lists["dense"]["n"] == 3
    assert "no language model" in found["report"]["hyde"]
    shown = call(inspect_verb, *asked).stdout
    assert "★ lunch.md#0000" in shown
    assert "HyDE" in shown


def test_inspect_takes_the_evidence_of_the_golden_item_that_asks_the_question(place: Path) -> None:
    told = call(inspect_verb, "how often is an  API key rotated?", "--json")
    found = json.loads(told.stdout)
    (part,) = found["report"]["parts"]
    assert part["retrieved_at"] == 1
    assert "golden item rotate asks this" in told.stderr
    other = call(inspect_verb, "How often is an API key rotated in a year?", "--json")
    assert json.loads(other.stdout)["report"]["parts"] == []
    assert "golden item" not in other.stderr


def test_inspect_follows_a_row_of_a_run_and_says_what_would_help(place: Path) -> None:
    found = json.loads(call(inspect_verb, "--run", "run", "--id", "far", "--json").stdout)
    (part,) = found["report"]["parts"]
    assert part["retrieved_at"] is None
    assert part["verdict"].startswith("not retrieved")
    assert any(remedy["what"].startswith("dense") for remedy in part["remedies"])


def test_inspect_refuses_what_cannot_be_looked_for(place: Path) -> None:
    with pytest.raises(InputError, match="nowhere in the corpus"):
        call(inspect_verb, "Where?", "--gold", "words that stand nowhere at all")
    with pytest.raises(SettingsError, match="no question"):
        call(inspect_verb)
    with pytest.raises(SettingsError, match="--id goes with --run"):
        call(inspect_verb, "--id", "far")
    with pytest.raises(UnknownName):
        call(inspect_verb, "--run", "run", "--id", "fra")


def test_history_has_every_metric_and_the_bottleneck(place: Path) -> None:
    found = json.loads(call(history_verb, "--json").stdout)
    keys = [trend["key"] for trend in found["trends"]]
    assert "coverage:chunk" in keys
    assert "answered_without_context" in keys
    assert "Bottleneck" in call(history_verb).stdout


def test_history_without_runs_says_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="no runs"):
        call(history_verb, "--runs", str(tmp_path))
