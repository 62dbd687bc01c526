"""TREC and JSON files of judgements and runs: what is read, and what is refused with its line."""

from __future__ import annotations

import gzip
import io
import sys
from pathlib import Path

import pytest

from ragauge.errors import InputError
from ragauge.store.trec import read_qrels, read_run


def write(path: Path, content: str | bytes) -> Path:
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


QRELS = "q1 0 a 1\nq1 0 b 0\nq2 0 c 2\n"
RUN = "q1 Q0 a 1 0.9 tag\nq1 Q0 b 2 0.5 tag\nq2 Q0 c 1 3 tag\n"
WANT_QRELS = {"q1": {"a": 1, "b": 0}, "q2": {"c": 2}}
WANT_RUN = {"q1": {"a": 0.9, "b": 0.5}, "q2": {"c": 3.0}}


@pytest.mark.parametrize(
    "change",
    [
        lambda text: text,
        lambda text: text.replace(" ", "\t"),
        lambda text: text.replace(" ", "  \t "),
        lambda text: text.replace("\n", "\r\n"),
        lambda text: "\ufeff" + text,
        lambda text: "# a comment\n\n   \n" + text + "\n  # another\n",
        lambda text: text.rstrip("\n"),
    ],
)
@pytest.mark.parametrize("packed", [False, True])
def test_all_ways_of_writing_the_same_file_are_read_alike(tmp_path: Path, change, packed: bool) -> None:
    def stored(name: str, text: str) -> Path:
        data = change(text).encode()
        return write(tmp_path / name, gzip.compress(data) if packed else data)

    assert read_qrels(stored("qrels.txt", QRELS)) == WANT_QRELS
    assert read_run(stored("run.txt", RUN)) == WANT_RUN


def test_standard_input_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(RUN.encode())))
    assert read_run("-") == WANT_RUN
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(gzip.compress(QRELS.encode()))))
    assert read_qrels("-") == WANT_QRELS


def test_questions_need_not_stand_together_and_ids_may_hold_hashes_and_any_script(tmp_path: Path) -> None:
    run = write(tmp_path / "r", "q1 Q0 d#1 1 2 t\nq2 Q0 文書 1 1 t\nq1 Q0 d#2 2 1 t\n")
    assert read_run(run) == {"q1": {"d#1": 2.0, "d#2": 1.0}, "q2": {"文書": 1.0}}
    no_break = write(tmp_path / "n", "q1 Q0 a\u00a0b 1 2 t\nq1 Q0 c\u2028d 2 1 t\n")
    assert read_run(no_break) == {"q1": {"a\u00a0b": 2.0, "c\u2028d": 1.0}}


def test_the_rank_column_is_not_read_and_infinite_scores_are(tmp_path: Path) -> None:
    run = write(tmp_path / "r", "q1 Q0 a 7 -inf t\nq1 Q0 b 1 1e400 t\nq1 Q0 c x -2.5E-3 t\n")
    assert read_run(run) == {"q1": {"a": float("-inf"), "b": float("inf"), "c": -0.0025}}


