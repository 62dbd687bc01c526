"""Seeded faults in the reference pipeline: the right cause for nine of ten rows, the right thing to try first."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import pytest

FOLDER = Path(__file__).parents[2] / "validation" / "diagnosis"

#: One of each half and of the data; validation/diagnosis/RESULTS.md has them all.
SUBSET = (
    "answer chunk cut in two", "gold documents missing", "embedder swapped (dense)", "k too small", "junk chunks",
    "stale duplicates outrank", "multi-hop part missing", "labels too coarse", "generator ignores its context",
    "over-cautious generator", "hallucinating generator", "wrong citations", "distracted by other chunks",
    "wrong reference answers",
)  # fmt: skip


@pytest.fixture(scope="module")
def seeded() -> ModuleType:
    spec = importlib.util.spec_from_file_location("seeded_faults", FOLDER / "seeded.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["seeded_faults"] = module
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> str:
    return str(tmp_path_factory.mktemp("vectors"))


@pytest.fixture(scope="module")
def items(seeded: ModuleType, cache: str) -> object:
    return seeded.good_items(cache)


@pytest.mark.slow
@pytest.mark.parametrize("name", SUBSET)
def test_the_seeded_cause_comes_first_and_so_does_its_fix(
    name: str, seeded: ModuleType, items: object, cache: str
) -> None:
    fault = next(fault for fault in seeded.FAULTS if fault.name == name)
    outcome = seeded.seed(fault, items, cache, tried=True)
    assert outcome.n >= 5
    assert outcome.share >= 0.9, outcome.wrong
    assert outcome.fix == fault.fix
