"""Every seeded fault is found, with its line and what to do; clean sets give no complaint."""

from __future__ import annotations

import time
from importlib.resources import files
from pathlib import Path

import pytest

from ragauge.core.sample import Chunk, GoldenItem
from ragauge.dataset.complaints import Complaint
from ragauge.dataset.duplicates import duplicates
from ragauge.dataset.evidence import CorpusIndex
from ragauge.dataset.golden_validate import validate_golden
from ragauge.dataset.writers import save_golden

CORPUS = CorpusIndex.from_chunks(
    [
        Chunk(id="agent.md#0", document="agent.md", text="The agent listens on port 8125 by default, for UDP only."),
        Chunk(id="agent.md#1", document="agent.md", text="Set buffer.max_bytes to limit how much it keeps on disk."),
        Chunk(id="faq.md#0", document="faq.md", text="Dead letters are kept for 14 days. After that they are deleted."),
    ]
)
SUBJECTS = (
    "retention period", "backup window", "certificate renewal", "log rotation", "proxy authentication",
    "memory ceiling",
    "cluster quorum", "snapshot export", "webhook delivery", "token lifetime", "audit trail", "schema migration",
    "leader election", "rate limiter", "disk encryption", "garbage collector", "load balancer", "message ordering",
    "tenant isolation", "metrics endpoint", "trace sampling", "queue priority", "client timeout", "retry policy",
    "circuit breaker", "health probe", "config reload", "role binding", "cold start", "network policy", "index rebuild",
    "session affinity", "cache warmup", "secret store", "billing export", "usage quota", "alias lookup", "shard split",
    "cursor paging", "bulk import",
)  # fmt: skip
KINDS = ("lookup", "numeric", "table", "multi_hop", "conflict", "ambiguous")


def clean_items() -> list[GoldenItem]:
    """Forty good items, five of them unanswerable."""
    items = []
    for place, subject in enumerate(SUBJECTS):
        if place % 8 == 7:
            items.append(
                GoldenItem(id=f"none-{place}", question=f"Who invented the {subject}?", answerable=False,
                           tags=("unanswerable",), verified=True)
            )  # fmt: skip
            continue
        evidence = [{"any": [{"document": "faq.md", "quote": "Dead letters are kept for 14 days."}]}]
        kind = KINDS[place % 6]
        if kind == "multi_hop":
            evidence.append({"any": [{"document": "agent.md", "quote": "The agent listens on port 8125 by default"}]})
        items.append(
            GoldenItem.model_validate(
                {
                    "id": f"good-{place}", "question": f"Somebody asks me about the {subject}, what do I tell them?",
                    "answer": f"The {subject} is 14 days.", "answerable": True, "evidence": evidence,
                    "sources": ["faq.md", "agent.md"] if kind == "multi_hop" else ["faq.md"],
                    "keywords": ["14 days"], "tags": [kind], "verified": True,
                }
            )
        )  # fmt: skip
    return items


