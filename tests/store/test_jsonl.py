from __future__ import annotations

import os
import resource
import subprocess
import sys
from pathlib import Path

import pytest

from ragauge.errors import DiskFull, StoreError
from ragauge.store.jsonl import JsonlWriter, whole_lines


def lines(path: Path) -> list[bytes]:
    return [line for _, _, line in whole_lines(path)]


def test_appends_whole_lines(tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    with JsonlWriter(path) as writer:
        writer.append('{"a": 1}')
        writer.append('{"b": "é\\u0000"}')
    assert lines(path) == [b'{"a": 1}', '{"b": "é\\u0000"}'.encode()]


def test_an_unfinished_tail_is_not_read_and_is_cut_off_by_the_next_writer(tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    path.write_bytes(b'{"a": 1}\n{"b": ' + b"x" * 200_000)
    assert lines(path) == [b'{"a": 1}']
    with JsonlWriter(path) as writer:
        writer.append('{"c": 3}')
    assert lines(path) == [b'{"a": 1}', b'{"c": 3}']


def test_a_file_that_is_one_unfinished_line_becomes_empty(tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    path.write_bytes(b"x" * 70_000)
    with JsonlWriter(path) as writer:
        assert writer.size == 0


def test_two_writers_at_once_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    code = (
        "import sys; from pathlib import Path; from ragauge.store.jsonl import JsonlWriter; "
        "JsonlWriter(Path(sys.argv[1]))"
    )
    with JsonlWriter(path):
        other = subprocess.run([sys.executable, "-c", code, str(path)], capture_output=True, text=True)
    assert other.returncode != 0
    assert "being written by another process" in other.stderr


def test_a_full_disk_takes_back_the_half_written_line(tmp_path: Path) -> None:
    code = """
import resource, sys
from pathlib import Path
from ragauge.errors import DiskFull
from ragauge.store.jsonl import JsonlWriter
import signal
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
writer = JsonlWriter(Path(sys.argv[1]))
writer.append("a" * 50)
resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100))
try:
    writer.append("b" * 80)
except DiskFull as error:
    print("full:", error.exit_code, error.hint)
"""
    path = tmp_path / "rows.jsonl"
    done = subprocess.run([sys.executable, "-c", code, str(path)], capture_output=True, text=True, check=True)
    assert done.stdout.startswith("full: 3 Free some space")
    assert path.read_bytes() == b"a" * 50 + b"\n"
    assert resource.getrlimit(resource.RLIMIT_FSIZE)[0] != 100


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
def test_no_space_is_disk_full() -> None:
    with pytest.raises((DiskFull, StoreError)):
        JsonlWriter(Path("/dev/full")).append("x")


def test_reading_gives_offsets_that_can_be_sought(tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    path.write_bytes(b"one\n\ntwo\n")
    found = list(whole_lines(path))
    assert [(number, line) for number, _, line in found] == [(1, b"one"), (3, b"two")]
    with path.open("rb") as file:
        file.seek(found[1][1])
        assert file.readline() == b"two\n"
    assert os.path.getsize(path) == 9
