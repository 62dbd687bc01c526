from __future__ import annotations

import asyncio
import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from ragauge.core.sample import Question, RetrievedContext
from ragauge.errors import InputError, SettingsError, SystemFailed
from ragauge.systems.replay import ReplaySystem, build, from_records

ROWS = [
    {"id": "q1", "question": "How  do I?", "answer": "so", "contexts": [{"id": "c1", "text": "x"}]},
    {"question_id": 2, "user_input": "And then?", "response": "thus"},
    {"query": "Only a text", "answer": "found"},
]


def ask(system: ReplaySystem, identity: str, text: str = "?") -> Any:
    return asyncio.run(system.respond(Question(id=identity, text=text)))


def test_finds_by_id_then_by_text() -> None:
    system = from_records(ROWS)
    assert ask(system, "q1").context.ids == ["c1"]
    assert ask(system, "2").answer == "thus"
    assert ask(system, "other", "  only A text ").answer == "found"


def test_a_question_that_was_not_recorded_is_named() -> None:
    with pytest.raises(SystemFailed, match="'q9' is not recorded in records"):
        ask(from_records(ROWS), "q9", "never asked")


def test_the_same_text_under_two_ids_is_only_found_by_id() -> None:
    system = from_records([{"id": "a", "question": "Q", "answer": "1"}, {"id": "b", "question": "q", "answer": "2"}])
    assert ask(system, "b", "Q").answer == "2"
    with pytest.raises(SystemFailed, match="recorded more than once"):
        ask(system, "c", "Q")


def test_of_two_records_with_one_id_the_later_counts() -> None:
    system = from_records([{"id": "a", "question": "Q", "answer": "1"}, {"id": "a", "question": "Q", "answer": "2"}])
    assert ask(system, "a").answer == "2"
    assert ask(system, "x", "q").answer == "2"


def test_it_never_answers_from_another_context() -> None:
    with pytest.raises(SystemFailed, match="recorded"):
        asyncio.run(from_records(ROWS).respond(Question(id="q1", text="?"), context=RetrievedContext()))


def test_a_record_that_is_no_response_fails_that_question_only() -> None:
    system = from_records([{"id": "a", "question": "Q"}, *ROWS])
    with pytest.raises(SystemFailed, match="records:1 returned a dict without an answer"):
        ask(system, "a")
    assert ask(system, "q1").answer == "so"


@pytest.mark.parametrize("form", ["jsonl", "json", "jsonl.gz", "bom"])
def test_files_are_read(tmp_path: Path, form: str) -> None:
    lines = "\n".join(json.dumps(row) for row in ROWS).encode()
    data = {
        "jsonl": lines,
        "json": json.dumps(ROWS).encode(),
        "jsonl.gz": gzip.compress(lines),
        "bom": b"\xef\xbb\xbf" + lines,
    }
    file = tmp_path / f"r.{form}"
    file.write_bytes(data[form])
    system = build({"path": str(file)})
    assert ask(system, "q1").answer == "so"
    assert system.info().fingerprint == from_records(ROWS).info().fingerprint


def test_an_earlier_run_is_replayed(tmp_path: Path) -> None:
    item = {"id": "q1", "question": "Q"}
    rows = [
        {"index": 0, "sample": {"item": item, "response": {"answer": "A", "retrieval_ms": 2.0}}, "scores": {}},
        {
            "index": 1,
            "sample": {"item": {"id": "q2", "question": "R"}, "response": {}},
            "scores": {},
            "error": "it broke",
        },
    ]
    (tmp_path / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    system = build({"path": tmp_path})
    assert (ask(system, "q1").answer, ask(system, "q1").retrieval_ms) == ("A", 2.0)
    with pytest.raises(SystemFailed, match="it broke"):
        ask(system, "q2")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "holds no recorded output"),
        (b"[]", "holds no recorded output"),
        (b'{"id": "a"}\nnope\n', "r.jsonl:2: is not JSON"),
        (b"5\n", "r.jsonl:1: is no JSON object but 5"),
        (b'[{"id": "a"}, 5]', "an entry that is no object"),
        (b"[" * 100_000, "is not JSON"),
        (b'{"answer": "x"}\n', "r.jsonl:1: has neither an id nor a question"),
        (b'{"id": "a"}\n\xff\xfe', "r.jsonl:2: is not valid UTF-8"),
    ],
)
def test_what_cannot_be_read_is_named(tmp_path: Path, content: bytes, message: str) -> None:
    (tmp_path / "r.jsonl").write_bytes(content)
    with pytest.raises(InputError) as caught:
        build({"path": str(tmp_path / "r.jsonl")})
    assert message in str(caught.value)


def test_settings_are_checked(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="needs `path`"):
        build({})
    with pytest.raises(SettingsError, match="no setting 'paht'"):
        build({"paht": "x"})
    with pytest.raises(InputError, match="cannot be read"):
        build({"path": str(tmp_path / "absent.jsonl")})
