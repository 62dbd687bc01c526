"""A package that is not ours offers a metric by entry point: installed for real, found, checked and used."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parent / "ragauge_brevity"

USE = """
import json
from ragauge.errors import UnknownName
from ragauge.registry import load, names
from ragauge.testing import a_sample, check_metric, score_now

brevity = load("metrics", "brevity")
try:
    load("metrics", "brevty")
except UnknownName as error:
    hint = error.hint
print(json.dumps({
    "listed": "brevity" in names("metrics"),
    "builtins": "faithfulness" in names("metrics"),
    "checked": check_metric(brevity(), a_sample()).value,
    "long": score_now(brevity(words=3), a_sample()).value,
    "hint": hint,
}))
"""


@pytest.fixture(scope="module")
def environment(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """An environment in which the outside package is installed."""
    folder = tmp_path_factory.mktemp("outside")
    source, target = folder / "source", folder / "site"
    shutil.copytree(PACKAGE, source)
    command = [
        sys.executable, "-m", "pip", "install", "--quiet", "--no-index", "--no-deps", "--no-build-isolation",
        "--disable-pip-version-check", "--target", str(target), str(source),
    ]  # fmt: skip
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert list(target.glob("ragauge_brevity-*.dist-info")), "a real installation has metadata"
    return os.environ | {"PYTHONPATH": str(target)}


@pytest.mark.slow
def test_a_metric_from_outside_is_found_checked_and_used(environment: dict[str, str]) -> None:
    done = subprocess.run([sys.executable, "-c", USE], env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    said = json.loads(done.stdout)
    assert said["listed"]
    assert said["builtins"]
    assert said["checked"] == 1.0
    assert said["long"] == 0.0
    assert "brevity" in said["hint"]


@pytest.mark.slow
def test_a_run_uses_a_metric_from_outside_by_its_name(environment: dict[str, str], tmp_path: Path) -> None:
    rows = [
        {"id": "q1", "question": "Which port?", "answer": "Port 8125.", "contexts": ["The port is 8125."]},
        {"id": "q2", "question": "Which host?", "answer": "word " * 50, "contexts": ["The host is example."]},
    ]
    recorded = tmp_path / "recorded.jsonl"
    recorded.write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    code = (
        "import ragauge\n"
        f"run = ragauge.evaluate({str(recorded)!r}, metrics=['brevity'], judge=None, out={str(tmp_path / 'runs')!r})\n"
        "print(run['brevity'].value, run['brevity'].n)"
    )
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == ["0.5", "2"]


def test_without_the_package_its_name_is_unknown() -> None:
    from ragauge.errors import UnknownName
    from ragauge.registry import load

    with pytest.raises(UnknownName, match="unknown metric 'brevity'"):
        load("metrics", "brevity")
