"""Files that are replaced in one step, also by threads that share a process, or containers that share its number."""

from __future__ import annotations

import os
import stat
import threading
from pathlib import Path

import pytest

from ragauge.store.rundir import write_json
from ragauge.store.whole import replacing


def test_threads_that_write_the_same_file_do_not_take_each_others_away(tmp_path: Path) -> None:
    target, failed = tmp_path / "summary.json", []
    together = threading.Barrier(8)

    def write(number: int) -> None:
        together.wait(10)
        try:
            for _ in range(20):
                write_json(target, {"number": number})
        except Exception as error:
            failed.append(error)

    threads = [threading.Thread(target=write, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert failed == []
    assert [path.name for path in tmp_path.iterdir()] == ["summary.json"]


def test_what_fails_leaves_the_old_file_and_nothing_beside_it(tmp_path: Path) -> None:
    target = tmp_path / "a.txt"
    target.write_text("old")

    def stopped() -> None:
        with replacing(target) as beside:
            beside.write_text("ne")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        stopped()
    assert target.read_text() == "old"
    assert list(tmp_path.iterdir()) == [target]


def test_a_golden_set_that_is_written_can_be_read_by_others(tmp_path: Path) -> None:
    from ragauge.core.sample import GoldenItem
    from ragauge.dataset.writers import save_golden

    before = os.umask(0o022)
    try:
        save_golden([GoldenItem(id="a", question="q")], tmp_path / "g.yaml")
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "g.yaml").stat().st_mode) == 0o644
