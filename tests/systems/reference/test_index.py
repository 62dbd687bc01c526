from __future__ import annotations

import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ragauge.core.sample import Chunk
from ragauge.errors import EndpointUnusable, MissingExtra, StoreError
from ragauge.systems.reference.bm25 import BM25Index, Lexicon, best
from ragauge.systems.reference.fuse import reciprocal_rank_fusion
from ragauge.systems.reference.index import DenseIndex, VectorStore
from ragauge.systems.reference.vector_cache import VectorCache

CHUNKS = [Chunk(id=f"d{n:02d}#0000", document=f"d{n:02d}", text=f"word{n} shared") for n in range(20)]


@pytest.mark.parametrize("where", ["memory", "folder"])
def test_finds_the_nearest_chunks_with_their_cosines(where: str, tmp_path: Path, counting: Callable[..., Any]) -> None:
    store = VectorStore("memory" if where == "memory" else str(tmp_path / "q"))
    cache = VectorCache(counting(), None)
    index = DenseIndex(store, "f1", CHUNKS, cache)
    seen: list[tuple[int, int]] = []
    assert index.build("none", lambda n, of: seen.append((n, of))) == 20
    assert seen[0] == (0, 20)
    assert seen[-1] == (20, 20)
    vectors = cache.encode([chunk.text for chunk in CHUNKS])
    cosines = np.round(vectors @ vectors[7], 6)
    expected = sorted(range(20), key=lambda n: (-cosines[n], CHUNKS[n].id))[:5]
    found = index.search(vectors[7:8], 5)[0]
    assert [n for n, _ in found] == expected
    assert np.allclose([score for _, score in found], cosines[expected], atol=2e-6)
    store.close()


def test_equal_scores_are_ordered_by_id(counting: Callable[..., Any]) -> None:
    twins = [Chunk(id=name, text="same text") for name in ("c", "a", "d", "b")]
    cache = VectorCache(counting(), None)
    store = VectorStore("memory")
    index = DenseIndex(store, "f", twins, cache)
    index.build("none")
    assert [twins[n].id for n, _ in index.search(cache.encode(["same text"]), 3)[0]] == ["a", "b", "c"]
    store.close()


def test_an_index_in_a_folder_is_built_once_and_found_again(tmp_path: Path, counting: Callable[..., Any]) -> None:
    embedder = counting()
    for n_added in (20, 0):
        store = VectorStore(str(tmp_path / "q"))
        assert DenseIndex(store, "f", CHUNKS, VectorCache(embedder, None)).build("none") == n_added
        store.close()
    assert len(embedder.texts) == 20


def test_another_fingerprint_is_another_index_in_the_same_folder(tmp_path: Path, counting: Callable[..., Any]) -> None:
    store = VectorStore(str(tmp_path / "q"))
    cache = VectorCache(counting(), None)
    DenseIndex(store, "one", CHUNKS, cache).build("none")
    other = DenseIndex(store, "two", CHUNKS[:3], cache)
    assert other.build("none") == 3
    assert len(other.search(cache.encode(["shared"]), 20)[0]) == 3
    store.close()


def test_systems_of_one_process_share_a_folder_and_the_last_closes_it(
    tmp_path: Path, counting: Callable[..., Any]
) -> None:
    first, second = VectorStore(str(tmp_path / "q")), VectorStore(str(tmp_path / "q"))
    first.close()
    first.close()
    assert DenseIndex(second, "f", CHUNKS, VectorCache(counting(), None)).build("none") == 20
    second.close()
    VectorStore(str(tmp_path / "q")).close()


BUILD = """
import sys, time
sys.path.insert(0, sys.argv[2])
from conftest import CountingEmbedder
from ragauge.core.sample import Chunk
from ragauge.systems.reference import index
from ragauge.systems.reference.vector_cache import VectorCache
index.BATCH = 2
class Slow(CountingEmbedder):
    def encode(self, texts):
        time.sleep(0.05)
        return super().encode(texts)
chunks = [Chunk(id=f"d{n:02d}#0000", document=f"d{n:02d}", text=f"word{n} shared") for n in range(20)]
store = index.VectorStore(sys.argv[1])
print("open", flush=True)
index.DenseIndex(store, "f", chunks, VectorCache(Slow(), None)).build("none", lambda n, of: print(n, flush=True))
"""


def _builder(folder: Path) -> subprocess.Popen[str]:
    here = str(Path(__file__).parent)
    return subprocess.Popen([sys.executable, "-c", BUILD, str(folder), here], stdout=subprocess.PIPE, text=True)


