"""Choosing where rows are made: what is refused, in words; what is told; what a run is does not depend on it."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import ragauge
from ragauge.engine.cluster.connect import Address, address_of
from ragauge.engine.cluster.driver import _n_workers, _variables
from ragauge.engine.executor import executor_notes
from ragauge.engine.plan import Supply
from ragauge.engine.recipe import Recipe, computes_here
from ragauge.engine.settings import RunSettings, Settings, load_settings
from ragauge.errors import SettingsError
from ragauge.judges.factory import make_judge

SAMPLES = [{"id": "a", "question": "Which port?", "answer": "Port 80.", "contexts": ["It is port 80."]}]


def scored(folder: Path, *more: str, before: str = "") -> subprocess.CompletedProcess[str]:
    (folder / "a.json").write_text(json.dumps(SAMPLES))
    called = f"from ragauge.cli.main import main\nsys.argv[1:] = {['score', 'a.json', *more]!r}\nsys.exit(main())"
    code = f"import sys\n{before}\n{called}"
    return subprocess.run([sys.executable, "-c", code], cwd=folder, capture_output=True, text=True, timeout=60)


def test_without_ray_one_line_says_what_to_install_and_no_run_is_made(tmp_path: Path) -> None:
    done = scored(tmp_path, "--executor", "ray", before="sys.modules['ray'] = None")
    assert done.returncode == 2
    assert "error: Ray is not installed\n  Install it with: pip install 'ragauge[ray]'\n" in done.stderr
    assert not (tmp_path / "runs").exists()


@pytest.mark.parametrize("wrong", ["spark", "ray://", "ray:x", "http://head:1"])
def test_another_word_is_refused_with_those_that_would_do(tmp_path: Path, wrong: str) -> None:
    with pytest.raises(SettingsError, match=r"executor.*it is local, ray, ray://auto or ray://HOST:PORT \(found"):
        load_settings(None, {"run.executor": wrong})
    with pytest.raises(SettingsError, match="executor: it is local"):
        ragauge.evaluate(SAMPLES, judge=None, executor=wrong, out=tmp_path)


def test_addresses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("RAY_ADDRESS", raising=False)
    assert address_of("ray").is_private
    assert address_of("ray://head:10001/") == Address("ray://head:10001")
    assert address_of("ray://auto") == Address("auto")
    monkeypatch.setenv("RAY_ADDRESS", "10.0.0.1:6379")
    assert address_of("ray") == Address("10.0.0.1:6379")


@pytest.mark.parametrize(
    "wanted, concurrency, n_jobs, here, n_cpus, expected",
    [
        (None, 8, 100, True, 4, 4),
        (None, 8, 100, True, 16, 8),  # more than samples at once would be idle
        (None, 64, 100, False, 1, 2),
        (None, 64, 100, False, 64, 8),
        (12, 64, 100, False, 2, 12),
        (12, 64, 3, False, 2, 3),
    ],
)
def test_how_many_workers(
    wanted: int | None, concurrency: int, n_jobs: int, here: bool, n_cpus: int, expected: int
) -> None:
    assert _n_workers(wanted, concurrency, n_jobs, here, n_cpus) == expected


def test_only_variables_that_the_settings_may_need_travel() -> None:
    judge = {"name": "compatible:m@http://h/v1", "api_key_env": "OURS", "cache": "postgresql://u:${SECRET}@h/db"}
    found = set(_variables({"judge": [judge], "base": "x"}))
    assert {"OURS", "SECRET", "OPENAI_API_KEY"} <= found
    assert "PATH" not in found


def recipe(judge: Any, executor: str) -> Recipe:
    return Recipe(Settings(judge=judge, run=RunSettings(executor=executor)), Supply(), asks=False)


def test_a_cluster_with_a_local_cache_is_told_so() -> None:
    named = {"name": "compatible:m@http://127.0.0.1:1/v1"}
    judge = make_judge(named)
    told = executor_notes(recipe(named, "ray://head:10001"), judge)
    assert len(told) == 1
    assert "PostgreSQL" in told[0]
    shared = named | {"cache": "postgresql://u@h/db"}
    assert not executor_notes(recipe(shared, "ray://head:10001"), judge)
    assert not executor_notes(recipe(named, "ray"), judge)
    assert not executor_notes(recipe("embedded", "ray://head:10001"), make_judge("embedded"))


def test_what_computes_here() -> None:
    assert computes_here(Settings())
    assert not computes_here(Settings(judge="openai:m"))
    assert not computes_here(Settings(system={"reference": {"generator": "openai:m"}}))
