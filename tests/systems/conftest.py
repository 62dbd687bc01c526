"""What tests of systems share."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

HERE = Path(__file__).parent


def _beside(name: str) -> Any:
    """A module beside the tests: `--import-mode=importlib` puts no folder on the path."""
    if name not in sys.modules:
        spec = importlib.util.spec_from_file_location(name, HERE / f"{name}.py")
        assert spec is not None
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        sys.modules[name] = module
        spec.loader.exec_module(module)
    return sys.modules[name]


@pytest.fixture
def service() -> Iterator[Any]:
    """A service behind HTTP; `service.url` is where it listens."""
    module = _beside("http_service")
    made = module.Service()
    with module.running(made) as url:
        made.url = url
        yield made
