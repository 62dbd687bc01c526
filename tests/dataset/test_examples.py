"""The examples in the docstrings run."""

from __future__ import annotations

import doctest
import importlib
import pkgutil

import pytest

import ragauge.dataset

MODULES = [f"ragauge.dataset.{module.name}" for module in pkgutil.iter_modules(ragauge.dataset.__path__)]


@pytest.mark.parametrize("name", [*MODULES, "ragauge.store.tables", "ragauge.store.textfile"])
def test_examples_in_docstrings_are_right(name: str) -> None:
    assert doctest.testmod(importlib.import_module(name)).failed == 0


def test_importing_the_package_loads_nothing_heavy() -> None:
    import subprocess
    import sys

    heavy = ("pandas", "pyarrow", "datasets", "numpy")
    code = f"import ragauge.dataset, sys; print([m for m in {heavy} if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
