"""The review queue: who gets what next, what they said, and that nothing said is lost.

Two people never get the same item unless it is asked for (`wanted` 2 or more): an item that somebody is looking at is
leased to them until the lease ends. A label is acknowledged only after it is on disk.
"""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable, Iterable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from ragauge.errors import MissingExtra, UnknownName, UsageError
from ragauge.review.database import Database, items, labels, leases, skips
from ragauge.review.items import Candidate, Label, ReviewConflict, ReviewItem
from ragauge.review.rows import change_of, item_of, label_of, label_row, row_of, same_label
from ragauge.text.normalise import clean

try:
    import sqlalchemy as sa
except ImportError as error:
    raise MissingExtra("sqlalchemy, which keeps the review queue,", "review") from error

#: How long an item stays with the reviewer who got it.
LEASE_S = 30 * 60.0
#: Reviews that one person does in a day.
DAILY_BUDGET = 20

#: The shortest beginning of an id that is taken for one.
_SHORTEST = 4
_BLANK = "who are you? A reviewer has a name"


class Queue:
    """One review queue. Every method is one transaction; safe from many threads, processes and machines at once."""

    def __init__(self, where: str | Path, *, lease_s: float = LEASE_S, clock: Callable[[], float] = time.time) -> None:
        self.database = Database(where)
        self.where, self.lease_s, self.clock = self.database.where, lease_s, clock

    def close(self) -> None:
        """Let go of the database."""
        self.database.close()

    def __enter__(self) -> Queue:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def add(self, candidates: Iterable[Candidate]) -> int:
        """Put candidates in; how many were not there yet.

        One that is there keeps its labels. When it is drawn for an estimate now, that is noted on it: a draw does not
        depend on what was labelled before. Wanting more labels than before opens it again.
        """
        n_new = 0
        changes: list[tuple[str, dict[str, Any]]] = []
        with self.database.transaction() as connection:
            self.database.alone(connection)
            for candidate in candidates:
                known = connection.execute(sa.select(items).where(items.c.id == candidate.id)).first()
                if known is None:
                    connection.execute(items.insert().values(**row_of(candidate, self.clock())))
                    n_new += 1
                elif change := change_of(candidate, known):
                    changes.append((candidate.id, change))
        # One by one, so that nobody who is labelling ever waits for more than one item.
        for item_id, change in changes:
            with self.database.transaction() as connection:
                connection.execute(items.update().where(items.c.id == item_id).values(**change))
        return n_new

    def next(self, reviewer: str, *, budget: int | None = DAILY_BUDGET, metric: str | None = None) -> ReviewItem | None:
        """The next item for `reviewer`, leased to them; None when nothing is left for them, or today's budget is used.

        Whoever has an item that is not finished gets that one again.
        """
        name = _named(reviewer)
        now = self.clock()
        with self.database.transaction() as connection:
            own = self._leased(connection, name, now)
            if own is not None and (metric is None or own.metric == metric):
                self._lease(connection, own.id, name, now)
                return item_of(own, now + self.lease_s)
            if budget is not None and self._done_today(connection, name, now) >= budget:
                return None
            passed: set[str] = set()
            # First what nobody is touching at this moment; then, if there is nothing, whatever frees up.
            for skip in (True, False):
                while (row := self._candidate(connection, name, now, passed, metric, skip)) is not None:
                    if self._room(connection, row, name, now):
                        self._lease(connection, row.id, name, now)
                        return item_of(row, now + self.lease_s)
                    passed.add(row.id)
        return None

    def label(
        self,
        item_id: str,
        reviewer: str,
        label: str,
        *,
        note: str = "",
        systematic: str | None = None,
        edits: dict[str, Any] | None = None,
        second_opinion: bool = False,
        adjudicate: bool = False,
    ) -> Label:
        """Store what `reviewer` says; it is on disk when this returns. The same label again changes nothing.

        Another label of the same person replaces theirs (the old one is kept as undone). `ReviewConflict` when enough
        others have labelled the item, or one of them holds it: nothing is stored then, unless it is a second opinion
        or settles a disagreement (`adjudicate`).
        """
        name, said = _named(reviewer), clean(label).strip()
        if not said:
            raise UsageError("the label is empty")
        now = self.clock()
        new = Label(
            uuid.uuid4().hex, item_id, name, said, clean(note), systematic and clean(systematic), edits, adjudicate, now
        )
        with self.database.transaction() as connection:
            row = self._locked(connection, item_id)
            old = self._active(connection, item_id, name)
            if old is not None:
                if same_label(old, new):
                    return old
                connection.execute(labels.update().where(labels.c.id == old.id).values(undone=now))
            elif not (second_opinion or adjudicate or self._room(connection, row, name, now)):
                raise ReviewConflict(
                    f"{_place(row)} is labelled, or somebody else is labelling it: yours ({said!r}) was not stored",
                    hint="Store it as a second opinion if you want both.",
                )
            connection.execute(labels.insert().values(**label_row(new)))
            connection.execute(leases.delete().where(leases.c.item_id == item_id, leases.c.reviewer == name))
            self._count(connection, item_id)
        return new

    def skip(self, item_id: str, reviewer: str, reason: str = "") -> None:
        """Not for me: the item goes to others, and does not come back to this reviewer."""
        name, now = _named(reviewer), self.clock()
        with self.database.transaction() as connection:
            self._locked(connection, item_id)
            mine = (skips.c.item_id == item_id, skips.c.reviewer == name)
            connection.execute(skips.delete().where(*mine))
            connection.execute(skips.insert().values(item_id=item_id, reviewer=name, reason=clean(reason), created=now))
            connection.execute(leases.delete().where(leases.c.item_id == item_id, leases.c.reviewer == name))

    def undo(self, reviewer: str) -> ReviewItem | None:
        """Take back the reviewer's latest label or skip; the item is theirs again. None: there is nothing to undo."""
        name, now = _named(reviewer), self.clock()
        with self.database.transaction() as connection:
            last = connection.execute(
                sa.select(labels)
                .where(labels.c.reviewer == name, labels.c.undone.is_(None))
                .order_by(labels.c.created.desc(), labels.c.id)
                .limit(1)
            ).first()
            skipped = connection.execute(
                sa.select(skips).where(skips.c.reviewer == name).order_by(skips.c.created.desc()).limit(1)
            ).first()
            if skipped is not None and (last is None or skipped.created > last.created):
                item_id = str(skipped.item_id)
                connection.execute(skips.delete().where(skips.c.item_id == item_id, skips.c.reviewer == name))
            elif last is not None:
                item_id = str(last.item_id)
                self._locked(connection, item_id)
                connection.execute(labels.update().where(labels.c.id == last.id).values(undone=now))
                self._count(connection, item_id)
            else:
                return None
            row = self._locked(connection, item_id)
            connection.execute(leases.delete().where(leases.c.reviewer == name))
            if self._room(connection, row, name, now):
                self._lease(connection, item_id, name, now)
            return item_of(row, now + self.lease_s)

    def release(self, reviewer: str) -> None:
        """Give back whatever `reviewer` holds."""
        with self.database.transaction() as connection:
            connection.execute(leases.delete().where(leases.c.reviewer == _named(reviewer)))

    def held(self, reviewer: str) -> ReviewItem | None:
        """The item that `reviewer` holds, if any."""
        with self.database.transaction() as connection:
            row = self._leased(connection, _named(reviewer), self.clock())
            return None if row is None else item_of(row)

    def get(self, item_id: str) -> ReviewItem:
        """One item; `UnknownName` when there is none."""
        with self.database.transaction() as connection:
            return item_of(self._locked(connection, item_id))

    def find(self, prefix: str) -> ReviewItem:
        """The item with this golden id, or whose own id is or begins with `prefix`, when there is exactly one."""
        with self.database.transaction() as connection:
            query = sa.select(items).limit(3)
            rows = connection.execute(query.where((items.c.item == prefix) | (items.c.id == prefix))).all()
            if not rows and len(prefix) >= _SHORTEST:
                starts = sa.func.substr(items.c.id, 1, len(prefix)) == prefix
                rows = connection.execute(query.where(starts)).all()
            if len(rows) == 1:
                return item_of(rows[0])
            if rows:
                raise UsageError(f"{prefix!r} fits several items", hint=f"One of: {', '.join(r.id for r in rows)}")
            known = connection.execute(sa.select(items.c.id).limit(1000)).scalars()
            raise UnknownName("item in the review queue", prefix, list(known))

    def items(self, *, run: str | None = None, state: str | None = None) -> Iterator[ReviewItem]:
        """All items, most urgent first."""
        query = sa.select(items).order_by(items.c.priority.desc(), items.c.created, items.c.id)
        if run is not None:
            query = query.where(items.c.run == run)
        if state is not None:
            query = query.where(items.c.state == state)
        with self.database.transaction() as connection:
            rows = connection.execute(query).all()
        for row in rows:
            yield item_of(row)

    def labels(self, *, item_id: str | None = None, undone: bool = False) -> list[Label]:
        """Labels in the order in which they were given; those taken back only if asked for."""
        query = sa.select(labels).order_by(labels.c.created, labels.c.id)
        if item_id is not None:
            query = query.where(labels.c.item_id == item_id)
        if not undone:
            query = query.where(labels.c.undone.is_(None))
        with self.database.transaction() as connection:
            return [label_of(row) for row in connection.execute(query)]

    def done_today(self, reviewer: str) -> int:
        """How many labels `reviewer` has given since midnight UTC."""
        with self.database.transaction() as connection:
            return self._done_today(connection, _named(reviewer), self.clock())

    def counts(self) -> tuple[int, int]:
        """How many items are open, and how many have the labels that they want."""
        with self.database.transaction() as connection:
            query = sa.select(items.c.state, sa.func.count()).group_by(items.c.state)
            found = {str(state): int(n) for state, n in connection.execute(query)}
        return found.get("open", 0), found.get("done", 0)

    def of_row(self, run: str, item: str, repeat: int = 0) -> list[ReviewItem]:
        """Everything in the queue that is about one row of one run."""
        query = sa.select(items).where(items.c.run == clean(run), items.c.item == clean(item))
        with self.database.transaction() as connection:
            return [item_of(row) for row in connection.execute(query.where(items.c.repeat_no == repeat))]

    def n_leased(self) -> int:
        """How many items somebody holds now."""
        with self.database.transaction() as connection:
            query = sa.select(sa.func.count()).select_from(leases).where(leases.c.expires > self.clock())
            return int(connection.execute(query).scalar() or 0)

    # What the methods above are made of. Each takes the connection of a transaction that is open.

    def _locked(self, connection: sa.Connection, item_id: str) -> Any:
        row = connection.execute(self.database.locked(sa.select(items).where(items.c.id == item_id))).first()
        if row is None:
            raise UnknownName("item in the review queue", item_id, ())
        return row

    def _leased(self, connection: sa.Connection, reviewer: str, now: float) -> Any:
        mine = sa.select(items).join(leases, leases.c.item_id == items.c.id)
        mine = mine.where(leases.c.reviewer == reviewer, leases.c.expires > now, items.c.state == "open")
        return connection.execute(mine.order_by(leases.c.expires).limit(1)).first()

    def _lease(self, connection: sa.Connection, item_id: str, reviewer: str, now: float) -> None:
        mine = (leases.c.item_id == item_id, leases.c.reviewer == reviewer)
        connection.execute(leases.delete().where(sa.and_(*mine) | (leases.c.expires <= now)))
        connection.execute(leases.insert().values(item_id=item_id, reviewer=reviewer, expires=now + self.lease_s))

    def _candidate(
        self, connection: sa.Connection, reviewer: str, now: float, passed: set[str], metric: str | None, skip: bool
    ) -> Any:
        held = (
            sa.select(sa.func.count())
            .select_from(leases)
            .where(leases.c.item_id == items.c.id, leases.c.reviewer != reviewer, leases.c.expires > now)
            .scalar_subquery()
        )
        labelled = sa.exists().where(
            labels.c.item_id == items.c.id, labels.c.reviewer == reviewer, labels.c.undone.is_(None)
        )
        skipped = sa.exists().where(skips.c.item_id == items.c.id, skips.c.reviewer == reviewer)
        query = (
            sa.select(items)
            .where(items.c.state == "open", items.c.n_labels + held < items.c.wanted, ~labelled, ~skipped)
            .order_by(items.c.priority.desc(), items.c.created, items.c.id)
            .limit(1)
        )
        if passed:
            query = query.where(items.c.id.not_in(passed))
        if metric is not None:
            query = query.where(items.c.metric == metric)
        return connection.execute(self.database.locked(query, skip=skip)).first()

    def _room(self, connection: sa.Connection, row: Any, reviewer: str, now: float) -> bool:
        """Whether the locked item wants a label of `reviewer`: a fresh look, after the lock was given."""
        given = [
            name
            for (name,) in connection.execute(
                sa.select(labels.c.reviewer).where(labels.c.item_id == row.id, labels.c.undone.is_(None))
            )
        ]
        holders = connection.execute(
            sa.select(leases.c.reviewer).where(
                leases.c.item_id == row.id, leases.c.reviewer != reviewer, leases.c.expires > now
            )
        )
        n_held = sum(name not in given for (name,) in holders)
        return reviewer not in given and len(given) + n_held < row.wanted

    def _active(self, connection: sa.Connection, item_id: str, reviewer: str) -> Label | None:
        query = sa.select(labels).where(
            labels.c.item_id == item_id, labels.c.reviewer == reviewer, labels.c.undone.is_(None)
        )
        row = connection.execute(query).first()
        return None if row is None else label_of(row)

    def _count(self, connection: sa.Connection, item_id: str) -> None:
        active = labels.c.item_id == item_id, labels.c.undone.is_(None)
        n = int(connection.execute(sa.select(sa.func.count()).select_from(labels).where(*active)).scalar() or 0)
        state = sa.case((items.c.wanted <= n, "done"), else_="open")
        connection.execute(items.update().where(items.c.id == item_id).values(n_labels=n, state=state))

    def _done_today(self, connection: sa.Connection, reviewer: str, now: float) -> int:
        midnight = datetime.fromtimestamp(now, UTC).replace(hour=0, minute=0, second=0, microsecond=0).timestamp()
        query = sa.select(sa.func.count()).select_from(labels)
        query = query.where(labels.c.reviewer == reviewer, labels.c.created >= midnight, labels.c.undone.is_(None))
        return int(connection.execute(query).scalar() or 0)


def _named(reviewer: str) -> str:
    name = clean(reviewer).strip()
    if not name:
        raise UsageError(_BLANK, hint="--reviewer ann")
    return name


def _place(row: Any) -> str:
    return f"{row.item!r}" + (f" ({row.target})" if row.target else "")
