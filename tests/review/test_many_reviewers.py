"""Fifty reviewers at once, some of them killed: no item twice unasked, none lost, no acknowledged label lost."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest

from ragauge.errors import StoreError
from ragauge.review import open_queue
from ragauge.review.items import Candidate
from ragauge.review.stats import queue_stats

pytestmark = pytest.mark.slow

N_PROCESSES, N_THREADS, N_ITEMS = 5, 10, 300

#: Every thread is a reviewer; a line "item reviewer" is printed only after the label was acknowledged.
REVIEWERS = """
import os, sys, threading
from ragauge.review import open_queue
where, name, n_threads = sys.argv[1], sys.argv[2], int(sys.argv[3])
queue = open_queue(where)
failed = []
def work(reviewer):
    try:
        while (item := queue.next(reviewer, budget=None)) is not None:
            queue.label(item.id, reviewer, "faithful")
            os.write(1, f"{item.item} {reviewer}\\n".encode())
    except BaseException as error:
        failed.append(repr(error))
threads = [threading.Thread(target=work, args=(f"{name}-{place}",)) for place in range(n_threads)]
[thread.start() for thread in threads]
[thread.join() for thread in threads]
sys.exit("\\n".join(failed) or 0)
"""


def start(where: str, name: str, n_threads: int) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", REVIEWERS, where, name, str(n_threads)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def fill(where: str, run: str, n: int, wanted: int = 1) -> None:
    with open_queue(where) as queue:
        queue.add(
            Candidate(run=run, item=f"{run}-{place}", metric="faithfulness", source="asked", reason="", wanted=wanted)
            for place in range(n)
        )


def labelled(where: str, run: str) -> list[tuple[str, str]]:
    with open_queue(where) as queue:
        names = {item.id: item.item for item in queue.items(run=run)}
        return [(names[label.item_id], label.reviewer) for label in queue.labels() if label.item_id in names]


@pytest.fixture(params=["sqlite", "postgres"])
def where(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    if request.param == "sqlite":
        return str(tmp_path / "review.sqlite")
    url: str = request.getfixturevalue("postgres_url")
    return url


@pytest.mark.parametrize("wanted", [1, 2])
def test_fifty_reviewers_label_every_item_as_often_as_wanted(where: str, wanted: int) -> None:
    run = f"fifty{wanted}-{os.getpid()}"
    fill(where, run, N_ITEMS // wanted, wanted)
    processes = [start(where, f"p{place}", N_THREADS) for place in range(N_PROCESSES)]
    acknowledged: list[tuple[str, str]] = []
    for process in processes:
        out, error = process.communicate(timeout=500)
        assert process.returncode == 0, error
        acknowledged += [tuple(line.split(" ")) for line in out.splitlines()]  # type: ignore[misc]
    found = labelled(where, run)
    assert sorted(found) == sorted(acknowledged)
    assert set(Counter(item for item, _ in found).values()) == {wanted}
    assert len({item for item, _ in found}) == N_ITEMS // wanted


def test_no_acknowledged_label_is_lost_when_reviewers_are_killed(where: str) -> None:
    run = f"killed-{os.getpid()}"
    fill(where, run, 150)
    doomed = start(where, "doomed", 10)
    assert doomed.stdout is not None
    acknowledged = [doomed.stdout.readline() for _ in range(20)]
    time.sleep(0.05)
    doomed.send_signal(signal.SIGKILL)
    out, _ = doomed.communicate(timeout=60)
    acknowledged += [line for line in out.splitlines(keepends=True) if line.endswith("\n")]
    kept = set(labelled(where, run))
    assert {tuple(line.split()) for line in acknowledged} <= kept
    # What the killed ones held comes back when their leases end; the others go on at once.
    others = start(where, "others", 10)
    out, error = others.communicate(timeout=300)
    assert others.returncode == 0, error
    with open_queue(where) as queue:
        n_held = queue.n_leased()
        assert n_held <= 10
        found = labelled(where, run)
        assert len(found) == len({item for item, _ in found}) == 150 - n_held
        queue.clock = lambda: time.time() + queue.lease_s + 1
        while (item := queue.next("late", budget=None)) is not None:
            queue.label(item.id, "late", "faithful")
    assert len(labelled(where, run)) == 150


def test_a_day_over_postgresql_is_a_day_over_sqlite(postgres_url: str) -> None:
    run = f"day-{os.getpid()}"
    payload = {"question": "a\x00b\ud800 \u202e <script>"}
    with open_queue(postgres_url) as queue:
        made = [
            Candidate(run=run, item=f"{run}-{place}", metric=run, source="asked", reason="\x00", payload=payload)
            for place in range(3)
        ]
        assert queue.add(made) == 3
        assert queue.add(made) == 0
        assert queue.add([replace(made[0], design="bands-0", band="pass", probability=0.5, wanted=2)]) == 0
        item = queue.next("ann", metric=run)
        assert item is not None
        assert item.payload == payload
        first = queue.label(item.id, "ann", "faithful", note="\x00", edits={"answer": "42"})
        assert queue.label(item.id, "ann", "faithful", note="\x00", edits={"answer": "42"}) == first
        back = queue.undo("ann")
        assert back is not None
        assert back.id == item.id
        queue.skip(item.id, "ann", "later")
        other = queue.next("ann", metric=run)
        assert other is not None
        assert other.id != item.id
        queue.label(other.id, "ann", "unfaithful", systematic="old versions")
        found = queue_stats(queue)
        assert found.patterns["old versions"] == (other.item,)
        assert "ragauge@" in queue.where
        assert {one.design for one in queue.items(run=run)} == {None, "bands-0"}
    with pytest.raises(StoreError, match="cannot be used"):
        open_queue(postgres_url.replace("/postgres", "/nothing"))
