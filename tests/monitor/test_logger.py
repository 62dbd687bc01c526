"""`Logger` in a service: it neither waits nor raises, and what it wrote survives whatever happens to it."""

from __future__ import annotations

import asyncio
import json
import multiprocessing
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.monitor.serving import CHUNKS, all_of, at_once, serving

from ragauge.errors import SettingsError, UnknownName, UsageError
from ragauge.monitor import Logger
from ragauge.monitor.redact import redactor

ROOT = str(Path(__file__).parents[2])


def _within(seconds: float, true: Callable[[], bool]) -> bool:
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        if true():
            return True
        time.sleep(0.05)
    return False


@dataclass
class Document:
    page_content: str
    metadata: dict[str, Any] = field(default_factory=dict)


@dataclass
class Node:
    text: str
    node_id: str


@dataclass
class NodeWithScore:
    node: Node
    score: float


def test_two_lines_log_a_query_and_its_feedback(tmp_path: Path) -> None:
    log = Logger(tmp_path / "log", project="help")
    query_id = log.query("How?", answer="So.", chunks=CHUNKS, total_ms=12.0, tenant="acme")
    log.feedback(query_id, "down", note="wrong")
    log.outcome(query_id, True)
    assert log.close()
    (query,) = all_of(tmp_path / "log").values()
    assert (query.id, query.question, query.answer, query.project) == (query_id, "How?", "So.", "help")
    assert query.chunks is not None
    assert [(c.id, c.rank, c.score) for c in query.chunks][:2] == [("c0", 1, 0.9), ("c1", 2, 0.8)]
    assert (query.n_chunks, query.top_score, query.mean_score) == (5, 0.9, pytest.approx(0.7))
    assert (query.feedback, query.note, query.outcome) == ("down", "wrong", 1.0)
    assert query.metadata == {"tenant": "acme"}


def test_chunks_of_any_framework_become_chunks(tmp_path: Path) -> None:
    log = Logger(tmp_path)
    log.query("q", chunks=[
        "bare text",
        Document("page", {"source": "manual.pdf", "chunk_id": "m-1"}),
        (Document("pair"), np.float32(0.5)),
        NodeWithScore(Node("node", "n-1"), 0.25),
        {"content": "mapping", "_id": 7, "similarity": float("nan")},
    ])  # fmt: skip
    assert log.close()
    (query,) = all_of(tmp_path).values()
    found = [(c.id, c.document, c.text, c.score) for c in query.chunks or ()]
    assert found[1:] == [
        ("m-1", "manual.pdf", "page", None), (found[2][0], None, "pair", 0.5), ("n-1", None, "node", 0.25),
        ("7", None, "mapping", None),
    ]  # fmt: skip
    assert found[0][0].startswith("text:")


def test_nothing_that_is_given_raises(tmp_path: Path) -> None:
    class Hostile:
        def __getattr__(self, name: str) -> Any:
            raise RuntimeError(name)

        def __str__(self) -> str:
            raise RuntimeError("str")

    log = Logger(tmp_path)
    good = log.query("a \ud800 b", answer={"no": "text"}, total_ms="fast", tokens_in=-1, tags=3, chunks=["\udfff"])  # type: ignore[arg-type]
    for question in (None, 3, "", Hostile()):
        log.query(question)  # type: ignore[arg-type]
    log.query("q", chunks=[Hostile()])
    log.query("q", metadata=Hostile(), at="never")  # type: ignore[arg-type]
    log.feedback("x")
    log.feedback(Hostile(), "sideways")  # type: ignore[arg-type]
    assert log.flush()
    stats = log.stats()
    assert stats["dropped"] == stats["failures"] == 0
    assert int(stats["written"]) + int(stats["refused"]) == stats["logged"] == 9
    found = all_of(tmp_path)
    assert found[good].question == "a ? b"
    assert set(found[good].metadata["ragauge.unreadable"]) == {"tokens_in", "tags"}
    log.close()


def test_a_very_long_record_keeps_its_figures(tmp_path: Path) -> None:
    log = Logger(tmp_path)
    log.query("q" * 10, chunks=[{"id": "c", "text": "x" * 3_000_000, "score": 0.5}], total_ms=5.0)
    assert log.close()
    (query,) = all_of(tmp_path).values()
    assert (query.top_score, query.total_ms, query.metadata) == (0.5, 5.0, {"ragauge.shortened": True})


def test_redaction_comes_before_anything_is_written(tmp_path: Path) -> None:
    log = Logger(tmp_path, redact=["email", "card", {"pattern": "ACME-[0-9]+", "with": "[order]"}],
                 before_write=lambda query: None if "drop me" in query.question else query)  # fmt: skip
    log.query(
        "ann@example.org asks for ACME-77", answer="4111 1111 1111 1111", chunks=["of bob@example.org"], secret="ACME-1"
    )
    log.query("drop me")
    log.feedback("x", "up", note="carl@example.org")
    assert log.close()
    written = "".join(path.read_text() for path in tmp_path.rglob("*.jsonl"))
    assert "example.org" not in written
    assert "4111" not in written
    assert "ACME" not in written
    assert "drop me" not in written
    (query,) = all_of(tmp_path).values()
    assert query.question == "[email] asks for [order]"
    assert query.redacted