# fmt: off
FAULTY = {
    "duplicate_id": "- id: good-0\n  question: Which of the two comes first, chicken or egg?\n",
    "duplicate_question": "- id: x\n  question: somebody asks me about the RETENTION period what do i tell them\n",
    "near_duplicate_question": "- id: x\n"
    "  question: What do I tell somebody who asks me about the retention period now?\n"
    "- id: y\n  question: What do I tell somebody who asks me about the retention period today now?\n",
    "no_question": "- id: x\n  answer: Forty-two.\n",
    "bad_value": "- id: x\n  question: How is this graded by the reviewers?\n  relevance: {agent.md: 9}\n",
    "label_not_in_corpus": "- id: x\n  question: Where does the agent listen for traffic?\n  sources: [agnet.md]\n",
    "evidence_not_found": "- id: x\n  question: Where does the agent listen for traffic?\n"
    "  evidence: [{document: agent.md, quote: 'It listens on port 9999 on Sundays.'}]\n",
    "keyword_not_in_reference": "- id: x\n  question: Where does the agent listen?\n  answer: On port 8125.\n"
    "  keywords: ['9125']\n",
    "answerable_without_labels": "- id: x\n  question: Where does the agent listen?\n  answer: On 8125.\n"
    "  answerable: true\n",
    "unanswerable_with_labels": "- id: x\n  question: Where does the agent live?\n  answerable: false\n"
    "  sources: [agent.md]\n",
    "unanswerable_with_answer": "- id: x\n  question: Where does the agent live?\n  answerable: false\n"
    "  answer: In Berlin, near the river.\n  claims: [It lives in Berlin.]\n",
    "unanswerable_with_keywords": "- id: x\n  question: Where does the agent live?\n  answerable: false\n"
    "  keywords: [Berlin]\n",
    "no_reference": "- id: x\n  question: Where does the agent listen?\n  answerable: true\n  sources: [agent.md]\n",
    "reference_refuses": "- id: x\n  question: Where does it listen?\n  answerable: true\n  sources: [agent.md]\n"
    "  answer: I don't know.\n",
    "answerable_unknown": "- id: x\n  question: Where does the agent listen?\n  answer: On port 8125.\n",
    "claim_not_in_reference": "- id: x\n  question: Where does it listen?\n  answer: On port 8125.\n"
    "  claims: ['Elephants cannot jump over fences.']\n",
    "contradicting_labels": "- id: x\n  question: Where does it listen?\n  answer: On port 8125.\n"
    "  sources: [agent.md]\n"
    "  relevance: {agent.md: 0}\n",
    "quote_too_short": "- id: x\n  question: Where does it listen?\n  answer: On port 8125.\n"
    "  evidence: [{document: agent.md, quote: 'port 8125'}]\n",
    "evidence_outside_sources": "- id: x\n  question: Where does it listen?\n  answer: On port 8125.\n"
    "  sources: [faq.md]\n"
    "  evidence: [{document: agent.md, quote: 'The agent listens on port 8125'}]\n",
    "misspelt_tag": "- id: x\n  question: Where does the agent listen?\n  answer: On port 8125.\n  tags: [multihop]\n",
    "tag_contradicts": "- id: x\n  question: Where does the agent listen?\n  answer: Everywhere there is.\n"
    "  answerable: true\n  sources: [agent.md]\n  tags: [numeric]\n",
    "question_too_short": "- id: x\n  question: Port?\n  answer: On port 8125.\n",
    "placeholder": "- id: x\n  question: Where does the agent listen?\n  answer: TODO ask Ann\n",
    "hidden_character": "- id: x\n  question: \"Where does the agent\\u200b listen?\"\n  answer: On port 8125.\n",
    "answer_in_question": "- id: x\n  question: Is it true that it listens on port 8125?\n"
    "  answer: It listens on port 8125.\n",
    "copied_wording": "- id: x\n  question: Is it so that dead letters are kept for 14 days after that?\n"
    "  answer: Yes, it is.\n  evidence:\n"
    "    - {document: faq.md, quote: 'Dead letters are kept for 14 days. After that they are deleted.'}\n",
    "confusable_id": "- id: GOOD_0\n  question: Which of the two comes first, chicken or egg?\n",
    "blank_keyword": "- id: x\n  question: Where does the agent listen?\n  answer: On port 8125.\n  keywords: ['--']\n",
    "threshold_too_low": "- id: x\n  question: Where does the agent listen?\n  answer: On 8125.\n"
    "  faithfulness_threshold: 0.1\n",
}
# fmt: on


@pytest.fixture
def clean(tmp_path: Path) -> Path:
    path = tmp_path / "golden.yaml"
    save_golden(clean_items(), path)
    return path


def complaints(path: Path) -> list[Complaint]:
    return list(validate_golden(path, CORPUS).complaints)


def test_there_are_more_than_twenty_kinds_of_seeded_faults() -> None:
    assert len(FAULTY) >= 20


@pytest.mark.parametrize("kind", sorted(FAULTY))
def test_a_seeded_fault_is_found_with_its_line_and_what_to_do(clean: Path, kind: str) -> None:
    before = clean.read_text(encoding="utf-8")
    n_lines = len(before.splitlines())
    clean.write_text(before + FAULTY[kind], encoding="utf-8")
    found = [one for one in complaints(clean) if one.kind == kind]
    assert found, [one.kind for one in complaints(clean)]
    for one in found:
        assert one.file == str(clean)
        assert one.line is not None
        assert one.fix
        assert one.message
    assert all(one.line is not None and one.line > n_lines for one in found)


