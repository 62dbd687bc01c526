"""The house: layers, what may be imported, how long the package takes to import."""

from __future__ import annotations

import importlib
import json
import subprocess
import sys
from pathlib import Path

import pytest

import ragauge
from ragauge.cli.main import VERBS

ROOT = Path(__file__).resolve().parents[2]
HEAVY = ("numpy", "scipy", "pandas", "pyarrow", "qdrant_client", "bm25s", "pydantic", "rich", "torch", "openai", "yaml")


def loaded_by(code: str) -> set[str]:
    out = subprocess.run(
        [sys.executable, "-c", f"{code}\nimport sys, json; print(json.dumps(sorted(sys.modules)))"],
        capture_output=True,
        text=True,
        check=True,
    )
    return set(json.loads(out.stdout.splitlines()[-1]))


def test_importing_the_package_loads_nothing_heavy() -> None:
    assert not loaded_by("import ragauge") & set(HEAVY)


def test_help_loads_only_click() -> None:
    code = "from ragauge.cli.main import cli\ntry: cli(['--help'])\nexcept SystemExit: pass"
    assert not loaded_by(code) & set(HEAVY)


def test_evaluating_loads_no_optional_part() -> None:
    optional = {"pandas", "pyarrow", "qdrant_client", "bm25s", "datasets", "torch", "openai", "anthropic", "aiohttp"}
    assert not loaded_by("import ragauge; ragauge.evaluate") & optional


def test_every_public_name_is_there_and_dir_says_so() -> None:
    for name in ragauge.__all__:
        assert getattr(ragauge, name) is not None
    assert dir(ragauge) == sorted(ragauge.__all__)
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        ragauge.nothing  # noqa: B018


@pytest.mark.parametrize("verb", sorted(VERBS))
def test_every_verb_is_there_with_help(verb: str) -> None:
    command = importlib.import_module(VERBS[verb][0]).command
    assert command.name == verb
    assert command.help


def test_import_contracts_hold() -> None:
    lint = Path(sys.executable).parent / "lint-imports"
    done = subprocess.run([lint, "--no-cache", "--no-logo"], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


def test_no_circular_or_missing_import_in_any_module() -> None:
    modules = sorted(
        ".".join(path.relative_to(ROOT / "src").with_suffix("").parts).removesuffix(".__init__")
        for path in (ROOT / "src" / "ragauge").rglob("*.py")
        if path.name != "__main__.py"
    )
    code = f"import importlib\nfor name in {modules!r}: importlib.import_module(name)"
    done = subprocess.run([sys.executable, "-W", "error", "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_the_root_of_the_repository_holds_no_litter() -> None:
    tracked = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True)
    if tracked.returncode != 0:
        pytest.skip("not a git checkout")
    top = {line.split("/")[0] for line in tracked.stdout.splitlines()}
    allowed = {
        ".ci", ".gitignore", ".github", "ARCHITECTURE.md", "CHANGELOG.md", "CONTRIBUTING.md", "LICENSE", "Makefile",
        "NOTICE", "README.md", "benchmarks", "design", "docs", "examples", "pyproject.toml", "scripts", "src", "tests",
        "validation",
    }  # fmt: skip
    assert top <= allowed