def test_a_redaction_that_fails_lets_nothing_through(tmp_path: Path) -> None:
    def broken(text: str) -> str:
        raise ValueError("no")

    log = Logger(tmp_path, redact=broken)
    log.query("secret")
    log.query("secret", total_ms="x")
    assert log.close()
    assert log.stats()["refused"] == 2
    assert not list(tmp_path.rglob("*.jsonl"))
    with pytest.raises(UnknownName, match="email"):
        redactor("emial")
    with pytest.raises(SettingsError, match="regular expression"):
        redactor({"pattern": "("})


def test_a_full_queue_drops_and_counts(tmp_path: Path) -> None:
    log = Logger(tmp_path, queue_size=10, flush_s=2.0)  # nothing is written while it is filled
    for _ in range(50):
        log.query("q")
    assert log.close()
    stats = log.stats()
    assert (stats["dropped"], stats["written"]) == (50 - 10, 10)
    assert len(all_of(tmp_path)) == 10
    with pytest.raises(UsageError):
        Logger(tmp_path, queue_size=0)
    with pytest.raises(UsageError, match="no address"):
        Logger("http://", spool=tmp_path / "spool")


def test_threads_tasks_and_forks_log_side_by_side(tmp_path: Path) -> None:
    log = Logger(tmp_path)
    log.query("before")

    async def tasks() -> None:
        async def one() -> None:
            log.query("task")

        await asyncio.gather(*(one() for _ in range(20)))

    threads = [threading.Thread(target=lambda: [log.query("thread") for _ in range(25)]) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    asyncio.run(tasks())
    child = os.fork()
    if child == 0:
        log.query("child")
        log.flush()
        os._exit(0)
    os.waitpid(child, 0)
    process = multiprocessing.get_context("fork").Process(target=lambda: log.query("process"))
    process.start()
    process.join()
    assert log.close()
    asked = [query.question for query in all_of(tmp_path).values()]
    counts = {question: asked.count(question) for question in set(asked)}
    assert counts == {"before": 1, "thread": 100, "task": 20, "child": 1, "process": 1}


def _service(code: str, *arguments: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", code, *arguments], stdout=subprocess.PIPE, text=True, cwd=ROOT,
        env={**os.environ, "PYTHONPATH": ROOT},
    )  # fmt: skip


_AT_EXIT = (
    "import sys; from ragauge.monitor import Logger; log = Logger(sys.argv[1]); [log.query('q') for _ in range(500)]"
)

_FLUSHES = """
import sys, time
from ragauge.monitor import Logger
log = Logger(sys.argv[1])
while True:
    ids = [log.query("q", answer="x" * 100) for _ in range(20)]
    if log.flush(30):
        print(*ids, flush=True)
"""

_FULL_DISK = """
import resource, signal, sys, time
from ragauge.monitor import Logger
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
log = Logger(sys.argv[1])
limit = lambda size: resource.setrlimit(resource.RLIMIT_FSIZE, (size, resource.RLIM_INFINITY))
limit(20_000)
for n in range(300):
    log.query(f"q{n}", answer="x" * 100)
assert not log.flush(1.5)
stats = log.stats()
assert stats["failures"] and "no space" in stats["last_error"], stats
limit(resource.RLIM_INFINITY)
assert log.flush(30)
print(log.stats())
"""


def test_the_end_of_a_process_writes_what_waits(tmp_path: Path) -> None:
    process = _service(_AT_EXIT, str(tmp_path))
    process.communicate(timeout=60)
    assert process.returncode == 0
    assert len(all_of(tmp_path)) == 500


def test_kill_9_loses_only_what_was_not_flushed(tmp_path: Path) -> None:
    process = _service(_FLUSHES, str(tmp_path))
    assert process.stdout is not None
    flushed: set[str] = set()
    for _ in range(5):
        flushed.update(process.stdout.readline().split())
    process.send_signal(signal.SIGKILL)
    rest = process.stdout.read()
    process.wait()
    process.stdout.close()
    flushed.update(rest[: rest.rfind("\n") + 1].split())
    found = all_of(tmp_path).keys()
    assert flushed <= found
    assert len(found) <= len(flushed) + 20


def test_a_full_disk_raises_nothing_and_loses_nothing_once_there_is_room(tmp_path: Path) -> None:
    process = _service(_FULL_DISK, str(tmp_path))
    output, _ = process.communicate(timeout=90)
    assert process.returncode == 0, output
    assert {query.question for query in all_of(tmp_path).values()} == {f"q{n}" for n in range(300)}


@pytest.mark.slow
def test_a_server_that_is_down_or_dies_loses_nothing(tmp_path: Path) -> None:
    spool = tmp_path / "spool"
    ids: list[str] = []
    with serving(tmp_path / "log") as first:
        port = first.port
        log = Logger(first.url, spool=spool, timeout_s=2.0)
        ids += [log.query("up", chunks=CHUNKS) for _ in range(50)]
        assert log.flush()
        first.process.kill()
        first.process.wait()
        ids += [log.query("down", chunks=CHUNKS) for _ in range(50)]
        log.feedback(ids[0], "down")
        assert log.flush()  # on this disk now
        assert log.close()
    assert len(all_of(tmp_path / "log")) == 50
    assert len(all_of(spool)) == 50
    with serving(tmp_path / "log", port=port) as again:
        log = Logger(again.url, spool=spool)  # the service was restarted, too
        ids.append(log.query("up again"))
        assert log.flush()
        assert _within(40, lambda: not list(spool.rglob("*.jsonl")))
        log.close()
    found = all_of(tmp_path / "log")
    assert found.keys() == set(ids)
    assert found[ids[0]].feedback == "down"


@pytest.mark.slow
def test_a_server_whose_disk_is_full_acknowledges_nothing_that_it_loses(tmp_path: Path) -> None:
    room = (
        "import resource, signal; signal.signal(signal.SIGXFSZ, signal.SIG_IGN); "
        "resource.setrlimit(resource.RLIMIT_FSIZE, (30_000, resource.RLIM_INFINITY))"
    )
    with serving(tmp_path / "log", prelude=room) as full:
        accepted, statuses = set(), set()
        for n in range(200):
            status, answer = full.post("/v1/queries", {"id": f"q{n}", "question": "q", "answer": "x" * 400})
            statuses.add(status)
            if status == 200:
                accepted.add(f"q{n}")
            else:
                assert "space" in answer["error"]
        assert statuses == {200, 503}
        log = Logger(full.url, spool=tmp_path / "spool")
        kept = log.query("through the logger", answer="y" * 400)
        assert log.close()
        assert full.health()["status"] == "ok"
    assert all_of(tmp_path / "log").keys() == accepted
    assert all_of(tmp_path / "spool").keys() == {kept}


@pytest.mark.slow
def test_what_the_server_refuses_is_kept_with_its_reason(tmp_path: Path) -> None:
    with serving(tmp_path / "log", settings="monitor: {server: {token: s3cret, max_record_kb: 1}}") as served:
        log = Logger(served.url, token="s3cret", spool=tmp_path / "spool")
        good, large = log.query("small"), log.query("large", answer="x" * 5_000)
        assert log.close()
        refused = json.loads((tmp_path / "spool" / "refused.jsonl").read_text())
        assert refused["line"]["id"] == large
        assert "more than 1024" in refused["reason"]
        wrong = Logger(served.url, token="wrong", spool=tmp_path / "other")
        waits = wrong.query("no token")
        assert wrong.flush()
        assert "401" in str(wrong.stats()["last_error"])
        wrong.close()
    assert all_of(tmp_path / "log").keys() == {good}
    assert all_of(tmp_path / "other").keys() == {waits}


@pytest.mark.slow
def test_a_spoilt_line_in_the_spool_does_not_hold_up_the_others(tmp_path: Path) -> None:
    spool = tmp_path / "spool"
    away = Logger("http://127.0.0.1:9", spool=spool)
    kept = [away.query("one"), away.query("two")]
    away.close()
    (segment,) = (spool / "queries").rglob("*.jsonl")
    first, second = segment.read_bytes().splitlines()
    segment.write_bytes(first + b"\n" + bytes(40) + b"\n\xff\xfe{\n" + second + b"\n")
    for _ in range(2):  # as long as nothing can be sent, nothing is set aside
        still = Logger("http://127.0.0.1:9", spool=spool)
        kept.append(still.query("more"))
        still.close()
    assert not (spool / "refused.jsonl").exists()
    with serving(tmp_path / "log") as served:
        log = Logger(served.url, spool=spool)
        log.query("three")
        assert log.close()
        assert log.stats()["refused"] == 2
    assert all_of(tmp_path / "log").keys() > set(kept)
    assert len((spool / "refused.jsonl").read_text().splitlines()) == 2


def test_a_folder_that_is_deleted_while_it_is_written_to_is_made_again(tmp_path: Path) -> None:
    place = tmp_path / "log"
    with Logger(place) as log:
        log.query("before")
        assert log.flush()
        shutil.rmtree(place / "queries")
        kept = log.query("after")
        assert log.flush()
        assert all_of(place).keys() == {kept}


def test_what_comes_after_the_end_is_counted_as_dropped(tmp_path: Path) -> None:
    log = Logger(tmp_path)
    log.query("in time")
    assert log.close()
    log.query("too late")
    assert {name: log.stats()[name] for name in ("logged", "written", "dropped", "queued")} == {
        "logged": 1, "written": 1, "dropped": 1, "queued": 0,
    }  # fmt: skip
    begun = time.monotonic()
    assert log.flush()
    assert time.monotonic() - begun < 5


def test_loggers_made_at_the_same_moment_in_many_threads_share_a_new_folder(tmp_path: Path) -> None:
    for attempt in range(10):
        place = tmp_path / str(attempt)
        assert at_once(8, lambda place=place: Logger(place).close()) == []  # type: ignore[misc]
