"""What every test may use."""

from __future__ import annotations

from pathlib import Path

import pytest

SHARED = Path(__file__).resolve().parents[2] / "shared"


@pytest.fixture(scope="session")
def shared() -> Path:
    """The folder with oracles and labelled data that stands beside the repository; the test skips where it is absent."""
    if not (SHARED / "oracles").is_dir():
        pytest.skip("the folder ../shared (oracles, labelled data) is not beside this checkout")
    return SHARED
