from __future__ import annotations

import asyncio
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest

from ragauge.errors import MissingExtra, NewerVersion, StoreError
from ragauge.store.cache import DatabaseCache, SqliteCache, open_cache

WRITER = """
import asyncio, sys
from ragauge.store.cache import open_cache
async def main():
    cache = open_cache(sys.argv[1])
    for n in range(int(sys.argv[2])):
        await cache.put(f"{n}", sys.argv[3].encode(), task="t", model="m")
        if len(sys.argv) > 4:
            print(n, flush=True)
    cache.close()
asyncio.run(main())
"""


@pytest.fixture(params=["file", "sqlalchemy", pytest.param("postgres", marks=pytest.mark.slow)])
def where(request, tmp_path: Path):
    if request.param == "file":
        yield str(tmp_path / "deep" / "cache.sqlite")
    elif request.param == "sqlalchemy":
        pytest.importorskip("sqlalchemy")
        yield f"sqlite:///{tmp_path / 'cache.db'}"
    else:
        url = request.getfixturevalue("postgres_url")
        yield url
        import sqlalchemy

        engine = sqlalchemy.create_engine(url)
        with engine.begin() as connection:
            connection.execute(sqlalchemy.text("DROP TABLE IF EXISTS ragauge_replies"))
        engine.dispose()


def test_what_is_put_is_got_the_first_stays_and_what_is_forgotten_is_gone(where: str) -> None:
    async def scenario() -> list[object]:
        cache = open_cache(where)
        seen: list[object] = [await cache.get("a")]
        for value in (b"first \x00\xff", b"second"):
            await cache.put("a", value, task="support", model="m" * 400)
        await cache.put("b", b"")
        seen += [await cache.get("a"), await cache.get("b"), await cache.count()]
        await cache.forget(["a", "none"])
        await cache.forget([])
        seen += [await cache.get("a"), await cache.count()]
        cache.close()
        cache = open_cache(where)
        seen.append(await cache.get("b"))
        cache.close()
        cache.close()
        return seen

    assert asyncio.run(scenario()) == [None, b"first \x00\xff", b"", 2, None, 1, b""]


def test_many_tasks_at_once(where: str) -> None:
    async def scenario() -> int:
        cache = open_cache(where)
        await asyncio.gather(*(cache.put(str(n % 50), str(n).encode()) for n in range(300)))
        found = await asyncio.gather(*(cache.get(str(n)) for n in range(50)))
        cache.close()
        return sum(value is not None for value in found)

    assert asyncio.run(scenario()) == 50


def test_several_processes_write_at_once_and_agree(where: str) -> None:
    writers = [subprocess.Popen([sys.executable, "-c", WRITER, where, "150", f"w{n}"]) for n in range(3)]
    assert [writer.wait() for writer in writers] == [0, 0, 0]

    async def scenario() -> tuple[int, set[bytes | None]]:
        cache = open_cache(where)
        values = {await cache.get(str(n)) for n in range(150)}
        n = await cache.count()
        cache.close()
        return n, values

    n, values = asyncio.run(scenario())
    assert n == 150
    assert values <= {b"w0", b"w1", b"w2"}


def test_what_was_stored_survives_kill_9(tmp_path: Path) -> None:
    where = str(tmp_path / "cache.sqlite")
    command = [sys.executable, "-c", WRITER, where, "1000000", "x", "aloud"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as writer:
        assert writer.stdout is not None
        for line in writer.stdout:
            if int(line) == 40:
                break
        writer.kill()

    async def scenario() -> int:
        cache = open_cache(where)
        n = await cache.count()
        cache.close()
        return n

    assert asyncio.run(scenario()) >= 41


def test_a_cache_of_a_newer_ragauge_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "cache.sqlite"
    SqliteCache(path).close()
    connection = sqlite3.connect(path)
    connection.execute("PRAGMA user_version = 99")
    connection.close()
    with pytest.raises(NewerVersion, match="99"):
        SqliteCache(path)


def test_a_file_that_is_no_cache_is_refused_and_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "notes.txt"
    path.write_text("these are my notes " * 100, encoding="utf-8")
    with pytest.raises(StoreError, match=r"notes\.txt"):
        SqliteCache(path)
    assert path.read_text(encoding="utf-8").startswith("these are my notes")


def test_a_folder_and_a_place_that_cannot_be_are_refused(tmp_path: Path) -> None:
    with pytest.raises(StoreError):
        SqliteCache(tmp_path)
    (tmp_path / "file").write_text("x", encoding="utf-8")
    with pytest.raises(StoreError):
        SqliteCache(tmp_path / "file" / "cache.sqlite")


def test_a_cache_damaged_while_in_use_is_an_error_with_its_name(tmp_path: Path) -> None:
    path = tmp_path / "cache.sqlite"
    cache = SqliteCache(path)
    connection = sqlite3.connect(path)
    connection.execute("DROP TABLE replies")
    connection.close()
    with pytest.raises(StoreError, match=r"cache\.sqlite"):
        asyncio.run(cache.get("a"))
    cache.close()


@pytest.mark.parametrize("url", ["nonsense://x", "postgresql+nodriver://h/db", "://"])
def test_urls_that_lead_nowhere(url: str) -> None:
    pytest.importorskip("sqlalchemy")
    with pytest.raises((StoreError, MissingExtra)):
        open_cache(url)


def test_a_password_is_not_shown(tmp_path: Path) -> None:
    pytest.importorskip("sqlalchemy")
    with pytest.raises((StoreError, MissingExtra)) as failed:
        DatabaseCache("postgresql+psycopg://me:hunter2@127.0.0.1:1/none?connect_timeout=1")
    assert "hunter2" not in str(failed.value)


def test_a_cache_may_be_collected_in_its_own_thread(tmp_path: Path) -> None:
    """The collector runs in whatever thread allocates next: joining it from within would be an error nobody sees."""
    cache = SqliteCache(tmp_path / "cache.sqlite")
    cache._thread.submit(cache._release).result(timeout=30)
    assert not cache._release.alive