def test_negative_and_decimal_grades_are_kept(tmp_path: Path) -> None:
    assert read_qrels(write(tmp_path / "q", "q1 0 a -1\nq1 0 b 0.5\nq1 0 c +2\n")) == {
        "q1": {"a": -1, "b": 0.5, "c": 2}
    }


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("q1 Q0 a 1 0.9\n", ["run.txt:1", "5 columns", "6 columns: question, Q0"]),
        ("q1 Q0 a 1 0.9 t\nq1 0 b 1\n", ["run.txt:2", "4 columns", "looks like a qrels file"]),
        ("q1 Q0 a 1 high t\n", ["run.txt:1", "score", "high"]),
        ("q1 Q0 a 1 nan t\n", ["run.txt:1", "score", "nan", "NaN is none"]),
        ("q1 Q0 a 1 1 t\nq1 Q0 b 2 1 t\nq1 Q0 a 3 0 t\n", ["run.txt:3", "'a'", "'q1'", "first in line 1"]),
        ("q1 Q0 a 1 1 t\nq2 Q0 a 2 1 t\nq1 Q0 a 3 0 t\n", ["run.txt:3", "first in line 1"]),
        ("", ["run.txt", "no ranking"]),
        ("# only a comment\n\n", ["run.txt", "no ranking"]),
        (b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR", ["run.txt"]),
        (b"q1 Q0 a\x00b 1 1 t\n", ["run.txt:1", "no text file"]),
        (b"q1 Q0 caf\xe9 1 1 t\n", ["run.txt:1", "not UTF-8", "document"]),
        (b"caf\xe9 Q0 a 1 1 t\n", ["run.txt:1", "not UTF-8", "question"]),
    ],
)
def test_a_bad_run_is_refused_with_its_line(tmp_path: Path, content: str | bytes, words: list[str]) -> None:
    with pytest.raises(InputError) as error:
        read_run(write(tmp_path / "run.txt", content))
    for word in words:
        assert word in str(error.value)


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("q1 0 a\n", ["qrels.txt:1", "3 columns"]),
        (RUN, ["qrels.txt:1", "6 columns", "looks like a run file"]),
        ("q1 0 a yes\n", ["qrels.txt:1", "grade", "yes"]),
        ("q1 0 a nan\n", ["qrels.txt:1", "grade"]),
        ("q1 0 a inf\n", ["qrels.txt:1", "grade"]),
        ("q1 0 a 1\nq1 0 a 2\n", ["qrels.txt:2", "first in line 1"]),
        ("", ["no judgements"]),
    ],
)
def test_bad_judgements_are_refused_with_their_line(tmp_path: Path, content: str, words: list[str]) -> None:
    with pytest.raises(InputError) as error:
        read_qrels(write(tmp_path / "qrels.txt", content))
    for word in words:
        assert word in str(error.value)


def test_damaged_gzip_missing_files_and_folders_are_input_errors(tmp_path: Path) -> None:
    whole = gzip.compress(RUN.encode() * 1000)
    for path in (write(tmp_path / "cut.gz", whole[: len(whole) // 2]), tmp_path / "absent", tmp_path):
        with pytest.raises(InputError, match=path.name):
            read_run(path)


def test_json_is_told_by_its_first_character(tmp_path: Path) -> None:
    qrels = write(tmp_path / "q.json", '{"q1": {"a": 1, "b": true}, "q2": ["c"]}')
    assert read_qrels(qrels) == {"q1": {"a": 1, "b": True}, "q2": {"c": 1}}
    lists = write(tmp_path / "l.json", b"\xef\xbb\xbf" + b' {"q1": ["b", 7]}')
    assert read_run(lists) == {"q1": ["b", "7"]}
    scores = write(tmp_path / "s.json.gz", gzip.compress(b'{"q1": {"b": 2}}'))
    assert read_run(scores) == {"q1": {"b": 2}}


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ('{"q1": {"a": 1}, "q1": {"b": 1}}', "'q1' comes twice"),
        ('{"q1": {"a": NaN}}', "NaN"),
        ('{"q1": {"a": "1"}}', "score of document 'a' is no number"),
        ('{"q1": "a"}', "cannot be read"),
        ('{"q1": [null]}', "no document id"),
        ('{"q1": {"a": 1}', "broken JSON"),
        ("[]", "no questions"),
        ("{}", "no questions"),
        ("[" * 100_000, "nested too deeply"),
        (b'{"q1": ["caf\xe9"]}', "not UTF-8"),
    ],
)
def test_bad_json_is_refused(tmp_path: Path, content: str | bytes, words: str) -> None:
    with pytest.raises(InputError, match=words):
        read_run(write(tmp_path / "run.json", content))


def test_a_huge_line_and_a_million_columns_are_refused_quickly(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="1000000 columns"):
        read_run(write(tmp_path / "wide", "x " * 1_000_000))
    long = "d" * 1_000_000
    assert read_run(write(tmp_path / "long", f"q Q0 {long} 1 1 t\n")) == {"q": {long: 1.0}}
