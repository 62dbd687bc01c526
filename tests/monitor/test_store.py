"""The log on the disk: what was appended is read once, whatever is killed, repeated or compacted meanwhile."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import threading
import time
from datetime import date, timedelta
from pathlib import Path

import pytest
from tests.monitor.serving import AT, CHUNKS, a_query, all_of, at_once

from ragauge.errors import DiskFull, InputError, NewerVersion, SettingsError, StoreError, UsageError
from ragauge.monitor.compact import compact, prune
from ragauge.monitor.query import Feedback, LoggedQuery
from ragauge.monitor.settings import log_settings
from ragauge.monitor.store import open_log
from ragauge.monitor.topics import Topic, Topics
from ragauge.monitor.workspace import Workspace
from ragauge.monitor.writer import LogWriter
from ragauge.stats.drift import quantile_interval

DAY = AT.date()


def test_what_was_appended_comes_back_whole_before_and_after_compaction(tmp_path: Path) -> None:
    whole = a_query(
        answer="Hold \x00 the 'button' 🙂", chunks=[{**chunk, "rank": n + 1} for n, chunk in enumerate(CHUNKS)],
        total_ms=12.5, retrieval_ms=2.0, abstained=False, feedback="up", tags=("a", "b"),
        variant="B", session="s", model="m", tokens_in=3, cost_usd=0.25, project="help", error="Timeout",
        metadata={"k": [1, {"x": None}]},
    )  # fmt: skip
    sparse = a_query(chunks=())
    with LogWriter(tmp_path) as writer:
        writer.append([whole, sparse])
        assert all_of(tmp_path) == {whole.id: whole, sparse.id: sparse}
        assert compact(tmp_path).growing == 1
    assert compact(tmp_path).rows == 2
    assert all_of(tmp_path) == {whole.id: whole, sparse.id: sparse}
    assert not list(tmp_path.rglob("*.jsonl"))


def test_what_is_sent_twice_counts_once_wherever_its_copy_is(tmp_path: Path) -> None:
    queries = [a_query() for _ in range(50)]
    for _ in range(3):  # in one segment, in another, and beside the Parquet
        with LogWriter(tmp_path) as writer:
            writer.append(queries + queries[:10])
        assert all_of(tmp_path).keys() == {query.id for query in queries}
        compact(tmp_path)
        assert all_of(tmp_path).keys() == {query.id for query in queries}


def test_many_small_parts_become_one(tmp_path: Path) -> None:
    queries = [a_query(chunks=[{**CHUNKS[0], "rank": 1}]) for _ in range(12)]
    for query in queries:
        with LogWriter(tmp_path) as writer:
            writer.append([query])
            writer.append_feedback([Feedback(query_id=query.id, at=AT, feedback="down")])
        compact(tmp_path)
    assert len(list(tmp_path.glob("queries/*/part-*.parquet"))) <= 8
    found = all_of(tmp_path)
    assert found.keys() == {query.id for query in queries}
    assert {query.feedback for query in found.values()} == {"down"}


def test_feedback_that_comes_later_is_joined_and_the_latest_of_each_field_counts(tmp_path: Path) -> None:
    query = a_query(feedback="up", note="first")
    with LogWriter(tmp_path) as writer:
        writer.append([query])
        writer.append_feedback([
            Feedback(query_id=query.id, at=AT + timedelta(days=3), feedback="down"),
            Feedback(query_id=query.id, at=AT + timedelta(days=2), feedback="up", outcome=1.0),
            Feedback(query_id="nobody", at=AT, feedback="up"),
        ])  # fmt: skip
    for _ in range(2):
        log = open_log(tmp_path)
        found = log.find(query.id)
        assert found is not None
        assert (found.feedback, found.note, found.outcome) == ("down", "first", 1.0)
        assert log.brief(DAY)[0].feedback == "down"
        log.close()
        compact(tmp_path)


def test_figures_of_a_day_are_those_of_its_queries(tmp_path: Path) -> None:
    latencies = [float((17 * n) % 1000) for n in range(1000)]
    queries = [
        a_query(
            total_ms=ms, answer="a" if n % 2 else None, abstained=n % 10 == 0 if n < 500 else None,
            chunks=None if n < 100 else [] if n % 20 == 0 else [{**CHUNKS[0], "rank": 1, "score": n / 1000}],
            error="Boom" if n == 5 else None, project="a" if n < 900 else "b",
        )
        for n, ms in enumerate(latencies)
    ]  # fmt: skip
    with LogWriter(tmp_path) as writer:
        writer.append(queries)
    log = open_log(tmp_path)
    (day,) = log.daily(DAY, DAY, slow_ms=500.0)
    assert (day.n, day.n_answered, day.n_errors) == (1000, 500, 1)
    assert (day.n_zero_results, day.n_chunks_known) == (45, 900)
    assert (day.n_abstained, day.n_abstained_known) == (50, 500)
    assert (day.n_slow, day.n_latency_known) == (sum(ms > 500 for ms in latencies), 1000)
    scores = [query.top_score for query in queries if query.top_score is not None]
    assert day.top_score is not None
    assert day.top_score.n == len(scores)
    assert day.top_score.mean == pytest.approx(sum(scores) / len(scores))
    for quantile in day.total_ms:
        assert (quantile.value, quantile.low, quantile.high) == quantile_interval(latencies, quantile.q)
    (only,) = log.daily(DAY, DAY, project="b")
    assert only.n == 100
    assert log.daily(DAY + timedelta(1), DAY + timedelta(9)) == []
    assert len(log.questions(DAY, limit=7)) == 7
    assert log.questions(DAY, limit=7) == log.questions(DAY, limit=7)
    log.close()


def test_a_torn_tail_is_passed_over_and_foreign_lines_are_set_aside(tmp_path: Path) -> None:
    query = a_query()
    with LogWriter(tmp_path) as writer:
        writer.append([query])
    (segment,) = tmp_path.glob("queries/*/*.jsonl")
    with segment.open("ab") as file:
        file.write(b'{"id":"torn","at":"2026-03-14T1')
    assert all_of(tmp_path).keys() == {query.id}
    assert compact(tmp_path).damaged == []
    foreign = tmp_path / "queries" / "2026-03-14" / "foreign.jsonl"
    foreign.write_bytes(b"not ours\n" + a_query(id="good").model_dump_json().encode() + b"\n")
    (aside,) = compact(tmp_path).damaged
    assert Path(aside).read_bytes().startswith(b"not ours\n")
    assert all_of(tmp_path).keys() == {query.id, "good"}


_WRITES = """
import sys, time
from ragauge.monitor.writer import LogWriter
from tests.monitor.serving import a_query
writer = LogWriter(sys.argv[1], segment_bytes=20_000)
while True:
    batch = [a_query(answer="x" * 200) for _ in range(20)]
    writer.append(batch)
    time.sleep(0.01)
    print(*(query.id for query in batch), flush=True)
