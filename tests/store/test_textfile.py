from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from ragauge.errors import InputError
from ragauge.store.textfile import existing_path, first_character, numbered_lines, read_text


def test_lines_are_numbered_and_only_line_feeds_end_them(tmp_path: Path) -> None:
    path = tmp_path / "t.txt"
    path.write_bytes("\ufeffa\u2028b\r\n\n c\x0bd".encode())
    assert list(numbered_lines(path)) == [(1, "a\u2028b"), (2, ""), (3, " c\x0bd")]
    assert [text for _, text in numbered_lines(path, keep_ends=True)] == ["a\u2028b\r\n", "\n", " c\x0bd"]
    assert read_text(path).startswith("a")
    assert first_character(path) == "a"


def test_gzip_is_known_by_its_content_not_by_its_name(tmp_path: Path) -> None:
    (tmp_path / "plain.gz").write_text("x\n")
    (tmp_path / "packed.txt").write_bytes(gzip.compress(b"x\n"))
    assert list(numbered_lines(tmp_path / "plain.gz")) == list(numbered_lines(tmp_path / "packed.txt")) == [(1, "x")]


def test_a_file_too_large_to_hold_is_refused_even_when_it_is_small_on_disk(tmp_path: Path) -> None:
    path = tmp_path / "bomb.yaml"
    path.write_bytes(gzip.compress(b"a" * 1_000_000))
    with pytest.raises(InputError, match="larger than 1000 bytes"):
        read_text(path, max_bytes=1000)
    with pytest.raises(InputError, match="the line is longer than 1000 bytes"):
        list(numbered_lines(path, max_bytes=1000))


def test_folders_missing_files_and_unreadable_ones_are_told_apart(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="this is a folder"):
        read_text(tmp_path)
    (tmp_path / "answers.jsonl").write_text("x")
    with pytest.raises(InputError, match=r"no such file[\s\S]*Did you mean '.*answers.jsonl'"):
        existing_path(tmp_path / "answer.jsonl")


def test_the_line_of_a_bad_byte_is_named(tmp_path: Path) -> None:
    path = tmp_path / "t.yaml"
    path.write_bytes(b"a\nb\nc\xe9\n")
    with pytest.raises(InputError, match=r"t.yaml:3: the text is not UTF-8"):
        read_text(path)
