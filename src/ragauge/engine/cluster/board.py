"""Which jobs are with whom: chunks that get smaller towards the end, and what happens to those whose worker died.

Knows nothing of Ray. A chunk whose worker died is given out again. One that was there when a worker died twice is
suspected: it is given to a worker that has nothing else, so that a further death is surely its own doing; then it is
halved. A single job that a worker died of twice while it was alone is given up.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import islice

from ragauge.engine.execute import Job

#: The most jobs that are sent in one message.
LARGEST = 64
#: So many deaths make a chunk a suspect.
SUSPECT = 2
#: So often a worker may die of one job that it had alone.
LAST = 2


@dataclass(frozen=True)
class Chunk:
    """Jobs that are sent together. `deaths`: of workers that had it; `alone`: of those that had only one job."""

    jobs: tuple[Job, ...]
    deaths: int = 0
    alone: int = 0

    @property
    def is_suspect(self) -> bool:
        """Whether it may have killed a worker."""
        return self.deaths >= SUSPECT


class Board:
    """The jobs of a run. `take` and `take_suspect` give chunks out; each comes back by `finished` or by `lost`."""

    def __init__(self, jobs: Iterable[Job], n_jobs: int) -> None:
        """`n_jobs`: how many there are, as far as is known; only the size of the last chunks depends on it."""
        self._source = iter(jobs)
        self._n_left = n_jobs
        self._dry = False
        self._again: deque[Chunk] = deque()
        self._suspects: deque[Chunk] = deque()
        self.n_out = 0

    @property
    def has_suspects(self) -> bool:
        """Whether a chunk waits for a worker of its own."""
        return bool(self._suspects)

    @property
    def is_done(self) -> bool:
        """Nothing is left and nothing is out. Only known after `take` has come back empty."""
        return self._dry and not self._again and not self._suspects and not self.n_out

    def take(self, most: int, n_workers: int) -> Chunk | None:
        """The next jobs, at most `most`, fewer when little is left for `n_workers`; None: there are none now."""
        chunk = self._again.popleft() if self._again else self._new(most, n_workers)
        self.n_out += chunk is not None
        return chunk

    def _new(self, most: int, n_workers: int) -> Chunk | None:
        share = -(-self._n_left // (2 * max(1, n_workers)))
        jobs = tuple(islice(self._source, max(1, min(most, share, LARGEST))))
        self._n_left -= len(jobs)
        self._dry = self._dry or not jobs
        return Chunk(jobs) if jobs else None

    def take_suspect(self) -> Chunk | None:
        """A chunk for a worker that has nothing else to do."""
        chunk = self._suspects.popleft() if self._suspects else None
        self.n_out += chunk is not None
        return chunk

    def finished(self) -> None:
        """The rows of a chunk are there."""
        self.n_out -= 1

    def lost(self, chunk: Chunk, *, blamed: bool = True) -> Job | None:
        """The worker of a chunk died. The job that is given up, if that is so; `blamed` False: it had not begun."""
        self.n_out -= 1
        if not blamed:
            self._again.append(chunk)
            return None
        if not chunk.is_suspect:
            once_more = Chunk(chunk.jobs, chunk.deaths + 1)
            (self._suspects if once_more.is_suspect else self._again).append(once_more)
            return None
        if len(chunk.jobs) > 1:
            half = len(chunk.jobs) // 2
            self._suspects.extend(Chunk(part, chunk.deaths + 1) for part in (chunk.jobs[:half], chunk.jobs[half:]))
            return None
        if chunk.alone + 1 >= LAST:
            return chunk.jobs[0]
        self._suspects.append(Chunk(chunk.jobs, chunk.deaths + 1, chunk.alone + 1))
        return None
