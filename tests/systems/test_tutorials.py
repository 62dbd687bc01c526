"""The ten-minute tutorials, carried out word for word: files written, commands run, their output as printed there."""

from __future__ import annotations

import os
import re
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[2] / "docs" / "how-to"
_BLOCK = re.compile(r"^```(\w+)?(?: ([\w.]+))?\n(.*?)^```$", re.M | re.S)
_NEEDS = {
    "langchain": "langchain_core", "llamaindex": "llama_index.core", "haystack": "haystack", "http": "httpx2",
    "program": "click", "mcp-system": "mcp",
}  # fmt: skip

pytestmark = pytest.mark.slow


def free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])


class Reader:
    """Somebody who does what the page says, in an empty folder."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.port = folder, free_port()
        self.environment = {
            **os.environ, "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
            "RAGAUGE_CACHE": str(folder.parent / "cache"), "OPENBLAS_NUM_THREADS": "1", "COLUMNS": "160",
        }  # fmt: skip
        self.running: list[subprocess.Popen[bytes]] = []
        self.n_commands = 0

    def follow(self, page: str) -> None:
        for language, name, text in _BLOCK.findall(page):
            text = text.replace("8000", str(self.port))
            if name:
                (self.folder / name).write_text(text, encoding="utf-8")
            elif language == "console":
                self.console(text)

    def console(self, text: str) -> None:
        for part in re.split(r"^\$ ", text, flags=re.M)[1:]:
            command, *expected = part.strip().split("\n")
            if command.startswith("export "):
                name, _, value = command.removeprefix("export ").partition("=")
                self.environment[name] = value
            elif command.endswith(" &"):
                self.start(command.removesuffix(" &"))
            else:
                self.run(command, expected)

    def start(self, command: str) -> None:
        self.running.append(subprocess.Popen(command.split(), cwd=self.folder, env=self.environment))
        deadline = time.monotonic() + 40
        while time.monotonic() < deadline:
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", self.port)) == 0:
                    return
            time.sleep(0.1)
        raise AssertionError(f"{command} does not listen")

    def run(self, command: str, expected: list[str]) -> None:
        """Exit code 0, and every expected line in the output, in this order (`…` stands for anything)."""
        done = subprocess.run(
            command, shell=True, cwd=self.folder, env=self.environment, capture_output=True, text=True, timeout=240
        )
        assert done.returncode == 0, f"$ {command}\n{done.stdout}\n{done.stderr}"
        self.n_commands += 1
        lines = iter(" ".join(line.split()) for line in done.stdout.splitlines())
        for wanted in expected:
            pattern = ".+".join(re.escape(part) for part in " ".join(wanted.split()).split("…"))
            assert any(re.search(pattern, line) for line in lines), f"$ {command}: no {wanted!r} in\n{done.stdout}"


@pytest.mark.parametrize("name", sorted(_NEEDS))
def test_the_tutorial_does_what_it_says(name: str, tmp_path_factory: pytest.TempPathFactory) -> None:
    pytest.importorskip(_NEEDS[name], reason=f"the extra for {name} is not installed")
    folder = tmp_path_factory.getbasetemp() / f"tutorial-{name}"
    folder.mkdir()
    reader = Reader(folder)
    try:
        reader.follow((DOCS / f"{name}.md").read_text("utf-8"))
    finally:
        for process in reader.running:
            process.kill()
            process.wait()
    assert reader.n_commands >= 3  # the example, one question, a run
