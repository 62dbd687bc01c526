"""The shipped example: what its golden set promises about its corpus, checked item by item."""

from __future__ import annotations

import json
import re
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
import yaml

import ragauge
from ragauge.core.sample import GoldenItem

EXAMPLE = Path(ragauge.__file__).parent / "examples_data"
CORPUS = EXAMPLE / "corpus"
TAGS = {
    "plain",
    "lookup",
    "numeric",
    "table",
    "multi_hop",
    "conflict",
    "ambiguous",
    "unanswerable",
    "rewriting",
    "routing",
}
KINDS = {
    "good", "wrong", "hallucinated", "partial", "abstained", "wrongly_abstained", "miscited", "answered_unanswerable",
}  # fmt: skip
ANSWER_LABELS = ("answer", "sources", "chunks", "relevance", "evidence", "keywords", "claims")

DOCUMENTS = {p.relative_to(CORPUS).as_posix(): p.read_text("utf-8") for p in sorted(CORPUS.rglob("*.md"))}
ITEMS: list[dict[str, Any]] = yaml.safe_load((EXAMPLE / "golden.yaml").read_text("utf-8"))["items"]
ANSWERABLE = [item for item in ITEMS if item["answerable"] is True]
UNANSWERABLE = [item for item in ITEMS if item["answerable"] is False]
RECORDED = [json.loads(line) for line in (EXAMPLE / "recorded.jsonl").read_text("utf-8").splitlines()]


def by_id(items: list[dict[str, Any]]) -> Any:
    return pytest.mark.parametrize("item", items, ids=[item["id"] for item in items])


def groups(item: dict[str, Any]) -> list[list[dict[str, str]]]:
    """The item's evidence: a conjunction of lists of alternatives."""
    return [entry.get("any", [entry]) for entry in item["evidence"]]


def squeezed(text: str) -> str:
    return " ".join(re.findall(r"\w+", text.casefold()))


def test_the_corpus_is_as_large_as_promised() -> None:
    assert len(DOCUMENTS) >= 18
    sizes = {name: len(text.split()) for name, text in DOCUMENTS.items()}
    assert {name: n for name, n in sizes.items() if not 400 <= n <= 1500} == {}


def test_every_document_has_one_title_and_says_nothing_twice_as_a_heading() -> None:
    for name, text in DOCUMENTS.items():
        outside_code = re.sub(r"^```.*?^```", "", text, flags=re.M | re.S)
        assert text.startswith("# "), name
        assert len(re.findall(r"^# ", outside_code, flags=re.M)) == 1, name
        assert text.count("```") % 2 == 0, name


def test_every_table_row_has_as_many_cells_as_its_heading() -> None:
    for name, text in DOCUMENTS.items():
        width = None
        for number, line in enumerate(text.splitlines(), 1):
            if not line.startswith("|"):
                width = None
                continue
            cells = len(re.findall(r"(?<!\\)\|", line))
            width = width or cells
            assert cells == width, f"{name}:{number}"


def test_the_golden_set_is_large_enough_and_its_ids_and_questions_are_unique() -> None:
    assert len(ITEMS) >= 140
    assert [i for i, n in Counter(item["id"] for item in ITEMS).items() if n > 1] == []
    assert [q for q, n in Counter(squeezed(item["question"]) for item in ITEMS).items() if n > 1] == []


def test_every_tag_is_known_and_has_six_items() -> None:
    counts = Counter(tag for item in ITEMS for tag in item["tags"])
    assert set(counts) == TAGS
    assert {tag: n for tag, n in counts.items() if n < 6} == {}
    assert all(item["tags"] and len(set(item["tags"])) == len(item["tags"]) for item in ITEMS)


def test_between_ten_and_fifteen_per_cent_are_unanswerable() -> None:
    assert 0.10 <= len(UNANSWERABLE) / len(ITEMS) <= 0.15
    assert {item["id"] for item in UNANSWERABLE} == {i["id"] for i in ITEMS if "unanswerable" in i["tags"]}


def test_several_items_need_more_than_one_document() -> None:
    def documents_needed(item: dict[str, Any]) -> int:
        shared = set.intersection(*({e["document"] for e in group} for group in groups(item)))
        return 1 if shared else 2

    assert sum(documents_needed(item) > 1 for item in ANSWERABLE) >= 6


def test_every_document_is_used() -> None:
    used = {evidence["document"] for item in ANSWERABLE for group in groups(item) for evidence in group}
    assert set(DOCUMENTS) - used == set()


