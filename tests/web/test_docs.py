"""What docs/how-to/page.md says: its options, keys and pictures are there."""

from __future__ import annotations

import re
from importlib.resources import files
from pathlib import Path

import pytest
from click.testing import CliRunner

from ragauge.cli.serve import TOKEN, command

PAGE = Path(__file__).resolve().parents[2] / "docs" / "how-to" / "page.md"


@pytest.fixture(scope="module")
def text() -> str:
    return PAGE.read_text(encoding="utf-8")


def test_every_option_exists(text: str) -> None:
    said = CliRunner().invoke(command, ["--help"]).output
    options = set(re.findall(r"--[a-z][a-z-]+", text))
    assert options
    assert [name for name in options if name not in said] == []
    assert TOKEN in text
    assert "127.0.0.1" in said


def test_every_key_is_one_of_a_page(text: str) -> None:
    folder = files("ragauge.web")
    parts = [folder.joinpath("templates"), folder.joinpath("static")]
    ours = " ".join(file.read_text(encoding="utf-8") for part in parts for file in part.iterdir() if file.is_file())
    found = set(re.findall(r'data-key="([^"{]+)"', ours)) | set(re.findall(r'\["(\w)", -?1, ', ours)) | {"?"}
    assert set(re.findall(r"<kbd>(.+?)</kbd>", text)) <= found


def test_pictures_are_there_and_small(text: str) -> None:
    named = re.findall(r"\]\((\.\./images/[^)]+)\)", text)
    assert named
    for name in named:
        assert 5_000 < (PAGE.parent / name).stat().st_size < 200_000
