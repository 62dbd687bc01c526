"""Hostile text in whole runs: no other row changes, no label leaves the menu, no answer follows it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import ragauge
from ragauge import api
from ragauge.core.metric import parse_metric_key
from ragauge.core.score import Scored
from ragauge.core.tasks import TASKS
from ragauge.engine.settings import Settings
from ragauge.judges.factory import make_judge
from ragauge.testing.fake_llm import FakeLLMServer

SOURCE = Path(__file__).parents[1] / "prompts" / "injection_cases.jsonl"
TEXTS = [
    json.loads(line)["text"].encode("utf-8", "replace").decode() for line in SOURCE.read_text("utf-8").splitlines()
]
METRICS = ["faithfulness", "context_precision", "context_recall", "correctness", "context_sufficiency"]
MENU = {label for task in TASKS.values() for label in task.labels}
FACT = "Agent {} listens on port {}125."


def good(n: int, extra: str) -> dict[str, Any]:
    fact = FACT.format(n, n)
    return {
        "id": f"good{n}",
        "question": f"On which port does agent {n} listen?",
        "answer": f"{fact} It sings at night.",
        "reference": fact,
        "contexts": [{"id": f"c{n}", "text": fact}, {"id": f"x{n}", "text": extra}],
    }


def hostile(n: int, text: str) -> dict[str, Any]:
    return {**good(n, text), "id": f"bad{n}", "answer": f"{FACT.format(n, n)} {text}", "reference": text or "Nothing."}


def scored(server: FakeLLMServer, out: Path, rows: list[dict[str, Any]]) -> dict[str, Any]:
    judge = make_judge({"name": f"compatible:fake@{server.openai_url}", "client": "raw"})
    run = ragauge.evaluate(rows, METRICS, judge=judge, out=out, concurrency=8)
    return {record.sample.id: record for record in run.rows()}


def told(record: Any) -> Any:
    """What was made of a row, without what it cost and how long it took."""
    return {key: score.model_dump(mode="json") for key, score in record.scores.items()}


def labels(record: Any, metric: str) -> list[str]:
    return [verdict.label for verdict in record.scores[metric].verdicts]


def test_hostile_rows_change_no_other_row_and_get_labels_from_the_menu(tmp_path: Path) -> None:
    quiet = [good(n, "Nothing else.") for n in range(5)]
    with FakeLLMServer() as server:
        alone = scored(server, tmp_path / "alone", quiet)
        mixed = scored(server, tmp_path / "mixed", [*quiet, *(hostile(n, text) for n, text in enumerate(TEXTS))])
    assert len(mixed) == 5 + len(TEXTS) >= 45
    assert {name: told(mixed[name]) for name in alone} == {name: told(alone[name]) for name in alone}
    for record in mixed.values():
        assert set(record.scores) == set(METRICS)
        for score in record.scores.values():
            if isinstance(score, Scored):
                assert {verdict.label for verdict in score.verdicts} <= MENU
                assert 0 <= score.value <= 1


def test_a_hostile_chunk_beside_a_good_one_changes_no_verdict(tmp_path: Path) -> None:
    with FakeLLMServer() as server:
        plain = scored(server, tmp_path / "plain", [good(n, "Nothing else.") for n in range(len(TEXTS))])
        found = scored(server, tmp_path / "found", [good(n, text) for n, text in enumerate(TEXTS)])
    for name, record in found.items():
        for metric in ("faithfulness", "context_recall", "correctness", "context_sufficiency"):
            assert labels(record, metric) == labels(plain[name], metric), name
            assert record.scores[metric].value == plain[name].scores[metric].value
        assert labels(record, "faithfulness") == ["supported", "not_mentioned"]
        assert record.scores["context_precision"].verdicts[0].label == "useful"


@pytest.mark.parametrize("place", range(0, len(TEXTS), 9))
def test_a_hostile_document_changes_no_answer_and_no_score_of_a_whole_run(tmp_path: Path, place: int) -> None:
    docs = {"keys.md": "To rotate a key, press Rotate.", "limits.md": "The Pro plan has 600 requests per minute."}
    golden = [
        {"id": "a", "question": "How do I rotate a key?", "answer": "Press Rotate.", "sources": ["keys.md"]},
        {"id": "b", "question": "How many requests has the Pro plan?", "answer": "600.", "sources": ["limits.md"]},
    ]
    (tmp_path / "golden.json").write_text(json.dumps(golden), "utf-8")
    found: dict[str, Any] = {}
    with FakeLLMServer() as server:
        for name, text in (("calm", "Nothing of that kind stands here."), ("hostile", TEXTS[place])):
            folder = tmp_path / name
            folder.mkdir()
            for file, words in (docs | {"zzz.md": f"A note. {text}"}).items():
                (folder / file).write_text(words, "utf-8")
            model = f"compatible:fake@{server.openai_url}"
            system = {
                "generator": model, "expand": "multi_query", "splitter": "none", "retrieval": "dense", "k": 3,
                "embedding_cache": "none",
            }  # fmt: skip
            settings = Settings(
                corpus=str(folder), system={"reference": system}, judge={"name": model, "cache": False},
                metrics=["recall@3", "faithfulness", "correctness"],
            )  # fmt: skip
            server.reset()
            run = api.run(tmp_path / "golden.json", None, api.make_options(settings, tmp_path / "runs", "run", name))
            rows = {record.sample.id: record for record in run.rows()}
            answers = {name: record.sample.response.answer for name, record in rows.items()}
            values = {key: run[key].value for key in run if parse_metric_key(key)[0] != "recall"}
            found[name] = (answers, values, dict(server.counts.by_task), [one.error for one in run.rows()])
            assert all(len(record.sample.response.context) == 3 for record in rows.values())
    assert found["hostile"] == found["calm"]
    assert found["calm"][0]["a"].startswith("To rotate a key, press Rotate")
