from __future__ import annotations

import json
import time

import pytest

from ragauge.judges.llm.parsing import Unreadable, objects, read, without_reasoning


def verdict(value: dict) -> int:
    if not isinstance(value.get("verdict"), int):
        raise ValueError("no verdict")
    return value["verdict"]


def test_peer_bug_15_every_reply_is_read_as_its_author_meant(shared) -> None:
    lines = (shared / "oracles" / "peer_bug_cases.jsonl").read_text(encoding="utf-8").splitlines()
    case = next(c for c in map(json.loads, lines) if c["id"].startswith("PB15"))
    readings = [read(raw, verdict) for raw in case["input"]["raw_replies"]]
    assert [reading.value for reading in readings] == case["expected_behaviour"]["value"]
    assert readings[0].repairs == ()
    assert "a trailing comma" in readings[3].repairs


@pytest.mark.parametrize(
    ("raw", "value"),
    [
        ('{"reason": "uses a } brace", "verdict": 1}', 1),
        ('As source [1] says: {"verdict": 1}', 1),
        ('draft {"verdict": 0}\nfinal {"verdict": 1}', 1),
        ('```json\n{"verdict": 1,}\n```', 1),
        ('<think>{"verdict": 0}</think>{"verdict": 1}', 1),
        ('thoughts {"verdict": 0}</think>\n{"verdict": 1}', 1),
        ('{"reason": "\\"} {\\"verdict\\": 0}", "verdict": 1} is what I think', 1),
        ('{not json} {"verdict": 1}', 1),
        ('an open { brace, then {"verdict": 1}', 1),
        ('{"verdict": 1} and {"unrelated": 2}', 1),
        ('{"result": {"verdict": 1}}', 1),
        ('{"reason": "two\nlines", "verdict": 1}', 1),
        ('{"reason": "ends with ,} inside", "verdict": 1,}', 1),
    ],
)
def test_what_is_read(raw: str, value: int) -> None:
    assert read(raw, verdict).value == value


@pytest.mark.parametrize(
    "raw",
    [
        "", "supported", "null", "[]", "[1]", '"{}"', "{}", '{"verdict": NaN}', '{"verdict": "1"', '{"other": 1}',
        '<think>{"verdict": 1}', '{"a": {"verdict": 1}, "b": 2}', '{"quoted": "{\\"verdict\\": 1}"}', "{" * 50,
    ],
)  # fmt: skip
def test_what_is_not_read(raw: str) -> None:
    with pytest.raises(Unreadable):
        read(raw, verdict)


def test_no_part_of_a_cut_reply_is_ever_taken() -> None:
    whole = json.dumps({"id": "T1", "claims": ["one {thing}", 'two "things"', "three"], "verdict": 1})
    for cut in range(len(whole)):
        with pytest.raises(Unreadable):
            read(whole[:cut], verdict)
        with pytest.raises(Unreadable):
            read(f"Sure! {whole[:cut]}", verdict)


def test_reasoning_in_a_string_of_a_plain_reply_stays() -> None:
    raw = json.dumps({"reason": "the text says <think>", "verdict": 1})
    assert read(raw, verdict).repairs == ()


def test_an_unclosed_reasoning_block_swallows_the_rest() -> None:
    assert without_reasoning('{"verdict": 1} <think> {"verdict": 0}') == '{"verdict": 1} '


@pytest.mark.parametrize(
    "hostile",
    [
        "{" * 1_000_000, '{"a":' * 200_000, '"' * 1_000_000, "<think>" * 140_000, "</think>" * 120_000, "{}" * 500_000,
        "{,}" * 300_000, '{"' * 500_000, "\\" * 1_000_000, "{" + "," * 1_000_000 + "}", '{"a": [' + " ," * 400_000,
        "{" + ", " * 400_000 + "}", "[" * 1_000_000,
    ],
    ids=lambda text: text[:8],
)  # fmt: skip
def test_a_megabyte_of_nonsense_takes_no_time(hostile: str) -> None:
    started = time.process_time()
    with pytest.raises(Unreadable):
        read(hostile, verdict)
    assert time.process_time() - started < 20


def test_objects_come_in_order_with_their_repairs() -> None:
    assert list(objects('{"a": 1} x {"b": 2,}')) == [({"a": 1}, ()), ({"b": 2}, ("a trailing comma",))]