def test_a_clean_set_gives_no_complaint(clean: Path) -> None:
    report = validate_golden(clean, CORPUS)
    assert report.complaints == ()
    assert report.n_unanswerable == 5
    assert report.power is not None
    assert report.power.smallest_graded == pytest.approx(0.136, abs=0.001)
    assert report.power.smallest_rate is None  # forty questions do not show 15 points of a rate


def test_the_shipped_example_gives_no_complaint_but_of_what_nobody_verified() -> None:
    from ragauge.systems.reference.chunk import ChunkSettings, chunk_documents
    from ragauge.systems.reference.corpus import load_corpus

    folder = Path(str(files("ragauge.examples_data")))
    corpus = CorpusIndex.from_chunks(chunk_documents(load_corpus(folder / "corpus").documents, ChunkSettings()))
    report = validate_golden(folder / "golden.yaml", corpus)
    # the twelve that came later are said not to be verified, and nothing else is complained of
    assert [one.message for one in report.complaints] == ["12 of 159 items are not verified by a person"]


@pytest.mark.parametrize(
    ("items", "kind"),
    [
        (clean_items()[:12], "too_few_items"),
        ([item for item in clean_items() if item.answerable], "unanswerable_share"),
        ([item.model_copy(update={"tags": ()}) for item in clean_items()], "missing_tags"),
        ([item.model_copy(update={"verified": False}) for item in clean_items()], "unverified_items"),
        (
            [
                item.model_copy(update={"question": f"Dead letters {n} kept days?"}) if item.answerable else item
                for n, item in enumerate(clean_items())
            ],
            "vocabulary_leakage",
        ),
    ],
)
def test_faults_of_the_whole_set_are_found(tmp_path: Path, items: list[GoldenItem], kind: str) -> None:
    save_golden(items, tmp_path / "golden.yaml")
    found = [one for one in complaints(tmp_path / "golden.yaml") if one.kind == kind]
    assert len(found) == 1
    assert found[0].line is not None
    assert found[0].fix


def test_a_file_that_is_no_golden_set_is_a_complaint_with_a_line(tmp_path: Path) -> None:
    path = tmp_path / "golden.yaml"
    path.write_text("- id: a\n  question: [unclosed\n")
    found = complaints(path)
    assert {one.kind for one in found} == {"unreadable", "no_items"}
    assert found[0].line is not None


def test_every_fault_is_listed_not_only_the_first_twenty(tmp_path: Path) -> None:
    path = tmp_path / "golden.yaml"
    path.write_text("".join(f"- id: x{n}\n  answer: Forty-two.\n" for n in range(50)))
    assert sum(one.kind == "no_question" for one in complaints(path)) == 50


def test_questions_that_differ_in_a_number_or_a_name_are_not_duplicates() -> None:
    questions = [
        "How many retries does version 3.6 make by default?",
        "How many retries does version 4.0 make by default?",
        "How do I set buffer.max_bytes for a single agent host?",
        "How do I set buffer.reserve_bytes for a single agent host?",
        "May a consumer group be renamed while it is running?",
        "May a consumer group not be renamed while it is running?",
    ]
    assert list(duplicates(questions)) == []


def test_the_same_meaning_in_other_words_is_found_with_an_embedder() -> None:
    vectors = {"How do I stop it?": [1.0, 0.0], "What ends the process?": [0.99, 0.141], "Who wrote it?": [0.0, 1.0]}
    found = list(duplicates(list(vectors), lambda texts: [vectors[text] for text in texts]))
    assert found == [(1, 0, "meaning")]


def test_large_and_hostile_sets_are_checked_in_time(tmp_path: Path) -> None:
    path = tmp_path / "golden.jsonl"
    lines = [f'{{"id": "q{n}", "question": "What about thing number {n} and its owner {n * 7}?"}}' for n in range(5000)]
    lines.append('{"id": "big", "question": "' + "a" * 1_000_000 + '"}')
    lines.append('{"id": "spaces", "question": "x' + " " * 1_000_000 + 'y", "answer": "<answer ' + "<" * 100_000 + '"}')
    path.write_text("\n".join(lines) + "\n")
    start = time.process_time()
    report = validate_golden(path)
    assert report.n_items == 5002
    assert time.process_time() - start < 60
