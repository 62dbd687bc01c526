"""The examples in the docstrings of `ragauge.stats` run and are right."""

from __future__ import annotations

import doctest
import importlib
import pkgutil
import subprocess
import sys

import pytest

import ragauge.stats

MODULES = sorted(module.name for module in pkgutil.iter_modules(ragauge.stats.__path__, "ragauge.stats."))


@pytest.mark.parametrize("name", MODULES)
def test_examples_in_docstrings_are_right(name: str) -> None:
    result = doctest.testmod(importlib.import_module(name))
    assert result.attempted > 0
    assert result.failed == 0


def test_importing_all_of_stats_does_not_import_scipy() -> None:
    code = f"import sys, importlib; [importlib.import_module(m) for m in {MODULES!r}]; print('scipy' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"
