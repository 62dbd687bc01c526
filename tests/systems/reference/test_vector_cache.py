from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ragauge.embeddings import load
from ragauge.errors import StoreError
from ragauge.systems.reference.vector_cache import FILE, VectorCache, default_folder

Counting = Callable[..., Any]


def test_a_text_is_embedded_once_however_often_it_is_asked(tmp_path: Path, counting: Counting) -> None:
    embedder = counting()
    cache = VectorCache(embedder, tmp_path)
    first = cache.encode(["a", "b", "a"])
    assert sorted(embedder.texts) == ["a", "b"]
    again = VectorCache(embedder, tmp_path).encode(["b", "c", "a"])
    assert sorted(embedder.texts) == ["a", "b", "c"]
    assert (again[0] == first[1]).all()
    assert (again[2] == first[0]).all()


def test_models_do_not_share_vectors(tmp_path: Path, counting: Counting) -> None:
    one, other = counting(), counting(8)
    other.fingerprint = "other"
    VectorCache(one, tmp_path).encode(["a"])
    assert VectorCache(other, tmp_path).encode(["a"]).shape == (1, 8)


def test_progress_counts_up_to_all_texts(tmp_path: Path, counting: Counting) -> None:
    seen: list[tuple[int, int]] = []
    VectorCache(counting(), tmp_path).encode(["a", "b", "b", "c"], progress=lambda n, of: seen.append((n, of)), batch=2)
    assert seen == [(0, 4), (3, 4), (4, 4)] or seen == [(0, 4), (2, 4), (4, 4)]


def test_without_a_folder_nothing_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, counting: Counting
) -> None:
    monkeypatch.setenv("RAGAUGE_CACHE", str(tmp_path / "c"))
    assert VectorCache(counting(), None).encode(["a", "\ud800"]).shape == (2, 16)
    assert not (tmp_path / "c").exists()


def test_the_folder_is_the_environments_or_the_users(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RAGAUGE_CACHE", str(tmp_path))
    assert default_folder() == tmp_path / "embeddings"
    monkeypatch.delenv("RAGAUGE_CACHE")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "x"))
    monkeypatch.setattr("sys.platform", "linux")
    assert default_folder() == tmp_path / "x" / "ragauge" / "embeddings"


def test_a_damaged_file_says_that_it_can_be_deleted(tmp_path: Path, counting: Counting) -> None:
    (tmp_path / FILE).write_bytes(b"not a database" * 100)
    with pytest.raises(StoreError) as caught:
        VectorCache(counting(), tmp_path).encode(["a"])
    assert "Delete the file" in caught.value.hint


def test_a_folder_that_cannot_be_made_is_named(tmp_path: Path, counting: Counting) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(StoreError, match="cannot keep vectors in"):
        VectorCache(counting(), tmp_path / "file" / "below")


FILL = """
import sys
from pathlib import Path
from ragauge.embeddings import load
from ragauge.systems.reference.vector_cache import VectorCache
cache = VectorCache(load(), Path(sys.argv[1]))
for n in range(int(sys.argv[2]), int(sys.argv[2]) + 40):
    cache.encode([f"text {n}", f"text {n + 1}"])
"""


def test_processes_write_to_one_folder_at_the_same_time(tmp_path: Path, counting: Counting) -> None:
    workers = [subprocess.Popen([sys.executable, "-c", FILL, str(tmp_path), start]) for start in ("0", "10", "20")]
    assert [worker.wait(120) for worker in workers] == [0, 0, 0]
    model = load()
    embedder = counting(384)
    embedder.fingerprint = model.fingerprint
    texts = [f"text {n}" for n in range(61)]
    found = VectorCache(embedder, tmp_path).encode(texts)
    assert embedder.texts == []
    assert np.allclose(found, model.encode(texts), atol=1e-5)