def test_plain_questions_have_one_passage_to_find_and_cover_every_document() -> None:
    plain = [item for item in ITEMS if "plain" in item["tags"]]
    assert len(plain) >= 50
    assert [item["id"] for item in plain if item["answerable"] is not True or len(item["evidence"]) != 1] == []
    assert [item["id"] for item in plain if {"multi_hop", "ambiguous"} & set(item["tags"])] == []
    assert set(DOCUMENTS) - {source for item in plain for source in item["sources"]} == set()


@by_id(ITEMS)
def test_the_item_is_valid_and_verified(item: dict[str, Any]) -> None:
    fields = dict(item)
    if "evidence" in fields:
        fields["evidence"] = [{"any": group} for group in groups(item)]
    loaded = GoldenItem.model_validate(fields)
    # read twice by its author, or said not to be
    assert loaded.verified is not bool({"rewriting", "routing"} & set(loaded.tags))
    assert bool(loaded.history) is ("rewriting" in loaded.tags)
    assert loaded.answerable is not None
    assert loaded.language == "en"
    assert "\n" not in loaded.question.strip()


@by_id(UNANSWERABLE)
def test_an_unanswerable_item_has_no_answer_labels(item: dict[str, Any]) -> None:
    assert [label for label in ANSWER_LABELS if label in item] == []


@by_id(ANSWERABLE)
def test_an_answerable_item_has_answer_claims_and_keywords(item: dict[str, Any]) -> None:
    assert item["answer"].strip()
    assert 1 <= len(item["claims"]) <= 4
    assert all(isinstance(claim, str) and len(claim) > 15 for claim in item["claims"])
    assert item["keywords"]
    assert [word for word in item["keywords"] if not isinstance(word, str) or word not in item["answer"]] == []


@by_id(ANSWERABLE)
def test_every_quote_stands_exactly_once_in_its_document(item: dict[str, Any]) -> None:
    for group in groups(item):
        for evidence in group:
            assert DOCUMENTS[evidence["document"]].count(evidence["quote"]) == 1, evidence
            assert 20 <= len(evidence["quote"]) <= 200, evidence
            assert "\n" not in evidence["quote"]


@by_id(ANSWERABLE)
def test_the_sources_are_the_documents_of_the_evidence(item: dict[str, Any]) -> None:
    assert set(item["sources"]) == {evidence["document"] for group in groups(item) for evidence in group}


@by_id(ANSWERABLE)
def test_the_question_does_not_contain_a_quote(item: dict[str, Any]) -> None:
    question = squeezed(item["question"])
    for group in groups(item):
        for evidence in group:
            assert squeezed(evidence["quote"]) not in question


def test_the_settings_point_at_what_is_shipped() -> None:
    settings = yaml.safe_load((EXAMPLE / "ragauge.yaml").read_text("utf-8"))
    assert (EXAMPLE / settings["golden"]).is_file()
    assert (EXAMPLE / settings["corpus"]).is_dir()
    assert settings["judge"] == "embedded"
    assert settings["system"] == {
        "reference": {
            "chunk_size": 800,
            "chunk_overlap": 100,
            "retrieval": "dense",
            "k": 5,
            "generator": "extractive",
        }
    }


@pytest.mark.parametrize("row", RECORDED, ids=[str(row["id"]) for row in RECORDED])
def test_a_recorded_output_answers_a_golden_question_from_chunks_of_the_corpus(row: dict[str, Any]) -> None:
    golden = {item["id"]: item for item in ITEMS}[row["id"]]
    assert row["user_input"] == golden["question"]
    assert row.get("reference") == golden.get("answer")
    assert len(row["retrieved_contexts"]) == len(row["retrieved_context_ids"])
    for text, chunk in zip(row["retrieved_contexts"], row["retrieved_context_ids"], strict=True):
        assert text in DOCUMENTS[chunk.split("#")[0]]


def test_the_recorded_outputs_show_every_kind_of_answer() -> None:
    assert len(RECORDED) >= 20
    kinds = Counter(row["metadata"]["kind"] for row in RECORDED)
    assert set(kinds) == KINDS


def test_the_readme_counts_what_is_there() -> None:
    text = (EXAMPLE / "README.md").read_text("utf-8")
    assert f"{len(DOCUMENTS)} Markdown documents" in text
    assert f"{len(ITEMS)} questions: {len(ANSWERABLE)} with answer" in text
    assert f"{len(UNANSWERABLE)} ({len(UNANSWERABLE) / len(ITEMS):.1%}".replace("%", " %") in text
    assert f"{len(RECORDED)} outputs" in text
    for tag, n in Counter(tag for item in ITEMS for tag in item["tags"]).items():
        assert f"| `{tag}` | {n} |" in text