def test_a_build_that_was_killed_goes_on_where_it_was(tmp_path: Path, counting: Callable[..., Any]) -> None:
    builder = _builder(tmp_path / "q")
    assert builder.stdout is not None
    while builder.stdout.readline().strip() != "6":
        assert builder.poll() is None
    builder.send_signal(signal.SIGKILL)
    builder.wait()
    builder.stdout.close()
    embedder = counting()
    cache = VectorCache(embedder, None)
    store = VectorStore(str(tmp_path / "q"))
    index = DenseIndex(store, "f", CHUNKS, cache)
    added = index.build("none")
    assert 0 < added <= 14
    assert len(embedder.texts) == added
    assert sorted(n for n, _ in index.search(cache.encode(["shared"]), 20)[0]) == list(range(20))
    store.close()


# qdrant-client leaves the lock's file object to the garbage collector when it finds the folder locked
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning", "ignore::ResourceWarning")
def test_a_folder_in_use_by_another_process_is_a_clear_error(tmp_path: Path) -> None:
    builder = _builder(tmp_path / "q")
    assert builder.stdout is not None
    try:
        assert builder.stdout.readline().strip() == "open"
        with pytest.raises(StoreError, match="in use by another process"):
            VectorStore(str(tmp_path / "q"))
    finally:
        builder.kill()
        builder.wait()
        builder.stdout.close()


def test_a_damaged_folder_is_a_clear_error(tmp_path: Path) -> None:
    (tmp_path / "meta.json").write_text("{broken")
    with pytest.raises(StoreError, match="cannot be opened") as caught:
        VectorStore(str(tmp_path))
    assert "Delete it" in caught.value.hint


def test_a_server_that_does_not_answer_is_a_clear_error(counting: Callable[..., Any]) -> None:
    store = VectorStore("http://127.0.0.1:9")
    started = time.perf_counter()
    with pytest.raises(EndpointUnusable, match=r"http://127\.0\.0\.1:9"):
        DenseIndex(store, "f", CHUNKS, VectorCache(counting(), None)).build("none")
    assert time.perf_counter() - started < 30
    store.close()


def test_without_the_libraries_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "qdrant_client", None)
    monkeypatch.setitem(sys.modules, "bm25s", None)
    with pytest.raises(MissingExtra, match="qdrant-client") as caught:
        VectorStore("memory")
    assert "ragauge[reference]" in caught.value.hint
    with pytest.raises(MissingExtra, match="bm25s"):
        BM25Index(Lexicon(["a"]), ["a"])


def test_bm25_agrees_with_its_formula() -> None:
    texts = ["rotate the key", "key key key store", "unrelated words entirely here", ""]
    lexicon = Lexicon(texts)
    found = dict(BM25Index(lexicon, ["a", "b", "c", "d"]).search("rotating keys", 10))
    lengths = np.array([len(one) for one in lexicon.numbered])
    idf = {"key": np.log(1 + (4 - 2 + 0.5) / (2 + 0.5)), "rotate": np.log(1 + (4 - 1 + 0.5) / (1 + 0.5))}
    assert lexicon.weight("nowhere") == pytest.approx(np.log(1 + 4.5 / 0.5))

    def part(term: str, tf: int, n: int) -> float:
        return float(idf[term] * tf / (tf + 1.5 * (1 - 0.75 + 0.75 * lengths[n] / lengths.mean())))

    assert found == {
        0: pytest.approx(part("key", 1, 0) + part("rotate", 1, 0), abs=1e-5),
        1: pytest.approx(part("key", 3, 1), abs=1e-5),
    }


def test_bm25_of_nothing_finds_nothing() -> None:
    assert BM25Index(Lexicon(["", "the of and"]), ["a", "b"]).search("the key", 3) == []
    assert BM25Index(Lexicon(["key"]), ["a"]).search("", 3) == []
    assert BM25Index(Lexicon(["key"]), ["a"]).search("\ud800 \x00", 3) == []


def test_bm25_ties_go_by_key_also_where_the_list_is_cut() -> None:
    index = BM25Index(Lexicon(["key"] * 6), ["f", "b", "d", "a", "c", "e"])
    assert [n for n, _ in index.search("key", 3)] == [3, 1, 4]


def test_best_takes_none_when_there_is_none() -> None:
    assert best(np.array([]), np.array([], dtype=int), 3) == []
    assert best(np.array([0.0, 0.0]), np.array([0, 1]), 3, above=0.0) == []


def test_fusion_ranks_what_both_lists_hold_first() -> None:
    fused = reciprocal_rank_fusion([[0, 1, 2], [2, 3]], ["a", "b", "c", "d"], 4)
    assert [n for n, _ in fused] == [2, 0, 1, 3]
    assert fused[0][1] == pytest.approx(1 / 63 + 1 / 61)
    assert [n for n, _ in reciprocal_rank_fusion([[1], [0]], ["a", "b"], 2)] == [0, 1]
    assert reciprocal_rank_fusion([], [], 5) == []
