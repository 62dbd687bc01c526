"""Processes that do the jobs of a sweep side by side. They end by themselves when the one who started them is gone.

Messages are pickled over the pipes of plain child processes, so nothing of the caller's `__main__` is imported again:
it works from scripts without a guard, and in notebooks.
"""

from __future__ import annotations

import asyncio
import os
import pickle
import queue
import signal
import struct
import subprocess
import sys
import threading
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import IO, Any

from ragauge.engine.indexes import Shelf
from ragauge.engine.jobs import Bench, Done, Job, Progress, do
from ragauge.errors import RagaugeError, RunError, UsageError

_LENGTH = struct.Struct(">Q")


@dataclass(frozen=True)
class Failed:
    """A job that could not be done. `bug`: not one of our own errors, so everything must stop."""

    job: Job
    message: str
    hint: str
    exit_code: int
    bug: bool = False

    def error(self) -> RagaugeError:
        """The error as it can be raised here."""
        return (UsageError if self.exit_code == 2 else RunError)(self.message, hint=self.hint)


@dataclass(frozen=True)
class Gone:
    """A process ended without having been told to."""

    code: int | None


Message = Progress | Done | Failed | Gone


class Crew:
    """`n` processes. Give a job to a free one with `start`, then wait for messages with `next`."""

    def __init__(self, n: int, copies: Path) -> None:
        self._inbox: queue.Queue[tuple[int, Message]] = queue.Queue()
        self._members: list[subprocess.Popen[bytes]] = []
        self._listeners: list[threading.Thread] = []
        environment = {name: str(max(1, (os.cpu_count() or 1) // n)) for name in _THREADS} | dict(os.environ)
        here = str(Path(__file__).resolve().parents[2])
        environment["PYTHONPATH"] = os.pathsep.join(filter(None, (here, os.environ.get("PYTHONPATH"))))
        for place in range(n):
            member = subprocess.Popen(
                [sys.executable, "-P", "-c", "from ragauge.engine.crew import work_here; work_here()"],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                env=environment,
            )
            self._members.append(member)
            _send(member.stdin, (copies, sys.path))
            listener = threading.Thread(target=self._listen, args=(place, member), daemon=True)
            listener.start()
            self._listeners.append(listener)

    def __len__(self) -> int:
        return len(self._members)

    def start(self, place: int, job: Job) -> None:
        """Give a job to one process."""
        try:
            _send(self._members[place].stdin, job)
        except OSError:
            self._inbox.put((place, Gone(self._members[place].poll())))

    def next(self) -> tuple[int, Message]:
        """The next message and the process that it is from. Waits for it."""
        while True:
            try:
                return self._inbox.get(timeout=1.0)  # with a time-out, Ctrl-C is noticed on every platform
            except queue.Empty:
                continue

    def _listen(self, place: int, member: subprocess.Popen[bytes]) -> None:
        while True:
            try:
                message = _receive(member.stdout)
            except (EOFError, OSError):
                self._inbox.put((place, Gone(member.wait())))
                return
            self._inbox.put((place, message))

    def __enter__(self) -> Crew:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None) -> None:
        """Closing their pipes tells them to end: at once when one is in the middle of a job."""
        for member in self._members:
            if member.stdin is not None:
                try:
                    member.stdin.close()
                except OSError:
                    continue  # it is gone already
        for member in self._members:
            try:
                member.wait(timeout=10)
            except subprocess.TimeoutExpired:
                member.kill()
                member.wait()
        for listener, member in zip(self._listeners, self._members, strict=True):
            listener.join()
            if member.stdout is not None:
                member.stdout.close()


#: Libraries of linear algebra take all cores, which several processes at once must not.
_THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "VECLIB_MAXIMUM_THREADS")


def _send(pipe: IO[bytes] | None, message: Any) -> None:
    assert pipe is not None
    data = pickle.dumps(message)
    pipe.write(_LENGTH.pack(len(data)) + data)
    pipe.flush()


def _receive(pipe: IO[bytes] | None) -> Any:
    assert pipe is not None
    head = pipe.read(_LENGTH.size)
    if len(head) < _LENGTH.size:
        raise EOFError
    (length,) = _LENGTH.unpack(head)
    data = pipe.read(length)
    if len(data) < length:
        raise EOFError
    return pickle.loads(data)  # from a pipe that only our own process writes to


def failed(job: Job, error: Exception) -> Failed:
    """An exception as a message."""
    if isinstance(error, RagaugeError):
        return Failed(job, error.message, error.hint, error.exit_code)
    return Failed(job, "".join(traceback.format_exception(error)), "", 1, bug=True)


def work_here() -> None:
    """What each process does: jobs from stdin until it ends; answers to what was stdout."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the one who started us
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # whatever a system under test prints must not come between our messages
    questions = sys.stdin.buffer
    copies, sys.path[:] = _receive(questions)
    jobs: queue.Queue[Job | None] = queue.Queue()
    busy = threading.Event()

    def listen() -> None:
        while True:
            try:
                jobs.put(_receive(questions))
            except EOFError:
                if busy.is_set():
                    os._exit(1)  # nobody waits for this job any more; its finished rows are on disk
                jobs.put(None)
                return

    threading.Thread(target=listen, daemon=True).start()
    lock = threading.Lock()

    def tell(message: Message) -> None:
        with lock:
            _send(answers, message)

    asyncio.run(_work(jobs, busy, Bench(Shelf(copies)), tell))


async def _work(
    jobs: queue.Queue[Job | None], busy: threading.Event, bench: Bench, tell: Callable[[Any], None]
) -> None:
    try:
        while (job := await asyncio.to_thread(jobs.get)) is not None:
            busy.set()
            try:
                message: Message = await do(job, bench, tell)
            except Exception as error:  # told to the one who started us, who decides
                message = failed(job, error)
            busy.clear()
            tell(message)
    finally:
        await bench.aclose()
