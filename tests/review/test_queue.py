"""One queue, many reviewers: nothing twice, nothing lost."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest
import sqlalchemy as sa

from ragauge.errors import NewerVersion, StoreError, UnknownName, UsageError
from ragauge.review import open_queue
from ragauge.review.database import MIGRATIONS, VERSION, Database, metadata
from ragauge.review.items import Candidate, ReviewConflict
from ragauge.review.queue import Queue


class Clock:
    def __init__(self) -> None:
        self.now = 1_700_000_000.0

    def __call__(self) -> float:
        return self.now


def a_candidate(item: str, **more: object) -> Candidate:
    fields: dict[str, object] = {
        "run": "run-1",
        "metric": "faithfulness",
        "source": "random",
        "reason": "the judge says no",
    }
    return Candidate(item=item, **(fields | more))  # type: ignore[arg-type]


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def queue(tmp_path: Path, clock: Clock) -> Iterator[Queue]:
    with Queue(tmp_path / "review.sqlite", clock=clock) as opened:
        yield opened


def test_the_most_urgent_item_comes_first_and_two_people_get_two(queue: Queue) -> None:
    queue.add([a_candidate("a", priority=1.0), a_candidate("b", priority=2.0), a_candidate("c")])
    first, second = queue.next("ann"), queue.next("ben")
    assert first is not None
    assert second is not None
    assert (first.item, second.item) == ("b", "a")


def test_whoever_has_an_unfinished_item_gets_it_again(queue: Queue) -> None:
    queue.add([a_candidate("a"), a_candidate("b")])
    assert queue.next("ann") == queue.next("ann")


def test_a_lease_that_ended_frees_the_item(queue: Queue, clock: Clock) -> None:
    queue.add([a_candidate("a")])
    assert queue.next("ann") is not None
    assert queue.next("ben") is None
    clock.now += queue.lease_s + 1
    assert queue.next("ben") is not None


def test_a_label_after_the_lease_ended_does_not_double_the_other_ones(queue: Queue, clock: Clock) -> None:
    queue.add([a_candidate("a")])
    mine = queue.next("ann")
    assert mine is not None
    clock.now += queue.lease_s + 1
    other = queue.next("ben")
    assert other is not None
    with pytest.raises(ReviewConflict, match="not stored"):
        queue.label(mine.id, "ann", "faithful")
    queue.label(other.id, "ben", "unfaithful")
    assert [label.reviewer for label in queue.labels()] == ["ben"]
    queue.label(mine.id, "ann", "faithful", second_opinion=True)
    assert len(queue.labels()) == 2


def test_two_labels_are_given_by_two_people_when_asked_for(queue: Queue) -> None:
    queue.add([a_candidate("a", wanted=2)])
    for name in ("ann", "ben"):
        item = queue.next(name)
        assert item is not None
        queue.label(item.id, name, "faithful")
    assert queue.next("cid") is None
    assert next(queue.items()).state == "done"


def test_nobody_labels_the_same_item_twice_for_a_second_opinion(queue: Queue) -> None:
    queue.add([a_candidate("a", wanted=2)])
    item = queue.next("ann")
    assert item is not None
    queue.label(item.id, "ann", "faithful")
    assert queue.next("ann") is None


def test_the_same_label_again_is_the_same_label_and_another_replaces_it(queue: Queue) -> None:
    queue.add([a_candidate("a")])
    item = queue.next("ann")
    assert item is not None
    first = queue.label(item.id, "ann", "faithful")
    assert queue.label(item.id, "ann", "faithful") == first
    queue.label(item.id, "ann", "unfaithful")
    assert [label.label for label in queue.labels()] == ["unfaithful"]
    assert len(queue.labels(undone=True)) == 2


def test_undo_takes_back_the_latest_label_and_gives_the_item_back(queue: Queue, clock: Clock) -> None:
    queue.add([a_candidate("a"), a_candidate("b")])
    for _ in range(2):
        item = queue.next("ann")
        assert item is not None
        queue.label(item.id, "ann", "faithful")
        clock.now += 1
    back = queue.undo("ann")
    assert back is not None
    assert back.item == "b"
    assert len(queue.labels()) == 1
    assert queue.next("ben") is None  # it is ann's again
    assert queue.next("ann") is not None


def test_undo_also_takes_back_a_skip(queue: Queue, clock: Clock) -> None:
    queue.add([a_candidate("a")])
    item = queue.next("ann")
    assert item is not None
    queue.skip(item.id, "ann", "not my subject")
    assert queue.next("ann") is None
    clock.now += 1
    assert queue.undo("ann") is not None
    assert queue.next("ann") is not None
    assert queue.undo("nobody") is None


def test_a_skipped_item_goes_to_somebody_else(queue: Queue) -> None:
    queue.add([a_candidate("a")])
    item = queue.next("ann")
    assert item is not None
    queue.skip(item.id, "ann")
    assert queue.next("ann") is None
    assert queue.next("ben") is not None


def test_twenty_a_day_and_then_it_is_enough(queue: Queue, clock: Clock) -> None:
    queue.add([a_candidate(str(place)) for place in range(4)])
    for _ in range(3):
        item = queue.next("ann", budget=3)
        assert item is not None
        queue.label(item.id, "ann", "faithful")
    assert queue.next("ann", budget=3) is None
    assert queue.next("ben", budget=3) is not None
    queue.release("ben")
    clock.now += 86_400
    assert queue.next("ann", budget=3) is not None


def test_adding_again_keeps_labels_and_notes_a_later_draw(queue: Queue) -> None:
    assert queue.add([a_candidate("a", source="uncertain")]) == 1
    item = queue.next("ann")
    assert item is not None
    queue.label(item.id, "ann", "faithful")
    drawn = a_candidate("a", design="bands-1", band="unsure", probability=0.25)
    assert queue.add([drawn]) == 0
    again = queue.get(item.id)
    assert (again.n_labels, again.design, again.probability, again.state) == (1, "bands-1", 0.25, "done")
    queue.add([a_candidate("a", wanted=2)])
    assert queue.get(item.id).state == "open"


def test_blind_mode_hides_the_verdict_and_the_reason_that_gives_it_away(queue: Queue) -> None:
    queue.add([a_candidate("a", payload={"question": "q", "verdict": {"value": 0.0}})])
    item = queue.next("ann")
    assert item is not None
    blind, open_ = item.shown(blind=True), item.shown(blind=False)
    assert "verdict" not in blind
    assert "judge" not in blind["reason"]
    assert open_["verdict"] == {"value": 0.0}
    assert open_["reason"] == "the judge says no"


def test_hostile_texts_come_back_as_they_were(queue: Queue) -> None:
    payload = {"question": "a\x00b\ud800 \u202e <script>"}
    queue.add([a_candidate("x\x00", payload=payload)])
    item = queue.next("a\x00nn")
    assert item is not None
    assert item.payload == payload
    queue.label(item.id, "a\x00nn", "faithful", note="\x00\ud800")
    assert queue.labels()[0].note == "\ufffd\ufffd"


def test_an_unnamed_reviewer_an_empty_label_and_an_unknown_item_are_refused(queue: Queue) -> None:
    queue.add([a_candidate("a")])
    with pytest.raises(UsageError, match="who are you"):
        queue.next(" ")
    item = queue.next("ann")
    assert item is not None
    with pytest.raises(UsageError, match="empty"):
        queue.label(item.id, "ann", " ")
    with pytest.raises(UnknownName):
        queue.label("nothing", "ann", "faithful")
    with pytest.raises(UnknownName):
        queue.find("nothing")
    assert queue.find(item.id[:6]).id == item.id


def test_every_older_database_is_brought_up_to_date_with_its_labels(tmp_path: Path) -> None:
    for old in range(1, VERSION):
        path = tmp_path / f"v{old}.sqlite"
        with sqlite3.connect(path) as connection:
            connection.execute("CREATE TABLE review_schema (version INTEGER NOT NULL)")
            for version in range(1, old + 1):
                for statement in MIGRATIONS[version - 1]:
                    connection.execute(statement)
                connection.execute("INSERT INTO review_schema VALUES (?)", (version,))
            connection.execute(
                "INSERT INTO review_items (id, run, item, repeat_no, metric, source, reason, payload, priority, wanted,"
                " state, n_labels, created) VALUES ('i', 'r', 'q', 0, 'm', 'random', '', '{}', 0, 1, 'done', 1, 1)"
            )
            connection.execute(
                "INSERT INTO review_labels (id, item_id, reviewer, label, note, created)"
                " VALUES ('l', 'i', 'ann', 'ok', '', 1)"
            )
        connection.close()
        with open_queue(path) as queue:
            assert [(label.label, label.adjudicated) for label in queue.labels()] == [("ok", False)]
            assert queue.get("i").design is None


def test_the_migrated_tables_are_those_that_the_code_knows(tmp_path: Path) -> None:
    database = Database(tmp_path / "review.sqlite")
    found = sa.inspect(database.engine)
    for table in metadata.tables.values():
        assert {column["name"] for column in found.get_columns(table.name)} == set(table.columns.keys())
    database.close()


def test_a_database_of_a_newer_version_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "review.sqlite"
    open_queue(path).close()
    with sqlite3.connect(path) as connection:
        connection.execute("INSERT INTO review_schema VALUES (99)")
    connection.close()
    with pytest.raises(NewerVersion, match="newer ragauge"):
        open_queue(path)


def test_what_is_no_database_is_said_without_a_password(tmp_path: Path) -> None:
    path = tmp_path / "review.sqlite"
    path.write_text("this is no database, and it is longer than a header of one would be " * 20)
    with pytest.raises(StoreError, match="cannot be used"):
        open_queue(path)
    with pytest.raises(StoreError) as caught:
        open_queue("postgresql://ann:secret@127.0.0.1:1/none")
    assert "secret" not in str(caught.value)