"""

_COMPACTS = """
import sys, time
from ragauge.monitor.compact import compact
print("ready", flush=True)
while True:
    compact(sys.argv[1])
"""


def _run(code: str, *arguments: str) -> subprocess.Popen[str]:
    root = str(Path(__file__).parents[2])
    return subprocess.Popen(
        [sys.executable, "-c", code, *arguments], stdout=subprocess.PIPE, text=True, cwd=root,
        env={**os.environ, "PYTHONPATH": root},
    )  # fmt: skip


@pytest.mark.slow
def test_kill_9_of_writer_and_compaction_loses_nothing_that_was_acknowledged(tmp_path: Path) -> None:
    acknowledged: set[str] = set()
    for round_ in range(3):
        writer, compacting = _run(_WRITES, str(tmp_path)), _run(_COMPACTS, str(tmp_path))
        assert writer.stdout is not None
        assert compacting.stdout is not None
        assert compacting.stdout.readline() == "ready\n"
        until = time.monotonic() + 1.0 + 0.23 * round_
        while time.monotonic() < until:
            acknowledged.update(writer.stdout.readline().split())
        for process in (compacting, writer):
            process.send_signal(signal.SIGKILL)
        acknowledged.update(
            name
            for line in writer.stdout.read().splitlines(keepends=True)
            if line.endswith("\n")
            for name in line.split()
        )
        for process in (compacting, writer):
            process.wait()
            assert process.stdout is not None
            process.stdout.close()
        found = all_of(tmp_path)
        assert acknowledged <= found.keys()
        assert len(found) <= len(acknowledged) + 20 * (round_ + 1)
    assert len(acknowledged) > 200
    compact(tmp_path)
    assert acknowledged <= all_of(tmp_path).keys()
    assert not list(tmp_path.glob("queries/*/*.jsonl"))


def test_readers_see_every_query_once_while_it_is_compacted(tmp_path: Path) -> None:

    queries = [a_query() for _ in range(400)]
    stop = threading.Event()
    failures: list[BaseException] = []

    def write_and_compact() -> None:
        try:
            for start in range(0, 400, 40):
                with LogWriter(tmp_path) as writer:
                    writer.append(queries[start : start + 40])
                compact(tmp_path)
        except BaseException as error:
            failures.append(error)
        finally:
            stop.set()

    with LogWriter(tmp_path):
        pass
    thread = threading.Thread(target=write_and_compact)
    thread.start()
    counts = []
    log = open_log(tmp_path)
    while not stop.is_set():
        counts.append(len({brief.id for brief in log.brief(DAY)}))
        rows = log.sql("SELECT count(*), count(DISTINCT id) FROM queries", since=DAY, until=DAY)
        assert rows[0][0] == rows[0][1]
    thread.join()
    assert not failures
    assert counts == sorted(counts)
    assert len(log.brief(DAY)) == 400
    log.close()


def test_days_past_their_time_are_deleted_with_what_was_made_of_them(tmp_path: Path) -> None:
    for days in (0, 1, 2, 3):
        with LogWriter(tmp_path) as writer:
            writer.append([a_query(at=AT - timedelta(days=days))])
    judged = tmp_path / "monitor" / "judged" / "2026-03-11"
    judged.mkdir(parents=True)
    would = prune(tmp_path, keep_days=1, today=DAY, dry_run=True)
    assert len(open_log(tmp_path).days()) == 4
    assert prune(tmp_path, keep_days=1, today=DAY) == would
    assert open_log(tmp_path).days() == [DAY - timedelta(1), DAY]
    assert not judged.exists()


def test_a_log_below_a_url_is_read_like_one_in_a_folder(tmp_path: Path) -> None:
    fsspec = pytest.importorskip("fsspec")
    query, other = a_query(answer="yes"), a_query(at=AT + timedelta(days=1))
    with LogWriter(tmp_path) as writer:
        writer.append([query])
        writer.append_feedback([Feedback(query_id=query.id, at=AT, feedback="down")])
    compact(tmp_path)
    with LogWriter(tmp_path) as writer:
        writer.append([other, query])
    memory = fsspec.filesystem("memory")
    memory.put(str(tmp_path), "/bucket/log", recursive=True)
    try:
        found = all_of("memory://bucket/log/")
        log = open_log("memory://bucket/log")
        assert [day.n for day in log.daily(DAY, DAY + timedelta(1))] == [1, 1]
        log.close()
    finally:
        memory.rm("/bucket", recursive=True)
    assert found == {query.id: query.model_copy(update={"feedback": "down"}), other.id: other}
    with pytest.raises(UsageError, match="read, not written"):
        LogWriter("s3://bucket/log")


def test_a_place_that_is_no_log_says_so(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no such log"):
        open_log(tmp_path / "none")
    with pytest.raises(StoreError, match="no such log"):
        compact(tmp_path / "none")
    (tmp_path / "log.json").write_text('{"format": 99}')
    with pytest.raises(NewerVersion):
        open_log(tmp_path)
    (tmp_path / "log.json").write_text("hello")
    with pytest.raises(StoreError, match="not the mark"):
        LogWriter(tmp_path)


def test_two_compactions_do_not_meet(tmp_path: Path) -> None:
    from ragauge.monitor.compact import _alone

    with LogWriter(tmp_path) as writer:
        writer.append([a_query()])
    with _alone(tmp_path), pytest.raises(StoreError, match="another process"):
        compact(tmp_path)


def test_a_part_that_is_damaged_is_named_and_not_a_bug(tmp_path: Path) -> None:
    with LogWriter(tmp_path) as writer:
        writer.append([a_query(answer="x" * 2_000) for _ in range(200)])
    compact(tmp_path)
    (part,) = tmp_path.rglob("*.parquet")
    whole = part.read_bytes()
    for spoilt in (whole[:-100], whole[:4] + bytes(2_000) + whole[2_004:]):
        part.write_bytes(spoilt)
        log = open_log(tmp_path)
        with pytest.raises(StoreError, match=part.name):
            list(log.queries(DAY))
        with pytest.raises(StoreError, match=part.name):
            log.sql("SELECT * FROM queries", since=DAY, until=DAY)
        log.close()
    with LogWriter(tmp_path) as writer:
        writer.append([a_query()])
    with pytest.raises(StoreError, match="every query is kept"):
        compact(tmp_path)


def test_a_folder_where_a_segment_should_be_is_named_and_not_a_full_disk(tmp_path: Path) -> None:
    with LogWriter(tmp_path) as writer:
        writer.append([a_query()])
    (tmp_path / "queries" / DAY.isoformat() / "stray.jsonl").mkdir()
    with pytest.raises(StoreError, match=r"stray\.jsonl") as told:
        compact(tmp_path)
    assert not isinstance(told.value, DiskFull)


def test_pruning_goes_on_where_somebody_else_prunes_too(tmp_path: Path) -> None:
    with LogWriter(tmp_path) as writer:
        writer.append([a_query(at=AT - timedelta(days=back)) for back in range(2, 30)])
    (tmp_path / "queries" / ".gone-left-by-hand").write_text("no folder")
    assert at_once(4, lambda: prune(tmp_path, keep_days=1, today=DAY)) == []
    prune(tmp_path, keep_days=1, today=DAY)
    assert list((tmp_path / "queries").iterdir()) == []


def test_what_was_made_of_days_is_deleted_wherever_it_is_kept(tmp_path: Path) -> None:
    with LogWriter(tmp_path / "log") as writer:
        writer.append([a_query()])
    kept = []
    log, state = str(tmp_path / "log"), tmp_path / "state"
    for space in (
        Workspace.beside(log, None, "a/../b"), Workspace.beside(log, state), Workspace.beside(log, state, "shop"),
    ):  # fmt: skip
        (space.root / "judged" / "2026-03-01").mkdir(parents=True)
        (space.root / "samples").mkdir()
        (space.root / "samples" / "2026-03-01.json").write_text("{}")
        (space.root / "topics.json").write_text("{}")
        kept.append(space.root / "topics.json")
    gone = prune(log, keep_days=1, today=DAY, state=state)
    assert len(gone) == 2 * len(kept)
    left = sorted(path for path in tmp_path.rglob("*") if path.is_file() and path.suffix == ".json")
    assert set(kept) < set(left)
    assert not [path for path in left if path.name.startswith("2026")]


@pytest.mark.parametrize(("made", "left"), [("2026-03-01", ["", ""]), ("2026-03-13", ["Who?", "Why?"])])
def test_examples_of_topics_go_with_their_days(tmp_path: Path, made: str, left: list[str]) -> None:
    space = Workspace.beside(str(tmp_path))
    topics = tuple(
        Topic(name=text, terms=("a",), centroid=(1.0,), example=text, n_golden=3) for text in ("Who?", "Why?")
    )
    space.write(Topics(id="t", embedder="e", topics=topics, made_from=9, made=made), "topics.json")
    assert prune(tmp_path, keep_days=2, today=DAY) == []
    kept = space.read(Topics, "topics.json")
    assert kept is not None
    assert [topic.example for topic in kept.topics] == left
    assert [topic.n_golden for topic in kept.topics] == [3, 3]


@pytest.mark.parametrize(
    ("sample", "says"), [({"shares": 0.1}, "share"), ({"n": "many"}, "n"), ({"share": 5}, "share"), ({"n": 0}, "n")]
)
def test_settings_of_the_draw_are_checked(sample: dict[str, object], says: str) -> None:
    with pytest.raises(SettingsError, match=rf"monitor\.sample\.(?s:.*){says}"):
        log_settings({"sample": sample})


def test_a_token_of_the_wrong_kind_is_not_repeated() -> None:
    with pytest.raises(SettingsError, match=r"monitor\.server\.token") as told:
        log_settings({"server": {"token": 12345678}})
    assert "12345678" not in str(told.value)


def test_a_query_becomes_a_sample_for_metrics() -> None:
    query = a_query(answer="yes", chunks=[{"id": "c", "rank": 1}], tags=("vip",), total_ms=3.0)
    sample = query.sample()
    assert (sample.id, sample.item.question, sample.response.answer) == (query.id, query.question, "yes")
    assert sample.response.context is not None
    assert sample.response.context.ids == ["c"]
    assert a_query().sample().response.context is None


def test_unknown_settings_name_the_nearest() -> None:
    with pytest.raises(SettingsError, match=r"monitor\.keep_day(?s:.*)keep_days"):
        log_settings({"keep_day": 3})
    with pytest.raises(SettingsError, match=r"monitor\.server\.prot(?s:.*)port"):
        log_settings({"server": {"prot": 3}})
    assert log_settings({}).keep_days is None


def test_ids_sort_by_time_and_say_their_day() -> None:
    from ragauge.monitor.query import new_id
    from ragauge.monitor.store import _day_of

    ids = [new_id(AT.timestamp() + n) for n in range(5)]
    assert ids == sorted(ids)
    assert re.fullmatch("[0-9a-f]{32}", ids[0])
    assert _day_of(ids[0]) == date(2026, 3, 14)
    assert LoggedQuery(id=ids[0], at=AT, question="q").day == "2026-03-14"


def test_other_peoples_days_beside_a_workspace_are_left_alone(tmp_path: Path) -> None:
    """`monitor.state` may be a folder that holds more than ours; a project may be called like a day."""
    log, state, old = tmp_path / "log", tmp_path / "state", "2024-01-01"
    ours = [state / "samples" / f"{old}.json", state / "projects" / old / "samples" / f"{old}.json"]
    theirs = [
        state / "exports" / old / "x.csv",
        state / "exports" / f"{old}.json",
        state / "projects" / old / "topics.json",
    ]
    for path in (*ours, *theirs):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("{}")
    with LogWriter(log) as writer:
        writer.append([a_query()])
    assert sorted(prune(log, keep_days=1, today=DAY, state=state)) == sorted(ours)
    assert all(path.exists() for path in theirs)
