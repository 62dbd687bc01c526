"""JSON lines that survive being killed: whole lines are appended, an unfinished tail is cut off on the next open."""

from __future__ import annotations

import contextlib
import errno
import os
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType

from ragauge.errors import DiskFull, StoreError

try:
    import fcntl
except ImportError:  # not on Windows: there, two writers on one run are not kept apart
    fcntl = None  # type: ignore[assignment]

_FULL = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}


class JsonlWriter:
    """Appends one line at a time to one file, as its only writer.

    Opening cuts off a last line without its end (a writer was killed in the middle of it). A line that the disk does
    not take in full is taken back, so that the file always ends with a whole line.

    Raises `StoreError` if another process is writing to the file, `DiskFull` if the disk takes no more.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND | getattr(os, "O_BINARY", 0), 0o644)
        try:
            self._lock()
            self.size = cut_unfinished_tail(self._fd)
        except BaseException:
            os.close(self._fd)
            raise

    def _lock(self) -> None:
        if fcntl is None:
            return
        try:
            fcntl.flock(self._fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            raise StoreError(
                f"{self.path} is being written by another process", hint="Wait for it, or start a run of its own."
            ) from error

    def append(self, line: str) -> None:
        """Write `line` (no line end in it) and its line end; all or nothing."""
        data = line.encode("utf-8") + b"\n"
        written = 0
        try:
            while written < len(data):
                written += os.write(self._fd, data[written:])
        except OSError as error:
            with contextlib.suppress(OSError):
                os.ftruncate(self._fd, self.size)
            if error.errno in _FULL:
                raise DiskFull(
                    f"no space left for {self.path}; every finished row before this one is kept",
                    hint=f"Free some space, then continue with --resume {self.path.parent}",
                ) from error
            raise StoreError(f"cannot write {self.path}: {error.strerror}") from error
        self.size += len(data)

    @property
    def is_deleted(self) -> bool:
        """Whether somebody has deleted the file: what is appended now is lost when it is closed."""
        return os.fstat(self._fd).st_nlink == 0

    def sync(self, *, strict: bool = False) -> None:
        """Ask the operating system to put everything on the disk (survives a power cut, not only a kill).

        `strict`: raises `OSError` when that failed.
        """
        with contextlib.nullcontext() if strict else contextlib.suppress(OSError):
            os.fsync(self._fd)

    def forget(self) -> None:
        """Close the file without a word to it: after a fork it is the parent's (whose lock this leaves alone)."""
        os.close(self._fd)
        self._fd = -1

    def close(self) -> None:
        """Sync and let go of the file."""
        if self._fd >= 0:
            self.sync()
            os.close(self._fd)
            self._fd = -1

    def __enter__(self) -> JsonlWriter:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def cut_unfinished_tail(fd: int) -> int:
    """Truncate an open file after its last line end; returns its size then."""
    size = os.fstat(fd).st_size
    end = size
    while end > 0:
        start = max(0, end - 65536)
        at = os.pread(fd, end - start, start).rfind(b"\n")
        if at >= 0:
            end = start + at + 1
            break
        end = start
    if end < size:
        os.ftruncate(fd, end)
    return end


def whole_lines(path: Path) -> Iterator[tuple[int, int, bytes]]:
    """(line number from 1, byte offset, line without its end) of every finished line; an unfinished last one is not."""
    offset = 0
    with path.open("rb") as file:
        for number, line in enumerate(file, start=1):
            if not line.endswith(b"\n"):
                return
            if line.strip():
                yield number, offset, line[:-1]
            offset += len(line)
